"""Constructors of distributions, one per row of the distribution table.

Written by tools/generate_distributions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import Any

from dimtensor.dist.catalogue import TABLE
from dimtensor.dist.distribution import TableDistribution

__all__ = [
    "AsymmetricLaplace",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Cauchy",
    "ExGaussian",
    "Exponential",
    "Flat",
    "Gamma",
    "GeneralizedExtremeValue",
    "GeneralizedNormal",
    "Gumbel",
    "HalfNormal",
    "HyperbolicSecant",
    "JohnsonSU",
    "Laplace",
    "LogGamma",
    "LogNormal",
    "Logistic",
    "Moyal",
    "Normal",
    "Poisson",
    "SkewNormal",
    "SkewStudentT",
    "StudentT",
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
    given = {"mu": mu, "sigma": sigma, "tau": tau}
    return TableDistribution(TABLE["Normal"], given)


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
    given = {"mu": mu, "sigma": sigma}
    return TableDistribution(TABLE["Cauchy"], given)


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
    given = {"mu": mu, "b": b}
    return TableDistribution(TABLE["Laplace"], given)


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
    given = {"mu": mu, "s": s}
    return TableDistribution(TABLE["Logistic"], given)


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
    given = {"mu": mu, "beta": beta}
    return TableDistribution(TABLE["Gumbel"], given)


def StudentT(
    nu: Any = None, mu: Any = None, sigma: Any = None, *, lam: Any = None
) -> TableDistribution:
    """Student's t distribution.

    The density is Γ((nu+1)/2) / (Γ(nu/2) sigma √(nu π)) (1 + z²/nu)^(-(nu+1)/2), z = (x - mu)
    / sigma.

    Parameters
    ----------
    nu : DimTensor or number, optional
        Degrees of freedom; above 0.
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    lam : DimTensor or number, optional
        1 / sigma²; above 0. With nu, mu.

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
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 28.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.StudentT(4.5, 0.5, 1.2)
    StudentT(nu=4.5, mu=0.5, sigma=1.2)
    """
    given = {"nu": nu, "mu": mu, "sigma": sigma, "lam": lam}
    return TableDistribution(TABLE["StudentT"], given)


def AsymmetricLaplace(
    kappa: Any = None, mu: Any = None, b: Any = None, *, q: Any = None
) -> TableDistribution:
    """The Laplace distribution with two rates, b kappa above mu and b / kappa below.

    The density is b / (kappa + 1/kappa) exp(-(x - mu) b s kappa^s), s = sign(x - mu).

    Parameters
    ----------
    kappa : DimTensor or number, optional
        Asymmetry; above 0.
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    b : DimTensor or number, optional
        Rate; above 0. By default 1.
    q : DimTensor or number, optional
        Probability of values below mu; between 0 and 1. With mu, b.

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
    Kotz, Kozubowski and Podgórski, The Laplace Distribution (2001), chapter 3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.AsymmetricLaplace(1.4, 0.3, 1.1)
    AsymmetricLaplace(kappa=1.4, mu=0.3, b=1.1)
    """
    given = {"kappa": kappa, "mu": mu, "b": b, "q": q}
    return TableDistribution(TABLE["AsymmetricLaplace"], given)


def ExGaussian(mu: Any = None, sigma: Any = None, nu: Any = None) -> TableDistribution:
    """The sum of a normal and an exponential variable.

    The density is exp((mu - x) / nu + sigma² / (2 nu²)) Φ((x - mu) / sigma - sigma / nu) /
    nu.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean of the normal; a real number. By default 0.
    sigma : DimTensor or number, optional
        Its standard deviation; above 0. By default 1.
    nu : DimTensor or number, optional
        Mean of the exponential; above 0. By default 1.

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
    Grushka, Analytical Chemistry 44, 1733-1738 (1972).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.ExGaussian(0.5, 0.8, 1.5)
    ExGaussian(mu=0.5, sigma=0.8, nu=1.5)
    """
    given = {"mu": mu, "sigma": sigma, "nu": nu}
    return TableDistribution(TABLE["ExGaussian"], given)


def SkewNormal(
    mu: Any = None, sigma: Any = None, alpha: Any = None, *, tau: Any = None
) -> TableDistribution:
    """The skew normal distribution of Azzalini.

    The density is 2 φ(z) Φ(alpha z) / sigma, z = (x - mu) / sigma.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    alpha : DimTensor or number, optional
        Skewness; a real number. By default 1.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0. With mu, alpha.

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
    Azzalini, Scandinavian Journal of Statistics 12, 171-178 (1985).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.SkewNormal(0.3, 1.2, 2.0)
    SkewNormal(mu=0.3, sigma=1.2, alpha=2)
    """
    given = {"mu": mu, "sigma": sigma, "alpha": alpha, "tau": tau}
    return TableDistribution(TABLE["SkewNormal"], given)


def SkewStudentT(
    a: Any = None, b: Any = None, mu: Any = None, sigma: Any = None, *, lam: Any = None
) -> TableDistribution:
    """The skew t distribution of Jones and Faddy.

    The density is (1 + u)^(a + 1/2) (1 - u)^(b + 1/2) / (2^(a+b-1) B(a, b) √(a + b) sigma), u
    = z / √(a + b + z²), z = (x - mu) / sigma.

    Parameters
    ----------
    a : DimTensor or number, optional
        Shape on the left; above 0.
    b : DimTensor or number, optional
        Shape on the right; above 0.
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    lam : DimTensor or number, optional
        1 / sigma²; above 0. With a, b, mu.

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
    Jones and Faddy, Journal of the Royal Statistical Society B 65, 159-174 (2003).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.SkewStudentT(3.0, 2.0, 0.3, 1.1)
    SkewStudentT(a=3, b=2, mu=0.3, sigma=1.1)
    """
    given = {"a": a, "b": b, "mu": mu, "sigma": sigma, "lam": lam}
    return TableDistribution(TABLE["SkewStudentT"], given)


def Moyal(mu: Any = None, sigma: Any = None) -> TableDistribution:
    """The Moyal distribution, of energy losses of particles.

    The density is exp(-(z + exp(-z)) / 2) / (sigma √(2π)), z = (x - mu) / sigma.

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
    Walck, Statistical Distributions for Experimentalists (2007), chapter 26.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Moyal(0.3, 0.9)
    Moyal(mu=0.3, sigma=0.9)
    """
    given = {"mu": mu, "sigma": sigma}
    return TableDistribution(TABLE["Moyal"], given)


def Flat() -> TableDistribution:
    """The improper density that is 1 everywhere.

    The density is 1.

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
    Gelman et al., Bayesian Data Analysis (2013), section 2.8.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Flat()
    Flat()
    """
    given = {}
    return TableDistribution(TABLE["Flat"], given)


def HyperbolicSecant(mu: Any = None, sigma: Any = None) -> TableDistribution:
    """The hyperbolic secant distribution.

    The density is 1 / (π sigma cosh(z)), z = (x - mu) / sigma.

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
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section
    23.11.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.HyperbolicSecant(0.3, 0.8)
    HyperbolicSecant(mu=0.3, sigma=0.8)
    """
    given = {"mu": mu, "sigma": sigma}
    return TableDistribution(TABLE["HyperbolicSecant"], given)


def GeneralizedNormal(mu: Any = None, sigma: Any = None, beta: Any = None) -> TableDistribution:
    """The exponential power distribution: normal for beta = 2, Laplace for beta = 1.

    The density is beta exp(-|z|^beta) / (2 sigma Γ(1/beta)), z = (x - mu) / sigma.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    beta : DimTensor or number
        Power; above 0.

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
    Nadarajah, Journal of Applied Statistics 32, 685-694 (2005).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.GeneralizedNormal(0.3, 1.2, 3.0)
    GeneralizedNormal(mu=0.3, sigma=1.2, beta=3)
    """
    given = {"mu": mu, "sigma": sigma, "beta": beta}
    return TableDistribution(TABLE["GeneralizedNormal"], given)


def JohnsonSU(
    gamma: Any = None, delta: Any = None, mu: Any = None, sigma: Any = None
) -> TableDistribution:
    """The unbounded distribution of Johnson: gamma + delta arsinh(z) is normal.

    The density is delta φ(gamma + delta arsinh(z)) / (sigma √(1 + z²)), z = (x - mu) / sigma.

    Parameters
    ----------
    gamma : DimTensor or number
        Skewness; a real number.
    delta : DimTensor or number
        Tail weight; above 0.
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
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    12.4.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.JohnsonSU(0.5, 1.5, 0.3, 1.1)
    JohnsonSU(gamma=0.5, delta=1.5, mu=0.3, sigma=1.1)
    """
    given = {"gamma": gamma, "delta": delta, "mu": mu, "sigma": sigma}
    return TableDistribution(TABLE["JohnsonSU"], given)


def GeneralizedExtremeValue(mu: Any = None, sigma: Any = None, xi: Any = None) -> TableDistribution:
    """The distribution of maxima: Gumbel for xi = 0, Fréchet above, Weibull below.

    The density is t^(xi + 1) exp(-t) / sigma, t = (1 + xi z)^(-1/xi), z = (x - mu) / sigma.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    xi : DimTensor or number
        Shape; a real number.

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
    Coles, Statistical Modeling of Extreme Values (2001), chapter 3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.GeneralizedExtremeValue(0.3, 0.9, 0.2)
    GeneralizedExtremeValue(mu=0.3, sigma=0.9, xi=0.2)
    """
    given = {"mu": mu, "sigma": sigma, "xi": xi}
    return TableDistribution(TABLE["GeneralizedExtremeValue"], given)


def LogGamma(c: Any = None, mu: Any = None, sigma: Any = None) -> TableDistribution:
    """The distribution of the logarithm of a gamma variable.

    The density is exp(c z - exp(z)) / (Γ(c) sigma), z = (x - mu) / sigma.

    Parameters
    ----------
    c : DimTensor or number
        Shape; above 0.
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
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section
    22.10.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.LogGamma(1.7, 0.3, 1.1)
    LogGamma(c=1.7, mu=0.3, sigma=1.1)
    """
    given = {"c": c, "mu": mu, "sigma": sigma}
    return TableDistribution(TABLE["LogGamma"], given)


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
    given = {"sigma": sigma, "tau": tau}
    return TableDistribution(TABLE["HalfNormal"], given)


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
    given = {"lam": lam, "scale": scale}
    return TableDistribution(TABLE["Exponential"], given)


def Gamma(
    alpha: Any = None, beta: Any = None, *, mu: Any = None, sigma: Any = None, scale: Any = None
) -> TableDistribution:
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
    given = {"alpha": alpha, "beta": beta, "mu": mu, "sigma": sigma, "scale": scale}
    return TableDistribution(TABLE["Gamma"], given)


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
    given = {"mu": mu, "sigma": sigma, "tau": tau}
    return TableDistribution(TABLE["LogNormal"], given)


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
    given = {"lower": lower, "upper": upper}
    return TableDistribution(TABLE["Uniform"], given)


def Beta(
    alpha: Any = None, beta: Any = None, *, mu: Any = None, sigma: Any = None, nu: Any = None
) -> TableDistribution:
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
    given = {"alpha": alpha, "beta": beta, "mu": mu, "sigma": sigma, "nu": nu}
    return TableDistribution(TABLE["Beta"], given)


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
    given = {"p": p, "logit_p": logit_p}
    return TableDistribution(TABLE["Bernoulli"], given)


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
    given = {"n": n, "p": p, "logit_p": logit_p}
    return TableDistribution(TABLE["Binomial"], given)


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
    given = {"mu": mu}
    return TableDistribution(TABLE["Poisson"], given)
