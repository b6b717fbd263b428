"""Where naive formulas are unstable, SciPy is wrong or has nothing: numbers of mpmath, 50 digits.

``python -m tests.dist.reference`` prints them anew, where mpmath is installed.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import COMPILED
from tests.dist.reference import REFERENCE


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: f"{case[0]} {case[1]} {case[2]}")
def test_numbers_of_mpmath(case):
    name, what, parameters, points, wanted, rtol = case
    d = getattr(dist, name)(**parameters)
    found = getattr(d, what)(dt.data(np.array(points), dims=dt.Dim("x"))).eval().values
    np.testing.assert_allclose(found, wanted, rtol=rtol)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_numbers_of_mpmath_compiled(backend):
    inputs, outputs, values = [], [], []
    for at, (name, what, parameters, points, *_) in enumerate(REFERENCE):
        x = dt.tensor(f"x{at}", dims=dt.Dim(f"at{at}"))
        inputs.append(x)
        values.append(np.array(points))
        given = {key: dt.scalar(f"{key}{at}") for key in parameters}
        inputs += given.values()
        values += parameters.values()
        outputs.append(getattr(getattr(dist, name)(**given), what)(x))
    results = dt.function(inputs, outputs, backend=backend)(*values)
    for case, found in zip(REFERENCE, results, strict=True):
        # what XLA has of gamma and beta functions is precise to fewer digits
        rtol = max(case[5], 1e-9)
        np.testing.assert_allclose(found.values, case[4], rtol=rtol, err_msg=str(case[:3]))


def test_logistic_far_out():
    x = dt.tensor("x", dims=dt.Dim("k", length=4))
    at = {x: np.array([-700.0, -1e5, 700.0, 1e300])}
    d = dist.Logistic(0.0, 1.0)
    np.testing.assert_allclose(d.logp(x).eval(at), -np.abs(at[x]))
    np.testing.assert_allclose(d.logcdf(x).eval(at)[:2], at[x][:2])
    np.testing.assert_allclose(d.logsf(x).eval(at)[2:], -at[x][2:])
    np.testing.assert_allclose(dt.grad(d.logp(x).sum(), x).eval(at), [1, 1, -1, -1])


def test_densities_at_any_log_odds():
    x = dt.tensor("x", dims=dt.Dim("k", length=5))
    odds = np.array([-800.0, -5.0, 0.0, 5.0, 800.0])
    wanted = -np.logaddexp(0, -odds)
    np.testing.assert_allclose(dist.Bernoulli(logit_p=x).logp(1).eval({x: odds}), wanted)
    slope = dt.grad(dist.Bernoulli(logit_p=x).logp(0).sum(), x).eval({x: odds})
    np.testing.assert_allclose(slope, -scipy.special.expit(odds))


def test_the_rice_density_is_smooth_where_nu_is_0():
    nu = dt.scalar("nu")
    gradient = dt.grad(dist.Rice(nu, 2.0).logp(1.5), nu)
    assert float(gradient.eval({nu: 0.0})) == 0.0


def test_probabilities_near_zero():
    """Of absolute values of normal ones: erf, which is no difference of two probabilities."""
    x = np.array([1e-140, 1e-12, 1e-3, 0.999, 1.001, 3.0, 40.0])
    wanted = np.log(scipy.special.erf(x / np.sqrt(2)))
    values = dt.data(x, dims=dt.Dim("x"))
    found = {
        "HalfNormal": dist.HalfNormal(1.0).logcdf(values),
        "HalfStudentT": dist.HalfStudentT(1e15, 1.0).logcdf(values),
        "Moyal": dist.Moyal(0.0, 1.0).logsf(dt.data(-2.0 * np.log(x), dims=dt.Dim("x"))),
    }
    for name, result in found.items():
        np.testing.assert_allclose(result.eval(), wanted, rtol=1e-13, atol=1e-300, err_msg=name)
    few = dist.HalfStudentT(5.0, 1.0).logcdf(dt.data(x[:2], dims=dt.Dim("x")))
    density = np.exp(scipy.special.gammaln(3) - scipy.special.gammaln(2.5)) / np.sqrt(5 * np.pi)
    np.testing.assert_allclose(few.eval(), np.log(2 * density * x[:2]), rtol=1e-13)
    small = dt.data(x[:3], dims=dt.Dim("q"))
    wanted = np.sqrt(2) * scipy.special.erfinv(x[:3])
    np.testing.assert_allclose(dist.HalfNormal(1.0).icdf(small).eval(), wanted, rtol=1e-13)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_sums_of_densities_in_one_loop(backend):
    """XLA's loops on processors take one log1p for another where there are two of one variable."""
    rng = np.random.default_rng(1)
    x, rho = rng.uniform(-1.9, 1.9, (64, 64)), rng.uniform(0.1, 0.9, (64, 64))
    dims = [dt.Dim("row", length=64), dt.Dim("column", length=64)]
    at, shape = dt.tensor("at", dims=dims), dt.tensor("shape", dims=dims)
    outputs = [
        dist.Semicircle(0.0, 2.0).logp(at).sum("column"),
        dist.WrappedCauchy(0.5, shape).logp(at).sum("column"),
    ]
    arcs, circles = dt.function([at, shape], outputs, backend=backend)(
        (["row", "column"], x), (["row", "column"], rho)
    )
    np.testing.assert_allclose(arcs, scipy.stats.semicircular(0, 2).logpdf(x).sum(1), rtol=1e-10)
    wanted = np.log((1 - rho**2) / (1 + rho**2 - 2 * rho * np.cos(x - 0.5)) / (2 * np.pi)).sum(1)
    np.testing.assert_allclose(circles, wanted, rtol=1e-10)


