"""Supports of what is made of distributions, and values at their ends and far in their tails."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist

X = dt.Dim("x")
N = dt.Dim("n", length=4000)
W = dt.Dim("w", length=2)
WEIGHTS = dt.data([0.3, 0.7], dims=W)


def at(d: dist.Distribution, what: str, points) -> np.ndarray:
    return getattr(d, what)(dt.data(np.asarray(points, dtype=float), dims=X)).eval().values


def drawn(d: dist.Distribution) -> np.ndarray:
    return d.draw(dt.random.generator(3), dims=N)[0].eval().values


# -- far in the upper tail -------------------------------------------------------------------------

Q = np.array([0.1, 0.5, 0.9])
# the truncated distribution, and its quantiles
TAILS = {
    "Normal": (dist.truncated(dist.Normal(0.0, 1.0), lower=10.0), st.truncnorm(10, np.inf).ppf(Q)),
    "at_once": (dist.truncated(dist.Normal(0.0, 1.0), 8.2, 8.5), st.truncnorm(8.2, 8.5).ppf(Q)),
    # without memory
    "Exponential": (dist.truncated(dist.Exponential(1.0), lower=50.0), 50.0 - np.log1p(-Q)),
    "Logistic": (dist.truncated(dist.Logistic(0.0, 1.0), lower=60.0), 60.0 - np.log1p(-Q)),
    "Geometric": (
        dist.truncated(dist.Geometric(0.4), lower=81), 80 + np.ceil(np.log1p(-Q) / np.log(0.6)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAILS)
def test_quantiles_far_in_the_upper_tail(name):
    d, wanted = TAILS[name]
    np.testing.assert_allclose(at(d, "icdf", Q), wanted, rtol=1e-9)
    found = drawn(d)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.quantile(found, Q), wanted, rtol=0.02)


@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_quantiles_of_some_that_are_far(backend):
    lower, q = dt.tensor("lower", dims=X), dt.tensor("q", dims=X)
    d = dist.truncated(dist.Normal(0.0, 1.0), lower=lower)
    f = dt.function([lower, q], d.icdf(q), backend=backend)
    lows = np.array([-1.0, 0.0, 9.0, 20.0])
    wanted = [st.truncnorm(low, np.inf).ppf(0.5) for low in lows]
    np.testing.assert_allclose(f(lows, np.full(4, 0.5)).values, wanted, rtol=1e-9)
    np.testing.assert_allclose(f(lows[:2], np.full(2, 0.5)).values, wanted[:2], rtol=1e-9)


@pytest.mark.parametrize("backend", ["numba", "jax"])
@pytest.mark.parametrize("low", [36.0, 41.0])
def test_a_bound_that_is_known_has_no_probability_below(low, backend):
    """The log probability beyond it is computed while compiling, that beyond x later."""
    x, q = dt.tensor("x", dims=X), dt.tensor("q", dims=X)
    d = dist.truncated(dist.Normal(0.0, 1.0), lower=low)
    f = dt.function([x, q], [d.logcdf(x), d.icdf(q)], backend=backend)
    below, quantiles = f(low + np.array([-1.0, 0.0, 0.01]), Q)
    there = st.truncnorm(low, np.inf)
    np.testing.assert_allclose(below.values[:2], -np.inf)
    np.testing.assert_allclose(below.values[2], there.logcdf(low + 0.01), rtol=1e-9)
    np.testing.assert_allclose(quantiles.values, there.ppf(Q), rtol=1e-9)


def test_predictions_of_a_truncated_observation_are_finite():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.truncated(dist.Normal(mu, 0.1), lower=1.0))
    found = dt.Model(y, backend="python").draw(500, seed=1)["prior_predictive"]["y"].values
    assert np.isfinite(found).all()
    assert found.min() >= 1.0


# -- mixtures --------------------------------------------------------------------------------------


def test_a_mixture_has_the_values_of_all_parts():
    apart = dist.mixture(WEIGHTS, [dist.Uniform(5.0, 7.0), dist.Uniform(0.0, 1.0)], dim=W)
    assert (apart.support.low, apart.support.high) == (0.0, 7.0)
    np.testing.assert_allclose(at(apart, "icdf", [0.35, 0.85]), [0.5, 6.0], rtol=1e-9)
    half = dist.mixture(WEIGHTS, [dist.HalfNormal(1.0), dist.Normal(0.0, 1.0)], dim=W)
    assert half.support is dt.real
    np.testing.assert_allclose(at(half, "icdf", [0.35 * 0.3]), st.norm.ppf(0.15), rtol=1e-9)
    above = dist.mixture(WEIGHTS, [dist.Exponential(1.0), dist.Pareto(2.0, 3.0)], dim=W)
    assert (above.support.low, above.support.high) == (0.0, None)
    counts = dist.mixture(WEIGHTS, [dist.Binomial(3, 0.5), dist.Poisson(2.0)], dim=W)
    assert (counts.support.low, counts.support.high) == (0.0, None)
    alike = dist.mixture(WEIGHTS, [dist.Exponential(1.0), dist.Gamma(2.0, 1.0)], dim=W)
    assert alike.support is dt.positive


def test_a_mixture_along_a_dim_of_bounds():
    low, high = dt.data([0.0, 5.0], dims=W), dt.data([1.0, 7.0], dims=W)
    d = dist.mixture(WEIGHTS, dist.Uniform(low, high), dim=W)
    assert d.icdf(0.5).dims == ()
    np.testing.assert_allclose(at(d, "icdf", [0.15, 0.65]), [0.5, 6.0], rtol=1e-9)
    assert (d.support.low.eval().item(), d.support.high.eval().item()) == (0.0, 7.0)


def test_an_unknown_of_a_mixture_reaches_all_parts():
    m = dt.rv("m", dist.mixture(WEIGHTS, [dist.Uniform(5.0, 7.0), dist.Uniform(0.0, 1.0)], dim=W))
    density = dt.Model(dt.rv("y", dist.Normal(m, 1.0)), backend="python").observe(y=0.5)
    found = density.log_density().constrain(np.array([-40.0]))["m"].item()
    assert found == pytest.approx(0.0, abs=1e-9)


def test_states_of_a_mixture_that_is_summed_out():
    parts = [dist.Binomial(3, 0.5), dist.Binomial(6, 0.1)]
    n = dt.rv("n", dist.mixture(WEIGHTS, parts, dim=W))
    rate = dt.rv("rate", dist.Exponential(1.0))
    fit = dt.Model(dt.rv("c", dist.Poisson(rate * n + 0.1)), backend="python").observe(c=4)
    states = np.arange(7)
    prior = 0.3 * st.binom(3, 0.5).pmf(states) + 0.7 * st.binom(6, 0.1).pmf(states)
    wanted = np.log((prior * st.poisson(states + 0.1).pmf(4)).sum())
    assert fit.marginalize(n).logp({"rate": 1.0})["c"].item() == pytest.approx(wanted, abs=1e-12)


# -- zeros -----------------------------------------------------------------------------------------


def test_hurdles_draw_what_is_below_zero():
    d = dist.hurdle(dist.DiscreteUniform(-3, 3), psi=1.0)
    values, counts = np.unique(drawn(d), return_counts=True)
    assert values.tolist() == [-3, -2, -1, 1, 2, 3]
    np.testing.assert_allclose(counts / N.length, 1 / 6, atol=0.03)


@pytest.mark.parametrize("wrap", [dist.zero_inflated, dist.hurdle])
def test_zero_is_a_value(wrap):
    d = wrap(dist.DiscreteUniform(2, 4), 0.5)
    assert (d.support.low, d.support.high) == (0.0, 4.0)
    rate = dt.rv("rate", dist.Exponential(1.0))
    n = dt.rv("n", d)
    fit = dt.Model(dt.rv("c", dist.Poisson(rate * n + 0.1)), backend="python").observe(c=1)
    prior = np.array([0.5, 0.0, *[0.5 / 3] * 3])
    wanted = np.log((prior * st.poisson(np.arange(5) + 0.1).pmf(1)).sum())
    assert fit.marginalize(n).logp({"rate": 1.0})["c"].item() == pytest.approx(wanted, abs=1e-12)
    below = wrap(dist.DiscreteUniform(-4, -2), 0.5)
    assert (below.support.low, below.support.high) == (-4.0, 0.0)
    assert wrap(dist.Poisson(1.0), 0.5).support.high is None


# -- ends of transformed variables -----------------------------------------------------------------


def test_ends_of_transformed_variables():
    within = dist.transformed(dist.Normal(0.0, 1.0), dt.sigmoid, dt.logit, dt.supports.unit)
    points = [-1.0, 0.0, 0.3, 1.0, 2.0]
    middle = st.norm.logcdf(np.log(0.3 / 0.7))
    slope = st.norm.logpdf(np.log(0.3 / 0.7)) - np.log(0.21)
    np.testing.assert_allclose(
        at(within, "logp", points), [-np.inf, -np.inf, slope, *[-np.inf] * 2]
    )
    np.testing.assert_allclose(at(within, "logcdf", points), [-np.inf, -np.inf, middle, 0.0, 0.0])
    rest = st.norm.logsf(np.log(0.3 / 0.7))
    np.testing.assert_allclose(at(within, "logsf", points), [0.0, 0.0, rest, -np.inf, -np.inf])
    log_normal = dist.transformed(dist.Normal(0.0, 1.0), dt.exp, dt.log, dt.positive)
    points = np.array([-1.0, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(at(log_normal, "cdf", points), st.lognorm(1).cdf(points), rtol=1e-12)
    np.testing.assert_allclose(at(log_normal, "logp", points), st.lognorm(1).logpdf(points))
    down = dist.transformed(
        dist.Exponential(1.0),
        lambda x: -x,
        lambda x: -x,
        dt.supports.bounded(high=0.0),
        increasing=False,
    )
    points = np.array([-2.0, -0.5, 0.0, 1.0])
    np.testing.assert_allclose(at(down, "cdf", points), np.exp(np.minimum(points, 0.0)), rtol=1e-12)
    np.testing.assert_allclose(at(down, "logp", points), [-2.0, -0.5, 0.0, -np.inf])


# -- where probabilities have a slope --------------------------------------------------------------

CENTERS = {
    "StudentT": (dist.StudentT(4.0, 0.0, 1.0), st.t(4)),
    "StudentT_few": (dist.StudentT(0.3, 0.0, 1.0), st.t(0.3)),
    "StudentT_many": (dist.StudentT(1e6, 0.0, 1.0), st.t(1e6)),
    "SkewStudentT": (dist.SkewStudentT(2.0, 3.0, 0.0, 1.0), st.jf_skew_t(2, 3)),
    "GeneralizedNormal": (dist.GeneralizedNormal(0.0, 1.0, 3.0), st.gennorm(3)),
    "GeneralizedNormal_sharp": (dist.GeneralizedNormal(0.0, 1.0, 0.5), st.gennorm(0.5)),
}


@pytest.mark.parametrize("name", CENTERS)
@pytest.mark.parametrize("z", [0.0, -1e-12, 1e-5, -1e-3, 0.1, 0.2, -0.6, 1.5])
def test_slopes_of_probabilities_at_the_center(name, z):
    d, wanted = CENTERS[name]
    x = dt.scalar("x")
    found = dt.evaluate([d.logcdf(x), dt.grad(d.logcdf(x), x), dt.grad(d.logsf(x), x)], {x: z})
    density, below, above = wanted.pdf(z), wanted.cdf(z), wanted.sf(z)
    values = [float(each) for each in found]
    np.testing.assert_allclose(
        values, [np.log(below), density / below, -density / above], rtol=1e-8
    )


def test_slopes_by_parameters_at_the_center():
    nu, mu, sigma = (dt.scalar(name) for name in ("nu", "mu", "sigma"))
    p = dist.StudentT(nu, mu, sigma).logcdf(0.5)
    found = dt.evaluate(dt.grad(p, [nu, mu, sigma]), {nu: 4.0, mu: 0.5, sigma: 2.0})
    np.testing.assert_allclose([float(x) for x in found], [0.0, -st.t(4).pdf(0), 0.0], atol=1e-15)
    near = dt.evaluate(dt.grad(p, [nu, mu, sigma]), {nu: 4.0, mu: 0.4, sigma: 2.0})
    step = 1e-6
    wanted = [
        (st.t(4 + step).logcdf(0.05) - st.t(4 - step).logcdf(0.05)) / (2 * step),
        (st.t(4).logcdf(0.05 - step / 2) - st.t(4).logcdf(0.05 + step / 2)) / (2 * step),
        (st.t(4).logcdf(0.1 / (2 + step)) - st.t(4).logcdf(0.1 / (2 - step))) / (2 * step),
    ]
    np.testing.assert_allclose([float(x) for x in near], wanted, rtol=1e-6, atol=1e-9)


# -- dtypes ----------------------------------------------------------------------------------------

NORMAL = dist.Normal(0.0, 1.0)
SINGLE = {
    "truncated": dist.truncated(NORMAL, lower=0.5),
    "censored": dist.censored(NORMAL, lower=0.5, upper=2.0),
    "hurdle": dist.hurdle(dist.Exponential(1.0), 0.3),
    "transformed": dist.transformed(NORMAL, dt.exp, dt.log, dt.positive),
}


@pytest.mark.parametrize("name", SINGLE)
def test_densities_have_the_dtype_of_values(name):
    d, values = SINGLE[name], np.array([0.0, 0.5, 1.5, 2.0, 3.0])
    single = dt.data(values.astype("float32"), dims=X)
    assert d.logp(single).dtype == "float32"
    np.testing.assert_allclose(d.logp(single).eval().values, at(d, "logp", values), rtol=1e-6)
    wide = dist.truncated(dist.Normal(dt.scalar("mu"), 1.0), lower=0.5)
    assert wide.logp(single).dtype == "float64"


# -- digits that differences lose ------------------------------------------------------------------


def test_upper_tails_of_what_is_made_of_distributions():
    censored = dist.censored(dist.Normal(0.0, 1.0), lower=-1.0, upper=60.0)
    wanted = [0.0, st.norm.logsf(-1.0), st.norm.logsf(50.0), -np.inf]
    np.testing.assert_allclose(at(censored, "logsf", [-2.0, -1.0, 50.0, 60.0]), wanted, rtol=1e-13)
    inflated = dist.zero_inflated(dist.Geometric(0.5), psi=0.3)
    wanted = [0.0, np.log(0.3), np.log(0.3) - 2000 * np.log(2.0)]
    np.testing.assert_allclose(at(inflated, "logsf", [-1.0, 0.0, 2000.0]), wanted, rtol=1e-13)


@pytest.mark.parametrize("psi", [0.0, 1e-20, 0.3, 1.0])
def test_slopes_of_zero_inflated_counts_by_their_probability(psi):
    p = dt.scalar("psi")
    d = dist.zero_inflated(dist.Poisson(2.0), p)
    rest = -np.expm1(-2.0), st.poisson(2.0).sf(1)
    for log_probability, missing in zip((d.logp(0), d.logcdf(1)), rest, strict=True):
        found = dt.evaluate([log_probability, dt.grad(log_probability, p)], {p: psi})
        wanted = np.log1p(-psi * missing), -missing / (1.0 - psi * missing)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    tiny = dist.zero_inflated(dist.Poisson(800.0), p).logp(0)
    wanted = -800.0 if psi == 1.0 else np.log1p(-psi)
    np.testing.assert_allclose(dt.evaluate(tiny, {p: psi}), wanted, rtol=1e-13)


def test_variances_around_large_means():
    parts = dist.Normal(1e9 + dt.data([0.0, 1.0], dims=W), 1.0)
    assert dist.mixture(WEIGHTS, parts, dim=W).variance().item() == pytest.approx(1.21)
    assert dist.hurdle(dist.Normal(1e9, 1.0), psi=1.0).variance().item() == 1.0


def test_hurdles_of_rare_counts():
    d = dist.hurdle(dist.Poisson(1e-17), psi=0.25)
    np.testing.assert_allclose(at(d, "logp", [1.0]), np.log(0.25), rtol=1e-13)


# -- quantiles of counts, and single precision -----------------------------------------------------

ENDS = {  # the distribution, and its quantiles of 0 and of 1
    "above": (dist.truncated(dist.Poisson(4.0), lower=1), 1, np.inf),
    "between": (dist.truncated(dist.Binomial(10, 0.3), 2, 7), 2, 7),
    "summed": (dist.truncated(dist.BetaBinomial(n=10, alpha=2.0, beta=3.0), 1, 8), 1, 8),
    "broken": (dist.truncated(dist.Geometric(0.3), 1.5, 6.5), 2, 6),
    "mixed": (dist.mixture(WEIGHTS, dist.Poisson(dt.data([2.0, 7.0], dims=W)), dim=W), 0, np.inf),
}


@pytest.mark.parametrize(
    "name", ["above", *(pytest.param(name, marks=pytest.mark.slow) for name in [*ENDS][1:])]
)
def test_quantiles_of_counts_between_the_ends(name):
    d, first, last = ENDS[name]
    np.testing.assert_array_equal(at(d, "icdf", [0.0, 1e-300, 1.0]), [first, first, last])
    counts = np.arange(first, min(last, 15.0) + 1)
    np.testing.assert_array_equal(at(d, "icdf", at(d, "cdf", counts)), counts)
    inside = at(d, "cdf", counts) - 0.5 * np.exp(at(d, "logp", counts))
    np.testing.assert_array_equal(at(d, "icdf", inside), counts)


def test_broken_bounds_of_counts():
    d = dist.truncated(dist.Geometric(0.3), 1.5, 6.5)
    wanted = st.geom(0.3).pmf(np.arange(2, 7))
    found = at(d, "logp", np.arange(1, 8))
    np.testing.assert_allclose(np.exp(found), [0, *wanted / wanted.sum(), 0], rtol=1e-13)
    assert (d.support.low, d.support.high) == (2.0, 6.0)


def test_single_precision_around_distributions():
    """Bounds that are numbers have no dtype of their own."""
    x, m = dt.tensor("x", dims=X, dtype="float32"), dt.scalar("m", dtype="float32")
    ds = [
        dist.truncated(dist.Normal(m, 1.0), -1.0, 2.0),
        dist.truncated(dist.Poisson(m), 1, 9),
        dist.censored(dist.Exponential(m), upper=2),
        dist.transformed(dist.Normal(m, 1.0), dt.exp, dt.log, dt.positive),
        dist.truncated(dist.transformed(dist.Normal(m, 1.0), dt.exp, dt.log, dt.positive), upper=2),
        dist.mixture(dt.data(np.float32([0.3, 0.7]), dims=W), dist.Normal(m, 1.0), dim=W),
    ]
    given = np.float32([0.25, 0.5, 0.75])
    for d in ds:
        for what in ("logp", "cdf", "logcdf", "logsf", "icdf"):
            result = getattr(d, what)(x)
            assert result.dtype == "float32", (d, what)
            assert result.eval({x: given, m: np.float32(1.5)}).dtype == "float32", (d, what)
    counts = np.arange(1, 10).astype("float32")
    cdf = ds[1].cdf(x).eval({x: counts, m: np.float32(4.0)})
    back = ds[1].icdf(x).eval({x: cdf.values, m: np.float32(4.0)})
    np.testing.assert_array_equal(back, counts)
