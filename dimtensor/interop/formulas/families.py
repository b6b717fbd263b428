"""Response families: distributions, link functions, and default priors of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import dimtensor.dist as dist
from dimtensor.errors import OptionError, did_you_mean, listing
from dimtensor.tensor.elementwise import exp, expm1, gammaln, ndtr, reciprocal, sigmoid

if TYPE_CHECKING:
    from dimtensor.dist.distribution import Distribution
    from dimtensor.tensor.core import DimTensor

# inverse link functions: from the linear predictor to the mean
INVERSE_LINKS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda eta: eta,
    "log": exp,
    "logit": sigmoid,
    "probit": ndtr,
    "cloglog": lambda eta: -expm1(-exp(eta)),
    "inverse": reciprocal,
}


class Family(NamedTuple):
    """Response family: the distribution of the response given its mean.

    Attributes
    ----------
    link : str
        Default link.
    links : tuple of str
        Supported links.
    make : callable
        Distribution from the mean and other parameters by name.
    priors : dict of str to callable
        Default priors of these parameters, as functions of the scale of the response.
    by_logit : callable or None
        Distribution from the linear predictor if the link is logit.
    scaled : bool
        Whether default priors are in units of the response's standard deviation.
    """

    link: str
    links: tuple[str, ...]
    make: Callable[[Any, Mapping[str, Any]], Distribution]
    priors: Mapping[str, Callable[[float], Distribution]] = {}
    by_logit: Callable[[Any, Mapping[str, Any]], Distribution] | None = None
    scaled: bool = False


_REAL = ("identity", "log", "inverse")
_POSITIVE = ("log", "identity", "inverse")
_UNIT = ("logit", "probit", "cloglog")


def _half_cauchy(scale: float) -> Distribution:
    return dist.HalfCauchy(1.0)


def _half_normal(scale: float) -> Distribution:
    return dist.HalfNormal(scale)


def _unit_half_normal(scale: float) -> Distribution:
    return dist.HalfNormal(1.0)


def _half_t(scale: float) -> Distribution:
    return dist.HalfStudentT(4.0, scale)


type _Priors = Mapping[str, Callable[[float], Distribution]]
_ALPHA: _Priors = {"alpha": _half_cauchy}
_PSI: _Priors = {"psi": lambda scale: dist.Beta(2.0, 2.0)}


def _gamma(mu: Any, p: Mapping[str, Any]) -> Distribution:
    return dist.Gamma(p["alpha"], p["alpha"] / mu)


def _weibull(mu: Any, p: Mapping[str, Any]) -> Distribution:
    return dist.Weibull(p["alpha"], mu * exp(-gammaln(1.0 + 1.0 / p["alpha"])))


def _beta_binomial(mu: Any, p: Mapping[str, Any]) -> Distribution:
    return dist.BetaBinomial(alpha=mu * p["kappa"], beta=(1.0 - mu) * p["kappa"], n=p["trials"])


FAMILIES: dict[str, Family] = {
    "gaussian": Family(
        "identity",
        _REAL,
        lambda mu, p: dist.Normal(mu, p["sigma"]),
        {"sigma": _half_t},
        scaled=True,
    ),
    "t": Family(
        "identity",
        _REAL,
        lambda mu, p: dist.StudentT(p["nu"], mu, p["sigma"]),
        {"sigma": _half_t, "nu": lambda scale: dist.Gamma(2.0, 0.1)},
        scaled=True,
    ),
    "bernoulli": Family(
        "logit",
        _UNIT,
        lambda mu, p: dist.Bernoulli(mu),
        by_logit=lambda eta, p: dist.Bernoulli(logit_p=eta),
    ),
    "binomial": Family(
        "logit",
        _UNIT,
        lambda mu, p: dist.Binomial(p["trials"], mu),
        by_logit=lambda eta, p: dist.Binomial(p["trials"], logit_p=eta),
    ),
    "poisson": Family("log", _POSITIVE, lambda mu, p: dist.Poisson(mu)),
    "negativebinomial": Family(
        "log", _POSITIVE, lambda mu, p: dist.NegativeBinomial(mu, p["alpha"]), _ALPHA
    ),
    "gamma": Family("log", _POSITIVE, _gamma, _ALPHA),
    "exponential": Family("log", _POSITIVE, lambda mu, p: dist.Exponential(scale=mu)),
    "weibull": Family("log", _POSITIVE, _weibull, _ALPHA),
    "wald": Family("log", _POSITIVE, lambda mu, p: dist.Wald(mu, p["lam"]), {"lam": _half_cauchy}),
    "lognormal": Family(
        "identity",
        _REAL,
        lambda mu, p: dist.LogNormal(mu, p["sigma"]),
        {"sigma": _unit_half_normal},
    ),
    "laplace": Family(
        "identity", _REAL, lambda mu, p: dist.Laplace(mu, p["b"]), {"b": _half_normal}, scaled=True
    ),
    "asymmetriclaplace": Family(
        "identity",
        _REAL,
        lambda mu, p: dist.AsymmetricLaplace(p["kappa"], mu, p["b"]),
        {"b": lambda scale: dist.HalfNormal(1.0 / scale), "kappa": _unit_half_normal},
        scaled=True,
    ),
    "exgaussian": Family(
        "identity",
        _REAL,
        lambda mu, p: dist.ExGaussian(mu, p["sigma"], p["nu"]),
        {"sigma": _half_normal, "nu": _half_normal},
        scaled=True,
    ),
    "vonmises": Family(
        "identity", _REAL, lambda mu, p: dist.VonMises(mu, p["kappa"]), {"kappa": _unit_half_normal}
    ),
    "beta_binomial": Family("logit", _UNIT, _beta_binomial, {"kappa": _half_cauchy}),
    "zero_inflated_poisson": Family(
        "log", _POSITIVE, lambda mu, p: dist.zero_inflated(dist.Poisson(mu), p["psi"]), _PSI
    ),
    "zero_inflated_negativebinomial": Family(
        "log",
        _POSITIVE,
        lambda mu, p: dist.zero_inflated(dist.NegativeBinomial(mu, p["alpha"]), p["psi"]),
        {**_ALPHA, **_PSI},
    ),
    "zero_inflated_binomial": Family(
        "logit",
        _UNIT,
        lambda mu, p: dist.zero_inflated(dist.Binomial(p["trials"], mu), p["psi"]),
        _PSI,
        lambda eta, p: dist.zero_inflated(dist.Binomial(p["trials"], logit_p=eta), p["psi"]),
    ),
    "hurdle_poisson": Family(
        "log", _POSITIVE, lambda mu, p: dist.hurdle(dist.Poisson(mu), p["psi"]), _PSI
    ),
    "hurdle_negativebinomial": Family(
        "log",
        _POSITIVE,
        lambda mu, p: dist.hurdle(dist.NegativeBinomial(mu, p["alpha"]), p["psi"]),
        {**_ALPHA, **_PSI},
    ),
    "hurdle_gamma": Family(
        "log", _POSITIVE, lambda mu, p: dist.hurdle(_gamma(mu, p), p["psi"]), {**_ALPHA, **_PSI}
    ),
    "hurdle_lognormal": Family(
        "identity",
        _REAL,
        lambda mu, p: dist.hurdle(dist.LogNormal(mu, p["sigma"]), p["psi"]),
        {"sigma": _unit_half_normal, **_PSI},
    ),
    "beta": Family(
        "logit",
        _UNIT,
        lambda mu, p: dist.Beta(mu * p["kappa"], (1.0 - mu) * p["kappa"]),
        {"kappa": _half_cauchy},
    ),
    "categorical": Family(
        "softmax", ("softmax",), lambda logits, p: dist.Categorical(logits=logits, dim=p["dim"])
    ),
    "ordinal": Family(
        "logit",
        ("logit", "probit"),
        lambda eta, p: dist.OrderedProbit(eta, p["threshold"], p["dim"]),
        {"threshold": lambda scale: dist.Normal(0.0, 2.0)},
        by_logit=lambda eta, p: dist.OrderedLogistic(eta, p["threshold"], p["dim"]),
    ),
}


# families with the response p(successes, trials)
OF_TRIALS = ("binomial", "beta_binomial", "zero_inflated_binomial")
FAMILIES["cumulative"] = FAMILIES["ordinal"]


def family_of(name: str, link: str | None) -> tuple[Family, str]:
    """Return a family by name, and its link.

    Raises
    ------
    OptionError
        If the family does not exist, or does not support the link.
    """
    if name not in FAMILIES:
        guess = did_you_mean(name, list(FAMILIES)) if isinstance(name, str) else ""
        raise OptionError(
            f"from_formula: there is no family {name!r}{guess}",
            [("families", listing(list(FAMILIES)))],
        )
    family = FAMILIES[name]
    if link is not None and link not in family.links:
        raise OptionError(
            f"from_formula: the family {name} has no link {link!r}"
            f"{did_you_mean(str(link), list(family.links))}",
            [("links", listing(family.links))],
        )
    return family, link or family.link


def response_of(
    family: Family, link: str, eta: DimTensor, parameters: Mapping[str, Any]
) -> Distribution:
    """Return the distribution of the response given its linear predictor."""
    if link == "logit" and family.by_logit is not None:
        return family.by_logit(eta, parameters)
    labels = "dim" in parameters
    return family.make(eta if labels else INVERSE_LINKS[link](eta), parameters)
