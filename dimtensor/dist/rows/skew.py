"""Rows of the distribution table: on all real numbers, with parameters of shape."""

from __future__ import annotations

import math
from typing import Any

from dimtensor.dist.formulas import (
    EULER,
    HALF_LOG_2PI,
    JKB1,
    JKB2,
    LOG_2,
    LOG_PI,
    by_sides,
    expm1_over,
    log1p_over,
    log1p_square,
    log_cosh,
    magnitude,
)
from dimtensor.dist.gammas import gamma_spread, gamma_step
from dimtensor.dist.probabilities import (
    log_below,
    log_gamma_cdf,
    log_gamma_icdf,
    log_gamma_sf,
    log_mills_apart,
    log_normal_beyond,
    log_normal_within,
    normal_beyond_quantile,
)
from dimtensor.dist.rows.cells import (
    INVERSE_SQUARE,
    PRECISION,
    first,
    instead,
    standardized,
    symmetric,
    tails,
)
from dimtensor.dist.rows.exponential_power import draw_power, power_icdf, power_logcdf
from dimtensor.dist.rows.real import LOCATION, SCALE
from dimtensor.dist.rows.skew_normal import skew_normal_logs
from dimtensor.dist.rows.student import (
    draw_skew_student,
    skew_student_icdf,
    skew_student_logp,
    skew_student_mean,
    skew_student_part,
    skew_student_variance,
    student_icdf,
    student_logcdf,
    student_logp,
    student_variance,
)
from dimtensor.dist.supports import Bounded, Support, plain_bound, real
from dimtensor.dist.table import IMPROPER, NO_CLOSED_FORM, Row, params
from dimtensor.tensor.elementwise import (
    abs,
    arcsinh,
    arctan,
    cosh,
    digamma,
    erfcx,
    exp,
    expm1,
    gammaln,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    ndtri,
    power,
    sinh,
    sqrt,
    square,
    tan,
    trigamma,
    where,
)

# -- the exponentially modified normal ----------------------------------------------------------


def _ex_gaussian_joint(x: Any, p: Any) -> Any:
    """Log density times nu: of erfcx where its factors would overflow."""
    a = (x - p.mu) / p.sigma
    r = p.sigma / p.nu
    t = r - a
    left = t > 0.0
    far = log(0.5 * erfcx(where(left, t, 0.0) * math.sqrt(0.5))) - 0.5 * square(a)
    near = r * (0.5 * r - a) + log_ndtr(-where(left, 0.0, t))
    return where(left, far, near)


def _ex_gaussian_logcdf(x: Any, p: Any) -> Any:
    """Far out by the difference of two of Mills' ratios, which the two terms are."""
    a = (x - p.mu) / p.sigma
    far = a < -20.0
    tail = log_mills_apart(where(far, -a, 20.0), p.sigma / p.nu) - HALF_LOG_2PI - 0.5 * square(a)
    x = where(far, p.mu, x)
    whole = log_ndtr((x - p.mu) / p.sigma)
    return where(far, tail, whole + log1mexp(_ex_gaussian_joint(x, p) - whole))


