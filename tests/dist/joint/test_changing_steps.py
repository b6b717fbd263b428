"""Random walks whose steps change along them, against products of SciPy's densities."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX_COMPILED

T, B, N = dt.Dim("t", length=5), dt.Dim("b", length=2), dt.Dim("n", length=6000)
K = dt.Dim("k", coords=["a", "b"])
MU, SIGMA = np.array([50.0, 0.5, -1.0, 2.0, 0.3]), np.array([70.0, 0.4, 1.5, 0.2, 0.9])
X = np.array([0.3, 1.0, -0.5, 1.1, 0.2])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
START = dist.Normal(1.0, 2.0)


def along(values):
    return dt.data(values, dims=T)


def test_density():
    """A parameter at a position is of the step that leads to it; the first one is not looked at."""
    start = st.norm(1, 2).logpdf(X[0])
    steps = np.diff(X)
    both = dist.GaussianRandomWalk(along(MU), along(SIGMA), dim=T, start=START)
    assert both.dims == both.event_dims == (T,)
    wanted = start + st.norm(MU[1:], SIGMA[1:]).logpdf(steps).sum()
    np.testing.assert_allclose(both.logp(along(X)).eval(), wanted)
    scale = dist.GaussianRandomWalk(0.5, along(SIGMA), dim=T, start=START)
    wanted = start + st.norm(0.5, SIGMA[1:]).logpdf(steps).sum()
    np.testing.assert_allclose(scale.logp(along(X)).eval(), wanted)
    by_batch = dt.data(np.stack([MU, 2 * MU]), dims=[B, T])
    batch = dist.GaussianRandomWalk(by_batch, 0.7, dim=T, start=START)
    wanted = [start + st.norm(m[1:], 0.7).logpdf(steps).sum() for m in (MU, 2 * MU)]
    np.testing.assert_allclose(batch.logp(along(X)).eval(), wanted)


def test_density_of_other_steps():
    start, steps, mu = st.norm(1, 2).logpdf(X[0]), np.diff(X), MU[1:]
    heavy = dist.RandomWalk(dist.StudentT(3.0, along(MU), 0.5), dim=T, start=START)
    wanted = start + st.t(3, mu, 0.5).logpdf(steps).sum()
    np.testing.assert_allclose(heavy.logp(along(X)).eval(), wanted)
    cut = dist.RandomWalk(dist.truncated(dist.Normal(along(MU), 0.7), -3.0, 3.0), T, START)
    wanted = start + st.truncnorm((-3 - mu) / 0.7, (3 - mu) / 0.7, mu, 0.7).logpdf(steps).sum()
    np.testing.assert_allclose(cut.logp(along(X)).eval(), wanted)
    shares = dt.data([0.3, 0.7], dims=K)
    parts = dist.Normal(along(MU) * dt.data([1.0, -1.0], dims=K), 0.7)
    mixed = dist.RandomWalk(dist.mixture(shares, parts, dim=K), T, START)
    density = 0.3 * st.norm(mu, 0.7).pdf(steps) + 0.7 * st.norm(-mu, 0.7).pdf(steps)
    np.testing.assert_allclose(mixed.logp(along(X)).eval(), start + np.log(density).sum())


@pytest.mark.parametrize("what", ["mu", "cov"])
def test_density_of_vectors(what, rng):
    mu, covs = rng.normal(size=(5, 2)), COV * np.arange(5)[:, None, None]
    x = rng.normal(size=(5, 2))
    pair = [K, K.rename()]
    cov = dt.data(COV, dims=pair) if what == "mu" else dt.data(covs, dims=[T, *pair])
    step = dist.MvNormal(dt.data(mu, dims=[T, K]), cov)
    walk = dist.RandomWalk(step, dim=T, start=dist.MvNormal(0.0, dt.eye(K)))
    wanted = st.multivariate_normal(np.zeros(2)).logpdf(x[0])
    for at in range(1, 5):
        of_step = st.multivariate_normal(mu[at], COV if what == "mu" else covs[at])
        wanted += of_step.logpdf(x[at] - x[at - 1])
    np.testing.assert_allclose(walk.logp(dt.data(x, dims=[T, K])).eval(), wanted)


def test_moments_and_draws():
    mu, sigma = along(MU), along(SIGMA)
    mean = 1.0 + np.concatenate([[0.0], np.cumsum(MU[1:])])
    variance = 4.0 + np.concatenate([[0.0], np.cumsum(SIGMA[1:] ** 2)])
    walk = dist.GaussianRandomWalk(mu, sigma, dim=T, start=START)
    np.testing.assert_allclose(walk.mean().eval(), mean)
    np.testing.assert_allclose(walk.variance().eval(), variance)
    drawn, _ = walk.draw(dt.random.generator(3), dims=N)
    values = drawn.eval().transpose("n", "t").values
    np.testing.assert_allclose(values.mean(0), mean, atol=0.12)
    wanted = np.minimum.outer(variance, variance)  # of the later one only steps are added
    np.testing.assert_allclose(np.cov(values.T), wanted, rtol=0.1)
    only_scale = dist.GaussianRandomWalk(0.5, sigma, dim=T, start=START)
    np.testing.assert_allclose(only_scale.mean().eval(), 1.0 + 0.5 * np.arange(5))


def test_lengths_may_come_with_the_data():
    day = dt.Dim("day")
    mu, x = dt.tensor("mu", dims=day), dt.tensor("x", dims=day)
    walk = dist.GaussianRandomWalk(mu, 0.7, dim=day, start=START)
    f = dt.function([mu, x], walk.logp(x), backend="python")
    for n in (1, 3, 5):
        wanted = st.norm(1, 2).logpdf(X[0]) + st.norm(MU[1:n], 0.7).logpdf(np.diff(X[:n])).sum()
        np.testing.assert_allclose(float(f(MU[:n], X[:n])), wanted)


def test_a_walk_around_a_walk_in_a_model():
    slope = dt.rv("slope", dist.GaussianRandomWalk(0.1, 0.3, dim=T, start=dist.Normal(0.2, 1.0)))
    level = dt.rv("level", dist.GaussianRandomWalk(slope, 0.5, dim=T, start=START))
    model = dt.Model(level, backend="python")
    at = np.array([0.2, 0.1, -0.4, 0.3, 0.0])
    found = model.logp({"slope": at, "level": X})
    of_slope = st.norm(0.2, 1).logpdf(at[0]) + st.norm(0.1, 0.3).logpdf(np.diff(at)).sum()
    np.testing.assert_allclose(found["slope"], of_slope)
    of_level = st.norm(1, 2).logpdf(X[0]) + st.norm(at[1:], 0.5).logpdf(np.diff(X)).sum()
    np.testing.assert_allclose(found["level"], of_level)
    drawn = model.draw(4000, seed=1)
    level, slope = drawn["prior_predictive"]["level"], drawn["prior"]["slope"]
    steps = (level - slope.cumsum("t")).diff("t")
    assert st.kstest(steps.values.ravel(), st.norm(0, 0.5).cdf).pvalue > 1e-4


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled(backend):
    mu, sigma, x = (dt.tensor(name, dims=T) for name in ("mu", "sigma", "x"))
    logp = dist.GaussianRandomWalk(mu, sigma, dim=T, start=START).logp(x)
    outputs = [logp, *dt.grad(logp, [mu, sigma, x])]
    f = dt.function([mu, sigma, x], outputs, backend=backend)
    nothing = [np.nan]  # at the first position
    value, by_mu, by_sigma, by_x = f([*nothing, *MU[1:]], [*nothing, *SIGMA[1:]], X)
    m, s = MU[1:], SIGMA[1:]
    z = (np.diff(X) - m) / s
    wanted = st.norm(1, 2).logpdf(X[0]) + st.norm(m, s).logpdf(np.diff(X)).sum()
    np.testing.assert_allclose(value, wanted)
    np.testing.assert_allclose(by_mu, [0.0, *(z / s)])
    np.testing.assert_allclose(by_sigma, [0.0, *((z**2 - 1) / s)])
    ahead, behind = np.array([*(z / s), 0.0]), np.array([0.0, *(z / s)])
    ahead[0] -= (X[0] - 1.0) / 4.0
    np.testing.assert_allclose(by_x, ahead - behind)
