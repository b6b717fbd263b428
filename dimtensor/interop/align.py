"""Alignment and reindexing of labeled arrays and tensors.

Arrays are aligned explicitly, before they enter a graph: inside a graph labels must match exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from dimtensor.dims import Coords, Dim, dim_labels
from dimtensor.errors import (
    DimError,
    InputError,
    LabelError,
    OptionError,
    UnknownDimError,
    listing,
)
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import DataAttrs
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.selection.reindex import named_indexers, reindex_node
from dimtensor.values.labeled import is_dataarray, is_pandas

if TYPE_CHECKING:
    from dimtensor.typing import ArrayLike, TensorLike

Join = Literal["exact", "inner", "outer", "left", "right"]
JOINS: tuple[str, ...] = get_args(Join)


def align[*Arrays](
    *arrays: *Arrays, join: Join = "exact", fill_value: TensorLike = np.nan
) -> tuple[*Arrays]:
    """Bring arrays and tensors to common labels along the dims whose names they share.

    Parameters
    ----------
    *arrays : DataArray, Series, DataFrame or DimTensor
        Each is returned in its own class. A tensor has the labels of its dims or, if it is data, of
        the value that it was made from.
    join : {"exact", "inner", "outer", "left", "right"}
        As in xarray. ``exact``: the labels must be equal; ``inner``: their intersection;
        ``outer``: their union; ``left``, ``right``: the labels of the first or last array.
    fill_value : number
        Fill value for labels that an array does not have.

    Returns
    -------
    tuple
        The aligned arrays. Tensors that had dims of the same name now share one dim.

    Raises
    ------
    LabelError
        If `join` is ``exact`` and labels differ.
    DimError
        If arrays without labels along a dim have different lengths.
    OptionError
        If an argument is not a labeled array.
    InputError
        If an array has no labels.

    Examples
    --------
    >>> import dimtensor as dt
    >>> old = dt.data([1.0, 2.0], dims=dt.Dim("year", coords=[2001, 2002]))
    >>> new = dt.data([5.0, 6.0], dims=dt.Dim("year", coords=[2002, 2003]))
    >>> one, two = dt.align(old, new, join="inner")
    >>> (one + two).eval().values.tolist()
    [7.0]
    """
    if join not in JOINS:
        raise OptionError(f"align: join is one of {', '.join(JOINS)}, not {join!r}")
    sides = [_side_of(array, at) for at, array in enumerate(cast("tuple[Any, ...]", arrays))]
    _check_unlabeled(sides)
    names = dict.fromkeys(name for side in sides for name in side.labels)
    joined = {name: _joined(name, sides, join) for name in names}
    return cast("tuple[*Arrays]", tuple(side.on(joined, sides, fill_value) for side in sides))


def reindex[X](
    x: X,
    indexers: Mapping[Any, Any] | Dim | None = None,
    fill_value: TensorLike = np.nan,
    **by_name: Dim | ArrayLike,
) -> X:
    """Bring an array or a tensor to other labels along dims.

    Parameters
    ----------
    x : DataArray, Series, DataFrame or DimTensor
    indexers : Dim, sequence of Dim, or dict of Dim or str to Dim or labels, optional
        Target labels by dim. A Dim gives the labels of the dim with its name.
    fill_value : number
        Fill value for labels that the array does not have.
    **by_name
        Target labels, or a Dim with labels, by name of dim.

    Returns
    -------
    DataArray, Series, DataFrame or DimTensor
        In the class of `x`; see :meth:`DimTensor.reindex` for tensors.

    Raises
    ------
    DimError
        If `x` lacks a dim.
    LabelError
        If a Dim has no labels.

    Examples
    --------
    >>> import pandas as pd, dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> income = pd.Series([3.0], index=pd.Index(["Kenya"], name="country"))
    >>> dt.reindex(income, country, fill_value=0.0).tolist()
    [0.0, 3.0]
    """
    if isinstance(x, TensorHandle):
        return x.reindex(indexers, fill_value, **by_name)  # type: ignore[attr-defined]
    side = _side_of(x, 0)
    wanted = {}
    for key, new in named_indexers(indexers, by_name).items():
        name = key._short if isinstance(key, Dim) else key
        if name not in side.names:
            raise UnknownDimError(
                f"reindex: there is no dim {name!r}", [("dims", listing(side.names))]
            )
        labels = dim_labels(new) if isinstance(new, Dim) else Coords(new)
        if labels is None:
            raise LabelError(f"reindex: {new!r} has no labels")
        wanted[name] = labels
    return side.on(wanted, [side], fill_value)


class _Array:
    """Operand of an alignment: a DataArray, or a pandas object converted to one."""

    def __init__(self, value: Any, title: str):
        import xarray as xr

        self.title = title
        self._back = None if is_dataarray(value) else type(value).__name__
        self._array = value if is_dataarray(value) else xr.DataArray(value)
        self._name = getattr(value, "name", None)
        self.names = tuple(self._array.dims)
        self.labels = {
            name: Coords(index)
            for name, index in self._array.indexes.items()
            if name in self._array.dims
        }
        self.lengths = dict(self._array.sizes)

    def dim(self, name: Any) -> Dim | None:
        return None

    def on(self, joined: Mapping[Any, Coords], sides: Iterable[Any], fill_value: Any) -> Any:
        """Reindex the array to the joined labels."""
        changed = {
            name: joined[name].as_coordinate
            for name, labels in self.labels.items()
            if name in joined and not labels.same_labels(joined[name])
        }
        result = self._array.reindex(changed, fill_value=fill_value) if changed else self._array
        return result if self._back is None else self._as_pandas(result)

    def _as_pandas(self, result: Any) -> Any:
        return result.to_series().rename(self._name) if result.ndim == 1 else result.to_pandas()


class _Tensor:
    """Operand of an alignment: a tensor."""

    def __init__(self, node: Node, title: str):
        self.title = title
        self._node = node
        data = dict(node.attrs.labels) if node.kind == "data" else {}
        self._dims = {dim._short: dim for dim in node.dims}
        self.names = tuple(self._dims)
        found = {
            name: data.get(dim) if dim_labels(dim) is None else dim_labels(dim)
            for name, dim in self._dims.items()
        }
        self.labels = {name: labels for name, labels in found.items() if labels is not None}
        self.lengths = {name: dim.length for name, dim in self._dims.items()}

    def dim(self, name: Any) -> Dim | None:
        return self._dims.get(name)

    def on(self, joined: Mapping[Any, Coords], sides: Iterable[Any], fill_value: Any) -> Any:
        """Reindex the tensor to the joined labels, along a dim that all tensors share."""
        result = self._node
        for name, labels in self.labels.items():
            old = self._dims[name]
            dims = {dim for side in sides if (dim := side.dim(name)) is not None}
            late = dim_labels(old) is None and len(dims) == 1
            if late:
                result = _relabel_data(result, old, joined[name], fill_value)
            elif len(dims) > 1 or not labels.same_labels(joined[name]):
                result = reindex_node(result, old, Dim(name, coords=joined[name]), fill_value)
        return wrap(result)


def _relabel_data(x: Node, dim: Dim, labels: Coords, fill_value: Any) -> Node:
    """Reindex data along a dim with late labels, keeping the dim."""
    if dict(x.attrs.labels)[dim].same_labels(labels):
        return x
    fixed = Dim(dim.name, coords=labels)
    attrs: DataAttrs = reindex_node(x, dim, fixed, fill_value).attrs
    dims = tuple(dim if one is fixed else one for one in attrs.dims)
    return make(
        "data",
        (),
        DataAttrs(attrs.name, dims, attrs.values, attrs.categories, (*attrs.labels, (dim, labels))),
    )


_Side = _Array | _Tensor


def _side_of(array: Any, at: int) -> _Side:
    name = getattr(array, "name", None)
    title = f"array {at + 1}" + (f" ({name!r})" if isinstance(name, str) else "")
    if isinstance(array, TensorHandle):
        return _Tensor(array.node, title)
    if is_dataarray(array) or (is_pandas(array) and hasattr(array, "index")):
        return _Array(array, title)
    raise InputError(
        f"{title} has no labels: {type(array).__name__}",
        hint="wrap it in an xarray.DataArray or with dt.data(array, dims=...)",
    )


def _joined(name: Any, sides: Iterable[_Side], join: str) -> Coords:
    """Return the joined labels along a dim."""
    import pandas as pd

    having = [side for side in sides if name in side.labels]
    first = having[0].labels[name]
    if all(side.labels[name].same_labels(first) for side in having):
        return first
    if join == "exact":
        raise LabelError(
            f"align: labels of dim {name!r} differ",
            [(side.title, listing(side.labels[name].values)) for side in having],
            "choose how to join them: join='inner', 'outer', 'left' or 'right'",
        )
    if join in ("left", "right"):
        return having[0 if join == "left" else -1].labels[name]
    # what xarray's own align does with the indexes
    indexes = [side.labels[name].index for side in having]
    return Coords(reduce(pd.Index.intersection if join == "inner" else pd.Index.union, indexes))


def _check_unlabeled(sides: Iterable[_Side]) -> None:
    """Check that arrays have equal lengths along dims that are not labeled in all of them.

    Raises
    ------
    DimError
        If lengths differ: without labels, elements cannot be matched.
    """
    lengths: dict[Any, dict[str, int]] = {}
    unlabeled: set[Any] = set()
    for side in sides:
        for name in side.names:
            length = side.lengths[name]
            if length is not None:
                lengths.setdefault(name, {})[side.title] = length
            if name not in side.labels:
                unlabeled.add(name)
    for name in unlabeled:
        if len(set(lengths.get(name, {}).values())) > 1:
            raise DimError(
                f"align: dim {name!r} has no labels everywhere, and its lengths differ",
                list(lengths[name].items()),
                "give all arrays labels along it",
            )
