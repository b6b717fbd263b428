"""Probabilities of distributions whose zeros have a probability of their own, and their bounds."""

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist

X, N = dt.Dim("x"), dt.Dim("n", length=4000)
GAMMA, POISSON, NORMAL = st.gamma(2.0), st.poisson(2.0), st.norm(-1.0, 1.0)
POINTS = np.array([-2.0, -1.0, -0.1, 0.0, 0.4, 1.0, 2.9, 3.0, 4.5])


def of_gamma(x):
    return 0.3 * (x >= 0) + 0.7 * GAMMA.cdf(x)


def of_poisson(x):
    rest = (POISSON.cdf(x) - POISSON.pmf(0)) / (1 - POISSON.pmf(0))
    return np.where(x < 0, 0.0, 0.3 + 0.7 * rest)


def of_normal(x):
    return 0.3 * (x >= 0) + 0.7 * NORMAL.cdf(x)


# a hurdle, its probability of values up to a number, and whether it is of counts
HURDLES = {
    "Gamma": (dist.hurdle(dist.Gamma(2.0, 1.0), 0.7), of_gamma, False),
    "Poisson": (dist.hurdle(dist.Poisson(2.0), 0.7), of_poisson, True),
    "Normal": (dist.hurdle(dist.Normal(-1.0, 1.0), 0.7), of_normal, False),
    "mixture": (
        dist.mixture(
            dt.data([0.4, 0.6], dims=dt.Dim("part", length=2)),
            [dist.hurdle(dist.Gamma(2.0, 1.0), 0.7), dist.Normal(-1.0, 1.0)],
            dim="part",
        ),
        lambda x: 0.4 * of_gamma(x) + 0.6 * NORMAL.cdf(x),
        False,
    ),
}


def at(d, what, points):
    return getattr(d, what)(dt.data(np.asarray(points, float), dims=X)).eval().values


def below(cdf, x, discrete):
    return cdf(np.ceil(x) - 1.0) if discrete else cdf(np.nextafter(x, -np.inf))


def check(d, cdf, points):
    """Probabilities, quantiles and draws of a distribution are those of a function."""
    np.testing.assert_allclose(at(d, "cdf", points), cdf(points), atol=1e-12)
    np.testing.assert_allclose(np.exp(at(d, "logsf", points)), 1 - cdf(points), atol=1e-12)
    q = np.array([0.03, 0.31, 0.6, 0.97])
    found = at(d, "icdf", q)
    slack = 1e-9
    assert (cdf(found + slack) >= q - slack).all()
    assert (cdf(found - slack - slack * abs(found)) <= q + slack).all()
    drawn = d.draw(dt.random.generator(2), dims=N)[0].eval().values
    ratio = np.array([(drawn <= x).mean() for x in points])
    np.testing.assert_allclose(ratio, cdf(points), atol=0.03)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in HURDLES if name != "Normal"]


@pytest.mark.parametrize("name", ["Normal", *SLOW])
def test_probabilities(name):
    d, cdf, _ = HURDLES[name]
    check(d, cdf, POINTS)


@pytest.mark.parametrize("bounds", [(None, 3.0), (0.0, 3.0), (0.4, 3.0), (-1.0, 0.0), (0.0, None)])
@pytest.mark.parametrize("name", ["Normal", *SLOW])
def test_truncated(name, bounds):
    """Zeros at a bound belong to the values between the bounds."""
    d, cdf, discrete = HURDLES[name]
    low, high = bounds
    if name in ("Gamma", "Poisson") and bounds == (-1.0, 0.0):
        low = None  # nothing is below 0
    before = 0.0 if low is None else below(cdf, low, discrete)
    mass = (1.0 if high is None else cdf(high)) - before

    def between(x):
        found = (np.minimum(cdf(x), before + mass) - before) / mass
        return np.where(x < (-np.inf if low is None else low), 0.0, found)

    cut = dist.truncated(d, low, high)
    check(cut, between, POINTS)
    inside = POINTS[between(POINTS) > 0]
    inside = inside[inside <= (np.inf if high is None else high)]
    np.testing.assert_allclose(
        at(cut, "logp", inside), at(d, "logp", inside) - np.log(mass), atol=1e-12
    )


@pytest.mark.parametrize("name", HURDLES)
def test_censored(name):
    """What is beyond a bound, zeros at it included, has the probability of the bound."""
    d, cdf, discrete = HURDLES[name]
    cut = dist.censored(d, 0.0, 3.0)
    ends = [np.log(cdf(0.0)), np.log(1 - below(cdf, 3.0, discrete))]
    np.testing.assert_allclose(at(cut, "logp", [0.0, 3.0]), ends)
    upper = dist.censored(d, upper=0.0)
    np.testing.assert_allclose(
        at(upper, "logp", [0.0]), np.log(1 - below(cdf, 0.0, discrete)), atol=1e-12
    )


