"""A home folder for PyTensor if that of the user is missing or read-only."""

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
    """Give PyTensor a temporary home folder if it cannot write to that of the user.

    PyTensor makes its folder when it is imported, and fails if the home folder is missing, is a
    file or has another owner. The environment is restored afterwards.
    """
    if _can_be_written():
        yield
        return
    folder = tempfile.mkdtemp(prefix="dimtensor-")
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # not at the exit of a forked child
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
