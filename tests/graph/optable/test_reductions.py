"""Rows of the op table that reduce or accumulate: values, dtypes, empty dims, gradients, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.graph.optable import OpRow, rows
from dimtensor.testing.differences import assert_gradient, gradient_by_differences
from tests.graph.optable.table import oracle_of

A, B, C = (dt.Dim(name) for name in "abc")
NAMES = ("a", "b", "c")
SHAPE = (2, 3, 4)
SUBSETS = [(), (0,), (1,), (2,), (0, 2), (2, 1), (0, 1, 2)]
DTYPES = ["float64", "float32", "int64", "int8", "uint8", "uint64", "bool"]
by_reduction = pytest.mark.parametrize("row", rows("reduce"), ids=lambda row: row.name)
by_cumulation = pytest.mark.parametrize("row", rows("cumulate"), ids=lambda row: row.name)


def draw(dtype: str, rng: np.random.Generator, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("complex"):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype.startswith("float"):
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0 if dtype[0] == "u" else -3, 6, shape).astype(dtype)


def reduced(row: OpRow, x: dt.DimTensor, axes: tuple[int, ...]) -> dt.DimTensor:
    # without dims a method reduces over all, so an empty list says that nothing is
    return getattr(x, row.name)([NAMES[axis] for axis in axes])


def in_order(result, axes: tuple[int, ...] = ()) -> np.ndarray:
    return result.transpose(*[n for at, n in enumerate(NAMES) if at not in axes]).values


def assert_close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype
    single = wanted.dtype in ("float32", "complex64")
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if single else 1e-12, atol=1e-6 * single)


@by_reduction
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(row: OpRow, dtype: str, rng: np.random.Generator):
    x = dt.tensor("x", dims=[C, A, B], dtype=dtype)
    values = draw(dtype, rng)
    results = [reduced(row, x, axes) for axes in SUBSETS]
    f = dt.function([x], results, backend="python")
    for axes, symbolic, result in zip(SUBSETS, results, f((NAMES, values)), strict=True):
        assert symbolic.dtype == result.dtype.name
        assert_close(in_order(result, axes), np.asarray(oracle_of(row)(values, axis=axes)))


@by_reduction
def test_without_dims_everything_is_reduced(row: OpRow, rng: np.random.Generator):
    x = dt.tensor("x", dims=[A, B, C])
    values = draw("float64", rng)
    result = getattr(x, row.name)().eval({x: (NAMES, values)})
    assert_close(result.values, np.asarray(oracle_of(row)(values)))
    assert result.dims == ()


@by_cumulation
@pytest.mark.parametrize("dtype", DTYPES)
def test_cumulations(row: OpRow, dtype: str, rng: np.random.Generator):
    x = dt.tensor("x", dims=[A, B, C], dtype=dtype)
    values = draw(dtype, rng)
    results = [getattr(x, row.name)(name) for name in NAMES]
    f = dt.function([x], results, backend="python")
    for axis, result in enumerate(f((NAMES, values))):
        wanted = oracle_of(row)(values, axis=axis)
        assert results[axis].dtype == wanted.dtype.name
        assert_close(in_order(result), wanted)


@pytest.mark.parametrize("row", [r for r in rows() if r.kind != "elemwise"], ids=lambda r: r.name)
def test_complex_numbers(row: OpRow, rng: np.random.Generator):
    x = dt.tensor("x", dims=[A, B], dtype="complex128")
    if not row.complex:
        with pytest.raises(dt.DtypeError, match=f"{row.name} is not defined for complex128"):
            getattr(x, row.name)("a")
        return
    values = draw("complex128", rng, (2, 3))
    result = getattr(x, row.name)("a").eval({x: (["a", "b"], values)})
    assert_close(result.transpose(..., "b").values, oracle_of(row)(values, axis=0))


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_complex_numbers_have_no_order(name: str):
    x = dt.tensor("x", dims=A, dtype="complex128")
    with pytest.raises(dt.DtypeError, match=f"{name} is not defined for complex128"):
        getattr(x, name)()


IDENTITIES = {"sum": 0.0, "prod": 1.0, "all": True, "any": False}


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("name", IDENTITIES)
def test_nothing_reduces_to_the_identity(name: str, static: bool):
    empty = dt.Dim("empty", length=0 if static else None)
    x = dt.tensor("x", dims=[empty, B])
    result = getattr(x, name)("empty").eval({x: (["empty", "b"], np.zeros((0, 3)))})
    assert result.values.tolist() == [IDENTITIES[name]] * 3


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_extreme_of_nothing_raises(name: str):
    with pytest.raises(dt.DimError, match=f"{name} over .*empty.* of length 0 has no value"):
        getattr(dt.tensor("x", dims=dt.Dim("empty", length=0)), name)()
    x = dt.tensor("x", dims=[A, B])
    with pytest.raises(dt.DimError, match=f"{name} has no value over dim 'a': it has length 0"):
        getattr(x, name)("a").eval({x: (["a", "b"], np.zeros((0, 3)))})
    with pytest.raises(dt.DimError, match=f"{name} has no value over dim 'a': it has length 0"):
        getattr(x, name)("a").eval({x: (["a", "b"], np.zeros((0, 0)))})  # as of NumPy
    assert getattr(x, name)("a").eval({x: (["a", "b"], np.zeros((2, 0)))}).sizes == {"b": 0}


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_totals_of_nothing_and_of_one(name: str):
    x = dt.tensor("x", dims=A)
    total = getattr(x, name)()
    assert total.eval({x: np.zeros(0)}).sizes == {"a": 0}
    assert total.eval({x: np.array([3.0])}).values.tolist() == [3.0]


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dims", [None, ["a"], ["c", "a"], ["a", "b", "c"], ...], ids=str)
@pytest.mark.parametrize("skipna", [False, True])
def test_running_totals_along_several_dims_as_in_xarray(
    name: str, dims: Any, skipna: bool, rng: np.random.Generator
):
    values = rng.normal(size=(2, 3, 4))
    values[1, 1, 2] = np.nan
    array = xr.DataArray(values, dims=NAMES)
    x = dt.tensor("x", dims=[A, B, C])
    found = getattr(x, name)(dims, skipna=skipna)
    expected = getattr(array, name)(dims, skipna=skipna)
    xr.testing.assert_allclose(found.eval({x: array}), expected, rtol=1e-12)
    if skipna:
        function = getattr(dt, name)
        xr.testing.assert_allclose(function(x, dims, skipna=True).eval({x: array}), expected)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "cumsum", "cumprod"])
def test_nan_is_contagious(name: str):
    x = dt.tensor("x", dims=A)
    values = np.array([1.0, np.nan, np.inf])
    result = getattr(x, name)().eval({x: values})
    np.testing.assert_array_equal(result.values, getattr(np, name)(values))


def test_a_dim_that_is_not_there_is_named():
    x = dt.tensor("x", dims=[A, B])
    for row in rows("reduce"):
        with pytest.raises(dt.DimError, match=f"{row.name}: .*'z'"):
            getattr(x, row.name)("z")


# -- gradients -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("axes", [(0,), (2, 1), (0, 1, 2)])
def test_gradients_of_reductions(name: str, axes: tuple[int, ...], rng: np.random.Generator):
    x = dt.tensor("x", dims=[A, B, C])
    values = draw("float64", rng)

    def oracle(array) -> float:
        reduced = getattr(np, name)(array.transpose(*NAMES).values, axis=axes)
        return float(np.sin(reduced).sum())

    y = dt.sin(getattr(x, name)([NAMES[axis] for axis in axes])).sum()
    assert_gradient(y, x, {x: (NAMES, values)}, oracle=oracle)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_gradients_of_cumulations(name: str, rng: np.random.Generator):
    x = dt.tensor("x", dims=[A, B])
    values = draw("float64", rng, (3, 4))
    weights = rng.normal(size=(3, 4))

    def oracle(array) -> float:
        return float((getattr(np, name)(array.transpose("a", "b").values, axis=1) * weights).sum())

    y = (getattr(x, name)("b") * dt.data(weights, dims=[A, B])).sum()
    assert_gradient(y, x, {x: (["a", "b"], values)}, oracle=oracle)


@pytest.mark.parametrize("zeros", [[], [1], [0, 2], [0, 1, 2, 3]])
def test_gradient_of_a_product_with_zeros(zeros: list[int]):
    x = dt.tensor("x", dims=A)
    values = np.array([1.5, -2.0, 0.5, 3.0])
    values[zeros] = 0.0
    found = dt.grad(x.prod(), x).eval({x: values}).values
    wanted = [np.prod(np.delete(values, at)) for at in range(4)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_gradient_of_a_running_product_with_a_zero():
    x = dt.tensor("x", dims=A)
    values = np.array([1.5, 0.0, 0.5])
    found = dt.grad(x.cumprod().sum(), x).eval({x: values}).values
    wanted = gradient_by_differences(lambda v: np.cumprod(v).sum(), values)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("name", ["max", "min"])
def test_tied_elements_share_the_gradient_of_an_extreme(name: str):
    x = dt.tensor("x", dims=A)
    found = dt.grad(getattr(x, name)(), x).eval({x: np.array([2.0, 2.0, 2.0])})
    np.testing.assert_allclose(found.values, [1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("name", ["sum", "prod", "max"])
def test_gradients_of_empty_and_single_dims(name: str):
    x = dt.tensor("x", dims=[A, B])
    gradient = dt.grad(getattr(x, name)("b").sum(), x)
    assert gradient.eval({x: (["a", "b"], np.zeros((0, 3)))}).sizes == {"a": 0, "b": 3}
    one = gradient.eval({x: (["a", "b"], np.full((2, 1), 7.0))})
    assert one.values.ravel().tolist() == [1.0, 1.0]


def test_second_derivatives_of_running_products():
    x = dt.tensor("x", dims=A)
    wanted = [[0.0, 6.0, 3.0], [6.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    found = dt.hessian(x.cumprod().sum(), x)
    assert found.eval({x: np.array([2.0, 3.0, 5.0])}).values.tolist() == wanted
    one_zero = [[0.0, 6.0, 0.0], [6.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    assert found.eval({x: np.array([2.0, 0.0, 5.0])}).values.tolist() == one_zero


def test_second_derivatives_of_a_product():
    x = dt.tensor("x", dims=A)
    wanted = [[0.0, 5.0, 3.0], [5.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    found = dt.hessian(x.prod(), x)
    assert found.eval({x: np.array([2.0, 3.0, 5.0])}).values.tolist() == wanted
    one_zero = [[0.0, 5.0, 0.0], [5.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    assert found.eval({x: np.array([2.0, 0.0, 5.0])}).values.tolist() == one_zero
    logs = dt.hessian(dt.exp(dt.log(x).sum()), x).eval({x: np.array([2.0, 3.0, 5.0])})
    np.testing.assert_allclose(logs.values, wanted, atol=1e-14)
