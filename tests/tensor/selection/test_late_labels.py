"""Selection by label along dims that get their labels, if any, at the call; oracle: xarray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import BACKENDS

OBS = dt.Dim("obs")
X = dt.tensor("x", dims=OBS)
VALUES = np.arange(5.0) ** 2
LABELS = {
    "strings": list("cabed"),
    "numbers": [30, 10, 20, 50, 40],
    "dates": pd.to_datetime(["2020-03-01", "2020-01-01", "2020-02-01", "2020-05-01", "2020-04-01"]),
    "none": None,
}


def labeled(kind: str) -> xr.DataArray:
    coords = {} if LABELS[kind] is None else {"obs": LABELS[kind]}
    return xr.DataArray(VALUES, dims="obs", coords=coords)


def key(kind: str, position: int):
    return position if LABELS[kind] is None else LABELS[kind][position]


def check(selected: dt.DimTensor, expected: xr.DataArray, kind: str) -> None:
    """Compare a selection, and a reduction of it, which knows the length by itself."""
    found = selected.eval({X: labeled(kind)})
    xr.testing.assert_equal(
        found, expected.drop_vars([k for k in expected.coords if k not in expected.dims])
    )
    mean = selected.mean().eval({X: labeled(kind)})
    np.testing.assert_allclose(mean.item(), expected.mean(skipna=False).item())


@pytest.mark.parametrize("kind", LABELS)
def test_one_label(kind: str) -> None:
    check(X.sel(obs=key(kind, 3)), labeled(kind).sel(obs=key(kind, 3)), kind)


@pytest.mark.parametrize("kind", LABELS)
def test_list_of_labels(kind: str) -> None:
    keys = [key(kind, 4), key(kind, 0), key(kind, 4)]
    check(X.sel(obs=keys), labeled(kind).sel(obs=keys), kind)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (1, 3, None),
        (None, 2, None),
        (2, None, None),
        (0, 4, 2),
        (3, 0, -1),
        (3, 1, -2),
        (None, None, -1),
    ],
)
def test_slice(kind: str, start: int | None, stop: int | None, step: int | None) -> None:
    ends = [None if end is None else key(kind, end) for end in (start, stop)]
    whole = start is None and stop is None  # pandas fails here where dates have no order
    array = labeled(kind)
    expected = (
        array.isel(obs=slice(None, None, step)) if whole else array.sel(obs=slice(*ends, step))
    )
    assert expected.size
    check(X.sel(obs=slice(*ends, step)), expected, kind)


def test_new_labels_through_one_function() -> None:
    f = dt.function(X, X.sel(obs=slice("a", "b")), backend="python")
    first = xr.DataArray([1.0, 2.0, 3.0], dims="obs", coords={"obs": ["a", "b", "c"]})
    second = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="obs", coords={"obs": ["z", "a", "c", "b"]})
    xr.testing.assert_equal(f(first), first.sel(obs=slice("a", "b")))
    xr.testing.assert_equal(f(second), second.sel(obs=slice("a", "b")))


def test_update_through_late_labels() -> None:
    updated = X.sel(obs=["b", "c"]).set(-1.0).eval({X: labeled("strings")})
    expected = labeled("strings")
    expected.loc[{"obs": ["b", "c"]}] = -1.0
    xr.testing.assert_equal(updated, expected)


def test_selected_again_by_position_and_label() -> None:
    twice = X.sel(obs=["e", "b", "a"])[1:].sel(obs="a")
    assert twice.eval({X: labeled("strings")}).item() == 1.0


def test_string_without_labels_is_refused_at_the_call() -> None:
    with pytest.raises(dt.LabelError, match="dim 'obs' has no labels to look up 'a'"):
        X.sel(obs="a").eval({X: VALUES})
    with pytest.raises(dt.LabelError, match="dim 'obs' has no labels to look up 'a', 'b'"):
        X.sel(obs=slice("a", "b")).eval({X: VALUES})


def test_unknown_label_is_refused_at_the_call() -> None:
    with pytest.raises(dt.LabelError, match="dim 'obs' has no label 'z'"):
        X.sel(obs="z").eval({X: labeled("strings")})


def test_integer_outside_of_a_dim_without_labels_is_refused_at_the_call() -> None:
    with pytest.raises(dt.PositionError, match="position 5 is outside of dim 'obs' of length 5"):
        X.sel(obs=5).eval({X: VALUES})


def test_labels_that_disagree_are_refused_at_the_call() -> None:
    y = dt.tensor("y", dims=OBS)
    other = labeled("strings").isel(obs=slice(None, None, -1))
    other = other.assign_coords(obs=list("abcde"))
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'obs'"):
        (X + y).eval({X: labeled("strings"), y: other})


def test_slice_of_unordered_dates_by_parts_of_dates_is_refused() -> None:
    with pytest.raises(dt.LabelError, match="dim 'obs' has labels in no order"):
        X.sel(obs=slice("2020-02-01", None)).eval({X: labeled("dates")})


def test_a_number_compared_with_late_labels_is_a_label() -> None:
    kind = dt.Dim("kind")
    x, w = dt.tensor("x", dims=kind), dt.tensor("w", dims=OBS, categories=kind)
    values = xr.DataArray([1.0, 2.0, 3.0], dims="kind", coords={"kind": [2, 0, 1]})
    outputs = [w == 0, x.sel(kind=w)]
    f = dt.function([x, w], outputs, backend="python")
    is_zero, taken = f(values, np.array([0, 2, 1]))
    assert is_zero.values.tolist() == [True, False, False]
    assert taken.values.tolist() == [2.0, 1.0, 3.0]
    by_position, _ = f(values.drop_vars("kind"), np.array([0, 2, 1]))
    assert by_position.values.tolist() == [True, False, False]


def test_late_labels_are_told_apart() -> None:
    assert X.sel(obs=1) is not X.sel(obs=True)
    assert X.sel(obs=1) is not X.sel(obs=1.0)
    assert X.sel(obs=[0, 1]) is not X.sel(obs=[0.0, 1])
    assert X.sel(obs=slice(0, 1)) is not X.sel(obs=slice(False, True))
    assert X.sel(obs=np.nan) is X.sel(obs=float("nan"))
    assert X.sel(obs=np.str_("a")) is X.sel(obs="a")
    truths = xr.DataArray([1.0, 2.0], dims="obs", coords={"obs": [True, False]})
    assert X.sel(obs=True).eval({X: truths}).item() == 1.0
    with pytest.raises(dt.LabelError, match="dim 'obs' has no label 1"):
        X.sel(obs=1).eval({X: truths})
    with pytest.raises(dt.LabelError, match="dim 'obs' has no labels to look up True"):
        X.sel(obs=True).eval({X: truths.drop_vars("obs")})
    missing = xr.DataArray([1.0, 2.0], dims="obs", coords={"obs": [np.nan, 3.0]})
    assert X.sel(obs=np.nan).eval({X: missing}).item() == 1.0
    dates = xr.DataArray([1.0, 2.0], dims="obs", coords={"obs": pd.to_datetime(["2020", "2021"])})
    found = X.sel(obs=["2021-01-01", "2020-01-01"]).eval({X: dates})
    xr.testing.assert_identical(found, dates[::-1].rename("x") if found.name else dates[::-1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_late_labels_of_0_and_1_are_not_bools(backend: str):
    array = xr.DataArray([5.0, 7.0], dims="obs", coords={"obs": [0, 1]})
    function = dt.function([X], [X * 2.0, X.sel(obs=1)], backend)
    double, one = function(array)
    xr.testing.assert_identical(double, 2.0 * array)
    assert float(one) == 7.0
    with pytest.raises(dt.LabelError, match="has no label True"):
        dt.function([X], X.sel(obs=True), backend)(array)
