"""DrawMethods of real numbers: tails, angles and bounded intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.random.draws import DimsLike, DrawMethods, G

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class FurtherContinuous(DrawMethods):
    """Distributions with densities, continued."""

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
            Additional dims of the draws, beside those of the parameters and of the generator.

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
        """Draw from Student's t distribution.

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
