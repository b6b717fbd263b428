"""SciPy's distribution for every row of the table, and the parameters to compare it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats as st

from tests.dist.frozen import (
    BetaNegative,
    Folded,
    Improper,
    Mapped,
    OnCircle,
    PolyaGamma,
    Rice,
    Steps,
    Tilted,
)


class Oracle(NamedTuple):
    """A distribution of SciPy.

    ``frozen`` makes it of the row's parameters, ``cases`` are further parameters than those of the
    row's example, ``loose`` names what SciPy computes to fewer digits, with the tolerance.
    """

    frozen: Callable[..., Any]
    cases: Sequence[Mapping[str, float]] = ()
    loose: Mapping[str, float] = {}


ORACLES: dict[str, Oracle] = {
    "Normal": Oracle(st.norm, [{"mu": 1e3, "sigma": 1e-3}, {"mu": -2.0, "sigma": 50.0}]),
    "Cauchy": Oracle(st.cauchy, [{"mu": 3.0, "sigma": 10.0}]),
    "Laplace": Oracle(st.laplace, [{"mu": 3.0, "b": 1e-2}]),
    "Logistic": Oracle(st.logistic, [{"mu": -3.0, "s": 20.0}]),
    "Gumbel": Oracle(st.gumbel_r, [{"mu": -3.0, "beta": 3.0}]),
    "StudentT": Oracle(st.t, [
        {"nu": 2.5, "mu": 1.0, "sigma": 0.1}, {"nu": 90.0, "mu": 0.0, "sigma": 1.0},
        {"nu": 1e12, "mu": 0.0, "sigma": 1.0},
    ]),
    "AsymmetricLaplace": Oracle(
        lambda kappa, mu, b: st.laplace_asymmetric(kappa, mu, 1 / b),
        [{"kappa": 0.3, "mu": -1.0, "b": 4.0}],
    ),
    "ExGaussian": Oracle(
        lambda mu, sigma, nu: st.exponnorm(nu / sigma, mu, sigma),
        [{"mu": 0.0, "sigma": 1.0, "nu": 0.01}, {"mu": 1.0, "sigma": 0.1, "nu": 5.0}],
    ),
    "SkewNormal": Oracle(st.skewnorm, [{"alpha": -1.0, "mu": 0.0, "sigma": 2.0}]),
    "SkewStudentT": Oracle(st.jf_skew_t, [{"a": 2.0, "b": 6.0, "mu": 1.0, "sigma": 2.0}]),
    "Moyal": Oracle(st.moyal, [{"mu": -3.0, "sigma": 3.0}]),
    "Flat": Oracle(Improper),
    "HyperbolicSecant": Oracle(st.hypsecant, [{"mu": -3.0, "sigma": 3.0}]),
    "GeneralizedNormal": Oracle(lambda mu, sigma, beta: st.gennorm(beta, mu, sigma),
                                [{"mu": 0.0, "sigma": 2.0, "beta": 0.7}]),
    "JohnsonSU": Oracle(st.johnsonsu, [{"gamma": -1.0, "delta": 3.0, "mu": 0.0, "sigma": 2.0}]),
    "GeneralizedExtremeValue": Oracle(
        lambda mu, sigma, xi: st.genextreme(-xi, mu, sigma),
        [{"mu": 0.0, "sigma": 2.0, "xi": -0.3}, {"mu": 0.0, "sigma": 2.0, "xi": 0.0},
         {"mu": 0.0, "sigma": 2.0, "xi": 1e-3}],
    ),
    "LogGamma": Oracle(st.loggamma, [{"c": 0.3, "mu": 1.0, "sigma": 2.0}]),
    "HalfNormal": Oracle(lambda sigma: st.halfnorm(0, sigma), [{"sigma": 0.01}]),
    "Exponential": Oracle(lambda lam: st.expon(0, 1 / lam), [{"lam": 100.0}]),
    "Gamma": Oracle(
        lambda alpha, beta: st.gamma(alpha, 0, 1 / beta),
        [{"alpha": 0.05, "beta": 2.0}, {"alpha": 1.0, "beta": 2.0}, {"alpha": 200.0, "beta": 5.0}],
    ),
    "LogNormal": Oracle(lambda mu, sigma: st.lognorm(sigma, 0, pow(2.718281828459045, mu)),
                        [{"mu": -2.0, "sigma": 1.5}]),
    "HalfFlat": Oracle(lambda: Improper(0.0)),
    "HalfCauchy": Oracle(lambda beta: st.halfcauchy(0, beta), [{"beta": 0.01}]),
    "HalfStudentT": Oracle(
        lambda nu, sigma: Folded(st.t(nu, 0, sigma)),
        [{"nu": 3.0, "sigma": 0.1}, {"nu": 1e7, "sigma": 1.0}],
    ),
    "HalfLogistic": Oracle(lambda s: st.halflogistic(0, s), [{"s": 20.0}]),
    "ChiSquared": Oracle(st.chi2, [{"nu": 0.3}, {"nu": 50.0}]),
    "Chi": Oracle(st.chi, [{"nu": 0.3}, {"nu": 50.0}]),
    "Rayleigh": Oracle(lambda sigma: st.rayleigh(0, sigma), [{"sigma": 20.0}]),
    "Maxwell": Oracle(lambda a: st.maxwell(0, a), [{"a": 20.0}]),
    "Nakagami": Oracle(lambda m, omega: st.nakagami(m, 0, omega**0.5),
                       [{"m": 0.6, "omega": 9.0}]),
    "Rice": Oracle(Rice, [{"nu": 0.05, "sigma": 2.0}, {"nu": 20.0, "sigma": 1.0}]),
    "InverseGamma": Oracle(lambda alpha, beta: st.invgamma(alpha, 0, beta),
                           [{"alpha": 2.5, "beta": 10.0}, {"alpha": 0.5, "beta": 1.0}]),
    "InverseChiSquared": Oracle(lambda nu: st.invgamma(nu / 2, 0, 0.5), [{"nu": 3.0}]),
    "ScaledInverseChiSquared": Oracle(
        lambda nu, tau: st.invgamma(nu / 2, 0, nu * tau**2 / 2), [{"nu": 3.0, "tau": 0.2}]
    ),
    "GeneralizedGamma": Oracle(lambda a, c, scale: st.gengamma(a, c, 0, scale),
                               [{"a": 4.0, "c": 0.8, "scale": 0.1}]),
    "PolyaGamma": Oracle(
        PolyaGamma, [{"h": 1.0, "z": 0.0}, {"h": 0.5, "z": -3.0}, {"h": 3.0, "z": 0.01}],
    ),
    "Wald": Oracle(lambda mu, lam, alpha: st.invgauss(mu / lam, alpha, lam),
                   [{"mu": 0.5, "lam": 9.0, "alpha": -1.0}]),
    "Weibull": Oracle(lambda alpha, beta: st.weibull_min(alpha, 0, beta),
                      [{"alpha": 0.5, "beta": 2.0}, {"alpha": 1.0, "beta": 2.0}]),
    "Frechet": Oracle(lambda alpha, s: st.invweibull(alpha, 0, s), [{"alpha": 2.5, "s": 10.0}]),
    "Pareto": Oracle(lambda alpha, m: st.pareto(alpha, 0, m), [{"alpha": 0.5, "m": 10.0}]),
    "Lomax": Oracle(lambda alpha, lam: st.lomax(alpha, 0, lam), [{"alpha": 2.5, "lam": 0.1}]),
    "GeneralizedPareto": Oracle(
        lambda mu, sigma, xi: st.genpareto(xi, mu, sigma),
        [{"mu": 0.0, "sigma": 2.0, "xi": -0.3}, {"mu": 0.0, "sigma": 2.0, "xi": 0.0},
         {"mu": 0.0, "sigma": 2.0, "xi": 1e-3}],
    ),
    "BetaPrime": Oracle(st.betaprime, [{"alpha": 1.5, "beta": 30.0}]),
    "FisherSnedecor": Oracle(st.f, [{"d1": 1.0, "d2": 5.0}, {"d1": 40.0, "d2": 60.0}]),
    "Burr": Oracle(st.burr12, [{"c": 5.0, "d": 0.7}]),
    "LogLogistic": Oracle(lambda alpha, beta: st.fisk(beta, 0, alpha),
                          [{"alpha": 10.0, "beta": 2.5}]),
    "Levy": Oracle(st.levy, [{"mu": -3.0, "c": 4.0}]),
    "Gompertz": Oracle(lambda eta, b: st.gompertz(eta, 0, 1 / b), [{"eta": 3.0, "b": 0.1}]),
    "BirnbaumSaunders": Oracle(lambda alpha, beta: st.fatiguelife(alpha, 0, beta),
                               [{"alpha": 3.0, "beta": 0.1}]),
    "Uniform": Oracle(lambda lower, upper: st.uniform(lower, upper - lower),
                      [{"lower": 5.0, "upper": 5.5}]),
    "Beta": Oracle(st.beta, [{"alpha": 0.1, "beta": 0.2}, {"alpha": 1.0, "beta": 1.0},
                             {"alpha": 30.0, "beta": 80.0}]),
    "BetaScaled": Oracle(
        lambda alpha, beta, lower, upper: st.beta(alpha, beta, lower, upper - lower),
        [{"alpha": 1.0, "beta": 1.5, "lower": 0.0, "upper": 0.1}],
    ),
    "PERT": Oracle(
        lambda lower, mode, upper, lam: st.beta(
            1 + lam * (mode - lower) / (upper - lower),
            1 + lam * (upper - mode) / (upper - lower), lower, upper - lower,
        ),
        [{"lower": 0.0, "mode": 9.0, "upper": 10.0, "lam": 2.0}],
    ),
    "Arcsine": Oracle(lambda lower, upper: st.arcsine(lower, upper - lower),
                      [{"lower": 0.0, "upper": 10.0}]),
    "PowerFunction": Oracle(st.powerlaw, [{"alpha": 1.5}]),
    "LogUniform": Oracle(st.loguniform, [{"lower": 0.01, "upper": 100.0}]),
    "Kumaraswamy": Oracle(
        lambda a, b: Mapped(
            st.beta(1, b), lambda y: y ** (1 / a), lambda x: x**a,
            lambda x: np.log(a) + (a - 1) * np.log(x), 0.0, 1.0,
        ),
        [{"a": 3.0, "b": 1.5}],
        {"mean": 1e-6, "variance": 1e-5},
    ),
    "LogitNormal": Oracle(
        lambda mu, sigma: Mapped(
            st.norm(mu, sigma), scipy.special.expit, scipy.special.logit,
            lambda x: -np.log(x) - np.log1p(-x), 0.0, 1.0,
        ),
        [{"mu": -1.0, "sigma": 2.0}],
    ),
    "Triangular": Oracle(
        lambda lower, upper, c: st.triang((c - lower) / (upper - lower), lower, upper - lower),
        [{"lower": 0.0, "upper": 10.0, "c": 9.0}],
    ),
    "TruncatedNormal": Oracle(
        lambda mu, sigma, lower, upper: st.truncnorm(
            (lower - mu) / sigma, (upper - mu) / sigma, mu, sigma
        ),
        [{"mu": 0.0, "sigma": 1.0, "lower": 5.0, "upper": 7.0},
         {"mu": 0.0, "sigma": 1.0, "lower": -9.0, "upper": -3.0}],
        {"variance": 1e-7},
    ),
    "VonMises": Oracle(lambda mu, kappa: OnCircle(st.vonmises(kappa), mu),
                       [{"mu": -3.0, "kappa": 0.1}, {"mu": 0.0, "kappa": 200.0}]),
    "WrappedCauchy": Oracle(lambda mu, rho: OnCircle(st.wrapcauchy(rho), mu),
                            [{"mu": -3.0, "rho": 0.9}]),
    "RaisedCosine": Oracle(lambda mu, s: st.cosine(mu, s / np.pi), [{"mu": 0.0, "s": 4.0}],
                           {"logcdf": 1e-6, "logsf": 1e-6}),
    "Semicircle": Oracle(st.semicircular, [{"mu": 0.0, "r": 0.1}]),
    "ContinuousBernoulli": Oracle(
        lambda lam: Tilted(lam), [{"lam": 0.5}, {"lam": 0.001}, {"lam": 0.503}],
    ),
    "Bernoulli": Oracle(st.bernoulli, [{"p": 0.999}]),
    "DiscreteUniform": Oracle(lambda lower, upper: st.randint(lower, upper + 1),
                              [{"lower": 0, "upper": 100}]),
    "Geometric": Oracle(st.geom, [{"p": 0.01}, {"p": 0.9}]),
    "NegativeBinomial": Oracle(lambda mu, alpha: st.nbinom(alpha, alpha / (alpha + mu)),
                               [{"mu": 50.0, "alpha": 0.1}, {"mu": 2.0, "alpha": 60.0}]),
    "BetaBinomial": Oracle(lambda alpha, beta, n: st.betabinom(n, alpha, beta),
                           [{"alpha": 30.0, "beta": 0.5, "n": 50},
                            {"alpha": 300.0, "beta": 900.0, "n": 5}]),
    "BetaNegativeBinomial": Oracle(BetaNegative, [{"n": 1.0, "alpha": 8.0, "beta": 9.0}]),
    "HyperGeometric": Oracle(lambda N, k, n: st.hypergeom(N, k, n),
                             [{"N": 12, "k": 10, "n": 6}]),
    "DiscreteWeibull": Oracle(
        lambda q, beta: Steps(lambda k: (k + 1.0) ** beta * np.log(q)), [{"q": 0.5, "beta": 0.6}]
    ),
    "DiscreteLaplace": Oracle(st.dlaplace, [{"a": 3.0}, {"a": 0.05}]),
    "LogSeries": Oracle(st.logser, [{"p": 0.05}]),
    "YuleSimon": Oracle(st.yulesimon, [{"alpha": 12.0}]),
    "Binomial": Oracle(st.binom, [{"n": 1, "p": 0.5}, {"n": 40, "p": 0.01}]),
    "Poisson": Oracle(st.poisson, [{"mu": 0.01}, {"mu": 80.0}]),
}  # fmt: skip
