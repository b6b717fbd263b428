"""Operators and NumPy's functions on tensors, beside numbers, arrays and labeled arrays."""

from __future__ import annotations

import math
import operator

import numpy as np
import pandas as pd
import pytensor.scalar as ps
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.ops.facts import facts_of
from dimtensor.tensor import elementwise
from tests.backend_names import COMPILED
from tests.graph.optable.table import ELEMWISE

K = dt.Dim("k", coords=["a", "b", "c"])
X = dt.tensor("x", dims=K)
I = dt.tensor("i", dims=K, dtype="int64")  # noqa: E741
B = dt.tensor("b", dims=K, dtype="bool")
AT = {
    X: np.array([-1.5, 0.5, 2.5]),
    I: np.array([-3, 2, 7]),
    B: np.array([True, False, True]),
}

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
              operator.mod, operator.pow]  # fmt: skip
COMPARISON = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor]


def value(x: dt.DimTensor) -> np.ndarray:
    inputs = dt.inputs_of(x)
    return x.eval({tensor: AT[tensor] for tensor in inputs}).values


def assert_same(x: dt.DimTensor, wanted: np.ndarray) -> None:
    found = value(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISON, ids=lambda op: op.__name__)
@pytest.mark.parametrize(
    "number", [2, 2.5, np.float64(2.5), np.float32(2.5), np.int64(2), np.array(2.5)],
    ids=lambda n: f"{type(n).__name__}-{n}",
)  # fmt: skip
@pytest.mark.parametrize("tensor", [X, I], ids=["float", "int"])
def test_operators_with_numbers_on_both_sides(op, number, tensor):
    array = AT[tensor]
    with np.errstate(invalid="ignore"):  # fractional powers of negative numbers
        wanted = op(array, number)
    assert_same(op(tensor, number), wanted)
    if op is operator.pow:
        tensor, array = dt.abs(tensor), abs(array)
    assert_same(op(number, tensor), op(number, array))


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_operators_on_bits(op):
    assert_same(op(B, True), op(AT[B], True))
    assert_same(op(np.bool_(True), B), op(np.bool_(True), AT[B]))
    assert_same(op(I, 3), op(AT[I], 3))
    assert_same(op(3, I), op(3, AT[I]))
    assert_same(op(B, X > 0), op(AT[B], AT[X] > 0))


def test_ufuncs_of_numpy_take_tensors():
    names = """hypot cbrt copysign fmax fmin fmod heaviside logaddexp logaddexp2 signbit exp2 log2
        trunc rint arctan2 maximum"""
    for function in (getattr(np, name) for name in names.split()):
        operands, arrays = (
            [(X, 2.0), (AT[X], 2.0)] if function.nargs == 3 else [(X**2,), (AT[X] ** 2,)]
        )
        np.testing.assert_allclose(value(function(*operands)), function(*arrays), rtol=1e-15)
    assert_same(np.ldexp(X, I), np.ldexp(AT[X], AT[I]))
    for function in (np.left_shift, np.right_shift):
        assert_same(function(I, 2), function(AT[I], 2))


@pytest.mark.parametrize("row", [r for r in ELEMWISE if r.operator], ids=lambda r: r.name)
def test_operators_of_rows_are_those_of_python(row):
    """An operator between arrays of NumPy does what the row does; kernels write the same one."""
    like = {"logical": B, "integer": I}.get(row.dtype, X)
    x = AT[like]
    y = x[::-1] if like is B else np.ones_like(x) * 2
    text, arrays = (
        (f"{row.operator} x", (x,)) if row.arity == 1 else (f"x {row.operator} y", (x, y))
    )
    found = getattr(elementwise, row.name)(*(dt.data(array, dims=K) for array in arrays))
    np.testing.assert_array_equal(found.values, eval(text, {"x": x, "y": y}))
    if row.arity == 2:
        assert facts_of(getattr(ps, row.lowers_to)).sign in (row.operator, "")


def test_unary_operators():
    assert_same(-X, -AT[X])
    assert +X is X
    assert_same(abs(X), abs(AT[X]))
    assert_same(~B, ~AT[B])
    assert_same(~I, ~AT[I])
    assert_same(round(X), np.round(AT[X]))
    assert_same(math.floor(X), np.floor(AT[X]))
    assert_same(math.ceil(X), np.ceil(AT[X]))
    assert_same(math.trunc(X), np.trunc(AT[X]))
    for found, wanted in zip(divmod(X, 2), np.divmod(AT[X], 2), strict=True):
        assert_same(found, wanted)
    for found, wanted in zip(divmod(7, I), np.divmod(7, AT[I]), strict=True):
        assert_same(found, wanted)
    assert_same(round(X, 2), np.round(AT[X], 2))


