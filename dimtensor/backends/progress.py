"""A line about work that takes long, and libraries that wake while a user is typing."""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

from dimtensor.errors import escaped
from dimtensor.hooks import Hook
from dimtensor.settings import settings
from dimtensor.tuning import PROGRESS_PATIENCE, PROGRESS_PERIOD

# what the first compilation needs and takes a while to import
_SLEEPERS = ("dimtensor.kernels.compiler", "llvmlite.binding", "xarray")

_awake = threading.Event()
complete_names = Hook("tab completion")  # of a shell


class Progress:
    """Line that reports the progress of slow work, and vanishes when it is done.

    Notebooks show a line of its own beside the output, terminals one in the standard error stream;
    both are brought up to date while the work goes on, and vanish after it. Where nobody watches
    nothing is written. The environment variable ``DIMTENSOR_PROGRESS`` set to 0 switches the line
    off, 1 switches it on for files too, in which it stays and says how long the work took.

    Parameters
    ----------
    what : str
        Such as "compiling a function".
    total : int, optional
        How many parts of the work there are.
    patience : float, optional
        Seconds without a word.
    wanted : bool
        False is silent whoever watches.

    Examples
    --------
    >>> with Progress("counting", total=3) as progress:
    ...     for done in range(3):
    ...         progress(done + 1)
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        patience: float | None = None,
        wanted: bool = True,
    ):
        self.what, self.total = what, total
        self._patience = PROGRESS_PATIENCE if patience is None else patience
        self._wanted = wanted
        self._done, self._note = 0, ""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = time.perf_counter()

    def __call__(self, done: int, note: str = "") -> None:
        """Say how many parts are done; any thread may."""
        self._done, self._note = done, note

    def __enter__(self) -> Self:
        if self._wanted and is_watched():
            # what a thread of a notebook shows belongs to the cell that it was started from
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._show,), name="dimtensor-progress", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._over.wait(self._patience):
            return
        notice = _Display() if _in_notebook() else _Line()
        notice.show(self._text(0.0))
        begun = time.perf_counter()
        while not self._over.wait(PROGRESS_PERIOD):
            notice.update(self._text(time.perf_counter() - begun))
        notice.end(time.perf_counter() - self._started)

    def _text(self, shown_for: float) -> str:
        text = f"dimtensor: {self.what}"
        if self.total is None:
            text += " …"
        else:
            text += f": {min(self._done, self.total):,} of {self.total:,}"
        text += f", {self._note}" if self._note else ""
        return text if shown_for < 1 else f"{text} {time.perf_counter() - self._started:.0f} s"


def announced(what: str, patience: float | None = None) -> Progress:
    """Say that something is being compiled if it takes long, until it is done."""
    return Progress(f"compiling {what}", patience=patience)


class _Line:
    """A line in the standard error stream, wiped out in a terminal and finished in a file."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = ""

    def show(self, text: str) -> None:
        self._last = text
        text = escaped(text)
        # a line that wraps cannot be written over
        text = text[: shutil.get_terminal_size().columns - 1] if self._terminal else text
        print(text, end="", file=sys.stderr, flush=True)

    def update(self, text: str) -> None:
        if self._terminal and text != self._last:
            print("\r\x1b[K", end="", file=sys.stderr)
            self.show(text)

    def end(self, seconds: float) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            print(f" {seconds:.1f} s", file=sys.stderr, flush=True)


class _Display:
    """An output of a notebook's cell, emptied when it is done."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._last = ""

    def show(self, text: str) -> None:
        from IPython.display import DisplayHandle

        self._handle = DisplayHandle()
        self._handle.display(self._page(text), raw=True)

    def update(self, text: str) -> None:
        if text != self._last:
            self._handle.update(self._page(text), raw=True)

    def _page(self, text: str) -> dict[str, str]:
        from html import escape

        self._last = text
        style = "opacity:.65; font-size: 12px"
        return {"text/plain": text, "text/html": f'<span style="{style}">{escape(text)}</span>'}

    def end(self, seconds: float) -> None:
        self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _shell() -> Any:
    """IPython's shell, None outside of it."""
    ipython: Any = sys.modules.get("IPython")
    return ipython.get_ipython() if hasattr(ipython, "get_ipython") else None


def _in_notebook() -> bool:
    """Return whether outputs go to the front end of a kernel."""
    return getattr(_shell(), "kernel", None) is not None


def is_watched() -> bool:
    """Return whether progress is shown: in terminals and notebooks, or as the setting says."""
    asked = settings().progress
    if asked is not None:
        return asked and (sys.stderr is not None or _in_notebook())
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def is_interactive() -> bool:
    """Return whether Python runs interactively: at its prompt, in IPython or a notebook."""
    return hasattr(sys, "ps1") or _shell() is not None


def wake_soon() -> None:
    """Import what compiling needs, in the background, once; only where somebody is typing.

    IPython also learns to complete the names of dims and labels.

    In a script nothing would be gained: Python runs one thread at a time.
    """
    if _awake.is_set() or not is_interactive() or "rv" not in vars(_package() or object):
        return  # without its last public name it is being imported, which leaves others alone
    _awake.set()
    if _shell() is not None and settings().completion:
        complete_names(_shell())
    threading.Thread(target=_wake, name="dimtensor-wakes-libraries", daemon=True).start()


def _package() -> Any:
    return sys.modules.get("dimtensor")


def _wake() -> None:
    for name in _SLEEPERS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
