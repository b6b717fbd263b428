"""Draws from the distributions that NumPy has.

Written by tools/generate_draws.py; change its table instead.
"""

# over budget: generated, one short method per distribution

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.random.draws import DimsLike, DrawMethods, G

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class IndependentDraws(DrawMethods):
    """Draws of independent numbers, with NumPy's names and parameters."""

    def beta(
        self: G, a: TensorLike, b: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the beta distribution on (0, 1), density ∝ ``x**(a - 1) * (1 - x)**(b - 1)``.

        Parameters
        ----------
        a, b : DimTensor or number
            Positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).beta(2.0, 3.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.399, 0.624, 0.446]
        """
        return self._draw("beta", [a, b], dims)

    def chisquare(self: G, df: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the chi-squared distribution: a sum of `df` squared normals.

        Parameters
        ----------
        df : DimTensor or number
            Degrees of freedom, positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).chisquare(3.0, dims=k)
        >>> x.values.round(3).tolist()
        [3.162, 3.122, 4.886]
        """
        return self._draw("chisquare", [df], dims)

    def exponential(
        self: G, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the exponential distribution with mean `scale`.

        Parameters
        ----------
        scale : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).exponential(2.0, dims=k)
        >>> x.values.round(3).tolist()
        [2.146, 0.617, 10.751]
        """
        return self._draw("exponential", [scale], dims)

    def f(
        self: G, dfnum: TensorLike, dfden: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the F distribution: a ratio of two means of squared normals.

        Parameters
        ----------
        dfnum, dfden : DimTensor or number
            Degrees of freedom, positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).f(4.0, 7.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.994, 2.377, 1.187]
        """
        return self._draw("f", [dfnum, dfden], dims)

    def gamma(
        self: G, shape: TensorLike, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the gamma distribution with mean ``shape * scale``.

        Parameters
        ----------
        shape, scale : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).gamma(2.0, 3.0, dims=k)
        >>> x.values.round(3).tolist()
        [6.461, 6.392, 9.39]
        """
        return self._draw("gamma", [shape, scale], dims)

    def gumbel(
        self: G, loc: TensorLike = 0.0, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the Gumbel distribution of largest values, with mode `loc`.

        Parameters
        ----------
        loc : DimTensor or number
            The mode.
        scale : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).gumbel(0.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.333, -1.1, 1.86]
        """
        return self._draw("gumbel", [loc, scale], dims)

    def laplace(
        self: G, loc: TensorLike = 0.0, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the Laplace distribution, density ``exp(-abs(x - loc) / scale) / (2 * scale)``.

        Parameters
        ----------
        loc : DimTensor or number
            The mean.
        scale : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).laplace(0.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.024, 2.312, -1.244]
        """
        return self._draw("laplace", [loc, scale], dims)

    def logistic(
        self: G, loc: TensorLike = 0.0, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the logistic distribution, mean `loc`, variance ``(scale * pi)**2 / 3``.

        Parameters
        ----------
        loc : DimTensor or number
            The mean.
        scale : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).logistic(0.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.047, 2.954, -1.781]
        """
        return self._draw("logistic", [loc, scale], dims)

    def lognormal(
        self: G, mean: TensorLike = 0.0, sigma: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the log-normal distribution: exponentials of normal numbers.

        Parameters
        ----------
        mean, sigma : DimTensor or number
            Mean and standard deviation of the logarithm.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).lognormal(0.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [1.413, 2.274, 1.392]
        """
        return self._draw("lognormal", [mean, sigma], dims)

    def noncentral_chisquare(
        self: G, df: TensorLike, nonc: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the noncentral chi-squared distribution with mean ``df + nonc``.

        Parameters
        ----------
        df : DimTensor or number
            Degrees of freedom, positive.
        nonc : DimTensor or number
            Noncentrality, not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).noncentral_chisquare(3.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [5.464, 0.239, 2.825]
        """
        return self._draw("noncentral_chisquare", [df, nonc], dims)

    def noncentral_f(
        self: G,
        dfnum: TensorLike,
        dfden: TensorLike,
        nonc: TensorLike,
        dims: DimsLike | None = None,
    ) -> tuple[DimTensor, G]:
        """Draw from the noncentral F distribution.

        Parameters
        ----------
        dfnum, dfden : DimTensor or number
            Degrees of freedom, positive.
        nonc : DimTensor or number
            Noncentrality of the numerator, not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).noncentral_f(4.0, 7.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [3.156, 1.345, 0.747]
        """
        return self._draw("noncentral_f", [dfnum, dfden, nonc], dims)

    def normal(
        self: G, loc: TensorLike = 0.0, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the normal distribution.

        Parameters
        ----------
        loc : DimTensor or number
            The mean.
        scale : DimTensor or number
            The standard deviation, not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).normal(0.0, 1.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.346, 0.822, 0.33]
        """
        return self._draw("normal", [loc, scale], dims)

    def pareto(self: G, a: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the Pareto distribution II (Lomax), density ``a / (1 + x)**(a + 1)``.

        Parameters
        ----------
        a : DimTensor or number
            Positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).pareto(3.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.43, 0.108, 5.0]
        """
        return self._draw("pareto", [a], dims)

    def power(self: G, a: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the power distribution on (0, 1), density ``a * x**(a - 1)``.

        Parameters
        ----------
        a : DimTensor or number
            Positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).power(3.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.87, 0.643, 0.998]
        """
        return self._draw("power", [a], dims)

    def rayleigh(
        self: G, scale: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the Rayleigh distribution with mode `scale`.

        Parameters
        ----------
        scale : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).rayleigh(2.0, dims=k)
        >>> x.values.round(3).tolist()
        [2.93, 1.571, 6.558]
        """
        return self._draw("rayleigh", [scale], dims)

    def standard_cauchy(self: G, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the Cauchy distribution with median 0 and scale 1.

        Parameters
        ----------
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        GraphError
            If the generator was used before.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).standard_cauchy(dims=k)
        >>> x.values.round(3).tolist()
        [0.421, -0.254, 2.028]
        """
        return self._draw("standard_cauchy", [], dims)

    def standard_t(self: G, df: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the t distribution of Student.

        Parameters
        ----------
        df : DimTensor or number
            Degrees of freedom, positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).standard_t(4.0, dims=k)
        >>> x.values.round(3).tolist()
        [0.284, -1.042, -0.477]
        """
        return self._draw("standard_t", [df], dims)

    def triangular(
        self: G, left: TensorLike, mode: TensorLike, right: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the triangular distribution on an interval.

        Parameters
        ----------
        left, mode, right : DimTensor or number
            Lower end, most probable value and upper end, in this order.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).triangular(0.0, 1.0, 2.0, dims=k)
        >>> x.values.round(3).tolist()
        [1.012, 1.685, 0.537]
        """
        return self._draw("triangular", [left, mode, right], dims)

    def uniform(
        self: G, low: TensorLike = 0.0, high: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the uniform distribution from `low`, included, to `high`, not included.

        Parameters
        ----------
        low, high : DimTensor or number
            Ends of the interval.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).uniform(0.0, 2.0, dims=k)
        >>> x.values.round(3).tolist()
        [1.024, 1.901, 0.288]
        """
        return self._draw("uniform", [low, high], dims)

    def vonmises(
        self: G, mu: TensorLike, kappa: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the von Mises distribution on the circle, from -pi to pi.

        Parameters
        ----------
        mu : DimTensor or number
            The mode, in radians.
        kappa : DimTensor or number
            Concentration, not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).vonmises(0.0, 2.0, dims=k)
        >>> x.values.round(3).tolist()
        [-0.698, -0.537, 0.779]
        """
        return self._draw("vonmises", [mu, kappa], dims)

    def wald(
        self: G, mean: TensorLike, scale: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the inverse Gaussian distribution with variance ``mean**3 / scale``.

        Parameters
        ----------
        mean, scale : DimTensor or number
            Positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).wald(1.0, 2.0, dims=k)
        >>> x.values.round(3).tolist()
        [1.276, 1.263, 0.533]
        """
        return self._draw("wald", [mean, scale], dims)

    def weibull(self: G, a: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the Weibull distribution with scale 1.

        Parameters
        ----------
        a : DimTensor or number
            The shape, not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).weibull(1.5, dims=k)
        >>> x.values.round(3).tolist()
        [1.048, 0.457, 3.069]
        """
        return self._draw("weibull", [a], dims)

    def random(self: G, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the uniform distribution from 0 to 1; as :meth:`uniform`.

        Parameters
        ----------
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        GraphError
            If the generator was used before.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).random(dims=k)
        >>> x.values.round(3).tolist()
        [0.512, 0.95, 0.144]
        """
        return self._draw("uniform", [0.0, 1.0], dims)

    def standard_normal(self: G, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the normal distribution of mean 0 and standard deviation 1; as :meth:`normal`.

        Parameters
        ----------
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        GraphError
            If the generator was used before.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).standard_normal(dims=k)
        >>> x.values.round(3).tolist()
        [0.346, 0.822, 0.33]
        """
        return self._draw("normal", [0.0, 1.0], dims)

    def standard_exponential(self: G, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the exponential distribution of mean 1; as :meth:`exponential`.

        Parameters
        ----------
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        GraphError
            If the generator was used before.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).standard_exponential(dims=k)
        >>> x.values.round(3).tolist()
        [1.073, 0.308, 5.375]
        """
        return self._draw("exponential", [1.0], dims)

    def standard_gamma(
        self: G, shape: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the gamma distribution of scale 1; as :meth:`gamma`.

        Parameters
        ----------
        shape : DimTensor or number
            Not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameter and of the generator.

        Returns
        -------
        DimTensor
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).standard_gamma(2.0, dims=k)
        >>> x.values.round(3).tolist()
        [2.154, 2.131, 3.13]
        """
        return self._draw("gamma", [shape, 1.0], dims)

    def binomial(
        self: G, n: TensorLike, p: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the binomial distribution: successes in `n` trials.

        Parameters
        ----------
        n : DimTensor or number
            An integer, not negative.
        p : DimTensor or number
            Probability of a success.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).binomial(10, 0.3, dims=k)
        >>> x.values.tolist()
        [3, 5, 1]
        """
        return self._draw("binomial", [n, p], dims)

    def geometric(self: G, p: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the geometric distribution: trials until the first success, from 1.

        Parameters
        ----------
        p : DimTensor or number
            Probability of a success, positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).geometric(0.3, dims=k)
        >>> x.values.tolist()
        [4, 1, 16]
        """
        return self._draw("geometric", [p], dims)

    def hypergeometric(
        self: G,
        ngood: TensorLike,
        nbad: TensorLike,
        nsample: TensorLike,
        dims: DimsLike | None = None,
    ) -> tuple[DimTensor, G]:
        """Draw from the hypergeometric distribution: successes in a sample without replacement.

        Parameters
        ----------
        ngood, nbad : DimTensor or number
            How many there are, integers below 10**9.
        nsample : DimTensor or number
            How many are drawn, an integer.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).hypergeometric(9, 6, 5, dims=k)
        >>> x.values.tolist()
        [4, 2, 3]
        """
        return self._draw("hypergeometric", [ngood, nbad, nsample], dims)

    def integers(
        self: G, low: TensorLike, high: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the uniform distribution of integers from `low`, included, to `high`, excluded.

        Parameters
        ----------
        low, high : DimTensor or number
            Integers.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).integers(0, 6, dims=k)
        >>> x.values.tolist()
        [2, 3, 4]
        """
        return self._draw("integers", [low, high], dims)

    def logseries(self: G, p: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the logarithmic series distribution, probabilities ∝ ``p**k / k`` from 1.

        Parameters
        ----------
        p : DimTensor or number
            From 0 to 1, 1 not included.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).logseries(0.7, dims=k)
        >>> x.values.tolist()
        [2, 6, 2]
        """
        return self._draw("logseries", [p], dims)

    def negative_binomial(
        self: G, n: TensorLike, p: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the negative binomial distribution: failures before `n` successes.

        Parameters
        ----------
        n : DimTensor or number
            Positive, not necessarily an integer.
        p : DimTensor or number
            Probability of a success, positive.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).negative_binomial(2.5, 0.4, dims=k)
        >>> x.values.tolist()
        [4, 3, 2]
        """
        return self._draw("negative_binomial", [n, p], dims)

    def poisson(
        self: G, lam: TensorLike = 1.0, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the Poisson distribution.

        Parameters
        ----------
        lam : DimTensor or number
            The mean, not negative.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).poisson(3.0, dims=k)
        >>> x.values.tolist()
        [4, 4, 4]
        """
        return self._draw("poisson", [lam], dims)

    def zipf(self: G, a: TensorLike, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw from the Zipf distribution, probabilities ∝ ``k**-a`` from 1.

        Parameters
        ----------
        a : DimTensor or number
            Greater than 1.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
        Generator
            The one for the next draw.

        Raises
        ------
        OptionError
            If a number given as a parameter is out of its range.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a tensor given as a parameter is.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).zipf(2.5, dims=k)
        >>> x.values.tolist()
        [1, 1, 1]
        """
        return self._draw("zipf", [a], dims)
