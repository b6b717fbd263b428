"""Probabilities of all rows, and of what is made of them: in [0, 1], monotonic, inverse to icdf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.table import Row
from tests.dist.oracles import ORACLES

W = dt.Dim("w", length=2)
WEIGHTS = dt.data([0.3, 0.7], dims=W)
EPS = np.finfo(float).eps
SUMMED = ("BetaBinomial", "BetaNegativeBinomial", "HyperGeometric", "LogSeries")
ROWS = [row for row in dist.TABLE.values() if callable(row.logcdf) or row.name in SUMMED]
# Rows of each kind, for every run.
QUICK = ("BetaBinomial", "Geometric", "Normal", "Exponential")


def points_of(row: Row) -> tuple[np.ndarray, float, float]:
    """Points in and around a support, and two bounds between them, by SciPy."""
    frozen = ORACLES[row.name].frozen(*(row.example[name] for name in row.names))
    low, high = frozen.ppf([0.1, 0.95])
    if row.discrete:
        first, last = frozen.ppf([1e-9, 1 - 1e-9])
        return np.arange(first - 1.0, min(last + 3.0, 100.0)), low, high
    inside = frozen.ppf(np.array([0.0, 1e-9, 0.01, 0.1, 0.5, 0.6, 0.9, 0.95, 0.999, 1.0]))
    return np.unique([*inside, inside[1] - 1.0, inside[-2] + 1.0]), low, high


def wrapped(row: Row) -> Iterator[tuple[str, dist.Distribution, np.ndarray]]:
    """The distribution of a row's example, all that is made of it, and points."""
    d = getattr(dist, row.name)(**row.example)
    x, low, high = points_of(row)
    if callable(row.logcdf):
        yield "row", d, x
        yield "truncated below", dist.truncated(d, lower=low), x
        yield "censored", dist.censored(d, low, high), x
        parts = [dist.truncated(d, low, high), d]
        yield "mixture", dist.mixture(WEIGHTS, parts, dim=W), x
        yield "weighted", dist.weighted(d, 2.0), x
    yield "truncated", dist.truncated(d, low, high), x
    yield "truncated above", dist.truncated(d, upper=high), x
    yield "hurdle", dist.hurdle(d, 0.7), x
    if row.discrete:
        yield "zero_inflated", dist.zero_inflated(d, 0.7), x
    else:
        numbers = [end if isinstance(end, float) else None for end in d.support.bounds()]
        away = [None if end is None else -end for end in reversed(numbers)]
        falling = between(*away)
        yield (
            "falling",
            dist.transformed(d, negative, negative, falling, increasing=False),
            -x[::-1],
        )
        above = [None if end is None else float(np.exp(end)) for end in numbers]
        support = between(above[0] or 0.0, above[1])
        inside = np.clip(x, -300.0, 300.0)
        yield "exponential", dist.transformed(d, dt.exp, dt.log, support), np.exp(inside)


def between(low: float | None, high: float | None) -> Any:
    return dt.real if low is None and high is None else dt.supports.bounded(low, high)


def negative(x: Any) -> Any:
    return -x


def evaluated(outputs: dict[str, dt.DimTensor], given: dict[Any, Any], backend: str) -> Any:
    found = dt.function(list(given), list(outputs.values()), backend=backend)(*given.values())
    return dict(zip(outputs, (value.values for value in found), strict=True))


