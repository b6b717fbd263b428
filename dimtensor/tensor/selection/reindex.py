"""Reindexing: elements matched by label, with a filling for missing labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, Dims, dim_labels, find_plain_dim, refuse_ragged, sort_dims
from dimtensor.errors import DimError, DtypeError, LabelError, check_choice, listing
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import DataAttrs, ReduceAttrs
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, elemwise, renamed, require_float, wrap
from dimtensor.tensor.selection.lookup import as_plain, is_mask

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import ArrayLike, DimLike, Duration, TensorLike


# opposite directions
_METHODS = {
    "nearest": "nearest",
    "pad": "backfill",
    "ffill": "bfill",
    "backfill": "pad",
    "bfill": "ffill",
}


class ReindexMixin(TensorHandle):
    """Method that conforms dims to other labels."""

    __slots__ = ()

    def reindex(
        self,
        indexers: Mapping[DimLike, Dim | ArrayLike] | Dim | None = None,
        *,
        method: str | None = None,
        tolerance: Duration | None = None,
        fill_value: TensorLike = np.nan,
        **by_name: Dim | ArrayLike,
    ) -> DimTensor:
        """Conform dims to other labels, matched by value.

        Parameters
        ----------
        indexers : Dim, sequence of Dim, or dict of Dim or str to Dim or labels, optional
            A Dim replaces the dim of its name.
        fill_value : number
            Value of elements at labels that the tensor lacks.
        method : {None, "nearest", "pad", "ffill", "backfill", "bfill"}
            How to fill a label that the tensor lacks: by the element at the nearest label, at the
            label before (``"pad"``, ``"ffill"``) or at the label after. Before is smaller, but
            larger for labels in descending order.
        tolerance : optional
            Largest distance between the two labels, for dates such as ``"6h"``.
        **by_name
            By name of dim: a Dim, or labels of a new Dim.

        Returns
        -------
        DimTensor
            Floats, if integers are filled with NaN. Reindexed data are data.

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If the dim or the indexer has no labels, or a tensor of labels would need a filling.
        DtypeError
            If bools would be filled with NaN.
        OptionError
            If the method is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
        >>> x.reindex(k=["b", "c"], fill_value=0.0).eval().values.tolist()
        [2.0, 0.0]
        >>> t = dt.Dim("t", coords=[0.0, 1.0])
        >>> dt.data([3.0, 4.0], dims=t).reindex(t=[0.2, 0.9], method="nearest").values.tolist()
        [3.0, 4.0]
        """
        if method is not None:
            check_choice("reindex", "method", method, [*_METHODS])
        result = self.node
        for key, new in named_indexers(indexers, by_name, self.dims).items():
            old = find_plain_dim(result.dims, key, "reindex")
            target = target_dim(result, old, new)
            how = None if method is None else _by_value(method, labels_along(result, old))
            moved = reindex_node(result, old, target, fill_value, how, tolerance)
            result = say(moved, "reindex", result, dim=target)
        return wrap(result)


def named_indexers(indexers: Any, by_name: Mapping[str, Any], dims: Dims = ()) -> dict[Any, Any]:
    """Collect indexers by name of dim.

    Raises
    ------
    DimError
        If they are neither dims nor a dict.
    """
    if isinstance(indexers, Mapping):
        return {**indexers, **by_name}
    given = () if indexers is None else (indexers,) if isinstance(indexers, Dim) else indexers
    if isinstance(given, str) or not (
        isinstance(given, Iterable) and all(isinstance(dim, Dim) for dim in given)
    ):
        first = next((d._short for d in dims if d._short.isidentifier()), "dim")
        text = f"reindex takes dims, or labels by name of dim, not {indexers!r}"
        raise DimError(text, hint=f"x.reindex({first}=labels), or x.reindex(dim)")
    return {**{dim.name: dim for dim in given}, **by_name}


def labels_along(x: Node, dim: Dim) -> Coords:
    """Return the labels of a tensor along a dim, which data may have brought.

    Raises
    ------
    LabelError
        If the labels are not known.
    """
    labels = dim_labels(dim)
    if labels is None and x.kind == "data":
        labels = dict(x.attrs.labels).get(dim)
    if labels is None:
        raise LabelError(
            f"reindex: {dim._title} has no labels that are known",
            [("dim", repr(dim))],
            "give the dim coords, or reindex the values before they are passed",
        )
    return labels


def target_dim(x: Node, old: Dim, new: Any) -> Dim:
    """Return the dim of new labels: a given one, or a new one of the same name."""
    if isinstance(new, Dim):
        if dim_labels(new) is None:
            raise LabelError(f"reindex: {new!r} has no labels")
        return new
    new = as_plain(new)
    if is_mask(new) and labels_along(x, old).family not in ("bool", "object"):
        raise LabelError(
            f"reindex: booleans are not labels of {old._title}; x.isel({old._short}=mask) selects"
        )
    return Dim(old.name, coords=new)


def _by_value(method: str, labels: Coords) -> str:
    """Return the method for ascending labels."""
    index = labels.index
    descending = index.is_monotonic_decreasing and not index.is_monotonic_increasing
    return _METHODS[method] if descending else method


def reindex_node(
    x: Node,
    old: Dim,
    new: Dim,
    fill_value: Any,
    method: str | None = None,
    tolerance: Any = None,
) -> Node:
    """Replace a dim of a node by another one, with elements matched by label."""
    labels = labels_along(x, old)
    wanted = dim_labels(new)
    assert wanted is not None
    if method is None:
        positions = labels.find(wanted)
    else:  # labels may have any order; the label before is the next smaller one
        order = np.argsort(labels.index, kind="stable")
        positions = labels.take(order).near(wanted, method, tolerance, old._title)
        positions = np.where(positions >= 0, np.append(order, 0)[positions], -1)
    found = positions >= 0
    if not labels.is_unique and method is None:
        labels.positions(
            wanted.take(np.flatnonzero(found)), old._title
        )  # raises for repeated labels
    positions[~found] = 0
    if not found.all():
        x = _fillable(x, wanted.take(np.flatnonzero(~found)).values, fill_value, old)
    if x.kind == "data":
        return _reindex_data(x, old, new, positions, found, fill_value)
    if not len(labels):
        others = tuple(dim for dim in x.dims if dim is not old)
        filler = wrap(make("reduce", (x,), ReduceAttrs("sum", (old,))))
        filled = elemwise("where", False, filler, fill_value).astype(x.dtype)
        return filled.expand((new, *others)).node
    result = moved_to(wrap(x), old, positions, new).node
    if found.all():
        return result
    mask = make("data", (), DataAttrs(None, (new,), found))
    return elemwise("where", wrap(mask), wrap(result), fill_value).node


def moved_to(x: DimTensor, old: Dim, positions: Any, new: Dim) -> DimTensor:
    """Select positions along a dim, and put the elements along another dim."""
    refuse_ragged(old, "a selection by position")
    taken = x.isel({old: positions})
    (now,) = [dim for dim in taken.dims if dim not in x.dims] or [old]
    return renamed(taken, {now: new})


def _fillable(x: Node, missing: np.ndarray, fill_value: Any, dim: Dim) -> Node:
    """Convert a node to a dtype that holds the fill value.

    Raises
    ------
    LabelError
        If the elements are labels.
    DtypeError
        If bools would become floats.
    """
    if x.categories is not None:
        raise LabelError(
            f"reindex: a tensor of labels of {x.categories._title} cannot be filled up",
            [(f"missing in {dim._title}", listing(missing))],
            "select labels that are there, or reindex .codes",
        )
    if isinstance(fill_value, float) and not is_inexact(x.dtype):
        if x.dtype == "bool":
            raise DtypeError("reindex: bools are filled up with fill_value=True or False")
        if x.kind == "data":
            attrs = x.attrs
            values = attrs.values.astype("float64")
            return make("data", (), DataAttrs(attrs.name, attrs.dims, values, None, attrs.labels))
        return require_float(x)
    return x


def _reindex_data(
    x: Node, old: Dim, new: Dim, positions: np.ndarray, found: np.ndarray, fill_value: Any
) -> Node:
    attrs: DataAttrs = x.attrs
    axis = attrs.dims.index(old)
    values = np.moveaxis(attrs.values, axis, -1)
    result = np.empty((*values.shape[:-1], len(found)), dtype=values.dtype)
    result[..., found] = values[..., positions[found]]
    if not found.all():
        result[..., ~found] = fill_value
    dims = tuple(new if dim is old else dim for dim in attrs.dims)
    order = sort_dims(dims)
    result = np.moveaxis(result, -1, axis).transpose([dims.index(dim) for dim in order])
    labels = tuple((dim, kept) for dim, kept in attrs.labels if dim is not old)
    return make("data", (), DataAttrs(attrs.name, order, result, attrs.categories, labels))
