"""Teams of threads that call machine code: order, failures, interruptions, forks."""

from __future__ import annotations

import _thread
import ctypes
import itertools
import os
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from dimtensor.compile.sliced.pool import Pool
from dimtensor.kernels.native.teams.team import Batch, ShareSum

CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def batch_of(call: Callable[[int], int], count: int, total: ShareSum | None = None) -> Batch:
    """Batch whose calls are those of a Python function of the slice's number."""
    function = CALL(lambda arrays, results, at: call(at))
    calls = np.zeros((count, 4), np.uint64)
    calls[:, 0] = ctypes.cast(function, ctypes.c_void_p).value
    calls[:, 3] = np.arange(count)
    return Batch(calls, function, total)


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
        assert pool.compute(batch) is not None
        assert sorted(made) == list(range(count))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 4), (7, 9), (64, 13), (5, 0)])
def test_rows_are_added_in_a_tree_to_what_is_computed_once(shape: tuple[int, int], threads: int):
    """The bits are those of the tree of pairs, of signed zeros and infinities too."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, size=shape)
    once = rng.normal(size=shape[1])
    rows[:, :1], once[:1] = -0.0, -0.0
    rows[-1:, 1:2] = np.inf
    written = np.full(shape, np.nan)
    total = np.full(shape[1], np.nan)
    batch = batch_of(
        lambda at: written.__setitem__(at, rows[at]) or 0, shape[0], ShareSum(written, once, total)
    )
    level = [*rows]
    while len(level) > 1:
        pairs = [one + other for one, other in itertools.pairwise(level)][::2]
        level = pairs + level[len(pairs) * 2 :]
    for _ in range(3):
        assert Pool(threads).compute(batch) is not None
        np.testing.assert_array_equal(total, once + level[0])
        np.testing.assert_array_equal(np.signbit(total), np.signbit(once + level[0]))


def test_rows_of_a_batch_that_fails_are_not_added():
    total = np.full(2, 7.0)
    batch = batch_of(lambda at: at, 3, ShareSum(np.ones((3, 2)), np.zeros(2), total))
    assert Pool(2).compute(batch) is None
    np.testing.assert_array_equal(total, 7.0)


def test_helpers_that_sleep_are_woken():
    pool, both = Pool(2), threading.Barrier(2, timeout=20)
    for _ in range(3):
        batch = batch_of(lambda at: both.wait() * 0, 2)
        assert pool.compute(batch) is not None
        time.sleep(0.02)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_slice_begins_after_one_that_fails(threads: int):
    pool, begun = Pool(threads), []

    def call(at: int) -> int:
        begun.append(at)
        return 7 if at == 3 else 0

    assert pool.compute(batch_of(call, 1000)) is None
    assert max(begun) < 900
    assert pool.compute(batch_of(lambda at: 0, 10)) is not None


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_ends_all_threads(threads: int):
    before, pool = helpers(), Pool(threads)
    sleep = ctypes.CDLL(None).usleep
    calls = np.full((1000, 4), 2000, np.uint64)
    calls[:, 0] = ctypes.cast(sleep, ctypes.c_void_p).value
    timer = threading.Timer(0.05, _thread.interrupt_main)
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pool.compute(Batch(calls, sleep))
    assert time.monotonic() - started < 1
    assert ended(before)


def test_threads_end_with_their_pool():
    before, pool = helpers(), Pool(3)
    pool.compute(batch_of(lambda at: 0, 6))
    assert len(helpers() - before) == 2
    del pool
    assert ended(before)


def test_several_threads_share_a_pool():
    pool, sums = Pool(2), [0] * 4

    def ask(number: int) -> None:
        for _ in range(20):
            found = np.zeros(8)
            batch = batch_of(lambda at, found=found: found.__setitem__(at, at * number) or 0, 8)
            pool.compute(batch)
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
    pool.compute(batch_of(lambda at: 0, 4))
    child = os.fork()
    if not child:
        both = threading.Barrier(2, timeout=20)
        fine = False
        try:
            batch = batch_of(lambda at: both.wait() * 0, 2)
            fine = pool.compute(batch) is not None
        finally:
            os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool.compute(batch_of(lambda at: 0, 4))
