"""Orders of points along a dim; along a ragged dim within each parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, RaggedDim, without
from dimtensor.tensor.constructors import length
from dimtensor.tensor.ragged.layout import owner_codes, sorted_places, to_flat

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def are_in_order(points: np.ndarray, dim: Dim) -> bool:
    """Return whether known points do not decrease along a dim, or within each parent."""
    if not isinstance(dim, RaggedDim):
        return bool((np.diff(points) >= 0.0).all())
    if dim.layout is None:
        return False
    at = slice(None) if dim.layout.order is None else dim.layout.order
    apart = np.diff(dim.layout.owners[at]) != 0
    return bool(((np.diff(points[at]) >= 0.0) | apart).all())


def order_along(points: DimTensor, dim: Dim) -> DimTensor:
    """Return the positions along a dim from the smallest point to the largest.

    Along a ragged dim each parent has the places of its positions, which are then in order. The
    result is along the plain dim of all positions.
    """
    if not isinstance(dim, RaggedDim):
        return _argsort(points, dim)
    flat = dim.flat
    rank = _argsort(_argsort(to_flat(points, dim), flat), flat)
    by_parent = _argsort(owner_codes(dim, dim.within) * length(flat) + rank, flat)
    return by_parent.isel({flat: to_flat(sorted_places(dim), dim)})


def inverse(order: DimTensor) -> DimTensor:
    """Return the permutation that undoes one along its dim."""
    (dim,) = order.dims
    return _argsort(order, dim)


def taken(x: DimTensor, dim: Dim, order: DimTensor) -> DimTensor:
    """Return the elements at positions that :func:`order_along` returned."""
    if not isinstance(dim, RaggedDim):
        return x.isel({dim: order})
    return x.relabel(dim, dim.flat).isel({dim.flat: order}).relabel(dim.flat, dim)


def _argsort(x: Any, dim: Dim) -> Any:
    order = x.argsort(dim)
    along = without(order.dims, x.dims)
    return order.relabel(along[0], dim) if along else order
