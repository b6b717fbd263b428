"""A line about compilations that take long, and libraries that wake while a user is typing."""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from dimtensor.settings import settings

# seconds after which a compilation is worth a line
PATIENCE = 2.0
# what the first compilation needs and takes a while to import
_SLEEPERS = ("dimtensor.kernels.compiler", "llvmlite.binding", "pytensor.sparse", "xarray")

_awake = threading.Event()


@contextlib.contextmanager
def announced(what: str, patience: float = PATIENCE) -> Iterator[None]:
    """Say that something is being compiled if it takes long, until it is done.

    Notebooks show a line of its own beside the output, terminals one in the standard error stream;
    both vanish. The environment variable ``DIMTENSOR_PROGRESS`` set to 0 switches it off, 1
    switches it on for files too, in which the line stays and says how long it took.

    Parameters
    ----------
    what : str
    patience : float
        Seconds without a word.
    """
    if not _is_watched():
        yield
        return
    notice = _notice()
    # what a thread of a notebook shows belongs to the cell that it was started from
    context = contextvars.copy_context()
    timer = threading.Timer(patience, context.run, (notice.show, f"dimtensor: compiling {what} …"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        notice.end()


class _Line:
    """A line in the standard error stream, wiped out in a terminal and finished in a file."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._shown = False

    def show(self, text: str) -> None:
        self._shown = True
        print(text, end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if not self._shown:
            return
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            print(f" {time.perf_counter() - self._started:.1f} s", file=sys.stderr, flush=True)


class _Display:
    """An output of a notebook's cell, emptied when it is done."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from html import escape

        from IPython.display import DisplayHandle

        handle = DisplayHandle()
        style = "opacity:.65; font-size: 12px"
        page = f'<span style="{style}">{escape(text)}</span>'
        handle.display({"text/plain": text, "text/html": page}, raw=True)
        self._handle = handle

    def end(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _notice() -> _Line | _Display:
    return _Display() if _in_notebook() else _Line()


def _in_notebook() -> bool:
    """Whether outputs go to a kernel's front end."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


def _is_watched() -> bool:
    asked = settings().progress
    if asked is not None:
        return asked
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
