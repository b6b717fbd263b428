"""Settings for the duration of a call, restored however the call ends.

An interruption is raised where a function of Python starts or after one of C was called. So what
is to be undone is undone in a ``finally`` by functions of C: in the ``__exit__`` of a context
manager, which is a function of Python, an interruption may come before its first line.
"""

from __future__ import annotations

import _thread
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np

# seconds after which an interruption that was lost is raised again
_AGAIN = 0.001


def within[V, T](variable: ContextVar[V], value: V, call: Callable[[], T]) -> T:
    """Call a function while a context variable has another value.

    Examples
    --------
    >>> level = ContextVar("level", default=0)
    >>> within(level, 1, level.get), level.get()
    (1, 0)
    """
    before = variable.get()
    try:
        variable.set(value)
        return call()
    finally:
        variable.set(before)


def quiet[T](call: Callable[[], T]) -> T:
    """Call a function without NumPy's warnings of infinite and undefined numbers."""

    def run() -> T:
        with np.errstate(all="ignore"):
            return call()

    return copy_context().run(run)  # it ends with the context, whatever ends the call


def heard[T](call: Callable[[], T]) -> T:
    """Call a function of other libraries that may swallow an interruption.

    Python drops what is raised while an object dies or garbage is collected. Where that is a
    ``KeyboardInterrupt`` of the main thread, it is raised again soon.
    """
    before = sys.unraisablehook
    if threading.current_thread() is not threading.main_thread() or before is _Lost.hook:
        return call()
    _Lost.before = before
    try:
        sys.unraisablehook = _Lost.hook
        return call()
    finally:
        sys.unraisablehook = before


class Calls:
    """Calls in threads of others, which another thread can end.

    Examples
    --------
    >>> calls = Calls()
    >>> double = calls.through(lambda x: 2 * x)
    >>> calls.interrupt()  # nobody is in it
    >>> double(4)
    8
    """

    def __init__(self) -> None:
        self._threads: dict[int, None] = {}

    def through[**P, T](self, function: Callable[P, T]) -> Callable[P, T]:
        """A function whose calls can be ended."""

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            thread = threading.get_ident()
            try:
                self._threads[thread] = None
                return function(*args, **kwargs)
            finally:
                self._threads.pop(thread, None)

        return call

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the threads that are in a call, where they run Python."""
        for thread in list(self._threads):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
            )


class _Lost:
    """Hook for uncatchable exceptions that raises lost interruptions again."""

    before: Callable[[Any], object] = sys.unraisablehook

    @staticmethod
    def hook(told: Any) -> None:
        main = threading.main_thread().ident == threading.get_ident()
        if main and issubclass(told.exc_type, KeyboardInterrupt):
            # not a Thread, whose locks this thread may hold
            _thread.start_new_thread(_interrupt, ())
        else:
            _Lost.before(told)


def _interrupt() -> None:
    time.sleep(_AGAIN)
    _thread.interrupt_main()
