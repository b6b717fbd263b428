"""Dims that take the places of others in a finished expression."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.dims import RenamedDim
from dimtensor.errors import DimError, LabelError

FIRM = dt.Dim("firm", coords=["IBM", "GE", "GM"])
WIDER = dt.Dim("firm", coords=["Ford", "GM", "IBM", "GE"])
X = dt.tensor("x", dims=FIRM)
C = dt.scalar("c")
PAIR = dt.Dim("a", length=2)
VALUES = xr.DataArray([1.0, 2.0, 3.0, 4.0], {"firm": ["Ford", "GM", "IBM", "GE"]})

CASES = {
    "elementwise": (X * C, 2 * VALUES),
    "sum": (X.sum(), VALUES.sum()),
    "a label": (X.sel(firm="IBM") * C, 2 * VALUES.sel(firm="IBM")),
    "labels": (X.sel(firm=["GM", "IBM"]), VALUES.sel(firm=["GM", "IBM"])),
    "positions": (X.isel(firm=[0, 2]), VALUES.sel(firm=["IBM", "GM"])),
    "another name": (X.relabel(FIRM, RenamedDim(FIRM, "f")).isel(f=0), VALUES.sel(firm="IBM")),
    "gradient": (dt.grad((X**2 * C).sum(), X), 4 * VALUES),
    "of a part": (
        dt.grad(X.sel(firm="GE") ** 2 + 0 * C, X),
        VALUES.copy(data=[0.0, 0.0, 0.0, 8.0]),
    ),
    "set": (X.sel(firm="GE").set(C), VALUES.copy(data=[1.0, 2.0, 3.0, 2.0])),
    "loop": (dt.fori_loop(0, 2, lambda i, s: s * X, dt.ones(FIRM)), VALUES**2),
    "step": (dt.reduce(lambda s, x: s * C + x, 0.0, X, dim=FIRM), 1 * 8 + 2 * 4 + 3 * 2 + 4.0),
    "arm": (dt.if_else(C > 0, lambda: X.sel(firm="GM"), lambda: C), 2.0),
    "length": (dt.length(FIRM) + 0 * X.sum(), 4),
    "numbers": ((dt.arange(FIRM) * X).sum(), 20.0),
    "mean": (X.mean() * C, 5.0),
    "mean's gradient": (dt.grad(X.mean() * C, X), xr.full_like(VALUES, 0.5)),
    "a number of the same value": (X.sum() * 3, 30.0),
    "deviation": (X.std(ddof=1), VALUES.std(ddof=1)),
    "too few": (X.var(ddof=3), VALUES.var(ddof=3)),
    "quantiles": (X.quantile([0.1, 0.5]).sum(), VALUES.quantile([0.1, 0.5]).sum()),
    "count": (X.astype("int64").count() + 0 * X.sum(), 4),
    "position": ((X * dt.arange(PAIR)).argmax(...)["firm"], 3),
    "mean in a step": (dt.fori_loop(0, 3, lambda i, s: s + X.mean(), 0.0), 7.5),
}


@pytest.mark.parametrize("case", CASES)
def test_a_dim_takes_the_place_of_another(case):
    expression, expected = CASES[case]
    y = dt.substitute(expression, {FIRM: WIDER})
    (x,) = [t for t in dt.inputs_of(y) if t.name == "x"]
    assert x.dims == (WIDER,)
    given = {t: 2.0 if t is C else VALUES for t in dt.inputs_of(y)}
    found = y.eval(given)
    if np.ndim(expected):
        xr.testing.assert_allclose(found, expected)
    else:
        np.testing.assert_allclose(found, expected)


def test_labels_are_data():
    obs = dt.Dim("obs", length=2)
    of = dt.data(["GE", "IBM"], dims=obs, categories=FIRM)
    y = dt.substitute(X.sel(firm=of) * (of == "GE"), {FIRM: WIDER})
    np.testing.assert_array_equal(y.eval({"x": VALUES}), [4.0, 0.0])


def test_tensors_are_replaced_at_the_same_time():
    z = dt.tensor("z", dims=WIDER)
    assert dt.substitute(X * 2, {FIRM: WIDER, X: z}) is z * 2
    y = dt.data([1.0, 2.0, 3.0], dims=FIRM)
    with pytest.raises(DimError, match="has values along dim 'firm', and none along another dim"):
        dt.substitute(X * y, {FIRM: WIDER})
    both = dt.substitute(X * y, {FIRM: WIDER, y: dt.data(VALUES, dims=WIDER)})
    xr.testing.assert_allclose(both.eval({"x": VALUES}), VALUES**2)


def test_what_cannot_take_the_place():
    fewer = dt.Dim("firm", coords=["IBM", "GM"])
    with pytest.raises(LabelError, match=r"are not in the dim that replaces it\n  labels: 'GE'"):
        dt.substitute(X.sel(firm="GE"), {FIRM: fewer})
    with pytest.raises(DimError, match="dim 'firm' is replaced by a dim, not list"):
        dt.substitute(X, {FIRM: ["a"]})
    other = dt.tensor("x", dims=dt.Dim("firm", coords=["IBM", "GM", "VW"]))
    message = r"another dim named 'firm'.*\n.*\n.*\n  missing: 'GE'\n  extra: 'VW'\nhint: .*reindex"
    with pytest.raises(DimError, match=message):
        dt.substitute(X * 2, {X: other})


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        (X.shift(firm=1), "substitute: .*"),
        (X.roll(firm=1), "elements of dim 'firm' are moved by position, as in a roll"),
    ],
    ids=["shift", "roll"],
)
def test_what_is_moved_by_position_is_not_exchanged(expression, match):
    with pytest.raises(DimError, match=match):
        dt.substitute(expression, {FIRM: WIDER})


def test_dims_of_one_length():
    same = dt.Dim("firm", coords=["GM", "IBM", "GE"])
    values = VALUES.sel(firm=["GM", "IBM", "GE"])
    mean = dt.substitute(X.mean(), {FIRM: same})
    assert mean.eval({"x": values}).item() == 3.0
    shifted = dt.substitute(X.shift(firm=1), {FIRM: same}).eval({"x": values})
    np.testing.assert_array_equal(shifted, [np.nan, 2.0, 3.0])


def test_no_elements():
    none, some = dt.Dim("k", length=0), dt.Dim("k", length=4)
    x = dt.tensor("x", dims=none)
    for y in (x.mean(), x.var(), x.var(ddof=3)):
        assert np.isnan(y.eval({"x": np.zeros(0)}))
    ones = np.arange(4.0)
    assert dt.substitute(x.mean(), {none: some}).eval({"x": ones}).item() == 1.5
    assert dt.substitute(x.var(ddof=3), {none: some}).eval({"x": ones}).item() == 5.0