def test_the_lower_tail_of_log_gamma():
    """There the gamma variable, or its probability, is too small for a number."""
    c, x = dt.scalar("c"), dt.tensor("x", dims=dt.Dim("k", length=2))
    d = dist.LogGamma(c, 0.0, 1.0)
    below, above = d.logcdf(x), d.logsf(x)
    slopes = [dt.grad(below.sum(), x), dt.grad(above.sum(), x)]
    outputs = [*slopes, d.icdf(dt.exp(below)), d.logp(x), below, above]
    found = dt.evaluate(outputs, {c: 0.02, x: np.array([-4000.0, -90.0])})
    slope, other, back, logp, below, above = (each.values for each in found)
    np.testing.assert_allclose(slope, np.exp(logp - below), rtol=1e-12)
    np.testing.assert_allclose(other, -np.exp(logp - above), rtol=1e-12)
    np.testing.assert_allclose(back, [-4000.0, -90.0], rtol=1e-12)


@pytest.mark.slow
def test_slopes_of_tails_that_are_too_small_for_a_number():
    x = dt.tensor("x", dims=dt.Dim("k", length=2))
    shape, rate = dt.scalar("shape"), dt.scalar("rate")
    at = {shape: 200.0, rate: 1.0}
    gamma, beta = dist.Gamma(shape, rate), dist.Beta(shape, rate)
    # far out there is a number for the density divided by the probability, and none for these
    for tail, density, sign, points in (
        (gamma.logcdf(x), gamma.logp(x), 1.0, [1e-3, 4.0]),
        (gamma.logsf(x), gamma.logp(x), -1.0, [1500.0, 5000.0]),
        (beta.logcdf(x), beta.logp(x), 1.0, [1e-30, 1e-3]),
    ):
        slopes = dt.grad(tail.sum(), [x, shape, rate])
        slope, *others, tail, density = dt.evaluate(
            [*slopes, tail, density], {**at, x: np.array(points)}
        )
        np.testing.assert_allclose(slope, sign * np.exp(density - tail), rtol=1e-11)
        assert np.isfinite(others).all()
    slope = dt.grad(dist.Poisson(rate).logsf(300.0), rate)
    np.testing.assert_allclose(dt.evaluate(slope, {rate: 1.0}), 300.00332218604484, rtol=1e-12)
    slope = dt.grad(dist.Gamma(shape, 1.0).logcdf(4.0), shape)
    np.testing.assert_allclose(dt.evaluate(slope, {shape: 200.0}), -3.914621909050397, rtol=1e-12)