NUMPY = {
    "exp": lambda x, i, b: np.exp(x),
    "add": lambda x, i, b: np.add(x, 1),
    "true_divide": lambda x, i, b: np.true_divide(x, 3),
    "remainder": lambda x, i, b: np.remainder(x, 2),
    "absolute": lambda x, i, b: np.absolute(x),
    "conjugate": lambda x, i, b: np.conjugate(x),
    "rint": lambda x, i, b: np.rint(x),
    "round": lambda x, i, b: np.round(x),
    "deg2rad": lambda x, i, b: np.deg2rad(x),
    "radians": lambda x, i, b: np.radians(x),
    "degrees": lambda x, i, b: np.degrees(x),
    "isposinf": lambda x, i, b: np.isposinf(x),
    "isclose": lambda x, i, b: np.isclose(x, 0.5, rtol=0.0, atol=1e-3),
    "where": lambda x, i, b: np.where(b, x, 0.0),
    "where integers": lambda x, i, b: np.where(b, i, 1),
    "clip": lambda x, i, b: np.clip(x, -1.0, 1.0),
    "clip below": lambda x, i, b: np.clip(x, 0.0, None),
    "clip by name": lambda x, i, b: np.clip(x, a_min=None, a_max=1.0),
    "invert": lambda x, i, b: np.invert(b),
    "logical_not": lambda x, i, b: np.logical_not(i),
    "maximum": lambda x, i, b: np.maximum(0.0, x),
    "float_times_int": lambda x, i, b: np.multiply(x, i),
    "sum": lambda x, i, b: np.sum(x),
    "sum of bools": lambda x, i, b: np.sum(b),
    "prod": lambda x, i, b: np.prod(i),
    "mean": lambda x, i, b: np.mean(x),
    "std": lambda x, i, b: np.std(x),
    "var": lambda x, i, b: np.var(x, ddof=1),
    "max": lambda x, i, b: np.max(x),
    "min": lambda x, i, b: np.min(i),
    "any": lambda x, i, b: np.any(b),
    "median": lambda x, i, b: np.median(x),
    "real": lambda x, i, b: np.real(x),
    "imag": lambda x, i, b: np.imag(x),
    "angle": lambda x, i, b: np.angle(x),
    "zeros_like": lambda x, i, b: np.zeros_like(x),
    "ones_like": lambda x, i, b: np.ones_like(i),
    "full_like": lambda x, i, b: np.full_like(x, 2.0),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_functions(name: str):
    function = NUMPY[name]
    result = function(X, I, B)
    assert isinstance(result, dt.DimTensor)
    wanted = np.asarray(function(AT[X], AT[I], AT[B]))
    found = result.eval({t: AT[t] for t in dt.inputs_of(result)})
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.values, wanted, rtol=1e-14)


REFUSED = {
    r"np\.sum of a dims-tensor takes no axis": lambda: np.sum(X, axis=0),
    r"np\.sort is not defined for dims-tensors": lambda: np.sort(X),
    r"np\.add\.reduce is not defined": lambda: np.add.reduce(X),
    r"np\.exp is not defined for dims-tensors with out": lambda: np.exp(X, out=np.zeros(3)),
    r"np\.nextafter is not defined for dims-tensors": lambda: np.nextafter(X, 1.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_numpy_cannot_do_with_tensors(message: str):
    with pytest.raises(dt.DtypeError, match=message):
        REFUSED[message]()
    with pytest.raises(dt.GraphError, match="an input has no values before it is computed"):
        np.asarray(X)


def test_equality_is_elementwise_and_identity_is_structural():
    y = dt.tensor("y", dims=K)
    assert isinstance(y == X, dt.DimTensor)
    assert (y == X).dtype == "bool"
    assert (X + 1) is (X + 1)
    assert hash(X + 1) == hash(X + 1)
    assert len({X, y, X}) == 2


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (bool, "neither true nor false before it is computed"),
        (float, "no number before it is computed"),
        (int, "no number before it is computed"),
        (list, "no order to iterate in"),
        (lambda x: 1.0 in x, "needs values; write"),
        (lambda x: 0 < x < 1, "neither true nor false"),
    ],
)
def test_what_needs_values_raises(use, message: str):
    with pytest.raises(dt.GraphError, match=message):
        use(X)
    with pytest.raises(AttributeError, match=r"no \.shape\n.*\n.*sizes tells lengths by name"):
        X.shape


ARRAY = xr.DataArray([1.0, 2.0, 3.0], dims="k", coords={"k": ["c", "a", "b"]})


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISON], ids=lambda op: op.__name__)
def test_dataarrays_are_aligned_by_label(op):
    x = xr.DataArray(AT[X], dims="k", coords={"k": list("abc")})
    if op is operator.pow:
        found = op(dt.abs(X), ARRAY).eval({X: AT[X]})
        x = abs(x)
    else:
        found = op(X, ARRAY).eval({X: AT[X]})
    wanted = op(x, ARRAY.sel(k=list("abc")))
    xr.testing.assert_allclose(found, wanted)


def test_numpy_functions_of_a_dataarray_and_a_tensor_align_too():
    x = xr.DataArray(AT[X], dims="k", coords={"k": list("abc")})
    found = np.subtract(ARRAY, X).eval({X: AT[X]})
    xr.testing.assert_allclose(found, ARRAY.sel(k=list("abc")) - x)
    other = xr.DataArray([1.0, 2.0], dims="m")
    assert (X + other).sizes == {"k": 3, "m": 2}


def test_series_are_aligned_by_label():
    series = pd.Series([1.0, 2.0, 3.0], index=pd.Index(["c", "a", "b"], name="k"))
    np.testing.assert_allclose((X * series).eval({X: AT[X]}), AT[X] * [2.0, 3.0, 1.0])


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISON], ids=lambda op: op.__name__)
def test_a_labeled_array_before_a_tensor_says_what_to_write(op):
    """xarray and pandas hand their bare values over, so that labels could not be aligned."""
    with pytest.raises(dt.InputError, match=r"the tensor comes first: tensor \+ object"):
        op(ARRAY, X)


def test_labels_that_differ_raise():
    with pytest.raises(dt.LabelError, match=r"d"):
        X + ARRAY.assign_coords(k=["a", "b", "d"])


def test_arrays_without_dims_raise():
    for use in (lambda: X + np.ones(3), lambda: np.ones(3) + X, lambda: [1.0, 2.0] * X):
        with pytest.raises(dt.InputError, match="nothing says which dims the axes of this"):
            use()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_division_by_one_rounds_down(backend):
    found = dt.function([X], [X // 1, X // 1.0, X / 1], backend=backend)(AT[X])
    for one, wanted in zip(found, [[-2, 0, 2], [-2, 0, 2], AT[X]], strict=True):
        np.testing.assert_array_equal(one, wanted)
