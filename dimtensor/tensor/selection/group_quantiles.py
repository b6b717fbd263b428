"""Quantiles of groups: elements in the order of their groups, and in order within each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim, SortedDim
from dimtensor.tensor.constructors import length
from dimtensor.tensor.handle import elemwise
from dimtensor.tensor.reductions.order_statistics import in_order, with_an_element

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def group_quantile(
    x: DimTensor, codes: DimTensor, along: Dim, start: DimTensor, size: DimTensor, q: float
) -> DimTensor:
    """A quantile of the first elements of each group in order; NaN are the last ones.

    Parameters
    ----------
    x : DimTensor
        Of floats.
    codes : DimTensor
        The group of each position along `along`.
    along : Dim
    start : DimTensor
        Number of elements in the groups before.
    size : DimTensor
        How many elements of each group are looked at.
    q : float
    """
    # one sort of integers that differ: by the group, then by the place among all elements
    ranks = SortedDim(along)
    place = x.argsort(along).argsort(ranks)._renamed({SortedDim(ranks): along})
    order = (codes * length(along) + place).argsort(along)
    ordered = x.isel({along: order})

    elements, (longer,) = with_an_element(ordered, (ranks,), np.nan)
    end = elemwise("maximum", elemwise("subtract", length(along), 1), 0)

    def element(rank: DimTensor) -> DimTensor:
        return elements.isel({longer: elemwise("minimum", elemwise("add", start, rank), end)})

    value = in_order(size, q, x.dtype, element)
    return elemwise("where", elemwise("greater", size, 0), value, np.nan)
