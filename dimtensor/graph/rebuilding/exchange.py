"""Replacement of nodes and dims in an expression, with inputs, selections and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dimtensor.dims import Dim, RaggedDim, SelDim, dim_labels, dim_set, family, sort_dims, without
from dimtensor.dims.selection import Positions, Slice, normalize_selection
from dimtensor.errors import DimError, LabelError, RaggedDimError, listing
from dimtensor.graph.attrs import DataAttrs, IndexItem
from dimtensor.graph.infer import constant_attrs, describe
from dimtensor.graph.node import KINDS, Node, make
from dimtensor.graph.rebuilding.substitute import map_dim, rebuild
from dimtensor.graph.walk import toposort, with_regions


def substitute(
    outputs: Sequence[Node],
    replacements: Mapping[Node, Node],
    dims: Mapping[Dim, Dim] | None = None,
) -> list[Node]:
    """Rebuild outputs with nodes and dims replaced.

    A replacement may have more dims than the node it replaces: everything that depends on it is
    then batched over the additional dims.

    Raises
    ------
    DimError
        If a replacement lacks a dim of the node that it replaces.
    """
    exchange = Exchange(dims or {})
    for old, new in replacements.items():
        expected = tuple(map(exchange.dim, old.dims))
        lost = without(expected, new.dims)
        for dim in lost:
            for other in new.dims:
                if other._namespace == dim._namespace:
                    raise _other_dim(dim, other)
        if lost:
            raise DimError(
                "a replacement lacks dims of the tensor that it replaces",
                [
                    ("replaced", dim_set(expected)),
                    ("replacement", dim_set(new.dims)),
                    ("lacking", dim_set(lost)),
                ],
                "expand the replacement over them",
            )
    return exchange.nodes(outputs, replacements) if dims else rebuild(outputs, replacements)


def _other_dim(dim: Dim, other: Dim) -> DimError:
    """Make the error of a replacement with a different dim of the same name, showing its labels."""
    details: list[tuple[str, object]] = [("replaced", repr(dim)), ("replacement", repr(other))]
    own, given = dim_labels(dim), dim_labels(other)
    if own is not None and given is not None:
        known, found = own.to_list(), given.to_list()
        differing = (("missing", known, found), ("extra", found, known))
        for name, some, rest in differing:
            among = set(rest)
            details.append((name, listing([x for x in some if x not in among]) or "none"))
    return DimError(
        f"a replacement has another dim named {dim.name!r} than the tensor that it replaces",
        details,
        "bring it to the same labels with reindex or sel, or replace the dim itself, too: "
        "dt.substitute(x, {dim: other, ...})",
    )


def _unsorted(old: RaggedDim, new: RaggedDim) -> RaggedDimError:
    return RaggedDimError(
        f"positions of {old._title} are in the order of the parents, and those of the dim in its "
        "place are not",
        [("instead", repr(new))],
        "give its rows in the order of the parents",
    )


class Exchange:
    """Replacement of dims by others.

    Selections by position in a dim with labels select the same labels in the new dim.

    Parameters
    ----------
    dims : mapping of Dim to Dim

    Raises
    ------
    RaggedDimError
        If the positions of a ragged dim are sorted by parent, and those of the other are not:
        loops along the first one rely on it.
    """

    def __init__(self, dims: Mapping[Dim, Dim]):
        for old, new in dims.items():
            if isinstance(old, RaggedDim) and old.is_sorted:
                if isinstance(new, RaggedDim) and not new.is_sorted:
                    raise _unsorted(old, new)
        self._dims = dict(dims)
        self._mapping: dict[Dim, Dim] = dict(dims)

    def dim(self, dim: Dim) -> Dim:
        """Return the replacement of a dim."""
        for part in reversed(list(family(dim))):  # parents first
            if part not in self._mapping and isinstance(part, SelDim):
                parent = map_dim(part.parent, self._mapping)
                if parent is not part.parent and isinstance(part.selection, (Positions, Slice)):
                    chosen = self._selection(part.parent, parent, part.selection)
                    self._mapping[part] = SelDim._from(parent, chosen)
        return map_dim(dim, self._mapping)

    def nodes(self, outputs: Sequence[Node], replacements: Mapping[Node, Node]) -> list[Node]:
        """Rebuild outputs with dims and nodes replaced.

        Raises
        ------
        DimError
            If data have one of the replaced dims.
        LabelError
            If a selected label is not in the new dim.
        """
        order = list(with_regions(toposort(outputs)))
        for node in order:
            made = self._made(node) if node.kind == "data" else None
            old, new = node.categories, None if made is None else made.categories
            if old is not None and new is not None and old is not new:
                self._dims[old] = self._mapping[old] = new
        for node in order:
            for dim in node.dims:
                self.dim(dim)
        return rebuild(outputs, replacements, self._replace, self._mapping)

    def _replace(self, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.kind == "input":
            return self._input(node)
        if node.kind == "data":
            return self._data(node)
        if node.kind == "codes" and node.attrs in self._dims and inputs[0].kind == "constant":
            moved = self._positions(node.attrs, [int(inputs[0].attrs.value)])
            number = make("constant", (), constant_attrs(moved[0], inputs[0].dtype))
            return make("codes", (number,), self._dims[node.attrs])
        if node.kind == "stack" and node.attrs in self._dims:
            return make("stack", self._restacked(node.attrs, inputs), self._dims[node.attrs])
        if node.kind == "concat" and node.attrs.whole in self._dims:
            self._refuse_to_rejoin(node.attrs.whole)
        if node.kind == "shaped":
            self._refuse_other_dims(node)
        if node.kind == "relabel":
            for old, new in node.attrs.pairs:
                if isinstance(old, SelDim) and old.parent._unrenamed in self._dims:
                    if isinstance(old.selection, (Positions, Slice)):
                        raise DimError(
                            f"substitute: elements of {old.parent._title} are moved by position, "
                            "as in a roll, and could be different ones along another dim"
                        )
                both = (self.dim(old).length, self.dim(new).length)
                lengths = {length for length in both if length is not None}
                if len(lengths) > 1:
                    raise DimError(
                        f"substitute: {old._title} replaces {new._title}, and would have another "
                        f"length: {sorted(lengths)}"
                    )
        kind = KINDS[node.kind]
        selected = kind.selected(node)
        if selected is not None:
            moved_items = tuple(map(self._item, selected.items))
            if moved_items != selected.items:
                attrs = node.attrs._replace(items=moved_items)
                before: Any = SimpleNamespace(kind=node.kind, inputs=node.inputs, attrs=attrs)
                return kind.with_inputs(before, inputs, self._mapping)
        return None

    def _input(self, node: Node) -> Node:
        dims = sort_dims(map(self.dim, node.attrs.dims))
        categories = self._dims.get(node.attrs.categories, node.attrs.categories)
        return make("input", (), node.attrs._replace(dims=dims, categories=categories))

    @property
    def dims(self) -> dict[Dim, Dim]:
        """Replaced dims and their replacements."""
        return dict(self._dims)

    def _made(self, node: Node) -> Node | None:
        """Recompute data that follow from the labels of replaced dims; None for other data."""
        if node.attrs.recipe is None:
            return None
        function, arguments = node.attrs.recipe
        others = tuple(self.dim(x) if isinstance(x, Dim) else x for x in arguments)
        if all(one is other for one, other in zip(arguments, others, strict=True)):
            return None
        return function(*others).node

    def _data(self, node: Node) -> Node | None:
        attrs: DataAttrs = node.attrs
        made = self._made(node)
        if made is not None:
            return made
        self._refuse_other_dims(node)
        if attrs.categories not in self._dims:
            return None
        values = self._positions(attrs.categories, attrs.values).astype(attrs.values.dtype)
        other = self._dims[attrs.categories]
        return make("data", (), DataAttrs(attrs.name, attrs.dims, values, other, attrs.labels))

    def _refuse_other_dims(self, node: Node) -> None:
        """Raise the error of known values along a dim that is replaced."""
        for dim in node.dims:
            if self.dim(dim) is not dim:
                raise DimError(
                    f"substitute: {describe(node)} has values along {dim._title}, and none "
                    "along another dim",
                    [("instead", repr(self.dim(dim)))],
                    "replace the data, too: dt.substitute(x, {dim: other, data: other_data})",
                )

    def _restacked(self, dim: Dim, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
        """Bring stacked tensors into the order of their labels in the replacement of a dim."""
        labels, others = dim_labels(dim), dim_labels(self._dims[dim])
        if labels is None or others is None:
            return inputs
        found = np.asarray(labels.find(others))
        lacking = [x for x, at in zip(others.to_list(), found, strict=True) if at < 0]
        if lacking:
            raise LabelError(
                f"substitute: tensors are stacked along {dim._title}, and none for labels of the "
                "dim that replaces it",
                [("labels", listing(lacking)), ("stacked", repr(dim))],
            )
        return tuple(inputs[at] for at in found)

    def _refuse_to_rejoin(self, dim: Dim) -> None:
        """Raise an error if tensors are joined by position along a dim that gets other labels."""
        labels, others = dim_labels(dim), dim_labels(self._dims[dim])
        if labels is not None and others is not None and labels.to_list() != others.to_list():
            raise DimError(
                f"substitute: tensors are joined along {dim._title} by position, and could belong "
                "to other labels along another dim",
                [("instead", repr(self._dims[dim]))],
            )

    def _item(self, item: IndexItem) -> IndexItem:
        other = map_dim(item.dim, self._mapping)
        static = item.kind == "int" or isinstance(item.payload, (Positions, Slice))
        if other is item.dim or not static:
            return item
        if item.dim._unrenamed not in self._dims and item.dim.length != other.length:
            raise DimError(
                f"substitute: positions along {item.dim._title}, which is derived from a replaced "
                "dim, could be different ones"
            )
        if item.dim._unrenamed not in self._dims:
            return item
        if item.kind == "int":
            (position,) = self._positions(item.dim._unrenamed, [item.payload])
            return item._replace(payload=int(position))
        return item._replace(payload=self._selection(item.dim, other, item.payload))

    def _selection(self, dim: Dim, other: Dim, chosen: Positions | Slice) -> Any:
        own = dim._unrenamed
        if own not in self._dims or dim_labels(own) is None or own.length is None:
            return chosen
        return normalize_selection(other, self._positions(own, chosen.to_array(own.length)))

    def _positions(self, dim: Dim, positions: Any) -> np.ndarray:
        """Translate positions in a dim to those of the same labels in its replacement."""
        positions = np.asarray(positions, dtype="int64")
        labels, others = dim_labels(dim), dim_labels(self._dims[dim])
        if labels is None or others is None:
            return positions
        wanted = labels.take(positions.ravel())
        found = np.asarray(others.find(wanted))
        lost = [x for x, at in zip(wanted.to_list(), found, strict=True) if at < 0]
        if lost:
            raise LabelError(
                f"substitute: labels of {dim._title} that the expression selects are not in "
                "the dim that replaces it",
                [("labels", listing(lost)), ("instead", repr(self._dims[dim]))],
            )
        return found.reshape(positions.shape)
