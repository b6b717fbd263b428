"""DrawMethods of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.random.draws import DimsLike, DrawMethods, G

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Discrete(DrawMethods):
    """Distributions of counts."""

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
        >>> x, rng = dt.random.generator(1).hypergeometric(9, 6, 5, dims=k)
        >>> x.values.tolist()
        [4, 2, 3]
        """
        return self._draw("hypergeometric", [ngood, nbad, nsample], dims)

    def integers(
        self: G, low: TensorLike, high: TensorLike, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw integers from `low`, included, to `high`, not included, all equally likely.

        Parameters
        ----------
        low, high : DimTensor or number
            Integers.
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
        >>> x, rng = dt.random.generator(1).zipf(2.5, dims=k)
        >>> x.values.tolist()
        [1, 1, 1]
        """
        return self._draw("zipf", [a], dims)
