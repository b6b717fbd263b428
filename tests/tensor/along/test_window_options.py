"""Windows and blocks that are reduced or constructed, slopes and areas with all options."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import LONG_JAX

T, SITE = dt.Dim("t", coords=[0.0, 1.0, 1.5, 4.0, 5.0, 7.0, 7.5]), dt.Dim("site", coords=["a", "b"])
FRAME = xr.DataArray(
    np.random.default_rng(8).normal(size=(7, 2)),
    coords={"t": T.coords, "site": ["a", "b"]},
    dims=["t", "site"],
)
HOLES = FRAME.copy(deep=True)
HOLES[[1, 4], 0] = np.nan
x, holes = (dt.data(frame, dims=[T, SITE]) for frame in (FRAME, HOLES))


def same(found, expected):
    result = found.eval().drop_attrs()
    result = result.drop_vars([c for c in result.coords if c not in expected.coords])
    xr.testing.assert_allclose(result.transpose(*expected.dims), expected)


# -- windows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("options", [{}, {"min_periods": 1}, {"center": True}], ids=str)
def test_reducing_by_a_function_is_xarrays(n, options):
    if options.get("min_periods") and n == 1:
        options = {}
    found = holes.rolling(t=n, **options).reduce(lambda w, dim: w.max(dim, skipna=True) * 2)
    expected = HOLES.rolling(t=n, **options).reduce(
        lambda w, axis: np.where(np.isnan(w).all(axis), np.nan, np.fmax.reduce(w, axis) * 2)
    )
    same(found, expected)
    both = FRAME.rolling(t=n, site=2, **options).reduce(np.nansum)
    same(x.rolling(t=n, site=2, **options).reduce(lambda w, dim: w.sum(dim, skipna=True)), both)


def test_options_of_the_function_and_what_it_leaves():
    found = x.rolling(t=3).reduce(dt.logsumexp)
    expected = FRAME.rolling(t=3).reduce(lambda w, axis: np.log(np.exp(w).sum(axis)))
    same(found, expected)
    quantile = x.rolling(t=3).reduce(lambda w, dim, q: w.quantile(q, dim), q=0.3)
    same(quantile, FRAME.rolling(t=3).reduce(lambda w, axis: np.quantile(w, 0.3, axis)))
    with pytest.raises(dt.DimError, match=r"rolling: the function leaves {t:window}"):
        x.rolling(t=3).reduce(lambda w, dim: w)
    with pytest.raises(dt.DimError, match=r"coarsen: the function leaves {t:within}"):
        x.coarsen(t=7).reduce(lambda w, dim: 2 * w)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_places_within_windows(name):
    for options in ({}, {"center": True}, {"min_periods": 2}):
        found = getattr(holes.rolling(t=3, **options), name)(skipna=True)
        same(found, getattr(HOLES.rolling(t=3, **options), name)())
    with pytest.raises(dt.DimError, match=f"{name} is within windows along one dim"):
        getattr(x.rolling(t=2, site=2), name)()


@pytest.mark.parametrize("stride", [1, 2, 3, 9])
def test_windows_every_few_positions(stride):
    expected = FRAME.rolling(t=3).construct("w", stride=stride)
    found = x.rolling(t=3).construct("w", stride=stride)
    same(found, expected)
    same(x.rolling(t=3).construct(dt.Dim("w", length=3), stride={"t": stride}), expected)
    both = FRAME.rolling(t=3, site=2, center={"t": True}).construct(
        {"t": "w", "site": "v"}, stride={"t": stride, "site": 1}, fill_value=0.0
    )
    same(
        x.rolling(t=3, site=2, center={"t": True}).construct(
            {"t": "w", "site": "v"}, stride={"t": stride, "site": 1}, fill_value=0.0
        ),
        both,
    )
    for name in ("mean", "max", "var", "median"):
        mixed = getattr(x.rolling(t=3, site=2, center={"t": True}, min_periods=1), name)()
        same(mixed, getattr(FRAME.rolling(t=3, site=2, center={"t": True}, min_periods=1), name)())
    with pytest.raises(dt.DimError, match="several dims have windows; name one for each"):
        x.rolling(t=3, site=2).construct("w")
    with pytest.raises(dt.OptionError, match="the stride is an integer of at least 1, not 0"):
        x.rolling(t=3).construct("w", stride=0)


# -- blocks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("boundary", ["trim", "pad"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("coord_func", ["mean", "min", "max", "first", "median", np.max])
def test_options_of_blocks_are_xarrays(boundary, side, coord_func):
    options = {"boundary": boundary, "side": {"t": side}}
    # the labels ascend, so that the first of a block is the smallest
    oracle = {"first": np.nanmin, "median": np.nanmedian, "min": np.nanmin, "max": np.nanmax}
    told = {"t": np.nanmax if coord_func is np.max else oracle.get(coord_func, coord_func)}
    expected = FRAME.coarsen(t=3, coord_func=told, **options).sum()
    same(x.coarsen(t=3, coord_func={"t": coord_func}, **options).sum(), expected)


def test_options_by_dim_and_reductions_of_blocks():
    options = {"boundary": {"t": "trim", "site": "exact"}, "side": {"t": "right", "site": "left"}}
    expected = (
        FRAME.isel(t=slice(1, None)).coarsen(t=3).max().coarsen(site=2, coord_func="min").max()
    )
    found = x.coarsen(t=3, site=2, coord_func={"site": "first"}, **options).max()
    np.testing.assert_allclose(found.values.ravel(), expected.values.ravel())
    assert found.eval().site.values.tolist() == ["a"]
    flags, frame = x.isel(t=slice(6)) > 0.5, FRAME.isel(t=slice(6)) > 0.5
    same(flags.coarsen(t=2).any(), frame.coarsen(t=2).any())
    same(flags.coarsen(t=2).all(), frame.coarsen(t=2).all())
    spread = x.coarsen(t=7).reduce(lambda b, dim: b.max(dim) - b.min(dim))
    same(spread, FRAME.coarsen(t=7).reduce(np.ptp))


@pytest.mark.parametrize(
    "options", [{}, {"boundary": "pad"}, {"boundary": "trim", "side": "right"}], ids=str
)
def test_blocks_are_constructed_as_by_xarray(options):
    n = 7 if not options else 3
    expected = FRAME.coarsen(t=n, **options).construct(t=("block", "within"))
    expected = expected.drop_vars("t")
    found = x.coarsen(t=n, **options).construct(t=("block", "within"))
    same(found, expected)
    within = dt.Dim("within", coords=list(range(n)))
    named = x.coarsen(t=n, **options).construct({T: ("t", within)})
    assert within in named.dims
    if options.get("boundary") != "pad":
        same(named.mean(within), FRAME.coarsen(t=n, **options).mean())


def test_refusals_of_blocks():
    with pytest.raises(dt.OptionError, match="there is no coord_func 'middle'"):
        x.coarsen(t=7, coord_func="middle")
    with pytest.raises(dt.OptionError, match="there is no side 'top'"):
        x.coarsen(t=7, side={"t": "top"})
    with pytest.raises(dt.LabelError, match="are not known, so no coord_func makes others of them"):
        dt.tensor("y", dims=dt.Dim("k")).coarsen(k=2, coord_func="min")
    with pytest.raises(dt.DimError, match="two dims take the place of dim 't', not 'w'"):
        x.coarsen(t=7).construct(t="w")
    with pytest.raises(dt.DimError, match="name the dims of blocks along 'site'"):
        x.coarsen(t=7, site=2).construct(t=("a", "b"))
    with pytest.raises(dt.DimError, match="has 3 positions, not 7"):
        x.coarsen(t=7).construct(t=("a", dt.Dim("b", length=3)))


# -- slopes and areas ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_slopes_at_the_ends(order, n):
    few, frame = x.isel(t=slice(n)), FRAME.isel(t=slice(n))
    if n <= order:
        with pytest.raises(dt.LabelError, match="has 2 labels, three are needed"):
            few.differentiate("t", edge_order=order)
        return
    same(few.differentiate("t", order), frame.differentiate("t", order))
    mixed = frame.isel(t=slice(None, None, -1))
    same(dt.data(mixed).differentiate("t", order), mixed.differentiate("t", order))
    with pytest.raises(dt.OptionError, match="edge_order is 1 or 2, not 3"):
        x.differentiate("t", 3)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_areas_up_to_each_label(n):
    few, frame = holes.isel(t=slice(n)), HOLES.isel(t=slice(n))
    if n:
        same(few.cumulative_integrate("t"), frame.cumulative_integrate("t"))
    same(few.integrate("t"), frame.integrate("t"))
    assert few.cumulative_integrate("t").sizes == few.sizes
    hole = dt.data([np.nan], dims=dt.Dim("k", coords=[2.0]))
    assert hole.integrate("k").item() == hole.cumulative_integrate("k").values[0] == 0.0


def test_areas_over_several_dims_and_dates():
    frame = FRAME.assign_coords(site=[2.0, 2.5])
    y = dt.data(frame)
    same(y.integrate(["t", "site"]), frame.integrate(["t", "site"]))
    same(y.cumulative_integrate(["t", "site"]), frame.cumulative_integrate(["t", "site"]))
    days = pd.date_range("2021-01-01", periods=7, freq="36h")
    dated = FRAME.assign_coords(t=days)
    for unit in ("D", "h"):
        same(dt.data(dated).cumulative_integrate("t", unit),
             dated.cumulative_integrate("t", datetime_unit=unit))  # fmt: skip
        same(dt.data(dated).differentiate("t", 2, unit), dated.differentiate("t", 2, unit))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_of_what_is_linear(backend):
    y = dt.tensor("y", dims=T)
    ways = [
        (lambda z: z.cumulative_integrate("t"), lambda a: a.cumulative_integrate("t")),
        (lambda z: z.differentiate("t", 2), lambda a: a.differentiate("t", 2)),
        (lambda z: z.rolling(t=3, min_periods=1).construct("w", fill_value=0.0).sum("w"),
         lambda a: a.rolling(t=3, min_periods=1).sum()),
        (lambda z: z.coarsen(t=3, boundary="trim").construct(t=("block", "w")).sum("w"),
         lambda a: a.coarsen(t=3, boundary="trim").sum().rename(t="block")),
    ]  # fmt: skip
    outputs = [dt.grad((way(y) ** 2).sum(), y) for way, _ in ways]
    values = FRAME[:, 0]
    found = dt.function([y], outputs, backend=backend)(values)
    for (_, oracle), gradient in zip(ways, found, strict=True):
        columns = [oracle(values.copy(data=unit)) for unit in np.eye(7)]
        expected = [2 * float((column * oracle(values)).sum()) for column in columns]
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("labels", [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 3.0, 4.0]])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_slopes_beside_what_is_not_finite(order, labels, odd):
    frame = xr.DataArray([0.0, odd, 4.0, 9.0], coords={"t": labels}, dims="t")
    same(dt.data(frame).differentiate("t", order), frame.differentiate("t", order))
