"""Teams of threads that call machine code: order, failures, interruptions, forks."""

from __future__ import annotations

import _thread
import ctypes
import os
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from dimtensor.compile.sliced.pool import Pool
from dimtensor.kernels.native.team import Batch

CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def batch_of(call: Callable[[int], int], count: int) -> Batch:
    """Batch whose calls are those of a Python function of the slice's number."""
    function = CALL(lambda arrays, results, at: call(at))
    calls = np.zeros((count, 3), np.uint64)
    calls[:, 2] = np.arange(count)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return Batch(address, calls, np.full(count, -9, np.int32), (function, calls))


def helpers() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.name == "dimtensor-slices"}


def ended(before: set[threading.Thread], patience: float = 5.0) -> bool:
    until = time.monotonic() + patience
    while helpers() - before and time.monotonic() < until:
        time.sleep(0.01)
    return not helpers() - before


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_each_slice_is_computed_once_in_each_of_many_batches(threads: int, count: int):
    pool = Pool(threads)
    for _ in range(20):
        made: list[int] = []
        batch = batch_of(lambda at, made=made: made.append(at) or 0, count)
        assert pool.compute(batch, lambda: "meanwhile") == "meanwhile"
        assert sorted(made) == list(range(count))
        assert not batch.codes.any()


def test_helpers_that_sleep_are_woken():
    pool, both = Pool(2), threading.Barrier(2, timeout=20)
    for _ in range(3):
        batch = batch_of(lambda at: both.wait() * 0, 2)
        pool.compute(batch, lambda: None)
        assert not batch.codes.any()
        time.sleep(0.02)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_slice_begins_after_one_that_fails(threads: int):
    pool, begun = Pool(threads), []

    def call(at: int) -> int:
        begun.append(at)
        return 7 if at == 3 else 0

    batch = batch_of(call, 1000)
    pool.compute(batch, lambda: None)
    assert batch.codes[3] == 7
    assert max(begun) < 900
    again = batch_of(lambda at: 0, 10)
    pool.compute(again, lambda: None)
    assert not again.codes.any()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_the_other_call_ends_the_batch(threads: int):
    pool, begun = Pool(threads), []

    def call(at: int) -> int:
        begun.append(at)
        time.sleep(0.001)
        return 0

    def broken() -> None:
        raise ValueError("the rest is broken")

    with pytest.raises(ValueError, match="the rest is broken"):
        pool.compute(batch_of(call, 1000), broken)
    at_the_end = len(begun)
    assert at_the_end < 900
    time.sleep(0.01)
    assert len(begun) == at_the_end


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_ends_all_threads(threads: int):
    before, pool = helpers(), Pool(threads)
    sleep = ctypes.CDLL(None).usleep
    calls = np.full((1000, 3), 2000, np.uint64)
    address = ctypes.cast(sleep, ctypes.c_void_p).value or 0
    timer = threading.Timer(0.05, _thread.interrupt_main)
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pool.compute(Batch(address, calls, np.zeros(1000, np.int32), sleep), lambda: None)
    assert time.monotonic() - started < 1
    assert ended(before)


def test_threads_end_with_their_pool():
    before, pool = helpers(), Pool(3)
    pool.compute(batch_of(lambda at: 0, 6), lambda: None)
    assert len(helpers() - before) == 2
    del pool
    assert ended(before)


def test_several_threads_share_a_pool():
    pool, sums = Pool(2), [0] * 4

    def ask(number: int) -> None:
        for _ in range(20):
            found = np.zeros(8)
            batch = batch_of(lambda at, found=found: found.__setitem__(at, at * number) or 0, 8)
            pool.compute(batch, lambda: None)
            sums[number] += int(found.sum())

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(30)
    assert sums == [20 * 28 * number for number in range(4)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, in other tests
def test_a_child_of_a_fork_starts_threads_of_its_own():
    pool = Pool(2)
    pool.compute(batch_of(lambda at: 0, 4), lambda: None)
    child = os.fork()
    if not child:
        both = threading.Barrier(2, timeout=20)
        fine = False
        try:
            batch = batch_of(lambda at: both.wait() * 0, 2)
            pool.compute(batch, lambda: None)
            fine = not batch.codes.any()
        finally:
            os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool.compute(batch_of(lambda at: 0, 4), lambda: None)
