"""Updates through selections, against assignment in xarray and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX, LONG_JAX_COMPILED

K = dt.Dim("k", coords=["a", "b", "c", "d"])
T = dt.Dim("t", length=3)
OBS = dt.Dim("obs")
VALUES = xr.DataArray(
    np.arange(12.0).reshape(4, 3), dims=["k", "t"], coords={"k": ["a", "b", "c", "d"]}
)
X = dt.tensor("x", dims=[K, T])


def assigned(selection: dict, value: object, mode: str) -> xr.DataArray:
    """What xarray has after assigning to a selection without duplicates."""
    result = VALUES.copy()
    old = result.isel(selection)
    result[selection] = value + old if mode == "inc" else value
    return result


@pytest.mark.parametrize("mode", ["set", "inc"])
@pytest.mark.parametrize(
    "selection",
    [
        {"k": 1},
        {"k": -1, "t": 0},
        {"k": slice(1, None)},
        {"k": slice(None, None, -2)},
        {"k": [2, 0]},
        {"k": [True, False, True, False]},
        {"k": [2, 0], "t": slice(1, None)},
        {"k": slice(1, 3), "t": 2},
        {"k": [3, 1], "t": [0, 2]},
        {"k": slice(None)},
        {"k": slice(2, 2)},
    ],
    ids=str,
)
def test_update_of_a_selection_is_assignment(mode: str, selection: dict) -> None:
    updated = getattr(X.isel(selection), mode)(-7.0).eval({X: VALUES})
    xr.testing.assert_identical(updated.transpose("k", "t"), assigned(selection, -7.0, mode))


@pytest.mark.parametrize("mode", ["set", "inc"])
def test_value_has_the_dims_of_the_selection(mode: str) -> None:
    selected = X.sel(k=["d", "a"])
    (chosen,) = [dim for dim in selected.dims if dim.name == "k"]
    value = dt.tensor("value", dims=chosen)
    given = xr.DataArray([10.0, 20.0], dims="k", coords={"k": ["a", "d"]})  # the other order
    updated = getattr(selected, mode)(value).eval({X: VALUES, value: given})
    expected = VALUES.copy()
    for label, number in (("a", 10.0), ("d", 20.0)):
        old = expected.sel(k=label) if mode == "inc" else 0.0
        expected.loc[{"k": label}] = number + old
    xr.testing.assert_identical(updated.transpose("k", "t"), expected)


def test_duplicates_accumulate() -> None:
    at = dt.data([1, 1, 3, 1], dims=OBS)
    weight = dt.tensor("weight", dims=OBS)
    updated = X.isel(k=at).inc(weight).eval({X: VALUES, weight: np.array([1.0, 2.0, 4.0, 8.0])})
    expected = VALUES.values.copy()
    np.add.at(expected, [1, 1, 3, 1], np.array([1.0, 2.0, 4.0, 8.0])[:, None])
    np.testing.assert_array_equal(updated.transpose("k", "t").values, expected)


AGAIN = {  # positions of `k` that are hit more than once, also counted from the end
    "one dim": (("obs",), np.array([1, 1, 3, -3, 0])),
    "two dims": (
        ("obs", "rep"),
        np.array([[1, 0, 1], [0, 1, 1], [2, 2, -1], [0, 0, 0], [3, 1, 2]]),
    ),
    "in step": (("obs", "t"), np.array([[0, 1, 1], [0, 1, 2], [0, 3, 1], [3, 0, 1], [0, 1, 1]])),
}


def stays(at: np.ndarray, values: np.ndarray, in_step: bool) -> tuple[np.ndarray, np.ndarray]:
    """What NumPy has after assigning one by one in the order of memory, and which values stay."""
    whole, last = np.zeros((4, 3)), {}
    for place in np.ndindex(at.shape):
        for t in place[1:] if in_step else range(3):
            key = (at[place] % 4, t)
            whole[key] = values[place]
            last[key] = place
    counts = np.zeros(at.shape)
    for place in last.values():
        counts[place] += 1
    return whole, counts


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("late", [False, True], ids=["fixed", "late"])
@pytest.mark.parametrize("case", AGAIN)
def test_the_last_of_several_values_stays_and_has_the_derivative(case, late, backend) -> None:
    names, at = AGAIN[case]
    lengths = {"obs": 5, "rep": 3}
    dims = [T if n == "t" else dt.Dim(n, length=None if late else lengths[n]) for n in names]
    v = dt.tensor("v", dims=dims)
    x = dt.tensor("x", dims=[K, T])
    values = 1.0 + np.arange(at.size).reshape(at.shape)
    given = dt.tensor("at", dims=dims, dtype="int64")
    expected, counts = stays(at, values, case == "in step")
    outputs = []
    for positions in (given, dt.data((names, at), dims=dims)):
        whole = x.isel(k=positions).set(v)
        total = (whole * 2.0).sum() + (whole * x).sum()
        outputs += [whole, dt.grad(total, v), dt.jvp(total, [v], [v])]
    f = dt.function([x, v, given], outputs, backend=backend)
    found = f((("k", "t"), np.zeros((4, 3))), (names, values), (names, at))
    for whole, slope, along in (found[:3], found[3:]):
        np.testing.assert_array_equal(whole.transpose("k", "t"), expected)
        np.testing.assert_array_equal(slope.transpose(*names), 2.0 * counts)
        np.testing.assert_array_equal(along, 2.0 * (counts * values).sum())


def test_duplicates_in_a_list_accumulate() -> None:
    updated = X.isel(k=[0, 0, 2]).inc(1.0).eval({X: VALUES})
    expected = VALUES.values.copy()
    np.add.at(expected, [0, 0, 2], 1.0)
    np.testing.assert_array_equal(updated.transpose("k", "t").values, expected)


def test_pointwise_update_over_two_dims() -> None:
    rows, columns = dt.data([0, 2, 3], dims=OBS), dt.data([1, 1, 0], dims=OBS)
    updated = X.isel(k=rows, t=columns).set(dt.data([5.0, 6.0, 7.0], dims=OBS)).eval({X: VALUES})
    expected = VALUES.values.copy()
    expected[[0, 2, 3], [1, 1, 0]] = [5.0, 6.0, 7.0]
    np.testing.assert_array_equal(updated.transpose("k", "t").values, expected)


def test_indexer_on_a_dim_of_the_tensor_is_walked_in_step() -> None:
    at = dt.data([3, 0, 1], dims=T)  # one k for every t
    updated = X.isel(k=at).set(-1.0).eval({X: VALUES})
    expected = VALUES.values.copy()
    expected[[3, 0, 1], [0, 1, 2]] = -1.0
    np.testing.assert_array_equal(updated.transpose("k", "t").values, expected)


def test_update_through_a_mask_of_data_and_a_computed_one() -> None:
    flags = np.array([True, False, False, True])
    for mask, values in (
        (dt.data(flags, dims=K), {}),
        (dt.tensor("m", dims=K, dtype="bool"), {"m": flags}),
    ):
        updated = X.isel(k=mask).set(0.0).eval({"x": VALUES, **values})
        expected = VALUES.where(xr.DataArray(~flags, dims="k"), 0.0)
        xr.testing.assert_identical(updated.transpose("k", "t"), expected)


def test_value_with_another_dim_is_refused() -> None:
    with pytest.raises(dt.DimError, match="the value has dim 'obs', the selection has not"):
        X.isel(k=0).set(dt.tensor("v", dims=OBS))


def test_value_on_the_whole_dim_is_refused_for_a_part() -> None:
    with pytest.raises(dt.DimError, match="the value has another dim than the selection"):
        X.isel(k=slice(1, None)).set(dt.tensor("v", dims=K))


def test_value_that_would_lose_its_fraction_is_refused() -> None:
    counts = dt.tensor("counts", dims=K, dtype="int64")
    with pytest.raises(dt.DtypeError, match="float64 does not fit into a tensor of int64"):
        counts.isel(k=0).set(0.5)


def test_only_selections_are_updated() -> None:
    with pytest.raises(dt.DimError, match="set works on a selection"):
        (X + 1).set(0.0)


def test_batch_of_values_updates_a_tensor_for_each() -> None:
    value = dt.scalar("value")
    updated = dt.zeros(K).sel(k="b").set(value)
    draw = dt.Dim("draw", length=2)
    given = xr.DataArray([5.0, 6.0], dims="draw")
    expected = [[0.0, 5.0, 0.0, 0.0], [0.0, 6.0, 0.0, 0.0]]
    many = dt.tensor("many", dims=draw)
    for found in (
        dt.function(value, updated, backend="python")(given),
        dt.vectorize(updated, {value: many}).eval({many: given}),
    ):
        assert found.transpose("draw", "k").values.tolist() == expected


def test_batch_of_groups() -> None:
    x = dt.tensor("x", dims=OBS)
    keys = dt.data(["d", "a", "d"], dims=OBS, categories=K)
    total = dt.function(x, x.groupby(keys).sum(), backend="python")
    given = xr.DataArray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dims=["draw", "obs"])
    assert total(given).transpose("draw", "k").values.tolist() == [[2, 0, 0, 4], [5, 0, 0, 10]]


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_updates_whose_lengths_follow_from_values(backend: str) -> None:
    """JAX cannot jit these; both backends run them."""
    y, mask = dt.tensor("y", dims=OBS), dt.tensor("mask", dims=OBS, dtype="bool")
    outputs = [
        y.isel(obs=mask).set(-1.0),
        y.sel(obs=slice("b", "c")).inc(10.0),
        y.isel(obs=mask & (y > 2.0)).inc(100.0),
    ]
    f = dt.function([y, mask], outputs, backend=backend)
    given = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="obs", coords={"obs": list("abcd")})
    found = [value.values.tolist() for value in f(given, np.array([True, False, True, False]))]
    assert found == [[-1, 2, -1, 4], [1, 12, 13, 4], [1, 2, 103, 4]]
