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
from dimtensor.tuning import PROGRESS_LOG_PERIOD, PROGRESS_PATIENCE, PROGRESS_PERIOD

# what the first compilation needs and takes a while to import
_SLEEPERS = ("dimtensor.kernels.compiler", "llvmlite.binding", "xarray")

_awake = threading.Event()
complete_names = Hook("tab completion")  # of a shell


class Progress:
    """Line that reports the progress of slow work, and vanishes when it is done.

    Notebooks show a line of its own beside the output, terminals one in the standard error stream;
    both are brought up to date while the work goes on, with an estimate of what remains, and vanish
    after it. A standard error stream that is a file or a pipe gets a line every ten seconds of work
    that takes longer, and a last one. The environment variable ``DIMTENSOR_PROGRESS`` set to 0
    switches all of this off; 1 writes the first line to a file as soon as to a terminal.

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
        self._patience = patience
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
            self._thread = _thread_class()(
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
        notice = _notice()
        patience = notice.patience if self._patience is None else self._patience
        if self._over.wait(patience):
            return
        notice.show(self._text())
        while not self._over.wait(notice.period):
            notice.update(self._text())
        notice.end(self._text())

    def _text(self) -> str:
        text = f"dimtensor: {self.what}"
        if self.total is None:
            text += " …"
        else:
            text += f": {min(self._done, self.total):,} of {self.total:,}"
        text += f", {self._note}" if self._note else ""
        seconds = time.perf_counter() - self._started
        if seconds < 1:
            return text
        text += f", {_duration(seconds)}"
        if self.total is not None and 0 < self._done < self.total:
            left = seconds * (self.total / self._done - 1)
            text += f", about {_duration(left)} left"
        return text


def _duration(seconds: float) -> str:
    """Write a duration in two units at most.

    >>> _duration(7.4), _duration(125), _duration(7300), _duration(200_000)
    ('7 s', '2 min 5 s', '2 h 1 min', '2 d 7 h')
    """
    whole = round(seconds)
    for each, large, small in ((86_400, "d", "h"), (3_600, "h", "min"), (60, "min", "s")):
        if whole >= each:
            part = {"h": 3_600, "min": 60, "s": 1}[small]
            return f"{whole // each} {large} {whole % each // part} {small}"
    return f"{whole} s"


def announced(what: str, patience: float | None = None) -> Progress:
    """Say that something is being compiled if it takes long, until it is done."""
    return Progress(f"compiling {what}", patience=patience)


class _Line:
    """Status line of a terminal, rewritten in place and erased at the end."""

    patience, period = PROGRESS_PATIENCE, PROGRESS_PERIOD

    def __init__(self) -> None:
        self._last = ""

    def show(self, text: str) -> None:
        self._last = text
        # a line that wraps cannot be written over
        text = escaped(text)[: shutil.get_terminal_size().columns - 1]
        print(text, end="", file=sys.stderr, flush=True)

    def update(self, text: str) -> None:
        if text != self._last:
            print("\r\x1b[K", end="", file=sys.stderr)
            self.show(text)

    def end(self, text: str) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Log:
    """Lines of a file or a pipe: one every some seconds, without control characters."""

    period = PROGRESS_LOG_PERIOD

    def __init__(self) -> None:
        self.patience = PROGRESS_PATIENCE if settings().progress else PROGRESS_LOG_PERIOD

    def show(self, text: str) -> None:
        print(escaped(text), file=sys.stderr, flush=True)

    update = end = show


class _Display:
    """An output of a notebook's cell, emptied when it is done."""

    patience, period = PROGRESS_PATIENCE, PROGRESS_PERIOD

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

    def end(self, text: str) -> None:
        self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


class _Spinner:
    """An output of a marimo notebook's cell, removed when it is done."""

    patience, period = PROGRESS_PATIENCE, PROGRESS_PERIOD

    def __init__(self) -> None:
        self._context: Any = None
        self._spinner: Any = None
        self._last = ""

    def show(self, text: str) -> None:
        self._last = text
        self._context = sys.modules["marimo"].status.spinner(subtitle=text)
        self._spinner = self._context.__enter__()

    def update(self, text: str) -> None:
        if text != self._last:
            self._last = text
            self._spinner.update(subtitle=text)

    def end(self, text: str) -> None:
        self._context.__exit__(None, None, None)


def _notice() -> _Line | _Log | _Display | _Spinner:
    """Return what shows progress here."""
    if _in_notebook():
        return _Display()
    if _in_marimo():
        return _Spinner()
    return _Line() if sys.stderr.isatty() else _Log()


def _thread_class() -> Any:
    """Return the class of threads that may show something: marimo has its own."""
    return sys.modules["marimo"].Thread if _in_marimo() else threading.Thread


def _in_marimo() -> bool:
    """Return whether outputs go to a notebook of marimo."""
    marimo: Any = sys.modules.get("marimo")
    return hasattr(marimo, "running_in_notebook") and marimo.running_in_notebook()


def _shell() -> Any:
    """IPython's shell, None outside of it."""
    ipython: Any = sys.modules.get("IPython")
    return ipython.get_ipython() if hasattr(ipython, "get_ipython") else None


def _in_notebook() -> bool:
    """Return whether outputs go to the front end of a kernel."""
    return getattr(_shell(), "kernel", None) is not None


def is_watched() -> bool:
    """Return whether progress is shown: wherever it can be, unless the setting forbids it."""
    if settings().progress is False:
        return False
    return sys.stderr is not None or _in_notebook()


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
