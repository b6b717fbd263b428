"""Labels of every kind through all that moves them; the oracle is a list of positions."""

from __future__ import annotations

import contextlib
import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.dims import Coords, depends_on_mask, dim_labels
from tests.effort import a_third

BIG = st.integers(-(2**65), 2**65)
MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
TEXT = st.text(alphabet="aAb\0é ", max_size=4)
SCALARS = {
    "integers": st.integers(-(2**63), 2**63 - 1),
    "large integers": BIG,
    "floats": st.floats(allow_nan=True),
    "numbers": st.integers(-5, 5) | st.floats(-3, 3),
    "strings": TEXT,
    "dates": MOMENTS,
    "spans": st.timedeltas(datetime.timedelta(days=-9), datetime.timedelta(days=9)),
    "bools": st.booleans(),
    "mixture": st.none() | st.booleans() | TEXT | BIG | st.just(np.nan),
    "pairs": st.tuples(TEXT, BIG),
}
INDEXES = {
    "time zone": lambda n: pd.date_range("2020-03-29", periods=n, freq="h", tz="Europe/Rome"),
    "periods": lambda n: pd.period_range("2020-01", periods=n, freq="M"),
    "intervals": lambda n: pd.interval_range(0, n, periods=n) if n else pd.interval_range(0, 0),
    "nanoseconds": lambda n: pd.date_range("2020", periods=n, freq="ns").astype("M8[ns]"),
}


def sameness(label: Any) -> Any:
    """What two labels share if and only if they are the same."""
    if label != label:
        return "nan"
    if isinstance(label, tuple):
        return tuple(map(sameness, label))
    return (isinstance(label, bool), label)


@st.composite
def labels(draw: st.DrawFn) -> list | pd.Index:
    kind = draw(st.sampled_from([*SCALARS, *INDEXES]))
    if kind in INDEXES:
        index = INDEXES[kind](draw(st.integers(1, 5)))
        return index[draw(st.permutations(range(len(index))))]
    return draw(st.lists(SCALARS[kind], min_size=1, max_size=5, unique_by=sameness))


def same(one: Any, other: Any) -> bool:
    return sameness(one) == sameness(other) or bool(one == other and type(one) is not bool)


def check(found: dt.DimTensor, values: dict, given: list | pd.Index, positions: list[int]) -> None:
    """The elements at positions, each with the label that it had."""
    result = found.eval(values)
    assert result.values.tolist() == [float(at) for at in positions]
    if isinstance(given, pd.Index):
        expected = given[positions]
        assert result.indexes["k"].equals(expected)
        assert result.indexes["k"].dtype == expected.dtype
        return
    had = Coords(result.indexes["k"])
    assert had.same_labels(Coords([given[at] for at in positions]))
    for label, at in zip(result.coords["k"].to_index(), positions, strict=True):
        if not isinstance(given[at], (datetime.datetime, datetime.timedelta)):
            assert same(label, given[at])


