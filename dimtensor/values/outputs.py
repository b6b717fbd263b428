"""Results: conversion of positional arrays to labeled DataArrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import (
    Binding,
    Dim,
    Dims,
    RaggedDim,
    RowNumbers,
    depends_on_mask,
    product_below,
    sort_dims,
)
from dimtensor.dims.labels import index_of_tuples
from dimtensor.values.admission import check_positions
from dimtensor.values.labeled import axis_names
from dimtensor.values.parts import labeling

if TYPE_CHECKING:
    import xarray as xr


class Labeler:
    """Conversion of the arrays of one output to DataArrays.

    Lengths and labels come from a binding, or from the call if they depend on values, as those of a
    mask do.

    Parameters
    ----------
    axes : tuple of Dim
        Dims of the array, in the order of its axes.
    binding : Binding
    name : str, optional
    categories : Dim, optional
        The dim whose positions the values are; the result has its labels as values.
    """

    def __init__(self, axes: Dims, binding: Binding, name: str | None, categories: Dim | None):
        self.dims = sort_dims(axes)
        self._order = None if self.dims == axes else [axes.index(dim) for dim in self.dims]
        self._name = name
        self.names = tuple(axis_names(axes)[dim] for dim in self.dims)
        self._binding = binding
        self._categories = categories
        involved = (*axes, categories) if categories is not None else axes
        # makes the parts that all calls share
        self._make: Callable[[np.ndarray], xr.DataArray] | None = None
        # a selection after a mask may have a known length, but its labels depend on the mask
        self._varies = any(depends_on_mask(dim) for dim in involved)

    def dtype(self, dtype: Any, binding: Binding) -> np.dtype:
        """Return the dtype of results, of labels where the values are positions of labels."""
        labels = None if self._categories is None else self._categories._bound_labels(binding)
        return np.dtype(dtype) if labels is None else labels.values.dtype

    def label(self, array: Any, binding: Binding) -> xr.DataArray:
        """Return a DataArray with dims in canonical order and all known labels.

        Parameters
        ----------
        array : array
        binding : Binding
            Lengths, labels and masks of the call.
        """
        return self.wrap(self.ordered(array, binding), binding)

    def ordered(self, array: Any, binding: Binding) -> np.ndarray:
        """Return the values of the DataArray, without importing xarray."""
        values = np.asarray(array)
        if self._order is not None:
            values = values.transpose(self._order)
        if self._categories is not None:
            values = positions_to_labels(values, self._categories, binding)
        if not values.flags.writeable:  # JAX's are read-only; a result belongs to its caller
            values = values.copy()
        return values

    def wrap(self, values: np.ndarray, binding: Binding) -> xr.DataArray:
        """Make the DataArray for its values."""
        if self._varies:
            return self._build(values, binding)
        if self._make is None:
            first = self._build(values, self._binding)
            coords = {name: coord.variable for name, coord in first.coords.items()}
            self._make = labeling(self.names, coords, first.xindexes, self._name)
        return self._make(values)

    def _build(self, values: np.ndarray, binding: Binding) -> xr.DataArray:
        import xarray as xr

        result = xr.DataArray(values, dims=self.names, name=self._name)
        for dim, key in zip(self.dims, self.names, strict=True):
            coords = _coordinates(dim, key, binding, {*self.names, *result.coords})
            if coords is not None:
                result = result.assign_coords(coords)
        return result


class Held:
    """Result without labels; xarray is imported when it is first labeled.

    Attributes
    ----------
    names : tuple of str
        Names of the axes, in canonical order.
    values : ndarray
    """

    __slots__ = ("_binding", "_labeler", "names", "values")

    def __init__(self, labeler: Labeler, array: Any, binding: Binding):
        self._labeler, self._binding = labeler, binding
        self.names = labeler.names
        self.values = labeler.ordered(array, binding)

    @property
    def axes_with_labels(self) -> tuple[str, ...]:
        """Axes with labels."""
        pairs = zip(self._labeler.dims, self.names, strict=True)
        return tuple(n for dim, n in pairs if dim._bound_labels(self._binding) is not None)

    @property
    def numbered(self) -> tuple[str, ...]:
        """Axes with a default index."""
        pairs = zip(self._labeler.dims, self.names, strict=True)
        return tuple(n for dim, n in pairs if isinstance(self._binding.said(dim), RowNumbers))

    def labeled(self, values: np.ndarray) -> xr.DataArray:
        """Return a DataArray of values with the dims and labels of this result."""
        return self._labeler.wrap(values, self._binding)


def _coordinates(dim: Dim, key: str, binding: Binding, taken: set) -> Any:
    import xarray as xr

    base = dim._unrenamed
    if isinstance(base, RaggedDim) and base.layout is not None:
        index = base._bound_index(binding)
        while any(level in taken for level in index.names):  # a renamed dim beside this one
            index = index.rename([f"{level}'" for level in index.names])
        return xr.Coordinates.from_pandas_multiindex(index, key)
    labels = dim._bound_labels(binding)
    if labels is None:
        return None
    product = product_below(dim)
    if product is not None:
        levels = [factor._short for factor in product.factors]
        while any(level in taken for level in levels):  # a renamed product beside the product
            levels = [level + "'" for level in levels]
        if all(isinstance(label, tuple) for label in labels.values):
            import pandas as pd

            whole = pd.MultiIndex.from_tuples(labels.values.tolist(), names=levels)
            index = index_of_tuples(whole, labels.values, key)
            if index is whole:
                return xr.Coordinates.from_pandas_multiindex(whole, key)
    return {key: (key, labels.as_coordinate)}


def positions_to_labels(values: np.ndarray, categories: Dim, binding: Binding) -> np.ndarray:
    """Return labels at positions, or the positions if there are no labels.

    Raises
    ------
    PositionError
        If a position is out of range.
    """
    labels = categories._bound_labels(binding)
    if labels is None:
        return values
    check_positions(np.asarray(values), len(labels), categories, "the result")
    # indexing by a scalar would give the label itself
    return labels.values[np.atleast_1d(values)].reshape(np.shape(values))
