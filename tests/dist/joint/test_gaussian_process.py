"""Gaussian processes against SciPy's normal vectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX_COMPILED

OBS, OTHER = dt.Dim("obs", length=5), dt.Dim("other", length=5)
AT = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
VALUES = np.array([0.1, 0.2, -0.3, 0.5, 1.0])
POINTS = dt.data(AT, dims=OBS)


def kernel(x, y, scale=0.7):
    return 1.5 * dt.exp(-0.5 * ((x - y) / scale) ** 2)


def covariance(at=AT, scale=0.7):
    return 1.5 * np.exp(-0.5 * (np.subtract.outer(at, at) / scale) ** 2)


def normal(mean, cov):
    return st.multivariate_normal(np.full(len(cov), 1.0) * mean, cov)


def test_density():
    x = dt.data(VALUES, dims=OBS)
    plain = dist.GP(kernel, OBS, at=POINTS, jitter=0.0)
    assert plain.dims == plain.event_dims == (OBS,)
    np.testing.assert_allclose(plain.logp(x).eval(), normal(0, covariance()).logpdf(VALUES))
    mean = dt.data(AT, dims=OBS)
    noisy = dist.GP(kernel, dim=OBS, at=POINTS, mean=mean, jitter=0.2)
    oracle = normal(AT, covariance() + 0.2 * np.eye(5))
    np.testing.assert_allclose(noisy.logp(x).eval(), oracle.logpdf(VALUES))
    np.testing.assert_allclose(noisy.mean().eval(), AT)
    np.testing.assert_allclose(noisy.variance().eval(), np.full(5, 1.7))
    of_each = np.linspace(0.1, 0.5, 5)
    unlike = dist.GP(kernel, OBS, at=POINTS, jitter=dt.data(of_each, dims=OBS))
    oracle = normal(0, covariance() + np.diag(of_each))
    np.testing.assert_allclose(unlike.logp(x).eval(), oracle.logpdf(VALUES))


def test_covariances_may_be_given():
    cov = dt.data(covariance(), dims=[OBS, OBS.rename()])
    d = dist.GP(cov, OBS, jitter=0.1)
    oracle = normal(0, covariance() + 0.1 * np.eye(5))
    np.testing.assert_allclose(d.logp(dt.data(VALUES, dims=OBS)).eval(), oracle.logpdf(VALUES))


def test_points_of_several_numbers_and_a_length_of_the_data(rng):
    obs, part = dt.Dim("obs"), dt.Dim("part", length=2)
    x, y = dt.tensor("x", dims=[obs, part]), dt.tensor("y", dims=obs)
    d = dist.GP(lambda a, b: dt.exp(-((a - b) ** 2).sum(part)), obs, at=x, jitter=0.1)
    f = dt.function([x, y], d.logp(y), backend="python")
    for n in (1, 4):
        at, value = rng.normal(size=(n, 2)), rng.normal(size=n)
        apart = ((at[:, None] - at) ** 2).sum(-1)
        oracle = normal(0, np.exp(-apart) + 0.1 * np.eye(n))
        np.testing.assert_allclose(float(f((["obs", "part"], at), value)), oracle.logpdf(value))


def test_points_close_to_each_other():
    """Without jitter the factor of this matrix is NaN."""
    n = dt.Dim("n", length=40)
    at = np.linspace(0.0, 1.0, 40)
    values = np.sin(at)
    d = dist.GP(kernel, n, at=dt.data(at, dims=n))
    oracle = normal(0, covariance(at) + 1e-6 * np.eye(40))
    np.testing.assert_allclose(
        d.logp(dt.data(values, dims=n)).eval(), oracle.logpdf(values), rtol=1e-6
    )


def test_draws():
    d = dist.GP(kernel, OBS, at=POINTS, mean=dt.data(AT, dims=OBS), jitter=0.2)
    drawn, _ = d.draw(dt.random.generator(1), dims=dt.Dim("n", length=8000))
    values = drawn.eval().transpose("n", "obs").values
    np.testing.assert_allclose(values.mean(0), AT, atol=0.08)
    np.testing.assert_allclose(np.cov(values.T), covariance() + 0.2 * np.eye(5), atol=0.1)


def test_a_model_of_noisy_values():
    """With the variance of the noise on the diagonal, the function is integrated out."""
    scale, sigma = dt.rv("scale", dist.HalfNormal(1.0)), dt.rv("sigma", dist.HalfNormal(1.0))
    d = dist.GP(lambda x, y: kernel(x, y, scale), OBS, at=POINTS, jitter=sigma**2)
    y = dt.rv("y", d)
    fit = dt.Model(y, backend="python").observe({y: VALUES})
    found = fit.logp({"scale": 0.9, "sigma": 0.5})["y"]
    oracle = normal(0, covariance(scale=0.9) + 0.25 * np.eye(5))
    np.testing.assert_allclose(found, oracle.logpdf(VALUES))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: dist.GP(kernel, OBS), dt.OptionError, "needs points along obs: at="),
        (lambda: dist.GP(kernel, OTHER, at=POINTS), dt.DimError, "the points, at, lack other"),
        (lambda: dist.GP(lambda x, y: 1.0, OBS, at=POINTS), dt.ArgumentError, "gives a tensor of"),
        (lambda: dist.GP(lambda x, y: x, OBS, at=POINTS), dt.DimError, "GP: which dims are rows"),
        (lambda: dist.GP(dt.eye(OBS), OTHER), dt.DimError, "over obs and obs', not other"),
        (lambda: dist.GP(dt.eye(OBS), OBS, at=POINTS), dt.OptionError, "for a kernel that is a"),
        (lambda: dist.GP(dt.eye(OBS), OBS, jitter=-1.0), dt.OptionError, "jitter of GP"),
        (lambda: dist.GP(dt.eye(OBS), "obs"), dt.DimError, "GP: dim is the Dim"),
    ],
)
def test_mistakes(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled(backend):
    scale, x = dt.scalar("scale"), dt.tensor("x", dims=OBS)
    d = dist.GP(lambda a, b: kernel(a, b, scale), OBS, at=POINTS, jitter=0.2)
    logp = d.logp(x)
    f = dt.function([scale, x], [logp, *dt.grad(logp, [scale, x])], backend=backend)
    value, by_scale, by_x = f(0.7, VALUES)
    noise, h = 0.2 * np.eye(5), 1e-5
    np.testing.assert_allclose(value, normal(0, covariance() + noise).logpdf(VALUES))
    np.testing.assert_allclose(by_x, -np.linalg.solve(covariance() + noise, VALUES))
    above, below = (
        normal(0, covariance(scale=s) + noise).logpdf(VALUES) for s in (0.7 + h, 0.7 - h)
    )
    np.testing.assert_allclose(by_scale, (above - below) / (2 * h), rtol=1e-6)
