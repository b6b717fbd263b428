"""Constructors of distributions, one per row of the distribution table.

Written by tools/generate_distributions.py; change the table instead.
"""

# over budget: generated, one signature per row

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dist.tabulated import row_constructor

if TYPE_CHECKING:
    from dimtensor.typing import TensorLike

__all__ = [
    "PERT", "Arcsine", "AsymmetricLaplace", "Bernoulli", "Beta", "BetaBinomial",
    "BetaNegativeBinomial", "BetaPrime", "BetaScaled", "Binomial", "BirnbaumSaunders", "Burr",
    "Cauchy", "Chi", "ChiSquared", "ContinuousBernoulli", "DiscreteLaplace", "DiscreteUniform",
    "DiscreteWeibull", "ExGaussian", "Exponential", "FisherSnedecor", "Flat", "Frechet", "Gamma",
    "GeneralizedExtremeValue", "GeneralizedGamma", "GeneralizedNormal", "GeneralizedPareto",
    "Geometric", "Gompertz", "Gumbel", "HalfCauchy", "HalfFlat", "HalfLogistic", "HalfNormal",
    "HalfStudentT", "HyperGeometric", "HyperbolicSecant", "InverseChiSquared", "InverseGamma",
    "JohnsonSU", "Kumaraswamy", "Laplace", "Levy", "LogGamma", "LogLogistic", "LogNormal",
    "LogSeries", "LogUniform", "Logistic", "LogitNormal", "Lomax", "Maxwell", "Moyal", "Nakagami",
    "NegativeBinomial", "Normal", "Pareto", "Poisson", "PolyaGamma", "PowerFunction",
    "RaisedCosine", "Rayleigh", "Rice", "ScaledInverseChiSquared", "Semicircle", "SkewNormal",
    "SkewStudentT", "StudentT", "Triangular", "TruncatedNormal", "Uniform", "VonMises", "Wald",
    "Weibull", "WrappedCauchy", "YuleSimon",
]  # fmt: skip


