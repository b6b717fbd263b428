"""Dim algebra and coords: no tensors, no PyTensor."""

from dimtensor.dims.algebra import (
    Dims,
    DimTuple,
    as_dim_tuple,
    canonical_dims,
    clash_error,
    dim_set,
    find_dim,
    find_dims,
    in_order,
    sort_dims,
    union,
    without,
)
from dimtensor.dims.binding import Binding
from dimtensor.dims.coords import Coords
from dimtensor.dims.derived import (
    ConcatDim,
    ProductDim,
    RenamedDim,
    SelDim,
    depends_on_mask,
    product_below,
)
from dimtensor.dims.dim import AnonymousDim, Dim, NamedDim
from dimtensor.dims.unlabelled import PadDim, SortedDim

__all__ = [
    "AnonymousDim",
    "Binding",
    "ConcatDim",
    "Coords",
    "Dim",
    "DimTuple",
    "Dims",
    "NamedDim",
    "PadDim",
    "ProductDim",
    "RenamedDim",
    "SelDim",
    "SortedDim",
    "as_dim_tuple",
    "canonical_dims",
    "clash_error",
    "depends_on_mask",
    "dim_set",
    "find_dim",
    "find_dims",
    "in_order",
    "product_below",
    "sort_dims",
    "union",
    "without",
]
