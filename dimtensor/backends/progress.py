"""A line about compilations that take long, and libraries that wake while a user is typing."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator

# seconds after which a compilation is worth a line
PATIENCE = 2.0
# what the first compilation needs and takes a while to import
_SLEEPERS = ("dimtensor.kernels.compiler", "llvmlite.binding", "pytensor.sparse", "xarray")

_awake = threading.Event()


@contextlib.contextmanager
def announced(what: str, patience: float = PATIENCE) -> Iterator[None]:
    """Say that something is being compiled if it takes long, and how long it took.

    The line goes to the standard error stream of terminals and notebooks. The environment variable
    ``DIMTENSOR_PROGRESS`` set to 0 switches it off, 1 switches it on for files too.

    Parameters
    ----------
    what : str
    patience : float
        Seconds without a word.
    """
    if not _is_watched():
        yield
        return
    started = time.perf_counter()
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"dimtensor: compiling {what} …", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(patience, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            print(f" {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)


def _is_watched() -> bool:
    asked = os.environ.get("DIMTENSOR_PROGRESS", "").strip()
    if asked in ("0", "1"):
        return asked == "1"
    return is_interactive() or (sys.stderr is not None and sys.stderr.isatty())


def is_interactive() -> bool:
    """Whether somebody is typing: at Python's prompt, in IPython or in a notebook."""
    return hasattr(sys, "ps1") or "IPython" in sys.modules


def wake_soon() -> None:
    """Import what compiling needs, in the background, once; only where somebody is typing.

    In a script nothing would be gained: Python runs one thread at a time.
    """
    if _awake.is_set() or not is_interactive():
        return
    _awake.set()
    threading.Thread(target=_wake, name="dimtensor-wakes-libraries", daemon=True).start()


def _wake() -> None:
    for name in _SLEEPERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