@a_third
@given(st.data(), labels(), st.booleans())
def test_labels_stay_with_their_elements(data: st.DataObject, given: Any, late: bool) -> None:
    n = len(given)
    source = dt.Dim("k", coords=given)
    array = xr.DataArray(
        np.arange(float(n)), dims="k", coords={"k": Coords(given).as_coordinate}, name="x"
    )
    x = dt.tensor("x", dims=dt.Dim("k") if late else source)
    values = {x: array if late else array.isel(k=data.draw(st.permutations(range(n))))}
    y, positions = x, list(range(n))
    for _ in range(data.draw(st.integers(0, 3))):
        step = data.draw(st.sampled_from(["reverse", "slice", "list", "mask", "roll", "concat"]))
        m = len(positions)
        (dim,) = y.dims
        if step == "reverse":
            y, positions = y[::-1], positions[::-1]
        elif step == "slice":
            cut = slice(data.draw(st.integers(0, m)), data.draw(st.integers(0, m)))
            y, positions = y[cut], positions[cut]
        elif step == "list" and m:
            take = data.draw(st.lists(st.integers(0, m - 1), max_size=4))
            y, positions = y.isel(k=take), [positions[at] for at in take]
        elif step == "mask":
            bound = data.draw(st.integers(0, n))
            y, positions = y[y >= bound], [at for at in positions if at >= bound]
        elif step == "roll" and m and not is_masked(y):  # elements move, labels stay
            y = y.roll({dim: 1}).roll({dim: -1})
        elif step == "concat":
            cut_at = data.draw(st.integers(0, m))
            y = dt.concat([y[cut_at:], y[:cut_at]], "k")
            positions = positions[cut_at:] + positions[:cut_at]
    check(y, values, given, positions)
    if positions and len(set(positions)) == len(positions) and not is_masked(y) and not late:
        at = data.draw(st.integers(0, len(positions) - 1))
        label = given[positions[at]]
        if not isinstance(label, str) or Coords(given).family == "string":
            assert y.sel(k=label).eval(values).item() == positions[at]
            if not isinstance(label, bool):  # a list of them is a mask
                check(y.sel(k=[label]), values, given, [positions[at]])


def is_masked(y: dt.DimTensor) -> bool:
    return any(depends_on_mask(dim) for dim in y.dims)


@a_third
@given(labels(), st.randoms())
def test_labels_survive_joins_and_pickles(given: Any, random: Any) -> None:
    n = len(given)
    order = list(range(n))
    random.shuffle(order)
    dim = dt.Dim("k", coords=given)
    shuffled = dim[[given[at] for at in order]]
    coords = dim_labels(shuffled)
    found = coords.find(dim_labels(dim))
    np.testing.assert_array_equal(np.array(order)[found], np.arange(n))
    assert pickle.loads(pickle.dumps(shuffled)) is shuffled
    assert dt.Dim("k", coords=list(given)) is dim
    flat = dt.ProductDim([dim, dt.Dim("a", length=2, coords=["u", "v"])])
    x = dt.data(np.arange(2.0 * n), dims=flat)
    for at in range(n):
        assert x.sel(k=given[at], a="v").eval().item() == n + at


@pytest.mark.parametrize("kind", SCALARS)
@a_third
@given(data=st.data())
def test_groups_and_categories_find_their_labels(kind: str, data: st.DataObject) -> None:
    given = data.draw(st.lists(SCALARS[kind], min_size=1, max_size=4, unique_by=sameness))
    dim, obs = dt.Dim("k", coords=given), dt.Dim("obs")
    at = data.draw(st.lists(st.integers(0, len(given) - 1), min_size=1, max_size=6))
    values = np.empty(len(at), dtype=object)
    for place, position in enumerate(at):
        values[place] = given[position]
    where = dt.data(values, dims=obs, categories=dim)
    assert where.codes.eval().values.tolist() == at
    counts = dt.ones(obs).groupby(where).sum().eval().values
    np.testing.assert_array_equal(counts, np.bincount(at, minlength=len(given)))


ORDERED = {
    "integers": st.integers(-20, 20),
    "floats": st.floats(-20, 20).map(lambda x: x + 0.0),
    "strings": st.text(alphabet="abAé", max_size=3),
    "dates": st.dates(datetime.date(2019, 11, 1), datetime.date(2020, 3, 1)).map(pd.Timestamp),
    "moments": st.datetimes(
        datetime.datetime(2020, 1, 30), datetime.datetime(2020, 2, 2)
    ).map(lambda x: pd.Timestamp(x).floor("h")),
}  # fmt: skip
PARTS = st.sampled_from(["2020", "2019", "2020-01", "2020-02", "2020-01-31", "2020-02-01 00:00"])


