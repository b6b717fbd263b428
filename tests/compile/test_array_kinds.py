"""Arrays of every kind that NumPy has for the same numbers, at calls, in data and to plain code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.values.ports import ready
from tests.backend_names import BACKENDS

K = dt.Dim("k", length=3)
LETTER = dt.Dim("letter", coords=["a", "b", "c"])


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: np.ndarray) -> np.ndarray:
    buffer = np.zeros(array.nbytes + 1, "u1")
    buffer[1:] = array.view("u1")
    return buffer[1:].view(array.dtype)


class Subclass(np.ndarray):
    """What other libraries make of arrays."""


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "longlong": lambda a: a.astype(np.longlong) if a.dtype.kind == "i" else a.astype("d"),
    "view as longlong": lambda a: a.view("q" if a.dtype.kind == "i" else "d"),
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "read-only": read_only,
    "every second": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "misaligned": misaligned,
    "read-only and strided": lambda a: read_only(np.repeat(a, 2))[::2],
    "subclass": lambda a: a.view(Subclass),
    "one value repeated": lambda a: np.broadcast_to(a[1], (3,)),
    "smaller": lambda a: a.astype("i2" if a.dtype.kind == "i" else "f4"),
}


@pytest.fixture(scope="module", params=BACKENDS)
def doubled(request: pytest.FixtureRequest) -> dict[str, Any]:
    found = {}
    for dtype in ("int64", "float64"):
        x = dt.tensor("x", dims=K, dtype=dtype)
        found[dtype] = dt.function([x], x * 2, request.param)
    return found


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_argument(doubled: dict[str, Any], kind: str, dtype: str) -> None:
    array = KINDS[kind](np.array([3, 1, 2], dtype))
    expected = (np.asarray(array) * 2).tolist()
    function = doubled[dtype]
    before = array.copy()
    for value in (array, xr.DataArray(array, dims="k"), ("k", array)):
        result = function(value)
        assert result.values.tolist() == expected
        assert result.dtype == dtype
    (plain,) = function.positional(array)
    assert np.asarray(plain).tolist() == expected
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_data(kind: str, dtype: str) -> None:
    array = KINDS[kind](np.array([3, 1, 2], dtype))
    x = dt.data(array, dims=K)
    assert x.eval().values.tolist() == np.asarray(array).tolist()
    assert x is dt.data(np.array(array, np.dtype(x.dtype)), dims=K)
    y = dt.data([0, 0, 0], dims=K, dtype=dtype, name="y")
    function = dt.function([], y * 2, "python").with_data(y=array)
    assert function().values.tolist() == (np.asarray(array) * 2).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_positions_and_labels(kind: str) -> None:
    codes = KINDS[kind](np.array([2, 0, 1], "int64"))
    obs = dt.Dim("obs")
    x = dt.data([10.0, 20.0, 30.0], dims=LETTER)
    at = np.asarray(codes).astype(int)
    expected = [10.0 * (place + 1) for place in at]
    positions = codes if len(set(at)) == len(at) else at.tolist()  # repeated ones are listed
    assert x.isel(letter=positions).eval().values.tolist() == expected
    assert x.isel(letter=dt.data(codes, dims=obs)).eval().values.tolist() == expected
    late = dt.Dim("late", length=3)
    where = dt.tensor("where", dims=obs, categories=late)
    y = dt.data([10.0, 20.0, 30.0], dims=late)
    assert y.sel(late=where).eval({where: codes}).values.tolist() == expected
    labels = np.array(["a", "b", "c"])[at]
    where = dt.data(pd.Series(labels, dtype="category"), dims=obs, categories=LETTER)
    assert x.sel(letter=where).eval().values.tolist() == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([1.5, 2.0, 3.0]), "values of float64, the tensor has dtype int64"),
        (np.array([2**63, 1, 2], "u8"), "do not fit into int64: 9223372036854775808"),
        (np.array(["1", "2", "3"]), "strings, the tensor has dtype int64"),
        (np.array([1j, 2, 3]), "values of complex128, the tensor has dtype int64"),
    ],
    ids=["floats", "too large", "strings", "complex"],
)
def test_values_that_are_no_integers(doubled: dict[str, Any], value: Any, message: str) -> None:
    with pytest.raises(dt.DtypeError, match=message):
        doubled["int64"](value)
    with pytest.raises(dt.InputError, match="array 0 is not what the function takes"):
        doubled["int64"].positional(value)


def test_datasets_are_told_from_arrays(doubled: dict[str, Any]) -> None:
    values = xr.Dataset({"x": ("k", [1, 2, 3]), "y": ("k", [4, 5, 6])})
    for given in (values, xr.DataTree(values)):
        with pytest.raises(
            dt.InputError, match=r"one array, not a Data(set|Tree)\n.*'x', 'y'\n.*'x'\]"
        ):
            doubled["int64"](x=given)


def test_two_data_of_one_name() -> None:
    one = dt.data([1.0, 2.0, 3.0], dims=K, name="y")
    other = dt.data([4.0, 5.0, 6.0], dims=K, name="y")
    function = dt.function([], one + other, "python")
    with pytest.raises(dt.InputError, match=r"2 data of the function are named 'y'\n.*1\.0.*\n.*4"):
        function.with_data(y=[0.0, 0.0, 0.0])
    assert function.with_data({one: np.zeros(3)})().values.tolist() == [4.0, 5.0, 6.0]
    obs = dt.Dim("obs")
    one = dt.data(pd.Series([1.0, 2.0], name="y"), dims=obs)
    other = dt.data(pd.Series([1.0, 2.0, 3.0], name="y"), dims=obs)
    with pytest.raises(dt.DimError, match=r"'y' \(1\.0, 2\.0\): 2\n.*'y' \(1\.0, 2\.0, 3\.0\): 3"):
        (one.sum() + other.sum()).eval()


def test_labels_that_disagree_far_behind() -> None:
    obs = dt.Dim("obs")
    x, y = dt.tensor("x", dims=obs), dt.tensor("y", dims=obs)
    one = pd.Series(1.0, index=pd.Index(range(20), name="obs"))
    other = pd.Series(1.0, index=pd.Index([*range(19), 25], name="obs"))
    with pytest.raises(dt.LabelError, match="at position 19: 19 and 25"):
        (x + y).eval({x: one, y: other})


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_what_is_read_only_stays_so(backend):
    """Nothing makes an array writeable that its owner has frozen, on the way to what runs."""
    x = dt.tensor("x", dims=dt.Dim("k"))
    f = dt.function([x], [x * 2, x], backend=backend)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    twice, same = f(frozen)
    assert twice.values.tolist() == [0.0, 2.0, 4.0]
    assert ready(frozen) is frozen
    assert same.values.flags.writeable
    assert not np.shares_memory(same.values, frozen)
