"""DataArrays as indexers are pointwise, with their dims in the place of the dim; oracle: xarray."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt

ARRAY = xr.DataArray(
    np.arange(12.0).reshape(3, 4),
    dims=["a", "b"],
    coords={"a": ["p", "q", "r"], "b": [10.0, 20.0, 30.0, 40.0]},
)
X = dt.data(ARRAY)


def along(dims: str, values: Any, **coords: Any) -> xr.DataArray:
    return xr.DataArray(np.asarray(values), dims=list(dims), coords=coords)


def check(found: dt.DimTensor, expected: xr.DataArray) -> None:
    wanted = expected.drop_vars([name for name in expected.coords if name not in expected.dims])
    xr.testing.assert_equal(found.eval().transpose(*wanted.dims), wanted)


@pytest.mark.parametrize(
    "indexers",
    [
        {"a": along("o", ["r", "p"])},
        {"a": along("o", ["r", "p"], o=[7, 8])},
        {"a": along("o", ["r", "p"]), "b": along("o", [10.0, 40.0])},
        {"a": along("o", ["r", "p"]), "b": along("u", [10.0, 40.0, 20.0])},
        {"a": along("ou", [["r", "p"], ["q", "q"]]), "b": along("o", [30.0, 10.0])},
        {"a": along("b", ["r", "p", "q", "q"], b=[10.0, 20.0, 30.0, 40.0])},
        {"b": along("b", [30.0, 10.0])},
        {"b": xr.DataArray(30.0)},
        {"b": along("b", [True, False, True, True])},
        {"b": range(10, 30, 10)},
        {"b": [np.True_, np.False_, np.True_, np.False_]},
    ],
    ids=lambda indexers: ", ".join(str(np.shape(v)) for v in indexers.values()),
)
def test_labels(indexers: dict[str, Any]) -> None:
    check(X.sel(indexers), ARRAY.sel(indexers))


@pytest.mark.parametrize(
    "indexers",
    [
        {"a": along("o", [2, 0])},
        {"a": along("o", [2, -1]), "b": along("o", [0, 3])},
        {"b": along("b", [2, 0])},
        {"b": along("b", [True, False, True, True])},
        {"b": xr.DataArray(2)},
    ],
    ids=lambda indexers: ", ".join(str(np.shape(v)) for v in indexers.values()),
)
def test_positions(indexers: dict[str, Any]) -> None:
    check(X.isel(indexers), ARRAY.isel(indexers))


def test_nearest_labels() -> None:
    key = along("ou", [[12.0, 39.0], [21.0, 10.0]])
    check(X.sel(b=key, method="nearest"), ARRAY.sel(b=key, method="nearest"))


def test_labels_that_are_not_there() -> None:
    with pytest.raises(dt.LabelError, match="dim 'a' has no label 'z'"):
        X.sel(a=along("o", ["p", "z"]))
    late = dt.tensor("x", dims=dt.Dim("a"))
    with pytest.raises(dt.LabelError, match="labels of dim 'a', which come with the data"):
        late.sel(a=along("o", ["p", "q"]))
    for name, cut in (("b", slice("u", "v")), ("b", slice(False, True)), ("a", slice(1, 2))):
        with pytest.raises(dt.LabelError, match=r"cannot slice .* the labels are of another kind"):
            X.sel({name: cut})
    with pytest.raises(dt.LabelError, match="several labels of dim 'a' are a list; a dict has no"):
        late.sel(a={"u": 1})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({1.0, 2.0}, "a set, which has no order"),
        ({"u": 1.0}, "a dict, whose keys are no dims"),
        ({"u": 1.0}.values(), "the values of a dict"),
        (iter([1.0]), "a list_iterator, which can be read only once"),
        ((v for v in [1.0]), "a generator, which can be read only once"),
    ],
    ids=["set", "dict", "values", "iterator", "generator"],
)
def test_what_is_no_array(value: Any, why: str) -> None:
    k = dt.Dim("k")
    x = dt.tensor("x", dims=k)
    with pytest.raises(dt.InputError, match=f"data takes an array and is given {why}\nhint: "):
        dt.data(value, dims=k)
    with pytest.raises(dt.InputError, match=f"'x' takes an array and is given {why}\nhint: "):
        x.eval({x: value})
    function = dt.function([x], x * 2, backend="python")
    with pytest.raises(dt.InputError, match=f"array 0 takes an array and is given {why}"):
        function.positional(value)
