"""Settings for the duration of a call, restored however the call ends.

A KeyboardInterrupt is raised at the start of a Python function, or after a call of a C function.
Settings are therefore restored in a ``finally`` by C functions: in the ``__exit__`` of a context
manager, a Python function, an interrupt may come before its first line.
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

# seconds after which a lost interrupt is raised again
_AGAIN = 0.001


def within[V, T](variable: ContextVar[V], value: V, call: Callable[[], T]) -> T:
    """Call a function with another value of a context variable.

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

    return copy_context().run(run)  # restored with the context, however the call ends


def heard[T](call: Callable[[], T]) -> T:
    """Call a function of another library, and raise interrupts again that are lost in it.

    Python drops exceptions in finalizers and garbage collection. A dropped ``KeyboardInterrupt`` of
    the main thread is raised again soon.
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
    """Calls in threads of other libraries, which another thread can interrupt.

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
        """Wrap a function so that its calls can be interrupted."""

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            thread = threading.get_ident()
            try:
                self._threads[thread] = None
                return function(*args, **kwargs)
            finally:
                self._threads.pop(thread, None)

        return call

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the Python code of all threads in a call."""
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
