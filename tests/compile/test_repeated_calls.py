"""Calls with values like those of the call before, which are looked at less: nothing is missed."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.values import parts
from dimtensor.values.parts import Alike, alike, labeling

A = dt.Dim("a", coords=["x", "y", "z"])
B = dt.Dim("b", coords=[10, 20])
LATE = dt.Dim("late")


def two():
    """A function of two tensors over {a, b}, one of them a weight that tells axes apart."""
    first, second = dt.tensor("first", dims=[A, B]), dt.tensor("second", dims=[A, B])
    return dt.function([first, second], first - 2.0 * second, backend="python")


def value(seed, dims=("a", "b"), a=("x", "y", "z"), b=(10, 20)):
    whole = xr.DataArray(
        np.random.default_rng(seed).normal(size=(3, 2)),
        dims=["a", "b"],
        coords={"a": ["x", "y", "z"], "b": [10, 20]},
    )
    return whole.sel(a=list(a), b=list(b)).transpose(*dims)


def same(found, first, second):
    """By xarray, which takes axes by name; it is given labels in one order."""
    first, second = (v.sel(a=["x", "y", "z"], b=[10, 20]) for v in (first, second))
    xr.testing.assert_equal(found.transpose("a", "b"), (first - 2.0 * second).transpose("a", "b"))


FORMS = [
    {},
    {"dims": ("b", "a")},
    {"a": ("z", "x", "y")},
    {"dims": ("b", "a"), "a": ("y", "x", "z"), "b": (20, 10)},
]


@pytest.mark.parametrize("one", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_orders_of_axes_and_labels(one, other):
    f = two()
    pairs = [(value(0, **one), value(1, **other)), (value(2, **other), value(3, **one))]
    for first, second in [*pairs, *pairs, (pairs[0][0] * 2.0, pairs[0][1] + 1.0), pairs[1]]:
        same(f(first, second), first, second)
        same(f(first=first, second=second), first, second)


def test_later_values_are_read():
    f, (first, second) = two(), (value(0, a="zxy"), value(1, ("b", "a")))
    for factor in (1.0, 2.0, 3.0):
        same(f(first, second), first, second)
        first *= factor
        second.values[0] = factor
    view = xr.DataArray(np.ones((6, 4)), dims=["a", "b"])[::2, ::2].assign_coords(second.coords)
    same(f(view, second), view, second)
    same(f(view * 2.0, second), view * 2.0, second)


@pytest.mark.parametrize("form", FORMS)
def test_wrong_labels_after_right_ones(form):
    f, first = two(), value(0, **form)
    f(first, first)
    wrong = first.assign_coords(a=["x", "y", "w"])
    for _ in range(2):
        with pytest.raises(dt.LabelError, match="does not have the labels of dim 'a'"):
            f(first, wrong)
        with pytest.raises(dt.LabelError, match="does not have the labels of dim 'a'"):
            f(wrong, first)
        same(f(first, first), first, first)


def test_a_value_that_gets_other_labels_itself():
    f, first, second = two(), value(0), value(1)
    f(first, second)
    order = ["z", "y", "x"]
    first["a"] = order  # the same elements, which are other ones now
    same(f(first, second), first, second)
    first["a"] = ["x", "y", "w"]
    with pytest.raises(dt.LabelError, match="does not have the labels of dim 'a'"):
        f(first, second)
    del first["a"]  # positions
    found = f(first, second)
    same(found, first.assign_coords(a=["x", "y", "z"]), second)


def test_other_names_lengths_dtypes_and_dims():
    f, first = two(), value(0)
    f(first, first)
    with pytest.raises(dt.InputError, match="lacks dim 'a'"):
        f(first.rename(a="c"), first)
    with pytest.raises(dt.LabelError, match="does not have the labels of dim 'b'"):
        f(first, first.isel(b=[0]))
    with pytest.raises(dt.DimError, match="'a'"):
        f(first.drop_vars("a").isel(a=[0, 1]), first)
    with pytest.raises(dt.DtypeError, match="complex128"):
        f(first + 1j, first)
    whole = (first * 8).astype(int)
    same(f(whole, first), whole, first)
    many = xr.concat([first, first * 2.0], "draw")
    for _ in range(2):
        found = f(many, first)
        assert found.sizes["draw"] == 2
        same(found.isel(draw=1), first * 2.0, first)
    same(f(first, first), first, first)


def test_axes_without_labels():
    """Nothing but their names and lengths tells them apart."""
    c, d = dt.Dim("c", length=3), dt.Dim("d", length=3)
    x = dt.tensor("x", dims=[c, d])
    f = dt.function([x], x.cumsum(c), backend="python")
    table = xr.DataArray(np.arange(9.0).reshape(3, 3), dims=["c", "d"])
    for given in (table, table.transpose(), table.rename(c="d", d="c"), table):
        xr.testing.assert_equal(f(given).transpose("c", "d"), given.cumsum("c").transpose("c", "d"))
    for wrong in (table[:2], table[:, :1], table[:, [0, 1, 2, 2]]):
        with pytest.raises(dt.DimError, match="length"):
            f(wrong)
    labeled = table.assign_coords(c=[7, 8, 9])
    assert f(labeled).coords["c"].values.tolist() == [7, 8, 9]
    assert not f(table).coords


def test_labels_that_two_inputs_tell():
    x, y = dt.tensor("x", dims=LATE), dt.tensor("y", dims=LATE)
    f = dt.function([x, y], x * y, backend="python")

    def along(labels, seed=0):
        data = np.random.default_rng(seed).normal(size=len(labels))
        return xr.DataArray(data, dims="late", coords={"late": labels})

    one, other = along([1, 2, 3]), along([1, 2, 3], 1)
    plain = other.drop_vars("late")
    for _ in range(2):
        xr.testing.assert_equal(f(one, other), one * other)
        xr.testing.assert_equal(f(one, plain), one * plain)
        xr.testing.assert_equal(f(plain, plain), plain * plain)
        with pytest.raises(dt.LabelError, match="late"):
            f(one, along([1, 2, 4]))
        with pytest.raises(dt.DimError, match="late"):
            f(one, along([1, 2, 3, 4]))
    longer = along([1, 2, 3, 4])
    xr.testing.assert_equal(f(longer, longer), longer**2)


def test_positions_are_checked_at_every_call():
    where, table = dt.tensor("where", dims=LATE, dtype="int64"), dt.tensor("table", dims=A)
    f = dt.function([where, table], table.isel(a=where), backend="python")
    values = xr.DataArray([1.0, 2.0, 3.0], dims="a")
    for at in ([0, 2], [1, 1]):
        assert f(xr.DataArray(at, dims="late"), values).values.tolist() == [1.0 + i for i in at]
    with pytest.raises(dt.PositionError, match="outside of dim 'a'"):
        f(xr.DataArray([0, 3], dims="late"), values)


def test_labels_as_values_are_looked_up_at_every_call():
    who, table = dt.tensor("who", dims=LATE, categories=A), dt.tensor("table", dims=A)
    f = dt.function([who, table], table.sel(a=who), backend="python")
    for labels, expected in ((["z", "x"], [3.0, 1.0]), (["y", "y"], [2.0, 2.0])):
        found = f(xr.DataArray(labels, dims="late"), np.array([1.0, 2.0, 3.0]))
        assert found.values.tolist() == expected


def test_arrays_and_numbers():
    x, k = dt.tensor("x", dims=LATE), dt.scalar("k")
    f = dt.function([x, k], x * k, backend="python")
    for given, by in (
        (np.ones(3), 2.0), (np.ones(3), 3.0), (np.ones(4), 3), (np.ones((3, 2))[:, 0], 1.5),
        (np.ones(3, ">f8"), np.array(2.0)), ([1.0, 2.0], 2.0), (np.ones(3), np.float64(4.0)),
    ):  # fmt: skip
        np.testing.assert_array_equal(f(given, by).values, np.asarray(given) * by)
    with pytest.raises(dt.InputError, match="has shape"):
        f(np.ones((3, 1)), 1.0)
    with pytest.raises(dt.DtypeError, match="has strings"):
        f(np.array(["a", "b", "c"]), 1.0)


def test_multi_indexes_are_looked_at_each_time():
    pair = dt.ProductDim({A, B})
    x = dt.tensor("x", dims=pair)
    f = dt.function([x], x * 2.0, backend="python")
    index = pd.MultiIndex.from_product([["x", "y", "z"], [10, 20]], names=["a", "b"])
    for order in (np.arange(6), np.arange(6)[::-1], np.arange(6)):
        coords = xr.Coordinates.from_pandas_multiindex(index[order], pair._short)
        given = xr.DataArray(1.0 + order, dims=pair._short, coords=coords)
        assert alike(given) is None
        assert f(given).values.tolist() == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]


# -- results ------------------------------------------------------------------------------------


def by_hand():
    return xr.DataArray(np.ones((2, 3)), dims=["b", "a"], coords={"a": list("xyz"), "b": [10, 20]})


def label_again():
    given = by_hand()
    coords = {name: coord.variable for name, coord in given.coords.items()}
    return labeling(("b", "a"), coords, given.xindexes, "y")(np.ones((2, 3)))


def test_results_are_arrays_of_xarray():
    made, other = label_again(), by_hand().rename("y")
    xr.testing.assert_identical(made, other)
    xr.testing.assert_identical(made.copy(deep=True), other)
    xr.testing.assert_identical(pickle.loads(pickle.dumps(made)), other)
    xr.testing.assert_identical(made.sel(a=["z", "x"]) + 1.0, other.sel(a=["z", "x"]) + 1.0)
    xr.testing.assert_identical(made.to_dataset(), other.to_dataset())
    assert made.to_series().equals(other.to_series())
    assert made.attrs == made.encoding == made.coords["a"].attrs == {}
    assert repr(made) == repr(other)


def test_results_of_two_calls_share_nothing_that_changes():
    f = two()
    first, second = f(value(0), value(1)), f(value(0), value(1))
    first.coords["a"].attrs["units"] = "m"
    first["b"] = [1, 2]
    first.attrs["long_name"] = "difference"
    first.name = "other"
    first.coords["new"] = 1.0
    xr.testing.assert_identical(second, f(value(0), value(1)))
    assert second.coords["a"].attrs == second.attrs == {}
    assert second.indexes["b"].tolist() == [10, 20]


# -- xarray's classes --------------------------------------------------------------------------


def test_slots_of_the_installed_xarray_are_known():
    given = by_hand()
    assert isinstance(alike(given), Alike)
    kinds = (xr.DataArray, xr.Variable, type(given.coords["a"].variable))
    assert all(map(parts._is_known, kinds))


def test_other_slots_are_left_to_xarray(monkeypatch):
    monkeypatch.setattr(parts, "_SLOTS", {})
    parts._is_known.cache_clear()
    try:
        assert alike(by_hand()) is None
        xr.testing.assert_identical(label_again(), by_hand().rename("y"))
        for form in FORMS:
            f, first, second = two(), value(0, **form), value(1)
            for _ in range(2):
                same(f(first, second), first, second)
    finally:
        parts._is_known.cache_clear()


def test_classes_of_others_are_looked_at_each_time():
    class Own(xr.DataArray):
        __slots__ = ()

    given = Own(np.ones(3), dims="a")
    assert alike(given) is None
    x = dt.tensor("x", dims=A)
    f = dt.function([x], x * 2.0, backend="python")
    for _ in range(2):
        assert f(given).values.tolist() == [2.0, 2.0, 2.0]


def test_labels_without_an_index_are_labels():
    """As those of a file that xarray opened without making indexes."""
    f, whole, other = two(), value(1), value(2)
    without = value(3, a="zxy").drop_indexes("a")
    for first, second in [(whole, other), (without, other), (without, without), (whole, other)]:
        indexed = [v if "a" in v.indexes else v.set_xindex("a") for v in (first, second)]
        same(f(first, second), *indexed)
    late = dt.tensor("late", dims=LATE)
    g = dt.function([late], late * 2.0, backend="python")
    plain = xr.DataArray([1.0, 2.0], dims="late")
    for labels in (None, [3, 4], [5, 6], None):
        given = plain if labels is None else plain.assign_coords(late=labels).drop_indexes("late")
        assert list(g(given).coords.get("late", [])) == ([0, 1] if labels is None else labels)
    assert dt.data(without.isel(b=0)).dims[0].coords.tolist() == ["z", "x", "y"]
    with pytest.raises(dt.LabelError, match="a"):
        f(whole, value(3).assign_coords(a=["x", "y", "w"]).drop_indexes("a"))
