"""DrawMethods of real numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.random.draws import DimsLike, DrawMethods, G

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Continuous(DrawMethods):
    """Distributions with densities."""

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