def test_moments_with_all_digits():
    """Where second moments and squares of means cancel: numbers of mpmath, 60 digits."""
    found = {
        "GeneralizedExtremeValue": [
            (dist.GeneralizedExtremeValue(0.0, 1.0, 9e-5), 0.5773046872924087, 1.6453214387366883),
            (dist.GeneralizedExtremeValue(0.0, 1.0, -9e-5), 0.5771266572118182, 1.6445468847968667),
            (dist.GeneralizedExtremeValue(0.0, 1.0, 0.0), 0.5772156649015329, 1.6449340668482264),
            (dist.GeneralizedExtremeValue(0.0, 1.0, 0.6), None, np.inf),
            (dist.GeneralizedExtremeValue(0.0, 1.0, 1.0), np.inf, np.inf),
        ],
        "Weibull": [(dist.Weibull(1e9, 1.0), None, 1.6449340625451492e-18)],
        "Frechet": [(dist.Frechet(1e9, 1.0), None, 1.6449340711513037e-18)],
        "LogLogistic": [(dist.LogLogistic(1.0, 1e9), None, 3.2898681336964528e-18)],
        "Chi": [(dist.Chi(1e12), None, 0.499999999999875)],
        "Nakagami": [(dist.Nakagami(5e11, 1.0), None, 4.99999999999875e-13)],
        "LogUniform": [
            (dist.LogUniform(1.0, 1.0 + 2.0**-30), None, 7.228014483236696e-20),
            (dist.LogUniform(1e-100, 1e100), None, 1.0810209123328393e197),
        ],
        "HyperGeometric": [
            (dist.HyperGeometric(1, 1, 1), 1.0, 0.0),
            (dist.HyperGeometric(0, 0, 0), 0.0, 0.0),
        ],
        "SkewStudentT": [
            (dist.SkewStudentT(0.4, 2.0), -np.inf, np.nan),
            (dist.SkewStudentT(2.0, 0.5), np.inf, np.nan),
            (dist.SkewStudentT(0.4, 0.5), np.nan, np.nan),
            (dist.SkewStudentT(0.8, 3.0), None, np.inf),
            (dist.SkewStudentT(1e12, 1e6), 499999937.4998789, 62500367188.2793),
        ],
        "GeneralizedGamma": [
            (dist.GeneralizedGamma(1e8, 1.0, 1.0), 1e8, 1e8),
            (dist.GeneralizedGamma(2.0, 1e8, 1.0), 1.0000000042278434, 6.4493406826044886e-17),
        ],
        "Kumaraswamy": [
            (dist.Kumaraswamy(1e8, 2.0), 0.9999999850000002, 1.2499999400000019e-16),
            (dist.Kumaraswamy(2.0, 1e8), 8.86226922129407e-05, 2.1460183249303798e-09),
        ],
        "Burr": [
            (dist.Burr(1e8, 2.0), 0.9999999900000002, 2.289868067899092e-16),
            (dist.Burr(2.0, 1e8), 8.86226928776109e-05, 2.1460184071206552e-09),
            (dist.Burr(2.0, 1.0000001), 1.5707961090363285, 9999997.526760912),
        ],
        "Rice": [
            (dist.Rice(1e8, 1.0), 1e8, 1.0),
            (dist.Rice(1e3, 1.0), 1000.000500000125, 0.9999994999995),
            (dist.Rice(10.1, 1.0), 10.149628115728474, 0.9950491124140509),
        ],
        "LogSeries": [
            (dist.LogSeries(1e-300), 1.0, 5e-301),
            (dist.LogSeries(1e-12), 1.0000000000005, 5.000000000008333e-13),
            (dist.LogSeries(0.049), 1.0255466424777688, 0.02664172077741112),
        ],
        "Triangular": [(dist.Triangular(1e8, 1e8 + 1.0, 1e8 + 0.25), None, 0.04513888888888889)],
        "TruncatedNormal": [
            (dist.TruncatedNormal(0.0, 1.0, 0.0, 1e-6), 4.9999999999995826e-07,
             8.333333333333055e-14),
            (dist.TruncatedNormal(0.0, 1.0, lower=30.0), 30.033259667433676, 0.001103771511890091),
            (dist.TruncatedNormal(0.0, 1.0, lower=1e8), 100000000.00000001, 9.999999999999994e-17),
            (dist.TruncatedNormal(0.0, 1.0, -9.0, 3.0), -0.004437839042125663, 0.9866667884582592),
            (dist.TruncatedNormal(0.0, 1.0), 0.0, 1.0),
        ],
    }  # fmt: skip
    for name, cases in found.items():
        for d, mean, variance in cases:
            if mean is not None:
                np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-13, err_msg=name)
            np.testing.assert_allclose(d.variance().eval(), variance, rtol=1e-13, err_msg=name)


def test_probabilities_near_the_ends_of_log_uniform():
    d, x = dist.LogUniform(0.5, 4.0), dt.data([0.5 + 2.0**-50, 4.0 - 2.0**-48], dims=dt.Dim("x"))
    step = np.log(2.0**-49 / np.log(8.0)), np.log(2.0**-50 / np.log(8.0))
    np.testing.assert_allclose(d.logcdf(x).eval()[0], step[0], rtol=1e-13)
    np.testing.assert_allclose(d.logsf(x).eval()[1], step[1], rtol=1e-13)


