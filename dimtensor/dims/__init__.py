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
    only_dim,
    sort_dims,
    union,
    without,
)
from dimtensor.dims.binding import Binding, RowNumbers
from dimtensor.dims.blocks import BlockDim
from dimtensor.dims.calendar import date_range
from dimtensor.dims.coords import Coords
from dimtensor.dims.derivation import DERIVED, DerivedDim, family
from dimtensor.dims.derived import (
    ConcatDim,
    RenamedDim,
    SelDim,
    depends_on_mask,
    has_run_time_length,
    mask_keys,
)
from dimtensor.dims.dim import AnonymousDim, Dim, NamedDim, dim_labels
from dimtensor.dims.product import ProductDim, product_below
from dimtensor.dims.unlabeled import PadDim, SortedDim

__all__ = [
    "DERIVED",
    "AnonymousDim",
    "Binding",
    "BlockDim",
    "ConcatDim",
    "Coords",
    "DerivedDim",
    "Dim",
    "DimTuple",
    "Dims",
    "NamedDim",
    "PadDim",
    "ProductDim",
    "RenamedDim",
    "RowNumbers",
    "SelDim",
    "SortedDim",
    "as_dim_tuple",
    "canonical_dims",
    "clash_error",
    "date_range",
    "depends_on_mask",
    "dim_labels",
    "dim_set",
    "family",
    "find_dim",
    "find_dims",
    "has_run_time_length",
    "in_order",
    "mask_keys",
    "only_dim",
    "product_below",
    "sort_dims",
    "union",
    "without",
]