def test_mixtures_of_counts_without_a_cdf():
    """What is censored is summed up from the lowest value of a part."""
    parts = [dist.LogSeries(0.5), dist.Poisson(2.0)]
    d = dist.mixture(dt.data([0.4, 0.6], dims=dt.Dim("part", length=2)), parts, dim="part")

    def pmf(k):
        return 0.4 * st.logser(0.5).pmf(k) + 0.6 * st.poisson(2.0).pmf(k)

    k = np.arange(200)
    above = dist.censored(d, upper=5)
    found = at(above, "logp", [0.0, 4.0, 5.0, 6.0])
    expected = [np.log(pmf(0)), np.log(pmf(4)), np.log(pmf(k[5:]).sum()), -np.inf]
    np.testing.assert_allclose(found, expected)
    both = dist.censored(d, 1, 4)
    found = at(both, "logp", [0.0, 1.0, 2.0, 4.0])
    expected = [-np.inf, np.log(pmf(k[:2]).sum()), np.log(pmf(2)), np.log(pmf(k[4:]).sum())]
    np.testing.assert_allclose(found, expected)
    cut = dist.truncated(d, 1, 4)
    np.testing.assert_allclose(at(cut, "logp", [2.0]), np.log(pmf(2) / pmf(k[1:5]).sum()))


def test_a_hurdle_below_three():
    """By hand: log(0.3 / (0.3 + 0.7 F(3))), and so on."""
    d = dist.truncated(dist.hurdle(dist.Gamma(2.0, 1.0), 0.7), upper=3.0)
    found = at(d, "logp", [0.0, 1.0, 2.9])
    np.testing.assert_allclose(found, [-1.054, -1.207, -2.042], atol=5e-4)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", pytest.param("jax", marks=pytest.mark.slow)])
def test_compiled_with_a_gradient(backend):
    psi, x = dt.scalar("psi"), dt.data([0.0, 1.0, 2.9], dims=X)
    value = dist.truncated(dist.hurdle(dist.Gamma(2.0, 1.0), psi), upper=3.0).logp(x).sum()
    f = dt.function([psi], [value, dt.grad(value, psi)], backend=backend)

    def by_hand(p):
        rest = GAMMA.logpdf([1.0, 2.9]).sum() + 2 * np.log(p)
        return np.log1p(-p) + rest - 3 * np.log(1 - p + p * GAMMA.cdf(3.0))

    found, slope = f(0.7)
    np.testing.assert_allclose(found, by_hand(0.7))
    np.testing.assert_allclose(slope, (by_hand(0.7 + 1e-6) - by_hand(0.7 - 1e-6)) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("lower", [1, 3, 40])
def test_draws_of_a_truncated_count_are_repeated_or_searched_for(lower):
    # of values from 40 on there is one in 10⁹ draws, so they are quantiles
    d = dist.truncated(dist.NegativeBinomial(2.0, 1.5), lower=lower)
    rng = dt.random.generator(1)
    values = d.draw(rng, dims=dt.Dim("draw", length=2000))[0].eval(backend="python").values
    base = st.nbinom(1.5, 1.5 / 3.5)
    k = np.arange(lower, lower + 8)
    expected = (base.cdf(k) - base.cdf(lower - 1)) / base.sf(lower - 1)
    found = (values[:, None] <= k).mean(axis=0)
    assert values.dtype == np.int64
    assert values.min() == lower
    assert abs(found - expected).max() < 0.035  # Kolmogorov's bound of 2,000 draws is 0.036


def test_draws_of_a_hurdle_in_a_model_have_the_frequencies_of_its_formula():
    level = dt.rv("level", dist.Normal(0.7, 0.001))
    count = dt.rv("count", dist.hurdle(dist.NegativeBinomial(dt.exp(level), 1.5), 0.6))
    values = dt.Model(count).draw(2000, seed=1)["prior_predictive"]["count"].values.ravel()
    base = st.nbinom(1.5, 1.5 / (1.5 + np.exp(0.7)))
    k = np.arange(8)
    expected = 0.4 + 0.6 * (base.cdf(k) - base.pmf(0)) / base.sf(0)
    assert abs((values[:, None] <= k).mean(axis=0) - expected).max() < 0.035
