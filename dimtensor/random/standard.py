"""DrawMethods of standard distributions, whose scale is 1, with NumPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.random.continuous import Continuous
from dimtensor.random.draws import DimsLike, G
from dimtensor.random.further import FurtherContinuous
from dimtensor.tensor.core import DimTensor

if TYPE_CHECKING:
    from dimtensor.typing import TensorLike


class Standard(Continuous, FurtherContinuous):
    """Distributions that are those of other methods with parameters left out."""

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
        >>> x, rng = dt.random.generator(1).random()
        >>> float(x.values.round(3))
        0.512
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
        >>> x, rng = dt.random.generator(1).standard_normal()
        >>> float(x.values.round(3))
        0.346
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
        >>> x, rng = dt.random.generator(1).standard_exponential()
        >>> float(x.values.round(3))
        1.073
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
        >>> x, rng = dt.random.generator(1).standard_gamma(2.0)
        >>> float(x.values.round(3))
        2.154
        """
        return self._draw("gamma", [shape, 1.0], dims)
