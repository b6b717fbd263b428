"""Reductions, groups and weighted reductions have the options that xarray's have."""

from __future__ import annotations

import inspect

import pytest
import xarray as xr
from xarray.computation.weighted import DataArrayWeighted
from xarray.core.groupby import DataArrayGroupBy

import dimtensor as dt
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


def test_options_that_are_refused_say_why():
    x = dt.tensor("x", dims=dt.Dim("k", length=2))
    for ask, message in [
        (lambda: x.mean("k", keep_attrs=True), "mean takes no 'keep_attrs'(.|\n)*no attrs"),
        (lambda: dt.sum(x, dtype="float32"), r"sum takes no 'dtype'(.|\n)*x.astype\(dtype\)"),
        (lambda: x.max(initial=0.0), "max takes no 'initial'"),
        (lambda: x.weighted(x).sum(keep_attrs=True), "sum takes no 'keep_attrs'"),
        (lambda: x.quantile(0.5, interpolation="lower"), "its new name is method"),
    ]:
        with pytest.raises(dt.InputError, match=message):
            ask()
    with pytest.raises(dt.DimError, match="sum takes no 'axis'"):
        x.sum(axis=0)
