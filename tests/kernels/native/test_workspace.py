"""Memory of temporary arrays goes from one call of a kernel to the next."""

from __future__ import annotations

import gc
import resource
import threading

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.kernels.native.functions import workspace

pytestmark = pytest.mark.compiled


def squares():
    """A function that stores what it computes first, and its formula."""
    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    # the total of all has to be known before a result, which is in another order
    parts = dt.cumulate(lambda s, e: 0.5 * s + e, 0.0, x, dim=t)
    share = parts.isel(t=slice(None, None, -1)) / dt.sqrt((parts**2).sum())
    return dt.function([x], [share], backend="numba").positional


def expected(x):
    parts, state = np.empty_like(x), 0.0
    for at, each in enumerate(x):
        parts[at] = state = 0.5 * state + each
    return parts[::-1] / np.sqrt((parts**2).sum())


@pytest.fixture(autouse=True)
def nothing_kept():
    workspace.release()
    yield
    workspace.release()
    assert workspace.kept() == 0


@pytest.fixture
def f(monkeypatch):
    # a kernel of the test's own, that dies with it
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    return squares()


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_calls_wait_for_pages_once(f, rng):
    given = rng.normal(size=100_000)
    (held,) = f(given)
    assert workspace.kept() >= given.nbytes
    before = faults()
    (again,) = f(given)
    # the result's pages are new, its memory is the caller's
    assert faults() - before < 1.5 * given.nbytes / 4096
    np.testing.assert_allclose(again, expected(given), rtol=1e-10)
    np.testing.assert_array_equal(held, again)


def test_small_arrays_of_known_lengths_share_a_block(monkeypatch):
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    x = dt.tensor("x", dims=dt.Dim("k", length=8))

    def step(s):
        a, b = s
        return 1.5 * a + dt.tanh(b), 1.2 * b + dt.tanh(a)

    # the derivative needs both states before each of up to 400 steps: 25 KiB each
    last, _ = dt.while_loop(lambda s: s[0].max() < 10.0, step, (x, x), 400)
    f = dt.function([x], [last, dt.grad(last.sum(), x)], backend="numba").positional
    given = np.linspace(0.1, 1.0, 8)
    a = b = given
    da = db = np.ones(8)
    while a.max() < 10.0:
        da, db = 1.5 * da + db / np.cosh(b) ** 2, 1.2 * db + da / np.cosh(a) ** 2
        a, b = 1.5 * a + np.tanh(b), 1.2 * b + np.tanh(a)
    for _ in range(2):
        found, gradient = f(given)
        np.testing.assert_allclose(found, a, rtol=1e-12)
        np.testing.assert_allclose(gradient, da, rtol=1e-12)
        # alone each would be too small to be kept
        assert workspace.kept() > 32 * 2**10


def test_results_are_never_made_of_it(f, rng):
    first, second = rng.normal(size=(2, 50_000))
    (held,) = f(first)
    wanted = held.copy()
    f(second)
    np.testing.assert_array_equal(held, wanted)


def test_lengths_may_change_from_call_to_call(f, rng):
    for n in (20_000, 60_000, 59_000, 5_000, 0, 1, 200_000, 20_000):
        given = rng.normal(size=n)
        (found,) = f(given)
        np.testing.assert_allclose(found, expected(given), rtol=1e-10)
        # nothing far larger than what was asked for last is handed on
        assert workspace.kept() <= 3 * 200_000 * 8


def test_what_is_far_too_large_is_not_taken(f, rng):
    f(rng.normal(size=200_000))
    much = workspace.kept()
    f(rng.normal(size=20_000))
    assert workspace.kept() < much / 2


def test_all_kernels_together_keep_no_more_than_the_limit(f, monkeypatch, rng):
    given = rng.normal(size=workspace.KEPT_BYTES // 8 + 1)
    f(given)
    assert workspace.kept() == 0
    (found,) = f(given[:5])
    np.testing.assert_allclose(found, expected(given[:5]), rtol=1e-10)
    other, n = squares(), workspace.KEPT_BYTES // 8 * 3 // 5
    f(given[:n])
    other(given[:n])
    assert n * 8 <= workspace.kept() <= workspace.KEPT_BYTES


def test_a_kernel_gives_back_what_it_keeps_when_it_dies(monkeypatch, rng):
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    mine = squares()
    mine(rng.normal(size=100_000))
    assert workspace.kept() > 0
    del mine
    dt.clear_caches()
    gc.collect()
    assert workspace.kept() == 0


def test_caches_are_cleared_of_it(f, rng):
    given = rng.normal(size=100_000)
    f(given)
    assert workspace.kept() > 0
    dt.clear_caches()
    assert workspace.kept() == 0
    np.testing.assert_allclose(f(given)[0], expected(given), rtol=1e-10)


def test_threads_never_meet_in_a_block(f, rng):
    many = [rng.normal(size=n) for n in (40_000, 40_001, 50_000, 70_000)]
    wanted = [expected(each) for each in many]
    wrong: list[int] = []

    def work(at: int) -> None:
        for _ in range(40):
            if not np.allclose(f(many[at])[0], wanted[at], rtol=1e-10):
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(many))]
    for thread in threads:
        thread.start()
    for _ in range(20):
        workspace.release()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert 0 <= workspace.kept() <= 3 * 70_000 * 8
