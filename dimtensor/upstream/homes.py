"""Folders that PyTensor makes in the home folder, where there is none to make them in."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from dimtensor.settings import home, with_home

_ALL = os.R_OK | os.W_OK | os.X_OK


@contextmanager
def usable_home() -> Iterator[None]:
    """Give PyTensor a temporary home folder where it cannot write to its folder in this user's.

    It decides where that is when it is imported, and fails when it cannot make it: a home folder
    may be missing, be a file, or belong to somebody else. The environment is as it was afterwards.
    """
    if _can_be_written():
        yield
        return
    folder = tempfile.mkdtemp(prefix="dimtensor-")
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # and not when a fork of it ends
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    with with_home(folder):
        yield


def _can_be_written() -> bool:
    if os.name != "posix":
        return True
    at = home()
    if at is None:
        return False
    folder = os.path.join(at, ".pytensor")
    # only folders have such an entry
    return os.access(os.path.join(folder if os.path.lexists(folder) else at, "."), _ALL)
