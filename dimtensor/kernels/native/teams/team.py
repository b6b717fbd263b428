"""Teams of threads that call machine code for the slices of a batch, without Python's lock.

A thread takes the next call by decrementing a counter, and calls a function of the prototype of
:mod:`dimtensor.kernels.native.flat`. Helpers that find no call wait actively for a while, because
a sampler asks for the next gradient after some microseconds, whereas to wake a thread takes fifty;
then they sleep until the next batch begins.

A batch with the sum of its results is one call of machine code, from
:mod:`dimtensor.kernels.native.teams.team_code`: after a pass over large data, Python is slow, as
each of its objects is read from memory again.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dimtensor.caches import when_gone
from dimtensor.kernels.native.teams.team_call import BatchInput, batch_words
from dimtensor.kernels.native.teams.team_code import BUSY, SIZE, TAKEN, functions
from dimtensor.kernels.native.wrapper import python_function
from dimtensor.tuning import OWN_NAP, OWN_SLICES

type Results = tuple[np.ndarray, ...]


class _Memory:
    """Memory that the threads of a team share.

    Attributes
    ----------
    batch : object
        What the calls of the current batch read and write, kept alive.
    """

    def __init__(self, eager: bool) -> None:
        self.code = functions()
        block = np.zeros(SIZE + 64, np.uint8)
        self._block = block
        self.address = block.ctypes.data + -block.ctypes.data % 64
        self.batch: Any = None
        self.threads: list[threading.Thread] = []
        self.code.make(self.address, self.code.waits if eager else 0)

    def serve(self) -> None:
        with suppress(BaseException):  # sent by `interrupt`
            self.code.serve(self.address)

    def stop(self) -> None:
        self.code.stop(self.address)


class ShareSum(NamedTuple):
    """Sum of the rows of a matrix by a binary tree, added to a row that is computed once.

    Attributes
    ----------
    rows : ndarray of float64
        A row for each slice; they are overwritten.
    once, total : ndarray of float64
        The first summand, and where the sum is written.
    """

    rows: np.ndarray
    once: np.ndarray
    total: np.ndarray

    def words(self) -> np.ndarray:
        """Return what the machine code reads of it."""
        found = [self.rows.ctypes.data, *self.rows.shape, self.once.ctypes.data]
        return np.array([*found, self.total.ctypes.data], np.uint64)


class Batch:
    """Calls of machine code, a sum of their results, and the arrays that they take and give.

    Parameters
    ----------
    calls : ndarray of uint64
        For each call the addresses of a function ``flat``, its arrays, its results, and its
        closure.
    kept : object
        What the calls read and write.
    total : ShareSum, optional
        Computed after the calls.
    inputs : sequence of BatchInput
    results : sequence of ndarray of float64
        Buffers whose values are the results, when all is done.
    """

    def __init__(
        self,
        calls: np.ndarray,
        kept: Any,
        total: ShareSum | None = None,
        inputs: Sequence[BatchInput] = (),
        results: Sequence[np.ndarray] = (),
    ):
        self.kept = kept
        self.total = total
        self.count = len(calls)
        words = np.zeros(0, np.uint64) if total is None else total.words()
        at = 0 if total is None else words.ctypes.data
        plan, read = batch_words(calls, at, OWN_SLICES, inputs, results)
        code = functions()
        owner = kept, total, words, read, code
        self.enter = python_function(code.enter, [plan], owner)
        self.resume = python_function(code.resume, [plan], owner)


class Team:
    """A thread that calls machine code for the slices of batches, and its helpers.

    Parameters
    ----------
    helpers : int
        Number of threads beside the one that calls `run`, which is one at a time.
    eager : bool
        Whether helpers wait actively, which takes a core for each.

    Raises
    ------
    OutOfScope
        If no machine code can be loaded in this process.
    """

    def __init__(self, helpers: int, eager: bool = True):
        self._memory = memory = _Memory(eager)
        stop = memory.code.stop
        when_gone(self, partial(stop, memory.address), partial(id, memory))
        for _ in range(helpers):
            # without Python's lock they need not end before the interpreter does
            thread = threading.Thread(target=memory.serve, name="dimtensor-slices", daemon=True)
            memory.threads.append(thread)
            thread.start()

    def run(self, batch: Batch, arrays: Sequence[np.ndarray] = ()) -> Results | None:
        """Make the calls of a batch, and its sum.

        The calls begin in order. If one gives another code than 0, no later one begins.

        Returns
        -------
        tuple of ndarray or None
            The results. None if an array is not contiguous, or has another dtype or shape than the
            batch takes, or if a call gave another code than 0.
        """
        memory = self._memory
        memory.batch = batch, arrays
        try:
            found = self._wait(batch, batch.enter(memory.address, *arrays))
        except Exception:
            memory.code.cancel(memory.address, batch.count)
            self._wait(batch, BUSY)
            raise
        except BaseException:
            memory.code.cancel(memory.address, batch.count)
            self._interrupt()
            raise
        memory.batch = None
        return found

    def _wait(self, batch: Batch, answer: Results | int | None) -> Results | None:
        """Wait until a batch that has begun has ended."""
        code, at = self._memory.code, self._memory.address
        while answer in (BUSY, TAKEN):
            if answer == TAKEN:
                code.sleep(at, *divmod(time.time_ns() + int(OWN_NAP * 1e9), 10**9))
            answer = batch.resume(at)
        return answer if isinstance(answer, tuple) else None

    def _interrupt(self) -> None:
        """End the helpers, also those in loops that do not end by themselves."""
        self._memory.stop()
        for thread in self._memory.threads:
            if thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
                )