def test_quantiles_of_0_and_1_without_a_shape():
    """And with one that is nearly 0, whose ends are finite."""
    xi, q = dt.scalar("xi"), dt.tensor("q", dims=dt.Dim("q", length=3))
    extreme, pareto = dist.GeneralizedExtremeValue(0.0, 1.0, xi), dist.GeneralizedPareto(0, 1, xi)
    at = np.array([0.0, 0.5, 1.0])
    middle, log_2 = -np.log(np.log(2.0)), np.log(2.0)
    found = dt.evaluate([extreme.icdf(q), pareto.icdf(q)], {q: at, xi: 0.0})
    np.testing.assert_allclose(found[0], [-np.inf, middle, np.inf], rtol=1e-14)
    np.testing.assert_allclose(found[1], [0.0, log_2, np.inf], rtol=1e-14, atol=1e-300)
    for shape, ends in ((-(2.0**-17), (-np.inf, 2.0**17)), (2.0**-17, (-(2.0**17), np.inf))):
        found = dt.evaluate([extreme.icdf(q), pareto.icdf(q)], {q: at, xi: shape})
        for one, low, inside in zip(found, (ends[0], 0.0), (middle, log_2), strict=True):
            wanted = [low, np.expm1(shape * inside) / shape, ends[1]]
            np.testing.assert_allclose(one, wanted, rtol=1e-14, atol=1e-300)


def test_slopes_of_quantiles_in_the_middle():
    """There the quantile of an absolute value is 0, and its own slope may be so, too."""
    q, beta = dt.scalar("q"), dt.tensor("beta", dims=dt.Dim("beta", length=3))
    middle = dist.GeneralizedNormal(0.0, 1.0, beta).icdf(q)
    at = {beta: np.array([0.5, 1.5, 4.0]), q: 0.5}
    wanted = 2 * scipy.special.gamma(1 + 1 / at[beta])  # one over the density
    slope = dt.jvp(middle, [q], [dt.ones_like(q)])
    np.testing.assert_allclose(dt.evaluate(slope, at), wanted, rtol=1e-13)


def test_slopes_of_the_exponentially_modified_normal_far_out():
    """By the mean of the exponential variable: numbers of mpmath, 300 digits."""
    nu = dt.scalar("nu")
    for x, at, wanted in (
        (-25.0, 1.0, -0.9617096222227765),
        (-25.0, 1e3, -0.0009999601914626732),
        (-25.0, 0.01, -20.03572133974642),
    ):
        slope = dt.grad(dist.ExGaussian(0.0, 1.0, nu).logcdf(x), nu)
        np.testing.assert_allclose(slope.eval({nu: at}), wanted, rtol=1e-12)


def test_probabilities_and_densities_fit_together_far_out():
    """The slope of a log probability is the density divided by it."""
    x = dt.tensor("x", dims=dt.Dim("x", length=6))
    at = np.array([1e-300, 1e-200, 1e-9, 0.4, 9.0, 1e3])
    for d, points in (
        (dist.HalfStudentT(3.0, 1.0), at),
        (dist.Chi(0.3), at),
        (dist.Nakagami(0.5, 9.0), at),
        (dist.Burr(2.5, 1.5), at),
        (dist.Wald(1.5, 2.0), at + 0.1),
        (dist.StudentT(3.0), -at * 1e150),
        (dist.SkewStudentT(2.0, 6.0), -at * 1e150),
        (dist.SkewNormal(mu=0.0, sigma=1.0, alpha=2.0), -at),
        (dist.ExGaussian(0.0, 1.0, 2.0), -at),
        (dist.Triangular(0.0, 1.0, 0.0), np.minimum(at, 0.9)),
    ):
        below, above, density = d.logcdf(x), d.logsf(x), d.logp(x)
        slopes = [dt.grad(below.sum(), x), dt.grad(above.sum(), x)]
        outputs = dt.evaluate([*slopes, below, above, density], {x: points})
        up, down, below, above, density = (each.values for each in outputs)
        close = {"rtol": 1e-9, "atol": 1e-290, "err_msg": d.name}
        np.testing.assert_allclose(up, np.exp(density - below), **close)
        np.testing.assert_allclose(down, -np.exp(density - above), **close)


