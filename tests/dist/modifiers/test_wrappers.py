"""Distributions made of others, against SciPy's and against sums written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX, LONG_JAX_COMPILED
from tests.dist.test_rows import NumPyDraws

X = dt.Dim("x")
K = dt.Dim("k", length=3)
K2 = dt.Dim("k2", length=2)


def at(d: dist.Distribution, what: str, points) -> np.ndarray:
    return getattr(d, what)(dt.data(np.asarray(points, dtype=float), dims=X)).eval().values


POINTS = np.array([-3.0, 0.5, 1.0, 1.7, 2.0, 3.5])


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 2.0), (None, 1.5), (1.0, None), (8.0, 9.0)])
def test_truncated_normal(lower, upper):
    d = dist.truncated(dist.Normal(0.5, 1.5), lower, upper)
    ends = [-np.inf if lower is None else lower, np.inf if upper is None else upper]
    wanted = st.truncnorm(*((np.array(ends) - 0.5) / 1.5), 0.5, 1.5)
    points = np.append(POINTS, [8.0, 8.5, 9.0])
    np.testing.assert_allclose(at(d, "logp", points), wanted.logpdf(points), rtol=1e-9)
    np.testing.assert_allclose(at(d, "cdf", points), wanted.cdf(points), rtol=1e-9, atol=1e-12)
    q = np.array([0.0, 0.1, 0.7, 1.0])
    np.testing.assert_allclose(at(d, "icdf", q)[1:3], wanted.ppf(q)[1:3], rtol=1e-6)
    assert d.support.contains(dt.data(points, dims=X)).eval().values.tolist() == [
        ends[0] <= x <= ends[1] for x in points
    ]


@pytest.mark.parametrize(
    ("d", "oracle"),
    [
        (dist.BetaBinomial(n=9, alpha=1.5, beta=2.5), st.betabinom(9, 1.5, 2.5)),
        (dist.HyperGeometric(20, 7, 12), st.hypergeom(20, 7, 12)),
        (dist.LogSeries(0.6), st.logser(0.6)),
        (dist.BetaNegativeBinomial(3.0, 4.0, 2.0), st.betanbinom(3, 4, 2)),
    ],
    ids=lambda d: getattr(d, "name", ""),
)
@pytest.mark.parametrize(("lower", "upper"), [(2, None), (None, 5), (2.5, 5), (0, None)])
def test_truncated_counts_whose_probabilities_are_sums(d, oracle, lower, upper):
    given = dist.truncated(d, lower, upper)
    k = np.arange(-1, 12)
    inside = k >= (-1 if lower is None else lower)
    inside &= k <= (12 if upper is None else upper)
    mass = 1.0 - oracle.cdf(np.ceil(-1 if lower is None else lower) - 1)
    mass -= 0.0 if upper is None else oracle.sf(upper)
    with np.errstate(divide="ignore"):
        wanted = np.where(inside, oracle.logpmf(k) - np.log(mass), -np.inf)
    np.testing.assert_allclose(given.logp(dt.data(k, dims=X)).eval(), wanted, rtol=1e-10)
    n = dt.Dim("draw", length=3000)
    drawn = given.draw(dt.random.generator(3), dims=n)[0].eval().values
    counts = np.array([(drawn == at).sum() for at in k])
    share = np.exp(wanted)
    often = share * 3000 > 5
    counts, share = counts[often], share[often]
    rest, left = 3000 - counts.sum(), 1.0 - share.sum()
    if left * 3000 > 5:
        counts, share = np.append(counts, rest), np.append(share, left)
    assert st.chisquare(counts, share / share.sum() * counts.sum()).pvalue > 1e-4


def test_sums_of_probabilities_have_derivatives():
    """Of shapes that are inputs, and a number of trials that is one."""
    alpha, trials = dt.scalar("alpha"), dt.tensor("trials", dims=X, dtype="int64")
    d = dist.truncated(dist.BetaBinomial(n=trials, alpha=alpha, beta=2.0), lower=1)
    logp = d.logp(dt.data([1, 3], dims=K2)).sum()
    n = np.array([4, 7])

    def value(at):
        each = [st.betabinom(m, at, 2.0) for m in n]
        return sum((one.logpmf([1, 3]) - one.logsf(0)).sum() for one in each)

    f = dt.function([alpha, trials], [logp, dt.grad(logp, alpha)], backend="python")
    found, slope = f(1.3, n)
    np.testing.assert_allclose(found, value(1.3), rtol=1e-12)
    np.testing.assert_allclose(slope, (value(1.3 + 1e-6) - value(1.3 - 1e-6)) / 2e-6, rtol=1e-7)
    whole = dist.truncated(dist.BetaBinomial(n=9, alpha=alpha, beta=2.0), upper=4)
    np.testing.assert_allclose(
        whole.cdf(2).eval({alpha: 1.3}),
        st.betabinom(9, 1.3, 2.0).cdf(2) / st.betabinom(9, 1.3, 2.0).cdf(4),
    )
    assert float(whole.icdf(0.999999).eval({alpha: 1.3})) == 4.0
    with pytest.raises(dt.GraphError, match="logcdf of LogSeries: there is no closed form"):
        dist.truncated(dist.LogSeries(0.5), lower=3).logcdf(5)


def test_censored_counts_whose_probabilities_are_sums():
    d, oracle = (
        dist.censored(dist.BetaBinomial(n=9, alpha=1.5, beta=2.5), 2, 6),
        st.betabinom(9, 1.5, 2.5),
    )
    found = np.exp(d.logp(dt.data(np.arange(2, 7), dims=X)).eval())
    wanted = [oracle.cdf(2), *oracle.pmf([3, 4, 5]), oracle.sf(5)]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_truncated_counts_sum_to_one():
    d = dist.truncated(dist.Poisson(3.0), 2, 6)
    probabilities = np.exp(at(d, "logp", np.arange(12)))
    wanted = st.poisson(3.0).pmf(np.arange(12)) * (np.arange(12) >= 2) * (np.arange(12) <= 6)
    np.testing.assert_allclose(probabilities, wanted / wanted.sum(), rtol=1e-12)
    np.testing.assert_allclose(
        at(d, "cdf", np.arange(12)), np.cumsum(wanted / wanted.sum()), atol=1e-14
    )


def test_censored():
    d = dist.censored(dist.Normal(0.5, 1.5), 0.5, 2.0)
    wanted = st.norm(0.5, 1.5).logpdf(POINTS)
    wanted[[0, 5]] = -np.inf
    wanted[1], wanted[4] = st.norm(0.5, 1.5).logcdf(0.5), st.norm(0.5, 1.5).logsf(2.0)
    np.testing.assert_allclose(at(d, "logp", POINTS), wanted)
    count = dist.censored(dist.Poisson(3.0), upper=4)
    probabilities = np.exp(at(count, "logp", np.arange(8)))
    np.testing.assert_allclose(probabilities.sum(), 1.0)
    np.testing.assert_allclose(probabilities[4], st.poisson(3.0).sf(3))


@pytest.mark.parametrize("wrap", [dist.zero_inflated, dist.hurdle])
def test_zeros(wrap):
    psi, base = 0.7, st.nbinom(2.5, 2.5 / (2.5 + 3.0))
    d = wrap(dist.NegativeBinomial(3.0, 2.5), psi)
    k = np.arange(400)
    if wrap is dist.hurdle:
        wanted = psi * base.pmf(k) / (1 - base.pmf(0))
        wanted[0] = 1 - psi
    else:
        wanted = psi * base.pmf(k)
        wanted[0] += 1 - psi
        np.testing.assert_allclose(at(d, "cdf", k), np.cumsum(wanted), rtol=1e-9)
    np.testing.assert_allclose(np.exp(at(d, "logp", k)), wanted, rtol=1e-10)
    assert np.isneginf(at(d, "logp", [-1, 0.5])).all()
    mean = (k * wanted).sum()
    np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-9)
    np.testing.assert_allclose(d.variance().eval(), (k**2 * wanted).sum() - mean**2, rtol=1e-9)


def test_a_hurdle_before_a_density_that_is_infinite_at_0():
    psi = dt.scalar("psi")
    d = dist.hurdle(dist.Gamma(0.5, 1.0), psi)
    x = dt.data([0.0, 2.0], dims=X)
    found, slope = d.logp(x).eval({psi: 0.7}), dt.grad(d.logp(x).sum(), psi).eval({psi: 0.7})
    np.testing.assert_allclose(found, [np.log(0.3), np.log(0.7) + st.gamma(0.5).logpdf(2.0)])
    np.testing.assert_allclose(slope, 1 / 0.7 - 1 / 0.3)


def test_mixture_of_one_family_and_of_several():
    w = np.array([0.2, 0.5, 0.3])
    mu, sigma = np.array([-1.0, 0.0, 4.0]), np.array([1.0, 0.5, 2.0])
    weights, means = dt.data(w, dims=K), dt.data(mu, dims=K)
    parts = [st.norm(m, s) for m, s in zip(mu, sigma, strict=True)]
    one = dist.mixture(weights, dist.Normal(means, dt.data(sigma, dims=K)), dim=K)
    several = dist.mixture(
        weights, [dist.Normal(m, s) for m, s in zip(mu, sigma, strict=True)], dim="k"
    )
    wanted = np.log(sum(p * part.pdf(POINTS) for p, part in zip(w, parts, strict=True)))
    cdf = sum(p * part.cdf(POINTS) for p, part in zip(w, parts, strict=True))
    mean = (w * mu).sum()
    for d in (one, several):
        assert d.dims == ()
        np.testing.assert_allclose(at(d, "logp", POINTS), wanted, rtol=1e-12)
        np.testing.assert_allclose(at(d, "cdf", POINTS), cdf, rtol=1e-12)
        np.testing.assert_allclose(d.mean().eval(), mean)
        np.testing.assert_allclose(d.variance().eval(), (w * (sigma**2 + mu**2)).sum() - mean**2)


def test_a_mixture_far_from_all_parts_has_a_finite_gradient():
    mu = dt.tensor("mu", dims=K)
    d = dist.mixture(dt.data([0.2, 0.5, 0.3], dims=K), dist.Normal(mu, 1.0), dim=K)
    values = {mu: np.array([0.0, 1.0, 2.0])}
    gradient = dt.grad(d.logp(1e3), mu).eval(values).values
    np.testing.assert_allclose(gradient, [0.0, 0.0, 998.0])


def test_parts_of_a_mixture_with_other_dims():
    obs = dt.Dim("obs", length=2)
    d = dist.mixture(
        dt.data([[0.2, 0.8], [0.5, 0.5]], dims=[obs, dt.Dim("part", length=2)]),
        [dist.Normal(dt.data([0.0, 1.0], dims=obs), 1.0), dist.StudentT(3.0, 0.0, 2.0)],
        dim="part",
    )
    assert d.dims == (obs,)
    wanted = [
        np.log(p * st.norm(m).pdf(0.3) + (1 - p) * st.t(3, 0, 2).pdf(0.3))
        for p, m in ((0.2, 0.0), (0.5, 1.0))
    ]
    np.testing.assert_allclose(d.logp(0.3).eval().values, wanted)


@pytest.mark.parametrize(
    "d",
    [
        dist.transformed(dist.Normal(0, 1), dt.exp, dt.log, dt.positive),
        dist.transformed(dist.Normal(0, 1), dt.sigmoid, dt.logit, dt.supports.unit),
        dist.truncated(dist.LogNormal(0, 1), 0.5, 2.0),
    ],
    ids=["above", "between", "truncated"],
)
def test_a_value_that_is_nan_has_no_density(d):
    x = dt.data([np.nan, 0.7, 9.0], dims=dt.Dim("i"))
    found = d.logp(x).eval().values
    assert np.isnan(found[0])
    assert np.isfinite(found[1])
    assert np.isnan(d.logp(np.nan).eval().item())
    assert d.logp(-1.0).eval().item() == -np.inf


def test_transformed():
    points = np.array([-1.0, 0.5, 3.0])
    falling = dist.transformed(
        dist.Gamma(2.0, 3.0), lambda x: 1.0 / x, lambda y: 1.0 / y, dt.positive, increasing=False
    )
    wanted = st.invgamma(2.0, 0, 3.0)
    np.testing.assert_allclose(at(falling, "logp", points), wanted.logpdf(points))
    np.testing.assert_allclose(at(falling, "cdf", points[1:]), wanted.cdf(points[1:]))
    np.testing.assert_allclose(at(falling, "icdf", [0.2, 0.9]), wanted.ppf([0.2, 0.9]))


def test_custom():
    mu = dt.scalar("mu")
    d = dist.custom(lambda x, mu: -((x - mu) ** 2), dt.real, lambda rng, dims, mu: (mu, rng), mu=mu)
    assert float(d.logp(3.0).eval({mu: 1.0})) == -4.0
    with pytest.raises(dt.GraphError, match="icdf of custom: it was made without one"):
        d.icdf(0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dist.truncated(dist.Normal(0, 1)), "takes a lower bound"),
        (lambda: dist.truncated(dist.Normal(0, 1), 2.0, 1.0), "lower=2 is not below upper=1"),
        (lambda: dist.truncated(3.0, 1.0), "truncated takes a distribution"),
        (lambda: dist.zero_inflated(dist.Normal(0, 1), 0.5), "it is dist.hurdle"),
        (lambda: dist.zero_inflated(dist.Poisson(1), 1.5), "psi of zero_inflated is a probability"),
        (lambda: dist.mixture(dt.data([0.5, 0.5], dims=dt.Dim("k")),
                              [dist.Normal(0, 1), dist.Poisson(1)], dim="k"), "all discrete or"),
        (lambda: dist.mixture(dt.ones(K) / 3, [dist.Normal(0, 1)] * 2, dim=K), "are 2 parts"),
        (lambda: dist.mixture(dt.ones(K) / 3, dist.Categorical(dt.ones([K, K2]) / 2, dim=K2), K),
         "mixture takes distributions of numbers, and Categorical has labels"),
        (lambda: dist.transformed(dist.Poisson(1.0), dt.exp, dt.log, dt.positive), "continuous"),
        (lambda: dist.custom(3.0, dt.real), "logp is a function"),
    ],
)  # fmt: skip
def test_mistakes(make, message):
    with pytest.raises(dt.DimtensorError, match=message):
        make()


DRAWN = {
    "truncated": (dist.truncated(dist.Normal(0.5, 1.5), 0.0, 2.0), 2000),
    "censored": (dist.censored(dist.Normal(0.5, 1.5), 0.0, 2.0), 2000),
    "mixture": (
        dist.mixture(dt.data([0.2, 0.5, 0.3], dims=K),
                     dist.Normal(dt.data([-1.0, 0.0, 4.0], dims=K), 1.0), dim=K), 2000,
    ),
    "mixture of several": (
        dist.mixture(dt.data([0.2, 0.5, 0.3], dims=K),
                     [dist.Normal(0.0, 1.0), dist.Normal(3.0, 1.0), dist.Laplace(0, 2)], dim=K),
        2000,
    ),
    "zero_inflated": (dist.zero_inflated(dist.Poisson(3.0), 0.6), 2000),
    "hurdle": (dist.hurdle(dist.Geometric(0.4), 0.6), 2000),
    "transformed": (dist.transformed(dist.Normal(0, 1), dt.exp, dt.log, dt.positive), 2000),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_draws(name, rng):
    """The share of draws up to some points is what logp sums to, or logcdf says."""
    d, n = DRAWN[name]
    value, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=n))
    draws = value.eval().values
    assert draws.shape == (n,)
    for point in np.quantile(draws, [0.3, 0.6, 0.9]):
        if name == "hurdle":
            k = np.arange(0, np.floor(point) + 1)
            wanted = np.exp(at(d, "logp", k)).sum()
        else:
            wanted = float(d.cdf(float(point)).eval())
        assert abs((draws <= point).mean() - wanted) < 4 * np.sqrt(0.25 / n)


def frozen_mixture(x):
    return 0.3 * st.expon.cdf(x) + 0.7 * st.gamma(4.0).cdf(x)


def check_draws(d, cdf, rng, n=2000):
    value, _ = d.draw(dt.random.generator(int(rng.integers(2**31))), dims=dt.Dim("n", length=n))
    draws = np.asarray(value.eval())
    if d.discrete:
        assert draws.dtype == "int64"
        values, counts = np.unique(draws, return_counts=True)
        np.testing.assert_allclose(np.cumsum(counts) / n, cdf(values), atol=0.05)
    else:
        assert st.kstest(draws, cdf).pvalue > 1e-4


def test_draws_without_a_formula_of_quantiles(rng):
    """Poisson, binomial and Wald variables have none: theirs are found by bisection."""
    poisson = st.poisson(1.3)
    above = dist.truncated(dist.Poisson(1.3), lower=1)
    check_draws(above, lambda k: (poisson.cdf(k) - poisson.pmf(0)) / poisson.sf(0), rng)
    q = np.array([0.1, 0.5, 0.9, 0.999])
    wanted = poisson.ppf(poisson.pmf(0) + q * poisson.sf(0))
    np.testing.assert_array_equal(at(above, "icdf", q), wanted)
    binomial = st.binom(9, 0.4)
    between = dist.truncated(dist.Binomial(9, 0.4), lower=2, upper=6)
    mass = binomial.cdf(6) - binomial.cdf(1)
    check_draws(between, lambda k: (binomial.cdf(k) - binomial.cdf(1)) / mass, rng)
    wald = st.invgauss(1.0, 0.0, 1.0)
    for d, low, high in [
        (dist.truncated(dist.Wald(1.0, 1.0), lower=0.5), 0.5, np.inf),
        (dist.truncated(dist.Wald(1.0, 1.0), upper=2.0), 0.0, 2.0),
    ]:
        mass = wald.cdf(high) - wald.cdf(low)
        np.testing.assert_allclose(at(d, "icdf", q), wald.ppf(wald.cdf(low) + q * mass), rtol=1e-9)
        check_draws(d, lambda x, low=low, mass=mass: (wald.cdf(x) - wald.cdf(low)) / mass, rng)
    assert np.isnan(at(above, "icdf", [-0.1, 1.1])).all()


def test_hurdles_draw_what_is_not_zero(rng):
    for base, oracle in [
        (dist.Poisson(1.3), st.poisson(1.3)),
        (dist.NegativeBinomial(2.0, 1.5), st.nbinom(1.5, 1.5 / 3.5)),
        (
            dist.BetaBinomial(n=6, alpha=1.0, beta=2.0),
            st.betabinom(6, 1.0, 2.0),
        ),  # drawn again and again
    ]:
        d = dist.hurdle(base, psi=0.6)

        def cdf(k, oracle=oracle):
            return 0.4 + 0.6 * (oracle.cdf(k) - oracle.pmf(0)) / oracle.sf(0)

        check_draws(d, cdf, rng)


def test_quantiles_of_mixtures(rng):
    k = dt.Dim("part", length=2)
    weights = dt.data([0.3, 0.7], dims=k)
    d = dist.mixture(weights, [dist.Exponential(1.0), dist.Gamma(4.0, 1.0)], dim=k)
    q = np.array([1e-4, 0.2, 0.5, 0.99])
    np.testing.assert_allclose(frozen_mixture(at(d, "icdf", q)), q, rtol=1e-10)
    low = frozen_mixture(1.0)
    cut = dist.truncated(d, lower=1.0)
    check_draws(cut, lambda x: (frozen_mixture(x) - low) / (1 - low), rng)
    normal = dist.mixture(weights, dist.Normal(dt.data([-3.0, 3.0], dims=k), 1.0), dim=k)
    found = at(normal, "icdf", q)
    wanted = 0.3 * st.norm(-3).cdf(found) + 0.7 * st.norm(3).cdf(found)
    np.testing.assert_allclose(wanted, q, rtol=1e-9)
    counts = dist.mixture(weights, dist.Poisson(dt.data([1.0, 9.0], dims=k)), dim=k)
    found = at(counts, "icdf", q)
    cdf = lambda n: 0.3 * st.poisson(1).cdf(n) + 0.7 * st.poisson(9).cdf(n)  # noqa: E731
    assert (cdf(found) >= q).all()
    assert (cdf(found - 1) < q).all()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_draws_by_bisection_compiled(backend, rng):
    n = dt.Dim("n", length=500)
    cut = dist.truncated(dist.Poisson(1.3), lower=1)
    q = dt.tensor("q", dims=n)
    found = dt.function([q], cut.icdf(q), backend=backend)(u := rng.uniform(size=500))
    poisson = st.poisson(1.3)
    np.testing.assert_array_equal(found, poisson.ppf(poisson.pmf(0) + u * poisson.sf(0)))


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_draws_by_rejection_compiled(backend):
    n, seed = dt.Dim("n", length=500), dt.scalar("seed", dtype="int64")
    value, _ = dist.hurdle(dist.BetaBinomial(n=6, alpha=1.0, beta=2.0), 1.0).draw(
        dt.random.generator(seed), dims=n
    )
    drawn = dt.function([seed], value, backend=backend)(3).values
    assert (drawn > 0).all()


@pytest.mark.parametrize("backend", LONG_JAX)
def test_single_elements_are_not_censored(backend):
    k = dt.Dim("k", length=4)
    low, high = [-1.0, -np.inf, 0.0, -np.inf], [np.inf, 1.0, 2.0, np.inf]
    x, mu = np.array([-1.0, 0.3, 2.0, -0.7]), dt.scalar("mu")
    d = dist.censored(dist.Normal(mu, 1.3), dt.data(low, dims=k), dt.data(high, dims=k))
    terms = d.logp(dt.data(x, dims=k))

    def expected(mu):
        z, scipy = (x - mu) / 1.3, st.norm
        return [scipy.logcdf(z[0]), scipy.logpdf(z[1]) - np.log(1.3), scipy.logsf(z[2]),
                scipy.logpdf(z[3]) - np.log(1.3)]  # fmt: skip

    found, slope = dt.function([mu], [terms, dt.grad(terms.sum(), mu)], backend=backend)(0.4)
    np.testing.assert_allclose(found, expected(0.4), rtol=1e-12)
    difference = (np.sum(expected(0.4 + 1e-6)) - np.sum(expected(0.4 - 1e-6))) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-7)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_single_elements_are_not_truncated(backend):
    k = dt.Dim("k", length=4)
    low, high = np.array([-1.0, -np.inf, 0.0, -np.inf]), np.array([np.inf, 1.0, 2.0, np.inf])
    x, mu = np.array([-0.5, 0.3, 2.0, -0.7]), dt.scalar("mu")
    d = dist.truncated(dist.Normal(mu, 1.3), dt.data(low, dims=k), dt.data(high, dims=k))
    terms = d.logp(dt.data(x, dims=k))

    def expected(mu):
        return st.truncnorm.logpdf(x, (low - mu) / 1.3, (high - mu) / 1.3, mu, 1.3)

    found, slope = dt.function([mu], [terms, dt.grad(terms.sum(), mu)], backend=backend)(0.4)
    np.testing.assert_allclose(found, expected(0.4), rtol=1e-12)
    difference = (expected(0.4 + 1e-6).sum() - expected(0.4 - 1e-6).sum()) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-7)


def test_draws_where_single_elements_are_not_truncated():
    k, draw = dt.Dim("k", length=3), dt.Dim("draw", length=4000)
    low, high = np.array([-np.inf, 0.5, -np.inf]), np.array([np.inf, np.inf, -0.5])
    bounds = dt.data(low, dims=k), dt.data(high, dims=k)
    drawn, _ = dist.truncated(dist.Normal(0.0, 1.0), *bounds).draw(
        dt.random.generator(1), dims=[draw]
    )
    values = drawn.eval().transpose("k", "draw").values
    for at in range(3):
        law = st.truncnorm(low[at], high[at])
        assert st.kstest(values[at], law.cdf).pvalue > 1e-3
    counts = dist.truncated(dist.Poisson(2.0), *(dt.data(b, dims=k) for b in (low, high + 4)))
    whole = st.poisson(2.0)
    mass = [1.0, whole.sf(0), whole.cdf(3)]
    np.testing.assert_allclose(
        counts.logp(dt.data([1, 2, 3], dims=k)).eval(), whole.logpmf([1, 2, 3]) - np.log(mass)
    )


def test_weights_multiply_log_densities_and_nothing_else():
    base, weights = dist.Normal(0.5, 2.0), np.array([0.0, 1.0, 2.5])
    d = dist.weighted(base, dt.data(weights, dims=K))
    x, oracle = np.array([-1.0, 0.3, 4.0]), st.norm(0.5, 2.0)
    np.testing.assert_allclose(d.logp(dt.data(x, dims=K)).eval(), weights * oracle.logpdf(x))
    np.testing.assert_allclose(d.cdf(dt.data(x, dims=K)).eval(), oracle.cdf(x))
    np.testing.assert_allclose(d.icdf(0.3).item(), oracle.ppf(0.3))
    assert (d.mean().item(), d.std().item(), d.dims) == (0.5, 2.0, (K,))
    draw = dt.Dim("draw", length=4000)
    values = d.draw(dt.random.generator(1), dims=draw)[0].eval().transpose("k", "draw").values
    assert min(st.kstest(each, oracle.cdf).pvalue for each in values) > 1e-3
    with pytest.raises(dt.OptionError, match="weight of weighted is 0 or above"):
        dist.weighted(base, -1.0)
    with pytest.raises(dt.ArgumentError, match="weighted takes a distribution"):
        dist.weighted(2.0, 1.0)


def test_an_observation_of_weight_three_is_three_observations():
    def fit(of, values):
        mu, obs = dt.rv("mu", dist.Normal(0.0, 3.0)), dt.Dim("obs", length=len(values))
        y = dt.rv("y", of(dist.Normal(mu, 1.5), obs), dims=obs)
        return dt.Model(y, backend="python").observe({y: values}).log_density()

    once = fit(lambda d, obs: dist.weighted(d, dt.data([3.0, 1.0], dims=obs)), [0.5, 2.0])
    thrice = fit(lambda d, obs: d, [0.5, 0.5, 0.5, 2.0])
    point = np.array([0.7])
    for one, other in zip(once.logp_and_grad(point), thrice.logp_and_grad(point), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
