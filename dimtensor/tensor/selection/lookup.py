"""Selections as nodes: look-up of labels, masks, tensors of labels, levels of products."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import array_of, has, is_array_like, ndim_of
from dimtensor.dims import Dim, ProductDim, SelDim, depends_on_mask, dim_labels, dim_set
from dimtensor.dims.labels import Labels, checked_label, python_label, tagged
from dimtensor.dims.selection import (
    LateLabels,
    Positions,
    Slice,
    is_position,
    normalize_position,
    normalize_selection,
    resolve_labels,
)
from dimtensor.errors import DimError, DtypeError, LabelError, listing, plain_repr
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import IndexAttrs, IndexItem, LabelPosition
from dimtensor.graph.dtypes import is_integer
from dimtensor.graph.infer import describe
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import data, data_beside, with_recipe
from dimtensor.values.admission import label_positions
from dimtensor.values.labeled import as_array, is_dataarray, is_pandas

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class SelectionItems:
    """Items and indexer tensors of one selection."""

    def __init__(self) -> None:
        self.items: list[IndexItem] = []
        self.indexers: list[Node] = []

    def position(self, dim: Dim, position: Any) -> None:
        self.items.append(IndexItem(dim, "int", normalize_position(dim, position)))

    def select(self, dim: Dim, selection: Any) -> None:
        self.items.append(IndexItem(dim, "select", selection))

    def tensor(self, dim: Dim, indexer: Node) -> None:
        kind = "mask" if indexer.dtype == "bool" else "tensor"
        if kind == "mask" and indexer.dims != (dim,):
            raise DimError(
                f"a mask along {dim._title} has this dim and no other",
                [("mask", dim_set(indexer.dims))],
                "mask over several dims with x[mask], which ravels them",
            )
        if kind == "mask" and indexer.kind == "data" and dim.length is not None:
            self.select(dim, _mask_selection(dim, indexer))
            return
        self.items.append(IndexItem(dim, kind, len(self.indexers)))
        self.indexers.append(indexer)

    def apply(self, x: Node) -> DimTensor:
        if not self.items:
            return wrap(x)
        dims = [item.dim for item in self.items]
        twice = [dim for dim in dims if dims.count(dim) > 1]
        if twice:
            raise DimError(f"{twice[0]._title} is selected from twice, by its name and as a Dim")
        order = sorted(self.items, key=lambda item: item.dim._sort_key)
        renumbered, indexers = [], []
        for item in order:
            if item.kind in ("tensor", "mask"):
                indexers.append(self.indexers[item.payload])
                item = item._replace(payload=len(indexers) - 1)
            renumbered.append(item)
        return wrap(make("index", (x, *indexers), IndexAttrs(tuple(renumbered))))


def _mask_selection(dim: Dim, mask: Node) -> Any:
    """Convert a mask of constants along a dim of known length to positions."""
    return normalize_selection(dim, np.flatnonzero(mask.attrs.values))


def select_labels(
    found: SelectionItems, dim: Dim, key: Any, method: str | None, tolerance: Any
) -> None:
    labels = dim_labels(dim)
    if labels is None and not _takes_all(key):
        _refuse_masked(dim)
    if is_mask(key) and not isinstance(key, tuple):
        found.select(dim, normalize_selection(dim, key))
        return
    if method is not None:
        if labels is None:
            raise LabelError(f"sel with method={method!r} needs a dim with labels, not {dim!r}")
        many = key if isinstance(key, (list, np.ndarray)) else [key]
        positions = labels.nearest(many, method, tolerance, dim._title)
        if many is key:
            found.select(dim, normalize_selection(dim, positions))
        else:
            found.position(dim, positions[0])
        return
    if isinstance(key, range):
        key = list(key)
    if isinstance(key, list) or (isinstance(key, np.ndarray) and key.ndim):
        if labels is None:
            late = resolve_labels(dim, key)
            assert isinstance(late, LateLabels)
            found.tensor(dim, make("label_position", (), LabelPosition(dim, late.labels, "many")))
        else:
            found.select(dim, resolve_labels(dim, key))
    elif isinstance(key, slice):
        found.select(dim, resolve_labels(dim, key))
    elif isinstance(key, (Set, dict)):
        raise LabelError(
            f"sel: several labels of {dim._title} are a list; a {type(key).__name__} has no order",
            [("given", ", ".join(sorted(map(plain_repr, key))))],
        )
    elif labels is not None:
        at = labels.locate(key, dim._title)
        if isinstance(at, int):
            found.position(dim, at)
        else:  # a partial date selects several labels, and keeps the dim
            found.select(dim, normalize_selection(dim, at))
    else:
        _check_label(key, dim)
        found.tensor(dim, make("label_position", (), LabelPosition(dim, Labels([key]), "one")))


def positions_in(x: Node, dim: Dim, key: Any) -> Any:
    """Convert a DataArray of positions or a mask to a tensor if its dims replace the dim."""
    if key.ndim == 0 or (key.dims == (dim.name,) and key.dtype != bool):
        return np.asarray(key)[()]
    return data_beside(key, [x])


def labels_in(x: Node, dim: Dim, key: Any, method: str | None, tolerance: Any) -> Any:
    """Convert a DataArray of labels, whose dims replace the dim, as in xarray.

    Labels along the dim itself become a list.
    """
    if key.dtype == bool or key.ndim == 0 or key.dims == (dim.name,):
        return positions_in(x, dim, key)
    labels = dim_labels(dim)
    if labels is None:
        raise LabelError(
            f"sel: the labels of {dim._title}, which come with the data, are not looked up by "
            "those of a DataArray",
            [("dim", repr(dim)), ("dims of the labels", ", ".join(map(str, key.dims)))],
            "select by position with isel, or by dt.tensor(..., categories=dim)",
        )
    if method is None:
        return data_beside(key, [x], dim)
    nearest = labels.nearest(key.values.ravel(), method, tolerance, dim._title)
    positions = data_beside(key.copy(data=nearest.reshape(key.shape)), [x])
    return wrap(make("codes", (positions.node,), dim))


def _check_label(label: Any, dim: Dim) -> None:
    try:
        checked_label(label)
    except LabelError:
        raise LabelError(f"sel: {plain_repr(label)} is no label of {dim._title}") from None


def _takes_all(key: Any) -> bool:
    return isinstance(key, slice) and key.start is key.stop is key.step is None


def is_mask(key: Any) -> bool:
    """Return True if an indexer is a boolean mask, in any form."""
    if isinstance(key, (list, tuple)):
        return bool(key) and all(isinstance(one, (bool, np.bool_)) for one in key)
    return has(key, "dtype", "ndim") and key.ndim and str(key.dtype) in ("bool", "boolean")


def remaining(x: Node, dim: Dim, gone: Any) -> Any:
    """Return the positions of a dim without the given ones, or their mask.

    Raises
    ------
    DtypeError
        If these are neither positions nor a known mask.
    """
    if is_dataarray(gone):
        gone = positions_in(x, dim, gone)
    if isinstance(gone, TensorHandle):
        require_positions(gone.node, dim, "drop_isel")
        if gone.dtype == "bool":
            return ~gone  # type: ignore[operator]
        known = gone.known_values()  # type: ignore[attr-defined]
        if known is None:
            raise DtypeError(
                f"drop_isel: how many positions along {dim._title} a computed tensor names is not "
                "known; give a mask of the dim"
            )
        gone = np.asarray(known).ravel()
    gone = as_plain(gone)
    refuse_labels(x, dim, gone, "drop_isel")
    if not isinstance(gone, (slice, range, list, tuple)) and not ndim_of(gone):
        if not is_position(python_label(gone)):
            raise DtypeError(f"drop_isel: {plain_repr(gone)} is not a position along {dim._title}")
        gone = [int(gone)]
    everything = np.arange(len(dim))
    taken = normalize_selection(dim, gone)
    assert isinstance(taken, (Positions, Slice))
    return np.delete(everything, taken.to_array(len(dim)))


def as_plain(key: Any) -> Any:
    """Convert containers to arrays (of bools, if all objects are) and Timestamps to NumPy's.

    Raises
    ------
    InputError
        If an element is masked, or a method of the object raises.
    """
    if isinstance(key, (TensorHandle, str)):
        return key
    if is_pandas(key):
        key = np.asarray(key)[()]
    elif type(key) is not np.ndarray and is_array_like(key):
        key = as_array(key, "the selection", gaps=False)[()]
    elif isinstance(key, list) and any(isinstance(one, (list, np.ndarray)) for one in key):
        array_of(key, "the selection", gaps=False)  # it checks the elements
    if isinstance(key, np.ndarray) and key.dtype == object and key.ndim and is_mask(key.tolist()):
        return key.astype(bool)
    return key


def _refuse_masked(dim: Dim) -> None:
    """Refuse look-ups in a masked dim, whose labels are known only after the look-up."""
    if depends_on_mask(dim):
        raise LabelError(
            f"sel: which labels {dim._title} has is known when its mask is computed",
            [("dim", repr(dim))],
            "select by label first and mask the result, or select by position with isel",
        )


def require_positions(indexer: Node, dim: Dim, what: str, x: Node | None = None) -> None:
    if indexer.categories is not None:
        raise DtypeError(
            f"{what}: {indexer.name or 'this tensor'} holds labels of "
            f"{indexer.categories._title}, no positions along {dim._title}",
            hint=f"select by label: {called(x)}.sel({dim._short}={called(indexer, 'labels')})",
        )
    if indexer.dtype != "bool" and not is_integer(indexer.dtype):
        raise DtypeError(
            f"{what}: positions along {dim._title} are integers or a mask, not {indexer.dtype}"
        )


def called(x: Node | None, otherwise: str = "x") -> str:
    """Return code for a tensor, as a user may have written it."""
    name = None if x is None else x.name
    return name if isinstance(name, str) and name.isidentifier() else otherwise


def refuse_labels(x: Node, dim: Dim, key: Any, by_position: str = "isel") -> None:
    """Refuse strings as positions.

    Raises
    ------
    DtypeError
        It names the selection by label.
    """
    items = key.tolist() if isinstance(key, np.ndarray) else key
    several = isinstance(items, (list, tuple))
    by_label = by_position.replace("isel", "sel")
    if isinstance(items, str) or (several and items and all(isinstance(v, str) for v in items)):
        raise DtypeError(
            f"{by_position}: {listing(items) if several else repr(items)} "
            f"{'are not positions' if several else 'is not a position'} along {dim._title}",
            hint=f"select by label: {called(x)}.{by_label}({dim._short}={_as_written(items)})",
        )


def _as_written(items: Any) -> str:
    return repr(items) if isinstance(items, str) or len(items) <= 8 else "labels"


def refuse_positions(x: Node, dim: Dim, key: Any) -> None:
    """Refuse integers as labels along a dim of other labels.

    Raises
    ------
    LabelError
        It names the selection by position.
    """
    node = key.node if isinstance(key, TensorHandle) else None
    if node is not None:
        integers = node.categories is None and is_integer(node.dtype)
        given = called(node, "positions")
    else:
        integers = isinstance(key, np.ndarray) and key.dtype.kind in "iu" and key.ndim == 1
        items = key.tolist() if integers else key
        listed = isinstance(items, list) and len(items) > 0
        integers = integers or (listed and all(map(is_position, items)))
        given = repr(items) if integers and len(items) <= 8 else "positions"
    if not integers:  # labels of a product of long dims take time to be made
        return
    labels = dim_labels(dim)
    texts = ("string", "datetime", "zoned", "period", "cftime")
    if labels is not None and labels.family in texts:
        raise LabelError(
            f"sel: integers are not labels of {dim._title}",
            [("labels", listing(labels.values))],
            f"select by position: {called(x)}.isel({dim._short}={given})",
        )


def refuse_repeats(x: Node, dim: Dim, key: Any, how: str = "isel") -> None:
    """Refuse an array with repeated positions or labels, which lacks a dim.

    Raises
    ------
    DimError
        It names the way to give the dim, and to select along it.
    """
    positions = how == "isel"
    kinds = "iu" if positions else "iufUOM"
    if not isinstance(key, np.ndarray) or key.ndim != 1 or key.dtype.kind not in kinds:
        return
    items = key.tolist()
    try:
        unlike = set(map(tagged, items)) if key.dtype.kind == "O" else set(items)
    except TypeError:  # the look-up raises for these
        return
    if len(unlike) == len(items):
        return
    noun = "positions" if positions else "labels"
    given = repr(items) if len(items) <= 8 and key.dtype.kind != "M" else noun
    values = f"{given}, dims=dt.Dim('obs')" + ("" if positions else f", categories={dim._short}")
    once = given if given != noun else f"{noun}.tolist()"
    raise DimError(
        f"an array of {len(key)} {noun} along {dim._title}, some of them several times, "
        "has no dim: beside a tensor along another dim it makes a table of both",
        [(noun, listing(items))],
        f"give it its dim: {called(x)}.{how}({dim._short}=dt.data({values})); to repeat "
        f"elements along {dim._title}: {called(x)}.{how}({dim._short}={once})",
    )


def label_indexer(indexer: Node, dim: Dim) -> Node:
    """Convert a tensor of labels to positions along a dim."""
    own = indexer.categories
    if own is dim:
        return indexer
    if own is not None:
        return translated(indexer, own, dim)
    if indexer.dtype == "bool":
        return indexer
    if dim_labels(dim) is None:
        require_positions(indexer, dim, "sel")
        return indexer
    if indexer.kind == "data":
        attrs = indexer.attrs
        positions = label_positions(attrs.values, dim, f"data {attrs.name!r}")
        return make("data", (), type(attrs)(attrs.name, attrs.dims, positions, dim, attrs.labels))
    raise LabelError(
        f"sel: {describe(indexer)} does not hold labels of {dim._title}",
        [("dim", repr(dim))],
        "give it categories=dim where it is made, or select by position with isel",
    )


def translated(indexer: Node, own: Dim, dim: Dim) -> Node:
    """Convert labels of one dim to labels of another one that has all of them."""
    mine, theirs = dim_labels(own), dim_labels(dim)
    if mine is None or theirs is None:
        if own._unrenamed is dim._unrenamed:
            return make("codes", (indexer,), dim)
        raise LabelError(
            f"sel: labels of {own._title} do not select along {dim._title}",
            [("labels of", repr(own)), ("selected from", repr(dim))],
        )
    if mine.same_labels(theirs):
        return make("codes", (indexer,), dim)
    lookup = positions_of_labels(own, dim)
    positions = make("index", (lookup.node, indexer), IndexAttrs((IndexItem(own, "tensor", 0),)))
    return make("codes", (positions,), dim)


def positions_of_labels(own: Dim, dim: Dim) -> DimTensor:
    """Return the positions of the labels of one dim in another one that has all of them."""
    mine, theirs = dim_labels(own), dim_labels(dim)
    assert mine is not None
    assert theirs is not None
    table = data(theirs.positions(mine.values, dim._title), dims=own)
    return with_recipe(table, positions_of_labels, own, dim)


# -- levels of products ------------------------------------------------------------------------


def product_of_levels(x: TensorHandle, given: Mapping[Any, Any]) -> Dim | None:
    """Return the product dim whose factors a selection names; None if it names dims only."""
    for key in given:
        name = key.name if isinstance(key, Dim) else key
        if key in x.dims or any(dim.name == name for dim in x.dims):
            continue
        for dim in x.dims:
            if isinstance(_product_under(dim), ProductDim) and _levels(dim, [key]):
                return dim
    return None


def _product_under(dim: Dim) -> Dim:
    return dim.parent if isinstance(dim, SelDim) else dim


def _levels(dim: Dim, keys: Any) -> dict[Any, Dim]:
    """Map the keys that name factors of a product to these factors."""
    factors = _product_under(dim).parents
    return {
        key: factor
        for key in keys
        for factor in factors
        if factor is key or (isinstance(key, str) and factor.name == key)
    }


def select_levels(x: Any, dim: Dim, given: Mapping[Any, Any], **how: Any) -> DimTensor:
    """Select along factors of a product, which leaves the product of the other factors."""
    levels = _levels(dim, given)
    rest = {key: selection for key, selection in given.items() if key not in levels}
    by_factor = {factor: given[key] for key, factor in levels.items()}
    if isinstance(dim, ProductDim):
        beside = [one for one in x.dims if one is not dim]
        taken = x.unravel(dim).sel(by_factor, **how)
        names = {factor._namespace for factor in dim.factors}
        left = [one for one in taken.dims if one._namespace in names and one not in beside]
        own_name = dim.name != "_".join(factor._short for factor in dim.factors)
        if len(left) > 1:
            taken = taken.ravel(left, dim.name if own_name else None)
    else:
        taken = _levels_of_selection(x, dim, by_factor)  # type: ignore[arg-type]
    return taken.sel(rest, **how) if rest else taken


def _levels_of_selection(x: Any, dim: SelDim, by_factor: Mapping[Dim, Any]) -> DimTensor:
    """Select levels along a selection of a product."""
    product = dim.parent
    assert isinstance(product, ProductDim)
    lengths = [factor.length for factor in product.factors]
    known = isinstance(dim.selection, (Positions, Slice)) and None not in lengths
    if not known or any(isinstance(key, (slice, list, TensorHandle)) for key in by_factor.values()):
        raise LabelError(
            f"sel: levels of some of the elements of {product!r} are selected one label each, "
            "where it is known which elements there are",
            [("dim", repr(dim))],
            "select along the dims before they are raveled or masked",
        )
    positions = dim.selection.to_array(product.length)  # type: ignore[attr-defined]
    codes = np.unravel_index(positions, [len(factor) for factor in product.factors])
    codes_of: dict[Dim, np.ndarray] = dict(zip(product.factors, codes, strict=True))
    keep = np.ones(len(dim), dtype=bool)
    for factor, label in by_factor.items():
        keep &= codes_of[factor] == factor.position(label)
    left = [factor for factor in product.factors if factor not in by_factor]
    taken = x.isel({dim: np.flatnonzero(keep)})
    if not left:
        return taken
    where = np.ravel_multi_index(
        [codes_of[factor][keep] for factor in left], [len(factor) for factor in left]
    )
    (now,) = [one for one in taken.dims if one not in x.dims] or [dim]
    return taken.relabel(now, SelDim(ProductDim(left), positions=where))