WHOLE = np.unique(np.append(np.arange(1.0, 40.0), np.floor(np.logspace(1.5, 12.0, 60))))
COUNTS = {
    "Geometric": (lambda k: dist.Geometric(k(1e-9)), WHOLE[WHOLE < 1e10]),
    "often": (lambda k: dist.Geometric(k(0.3)), WHOLE[:30]),
    "DiscreteLaplace": (
        lambda k: dist.DiscreteLaplace(k(1e-3)),
        np.append(-WHOLE[:40], WHOLE[:40]),
    ),
    "DiscreteWeibull": (lambda k: dist.DiscreteWeibull(k(0.9), k(0.3)), WHOLE[WHOLE < 1e5]),
    "DiscreteUniform": (lambda k: dist.DiscreteUniform(k(1.0), k(1e12)), WHOLE),
    "Bernoulli": (lambda k: dist.Bernoulli(k(0.1)), np.arange(2.0)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", COUNTS)
def test_quantiles_of_counts_invert_probabilities(name, dtype):
    """The smallest count that reaches a probability, where those of its neighbors are apart."""
    make, counts = COUNTS[name]
    k, q = (dt.tensor(each, dims=dt.Dim("x"), dtype=dtype) for each in ("k", "q"))
    d = make(lambda value: dt.data(np.array(value, dtype=dtype)))
    cdf = dt.function([k], d.cdf(k), backend="python")
    icdf = dt.function([q], d.icdf(q), backend="python")
    counts = counts.astype(dtype)
    at, before = cdf(counts).values, cdf(counts - 1).values
    told = at - before > 64 * np.finfo(dtype).eps * at
    assert told.sum() > (1 if name == "Bernoulli" else 15)
    np.testing.assert_array_equal(icdf(at).values[told], counts[told])
    inside = told & (at - before > 1e-5 * at)
    np.testing.assert_array_equal(icdf((at + before) / 2).values[inside], counts[inside])


def test_quantiles_of_counts_at_the_ends():
    q = dt.data([0.0, 1e-300, 1.0 - 2.0**-30, 1.0], dims=dt.Dim("q"))
    wanted = {
        dist.Geometric(1.0): [1, 1, 1, 1],
        dist.Geometric(1e-3): [1, 1, np.ceil(-30 * np.log(2) / np.log1p(-1e-3)), np.inf],
        dist.Bernoulli(1.0): [0, 1, 1, 1],
        dist.Bernoulli(0.0): [0, 0, 0, 0],
        dist.Bernoulli(1e-17): [0, 0, 0, 1],
        dist.DiscreteUniform(-3, 10**6): [-3, -3, 10**6, 10**6],
    }
    for d, numbers in wanted.items():
        np.testing.assert_array_equal(d.icdf(q).eval(), numbers, err_msg=repr(d))


def test_a_quantile_above_a_billion_is_rounded_up():
    found = dist.DiscreteUniform(1, 4 * 10**9).icdf(0.5 + 0.3 / (4 * 10**9)).eval()
    np.testing.assert_array_equal(found, 2 * 10**9 + 1)
    rate = 1e-10
    found = dist.Geometric(rate).icdf(-np.expm1((10**10 + 0.3) * np.log1p(-rate))).eval()
    np.testing.assert_array_equal(found, 10**10 + 1)


def test_slopes_at_the_limits_of_parameters():
    """Of probabilities of counts: 0 to the power of 0 is 1."""
    p = dt.scalar("p")
    cases = [
        (dist.Poisson(p).logcdf(0), 0.0, -1.0),
        (dist.Poisson(p).logcdf(1), 0.0, 0.0),
        (dist.Binomial(2, p).logcdf(0), 0.0, -2.0),
        (dist.Binomial(2, p).logcdf(1), 0.0, 0.0),
        (dist.Binomial(2, p).logsf(0), 1.0, 0.0),
        (dist.Binomial(2, p).logsf(1), 1.0, 2.0),
        (dist.Geometric(p).logcdf(1), 1.0, 1.0),
        (dist.Geometric(p).logcdf(2), 1.0, 0.0),
        (dist.Geometric(p).logcdf(3), 0.4, 3 * 0.6**2 / (1 - 0.6**3)),
        (dt.special.gammainc(1.0, p), 0.0, 1.0),
        (dt.special.gammaincc(2.0, p), 0.0, 0.0),
        (dt.special.betainc(1.0, 3.0, p), 0.0, 3.0),
        (dt.special.betainc(3.0, 1.0, p), 1.0, 3.0),
    ]
    for value, at, wanted in cases:
        np.testing.assert_allclose(dt.grad(value, p).eval({p: at}), wanted, rtol=1e-13, atol=1e-300)
