"""Quantiles by halving: their digits at small probabilities, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX

Q = dt.tensor("q", dims=dt.Dim("k"))
M = dt.scalar("m")
SMALL = np.array([1e-300, 1e-100, 1e-20, 1e-12, 1e-5, 0.01, 0.5, 0.99])


def falling(d, forward, inverse, support):
    return dist.transformed(d, forward, inverse, support, increasing=False)


def exponential(x):
    return dt.exp(-x)


def logarithm(y):
    return -dt.log(y)


# the distribution, and its quantiles at m = 1
FALLING = {
    "uniform": (
        falling(dist.Exponential(M), exponential, logarithm, dt.supports.unit),
        lambda q: q,
    ),
    "log-normal": (
        falling(dist.Normal(M, 1.0), exponential, logarithm, dt.positive),
        lambda q: np.exp(st.norm.ppf(q) - 1.0),
    ),
    "negative": (
        falling(dist.Gamma(2.0, M), lambda x: -x, lambda y: -y, dt.real),
        lambda q: -st.gamma(2.0).isf(q),
    ),
    "reciprocal": (
        falling(dist.Gamma(2.0, M), lambda x: 1.0 / x, lambda y: 1.0 / y, dt.positive),
        st.invgamma(2.0).ppf,
    ),
}


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("name", FALLING)
def test_small_quantiles_of_decreasing_functions(name, backend):
    d, wanted = FALLING[name]
    x = d.icdf(Q)
    f = dt.function([Q, M], [x, dt.grad(x.sum(), Q), d.logp(x)], backend=backend)
    found, slope, log_density = (v.values for v in f(SMALL, 1.0))
    np.testing.assert_allclose(found, wanted(SMALL), rtol=1e-11)
    np.testing.assert_allclose(np.log(slope), -log_density, rtol=1e-9, atol=1e-9)
    ends = f(np.array([0.0, 1.0, -0.1, 1.1]), 1.0)[0].values
    np.testing.assert_array_equal(ends, wanted(np.array([0.0, 1.0, np.nan, np.nan])))


K = dt.Dim("parts", length=2)
HALVED = {
    "mixture": dist.mixture(
        dt.data([0.3, 0.7], dims=K), dist.Normal(M + dt.data([0.0, 3.0], dims=K), 1.0), dim=K
    ),
    "far in a tail": dist.truncated(dist.Normal(M, 1.5), 20.0),
    "moving bound": dist.truncated(dist.ExGaussian(0.0, 1.0, 2.0), M, M + 4.0),
    "small": FALLING["uniform"][0],
}


@pytest.mark.parametrize("name", HALVED)
def test_quantiles_by_halving_have_derivatives(name):
    q = dt.scalar("p")
    x = HALVED[name].icdf(q)
    at = {q: np.array(1e-4 if name == "small" else 0.4), M: np.array(1.2)}
    for variable in (q, M):
        scale = 1e-4 if variable is q and name == "small" else 1.0
        s = dt.scalar("s")
        moved = dt.substitute(x, {variable: s * scale})
        rest = {key: value for key, value in at.items() if key is not variable}
        assert_gradient(moved, s, {**rest, s: at[variable] / scale})


def test_values_with_a_probability_do_not_move():
    d = dist.censored(dist.Normal(M, 1.0), 0.0)
    both = dist.mixture(dt.data([0.5, 0.5], dims=K), d, dim=K)
    x = both.icdf(Q)
    values = {Q: np.array([0.1, 0.2, 0.9]), M: 0.0}
    found, slope = dt.evaluate([x, dt.grad(x.sum(), Q)], values)
    normal = st.norm.ppf(0.9)
    np.testing.assert_allclose(found, [0.0, 0.0, normal], atol=1e-12)
    np.testing.assert_allclose(slope, [0.0, 0.0, 1.0 / st.norm.pdf(normal)], rtol=1e-9)


def test_small_quantiles_between_two_bounds():
    alpha = dt.data([1.0, 2.0], dims=K)
    d = dist.mixture(dt.data([0.5, 0.5], dims=K), dist.Beta(1.0, alpha), dim=K)
    # x / 2 + (1 - (1 - x)²) / 2
    q = np.array([1e-250, 1e-30, 1e-12, 0.3, 0.9])
    np.testing.assert_allclose(d.icdf(Q).eval({Q: q}), q * 4 / (3 + np.sqrt(9 - 8 * q)), rtol=1e-12)
