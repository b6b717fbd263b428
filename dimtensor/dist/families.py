"""Constructors of distributions, one per row of the distribution table.

Written by tools/generate_distributions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import Any

from dimtensor.dist.catalogue import TABLE
from dimtensor.dist.distribution import TableDistribution

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Cauchy",
    "Exponential",
    "Gamma",
    "Gumbel",
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Normal",
    "Poisson",
    "Uniform",
]


def Normal(mu: Any = None, sigma: Any = None, *, tau: Any = None) -> TableDistribution:
    """The normal or Gaussian distribution.

    The density is exp(-(x - mu)² / (2 sigma²)) / (sigma √(2π)).

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean; a real number. By default 0.
    sigma : DimTensor or number, optional
        Standard deviation; above 0. By default 1.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0. With mu.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 13.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Normal(0.5, 1.5)
    Normal(mu=0.5, sigma=1.5)
    """
    return TableDistribution(TABLE["Normal"], {"mu": mu, "sigma": sigma, "tau": tau})


def Cauchy(mu: Any = None, sigma: Any = None) -> TableDistribution:
    """The Cauchy or Lorentz distribution.

    The density is 1 / (π sigma (1 + ((x - mu) / sigma)²)).

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 16.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Cauchy(-0.5, 0.8)
    Cauchy(mu=-0.5, sigma=0.8)
    """
    return TableDistribution(TABLE["Cauchy"], {"mu": mu, "sigma": sigma})


def Laplace(mu: Any = None, b: Any = None) -> TableDistribution:
    """The Laplace or double exponential distribution.

    The density is exp(-|x - mu| / b) / (2 b).

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    b : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 24.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Laplace(0.5, 0.7)
    Laplace(mu=0.5, b=0.7)
    """
    return TableDistribution(TABLE["Laplace"], {"mu": mu, "b": b})


def Logistic(mu: Any = None, s: Any = None) -> TableDistribution:
    """The logistic distribution.

    The density is exp(-z) / (s (1 + exp(-z))²), z = (x - mu) / s.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    s : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 23.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Logistic(0.5, 0.6)
    Logistic(mu=0.5, s=0.6)
    """
    return TableDistribution(TABLE["Logistic"], {"mu": mu, "s": s})


def Gumbel(mu: Any = None, beta: Any = None) -> TableDistribution:
    """The Gumbel distribution, of maxima.

    The density is exp(-z - exp(-z)) / beta, z = (x - mu) / beta.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    beta : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 22.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Gumbel(0.5, 0.9)
    Gumbel(mu=0.5, beta=0.9)
    """
    return TableDistribution(TABLE["Gumbel"], {"mu": mu, "beta": beta})


def HalfNormal(sigma: Any = None, *, tau: Any = None) -> TableDistribution:
    """The normal distribution around 0, of absolute values.

    The density is √2 exp(-x² / (2 sigma²)) / (sigma √π).

    Parameters
    ----------
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    13.10.1.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.HalfNormal(1.5)
    HalfNormal(sigma=1.5)
    """
    return TableDistribution(TABLE["HalfNormal"], {"sigma": sigma, "tau": tau})


def Exponential(lam: Any = None, *, scale: Any = None) -> TableDistribution:
    """The exponential distribution.

    The density is lam exp(-lam x).

    Parameters
    ----------
    lam : DimTensor or number, optional
        Rate; above 0. By default 1.
    scale : DimTensor or number, optional
        1 / lam; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 19.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Exponential(0.7)
    Exponential(lam=0.7)
    """
    return TableDistribution(TABLE["Exponential"], {"lam": lam, "scale": scale})


def Gamma(alpha: Any = None, beta: Any = None, *, mu: Any = None, sigma: Any = None, scale: Any = None) -> TableDistribution:
    """The gamma distribution.

    The density is beta^alpha x^(alpha - 1) exp(-beta x) / Γ(alpha).

    Parameters
    ----------
    alpha : DimTensor or number, optional
        Shape; above 0.
    beta : DimTensor or number, optional
        Rate; above 0. By default 1.
    mu : DimTensor or number, optional
        Mean; above 0. With sigma.
    sigma : DimTensor or number, optional
        Standard deviation; above 0. With mu.
    scale : DimTensor or number, optional
        1 / beta; above 0. With alpha.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 17.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Gamma(2.5, 1.3)
    Gamma(alpha=2.5, beta=1.3)
    """
    return TableDistribution(TABLE["Gamma"], {"alpha": alpha, "beta": beta, "mu": mu, "sigma": sigma, "scale": scale})


def LogNormal(mu: Any = None, sigma: Any = None, *, tau: Any = None) -> TableDistribution:
    """The distribution of exp(y) where y is normal.

    The density is exp(-(log x - mu)² / (2 sigma²)) / (x sigma √(2π)).

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean of log x; a real number. By default 0.
    sigma : DimTensor or number, optional
        Its deviation; above 0. By default 1.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0. With mu.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 14.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.LogNormal(0.2, 0.5)
    LogNormal(mu=0.2, sigma=0.5)
    """
    return TableDistribution(TABLE["LogNormal"], {"mu": mu, "sigma": sigma, "tau": tau})


def Uniform(lower: Any = None, upper: Any = None) -> TableDistribution:
    """The uniform distribution.

    The density is 1 / (upper - lower).

    Parameters
    ----------
    lower : DimTensor or number, optional
        Lower end; a real number. By default 0.
    upper : DimTensor or number, optional
        Upper end; a real number. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 26.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Uniform(-1.0, 2.0)
    Uniform(lower=-1, upper=2)
    """
    return TableDistribution(TABLE["Uniform"], {"lower": lower, "upper": upper})


def Beta(alpha: Any = None, beta: Any = None, *, mu: Any = None, sigma: Any = None, nu: Any = None) -> TableDistribution:
    """The beta distribution.

    The density is x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta).

    Parameters
    ----------
    alpha : DimTensor or number, optional
        Shape at 0; above 0.
    beta : DimTensor or number, optional
        Shape at 1; above 0.
    mu : DimTensor or number, optional
        Mean; between 0 and 1. With sigma.
    sigma : DimTensor or number, optional
        Standard deviation; above 0. With mu.
    nu : DimTensor or number, optional
        Alpha + beta; above 0. With mu.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 25.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Beta(2.0, 3.5)
    Beta(alpha=2, beta=3.5)
    """
    return TableDistribution(TABLE["Beta"], {"alpha": alpha, "beta": beta, "mu": mu, "sigma": sigma, "nu": nu})


def Bernoulli(p: Any = None, *, logit_p: Any = None) -> TableDistribution:
    """One trial: 1 with a probability, else 0.

    The probability of k is p^k (1 - p)^(1 - k).

    Parameters
    ----------
    p : DimTensor or number, optional
        Probability of 1; a probability.
    logit_p : DimTensor or number, optional
        Log odds, log p - log(1 - p); a real number.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), section 3.2.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Bernoulli(0.3)
    Bernoulli(p=0.3)
    """
    return TableDistribution(TABLE["Bernoulli"], {"p": p, "logit_p": logit_p})


def Binomial(n: Any = None, p: Any = None, *, logit_p: Any = None) -> TableDistribution:
    """Number of successes in independent trials.

    The probability of k is C(n, k) p^k (1 - p)^(n - k).

    Parameters
    ----------
    n : DimTensor or number, optional
        Number of trials; a whole number from 0 on.
    p : DimTensor or number, optional
        Probability of success; a probability.
    logit_p : DimTensor or number, optional
        Log odds, log p - log(1 - p); a real number. With n.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), chapter 3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Binomial(9, 0.35)
    Binomial(n=9, p=0.35)
    """
    return TableDistribution(TABLE["Binomial"], {"n": n, "p": p, "logit_p": logit_p})


def Poisson(mu: Any) -> TableDistribution:
    """Number of independent events in an interval.

    The probability of k is mu^k exp(-mu) / k!.

    Parameters
    ----------
    mu : DimTensor or number
        Expected number; 0 or above.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the parameters do not go together, or a known one is not in its range.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), chapter 4.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Poisson(3.2)
    Poisson(mu=3.2)
    """
    return TableDistribution(TABLE["Poisson"], {"mu": mu})
