"""Pools of threads that compute the shares of slices."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

import numpy as np

from dimtensor.kernels.native.teams.team import Batch, Results, Team


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Threads that call functions, with the thread that asks for it as one of them.

    Several threads may use one pool, and each gets as many helpers.

    Parameters
    ----------
    threads : int
        Number of threads that take part in a call of `run`.

    Examples
    --------
    >>> Pool(2).run([abs, float, str], -1)
    [1, -1.0, '-1']
    """

    def __init__(self, threads: int):
        self.threads = threads
        self._executor: tuple[int, ThreadPoolExecutor] | None = None
        self._teams: tuple[int, list[Team]] = os.getpid(), []

    def compute(self, batch: Batch, arrays: Sequence[np.ndarray] = ()) -> Results | None:
        """Make calls of machine code without Python's lock; see :meth:`Team.run`."""
        if self._teams[0] != os.getpid():  # a child of a fork has none of the threads
            self._teams = os.getpid(), []
        idle = self._teams[1]
        try:
            team = idle.pop()
        except IndexError:
            team = Team(self.threads - 1, eager=self.threads <= available_cores())
        try:
            found = team.run(batch, arrays)
        except Exception:
            idle.append(team)
            raise
        idle.append(team)
        return found

    def run(self, calls: Sequence[Callable[..., Any]], *args: Any) -> list[Any]:
        """Call functions with the same arguments, and return their results in order.

        The functions start in order. If some raise, no later one starts, and the exception of the
        first of them is raised. An interruption of this thread ends the others after the function
        that they are in.
        """
        if not calls:
            return []
        batch = _PooledCalls(calls, args)
        helpers = min(self.threads, len(calls)) - 1
        try:
            if helpers > 0:
                self._ask(batch, helpers)
            batch.work()
            batch.wait()
        except BaseException:
            batch.failed = -1
            self.stop()
            raise
        if batch.errors:
            error = batch.errors[min(batch.errors)]
            if not isinstance(error, Exception):
                self.stop()
            raise error
        return batch.take()

    def _ask(self, batch: _PooledCalls, helpers: int) -> None:
        """Let threads take part; at the exit of the interpreter there are none."""
        found = self._executor
        if found is None or found[0] != os.getpid():  # a child of a fork has none of the threads
            count = helpers * available_cores()
            found = self._executor = os.getpid(), ThreadPoolExecutor(count, "dimtensor-slices")
        with suppress(RuntimeError):
            for _ in range(helpers):
                found[1].submit(copy_context().run, batch.work)

    def stop(self) -> None:
        """End the threads; the next call starts others."""
        found, self._executor = self._executor, None
        if found is not None and found[0] == os.getpid():
            found[1].shutdown(wait=False, cancel_futures=True)


class _PooledCalls:
    """Calls of one run.

    Attributes
    ----------
    failed : int
        Place of the first call that raised: later ones do not start.
    """

    def __init__(self, calls: Sequence[Callable[..., Any]], args: tuple[Any, ...]):
        self._calls = calls
        self._args = args
        # counters of C, whose steps no other thread and no signal divides
        self._next = itertools.count()
        self._ended = itertools.count(1)
        self._done: SimpleQueue[None] = SimpleQueue()
        self.failed = len(calls)
        self.results: list[Any] = [None] * len(calls)
        self.errors: dict[int, BaseException] = {}

    def work(self) -> None:
        """Take calls in order and make them, beside other threads, until all are taken."""
        count = len(self._calls)
        for at in self._next:
            if at >= count:
                return
            if at < self.failed:
                try:
                    self.results[at] = self._calls[at](*self._args)
                except BaseException as error:
                    self.errors[at] = error
                    self.failed = min(self.failed, at)
            if next(self._ended) == count:
                self._done.put(None)

    def wait(self) -> None:
        """Wait for the calls in other threads."""
        self._done.get()

    def take(self) -> list[Any]:
        """Return the results, and release the calls, which threads that come late still hold."""
        found, self.results, self._calls, self._args = self.results, [], (), ()
        return found
