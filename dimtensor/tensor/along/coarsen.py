"""Blocks of positions along dims, reduced to one each; as in xarray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import BlockDim, Dim, NamedDim, find_dim
from dimtensor.errors import DimError, InputError, build_message, did_you_mean, listing
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import positive_integer, taken_at
from dimtensor.tensor.constructors import arange, length
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_BOUNDARIES = ("exact", "trim", "pad")
_SIDES = ("left", "right")


@with_named_dims
class Coarsen:
    """Blocks of neighbouring positions, made by :meth:`DimTensor.coarsen`.

    Every reduction gives a tensor on ``BlockDim(dim, n)``, whose labels are the means of the labels
    of a block where these are numbers or dates, and the first one otherwise.

    Examples
    --------
    >>> import dimtensor as dt
    >>> day = dt.Dim("day", coords=[1, 2, 3, 4])
    >>> weeks = dt.data([1.0, 4.0, 2.0, 8.0], dims=day).coarsen(day=2).mean()
    >>> weeks.values.tolist(), weeks.dims[0].coords.tolist()
    ([2.5, 5.0], [1.5, 3.5])
    """

    def __init__(self, x: DimTensor, blocks: Mapping[Dim, int], boundary: str, side: str):
        self._x = x
        self._blocks = dict(blocks)
        spanned = x if boundary != "pad" else wrap(require_float(x.node))
        within = []
        for dim, n in self._blocks.items():
            block = BlockDim(dim, n, boundary, side)
            step = NamedDim(f"{dim.short}:within", None, n)
            first = elemwise("multiply", arange(block), n)
            source = elemwise("add", first, arange(step))
            if side == "right":
                beyond = elemwise("subtract", length(dim), elemwise("multiply", length(block), n))
                source = elemwise("add", source, beyond)
            if boundary == "pad":
                spanned = taken_at(spanned, dim, source, np.nan)
            else:
                spanned = spanned.isel({dim: source})
            within.append(step)
        self._spanned = spanned
        self._within = tuple(within)
        self._padded = boundary == "pad"

    @classmethod
    def of(cls, x: DimTensor, given: Mapping[Any, Any], boundary: str, side: str) -> Coarsen:
        """Find the dims, and check the lengths of the blocks."""
        for value, known, what in [(boundary, _BOUNDARIES, "boundary"), (side, _SIDES, "side")]:
            if value not in known:
                raise InputError(
                    build_message(
                        f"coarsen: there is no {what} {value!r}{did_you_mean(str(value), known)}",
                        [(what, listing(known))],
                    )
                )
        if not given:
            raise DimError("coarsen takes the length of a block by dim: x.coarsen(day=7).mean()")
        blocks = {
            find_dim(x.dims, key, "coarsen"): positive_integer(n, f"the block along {key!r}")
            for key, n in given.items()
        }
        return cls(x, blocks, boundary, side)

    def _reduced(self, name: str, skipna: bool, **options: Any) -> DimTensor:
        reduce = getattr(self._spanned, name)
        result = reduce(self._within, skipna=skipna or self._padded, **options)
        blocks = {dim.short: n for dim, n in self._blocks.items()}
        shown = {key: value for key, value in options.items() if value}
        return say(result, f"coarsen_{name}", self._x, **blocks, **shown, skipna=skipna)

    def sum(self, *, skipna: bool = False) -> DimTensor:
        """Sum of each block.

        Parameters
        ----------
        skipna : bool
            Whether NaN are left out, as in all reductions of blocks; positions that are added to
            fill up the last block always are.
        """
        return self._reduced("sum", skipna)

    def mean(self, *, skipna: bool = False) -> DimTensor:
        """Mean of each block. See :meth:`sum` for `skipna`."""
        return self._reduced("mean", skipna)

    def prod(self, *, skipna: bool = False) -> DimTensor:
        """Product of each block. See :meth:`sum` for `skipna`."""
        return self._reduced("prod", skipna)

    def min(self, *, skipna: bool = False) -> DimTensor:
        """Smallest element of each block. See :meth:`sum` for `skipna`."""
        return self._reduced("min", skipna)

    def max(self, *, skipna: bool = False) -> DimTensor:
        """Largest element of each block. See :meth:`sum` for `skipna`."""
        return self._reduced("max", skipna)

    def median(self, *, skipna: bool = False) -> DimTensor:
        """Median of each block. See :meth:`sum` for `skipna`."""
        return self._reduced("median", skipna)

    def var(self, ddof: int = 0, *, skipna: bool = False) -> DimTensor:
        """Variance of each block, with ``count - ddof`` in the divisor."""
        return self._reduced("var", skipna, ddof=ddof)

    def std(self, ddof: int = 0, *, skipna: bool = False) -> DimTensor:
        """Standard deviation of each block."""
        return self._reduced("std", skipna, ddof=ddof)

    def count(self) -> DimTensor:
        """Number of elements of each block that are not NaN."""
        return say(self._spanned.count(self._within), "coarsen_count", self._x)

    def __repr__(self) -> str:
        return f"<Coarsen {', '.join(f'{dim.short}={n}' for dim, n in self._blocks.items())}>"
