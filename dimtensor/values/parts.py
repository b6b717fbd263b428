"""Fast reading and construction of DataArrays by the slots of xarray's classes.

A call with small arrays takes a microsecond; xarray's properties and constructors take several for
each DataArray. If its classes have other slots than the known ones, its public interface is used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.caches import bounded

if TYPE_CHECKING:
    import xarray as xr

_OF_VARIABLE = {"_dims", "_data", "_attrs", "_encoding"}
_SLOTS = {
    "Variable": _OF_VARIABLE,
    "IndexVariable": _OF_VARIABLE,
    "DataArray": {"_variable", "_coords", "_name", "_indexes", "_close", "_cache"},
}


class Alike:
    """Recognition of DataArrays like one that was read before, and reading of their arrays.

    They have the same class and dtype, names and lengths of axes, and identical immutable indexes.
    Their labels are therefore valid, and their elements are reordered in the same way.

    Parameters
    ----------
    value : DataArray
    indexes : sequence of (name, pandas.Index)
        All indexes of the value.
    order : tuple of int, optional
        Order of the axes of the array.
    positions : ndarray, optional
        Alternatively the positions of the elements in the stored array.
    """

    __slots__ = (
        "_dims", "_dtype", "_indexes", "_kind", "_order", "_positions", "_shape", "_unlabeled",
    )  # fmt: skip

    def __init__(
        self,
        value: Any,
        indexes: tuple[tuple[Hashable, Any], ...],
        order: tuple[int, ...] | None,
        positions: np.ndarray | None,
    ):
        self._kind = type(value)
        self._dims, self._shape, self._dtype = value.dims, value.shape, value.dtype
        self._indexes = indexes
        self._unlabeled = frozenset(value.dims) - {name for name, _ in indexes}
        self._order, self._positions = order, positions

    def read(self, value: Any) -> np.ndarray | None:
        """Return the contiguous array of a value in order; None if the value is different."""
        if type(value) is not self._kind:
            return None
        variable = value._variable
        array = variable._data
        if (
            type(array) is not np.ndarray
            or array.dtype is not self._dtype
            or variable._dims != self._dims
            or array.shape != self._shape
        ):
            return None
        given = value._indexes
        for name, index in self._indexes:
            if name not in given or getattr(given[name], "index", None) is not index:
                return None
        if self._unlabeled and not self._unlabeled.isdisjoint(value._coords):
            return None  # labels without an index
        if self._positions is not None:
            return array.take(self._positions)
        if self._order is not None:
            array = array.transpose(self._order)
        flags = array.flags
        if flags.c_contiguous and flags.aligned:
            return array
        return np.array(array, order="C")


def alike(
    value: Any, order: tuple[int, ...] | None = None, positions: np.ndarray | None = None
) -> Alike | None:
    """Return a recognizer of values like a DataArray; None if each value must be checked.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> x = xr.DataArray(np.ones((2, 3)), dims=["a", "b"], coords={"b": [1, 2, 3]})
    >>> form = alike(x, order=(1, 0))
    >>> form.read(2 * x).shape, form.read(x.assign_coords(b=[1, 2, 3])), form.read(x[:, :2])
    ((3, 2), None, None)
    """
    if not (_is_known(type(value)) and _is_known(type(value.variable))):
        return None
    indexes = value._indexes
    if any(name in value._coords and name not in indexes for name in value.dims):
        return None
    if any(type(x).__name__ != "PandasIndex" or x.index.nlevels > 1 for x in indexes.values()):
        return None
    return Alike(value, tuple((name, x.index) for name, x in indexes.items()), order, positions)


def labeling(
    names: tuple[Hashable, ...],
    coords: Mapping[Hashable, xr.Variable],
    indexes: Mapping[Hashable, Any],
    name: Hashable | None,
) -> Callable[[np.ndarray], xr.DataArray]:
    """Return a function that makes DataArrays of arrays and these parts, without checks.

    Each DataArray has its own coords, without attributes.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> b = xr.DataArray([0.0, 0.0], dims="b", coords={"b": [10, 20]})
    >>> label = labeling(("b",), {"b": b.coords["b"].variable}, b.xindexes, "y")
    >>> label(np.array([1.0, 2.0])).sel(b=20).item()
    2.0
    """
    import xarray as xr

    array_kind, variable_kind = xr.DataArray, xr.Variable
    if not all(map(_is_known, [array_kind, variable_kind, *map(type, coords.values())])):
        return lambda values: array_kind(
            variable_kind(names, values, fastpath=True),
            coords={key: coord.copy(deep=False) for key, coord in coords.items()},
            name=name,
            indexes=dict(indexes),
            fastpath=True,
        )
    kept = [(key, type(x), x._dims, x._data) for key, x in coords.items()]
    new, put, indexes = object.__new__, object.__setattr__, dict(indexes)

    def label(values: np.ndarray) -> xr.DataArray:
        made = new(array_kind)
        # xarray's __setattr__ checks for attributes of users
        put(made, "_variable", _variable(variable_kind, names, values))
        put(made, "_coords", {key: _variable(kind, dims, x) for key, kind, dims, x in kept})
        put(made, "_name", name)
        put(made, "_indexes", indexes.copy())
        put(made, "_close", None)
        return made

    return label


def _variable(kind: type, names: Any, data: Any) -> Any:
    made: Any = object.__new__(kind)
    made._dims, made._data = names, data
    made._attrs = made._encoding = None
    return made


@bounded(16)
def _is_known(kind: type) -> bool:
    """Return True for a class of xarray with the known slots."""
    if not kind.__module__.startswith("xarray."):
        return False
    every = {slot for cls in kind.__mro__ for slot in getattr(cls, "__slots__", ())}
    return every - {"__weakref__"} == _SLOTS.get(kind.__name__)