@st.composite
def ordered(draw: st.DrawFn) -> tuple[xr.DataArray, Any, Any]:
    """An array, and two keys that may or may not be among its labels."""
    kind = draw(st.sampled_from([*ORDERED]))
    given = draw(st.lists(ORDERED[kind], min_size=1, max_size=8, unique=True))
    order = draw(st.sampled_from(["up", "down", "none"]))
    if order != "none":
        given = sorted(given, reverse=order == "down")
    keys = st.sampled_from(given) | ORDERED[kind]
    if kind in ("dates", "moments"):
        keys = keys | PARTS
    array = xr.DataArray(np.arange(float(len(given))), dims="k", coords={"k": pd.Index(given)})
    return array, draw(keys), draw(keys)


def agree(found: Any, expected: Any) -> None:
    """Both give the same, or both refuse."""
    try:
        wanted = expected()
    except (KeyError, TypeError, ValueError):
        with pytest.raises(dt.LabelError, match=r"has no label|cannot slice"):
            found().eval()
        return
    result = found().eval()
    xr.testing.assert_equal(result, wanted if wanted.ndim else wanted.drop_vars("k"))


def in_order(sliced: Any, nothing: Any) -> Any:
    """A slice; nothing where its ends have to be exchanged, which is an error."""
    try:
        return sliced()
    except dt.LabelError as error:
        if "selects nothing" not in str(error):
            raise
        return nothing


def sliced(array: xr.DataArray, start: Any, stop: Any) -> xr.DataArray:
    """As in xarray; pandas where that finds positions that are no slice, which xarray refuses.

    Parts of dates in no order, which pandas refuses, are those of the sorted dates.
    """
    index = array.indexes["k"]
    parts = all(end is None or isinstance(end, str) for end in (start, stop))
    if parts and index.dtype.kind in "mM" and not index.is_monotonic_increasing:
        order = index.argsort()
        return array.isel(k=np.sort(order[index[order].slice_indexer(start, stop)]))
    positions = index.slice_indexer(start, stop)
    if isinstance(positions, slice):
        return array.sel(k=slice(start, stop))
    return array.isel(k=positions)


@a_third
@given(ordered())
def test_selections_by_label_as_in_xarray(case: tuple[xr.DataArray, Any, Any]) -> None:
    array, one, other = case
    x = dt.data(array)
    agree(lambda: x.sel(k=one), lambda: array.sel(k=one))
    agree(
        lambda: in_order(lambda: x.sel(k=slice(one, other)), x[:0]),
        lambda: sliced(array, one, other),
    )
    agree(lambda: x.sel(k=slice(one, None)), lambda: sliced(array, one, None))
    agree(lambda: x.sel(k=slice(None, other)), lambda: sliced(array, None, other))
    late = dt.tensor("x", dims=dt.Dim("k")).sel(k=slice(one, other))
    with contextlib.suppress(KeyError, TypeError, ValueError):
        expected = array.sel(k=slice(one, other))
        if array.indexes["k"].is_monotonic_increasing:
            found = in_order(lambda: late.eval({"x": array}), array[:0])
            xr.testing.assert_equal(found.rename(None), expected)


@a_third
@given(ordered(), ordered(), st.sampled_from(["inner", "outer", "left", "right"]))
def test_joins_as_in_xarray(one: tuple, other: tuple, join: Any) -> None:
    mine, theirs = one[0], other[0]
    if mine.indexes["k"].dtype.kind != theirs.indexes["k"].dtype.kind:
        return
    expected = xr.align(mine, theirs, join=join)
    found = dt.align(dt.data(mine), dt.data(theirs), join=join)
    for ours, wanted in zip(found, expected, strict=True):
        xr.testing.assert_equal(ours.eval(), wanted)
    for ours, wanted in zip(dt.align(mine, theirs, join=join), expected, strict=True):
        xr.testing.assert_equal(ours, wanted)
    wider = dt.data(mine).reindex(k=theirs.indexes["k"])
    xr.testing.assert_equal(wider.eval(), mine.reindex(k=theirs.indexes["k"]))
