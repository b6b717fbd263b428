"""Every row of the op table against NumPy and SciPy, on operands that broadcast by dims."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.graph.optable import OpRow
from tests.graph.optable.table import (
    DIMS,
    ELEMWISE,
    aligned,
    assert_close,
    expected,
    function_of,
    in_order,
    labeled,
    operands,
    oracle_of,
    tensors,
    used_axes,
)

by_name = pytest.mark.parametrize("row", ELEMWISE, ids=lambda row: row.name)


def evaluate(row: OpRow, dtype: str, arrays: list[np.ndarray]):
    inputs = tensors(row, dtype)
    f = dt.function(inputs, function_of(row)(*inputs), backend="python")
    return f(*(labeled(at, x) for at, x in enumerate(arrays)))


def takes(row: OpRow, dtype: str) -> bool:
    try:
        function_of(row)(*tensors(row, dtype))
    except dt.DtypeError:
        return False
    return True


TYPED = [
    pytest.param(row, dtype, id=f"{row.name}-{dtype}")
    for row in ELEMWISE
    for dtype in ["float64", "float32", "int64", "int8", "uint16", "bool"]
    if takes(row, dtype)  # test_dtypes.py says which are refused
]


@pytest.mark.parametrize(("row", "dtype"), TYPED)
def test_values(row: OpRow, dtype: str, rng: np.random.Generator):
    arrays = operands(row, dtype, rng)
    if row.name == "power" and arrays[0].dtype.kind == "i":
        arrays[1] = abs(arrays[1])
    result = evaluate(row, dtype, arrays)
    wanted = expected(row, arrays, result.dtype.name)
    assert result.dtype.name == function_of(row)(*tensors(row, dtype)).dtype
    assert_close(in_order(row, result), wanted, dtype)


@by_name
def test_no_elements_and_one_element(row: OpRow, rng: np.random.Generator):
    dtype = "int64" if row.dtype == "integer" else "float64"
    inputs = tensors(row, dtype)
    f = dt.function(inputs, function_of(row)(*inputs), backend="python")
    for sizes in [(0, 1, 1), (1, 0, 2), (1, 1, 1)]:
        arrays = operands(row, dtype, rng, sizes)
        result = f(*(labeled(at, x) for at, x in enumerate(arrays)))
        assert [result.sizes[DIMS[axis].name] for axis in used_axes(row)] == [
            sizes[axis] for axis in used_axes(row)
        ]
        assert_close(in_order(row, result), expected(row, arrays, result.dtype.name))


@pytest.mark.parametrize("row", [row for row in ELEMWISE if row.complex], ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_values(row: OpRow, dtype: str, rng: np.random.Generator):
    arrays = operands(row, dtype, rng)
    result = evaluate(row, dtype, arrays)
    values = [aligned(at, x) for at, x in enumerate(arrays)]
    if row.name == "where":
        values[0] = values[0] != 0
    wanted = np.asarray(oracle_of(row)(*values))
    wanted = wanted.squeeze(tuple(i for i in range(3) if i not in used_axes(row)))
    assert result.dtype == wanted.dtype
    assert_close(in_order(row, result), wanted, dtype)


def test_stable_functions_at_large_arguments():
    k = dt.Dim("k", length=4)
    x = dt.tensor("x", dims=k)
    at = {x: np.array([-1000.0, -40.0, 40.0, 1000.0])}
    np.testing.assert_allclose(
        dt.softplus(x).eval(at), [0.0, np.exp(-40.0), 40.0 + np.exp(-40.0), 1000.0], rtol=1e-14
    )
    np.testing.assert_allclose(
        dt.log_sigmoid(x).eval(at),
        [-1000.0, -40.0 - np.exp(-40.0), -np.exp(-40.0), 0.0],
        rtol=1e-14,
    )
    np.testing.assert_allclose(dt.logaddexp(x, x).eval(at), at[x] + np.log(2.0), rtol=1e-14)
    np.testing.assert_allclose(dt.sigmoid(x).eval(at), [0.0, np.exp(-40.0), 1.0, 1.0], rtol=1e-14)
    small = {x: np.array([-1e-20, -1e-10, -40.0, -1000.0])}
    np.testing.assert_allclose(
        dt.log1mexp(x).eval(small),
        [np.log(1e-20), np.log(1e-10) - 5e-11, -np.exp(-40.0), 0.0],
        rtol=1e-13,
    )


def test_integers_divided_by_zero_give_zero():
    k = dt.Dim("k", length=3)
    x, y = (dt.tensor(name, dims=k, dtype="int64") for name in "xy")
    at = {x: np.array([7, -7, 0]), y: np.array([0, 2, 0])}
    assert (x // y).eval(at).values.tolist() == [0, -4, 0]
    assert (x % y).eval(at).values.tolist() == [0, 1, 0]
    assert (x // 2).eval({x: at[x]}).values.tolist() == [3, -4, 0]


def test_negative_powers_of_integers_raise():
    k = dt.Dim("k", length=2)
    x, y = (dt.tensor(name, dims=k, dtype="int64") for name in "xy")
    with pytest.raises(dt.DtypeError, match=r"a negative power \(-2\) of the integers x with dims"):
        x**-2
    with pytest.raises(dt.CheckError, match="integers have no negative powers"):
        (x**y).eval({x: np.array([2, 3]), y: np.array([1, -1])})
    assert (x**y).eval({x: np.array([2, 3]), y: np.array([0, 3])}).values.tolist() == [1, 27]


def test_normal_probabilities_far_out():
    """Against SciPy; the derivative is the ratio of the density and the probability."""
    import scipy.special
    import scipy.stats

    k = dt.Dim("k", length=7)
    x = dt.tensor("x", dims=k)
    points = np.array([-1e5, -1000.0, -40.0, -1.0, 0.0, 9.0, 40.0])
    first = dt.grad(dt.special.log_ndtr(x).sum(), x)
    second = dt.grad(first.sum(), x)
    found = [y.eval({x: points}).values for y in (dt.special.log_ndtr(x), first, second)]
    np.testing.assert_allclose(found[0], scipy.special.log_ndtr(points), rtol=1e-14)
    near = slice(1, None)
    ratio = np.exp(scipy.stats.norm.logpdf(points) - found[0])[near]
    np.testing.assert_allclose(found[1][near], ratio, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(found[1][0], 1e5, rtol=1e-9)  # -x - 1 / x
    wanted = (-ratio * (points[near] + ratio))[1:]
    np.testing.assert_allclose(found[2][2:], wanted, rtol=1e-6, atol=1e-300)
