"""Results: positional arrays become DataArrays with the labels that are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Binding, Dim, Dims, product_below, sort_dims

if TYPE_CHECKING:
    import xarray as xr


def to_dataarray(
    array: Any, axes: Dims, binding: Binding, name: str | None, categories: Dim | None = None
) -> xr.DataArray:
    """A DataArray with dims in canonical order and all labels that are known.

    Parameters
    ----------
    array : ndarray
        Axes in the order of `axes`.
    categories : Dim, optional
        The dim whose positions the values are; the result has its labels as values.
    """
    import xarray as xr

    values = np.asarray(array)
    dims = sort_dims(axes)
    values = values.transpose([axes.index(dim) for dim in dims]) if len(dims) > 1 else values
    if categories is not None:
        values = positions_to_labels(values, categories, binding)
    names = output_names(dims)
    result = xr.DataArray(values, dims=names, name=name)
    for dim, key in zip(dims, names, strict=True):
        coords = _coordinates(dim, key, binding)
        if coords is not None:
            result = result.assign_coords(coords)
    return result


def output_names(dims: Dims) -> list[str]:
    """Names of the axes of a DataArray; an anonymous dim is called ``dim_0`` and so on."""
    names = [dim.name for dim in dims]
    numbers = iter(n for n in range(2 * len(dims) + 1) if f"dim_{n}" not in names)
    return [name if name is not None else f"dim_{next(numbers)}" for name in names]


def _coordinates(dim: Dim, key: str, binding: Binding) -> Any:
    import xarray as xr

    labels = dim.bound_labels(binding)
    if labels is None:
        return None
    product = product_below(dim)
    if product is not None:
        levels = [factor.short for factor in product.factors]
        if key not in levels and all(isinstance(label, tuple) for label in labels.values):
            import pandas as pd

            index = pd.MultiIndex.from_tuples(labels.values.tolist(), names=levels)
            return xr.Coordinates.from_pandas_multiindex(index, key)
    return {key: (key, labels.values)}


def positions_to_labels(values: np.ndarray, categories: Dim, binding: Binding) -> np.ndarray:
    """Labels at positions; the positions themselves where there are no labels."""
    labels = categories.bound_labels(binding)
    if labels is None:
        return values
    return labels.values[values]
