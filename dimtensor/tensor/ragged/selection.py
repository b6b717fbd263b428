"""Selections along ragged dims by number within the parent, and of parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, RaggedDim, SelDim, ancestors, find_dim, with_ancestors
from dimtensor.dims.labels import python_label
from dimtensor.dims.selection import Positions, Slice, is_position, normalize_selection
from dimtensor.errors import (
    DtypeError,
    LabelError,
    PositionError,
    RaggedDimError,
    listing,
    plain_repr,
)
from dimtensor.graph import make
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.tensor.check import check
from dimtensor.tensor.handle import TensorHandle, elemwise, renamed, require_float, wrap
from dimtensor.tensor.ragged.layout import (
    element_at,
    order,
    ragged_selected,
    sizes,
    starts,
    to_flat,
)
from dimtensor.tensor.reductions.order_statistics import with_an_element
from dimtensor.tensor.selection.lookup import as_plain, is_mask
from dimtensor.values.labeled import is_dataarray

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@element_at.provides()
def element_of_parent(dim: Dim, x: DimTensor, number: Any) -> DimTensor:
    """Return the elements at numbers within the parents, which are not checked.

    A number that a parent lacks gives any element; `number` may be along the parents, along the
    ragged dim, or along others.
    """
    elements, (along,) = with_an_element(to_flat(x, dim), (plain(dim),), 0)
    return elements.isel({along: flat_places(dim, number)})


def flat_places(dim: Dim, number: Any) -> DimTensor:
    """Return positions along the plain dim of numbers within the parents, inside of the dim."""
    n = wrap(make("length", (), plain(dim)))
    last = elemwise("maximum", elemwise("subtract", n, 1), 0)
    at = elemwise("add", starts(dim), number)
    at = elemwise("minimum", elemwise("maximum", at, 0), last)
    ordered = order(dim)
    if ordered is None:
        return at
    ordered, (along,) = with_an_element(ordered, (plain(dim),), 0)
    return ordered.isel({along: at})


@ragged_selected.provides()
def selected(x: DimTensor, given: Mapping[Any, Any], how: str, *options: Any) -> DimTensor | None:
    """Select along ragged dims and their ancestors, then along others; None without such keys."""
    if not any(dim._within is not None for dim in x.dims):
        return None
    rest: dict[Any, Any] = {}
    for key, selection in given.items():
        dim = find_dim(with_ancestors(x.dims), key, how)
        below = next((one for one in x.dims if dim in ancestors(one)), None)
        if below is None and dim._within is None:
            rest[key] = selection
            continue
        if is_dataarray(selection):
            selection = selection.values[()]
        selection = as_plain(selection)
        if below is not None:
            x = _of_parents(x, below, dim, selection, how)
        else:
            x = _by_label(x, dim, selection) if how == "sel" else _by_number(x, dim, selection)
    if len(rest) == len(given):
        return None
    return getattr(x, how)(rest, *options) if rest else x


# -- by number within the parent -------------------------------------------------------------------


def _by_number(x: DimTensor, dim: Dim, key: Any) -> DimTensor:
    if isinstance(key, TensorHandle):
        return _by_tensor(x, dim, wrap(key.node))
    if is_position(python_label(key)):
        return _single(x, dim, int(key))
    if is_mask(key):
        return _kept(x, dim, np.flatnonzero(_mask(dim, key)))
    if isinstance(key, (slice, range, list, tuple, np.ndarray)):
        return _several(x, dim, key)
    raise DtypeError(f"isel: {plain_repr(key)} is not a position along {dim._title}")


def _single(x: DimTensor, dim: Dim, number: int) -> DimTensor:
    """Return an element of each parent, NaN for a parent that lacks it."""
    n = sizes(dim)
    layout = _base(dim).layout
    place: Any = number if number >= 0 else elemwise("add", n, number)
    needed = number + 1 if number >= 0 else -number
    if layout is not None and len(layout.sizes) and layout.sizes.min() >= needed:
        return element_of_parent(dim, x, place)
    x = wrap(require_float(x.node))
    found = element_of_parent(dim, x, place)
    return elemwise("where", elemwise("greater_equal", n, needed), found, np.nan)


def _by_tensor(x: DimTensor, dim: Dim, key: DimTensor) -> DimTensor:
    """Select by a tensor: labels of the dim, a mask along it, or numbers within the parents."""
    if key.categories is not None and key.categories is dim:
        at = key.codes
        return to_flat(x, dim).isel({plain(dim): at})
    if key.categories is not None:
        raise DtypeError(
            f"isel: these are labels of {key.categories._title}, no positions along {dim._title}"
        )
    if key.dtype == "bool":
        known = key.known_values() if key.dims == (dim,) else None
        if known is None:
            raise RaggedDimError(
                f"a mask of {dim._title} that is computed would leave numbers of positions of "
                f"each {dim._within._short} that are not known before",  # type: ignore[union-attr]
                [("dim", repr(dim))],
                "dt.where(mask, x, 0) keeps the dim and can be summed",
            )
        return _kept(x, dim, np.flatnonzero(np.asarray(known)))
    n = sizes(dim)
    inside = elemwise("less", key, n) & elemwise("greater_equal", key, elemwise("negative", n))
    text = f"positions computed for {dim._title} are outside of the length of their parent"
    place = check(inside, text, elemwise("where", elemwise("less", key, 0), key + n, key))
    return element_of_parent(dim, x, place)


def _mask(dim: Dim, key: Any) -> np.ndarray:
    mask = np.asarray(key, dtype=bool)
    _layout(dim, "a mask")
    if len(mask) != dim.length:
        raise PositionError(
            f"a mask of {len(mask)} values does not fit {dim._title} of length {dim.length}"
        )
    return mask


def _several(x: DimTensor, dim: Dim, key: Any) -> DimTensor:
    """Select the same positions within each parent; a slice takes what there is."""
    layout = _layout(dim, "a slice or list of positions")
    if isinstance(key, range):
        key = list(key)
    chosen: list[np.ndarray] = []
    for n, start in zip(layout.sizes.tolist(), layout.starts.tolist(), strict=True):
        if isinstance(key, slice):
            chosen.append(start + np.arange(n)[key])
            continue
        taken = normalize_selection(Dim(dim._short, length=n), list(key))
        assert isinstance(taken, (Positions, Slice))
        chosen.append(start + taken.to_array(n))
    at = np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
    return _kept(x, dim, at if layout.order is None else layout.order[at])


def _kept(x: DimTensor, dim: Dim, positions: np.ndarray) -> DimTensor:
    """Select positions along the plain dim, on a ragged dim of the same parents."""
    layout, base = _layout(dim, "a selection"), _base(dim)
    if np.array_equal(positions, np.arange(len(layout.owners))):
        return x
    labels = np.asarray(layout.numbers) if base._index is None else None
    index = Coords(labels[positions]) if labels is not None else base._index.take(positions)  # type: ignore[union-attr]
    owners = Positions(layout.owners[positions])
    return _moved(x, dim, RaggedDim._of(dim._short, base.within, owners, index), positions)


def _moved(x: DimTensor, dim: Dim, new: Dim, positions: np.ndarray) -> DimTensor:
    flat = plain(dim)
    taken = to_flat(x, dim).isel({flat: positions})
    old = SelDim(flat, positions=positions)
    return renamed(taken, {old: new})


# -- by label ----------------------------------------------------------------------------------


def _by_label(x: DimTensor, dim: Dim, key: Any) -> DimTensor:
    """Select by a whole label (parent, label), or by labels within the parents."""
    if isinstance(key, TensorHandle):
        return _by_tensor(x, dim, wrap(key.node))
    if is_mask(key):
        return _by_number(x, dim, key)
    layout, base = _layout(dim, "a selection by label"), _base(dim)
    if isinstance(key, tuple):
        return to_flat(x, dim).isel({plain(dim): dim.position(key)})
    own = Coords(layout.numbers) if base._index is None else base._index
    if isinstance(key, (list, np.ndarray)):
        found = [np.flatnonzero([label == one for label in own.to_list()]) for one in key]
        for one, at in zip(key, found, strict=True):
            if not len(at):
                raise LabelError(f"{one!r} is not a label within {dim._title}")
        return _kept(x, dim, np.sort(np.concatenate(found)))
    if isinstance(key, slice):
        values = own.values
        keep = np.ones(len(values), dtype=bool)
        if key.start is not None:
            keep &= values >= key.start
        if key.stop is not None:
            keep &= values <= key.stop
        if key.step is not None:
            raise LabelError(f"sel: a slice of labels along {dim._title} has no step")
        return _kept(x, dim, np.flatnonzero(keep))
    at = np.flatnonzero([label == key for label in own.to_list()])
    if not len(at):
        raise LabelError(
            f"{key!r} is not a label within {dim._title}",
            [("labels", listing(own.values))],
        )
    number = np.full(len(layout.sizes), -1)
    number[layout.owners[at]] = layout.numbers[at]
    place = wrap(make("data", (), _along(base.within, number)))
    if (number >= 0).all():
        return element_of_parent(dim, x, place)
    found_x = element_of_parent(dim, wrap(require_float(x.node)), elemwise("maximum", place, 0))
    return elemwise("where", elemwise("greater_equal", place, 0), found_x, np.nan)


def _along(dim: Dim, values: np.ndarray) -> Any:
    from dimtensor.graph.attrs import DataAttrs

    values = np.ascontiguousarray(values, dtype=np.int64)
    values.flags.writeable = False
    return DataAttrs(None, (dim,), values)


# -- of parents --------------------------------------------------------------------------------


def _of_parents(x: DimTensor, dim: Dim, above: Dim, key: Any, how: str) -> DimTensor:
    """Select parents: one gives a plain dim of its positions, several a ragged dim."""
    _layout(dim, f"a selection of {above._short}")
    if isinstance(key, TensorHandle):
        raise RaggedDimError(
            f"{how}: a tensor of {above._short} would select different numbers of positions of "
            f"{dim._title}",
            [("dim", repr(dim))],
            "select one parent by its label, or several by a list of labels",
        )
    if how == "sel" and not is_mask(key):
        at: Any = above[key]
        if isinstance(at, Dim):
            key = list(map(int, _positions_of(at, above)))
        else:
            key = at
    if is_position(python_label(key)):
        taken = normalize_selection(above, [int(key)])
        assert isinstance(taken, (Positions, Slice))
        new, positions = _of_one(_base(dim), above, int(taken.to_array(above.length)[0]))
    else:
        taken = normalize_selection(above, key)
        assert isinstance(taken, (Positions, Slice))
        new, positions = _of_several(_base(dim), above, taken.to_array(above.length))
    return _moved(x, dim, new, positions)


def _positions_of(dim: Dim, parent: Dim) -> np.ndarray:
    if dim is parent:
        return np.arange(len(parent))
    assert isinstance(dim, SelDim)
    assert isinstance(dim.selection, (Positions, Slice))
    return dim.selection.to_array(parent.length)


def _of_one(dim: RaggedDim, above: Dim, parent: int) -> tuple[Dim, np.ndarray]:
    """Return the dim of the positions of one ancestor, and these positions."""
    layout = _layout(dim, "a selection")
    if dim.within is above:
        at = np.flatnonzero(layout.owners == parent)
        labels = None if dim._index is None else dim._index.take(at)
        new = Dim(dim.name, coords=labels, length=len(at))
        return new, at
    within, parents = _of_one(dim.within, above, parent)  # type: ignore[arg-type]
    return _below(dim, within, parents)


def _of_several(dim: RaggedDim, above: Dim, chosen: np.ndarray) -> tuple[Dim, np.ndarray]:
    if dim.within is above:
        return _below(dim, SelDim(above, positions=chosen), chosen)
    within, parents = _of_several(dim.within, above, chosen)  # type: ignore[arg-type]
    return _below(dim, within, parents)


def _below(dim: RaggedDim, within: Dim, parents: np.ndarray) -> tuple[Dim, np.ndarray]:
    """Return the ragged dim of the positions of some parents, in their order."""
    layout = _layout(dim, "a selection")
    ordered = np.arange(len(layout.owners)) if layout.order is None else layout.order
    pieces = [
        ordered[start : start + n]
        for start, n in zip(layout.starts[parents], layout.sizes[parents], strict=True)
    ]
    at = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
    owners = np.repeat(np.arange(len(parents)), layout.sizes[parents])
    index = None if dim._index is None else dim._index.take(at)
    return RaggedDim._of(dim._short, within, Positions(owners), index), at


def _base(dim: Dim) -> RaggedDim:
    base = dim._unrenamed
    assert isinstance(base, RaggedDim)
    return base


def _layout(dim: Dim, what: str) -> Any:
    layout = _base(dim).layout
    if layout is None:
        raise RaggedDimError(
            f"{what} along {dim._title} has a length that is known when a function is called",
            [("dim", repr(dim))],
            f"keep the dim, and use dt.where with dt.arange({dim._short}), which counts within "
            "each parent",
        )
    return layout
