"""Gaussian processes beside PyMC's: densities, means and covariances of conditionals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

AT, NEW = np.linspace(0.0, 4.0, 9), np.array([0.3, 2.7, 6.0])
OTHER = np.array([0.0, 1.0, 2.5])
PLACE, WANTED = dt.Dim("place", coords=AT), dt.Dim("place", coords=NEW)
TIME = dt.Dim("time", coords=OTHER)


@pytest.fixture(scope="module")
def pm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pymc")


KERNELS = {
    "squared": (
        lambda pm: 1.5 * pm.gp.cov.ExpQuad(1, 0.8),
        lambda: 1.5 * dt.gp.SquaredExponential(0.8),
    ),
    "matern": (
        lambda pm: pm.gp.cov.Matern52(1, 0.8) + 0.3 * pm.gp.cov.Matern32(1, 2.0),
        lambda: dt.gp.Matern52(0.8) + 0.3 * dt.gp.Matern32(2.0),
    ),
    "quadratic": (
        lambda pm: pm.gp.cov.RatQuad(1, alpha=0.7, ls=1.1) * pm.gp.cov.ExpQuad(1, ls=3.0),
        lambda: dt.gp.RationalQuadratic(1.1, alpha=0.7) * dt.gp.SquaredExponential(3.0),
    ),
    "linear": (
        lambda pm: pm.gp.cov.Linear(1, c=0.5) + pm.gp.cov.WhiteNoise(0.4),
        lambda: dt.gp.Linear(0.5) + dt.gp.White(0.16),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_values_with_noise(name, pm, rng):
    theirs, ours = KERNELS[name]
    values = rng.normal(size=9)
    with pm.Model() as model:
        gp = pm.gp.Marginal(mean_func=pm.gp.mean.Constant(0.3), cov_func=theirs(pm))
        gp.marginal_likelihood("y", X=AT[:, None], y=values, sigma=0.4, jitter=0.0)
        mean, cov = gp.predict(NEW[:, None], jitter=0.0)
    logp = model.compile_logp()(model.initial_point())
    process = dist.GP(ours(), PLACE, mean=0.3, noise=0.4)
    y = dt.data(values, dims=PLACE)
    np.testing.assert_allclose(process.logp(y).eval(), logp, rtol=1e-9)
    d = process.conditional(y, {PLACE: WANTED}, jitter=0.0)
    np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(d.covariance().eval(), cov, atol=1e-8)


def test_products_over_dims(pm, rng):
    values = rng.normal(size=(9, 3))
    with pm.Model() as model:
        kernels = [pm.gp.cov.ExpQuad(1, 0.8), pm.gp.cov.Matern32(1, 1.4)]
        gp = pm.gp.MarginalKron(cov_funcs=kernels)
        xs = [AT[:, None], OTHER[:, None]]
        gp.marginal_likelihood("y", Xs=xs, y=values.ravel(), sigma=0.4)
        grid = np.stack(np.meshgrid(NEW, OTHER, indexing="ij"), axis=-1).reshape(-1, 2)
        mean, cov = gp.predict(grid)
    logp = model.compile_logp()(model.initial_point())
    kernel = dt.gp.SquaredExponential(0.8).on(PLACE) * dt.gp.Matern32(1.4).on(TIME)
    process = dist.GP(kernel, [PLACE, TIME], noise=0.4)
    y = dt.data(values, dims=[PLACE, TIME])
    np.testing.assert_allclose(process.logp(y).eval(), logp, rtol=1e-9)
    d = process.conditional(y, {PLACE: WANTED}, jitter=0.0)
    found = d.mean().eval().transpose("place", "time").values.ravel()
    np.testing.assert_allclose(found, mean, rtol=1e-8)
    np.testing.assert_allclose(d.covariance().eval(), cov, atol=1e-8)
