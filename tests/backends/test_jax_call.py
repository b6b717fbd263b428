"""Calls of code on JAX with NumPy's arrays, of which small ones cross the border together."""

import threading

import numpy as np
import pytest

from dimtensor.backends.jax.call import HostCall, place
from tests.optional import jax, jnp

pytestmark = pytest.mark.compiled


def pure(a, b, c, big, k):
    return a * 2, b.sum(0) + c, (b * k).T, big + a[0], k + 1, c < 0, c / 3


def arguments(seed):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=3),
        np.asfortranarray(rng.normal(size=(2, 4))),
        np.asarray(rng.normal()),
        rng.normal(size=2000),
        np.asarray(3),
    )


def wanted(args):
    return [np.asarray(one) for one in pure(*args)]


def same(found, args):
    assert len(found) == 7
    for one, other in zip(found, wanted(args), strict=True):
        assert isinstance(one, np.ndarray)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-15)


def host_call(function=pure):
    return HostCall(function, [], True, {})


def test_results_are_those_of_the_function():
    call = host_call()
    same(call(*arguments(0)), arguments(0))
    same(call(*arguments(1)), arguments(1))
    assert not jax.config.jax_enable_x64


def test_small_arrays_cross_together():
    call = host_call()
    call(*arguments(0))
    packed = call._packing.pack(arguments(0))
    assert [np.shape(one) for one in packed] == [(3 + 8 + 1,), (2000,), ()]
    with jax.enable_x64(True):
        results = call._packing.jitted(*packed)
    assert [one.shape for one in results] == [(3 + 4 + 8 + 1,), (2000,), (), ()]


def test_other_shapes_numbers_and_arrays_of_jax_are_taken_too():
    call = host_call()
    args = arguments(0)
    same(call(*args), args)
    longer = (args[0], np.ones((5, 4)), args[2], np.ones(7), args[4])
    same(call(*longer), longer)
    same(call(*args), args)
    with jax.enable_x64(True):
        on_device = [jnp.asarray(x) for x in args]
    same(call(*on_device), args)
    numbers = (args[0], args[1], float(args[2]), args[3], args[4])
    same(call(*numbers), args)
    strided = (np.repeat(args[0], 2)[::2], *args[1:])
    same(call(*strided), args)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_or_no_arrays(n):
    call = host_call(lambda *xs: (jnp.ones(2) + sum(xs), jnp.full((), 3.0))[: n or 1])
    for _ in range(2):
        results = call(*np.arange(1.0, 1.0 + n).reshape(n, 1))
        assert len(results) == (n or 1)
        np.testing.assert_array_equal(results[0], 1.0 + sum(range(1, n + 1)))


def test_empty_arrays_are_packed_like_others():
    call = host_call(lambda x, y: (x * 2, y + 1, y.sum()))
    for _ in range(2):
        double, more, total = call(np.zeros((0, 3)), np.ones(2))
        assert double.shape == (0, 3)
        assert (more.tolist(), total) == ([2.0, 2.0], 2.0)


def test_results_stay_what_they_are_when_the_function_is_called_again():
    for function, arrays in (
        (lambda a, b: (a, b, a + 1.0), [np.ones(2), np.zeros(3)]),
        (lambda a, b: (b,), [np.ones((0, 3)), np.zeros(64)]),
        (lambda a, b: (a,), [np.ones(64), np.zeros((2, 0))]),
    ):
        call = host_call(function)
        first = call(*arrays)
        before = [one.copy() for one in first]
        call(*(array + 5.0 for array in arrays))
        for one, other in zip(first, before, strict=True):
            np.testing.assert_array_equal(one, other)


def test_threads_may_make_the_first_call_at_once():
    traced = []

    def counted(*arrays):
        traced.append(1)
        return pure(*arrays)

    call = host_call(counted)
    found = {}
    barrier = threading.Barrier(4)

    def work(seed):
        barrier.wait()
        found[seed] = [call(*arguments(seed)) for _ in range(20)][-1]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        same(found[seed], arguments(seed))
    assert len(traced) == 1


def test_read_only_data_are_placed_once_and_let_go():
    import gc
    import weakref

    data = np.arange(3)
    data.flags.writeable = False
    placed = place(data)
    assert place(data) is placed
    assert placed.dtype == "int64"
    gone = weakref.ref(placed)
    del data, placed
    gc.collect()
    assert gone() is None
    writeable = np.zeros(2)
    first = place(writeable)
    writeable[:] = 1
    assert place(writeable).tolist() == [1.0, 1.0]
    assert first.tolist() == [0.0, 0.0]
