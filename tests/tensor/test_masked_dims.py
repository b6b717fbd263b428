"""Derivatives and lengths along dims that masks make, where the mask is of the variable itself."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

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
    "neighbors": ((left * left.roll({M: 1}) * w).sum(), lambda v: (v * np.roll(v, 1) * W).sum()),
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
    for name in ("positions", "a condition", "the length", "a mean", "differences", "neighbors"):
        y, oracle = CASES[name]
        if name == "neighbors":  # data stay along the dim that they were given
            with pytest.raises(dt.DimError, match="two different dims are named 't'"):
                dt.substitute(y, {x: 2.0 * z})
            continue
        found = dt.function([z], dt.substitute(y, {x: 2.0 * z}), backend="python")(VALUES / 2.0)
        np.testing.assert_allclose(found, oracle(VALUES[KEPT]))


def test_masks_of_elements_inside_of_loops():
    k = dt.Dim("k", length=3)
    rows = dt.tensor("rows", dims=[k, T])
    means = dt.map(lambda row: (row.dropna(T) ** 2).mean(), rows, dim=k)
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


def test_cotangents_and_jacobians_along_what_is_left():
    products = dt.vjp(left**2, x, w)
    matrix = dt.jacobian(left**2 * w, x)
    found, table = dt.function([x], [products, matrix], backend="python")(VALUES)
    v = VALUES[KEPT]
    expected = np.zeros((len(KEPT), len(VALUES)))
    expected[np.arange(len(KEPT)), KEPT] = 2 * v * W
    np.testing.assert_allclose(found, expected.sum(axis=0))
    np.testing.assert_allclose(table.transpose("t", "t'"), expected)


def test_masks_of_what_masks_leave():
    positive = left[left > 0]
    (inner,) = positive.dims
    weights = dt.data([1.0, 2.0, 3.0], dims=inner)
    loss = (positive**2 * weights).sum() + (left * w).mean() + (positive**2).mean()
    gradient = dt.function([x], dt.grad(loss, x), backend="python")(VALUES)
    expected = np.zeros(6)
    expected[KEPT] = W / 4
    expected[[0, 3, 5]] += 2 * VALUES[[0, 3, 5]] * (np.array([1.0, 2.0, 3.0]) + 1 / 3)
    np.testing.assert_allclose(gradient, expected)


def test_masks_over_several_dims():
    k = dt.Dim("k", length=2)
    table = dt.tensor("table", dims=[k, T])
    positive = table[table > 0]
    (flat,) = positive.dims
    values = np.array([[1.0, 2.0, -4.0], [-1.0, 3.0, 5.0]])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    loss = (positive**2 * dt.data(weights, dims=flat)).sum() + (positive**2).mean()
    f = dt.function([table], dt.grad(loss, table), backend="python")
    expected = np.zeros((2, 3))
    expected[values > 0] = 2 * values[values > 0] * (weights + 1 / 4)
    np.testing.assert_allclose(f((("k", "t"), values)).transpose("k", "t"), expected)


def test_what_is_left_is_the_same_however_it_is_written():
    assert x.isel({T: x.notnull()}).dims == left.dims
    assert x.where(x.notnull(), drop=True).dims == left.dims


def test_what_is_masked_outside_stays_so_where_its_variable_is_captured():
    y, steps = dt.tensor("y"), dt.data([0.5, -1.0, 2.0], dims=dt.Dim("step"))
    loss = (left * y).sum() ** 2 + (x.fillna(0.0) * y).sum() * (left * dt.arange(M) * y).mean()
    last = dt.reduce(lambda s, k: s + (left * k).mean() + x[x > k].sum(), y, steps, dim="step")
    found, end = dt.function([x, y], [dt.grad(loss, y), last], backend="python")(VALUES, 0.7)
    v = VALUES[KEPT]
    a, b, c = v.sum() ** 2, v.sum(), (v * np.arange(4)).mean()
    np.testing.assert_allclose(found, 2 * (a + b * c) * 0.7)
    expected = 0.7 + sum((v * k).mean() + v[v > k].sum() for k in (0.5, -1.0, 2.0))
    np.testing.assert_allclose(end, expected)


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_what_a_mask_leaves_in_a_step_is_of_another_length_in_each(backend):
    y = dt.tensor("y")

    def step(s, k, x, exp):
        return 0.5 * s + exp(0.1 * s * x[x > k]).sum() + x[x > k].sum() / 3.0

    def total(v, s=0.7):
        for k in v:
            s = s + v[v > k].sum() / 3.0
        return s

    def path(v, s=0.7):
        for k in v:
            s = step(s, k, v, np.exp)
        return s

    values = np.array([0.7, -1.2, 2.5, 0.3])
    added = dt.reduce(lambda s, k: s + x[x > k].sum() / 3.0, y, x, dim=T)
    carried = dt.reduce(lambda s, k: step(s, k, x, dt.exp), y, x, dim=T)
    f = dt.function(
        [x, y], [added, carried, dt.grad(added, x), dt.grad(carried, x)], backend=backend
    )
    found = f(values, 0.7)
    for value, gradient, oracle in zip(found[:2], found[2:], (total, path), strict=True):
        np.testing.assert_allclose(value, oracle(values))
        units = 1e-6 * np.eye(4)
        expected = [(oracle(values + u) - oracle(values - u)) / 2e-6 for u in units]
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


def test_labels_along_what_is_left_are_those_of_the_elements_that_are():
    k = dt.Dim("k", coords=["a", "b", "c"])
    y = dt.tensor("y", dims=k)
    above = y[y > 1]
    z = dt.tensor("z", dims=above.dims)
    given = xr.DataArray([30.0, 20.0, 10.0], coords={"k": ["c", "b", "a"]}, dims="k")
    right, turned, other = given[[1, 0]], given[[0, 1]], given[[1, 2]]
    values = [1.0, 2.0, 3.0]
    for found in ((above + right).eval({y: values}), (above + z).eval({y: values, z: right})):
        assert found.to_series().to_dict() == {"b": 22.0, "c": 33.0}
    for wrong in (turned, other):
        with pytest.raises(dt.LabelError, match=r"data tensor .* has other labels along SelDim"):
            (above + wrong).eval({y: values})
        with pytest.raises(dt.LabelError, match=r"input 'z' has other labels"):
            (above + z).eval({y: values, z: wrong})
