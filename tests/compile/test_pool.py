"""Threads that compute the shares of slices: order, errors, interruptions, forks."""

from __future__ import annotations

import _thread
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dimtensor.compile.sliced.pool import Pool, available_cores

THREADS = [1, 2, 3, 7]


def helpers() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.name.startswith("dimtensor-slices")}


def ended(before: set[threading.Thread], patience: float = 5.0) -> bool:
    """Whether the threads that started since have ended."""
    until = time.monotonic() + patience
    while helpers() - before and time.monotonic() < until:
        time.sleep(0.01)
    return not helpers() - before


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_results_are_in_order(threads: int, count: int):
    calls = [lambda x, at=at: x + at for at in range(count)]
    assert Pool(threads).run(calls, 10) == [10 + at for at in range(count)]


def test_several_threads_work_at_a_time():
    both = threading.Barrier(2, timeout=20)
    assert sorted(Pool(2).run([both.wait, both.wait])) == [0, 1]


@pytest.mark.parametrize("threads", THREADS)
def test_the_error_is_that_of_the_first_call_that_fails(threads: int):
    started = []

    def call(at: int) -> Callable[[], int]:
        def made() -> int:
            started.append(at)
            if at in (3, 5):
                raise ValueError(f"call {at}")
            return at

        return made

    pool = Pool(threads)
    for _ in range(5):
        with pytest.raises(ValueError, match="call 3"):
            pool.run([call(at) for at in range(100)])
    # later ones did not start, but for those that other threads had begun
    assert max(started) == 3 if threads == 1 else max(started) < 90
    assert pool.run([lambda: 1, lambda: 2]) == [1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_ends_all_threads(threads: int):
    before, pool, calls = helpers(), Pool(threads), []

    def call() -> None:
        calls.append(1)
        if len(calls) == 5:
            _thread.interrupt_main()
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        pool.run([call] * 1000)
    assert ended(before)
    assert len(calls) < 100


def test_threads_end_with_their_pool():
    before, pool = helpers(), Pool(3)
    pool.run([time.sleep] * 6, 0.01)
    assert helpers() - before
    del pool
    assert ended(before)


def test_threads_that_come_late_keep_nothing_alive():
    class Chunk:
        pass

    pool, hold = Pool(3), threading.Event()
    count = 2 * available_cores()  # so many helpers has the pool
    busy = [threading.Thread(target=pool.run, args=([hold.wait] * 3, 20)) for _ in range(count)]
    for thread in busy:
        thread.start()
    try:
        chunk = Chunk()
        gone = weakref.ref(chunk)
        pool.run([id, id, id], chunk)  # no helper has the time to take part
        del chunk
        assert gone() is None
    finally:
        hold.set()
        for thread in busy:
            thread.join(30)


def test_several_threads_share_a_pool():
    pool, found = Pool(2), {}

    def ask(number: int) -> None:
        found[number] = [pool.run([lambda x, at=at: x * at for at in range(8)], number)
                         for _ in range(20)]  # fmt: skip

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(30)
    for number in range(4):
        assert found[number] == [[number * at for at in range(8)]] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, in other tests
def test_a_child_of_a_fork_starts_threads_of_its_own():
    pool = Pool(2)
    pool.run([abs, abs], -1)
    child = os.fork()
    if not child:
        both = threading.Barrier(2, timeout=20)
        fine: Any = False
        try:
            fine = sorted(pool.run([both.wait, both.wait])) == [0, 1]
        finally:
            os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.run([abs, abs], -2) == [2, 2]


def test_there_is_a_core():
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
