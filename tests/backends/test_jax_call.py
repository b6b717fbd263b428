"""Calls of code on JAX with NumPy's arrays, of which small ones cross the border together."""

import threading

import numpy as np
import pytest

from dimtensor.backends.jax.call import HostCall, place, shared_vector
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
    (packing,) = call._packings.values()
    packed = packing.pack(arguments(0))
    assert [np.shape(one) for one in packed] == [(3 + 8 + 1 + 1,), (2000,), ()]
    with jax.enable_x64(True):
        results = packing.jitted(*packed)
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
        (lambda a: (a,), [np.ones(63)]),
    ):
        call = host_call(function)
        first = call(*arrays)
        before = [one.copy() for one in first]
        call(*(array + 5.0 for array in arrays))
        for one, other in zip(first, before, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_vector_and_its_array_are_one_memory():
    for length in (1, 7, 64):
        vector, array = shared_vector(length)
        assert vector.shape == array.shape == (length,)
        for value in (1.0, 2.0):
            vector[:] = value
            with jax.enable_x64(True):
                assert float(array.sum()) == value * length


def bound(seed, dtypes=("float64", "float64", "float64", "float64", "int64")):
    args = arguments(seed)
    return HostCall(pure, [], True, {}, dtypes).bind(args[3:]), args


def test_arrays_that_stay_are_bound():
    call, args = bound(0)
    same(call(*args[:3]), args)
    other = (*arguments(1)[:3], *args[3:])
    same(call(*other[:3]), other)
    longer = (other[0], np.ones((5, 4)), *other[2:])
    same(call(*longer[:3]), longer)
    same(call(*args[:3]), args)


@pytest.mark.parametrize("first", [True, False])
def test_what_is_bound_takes_its_dtypes_only(first):
    call, (a, b, c, *_) = bound(0)
    if not first:
        call(a, b, c)
    for wrong in ((a.astype("float32"), b, c), (a, b.tolist(), c), (a, b, 1.0), (a, b)):
        with pytest.raises(TypeError, match=r"dtypes|positional argument"):
            call(*wrong)


def test_a_function_is_bound_to_data_of_several_lengths():
    """Results are as long as the data, so that those of one length do not fit the other."""
    call = HostCall(lambda x, y: (x + y.sum(), 2 * y, x), [], True, {}, ["float64"] * 2)
    short, long = call.bind([np.ones(2)]), call.bind([np.ones(5)])
    for _ in range(2):
        for bound, n in ((short, 2), (long, 5)):
            found = [each.tolist() for each in bound(np.ones(1))]
            assert found == [[1.0 + n], [2.0] * n, [1.0]]


def test_a_call_that_fails_leaves_the_next_one_alone():
    def check(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x

    def function(x, y):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(check, like, x), y + 1.0

    call = host_call(function)
    for sign in (1.0, -1.0, 1.0, -1.0):
        x = np.full(3, sign)
        if sign < 0:
            with pytest.raises(Exception, match="negative"):
                call(x, x)
        else:
            np.testing.assert_array_equal(call(x, x), [x, x + 1.0])


def test_threads_have_vectors_of_their_own():
    call = host_call(lambda x, y: (x * 2.0, y + x[0]))
    call(np.zeros(2), np.zeros(3))
    wrong = []

    def work(seed):
        for at in range(200):
            x, y = np.full(2, 1000.0 * seed + at), np.full(3, -1.0)
            found = call(x, y)
            if not (np.all(found[0] == 2 * x) and np.all(found[1] == y + x[0])):
                wrong.append((seed, at))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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


def test_to_place_data_nothing_is_compiled(rng):
    events = []

    def listen(event, *_, **__):
        events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        data = rng.normal(size=(1237, 3)).T  # of a shape that nobody else has
        placed = place(data)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    np.testing.assert_array_equal(placed, data)
    assert not [event for event in events if "compile" in event]


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