def _draw_ex_gaussian(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.normal(p.mu, p.sigma, dims=dims)
    y, rng = rng.exponential(p.nu, dims=dims)
    return x + y, rng


# -- others ------------------------------------------------------------------------------------


def _draw_skew_normal(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    delta = p.alpha / sqrt(1.0 + square(p.alpha))
    x, rng = magnitude(rng.normal(0.0, 1.0, dims=dims))
    y, rng = rng.normal(0.0, 1.0, dims=dims)
    return delta * x + sqrt(1.0 - square(delta)) * y, rng


def _skew_mean(p: Any) -> Any:
    return p.alpha / sqrt(1.0 + square(p.alpha)) * math.sqrt(2.0 / math.pi)


def _asymmetric_icdf(q: Any, p: Any) -> Any:
    k2 = square(p.kappa)
    at = k2 / (1.0 + k2)
    left = q < at
    below = p.kappa * log(where(left, q, at) / at)
    above = -(log1p(-where(left, at, q)) + log1p(k2)) / p.kappa
    return where(left, below, above)


def _asymmetric_logcdf(z: Any, p: Any) -> Any:
    k2 = square(p.kappa)
    return by_sides(
        lambda z: z / p.kappa - log1p(1.0 / k2),
        lambda z: log1p(-exp(-z * p.kappa) / (1.0 + k2)),
        z,
    )


def _asymmetric_logsf(z: Any, p: Any) -> Any:
    k2 = square(p.kappa)
    return by_sides(
        lambda z: log1p(-exp(z / p.kappa) * k2 / (1.0 + k2)),
        lambda z: -z * p.kappa - log1p(k2),
        z,
    )


def _draw_asymmetric(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.exponential(1.0, dims=dims)
    y, rng = rng.exponential(1.0, dims=dims)
    return x / p.kappa - y * p.kappa, rng


def _secant_logcdf(z: Any, p: Any) -> Any:
    far = z < -30.0
    right = z > 0.0
    known = where(far | right, 0.0, z)
    beyond = log1p(-2.0 / math.pi * arctan(exp(-where(right, z, 0.0))))
    return where(right, beyond, math.log(2.0 / math.pi) + where(far, z, log(arctan(exp(known)))))


def _secant_icdf(q: Any, p: Any) -> Any:
    left = q < 0.5
    size = log(tan(0.5 * math.pi * where(left, q, 1.0 - q)))
    return where(left, size, -size)


def _extreme_support(p: Any) -> Support:
    mu, sigma, xi = plain_bound(p.mu), plain_bound(p.sigma), plain_bound(p.xi)
    if isinstance(xi, float):
        if xi == 0.0:
            return real
        end = mu - sigma / xi
        return Bounded(end) if xi > 0.0 else Bounded(high=end)
    end = mu - sigma / where(xi == 0.0, 1.0, xi)
    return Bounded(where(xi > 0.0, end, -math.inf), where(xi < 0.0, end, math.inf))


def _extreme_logp(z: Any, p: Any) -> Any:
    t = log1p_over(p.xi, z)
    return -(1.0 + p.xi) * t - exp(-t)


def _extreme_mean(p: Any) -> Any:
    low = p.xi < 1.0
    return where(low, gamma_step(where(low, p.xi, 0.0)), math.inf)


def _extreme_variance(p: Any) -> Any:
    low = p.xi < 0.5
    xi = where(low, p.xi, 0.0)
    return where(low, exp(2.0 * gammaln(1.0 - xi)) * gamma_spread(xi), math.inf)


def _moyal_logsf(z: Any, p: Any) -> Any:
    """Far out the density of the normal variable is constant, and its square may vanish."""
    far = z > 80.0
    near = log_normal_within(exp(-0.5 * where(far, 0.0, z)))
    return where(far, LOG_2 - HALF_LOG_2PI - 0.5 * z, near)


def _draw_moyal(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = magnitude(rng.normal(0.0, 1.0, dims=dims))
    return -2.0 * log(x), rng


def _draw_log_gamma(rng: Any, p: Any, dims: Any) -> tuple[Any, Any]:
    x, rng = rng.gamma(p.c, 1.0, dims=dims)
    return log(x), rng


SKEW: list[Row] = [
    standardized(
        "mu", "sigma",
        name="StudentT",
        doc="Student's t distribution.",
        density="Γ((nu+1)/2) / (Γ(nu/2) sigma √(nu π)) (1 + z²/nu)^(-(nu+1)/2), "
        "z = (x - mu) / sigma",
        params=params("nu: positive | degrees of freedom", LOCATION, SCALE),
        alternatives=INVERSE_SQUARE,
        support=lambda p: real,
        logp=lambda z, p: student_logp(z, p.nu),
        **symmetric(student_logcdf),
        icdf=student_icdf,
        mean=lambda p: where(p.nu > 1.0, 0.0 * p.nu, math.nan),
        variance=lambda p: student_variance(p.nu),
        draw=lambda rng, p, dims: rng.standard_t(p.nu, dims=dims),
        source=f"{JKB2}, chapter 28",
        example={"nu": 4.5, "mu": 0.5, "sigma": 1.2},
        window=(-5, 6),
    ),
    standardized(
        "mu", lambda p: 1.0 / p.b,
        name="AsymmetricLaplace",
        doc="The Laplace distribution with two rates, b kappa above mu and b / kappa below.",
        density="b / (kappa + 1/kappa) exp(-(x - mu) b s kappa^s), s = sign(x - mu)",
        params=params("kappa: positive | asymmetry", LOCATION, "b: positive = 1 | rate"),
        alternatives=instead(
            "kappa", "q: between 0 and 1 | probability of values below mu",
            by=lambda p: sqrt(p.q / (1.0 - p.q)),
        ),
        support=lambda p: real,
        logp=lambda z, p: (
            -log(p.kappa + 1.0 / p.kappa) - abs(z) * where(z > 0.0, p.kappa, 1.0 / p.kappa)
        ),
        logcdf=_asymmetric_logcdf,
        logsf=_asymmetric_logsf,
        icdf=_asymmetric_icdf,
        mean=lambda p: 1.0 / p.kappa - p.kappa,
        variance=lambda p: 1.0 / square(p.kappa) + square(p.kappa),
        draw=_draw_asymmetric,
        source="Kotz, Kozubowski and Podgórski, The Laplace Distribution (2001), chapter 3",
        example={"kappa": 1.4, "mu": 0.3, "b": 1.1},
        window=(-4, 4),
    ),
    Row(
        name="ExGaussian",
        doc="The sum of a normal and an exponential variable.",
        density="exp((mu - x) / nu + sigma² / (2 nu²)) Φ((x - mu) / sigma - sigma / nu) / nu",
        params=params(
            "mu: real = 0 | mean of the normal", "sigma: positive = 1 | its standard deviation",
            "nu: positive = 1 | mean of the exponential",
        ),
        support=lambda p: real,
        ends="()",
        logp=lambda x, p: _ex_gaussian_joint(x, p) - log(p.nu),
        logcdf=_ex_gaussian_logcdf,
        logsf=lambda x, p: logaddexp(log_ndtr((p.mu - x) / p.sigma), _ex_gaussian_joint(x, p)),
        icdf=NO_CLOSED_FORM,
        mean=lambda p: p.mu + p.nu,
        variance=lambda p: square(p.sigma) + square(p.nu),
        draw=_draw_ex_gaussian,
        source="Grushka, Analytical Chemistry 44, 1733-1738 (1972)",
        example={"mu": 0.5, "sigma": 0.8, "nu": 1.5},
        window=(-3, 8),
    ),
    standardized(
        "mu", "sigma",
        name="SkewNormal",
        doc="The skew normal distribution of Azzalini.",
        density="2 φ(z) Φ(alpha z) / sigma, z = (x - mu) / sigma",
        params=params("alpha: real = 1 | skewness", LOCATION, SCALE),
        alternatives=PRECISION,
        keyword_only=("alpha", "mu", "sigma"),
        support=lambda p: real,
        ends="()",
        logp=lambda z, p: LOG_2 - HALF_LOG_2PI - 0.5 * square(z) + log_ndtr(p.alpha * z),
        **tails(lambda z, p: skew_normal_logs(z, p.alpha), first),
        icdf=NO_CLOSED_FORM,
        mean=_skew_mean,
        variance=lambda p: 1.0 - square(_skew_mean(p)),
        draw=_draw_skew_normal,
        source="Azzalini, Scandinavian Journal of Statistics 12, 171-178 (1985)",
        example={"alpha": 2.0, "mu": 0.3, "sigma": 1.2},
        window=(-3, 5),
    ),
    standardized(
        "mu", "sigma",
        name="SkewStudentT",
        doc="The skew t distribution of Jones and Faddy.",
        density="(1 + u)^(a + 1/2) (1 - u)^(b + 1/2) / (2^(a+b-1) B(a, b) √(a + b) sigma), "
        "u = z / √(a + b + z²), z = (x - mu) / sigma",
        params=params("a: positive | shape on the left", "b: positive | shape on the right",
                      LOCATION, SCALE),
        alternatives=INVERSE_SQUARE,
        support=lambda p: real,
        ends="()",
        logp=skew_student_logp,
        logcdf=skew_student_part(turned=False),
        logsf=skew_student_part(turned=True),
        icdf=skew_student_icdf,
        mean=skew_student_mean,
        variance=skew_student_variance,
        draw=draw_skew_student,
        source="Jones and Faddy, Journal of the Royal Statistical Society B 65, 159-174 (2003)",
        example={"a": 3.0, "b": 2.0, "mu": 0.3, "sigma": 1.1},
        window=(-4, 6),
    ),
    standardized(
        "mu", "sigma",
        name="Moyal",
        doc="The Moyal distribution, of energy losses of particles.",
        density="exp(-(z + exp(-z)) / 2) / (sigma √(2π)), z = (x - mu) / sigma",
        params=params(LOCATION, SCALE),
        support=lambda p: real,
        ends="()",
        logp=lambda z, p: -0.5 * (z + exp(-z)) - HALF_LOG_2PI,
        logcdf=lambda z, p: log_normal_beyond(exp(-0.5 * z)),
        logsf=_moyal_logsf,
        icdf=lambda q, p: -2.0 * log(normal_beyond_quantile(q)),
        mean=lambda p: EULER + LOG_2,
        variance=lambda p: math.pi**2 / 2.0,
        draw=_draw_moyal,
        source="Walck, Statistical Distributions for Experimentalists (2007), chapter 26",
        example={"mu": 0.3, "sigma": 0.9},
        window=(-2.5, 9),
    ),
    Row(
        name="Flat",
        doc="The improper density that is 1 everywhere.",
        density="1",
        params=(),
        support=lambda p: real,
        ends="()",
        logp=lambda x, p: 0.0 * x,
        logcdf=IMPROPER,
        icdf=IMPROPER,
        mean=IMPROPER,
        variance=IMPROPER,
        draw=IMPROPER,
        source="Gelman et al., Bayesian Data Analysis (2013), section 2.8",
        example={},
        window=(-3, 3),
    ),
    standardized(
        "mu", "sigma",
        name="HyperbolicSecant",
        doc="The hyperbolic secant distribution.",
        density="1 / (π sigma cosh(z)), z = (x - mu) / sigma",
        params=params(LOCATION, SCALE),
        support=lambda p: real,
        ends="()",
        logp=lambda z, p: -LOG_PI - log_cosh(z),
        **symmetric(_secant_logcdf),
        icdf=_secant_icdf,
        mean=lambda p: 0.0,
        variance=lambda p: math.pi**2 / 4.0,
        source=f"{JKB2}, section 23.11",
        example={"mu": 0.3, "sigma": 0.8},
        window=(-4, 5),
    ),
    standardized(
        "mu", "sigma",
        name="GeneralizedNormal",
        doc="The exponential power distribution: normal for beta = 2, Laplace for beta = 1.",
        density="beta exp(-|z|^beta) / (2 sigma Γ(1/beta)), z = (x - mu) / sigma",
        params=params(LOCATION, SCALE, "beta: positive | power"),
        support=lambda p: real,
        logp=lambda z, p: log(p.beta) - LOG_2 - gammaln(1.0 / p.beta) - power(abs(z), p.beta),
        **symmetric(power_logcdf),
        icdf=power_icdf,
        mean=lambda p: 0.0,
        variance=lambda p: exp(gammaln(3.0 / p.beta) - gammaln(1.0 / p.beta)),
        draw=draw_power,
        source="Nadarajah, Journal of Applied Statistics 32, 685-694 (2005)",
        example={"mu": 0.3, "sigma": 1.2, "beta": 3.0},
        window=(-2, 3),
    ),
    standardized(
        "mu", "sigma",
        name="JohnsonSU",
        doc="The unbounded distribution of Johnson: gamma + delta arsinh(z) is normal.",
        density="delta φ(gamma + delta arsinh(z)) / (sigma √(1 + z²)), z = (x - mu) / sigma",
        params=params("gamma: real | skewness", "delta: positive | tail weight", LOCATION, SCALE),
        support=lambda p: real,
        ends="()",
        logp=lambda z, p: (
            log(p.delta) - 0.5 * log1p_square(z) - HALF_LOG_2PI
            - 0.5 * square(p.gamma + p.delta * arcsinh(z))
        ),
        logcdf=lambda z, p: log_ndtr(p.gamma + p.delta * arcsinh(z)),
        logsf=lambda z, p: log_ndtr(-p.gamma - p.delta * arcsinh(z)),
        icdf=lambda q, p: sinh((ndtri(q) - p.gamma) / p.delta),
        mean=lambda p: -exp(0.5 / square(p.delta)) * sinh(p.gamma / p.delta),
        variance=lambda p: 0.5 * expm1(1.0 / square(p.delta)) * (
            exp(1.0 / square(p.delta)) * cosh(2.0 * p.gamma / p.delta) + 1.0
        ),
        source=f"{JKB1}, section 12.4.3",
        example={"gamma": 0.5, "delta": 1.5, "mu": 0.3, "sigma": 1.1},
        window=(-5, 4),
    ),
    standardized(
        "mu", "sigma",
        name="GeneralizedExtremeValue",
        doc="The distribution of maxima: Gumbel for xi = 0, Fréchet above, Weibull below.",
        density="t^(xi + 1) exp(-t) / sigma, t = (1 + xi z)^(-1/xi), z = (x - mu) / sigma",
        params=params(LOCATION, SCALE, "xi: real | shape"),
        support=_extreme_support,
        ends="()",
        inner=lambda p: p.mu,
        logp=_extreme_logp,
        logcdf=lambda z, p: -exp(-log1p_over(p.xi, z)),
        logsf=lambda z, p: log_below(-log1p_over(p.xi, z)),
        icdf=lambda q, p: expm1_over(p.xi, -log(-log(q))),
        mean=_extreme_mean,
        variance=_extreme_variance,
        source="Coles, Statistical Modeling of Extreme Values (2001), chapter 3",
        example={"mu": 0.3, "sigma": 0.9, "xi": 0.2},
        window=(-3, 8),
    ),
    standardized(
        "mu", "sigma",
        name="LogGamma",
        doc="The distribution of the logarithm of a gamma variable.",
        density="exp(c z - exp(z)) / (Γ(c) sigma), z = (x - mu) / sigma",
        params=params("c: positive | shape", LOCATION, SCALE),
        support=lambda p: real,
        ends="()",
        logp=lambda z, p: p.c * z - exp(z) - gammaln(p.c),
        logcdf=lambda z, p: log_gamma_cdf(p.c, z),
        logsf=lambda z, p: log_gamma_sf(p.c, z),
        icdf=lambda q, p: log_gamma_icdf(q, p.c),
        mean=lambda p: digamma(p.c),
        variance=lambda p: trigamma(p.c),
        draw=_draw_log_gamma,
        source=f"{JKB2}, section 22.10",
        example={"c": 1.7, "mu": 0.3, "sigma": 1.1},
        window=(-5, 4),
    ),
]  # fmt: skip
