"""Derivatives and lengths along dims that masks make, where the mask is of the variable itself."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import LONG_JAX

T = dt.Dim("t")
VALUES = np.array([0.7, np.nan, -1.2, 2.5, np.nan, 0.3])
KEPT = np.flatnonzero(~np.isnan(VALUES))
x = dt.tensor("x", dims=T)
left = x.dropna(T)
(M,) = left.dims
W = np.array([0.5, -1.0, 2.0, 3.0])
w = dt.data(W, dims=M)
given = dt.tensor("given", dims=M)

# the expression, and the same of the elements that are left, in NumPy
CASES = {
    "data": ((left**2 * w).sum(), lambda v: (v**2 * W).sum()),
    "an input": ((left**2 * given).sum(), lambda v: (v**2 * W).sum()),
    "positions": ((left**2 * dt.arange(M)).sum(), lambda v: (v**2 * np.arange(4)).sum()),
    "a condition": (
        (left.where(dt.arange(M) > 1, 0.0) ** 2).sum(),
        lambda v: (v[2:] ** 2).sum(),
    ),
    "the length": ((left**2).sum() * dt.length(M), lambda v: (v**2).sum() * 4),
    "a mean": ((left**2).mean(), lambda v: (v**2).mean()),
    "a deviation": (left.std(ddof=1), lambda v: v.std(ddof=1)),
    "a sum of all": ((left.cumsum(M) * w).sum(), lambda v: (np.cumsum(v) * W).sum()),
    "differences": ((left.diff(M) ** 2).mean(), lambda v: (np.diff(v) ** 2).mean()),
    "neighbours": ((left * left.roll({M: 1}) * w).sum(), lambda v: (v * np.roll(v, 1) * W).sum()),
    "a longer dim": (
        (left.pad({M: (1, 0)}, constant_values=2.0) ** 3).mean(),
        lambda v: (np.append(v, 2.0) ** 3).mean(),
    ),
}


def slopes(f, v, step=1e-6):
    found = np.zeros(len(VALUES))
    for at, place in enumerate(KEPT):
        ends = [v.copy(), v.copy()]
        ends[0][at] -= step
        ends[1][at] += step
        found[place] = (f(ends[1]) - f(ends[0])) / (2 * step)
    return found


def run(expression, outputs, backend="python"):
    inputs = [x, given] if expression is CASES["an input"][0] else [x]
    return dt.function(inputs, outputs, backend=backend)(*[VALUES, W][: len(inputs)])


@pytest.mark.parametrize("name", CASES)
def test_derivatives_by_what_the_mask_depends_on(name):
    y, oracle = CASES[name]
    direction = np.where(np.isnan(VALUES), 0.0, np.cos(np.arange(6.0)))
    tangent = dt.data(direction, dims=T)
    value, gradient, along, curvature = run(
        y, [y, dt.grad(y, x), dt.jvp(y, x, tangent), dt.hessian(y, x)]
    )
    v = VALUES[KEPT]
    expected = slopes(oracle, v)
    np.testing.assert_allclose(value, oracle(v))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(along, expected @ direction, rtol=1e-6, atol=1e-8)
    step = 1e-4
    moved = [slopes(oracle, v + sign * step * direction[KEPT], 1e-5) for sign in (1, -1)]
    np.testing.assert_allclose(
        curvature.transpose("t", "t'").values @ direction,
        (moved[0] - moved[1]) / (2 * step),
        atol=1e-4,
    )


@pytest.mark.parametrize("name", ["data", "an input", "a mean", "a condition"])
def test_on_numba(name):
    y, oracle = CASES[name]
    gradient = run(y, dt.grad(y, x), "numba")
    np.testing.assert_allclose(gradient, slopes(oracle, VALUES[KEPT]), rtol=1e-6, atol=1e-8)


def test_another_variable_has_another_mask():
    z = dt.tensor("z", dims=T)
    for name in ("positions", "a condition", "the length", "a mean", "differences", "neighbours"):
        y, oracle = CASES[name]
        if name == "neighbours":  # data stay along the dim that they were given
            with pytest.raises(dt.DimError, match="two different dims are named 't'"):
                dt.substitute(y, {x: 2.0 * z})
            continue
        found = dt.function([z], dt.substitute(y, {x: 2.0 * z}), backend="python")(VALUES / 2.0)
        np.testing.assert_allclose(found, oracle(VALUES[KEPT]))


def test_masks_of_elements_inside_of_loops():
    k = dt.Dim("k", length=3)
    rows = dt.tensor("rows", dims=[k, T])
    means = dt.map(lambda row: (row.dropna(T) ** 2).mean(), rows, over=k)
    table = np.stack([VALUES, VALUES[::-1], np.roll(VALUES, 1)]) + np.arange(3.0)[:, None]
    f = dt.function([rows], [means, dt.grad(means.sum(), rows)], backend="python")
    found, gradient = f((("k", "t"), table))
    np.testing.assert_allclose(found, np.nanmean(table**2, axis=1))
    expected = np.where(np.isnan(table), 0.0, 2 * table / 4)
    np.testing.assert_allclose(gradient.transpose("k", "t"), expected)


@pytest.mark.parametrize("backend", LONG_JAX[:1])
def test_nothing_is_left(backend):
    y = (left**2).sum() + dt.length(M)
    gradient = dt.function([x], [y, dt.grad(y, x)], backend=backend)
    value, slope = gradient(np.array([np.nan, np.nan]))
    assert float(value) == 0.0
    assert slope.values.tolist() == [0.0, 0.0]
