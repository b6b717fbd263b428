"""Missing elements, slopes, areas, values between labels, order: against xarray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX

T = dt.Dim("t", coords=[0.0, 1.0, 1.5, 4.0, 5.0, 7.0])
SITE = dt.Dim("site", coords=["a", "b"])
VALUES = np.array(
    [[np.nan, 1.0], [2.0, np.nan], [np.nan, np.nan], [np.nan, 3.0], [5.0, np.nan], [1.0, np.nan]]
)
FRAME = xr.DataArray(VALUES, coords={"t": T.coords, "site": ["a", "b"]}, dims=["t", "site"])
WHOLE = FRAME.copy(data=np.random.default_rng(5).normal(size=(6, 2)))
x, whole = (dt.data(frame, dims=[T, SITE]) for frame in (FRAME, WHOLE))


def same(found, expected):
    result = found.eval().drop_attrs().transpose(*expected.dims)
    xr.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_filling_is_that_of_pandas(limit):
    table = FRAME.to_pandas()
    for name in ("ffill", "bfill"):
        found = getattr(x, name)("t", limit=limit).eval().transpose("t", "site")
        np.testing.assert_array_equal(found, getattr(table, name)(limit=limit))


@pytest.mark.parametrize(
    "options", [{}, {"use_coordinate": False}, {"limit": 1}, {"method": "nearest"}], ids=str
)
def test_interpolation_of_missing_elements_is_xarrays(options):
    same(x.interpolate_na("t", **options), FRAME.interpolate_na("t", **options))


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("n", [0, 1, 6])
def test_filling_inputs_of_any_length_and_its_gradient(backend, n):
    t = dt.Dim("t")
    y = dt.tensor("y", dims=t)
    filled = y.ffill(t)
    loss = (filled**2).sum(skipna=True)
    f = dt.function([y], [filled, y.interpolate_na(t, use_coordinate=False), dt.grad(loss, y)],
                    backend=backend)  # fmt: skip
    values = VALUES[:n, 0]
    forward, between, gradient = f(y=values)
    series = pd.Series(values, dtype=float)
    np.testing.assert_array_equal(forward, series.ffill())
    np.testing.assert_allclose(between, series.interpolate(limit_area="inside"))
    if n == 6:  # each present element counts once for itself, and for those that it fills
        np.testing.assert_allclose(gradient, [0, 2 * 2 * 3, 0, 0, 2 * 5, 2 * 1])


def test_leaving_missing_elements_out():
    for how in ("any", "all"):
        same(x.dropna("t", how=how), FRAME.dropna("t", how=how))
    for thresh in (0, 1, 2):
        same(x.dropna("t", thresh=thresh), FRAME.dropna("t", thresh=thresh))
    other = dt.data(WHOLE, dims=[T, SITE])
    same(x.combine_first(other), FRAME.combine_first(WHOLE))
    same(x.combine_first(dt.data([7.0, 8.0], dims=SITE)),
         FRAME.fillna(xr.DataArray([7.0, 8.0], coords={"site": ["a", "b"]})))  # fmt: skip


def test_slopes_and_areas_are_xarrays():
    same(whole.differentiate("t"), WHOLE.differentiate("t"))
    same(whole.integrate("t"), WHOLE.integrate("t"))
    days = pd.to_datetime(["2021-01-01", "2021-01-02", "2021-01-05"])
    frame = xr.DataArray([1.0, 4.0, 2.0], coords={"day": days}, dims="day")
    y = dt.data(frame)
    for unit in ("D", "h", "s"):
        same(
            y.differentiate("day", datetime_unit=unit),
            frame.differentiate("day", datetime_unit=unit),
        )
        same(y.integrate("day", unit), frame.integrate("day", datetime_unit=unit))
    one = dt.data([2.0], dims=dt.Dim("k", coords=[3]))
    assert one.integrate("k").item() == 0.0


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_values_between_labels_are_xarrays(method):
    new = [-1.0, 0.0, 0.25, 1.5, 2.75, 4.0, 6.9, 7.0, 7.1]
    same(whole.interp(t=new, method=method), WHOLE.interp(t=new, method=method))
    same(whole.interp(t=2.0, method=method), WHOLE.interp(t=2.0, method=method).drop_vars("t"))
    mixed = WHOLE.isel(t=[3, 0, 5, 1, 2, 4])
    same(dt.data(mixed).interp(t=new, method=method), WHOLE.interp(t=new, method=method))
    days = xr.DataArray([1.0, 4.0], coords={"day": pd.to_datetime(["2021-01-01", "2021-01-05"])},
                        dims="day")  # fmt: skip
    between = pd.date_range("2021-01-01", periods=5)
    same(dt.data(days).interp(day=between, method=method), days.interp(day=between, method=method))


def test_a_nan_beside_a_label_that_is_there_does_not_count():
    found = x.isel(site=0).interp(t=[1.0, 5.0, 1.2])
    np.testing.assert_array_equal(found.values, [2.0, 5.0, np.nan])


def test_order():
    mixed = WHOLE.isel(t=[3, 0, 5, 1, 2, 4])
    y = dt.data(mixed)
    same(y.sortby("t"), mixed.sortby("t"))
    same(y.sortby("t", ascending=False), mixed.sortby("t", ascending=False))
    key = xr.DataArray([3, 1, 2, 9, 0, 5], coords={"t": mixed.t})
    same(y.sortby(dt.data(key, dims=y.dims[1])), mixed.sortby(key))
    z = dt.tensor("z", dims=dt.Dim("k", length=3))
    by = dt.tensor("by", dims=z.dims[0])
    f = dt.function([z, by], [z.sortby(by), z.sortby(by, ascending=False)], backend="python")
    up, down = f(z=[1.0, 2.0, 3.0], by=[0.5, -1.0, 2.0])
    assert (up.values.tolist(), down.values.tolist()) == ([2.0, 1.0, 3.0], [3.0, 1.0, 2.0])


def test_leaving_labels_out_and_looking_for_values():
    same(whole.drop_sel(t=[1.5, 7.0]), WHOLE.drop_sel(t=[1.5, 7.0]))
    same(whole.drop_sel(site="a"), WHOLE.drop_sel(site="a"))
    same(whole.drop_isel(t=[0, -1]), WHOLE.drop_isel(t=[0, 5]))
    assert (x.isin([2.0, 3.0]).values == FRAME.isin([2.0, 3.0]).transpose("site", "t")).all()
    labels = dt.data(["b", "a"], dims=dt.Dim("obs"), categories=SITE)
    assert labels.isin(["b", "c"]).values.tolist() == [True, False]
    assert whole.loc[{"t": 4.0, "site": "b"}].item() == WHOLE.loc[{"t": 4.0, "site": "b"}]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: x.ffill("t", limit=0), "ffill: the limit is an integer of at least 1, not 0"),
        (lambda: x.interpolate_na("site"), "the labels of dim 'site' are no numbers and no dates"),
        (lambda: dt.tensor("y", dims=dt.Dim("k")).interpolate_na("k"), "use_coordinate=False"),
        (lambda: x.interpolate_na("t", "spline"), "there is no method 'spline'"),
        (lambda: x.dropna("t", how="some"), "how is 'any' or 'all', not 'some'"),
        (lambda: x.isel(t=0).combine_first(x), "combine_first: the other tensor has {t}"),
        (lambda: x.isel(t=[0]).differentiate("t"), "has 1 labels, two are needed"),
        (lambda: dt.data([1.0], dims=dt.date_range("d", "2021", periods=1)).integrate("d", "days"),
         "there is no unit 'days'"),
        (lambda: x.interp(t=1, method="akimas"), "no method 'akimas' .did you mean 'akima'"),
        (lambda: x.interp(site=1), "the labels of dim 'site' are no numbers"),
        (lambda: dt.tensor("y", dims=dt.Dim("k")).sortby("k"), "sortby: the labels of dim 'k'"),
        (lambda: x.sortby(x), "a key has one dim, not 2"),
        (lambda: x.drop_sel(t=9.0), "has no label"),
        (lambda: x.drop_isel(t=9), r"positions 9 are outside of dim 't' of length 6"),
        (lambda: x.loc["a"], "dims have no order, so loc takes labels by dim"),
    ],
)  # fmt: skip
def test_what_is_refused(ask, message):
    with pytest.raises(dt.DimtensorError, match=message):
        ask()


def test_single_precision_stays_what_it_is():
    y = dt.tensor("y", dims=T, dtype="float32")
    ways = [y.differentiate("t"), y.integrate("t"), y.polyfit("t", 1), y.interp(t=[0.5]),
            y.interpolate_na("t"), y.ffill("t"), y.rolling(t=2).mean(), y.rank("t")]  # fmt: skip
    assert {way.dtype for way in ways} == {"float32"}


@pytest.mark.parametrize(
    "ask",
    [lambda z: z.mean(), lambda z: z.var(), lambda z: z.median(), lambda z: z.softmax(),
     lambda z: z.rolling(obs=2).mean(), lambda z: z.rolling_exp(obs=2).mean(),
     lambda z: z.cumulative("obs").mean(), lambda z: z.ffill("obs"), lambda z: z.rank("obs"),
     lambda z: dt.cov(z, z), lambda z: z.coarsen(obs=2).mean()],
)  # fmt: skip
def test_positions_of_labels_are_not_reckoned_with(ask):
    labels = dt.data(["b", "a"], dims=dt.Dim("obs"), categories=SITE)
    with pytest.raises(dt.DtypeError, match=r"labels of dim 'site'.*\.codes"):
        ask(labels)
    ask(labels.codes)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_values_between_labels_at_numbers_of_a_tensor(method, backend):
    rng = np.random.default_rng(4)
    numbers = xr.DataArray(
        rng.normal(size=(4, 2)),
        coords={"k": [3.0, 1.0, 2.0, 7.0], "c": ["a", "b"]},
        dims=["k", "c"],
    )
    places = xr.DataArray([[1.2, 2.6, 2.0], [0.5, 3.0, 1.0], [7.0, 6.1, np.nan]], dims=["i", "j"])
    k, c = dt.Dim("k", coords=numbers.k.values), dt.Dim("c", coords=["a", "b"])
    x = dt.tensor("x", dims=[k, c])
    at = dt.tensor("at", dims=[dt.Dim("i"), dt.Dim("j")])
    y = x.interp({k: at}, method=method)
    loss = (y.fillna(0.0) ** 2).sum()
    f = dt.function([x, at], [y, *dt.grad(loss, [x, at])], backend=backend)

    def by_xarray(numbers, places):
        return numbers.sortby("k").interp(k=places, method=method)

    def total(numbers, places):
        return float((by_xarray(numbers, places).fillna(0.0) ** 2).sum())

    found, by_x, by_place = f(numbers, places)
    # xarray's nearest label of NaN is the last one
    expected = by_xarray(numbers, places).where(places.notnull())
    np.testing.assert_allclose(found.transpose(*expected.dims), expected)
    smooth = places.where(~places.isin([0.5, 1.0, 2.0, 3.0, 7.0]))  # others have two slopes or none
    for i, j in np.argwhere(smooth.notnull().values):
        step = xr.zeros_like(places)
        step[i, j] = 1e-6
        slope = (total(numbers, places + step) - total(numbers, places - step)) / 2e-6
        assert by_place.values[i, j] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    assert np.isfinite(by_place).all()
    masked = places.fillna(0.0)  # so that xarray gives NaN, too
    for at in np.ndindex(4, 2):
        step = xr.zeros_like(numbers)
        step[at] = 1e-6
        slope = (total(numbers + step, masked) - total(numbers - step, masked)) / 2e-6
        assert by_x.transpose("k", "c").values[at] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    assert f(numbers, (("i", "j"), np.zeros((0, 2))))[0].sizes == {"i": 0, "j": 2, "c": 2}


def test_labels_beside_a_missing_element_have_their_own():
    k = dt.Dim("k", coords=[0.0, 1.0, 2.0])
    x = dt.data([1.0, np.nan, 3.0], dims=k)
    for at in ([0.0, 0.5, 2.0], dt.data([0.0, 0.5, 2.0], dims=dt.Dim("i"))):
        np.testing.assert_array_equal(x.interp({k: at}).values, [1.0, np.nan, 3.0])


def test_dates_to_interpolate_at_are_written_as_strings():
    for zone in (None, "Europe/Berlin"):
        days = pd.date_range("2021-03-27", periods=3, tz=zone)
        x = dt.data([0.0, 1.0, 3.0], dims=dt.Dim("day", coords=days))
        at = ["2021-03-27T12", "2021-03-29"]
        assert x.interp(day=at).values.tolist() == [0.5, 3.0]
        assert x.interp(day=at[0]).item() == 0.5
    with pytest.raises(dt.LabelError, match="the labels of dim 'day' are dates"):
        x.interp(day=dt.data([1.0], dims=dt.Dim("i")))


def test_several_keys_sort_one_after_the_other():
    frame = xr.DataArray(
        np.arange(8.0).reshape(4, 2), coords={"k": [3, 1, 2, 0], "c": ["b", "a"]}, dims=["k", "c"]
    )
    x = dt.data(frame)
    first = xr.DataArray([1.0, 0.0, 1.0, np.nan], coords={"k": frame.k}, dims="k")
    second = xr.DataArray([5, 5, 2, 0], coords={"k": frame.k}, dims="k")
    for keys in (first, [first, second], [second, first], ["k", "c"], ["c", first]):
        for ascending in (True, False):
            expected = frame.sortby(keys, ascending=ascending)
            xr.testing.assert_equal(
                x.sortby(keys, ascending).eval().transpose("k", "c").drop_attrs(), expected
            )
    with pytest.raises(dt.OptionError, match="of several keys all are labels or data"):
        x.sortby(["c", dt.tensor("key", dims=x.dims[1])])


@pytest.mark.parametrize("labels", [[0.0, 1.0, 2.5, 3.0, 7.0], [3.0, -1.0, 0.5, 10.0, 4.0]])
def test_cubic_splines_are_xarrays(labels, rng):
    frame = xr.DataArray(rng.normal(size=(5, 2)), {"u": labels, "k": ["a", "b"]}, ["u", "k"])
    wanted = [-2.0, min(labels), 0.7, 2.9, 3.0, max(labels), 12.0]
    expected = frame.interp(u=wanted, method="cubic")
    y = dt.data(frame)
    same(y.interp(u=wanted, method="cubic"), expected)
    place = dt.Dim("place", length=len(wanted))
    found = y.interp(u=dt.data(wanted, dims=place), method="cubic").eval()
    np.testing.assert_allclose(found.transpose("place", "k"), expected, rtol=1e-9, atol=1e-12)
    same(y.interp(u=0.7, method="cubic"), expected.isel(u=2, drop=True))
    same(y.interp(u=labels, method="cubic"), frame)


def test_the_slope_of_a_spline_at_a_computed_number(rng):
    places, values = np.array([0.0, 1.0, 2.5, 3.0, 7.0]), rng.normal(size=5)
    from scipy.interpolate import CubicSpline

    at, u = dt.scalar("at"), dt.Dim("u", coords=places)
    value = dt.data(values, dims=u).interp(u=at, method="cubic")
    f = dt.function([at], [value, dt.grad(value, at)], backend="python")
    oracle = CubicSpline(places, values)
    for each in (0.3, 1.0, 6.2):
        np.testing.assert_allclose(f(each), [oracle(each), oracle(each, 1)], rtol=1e-9)
    short = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("u", coords=[0, 1, 2]))
    with pytest.raises(dt.LabelError, match="has 4 labels or more, dim 'u' has 3"):
        short.interp(u=0.5, method="cubic")


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_are_looked_for_in_every_unit(unit):
    days = pd.date_range("2020-01-01", periods=4)
    day = dt.Dim("day", coords=days.as_unit("ns"))
    when = dt.data(days[[2, 0, 1, 2]], dims=dt.Dim("obs"), categories=day)
    wanted = days[[2, 3]].to_numpy().astype(f"M8[{unit}]")
    for given in (wanted, list(wanted), xr.DataArray(wanted), pd.Series(wanted), pd.Index(wanted)):
        assert when.isin(given).values.tolist() == [True, False, False, True]
    assert when.isin(["2020-01-03", "1999-01-01"]).values.tolist() == [True, False, False, True]
    assert when.isin(wanted[0]).values.tolist() == [True, False, False, True]


def test_values_are_looked_for_in_any_form():
    k = dt.data([1, 2, 3], dims=dt.Dim("k"))
    for given in ({1, 3}, (1, 3), [[1], [3]], np.array([[1, 3]]), range(1, 4, 2), pd.Index([1, 3]),
                  dt.data([1, 3], dims=dt.Dim("j"))):  # fmt: skip
        assert k.isin(given).values.tolist() == [True, False, True]
    pairs = dt.Dim("pair", coords=[("a", 1), ("b", 2)])
    pair = dt.data([0, 1], dims=dt.Dim("obs")).as_labels(pairs)
    assert pair.isin([("b", 2)]).values.tolist() == [False, True]
    late = dt.tensor("late", dims=dt.Dim("obs"), categories=dt.Dim("place"))
    with pytest.raises(dt.errors.GraphError, match="known when the expression is built"):
        k.isin(late)


def test_a_key_of_two_dims_is_a_matter_of_dims():
    with pytest.raises(dt.DimError, match="sortby: a key has one dim, not 2"):
        x.sortby(x)


@pytest.mark.parametrize("values", [{1.0, 2.0}, frozenset({1.0, 2.0})])
def test_elements_in_a_set(values):
    found = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k")).isin(values)
    assert found.values.tolist() == [True, True, False]
