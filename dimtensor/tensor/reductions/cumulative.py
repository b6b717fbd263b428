"""Cumulative sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import find_dims, sort_dims
from dimtensor.graph import make
from dimtensor.graph.attrs import AlongAttrs
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.ragged.layout import ragged_cumulated
from dimtensor.tensor.reductions.basic import DimKey, ReductionMixin, nan_filled

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@with_named_dims
class CumulativeMixin(ReductionMixin):
    """Cumulative sums and products of tensors."""

    __slots__ = ()

    def cumsum(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the cumulative sum along dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default. Along several, an element is the sum of the elements that precede
            it along each of them.
        skipna : bool
            Whether to count NaN as 0.

        Returns
        -------
        DimTensor
            With all dims.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=2)
        >>> dt.data([[1, 2], [3, 4]], dims=[a, b]).cumsum().eval().values.tolist()
        [[1, 3], [4, 10]]
        """
        return self._cumulate("cumsum", 0, dim, skipna)

    def cumprod(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the cumulative product along dims; see :meth:`cumsum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to count NaN as 1.

        Returns
        -------
        DimTensor
            With all dims.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("k")).cumprod().values.tolist()
        [1, 2, 6]
        """
        return self._cumulate("cumprod", 1, dim, skipna)

    def _cumulate(self, name: str, fill: Any, dim: DimKey, skipna: bool) -> DimTensor:
        x = nan_filled(self, fill, skipna).node
        dims = sort_dims(find_dims(self.dims, dim, name))
        for along in dims:
            if along._within is None:
                x = make("cumulate", (x,), AlongAttrs(name, along))
            else:
                x = ragged_cumulated(along, x, name).node
        return say(wrap(x), name, self, dim=dims, skipna=skipna)