def check(rows: list[Row], backend: str) -> None:
    """Check all that is made of rows, in two functions: of values, and of probabilities."""
    cases = {
        f"{what} of {row.name}": (d, x)
        for row in rows
        for what, d, x in wrapped(row)
        if d.implements("logcdf")
    }
    outputs, given = {}, {}
    for name, (d, x) in cases.items():
        values = dt.tensor(f"x of {name}", dims=dt.Dim(f"values of {name}"))
        given[values] = np.append(x, np.nan)
        for what in ("logcdf", "logsf", "cdf"):
            outputs[f"{what}, {name}"] = getattr(d, what)(values)
    found = evaluated(outputs, given, backend)
    for name in cases:
        _check_probabilities(name, *(found[f"{w}, {name}"] for w in ("logcdf", "logsf", "cdf")))
    outputs, given = {}, {}
    for name, (d, _) in cases.items():
        if d.implements("icdf"):
            q = dt.tensor(f"q of {name}", dims=dt.Dim(f"values of {name}"))
            given[q] = np.append(found[f"cdf, {name}"], [0.0, 1.0, -0.01, 1.01])
            outputs[name] = d.icdf(q)
    for name, back in evaluated(outputs, given, backend).items():
        _check_quantiles(name, *cases[name], found[f"cdf, {name}"][:-1], back)


def _check_probabilities(name: str, logcdf: Any, logsf: Any, cdf: Any) -> None:
    assert np.isnan([logcdf[-1], logsf[-1], cdf[-1]]).all(), name
    logcdf, logsf, cdf = logcdf[:-1], logsf[:-1], cdf[:-1]
    assert (logcdf <= 0.0).all(), name
    assert (logsf <= 0.0).all(), name
    assert ((cdf >= 0.0) & (cdf <= 1.0)).all(), name
    rounding = 8.0 * EPS * cdf[1:] * (1.0 - np.maximum(logcdf[1:], -700.0))
    assert (np.diff(cdf) >= -rounding).all(), name
    np.testing.assert_allclose(cdf + np.exp(logsf), 1.0, rtol=1e-9, err_msg=name)


def _check_quantiles(
    name: str, d: dist.Distribution, x: np.ndarray, cdf: np.ndarray, back: np.ndarray
) -> None:
    *back, at_nan, at_zero, at_one, below, above = back
    assert np.isnan([at_nan, below, above]).all(), name
    back = np.array(back)
    assert not np.isnan(back).any(), name
    low, high = (_number(end) for end in d.support.bounds())
    ends_of_all = [-np.inf if low is None else low, np.inf if high is None else high]
    if not d.discrete or low is not None:
        np.testing.assert_allclose([at_zero, at_one], ends_of_all, rtol=1e-14, err_msg=name)
    if d.discrete:
        told_apart = np.diff(cdf, prepend=0.0) > 40.0 * EPS * cdf
        inside = told_apart & ((cdf < 1.0) | (x == high))
        np.testing.assert_array_equal(back[inside], x[inside], err_msg=name)
        return
    moves = np.diff(cdf, prepend=0.0, append=1.0)
    inside = (cdf > 1e-8) & (cdf < 0.9999) & (moves[:-1] > 0.0) & (moves[1:] > 0.0)
    same = np.isclose(back, x, rtol=1e-8, atol=1e-9)
    # where probabilities stay the same, the quantile is the least of the values
    for found, value, probability in zip(*(y[inside & ~same] for y in (back, x, cdf)), strict=True):
        assert found < value, name
        np.testing.assert_allclose(d.cdf(found).item(), probability, rtol=1e-14, err_msg=name)


def _number(end: Any) -> float | None:
    return float(end.eval().item()) if isinstance(end, dt.DimTensor) else end


LATER = [row for row in ROWS if row.name not in QUICK]


@pytest.mark.parametrize("name", QUICK)
def test_probabilities_of_what_is_made_of_rows(name: str):
    check([dist.TABLE[name]], "python")


@pytest.mark.slow
@pytest.mark.parametrize("row", LATER, ids=lambda row: row.name)
def test_probabilities_of_what_is_made_of_other_rows(row: Row):
    check([row], "python")


COUNTS = [name for name in QUICK if dist.TABLE[name].discrete]


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "name"), [*(("numba", name) for name in QUICK), *(("jax", name) for name in COUNTS)]
)
def test_probabilities_in_compiled_code(name: str, backend: str):
    check([dist.TABLE[name]], backend)
