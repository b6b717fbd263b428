"""Threads of samplers, which end before the interpreter does.

While the interpreter is finalized, a thread that calls Python is terminated below frames of Rust or
C++, which ends the process by SIGSEGV. Therefore callbacks of such threads go through a
:class:`Gate`, and the threads are joined: by the call that samples, however it ends, or at the exit
of the interpreter.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dimtensor.errors import DimtensorError
from dimtensor.scopes import Calls

if TYPE_CHECKING:
    from dimtensor.backends.native.c_function import CFunction

# Seconds between two checks of threads, and the longest wait at the exit of the interpreter.
_PERIOD, _PATIENCE = 0.002, 10.0


class Threads(Protocol):
    """Threads that call Python."""

    def stop(self) -> None:
        """Ask the threads to end."""

    def are_over(self) -> bool:
        """Return whether no sampler thread will call Python again."""


class Closed(Exception):
    """Raised in a sampler's thread that calls Python after the end of sampling."""


class Gate:
    """The way of a sampler's threads into Python.

    The first exception that is raised behind it is kept for the thread that waits for the draws.

    Parameters
    ----------
    holds : bool
        Whether a thread whose call raises is held until the gate is closed, so that it draws
        nothing more. Otherwise the exception goes on into the sampler.

    Attributes
    ----------
    functions : list of CFunction
        Machine code that the threads call beside the gate.
    """

    def __init__(self, holds: bool):
        self.failure: BaseException | None = None
        self.failed_at: np.ndarray | None = None
        self.holds = holds
        self.functions: list[CFunction] = []
        self._closed = threading.Event()
        self._calls = Calls()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        """End all calls, running and later ones: a density may have a loop without end."""
        self._closed.set()
        for function in self.functions:
            function.stop()
        self._calls.interrupt()

    def leave(self) -> None:
        """Let others call the machine code again, after the last thread has ended."""
        for function in self.functions:
            function.resume()

    def through[**P, T](
        self,
        function: Callable[P, T],
        afterwards: Callable[P, T] | None = None,
        passed: tuple[type[BaseException], ...] = (),
    ) -> Callable[P, T]:
        """Wrap a function so that calls go through the gate.

        Parameters
        ----------
        function : callable
        afterwards : callable, optional
            Replacement for calls after the gate is closed; without one :class:`Closed` is raised.
        passed : tuple of type
            Exceptions that are meant for the sampler.
        """

        def ended(*args: P.args, **kwargs: P.kwargs) -> T:
            if afterwards is None:
                raise Closed
            return afterwards(*args, **kwargs)

        function = self._calls.through(function)

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            if self._closed.is_set():
                return ended(*args, **kwargs)
            try:
                return function(*args, **kwargs)
            except passed:
                raise
            except BaseException as error:
                if not self.holds:
                    raise
                self.fail(error, args[0] if args else None)
            return ended(*args, **kwargs)

        return call

    def fail(self, error: BaseException, at: Any = None) -> None:
        """Keep the first exception and wait until the gate is closed."""
        if self.failure is None:
            at = np.array(at) if isinstance(at, np.ndarray) else None  # who gave it reuses it
            self.failure, self.failed_at = error, at
        self._closed.wait()


_running: set[Threads] = set()
_ending = False


def the_end() -> DimtensorError:
    """Return the error for sampling while the interpreter ends."""
    return DimtensorError("sample: the interpreter ends, and the sampler with it")


def enlist(threads: Threads) -> None:
    """Have threads end before the interpreter does.

    Raises
    ------
    DimtensorError
        If the interpreter is about to end.
    """
    if _ending:
        raise the_end()
    _at_exit()
    for other in list(_running):
        delist(other)
    _running.add(threads)


def delist(threads: Threads) -> None:
    """Forget threads, if they are over."""
    if threads.are_over():
        _running.discard(threads)


@cache
def _at_exit() -> None:
    atexit.register(_end_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_running.clear)  # a child has none of the threads


def _end_all() -> None:
    """Stop all threads at the exit of the interpreter, and wait for them."""
    global _ending
    _ending = True
    running = list(_running)
    for threads in running:
        threads.stop()
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and not all(threads.are_over() for threads in running):
        time.sleep(_PERIOD)
