"""Reductions, groups and weighted reductions have the options that xarray's have."""

from __future__ import annotations

import inspect

import pytest
import xarray as xr
from xarray.computation.rolling import DataArrayCoarsen, DataArrayRolling
from xarray.computation.rolling_exp import RollingExp as XarrayRollingExp
from xarray.computation.weighted import DataArrayWeighted
from xarray.core.groupby import DataArrayGroupBy
from xarray.core.resample import DataArrayResample

import dimtensor as dt
from dimtensor.tensor.along.coarsen import Coarsen
from dimtensor.tensor.along.growing import Cumulative, RollingExp
from dimtensor.tensor.along.time import Resample
from dimtensor.tensor.along.windows import Rolling
from dimtensor.tensor.reductions.weighted import Weighted
from dimtensor.tensor.selection.groupby import GroupBy

# options that are refused with the reason
REFUSED = {"self", "keep_attrs", "axis", "interpolation"}
SAME = [
    "sum", "prod", "mean", "var", "std", "min", "max", "all", "any", "count", "median", "quantile",
    "cumsum", "cumprod", "argmax", "argmin", "idxmax", "idxmin", "rank", "polyfit", "weighted",
]  # fmt: skip
# methods of groups with names of their own, or which map takes the place of
OWN = {"map", "reduce", "apply", "assign_coords", "shuffle_to_chunks"}


def methods(cls):
    return [n for n in dir(cls) if n[0] != "_" and inspect.isfunction(getattr(cls, n))]


CASES = [
    *[(xr.DataArray, dt.DimTensor, name) for name in SAME],
    *[(DataArrayGroupBy, GroupBy, name) for name in methods(DataArrayGroupBy) if name not in OWN],
    *[(DataArrayWeighted, Weighted, name) for name in methods(DataArrayWeighted)],
]


def options(function):
    known = inspect.signature(inspect.unwrap(function)).parameters.values()
    return {each.name for each in known if each.kind is not each.VAR_KEYWORD} - REFUSED


@pytest.mark.parametrize(("theirs", "ours", "name"), CASES)
def test_options_are_xarrays(theirs, ours, name):
    assert options(getattr(theirs, name)) <= options(getattr(ours, name))


POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
PAIRS = [
    (xr.DataArray, dt.DimTensor), (DataArrayGroupBy, GroupBy), (DataArrayResample, Resample),
    (DataArrayRolling, Rolling), (DataArrayCoarsen, Coarsen), (DataArrayWeighted, Weighted),
    (XarrayRollingExp, RollingExp),
]  # fmt: skip
SHARED = [
    (theirs, ours, name)
    for theirs, ours in PAIRS
    for name in methods(ours)
    if inspect.isfunction(getattr(theirs, name, None))
]
# arguments whose kind is another one, with the reason
OTHER_KIND = {
    ("polyfit", "full"): "by keyword, because it changes the type of the result",
    ("polyfit", "cov"): "by keyword, because it changes the type of the result",
    ("rename", "names"): "the name of the mapping here, of keywords in xarray",
    ("groupby_bins", "duplicates"): "by keyword, because arguments before it are not here",
}


@pytest.mark.parametrize(
    ("theirs", "ours", "name"), SHARED, ids=lambda x: getattr(x, "__name__", x)
)
def test_arguments_are_positional_or_keywords_as_in_xarray(theirs, ours, name):
    known, asked = (inspect.signature(getattr(cls, name)).parameters for cls in (theirs, ours))
    shared = [key for key in asked if key in known and key != "self"]
    for key in shared:
        if (name, key) not in OTHER_KIND:
            assert asked[key].kind is known[key].kind, key
        usual = asked[key].default
        if key != "skipna" and None not in (usual, known[key].default):
            assert (
                usual is known[key].default
                or "NA" in repr(known[key].default)
                or (usual == known[key].default)
            ), key
    positional = [key for key in shared if asked[key].kind is known[key].kind is POSITIONAL]
    assert positional == [key for key in known if key in positional]
    # in the places they have in xarray, but for what dims without order do not need
    places = [key for key in asked if asked[key].kind is POSITIONAL]
    theirs_first = [key for key in known if known[key].kind is POSITIONAL][: len(places)]
    if set(places) == set(theirs_first):
        assert places == theirs_first


@pytest.mark.parametrize("cls", [ours for _, ours in PAIRS] + [Cumulative])
def test_reductions_have_the_same_options_everywhere(cls):
    """`skipna` is False by default; `ddof`, `min_count` and `method` are given by keyword."""
    reducers = set(methods(cls)) & {
        "sum", "prod", "mean", "var", "std", "min", "max", "median", "quantile", "argmin", "argmax",
        "idxmin", "idxmax", "first", "last", "cumsum", "cumprod", "cov", "corr", "polyfit",
        "sum_of_squares",
    }  # fmt: skip
    assert len(reducers) > 5
    for name in methods(cls):
        known = inspect.signature(getattr(cls, name)).parameters
        assert (name not in reducers) or "skipna" in known, name
        assert "skipna" not in known or known["skipna"].default is False, name
        for key in {"ddof", "min_count", "method"} & set(known) - {"interp", "sel"}:
            named = name not in ("interp", "sel", "interpolate_na", "reindex")
            assert not named or known[key].kind is inspect.Parameter.KEYWORD_ONLY, (name, key)
        wanted = {"var": {"ddof"}, "std": {"ddof"}, "sum": {"min_count"}, "prod": {"min_count"}}
        if cls not in (Weighted, RollingExp):
            assert wanted.get(name, set()) <= set(known), name


def test_functions_have_the_options_of_methods():
    for name in ("sum", "mean", "var", "quantile", "median", "argmax", "cumsum", "cov", "corr"):
        assert inspect.signature(getattr(dt, name)).parameters["skipna"].default is False
    of_method, of_function = (inspect.signature(x) for x in (dt.DimTensor.var, dt.var))
    assert [*of_function.parameters][1:] == [*of_method.parameters][1:]
    assert dt.var(dt.zeros(k := dt.Dim("k")), k, ddof=1) is dt.zeros(k).var(k, ddof=1)
    assert float(dt.sum(xr.DataArray([1.0, 2.0], dims="n")).eval()) == 3.0


def test_options_that_are_refused_say_why():
    x = dt.tensor("x", dims=dt.Dim("k", length=2))
    for ask, message in [
        (lambda: x.mean("k", keep_attrs=True), "mean takes no 'keep_attrs'(.|\n)*no attrs"),
        (lambda: dt.sum(x, dtype="float32"), r"sum takes no 'dtype'(.|\n)*x.astype\(dtype\)"),
        (lambda: x.max(initial=0.0), "max takes no 'initial'"),
        (lambda: x.weighted(x).sum(keep_attrs=True), "sum takes no 'keep_attrs'"),
        (lambda: x.quantile(0.5, interpolation="lower"), "its new name is method"),
    ]:
        with pytest.raises(dt.ArgumentError, match=message):
            ask()
    with pytest.raises(dt.DimError, match="sum takes no 'axis'"):
        x.sum(axis=0)
