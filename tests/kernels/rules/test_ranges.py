"""Elements of ranges are computed where they are read, against NumPy."""

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor.backends import native as native_backend

pytestmark = pytest.mark.compiled


def run(build, *arrays):
    """What a kernel gives for arrays, and its source."""
    arrays = [np.asarray(each) for each in arrays]
    inputs = [pt.tensor(dtype=a.dtype, shape=(None,) * a.ndim) for a in arrays]
    outputs = build(*inputs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    program = native_backend.compile_positional(inputs, outputs)
    return [np.asarray(each) for each in program.call(*arrays)], program.kernel.source


ENDS = [
    (0, 0, 1),
    (0, 1, 1),
    (0, 9, 1),
    (0, 100, 1),
    (2, 9, 1),
    (9, 2, 1),
    (0, 40, 3),
    (7, -2, -2),
    (-3, 5, 4),
]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
def test_every_dtype(ends, dtype):
    numbers = [np.dtype(dtype).type(each) for each in ends]
    (found, doubled), _ = run(
        lambda *given: [pt.arange(*given, dtype=dtype), pt.arange(*given, dtype=dtype) * 2],
        *numbers,
    )
    expected = np.arange(*ends, dtype=dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(doubled, expected * expected.dtype.type(2))  # int8 has no room


def test_elements_are_rounded_to_their_dtype():
    """Also where they are read at once: single precision has no odd numbers there."""
    start, stop = np.float32(2**24), np.float32(2**24 + 8)
    (found,), _ = run(lambda a, b: pt.arange(a, b, dtype="float32") - a, start, stop)
    np.testing.assert_array_equal(found, (2.0**24 + np.arange(8)).astype("float32") - start)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "bool"])
def test_ends_without_a_sign(dtype):
    stop = np.dtype(dtype).type(1 if dtype == "bool" else 200)
    (found,), _ = run(lambda n: pt.arange(n, dtype="int64"), stop)
    np.testing.assert_array_equal(found, np.arange(stop, dtype="int64"))


@pytest.mark.parametrize("ends", [(0.5, 3.0, 0.75), (0.0, 1.0, 0.1), (1.0, -1.0, -0.3)])
def test_fractions(ends):
    (found,), _ = run(lambda *given: pt.arange(*given), *map(np.float64, ends))
    np.testing.assert_allclose(found, np.arange(*ends), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("n", [0, 1, 8, 9, 40, 1500])
def test_nothing_is_stored(n, rng):
    x = rng.normal(size=n)

    def build(x):
        every = pt.arange(x.shape[0])
        return [(every * x).sum(), (every[None, :] * x[:, None]).sum()]

    (found, of_pairs), source = run(build, x)
    np.testing.assert_allclose(found, (np.arange(n) * x).sum(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(of_pairs, np.arange(n).sum() * x.sum(), rtol=1e-10, atol=1e-10)
    assert "np.empty" not in source


@pytest.mark.parametrize("n", [0, 1, 9, 40])
def test_positions(n, rng):
    x, table = rng.normal(size=n), rng.normal(size=(n + 5, 3))

    def build(x, table):
        every, back = pt.arange(x.shape[0]), pt.arange(x.shape[0] - 1, -1, -1)
        return [
            table[every + 2],
            x[back],
            pt.inc_subtensor(table[back, 1], x),
            every[None, :] - every[:, None],
            pt.cumsum(every),
        ]

    found, _ = run(build, x, table)
    every = np.arange(n)
    added = table.copy()
    added[every[::-1], 1] += x
    expected = [table[2 : n + 2], x[::-1], added, every[None] - every[:, None], every.cumsum()]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_end_that_is_computed(rng):
    x = rng.normal(size=30)
    (found, total), _ = run(
        lambda x: [pt.arange((x > 0).sum()), (pt.arange((x > 0).sum()) * 1.5).sum()], x
    )
    count = (x > 0).sum()
    np.testing.assert_array_equal(found, np.arange(count))
    np.testing.assert_allclose(total, 1.5 * np.arange(count).sum(), rtol=1e-14)


def check_turned(x, turned, values, expected):
    """Elements weighted by their positions, with nothing stored."""
    f = dt.function([x], (dt.exp(turned) * (dt.arange(turned.dims[0]) + 1)).sum())
    weights = np.arange(len(expected)) + 1
    np.testing.assert_allclose(f(values), (np.exp(expected) * weights).sum(), rtol=1e-13)
    assert "np.empty" not in f.positional.executable.kernel.source


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 40])
@pytest.mark.parametrize("backwards", [slice(None, None, -1), slice(-1, None, -1)])
def test_a_dim_that_is_turned_round_is_read_in_place(n, backwards, rng):
    """Also where the first position is said to be the last one."""
    x = dt.tensor("x", dims=dt.Dim("k"))
    values = rng.normal(size=n)
    check_turned(x, x.isel(k=backwards), values, values[::-1])


@pytest.mark.parametrize("length", [9, 20, 200])
def test_a_part_of_a_dim_of_known_length(length, rng):
    x = dt.tensor("x", dims=dt.Dim("k", length=length))
    part = x.isel(k=slice(None, -1))
    values = rng.normal(size=length)
    turned = part.isel({part.dims[0]: slice(None, None, -1)})
    check_turned(x, turned, values, values[:-1][::-1])
