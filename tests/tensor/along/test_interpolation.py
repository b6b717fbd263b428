"""Values between labels and in gaps, with all methods and ends: against xarray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX

PLACES = np.array([0.0, 1.0, 1.5, 4.0, 5.0, 7.0, 7.5])
T, SITE = dt.Dim("t", coords=PLACES), dt.Dim("site", coords=["a", "b"])
FRAME = xr.DataArray(
    np.random.default_rng(8).normal(size=(7, 2)), coords={"t": PLACES, "site": ["a", "b"]},
    dims=["t", "site"],
)  # fmt: skip
x = dt.data(FRAME, dims=[T, SITE])
NEW = [3.0, -1.0, 0.0, 0.4, 1.5, 2.75, 4.0, 6.9, 7.5, 7.75]
INNER = [0.3, 1.0, 2.2, 3.9, 4.0, 5.5, 7.4]
INTERP1D = ["linear", "nearest", "zero", "slinear", "quadratic", "cubic", "quintic"]
SLOPED = ["pchip", "akima", "makima"]
WHOLE = ["barycentric", "krogh"]


def same(found, expected, atol=1e-9):
    result = found.eval().drop_attrs()
    expected = expected.drop_vars([c for c in expected.coords if c not in expected.dims])
    xr.testing.assert_allclose(result.transpose(*expected.dims), expected, atol=atol)


@pytest.mark.parametrize("method", INTERP1D)
def test_methods_and_ends_are_xarrays(method):
    for fill in (None, 2.5, (1.0, -3.0), "extrapolate"):
        expected = FRAME.interp(t=NEW, method=method, kwargs={"fill_value": fill} if fill else None)
        same(x.interp(t=NEW, method=method, fill_value=fill), expected)
    same(x.interp(t=NEW, method=method, kwargs={"fill_value": 1.0}),
         FRAME.interp(t=NEW, method=method, kwargs={"fill_value": 1.0}))  # fmt: skip
    same(x.interp(t=2.0, method=method), FRAME.interp(t=2.0, method=method))


@pytest.mark.parametrize("method", [*SLOPED, *WHOLE])
def test_curves_through_all_are_xarrays(method):
    same(x.interp(t=NEW, method=method), FRAME.interp(t=NEW, method=method))
    if method in SLOPED:
        on = {"extrapolate": True}
        expected = FRAME.interp(t=NEW, method=method, kwargs=on)
        same(x.interp(t=NEW, method=method, kwargs=on), expected)
        same(x.interp(t=NEW, method=method, fill_value="extrapolate"), expected)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_polynomials_of_an_order(order):
    expected = FRAME.interp(t=NEW, method="polynomial", kwargs={"order": order})
    same(x.interp(t=NEW, method="polynomial", order=order), expected)
    at = dt.data(np.array(INNER), dims=dt.Dim("at"))
    found = x.interp(t=at, method="polynomial", order=order).eval().transpose("at", "site")
    expected = FRAME.interp(t=INNER, method="polynomial", kwargs={"order": order})
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("method", [*INTERP1D, *SLOPED, *WHOLE])
def test_labels_in_no_order_and_few_labels(method):
    mixed = dt.data(FRAME.isel(t=[3, 6, 0, 5, 1, 2, 4]))
    same(mixed.interp(t=INNER, method=method), FRAME.interp(t=INNER, method=method))
    least = {"quadratic": 3, "cubic": 4, "quintic": 6}.get(method, 2)
    for n in (least, 3):
        if n >= least:
            few, expected = x.isel(t=slice(None, n)), FRAME.isel(t=slice(None, n))
            new = [0.0, 0.2, 0.9, 1.0]
            same(few.interp(t=new, method=method), expected.interp(t=new, method=method))
    if method not in ("linear", "slinear", "nearest", "zero", *WHOLE):
        with pytest.raises(dt.LabelError, match=f"has {least} labels or more, dim 't' has 1"):
            x.isel(t=[0]).interp(t=0.0, method=method)
    else:
        assert (
            x.isel(t=[0]).interp(t=0.0, method=method).values.tolist() == FRAME[0].values.tolist()
        )


@pytest.mark.parametrize("method", ["pchip", "akima", "makima"])
def test_slopes_of_flat_steep_and_turning_curves(method):
    for values in ([0, 0, 0, 1, 1, 1, 1], [0, 1, 5, 5, 2, 2, 9], [1, 2, 3, 4, 5, 6, 7],
                   [3, 3, 3, 3, 3, 3, 3], [0, 9, 0, 9, 0, 9, 0]):  # fmt: skip
        frame = xr.DataArray(np.array(values, dtype=float), coords={"t": PLACES}, dims="t")
        new = np.linspace(0, 7.5, 31)
        same(dt.data(frame, dims=[T]).interp(t=new, method=method),
             frame.interp(t=new, method=method))  # fmt: skip


@pytest.mark.parametrize("method", [*INTERP1D, *SLOPED, *WHOLE])
def test_computed_places_are_labels_that_are_computed(method):
    at = dt.tensor("at", dims=dt.Dim("at"))
    fills = [None] if method in WHOLE else [None, (1.0, 2.0), "extrapolate"]
    for fill in fills:
        y = x.interp(t=at, method=method, fill_value=fill)
        found = dt.function([at], y, backend="python")([*NEW, np.nan]).transpose("at", "site")
        options = {"extrapolate": True} if method in SLOPED and fill == "extrapolate" else None
        if method not in SLOPED and fill is not None:
            options = {"fill_value": fill}
        if method in SLOPED and fill == (1.0, 2.0):
            continue
        expected = FRAME.interp(t=NEW, method=method, kwargs=options)
        np.testing.assert_allclose(found[:-1], expected, atol=1e-9)
        assert np.isnan(found[-1]).all()


def squares(values, places, method):
    curve = xr.DataArray(values, coords={"t": PLACES}, dims="t")
    return float((curve.interp(t=places, method=method) ** 2).sum())


CURVES = ["quadratic", "pchip", "akima"]
COMPILED = [
    pytest.param(*each.values, CURVES, marks=[*each.marks, pytest.mark.slow])
    for each in LONG_JAX[1:]
]


@pytest.mark.parametrize(
    ("backend", "methods"),
    [*(("python", [m]) for m in ("zero", "quadratic", *SLOPED, "krogh")), *COMPILED],
)
def test_gradients(backend, methods):
    y, at = dt.tensor("y", dims=T), dt.tensor("at", dims=dt.Dim("at", length=7))
    values, places = FRAME[:, 0].values, np.array(INNER) + 0.03
    outputs = []
    for method in methods:
        z = (y.interp(t=at, method=method) ** 2).sum()
        fixed = (y.interp(t=places, method=method) ** 2).sum()
        outputs += [*dt.grad(z, [y, at]), dt.grad(fixed, y)]
    found = dt.function([y, at], outputs, backend=backend)(values, places)
    step = 1e-6
    for number, method in enumerate(methods):
        by_value, by_place, fixed = found[3 * number : 3 * number + 3]
        expected = np.zeros((2, 7))
        for k, u in enumerate(step * np.eye(7)):
            for sign in (1, -1):
                expected[0, k] += sign * squares(values + sign * u, places, method) / (2 * step)
                expected[1, k] += sign * squares(values, places + sign * u, method) / (2 * step)
        np.testing.assert_allclose(by_value, expected[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(fixed, expected[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(by_place, expected[1], rtol=1e-5, atol=1e-6)


def test_dates_of_another_dim():
    days = pd.date_range("2021-01-01", periods=5, freq="2D")
    frame = xr.DataArray([1.0, 4.0, 2.0, 8.0, 0.0], coords={"day": days}, dims="day")
    at = xr.DataArray(days[0] + pd.to_timedelta([24, 192, 84], "h"), dims="obs")
    for method in ("linear", "cubic", "pchip"):
        found = dt.data(frame).interp(day=at, method=method).values
        np.testing.assert_allclose(found, frame.interp(day=at, method=method), atol=1e-12)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"method": "spline"}, "(?s)no method 'spline'.*method='polynomial', order=3"),
        ({"method": "polynomial"}, "order is that of method='polynomial', which needs one"),
        ({"method": "cubic", "order": 2}, "order is that of method='polynomial'"),
        ({"method": "polynomial", "order": 0}, "at least 1, not 0"),
        ({"fill_value": "nearest"}, "a number, a pair or 'extrapolate', not 'nearest'"),
        ({"fill_value": (1, 2, 3)}, "fill_value has two ends, not 3"),
        ({"kwargs": {"axis": 1}}, "there are no options 'axis'"),
        ({"kwargs": {"bounds_error": True}}, "bounds_error is False"),
    ],
)
def test_refusals(ask, message):
    error = dt.ArgumentError if "no options" in message else dt.OptionError
    with pytest.raises(error, match=message):
        x.interp(t=[1.0], **ask)


# -- gaps ------------------------------------------------------------------------------------------

HOLES = FRAME.copy(deep=True)
HOLES[[0, 2, 3, 6], 0] = np.nan
HOLES[[1, 4, 5, 6], 1] = np.nan
holes = dt.data(HOLES, dims=[T, SITE])
WAYS = [
    {}, {"limit": 1}, {"limit": 2}, {"max_gap": 2.5}, {"max_gap": 4.0, "limit": 1},
    {"use_coordinate": False}, {"use_coordinate": False, "limit": 1},
]  # fmt: skip


def by_xarray(frame, max_gap=None, **options):
    """xarray needs a package of its own for `max_gap`; by its definition, then."""
    filled = frame.interpolate_na("t", **options)
    if max_gap is None:
        return filled
    counted = options.get("use_coordinate") is False
    places = np.arange(len(frame)) if counted else frame.indexes["t"]
    rows = frame.values.reshape(len(frame), -1)
    fits = np.zeros(rows.shape, dtype=bool)
    for at, column in np.argwhere(np.isnan(rows)):
        there = np.flatnonzero(~np.isnan(rows[:, column]))
        before, after = there[there < at], there[there > at]
        ends = before[-1] if len(before) else 0, after[0] if len(after) else len(places) - 1
        fits[at, column] = places[ends[1]] - places[ends[0]] <= max_gap
    return frame.where(~fits.reshape(frame.shape), filled)


@pytest.mark.parametrize("method", ["linear", "nearest", "zero", "slinear"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_gaps_are_filled_as_by_xarray(method, way):
    for fill in (None, 2.5, (1.0, -3.0), "extrapolate"):
        options = {**way, "method": method} | ({} if fill is None else {"fill_value": fill})
        if fill is None and method == "slinear":
            options["fill_value"] = np.nan
        same(holes.interpolate_na("t", **options), by_xarray(HOLES, **options))


@pytest.mark.parametrize("method", ["quadratic", "polynomial", *SLOPED, *WHOLE])
def test_gaps_are_filled_on_curves(method):
    options = {"method": method} | ({"order": 1} if method == "polynomial" else {})
    for way in WAYS:
        same(holes.interpolate_na("t", **options, **way),
             by_xarray(HOLES, **options, **way))  # fmt: skip


def test_gaps_between_dates():
    days = pd.date_range("2021-01-01", periods=7)
    frame = xr.DataArray(
        [np.nan, 1.0, np.nan, 4.0, np.nan, np.nan, 2.0], coords={"t": days}, dims="t"
    )
    for gap in ("2D", pd.Timedelta("50h"), np.timedelta64(3, "D")):
        for fill in (None, "extrapolate"):
            options = {"max_gap": gap} | ({} if fill is None else {"fill_value": fill})
            expected = by_xarray(frame, **{**options, "max_gap": pd.Timedelta(gap)})
            same(dt.data(frame).interpolate_na("t", **options), expected)


def test_few_elements_and_few_positions():
    for values in ([], [np.nan], [1.0], [np.nan, np.nan], [np.nan, 2.0, np.nan], [1.0, np.nan]):
        labels = np.arange(float(len(values)))
        frame = xr.DataArray(np.array(values, dtype=float), coords={"t": labels}, dims="t")
        for options in ({}, {"fill_value": 3.0}, {"fill_value": "extrapolate"}):
            found = dt.data(frame).interpolate_na("t", **options)
            expected = frame.interpolate_na("t", **options) if values else frame
            np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_filled_gaps(backend):
    t = dt.Dim("t")
    y = dt.tensor("y", dims=t)
    ways = [{"fill_value": "extrapolate"}, {"method": "nearest"}, {"method": "zero", "limit": 1}]
    units = np.eye(7)
    values = HOLES[:, 0].values
    filled = [y.interpolate_na(t, use_coordinate=False, **way) for way in ways]
    losses = [(each * dt.arange(t)).sum(skipna=True) for each in filled]
    found = dt.function([y], [dt.grad(loss, y) for loss in losses], backend=backend)(values)
    frame = xr.DataArray(values, dims="t")
    for way, gradient in zip(ways, found, strict=True):

        def total(v, way=way):
            return float((frame.copy(data=v).interpolate_na("t", use_coordinate=False, **way)
                          * np.arange(7.0)).sum())  # fmt: skip

        for at in range(7):
            expected = 0.0 if np.isnan(values[at]) else total(values + units[at]) - total(values)
            np.testing.assert_allclose(gradient[at], expected, atol=1e-9)


def test_refusals_of_gaps():
    y = dt.tensor("y", dims=T)
    with pytest.raises(
        dt.GraphError, match="method='pchip' needs to know which elements are missing"
    ):
        y.interpolate_na("t", method="pchip")
    with pytest.raises(dt.OptionError, match="max_gap is a number here, not '2D'"):
        y.interpolate_na("t", max_gap="2D")
    with pytest.raises(dt.LabelError, match="of order 3 has 4 labels or more, dim 't' has 3"):
        holes.interpolate_na("t", method="cubic")
