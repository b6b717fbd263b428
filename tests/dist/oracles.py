"""SciPy's distribution for every row of the table, and the parameters to compare it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import scipy.stats as st

from tests.dist.frozen import Folded, Improper


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
    "SkewNormal": Oracle(lambda mu, sigma, alpha: st.skewnorm(alpha, mu, sigma),
                         [{"mu": 0.0, "sigma": 2.0, "alpha": -1.0}]),
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
    "Rice": Oracle(lambda nu, sigma: st.rice(nu / sigma, 0, sigma),
                   [{"nu": 0.05, "sigma": 2.0}, {"nu": 20.0, "sigma": 1.0}]),
    "InverseGamma": Oracle(lambda alpha, beta: st.invgamma(alpha, 0, beta),
                           [{"alpha": 2.5, "beta": 10.0}, {"alpha": 0.5, "beta": 1.0}]),
    "InverseChiSquared": Oracle(lambda nu: st.invgamma(nu / 2, 0, 0.5), [{"nu": 3.0}]),
    "ScaledInverseChiSquared": Oracle(
        lambda nu, tau: st.invgamma(nu / 2, 0, nu * tau**2 / 2), [{"nu": 3.0, "tau": 0.2}]
    ),
    "GeneralizedGamma": Oracle(lambda a, c, scale: st.gengamma(a, c, 0, scale),
                               [{"a": 4.0, "c": 0.8, "scale": 0.1}]),
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
    "Bernoulli": Oracle(st.bernoulli, [{"p": 0.999}]),
    "Binomial": Oracle(st.binom, [{"n": 1, "p": 0.5}, {"n": 40, "p": 0.01}]),
    "Poisson": Oracle(st.poisson, [{"mu": 0.01}, {"mu": 80.0}]),
}  # fmt: skip