@row_constructor
def Normal(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, *, tau: TensorLike | None = None
) -> None:
    """The normal or Gaussian distribution.

    The density is ``exp(-(x - mu)² / (2 sigma²)) / (sigma √(2π))``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Cauchy(mu: TensorLike | None = None, sigma: TensorLike | None = None) -> None:
    """The Cauchy or Lorentz distribution.

    The density is ``1 / (π sigma (1 + ((x - mu) / sigma)²))``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Laplace(mu: TensorLike | None = None, b: TensorLike | None = None) -> None:
    """The Laplace or double exponential distribution.

    The density is ``exp(-|x - mu| / b) / (2 b)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Logistic(mu: TensorLike | None = None, s: TensorLike | None = None) -> None:
    """The logistic distribution.

    The density is ``exp(-z) / (s (1 + exp(-z))²), z = (x - mu) / s``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Gumbel(mu: TensorLike | None = None, beta: TensorLike | None = None) -> None:
    """The Gumbel distribution, of maxima.

    The density is ``exp(-z - exp(-z)) / beta, z = (x - mu) / beta``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def StudentT(
    nu: TensorLike | None = None,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
    *,
    lam: TensorLike | None = None,
) -> None:
    """Student's t distribution.

    The density is ``Γ((nu+1)/2) / (Γ(nu/2) sigma √(nu π)) (1 + z²/nu)^(-(nu+1)/2), z = (x -
    mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def AsymmetricLaplace(
    kappa: TensorLike | None = None,
    mu: TensorLike | None = None,
    b: TensorLike | None = None,
    *,
    q: TensorLike | None = None,
) -> None:
    """The Laplace distribution with two rates, b kappa above mu and b / kappa below.

    The density is ``b / (kappa + 1/kappa) exp(-(x - mu) b s kappa^s), s = sign(x - mu)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def ExGaussian(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, nu: TensorLike | None = None
) -> None:
    """The sum of a normal and an exponential variable.

    The density is ``exp((mu - x) / nu + sigma² / (2 nu²)) Φ((x - mu) / sigma - sigma / nu) /
    nu``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def SkewNormal(
    *,
    alpha: TensorLike | None = None,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
    tau: TensorLike | None = None,
) -> None:
    """The skew normal distribution of Azzalini.

    The density is ``2 φ(z) Φ(alpha z) / sigma, z = (x - mu) / sigma``.

    Parameters
    ----------
    alpha : DimTensor or number, optional
        Skewness; a real number. By default 1.
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0. With alpha, mu.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.SkewNormal(alpha=2.0, mu=0.3, sigma=1.2)
    SkewNormal(alpha=2, mu=0.3, sigma=1.2)
    """


@row_constructor
def SkewStudentT(
    a: TensorLike | None = None,
    b: TensorLike | None = None,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
    *,
    lam: TensorLike | None = None,
) -> None:
    """The skew t distribution of Jones and Faddy.

    The density is ``(1 + u)^(a + 1/2) (1 - u)^(b + 1/2) / (2^(a+b-1) B(a, b) √(a + b) sigma),
    u = z / √(a + b + z²), z = (x - mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Moyal(mu: TensorLike | None = None, sigma: TensorLike | None = None) -> None:
    """The Moyal distribution, of energy losses of particles.

    The density is ``exp(-(z + exp(-z)) / 2) / (sigma √(2π)), z = (x - mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Flat() -> None:
    """The improper density that is 1 everywhere.

    The density is ``1``.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def HyperbolicSecant(mu: TensorLike | None = None, sigma: TensorLike | None = None) -> None:
    """The hyperbolic secant distribution.

    The density is ``1 / (π sigma cosh(z)), z = (x - mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def GeneralizedNormal(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, beta: TensorLike | None = None
) -> None:
    """The exponential power distribution: normal for beta = 2, Laplace for beta = 1.

    The density is ``beta exp(-|z|^beta) / (2 sigma Γ(1/beta)), z = (x - mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def JohnsonSU(
    gamma: TensorLike | None = None,
    delta: TensorLike | None = None,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
) -> None:
    """The unbounded distribution of Johnson: gamma + delta arsinh(z) is normal.

    The density is ``delta φ(gamma + delta arsinh(z)) / (sigma √(1 + z²)), z = (x - mu) /
    sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def GeneralizedExtremeValue(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, xi: TensorLike | None = None
) -> None:
    """The distribution of maxima: Gumbel for xi = 0, Fréchet above, Weibull below.

    The density is ``t^(xi + 1) exp(-t) / sigma, t = (1 + xi z)^(-1/xi), z = (x - mu) /
    sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def LogGamma(
    c: TensorLike | None = None, mu: TensorLike | None = None, sigma: TensorLike | None = None
) -> None:
    """The distribution of the logarithm of a gamma variable.

    The density is ``exp(c z - exp(z)) / (Γ(c) sigma), z = (x - mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def HalfNormal(sigma: TensorLike | None = None, *, tau: TensorLike | None = None) -> None:
    """The normal distribution around 0, of absolute values.

    The density is ``√2 exp(-x² / (2 sigma²)) / (sigma √π)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Exponential(lam: TensorLike | None = None, *, scale: TensorLike | None = None) -> None:
    """The exponential distribution.

    The density is ``lam exp(-lam x)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def LogNormal(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, *, tau: TensorLike | None = None
) -> None:
    """The distribution of exp(y) where y is normal.

    The density is ``exp(-(log x - mu)² / (2 sigma²)) / (x sigma √(2π))``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def HalfFlat() -> None:
    """The improper density that is 1 on all positive numbers.

    The density is ``1``.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.HalfFlat()
    HalfFlat()
    """


@row_constructor
def HalfCauchy(beta: TensorLike | None = None) -> None:
    """The Cauchy distribution around 0, of absolute values.

    The density is ``2 / (π beta (1 + (x / beta)²))``.

    Parameters
    ----------
    beta : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Gelman, Bayesian Analysis 1, 515-534 (2006).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.HalfCauchy(1.3)
    HalfCauchy(beta=1.3)
    """


@row_constructor
def HalfStudentT(
    nu: TensorLike | None = None, sigma: TensorLike | None = None, *, lam: TensorLike | None = None
) -> None:
    """Student's t distribution around 0, of absolute values.

    The density is ``2 Γ((nu+1)/2) / (Γ(nu/2) sigma √(nu π)) (1 + (x /
    sigma)²/nu)^(-(nu+1)/2)``.

    Parameters
    ----------
    nu : DimTensor or number, optional
        Degrees of freedom; above 0.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    lam : DimTensor or number, optional
        1 / sigma²; above 0. With nu.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Gelman, Bayesian Analysis 1, 515-534 (2006).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.HalfStudentT(4.0, 1.3)
    HalfStudentT(nu=4, sigma=1.3)
    """


@row_constructor
def HalfLogistic(s: TensorLike | None = None) -> None:
    """The logistic distribution around 0, of absolute values.

    The density is ``2 exp(-z) / (s (1 + exp(-z))²), z = x / s``.

    Parameters
    ----------
    s : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.HalfLogistic(1.2)
    HalfLogistic(s=1.2)
    """


@row_constructor
def Rayleigh(sigma: TensorLike | None = None) -> None:
    """The Rayleigh distribution: the length of a normal vector of two elements.

    The density is ``x exp(-x² / (2 sigma²)) / sigma²``.

    Parameters
    ----------
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    18.10.1.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Rayleigh(1.2)
    Rayleigh(sigma=1.2)
    """


@row_constructor
def Rice(
    nu: TensorLike | None = None, sigma: TensorLike | None = None, *, b: TensorLike | None = None
) -> None:
    """The Rice distribution: the length of a normal vector that is not around 0.

    The density is ``x exp(-(x² + nu²) / (2 sigma²)) I₀(x nu / sigma²) / sigma²``.

    Parameters
    ----------
    nu : DimTensor or number, optional
        Length of the mean; 0 or above.
    sigma : DimTensor or number, optional
        Scale; above 0. By default 1.
    b : DimTensor or number, optional
        Nu / sigma; 0 or above. With sigma.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Rice, Bell System Technical Journal 24, 46-156 (1945).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Rice(1.5, 0.9)
    Rice(nu=1.5, sigma=0.9)
    """


@row_constructor
def Wald(
    mu: TensorLike | None = None,
    lam: TensorLike | None = None,
    *,
    alpha: TensorLike | None = None,
    phi: TensorLike | None = None,
) -> None:
    """The inverse Gaussian distribution, from alpha on.

    The density is ``√(lam / (2π y³)) exp(-lam (y - mu)² / (2 mu² y)), y = x - alpha``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean of y; above 0.
    lam : DimTensor or number, optional
        Shape; above 0. By default 1.
    alpha : DimTensor or number, optional
        Shift; a real number. By default 0.
    phi : DimTensor or number, optional
        Lam / mu; above 0. With mu, alpha.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 15.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Wald(1.5, 2.0, alpha=0.0)
    Wald(mu=1.5, lam=2, alpha=0)
    """


@row_constructor
def Gamma(
    alpha: TensorLike | None = None,
    beta: TensorLike | None = None,
    *,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
    scale: TensorLike | None = None,
) -> None:
    """The gamma distribution.

    The density is ``beta^alpha x^(alpha - 1) exp(-beta x) / Γ(alpha)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def ChiSquared(nu: TensorLike) -> None:
    """The chi-squared distribution.

    The density is ``x^(nu/2 - 1) exp(-x/2) / (2^(nu/2) Γ(nu/2))``.

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 18.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.ChiSquared(3.5)
    ChiSquared(nu=3.5)
    """


@row_constructor
def Chi(nu: TensorLike) -> None:
    """The chi distribution: the root of a chi-squared variable.

    The density is ``x^(nu - 1) exp(-x²/2) / (2^(nu/2 - 1) Γ(nu/2))``.

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    18.10.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Chi(3.0)
    Chi(nu=3)
    """


@row_constructor
def Maxwell(a: TensorLike | None = None) -> None:
    """The Maxwell distribution: the length of a normal vector of three elements.

    The density is ``√(2/π) x² exp(-x² / (2 a²)) / a³``.

    Parameters
    ----------
    a : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    18.10.2.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Maxwell(1.2)
    Maxwell(a=1.2)
    """


@row_constructor
def Nakagami(m: TensorLike | None = None, omega: TensorLike | None = None) -> None:
    """The Nakagami distribution: the root of a gamma variable.

    The density is ``2 m^m x^(2m - 1) exp(-m x² / omega) / (Γ(m) omega^m)``.

    Parameters
    ----------
    m : DimTensor or number
        Shape; above 0.
    omega : DimTensor or number, optional
        Mean of the square; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Nakagami, Statistical Methods in Radio Wave Propagation, 3-36 (1960).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Nakagami(1.7, 2.0)
    Nakagami(m=1.7, omega=2)
    """


@row_constructor
def InverseGamma(
    alpha: TensorLike | None = None,
    beta: TensorLike | None = None,
    *,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
) -> None:
    """The distribution of one divided by a gamma variable.

    The density is ``beta^alpha x^(-alpha - 1) exp(-beta / x) / Γ(alpha)``.

    Parameters
    ----------
    alpha : DimTensor or number, optional
        Shape; above 0.
    beta : DimTensor or number, optional
        Scale; above 0. By default 1.
    mu : DimTensor or number, optional
        Mean; above 0. With sigma.
    sigma : DimTensor or number, optional
        Standard deviation; above 0. With mu.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    17.8.4.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.InverseGamma(3.5, 2.0)
    InverseGamma(alpha=3.5, beta=2)
    """


@row_constructor
def InverseChiSquared(nu: TensorLike) -> None:
    """The distribution of one divided by a chi-squared variable.

    The density is ``x^(-nu/2 - 1) exp(-1 / (2x)) / (2^(nu/2) Γ(nu/2))``.

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Gelman et al., Bayesian Data Analysis (2013), appendix A.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.InverseChiSquared(6.0)
    InverseChiSquared(nu=6)
    """


@row_constructor
def ScaledInverseChiSquared(nu: TensorLike | None = None, tau: TensorLike | None = None) -> None:
    """The distribution of nu tau² divided by a chi-squared variable.

    The density is ``(nu tau²/2)^(nu/2) x^(-nu/2 - 1) exp(-nu tau² / (2x)) / Γ(nu/2)``.

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom; above 0.
    tau : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Gelman et al., Bayesian Data Analysis (2013), appendix A.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.ScaledInverseChiSquared(6.0, 1.2)
    ScaledInverseChiSquared(nu=6, tau=1.2)
    """


@row_constructor
def GeneralizedGamma(
    a: TensorLike | None = None, c: TensorLike | None = None, scale: TensorLike | None = None
) -> None:
    """The distribution of a power of a gamma variable.

    The density is ``c z^(a c - 1) exp(-z^c) / (scale Γ(a)), z = x / scale``.

    Parameters
    ----------
    a : DimTensor or number
        Shape; above 0.
    c : DimTensor or number
        Power; above 0.
    scale : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Stacy, Annals of Mathematical Statistics 33, 1187-1192 (1962).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.GeneralizedGamma(1.5, 2.5, 1.4)
    GeneralizedGamma(a=1.5, c=2.5, scale=1.4)
    """


@row_constructor
def PolyaGamma(h: TensorLike | None = None, z: TensorLike | None = None) -> None:
    """The Pólya-gamma distribution: an infinite sum of gamma variables.

    The density is ``cosh(z/2)^h exp(-z² x/2) 2^(h - 1) / Γ(h) Σ (-1)^n Γ(n + h) / n! (2n + h)
    / √(2π x³) exp(-(2n + h)² / (8x))``.

    Parameters
    ----------
    h : DimTensor or number, optional
        Shape; above 0. By default 1.
    z : DimTensor or number, optional
        Tilt; a real number. By default 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Polson, Scott and Windle, Journal of the American Statistical Association 108, 1339-1349
    (2013).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.PolyaGamma(1.5, 1.0)
    PolyaGamma(h=1.5, z=1)
    """


@row_constructor
def Weibull(alpha: TensorLike | None = None, beta: TensorLike | None = None) -> None:
    """The Weibull distribution, of lifetimes.

    The density is ``alpha/beta (x/beta)^(alpha - 1) exp(-(x/beta)^alpha)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape; above 0.
    beta : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 21.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Weibull(1.7, 1.3)
    Weibull(alpha=1.7, beta=1.3)
    """


@row_constructor
def Frechet(alpha: TensorLike | None = None, s: TensorLike | None = None) -> None:
    """The Fréchet or inverse Weibull distribution.

    The density is ``alpha/s (x/s)^(-1 - alpha) exp(-(x/s)^(-alpha))``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape; above 0.
    s : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.Frechet(3.5, 1.3)
    Frechet(alpha=3.5, s=1.3)
    """


@row_constructor
def Pareto(alpha: TensorLike | None = None, m: TensorLike | None = None) -> None:
    """The Pareto distribution, from m on.

    The density is ``alpha m^alpha / x^(alpha + 1)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape; above 0.
    m : DimTensor or number, optional
        Smallest value; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), chapter 20.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Pareto(3.5, 1.2)
    Pareto(alpha=3.5, m=1.2)
    """


@row_constructor
def Lomax(alpha: TensorLike | None = None, lam: TensorLike | None = None) -> None:
    """The Lomax distribution: a Pareto variable from 0 on.

    The density is ``alpha/lam (1 + x/lam)^(-alpha - 1)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape; above 0.
    lam : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section 20.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Lomax(3.5, 2.0)
    Lomax(alpha=3.5, lam=2)
    """


@row_constructor
def GeneralizedPareto(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, xi: TensorLike | None = None
) -> None:
    """The distribution of what exceeds a high threshold mu.

    The density is ``(1 + xi z)^(-1/xi - 1) / sigma, z = (x - mu) / sigma``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Coles, Statistical Modeling of Extreme Values (2001), chapter 4.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.GeneralizedPareto(0.5, 1.2, 0.2)
    GeneralizedPareto(mu=0.5, sigma=1.2, xi=0.2)
    """


@row_constructor
def BetaPrime(alpha: TensorLike, beta: TensorLike) -> None:
    """The distribution of the odds of a beta variable.

    The density is ``x^(alpha - 1) (1 + x)^(-alpha - beta) / B(alpha, beta)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape at 0; above 0.
    beta : DimTensor or number
        Shape of the tail; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section 25.7.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.BetaPrime(2.0, 3.5)
    BetaPrime(alpha=2, beta=3.5)
    """


@row_constructor
def FisherSnedecor(d1: TensorLike, d2: TensorLike) -> None:
    """The F distribution, of the ratio of two variances.

    The density is ``(d1/d2)^(d1/2) x^(d1/2 - 1) (1 + d1 x / d2)^(-(d1 + d2)/2) / B(d1/2,
    d2/2)``.

    Parameters
    ----------
    d1 : DimTensor or number
        Degrees of freedom above; above 0.
    d2 : DimTensor or number
        Those below; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 27.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.FisherSnedecor(5.0, 9.0)
    FisherSnedecor(d1=5, d2=9)
    """


@row_constructor
def Burr(c: TensorLike, d: TensorLike) -> None:
    """The Burr distribution of type XII.

    The density is ``c d x^(c - 1) (1 + x^c)^(-d - 1)``.

    Parameters
    ----------
    c : DimTensor or number
        Shape at 0; above 0.
    d : DimTensor or number
        Shape of the tail; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section
    12.4.5.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Burr(2.5, 1.5)
    Burr(c=2.5, d=1.5)
    """


@row_constructor
def LogLogistic(alpha: TensorLike | None = None, beta: TensorLike | None = None) -> None:
    """The distribution of exp(y) where y is logistic.

    The density is ``beta/alpha z^(beta - 1) / (1 + z^beta)², z = x / alpha``.

    Parameters
    ----------
    alpha : DimTensor or number, optional
        Scale, the median; above 0. By default 1.
    beta : DimTensor or number
        Shape; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.LogLogistic(1.3, 4.5)
    LogLogistic(alpha=1.3, beta=4.5)
    """


@row_constructor
def Levy(mu: TensorLike | None = None, c: TensorLike | None = None) -> None:
    """The Lévy distribution: one divided by the square of a normal variable.

    The density is ``exp(-1 / (2 z)) / (c √(2π z³)), z = (x - mu) / c``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Lower end; a real number. By default 0.
    c : DimTensor or number, optional
        Scale; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Feller, An Introduction to Probability Theory 2 (1971), section II.4.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Levy(0.3, 0.8)
    Levy(mu=0.3, c=0.8)
    """


@row_constructor
def Gompertz(eta: TensorLike | None = None, b: TensorLike | None = None) -> None:
    """The Gompertz distribution, of lifetimes whose hazard grows exponentially.

    The density is ``b eta exp(eta + b x - eta exp(b x))``.

    Parameters
    ----------
    eta : DimTensor or number
        Shape; above 0.
    b : DimTensor or number, optional
        Rate; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section 22.8.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Gompertz(0.3, 1.2)
    Gompertz(eta=0.3, b=1.2)
    """


@row_constructor
def BirnbaumSaunders(alpha: TensorLike | None = None, beta: TensorLike | None = None) -> None:
    """The Birnbaum-Saunders distribution, of lifetimes under fatigue.

    The density is ``(r + 1/r) φ((r - 1/r) / alpha) / (2 alpha x), r = √(x / beta)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape; above 0.
    beta : DimTensor or number, optional
        Scale, the median; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section 33.2.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.BirnbaumSaunders(0.7, 1.4)
    BirnbaumSaunders(alpha=0.7, beta=1.4)
    """


@row_constructor
def Uniform(lower: TensorLike | None = None, upper: TensorLike | None = None) -> None:
    """The uniform distribution.

    The density is ``1 / (upper - lower)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Beta(
    alpha: TensorLike | None = None,
    beta: TensorLike | None = None,
    *,
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
    nu: TensorLike | None = None,
) -> None:
    """The beta distribution.

    The density is ``x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def BetaScaled(
    alpha: TensorLike | None = None,
    beta: TensorLike | None = None,
    lower: TensorLike | None = None,
    upper: TensorLike | None = None,
) -> None:
    """The beta distribution between two bounds.

    The density is ``y^(alpha - 1) (1 - y)^(beta - 1) / (B(alpha, beta) (upper - lower)), y =
    (x - lower) / (upper - lower)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape at the lower end; above 0.
    beta : DimTensor or number
        Shape at the upper end; above 0.
    lower : DimTensor or number, optional
        Lower end; a real number. By default 0.
    upper : DimTensor or number, optional
        Upper end; a real number. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.BetaScaled(2.0, 3.5, -1.0, 3.0)
    BetaScaled(alpha=2, beta=3.5, lower=-1, upper=3)
    """


@row_constructor
def PERT(
    lower: TensorLike | None = None,
    mode: TensorLike | None = None,
    upper: TensorLike | None = None,
    lam: TensorLike | None = None,
) -> None:
    """The beta distribution of a smallest, a most likely and a largest value.

    The density is ``y^(a - 1) (1 - y)^(b - 1) / (B(a, b) (upper - lower)), y = (x - lower) /
    (upper - lower), a = 1 + lam (mode - lower) / (upper - lower), b = 2 + lam - a``.

    Parameters
    ----------
    lower : DimTensor or number
        Smallest value; a real number.
    mode : DimTensor or number
        Most likely value; a real number.
    upper : DimTensor or number
        Largest value; a real number.
    lam : DimTensor or number, optional
        Weight of the mode; above 0. By default 4.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Vose, Risk Analysis (2008), appendix III.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.PERT(-1.0, 0.5, 3.0, 4.0)
    PERT(lower=-1, mode=0.5, upper=3, lam=4)
    """


@row_constructor
def Arcsine(lower: TensorLike | None = None, upper: TensorLike | None = None) -> None:
    """The arcsine distribution.

    The density is ``1 / (π √((x - lower) (upper - x)))``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section 25.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Arcsine(-1.0, 2.0)
    Arcsine(lower=-1, upper=2)
    """


@row_constructor
def PowerFunction(alpha: TensorLike) -> None:
    """The power function distribution: the largest of alpha uniform variables.

    The density is ``alpha x^(alpha - 1)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Power; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), section 20.8.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.PowerFunction(2.5)
    PowerFunction(alpha=2.5)
    """


@row_constructor
def LogUniform(lower: TensorLike, upper: TensorLike) -> None:
    """The distribution whose logarithm is uniform.

    The density is ``1 / (x log(upper / lower))``.

    Parameters
    ----------
    lower : DimTensor or number
        Lower end; above 0.
    upper : DimTensor or number
        Upper end; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Hamming, Bell System Technical Journal 49, 1609-1625 (1970).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.LogUniform(0.5, 4.0)
    LogUniform(lower=0.5, upper=4)
    """


@row_constructor
def Kumaraswamy(a: TensorLike, b: TensorLike) -> None:
    """The Kumaraswamy distribution.

    The density is ``a b x^(a - 1) (1 - x^a)^(b - 1)``.

    Parameters
    ----------
    a : DimTensor or number
        Shape at 0; above 0.
    b : DimTensor or number
        Shape at 1; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Kumaraswamy, Journal of Hydrology 46, 79-88 (1980).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Kumaraswamy(2.0, 3.0)
    Kumaraswamy(a=2, b=3)
    """


@row_constructor
def LogitNormal(
    mu: TensorLike | None = None, sigma: TensorLike | None = None, *, tau: TensorLike | None = None
) -> None:
    """The distribution of the probability whose log odds are normal.

    The density is ``φ((logit x - mu) / sigma) / (sigma x (1 - x))``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean of the log odds; a real number. By default 0.
    sigma : DimTensor or number, optional
        Their deviation; above 0. By default 1.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0. With mu.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.LogitNormal(0.4, 0.9)
    LogitNormal(mu=0.4, sigma=0.9)
    """


@row_constructor
def Triangular(
    lower: TensorLike | None = None, upper: TensorLike | None = None, c: TensorLike | None = None
) -> None:
    """The triangular distribution.

    The density is ``2 (x - lower) / ((upper - lower) (c - lower)) below c, 2 (upper - x) /
    ((upper - lower) (upper - c)) above``.

    Parameters
    ----------
    lower : DimTensor or number, optional
        Lower end; a real number. By default 0.
    upper : DimTensor or number, optional
        Upper end; a real number. By default 1.
    c : DimTensor or number, optional
        Mode; a real number. By default 0.5.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), section 26.9.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Triangular(-1.0, 2.0, 0.3)
    Triangular(lower=-1, upper=2, c=0.3)
    """


@row_constructor
def TruncatedNormal(
    mu: TensorLike | None = None,
    sigma: TensorLike | None = None,
    lower: TensorLike | None = None,
    upper: TensorLike | None = None,
    *,
    tau: TensorLike | None = None,
) -> None:
    """The normal distribution between two bounds.

    The density is ``φ((x - mu) / sigma) / (sigma (Φ((upper - mu) / sigma) - Φ((lower - mu) /
    sigma)))``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean without bounds; a real number. By default 0.
    sigma : DimTensor or number, optional
        Standard deviation without bounds; above 0. By default 1.
    lower : DimTensor or number, optional
        Lower bound; a number or infinite. By default -inf.
    upper : DimTensor or number, optional
        Upper bound; a number or infinite. By default inf.
    tau : DimTensor or number, optional
        Precision, 1 / sigma²; above 0. With mu, lower, upper.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
    >>> dist.TruncatedNormal(0.5, 1.2, -1.0, 2.0)
    TruncatedNormal(mu=0.5, sigma=1.2, lower=-1, upper=2)
    """


@row_constructor
def VonMises(mu: TensorLike | None = None, kappa: TensorLike | None = None) -> None:
    """The von Mises distribution, of angles around mu.

    The density is ``exp(kappa cos(x - mu)) / (2π I₀(kappa))``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Direction; a real number. By default 0.
    kappa : DimTensor or number
        Concentration; 0 or above.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Mardia and Jupp, Directional Statistics (1999), section 3.5.4.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.VonMises(0.7, 2.0)
    VonMises(mu=0.7, kappa=2)
    """


@row_constructor
def WrappedCauchy(mu: TensorLike | None = None, rho: TensorLike | None = None) -> None:
    """The Cauchy distribution wrapped around a circle.

    The density is ``(1 - rho²) / (2π (1 + rho² - 2 rho cos(x - mu)))``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Direction; a real number. By default 0.
    rho : DimTensor or number
        Concentration; between 0 and 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Mardia and Jupp, Directional Statistics (1999), section 3.5.7.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.WrappedCauchy(0.7, 0.4)
    WrappedCauchy(mu=0.7, rho=0.4)
    """


@row_constructor
def RaisedCosine(mu: TensorLike | None = None, s: TensorLike | None = None) -> None:
    """The raised cosine distribution, from mu - s to mu + s.

    The density is ``(1 + cos(π z)) / (2 s), z = (x - mu) / s``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    s : DimTensor or number, optional
        Half of the width; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Rinne, Location-Scale Distributions (2010), section 5.2.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.RaisedCosine(0.5, 2.0)
    RaisedCosine(mu=0.5, s=2)
    """


@row_constructor
def Semicircle(mu: TensorLike | None = None, r: TensorLike | None = None) -> None:
    """The semicircle distribution of Wigner, from mu - r to mu + r.

    The density is ``2 √(1 - z²) / (π r), z = (x - mu) / r``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Location; a real number. By default 0.
    r : DimTensor or number, optional
        Radius; above 0. By default 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Rinne, Location-Scale Distributions (2010), section 5.2.2.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Semicircle(0.5, 2.0)
    Semicircle(mu=0.5, r=2)
    """


@row_constructor
def ContinuousBernoulli(
    lam: TensorLike | None = None, *, logit_lam: TensorLike | None = None
) -> None:
    """The exponential distribution, rising or falling, between 0 and 1.

    The density is ``lam^x (1 - lam)^(1 - x) / ∫ lam^t (1 - lam)^(1 - t) dt over 0 < t < 1``.

    Parameters
    ----------
    lam : DimTensor or number, optional
        Shape; between 0 and 1.
    logit_lam : DimTensor or number, optional
        Log odds of lam; a real number.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Loaiza-Ganem and Cunningham, Neural Information Processing Systems 32 (2019).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.ContinuousBernoulli(0.8)
    ContinuousBernoulli(lam=0.8)
    """


@row_constructor
def Bernoulli(p: TensorLike | None = None, *, logit_p: TensorLike | None = None) -> None:
    """One trial: 1 with a probability, else 0.

    The probability of k is ``p^k (1 - p)^(1 - k)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def Binomial(
    n: TensorLike | None = None, p: TensorLike | None = None, *, logit_p: TensorLike | None = None
) -> None:
    """Number of successes in independent trials.

    The probability of k is ``C(n, k) p^k (1 - p)^(n - k)``.

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
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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


@row_constructor
def DiscreteUniform(lower: TensorLike, upper: TensorLike) -> None:
    """The discrete uniform distribution, with both ends.

    The probability of k is ``1 / (upper - lower + 1)``.

    Parameters
    ----------
    lower : DimTensor or number
        Lower end; a whole number.
    upper : DimTensor or number
        Upper end; a whole number.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), section 6.10.1.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.DiscreteUniform(-2, 5)
    DiscreteUniform(lower=-2, upper=5)
    """


@row_constructor
def Geometric(p: TensorLike | None = None, *, logit_p: TensorLike | None = None) -> None:
    """Number of trials up to the first success, with it.

    The probability of k is ``p (1 - p)^(k - 1)``.

    Parameters
    ----------
    p : DimTensor or number, optional
        Probability of success; a probability.
    logit_p : DimTensor or number, optional
        Log odds, log p - log(1 - p); a real number.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), section 5.2.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.Geometric(0.3)
    Geometric(p=0.3)
    """


@row_constructor
def NegativeBinomial(
    mu: TensorLike | None = None,
    alpha: TensorLike | None = None,
    *,
    n: TensorLike | None = None,
    p: TensorLike | None = None,
    logit_p: TensorLike | None = None,
) -> None:
    """A Poisson variable whose rate is a gamma variable; failures before n successes.

    The probability of k is ``Γ(k + alpha) / (k! Γ(alpha)) (alpha / (mu + alpha))^alpha (mu /
    (mu + alpha))^k``.

    Parameters
    ----------
    mu : DimTensor or number, optional
        Mean; above 0.
    alpha : DimTensor or number, optional
        Shape of the rate; above 0.
    n : DimTensor or number, optional
        Number of successes, alpha; above 0. With p.
    p : DimTensor or number, optional
        Probability; between 0 and 1. With n.
    logit_p : DimTensor or number, optional
        Log odds, log p - log(1 - p); a real number. With n.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), chapter 5.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.NegativeBinomial(3.5, 2.5)
    NegativeBinomial(mu=3.5, alpha=2.5)
    """


@row_constructor
def BetaBinomial(*, alpha: TensorLike, beta: TensorLike, n: TensorLike) -> None:
    """A binomial variable whose probability is a beta variable.

    The probability of k is ``C(n, k) B(k + alpha, n - k + beta) / B(alpha, beta)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape of successes; above 0.
    beta : DimTensor or number
        Shape of failures; above 0.
    n : DimTensor or number
        Number of trials; a whole number from 0 on.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), section 6.2.2.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.BetaBinomial(alpha=1.5, beta=3.0, n=10)
    BetaBinomial(alpha=1.5, beta=3, n=10)
    """


@row_constructor
def BetaNegativeBinomial(n: TensorLike, alpha: TensorLike, beta: TensorLike) -> None:
    """A negative binomial variable whose probability is a beta variable.

    The probability of k is ``Γ(n + k) / (k! Γ(n)) B(alpha + n, beta + k) / B(alpha, beta)``.

    Parameters
    ----------
    n : DimTensor or number
        Number of successes; above 0.
    alpha : DimTensor or number
        Shape of successes; above 0.
    beta : DimTensor or number
        Shape of failures; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), section 6.2.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.BetaNegativeBinomial(4.0, 5.5, 2.0)
    BetaNegativeBinomial(n=4, alpha=5.5, beta=2)
    """


@row_constructor
def HyperGeometric(N: TensorLike, k: TensorLike, n: TensorLike) -> None:
    """Number of successes among n draws without replacement.

    The probability of k is ``C(k, x) C(N - k, n - x) / C(N, n)``.

    Parameters
    ----------
    N : DimTensor or number
        Size of the population; a whole number from 0 on.
    k : DimTensor or number
        Successes in it; a whole number from 0 on.
    n : DimTensor or number
        Number of draws; a whole number from 0 on.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), chapter 6.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.HyperGeometric(30, 12, 9)
    HyperGeometric(N=30, k=12, n=9)
    """


@row_constructor
def DiscreteWeibull(q: TensorLike, beta: TensorLike) -> None:
    """The discrete Weibull distribution, of lifetimes in whole steps.

    The probability of k is ``q^(k^beta) - q^((k + 1)^beta)``.

    Parameters
    ----------
    q : DimTensor or number
        Probability of surviving a step; between 0 and 1.
    beta : DimTensor or number
        Shape; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Nakagawa and Osaki, IEEE Transactions on Reliability 24, 300-301 (1975).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.DiscreteWeibull(0.85, 1.4)
    DiscreteWeibull(q=0.85, beta=1.4)
    """


@row_constructor
def DiscreteLaplace(a: TensorLike) -> None:
    """The difference of two geometric variables.

    The probability of k is ``tanh(a / 2) exp(-a |k|)``.

    Parameters
    ----------
    a : DimTensor or number
        Rate; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Inusah and Kozubowski, Statistical Planning and Inference 136, 1090-1102 (2006).

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.DiscreteLaplace(0.6)
    DiscreteLaplace(a=0.6)
    """


@row_constructor
def LogSeries(p: TensorLike) -> None:
    """The logarithmic series distribution.

    The probability of k is ``-p^k / (k log(1 - p))``.

    Parameters
    ----------
    p : DimTensor or number
        Ratio of the series; between 0 and 1.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), chapter 7.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.LogSeries(0.7)
    LogSeries(p=0.7)
    """


@row_constructor
def YuleSimon(alpha: TensorLike) -> None:
    """The Yule-Simon distribution, of frequencies that feed on themselves.

    The probability of k is ``alpha B(k, alpha + 1)``.

    Parameters
    ----------
    alpha : DimTensor or number
        Shape; above 0.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), section 6.10.3.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.YuleSimon(3.5)
    YuleSimon(alpha=3.5)
    """


@row_constructor
def Poisson(mu: TensorLike) -> None:
    """Number of independent events in an interval.

    The probability of k is ``mu^k exp(-mu) / k!``.

    Parameters
    ----------
    mu : DimTensor or number
        Expected number; 0 or above.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
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
