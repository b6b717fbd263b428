"""Kinds of selecting nodes: indexing, and updates of selections."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from dimtensor.dims import (
    Dim,
    Dims,
    SelDim,
    ancestors,
    clash_error,
    dim_set,
    refuse_ragged,
    union,
    without,
)
from dimtensor.dims.selection import LateSlice, Positions, Slice
from dimtensor.errors import DimError, DtypeError, LabelError, PositionError
from dimtensor.graph.attrs import IndexAttrs, IndexItem, UpdateAttrs
from dimtensor.graph.checking.lengths import Requirement
from dimtensor.graph.dtypes import promote
from dimtensor.graph.forms import (
    Chosen,
    Entry,
    FormlessError,
    Parsed,
    Place,
    Reader,
    Unordered,
    known_length,
    selection_form,
)
from dimtensor.graph.infer import describe
from dimtensor.graph.kind import Call, DimMap, DimRef, Kind, Selected, kind, lacking_in_operand
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.rebuilding.substitute import expand_node, map_dim, relabel_node
from dimtensor.tuning import UNROLLED_LENGTH


class _Selecting(Kind[Any]):
    """Base class of nodes with items as attributes, and indexers as last inputs."""

    # number of inputs before the indexers
    operands: int

    def selected(self, node: Node) -> Selected:
        return Selected(node.attrs.items, node.inputs[self.operands :])

    def masked(self, node: Node) -> dict[Dim, Dim]:
        """Map the dims that are selected from by masks to the selected dims."""
        items, indexers = self.selected(node)
        return {item.dim: item.new_dim(indexers) for item in items if item.kind == "mask"}

    def map_dims(self, attrs: Any, f: DimMap) -> Any:
        items = tuple(item._replace(dim=f(item.dim)) for item in attrs.items)
        return attrs._replace(items=items)

    def complaint(self, node: Node) -> str | None:
        items: tuple[IndexItem, ...] = node.attrs.items
        indexers = len(node.inputs) - self.operands
        if indexers < 0:
            return f"{len(node.inputs)} inputs are too few"
        named = [item.dim for item in items]
        if len(set(named)) != len(named):
            return f"a dim is indexed twice: {named}"
        for item in items:
            if item.kind not in ("int", "select", "mask", "tensor"):
                return f"there is no indexing kind {item.kind!r}"
            if item.kind in ("mask", "tensor") and not 0 <= item.payload < indexers:
                return f"indexer number {item.payload} of {indexers}"
        return lacking_in_operand(named, node)

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        items, indexers = self.selected(node)
        for item in items:
            yield item.dim, _item_role(item, indexers, numbers)

    def messages(self, node: Node) -> dict[Dim | None, str]:
        """Return messages for computed positions, and for constant positions along masked dims."""
        items, indexers = self.selected(node)
        found: dict[Dim | None, str] = {}
        for item in items:
            if item.kind == "tensor":
                what = f"positions computed for {item.dim._title} are outside of its length"
                found[item.dim] = what
            elif item.dim.length is None:
                found.update((item.dim, one.what) for one in _needed(item, indexers))
        return found

    def requirements(self, node: Node) -> Iterator[Requirement]:
        items, indexers = self.selected(node)
        for item in items:
            yield from _needed(item, indexers)

    def form(self, node: Node) -> tuple:
        items, indexers = self.selected(node)
        chosen = Unordered(_item_form(item, indexers) for item in items)
        options = node.attrs[:-1]
        return (self.name, *options, chosen, node.inputs[: self.operands])

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        options, chosen, operands = entry.parts[:-2], entry.parts[-2], entry.parts[-1]
        indexers: list[Node] = []
        items: list[IndexItem] = []
        dims: dict[Dim, Dim] = {}
        for form in chosen:
            dim = reader.value(form[0])
            if form[1] == "select":
                selection = reader.selection(form[2])
                items.append(IndexItem(dim, "select", selection))
                dims[SelDim._from(dim, selection)] = reader.value(form[3])
            elif form[1] == "int":
                items.append(IndexItem(dim, "int", form[2]))
            else:
                items.append(IndexItem(dim, form[1], len(indexers)))
                indexers.append(reader.value(form[2]))
        attrs = self.attrs(*options, tuple(items))
        return Parsed((*reader.value(operands), *indexers), attrs, dims)

    def _text(
        self, node: Node, ref: DimRef
    ) -> tuple[list[tuple[str, Node]], list[tuple[str, str]]]:
        operands, options = [], []
        items, indexers = self.selected(node)
        for item in items:
            if item.kind in ("tensor", "mask"):
                operands.append((ref(item.dim), indexers[item.payload]))
            elif item.kind == "int":
                options.append((ref(item.dim), str(item.payload)))
            else:
                options.append((ref(item.dim), item.payload.text))
        return operands, options


def _item_role(item: IndexItem, indexers: Sequence[Node], numbers: Mapping[Node, int]) -> str:
    payload = item.payload
    if item.kind in ("tensor", "mask"):
        return f"{item.kind} {numbers[indexers[payload]]}"
    if item.kind == "int":
        return f"int {payload}"
    if isinstance(payload, Slice):
        return f"slice {payload.start} {payload.stop} {payload.step}"
    return type(payload).__name__


def _item_form(item: IndexItem, indexers: Sequence[Node]) -> tuple:
    dim, payload = item.dim, item.payload
    if item.kind == "int":
        if known_length(dim) is None:
            if dim.length is not None and 2 * payload >= dim.length:
                payload -= dim.length
            if not -UNROLLED_LENGTH <= payload <= UNROLLED_LENGTH:
                return (dim, "tensor", Place(payload, dim))
        return (dim, "int", payload)
    if item.kind in ("mask", "tensor"):
        return (dim, item.kind, indexers[payload])
    result = item.new_dim(indexers)
    if isinstance(payload, Positions):
        return (dim, "tensor", Chosen(payload, result))
    if isinstance(payload, (Slice, LateSlice)):
        return (dim, "select", selection_form(dim, payload), result)
    raise FormlessError(f"{payload!r} is a selection of no known kind")


def _needed(item: IndexItem, indexers: Sequence[Node]) -> Iterator[Requirement]:
    dim = item.dim
    where = f"is outside of {dim._title}"
    if item.kind == "int":
        needed = _reach(item.payload)
        yield Requirement(dim, needed, f"position {item.payload} {where}", PositionError)
    elif item.kind == "select" and isinstance(item.payload, Positions):
        positions = item.payload.array
        if positions.size:
            far = max(positions.tolist(), key=_reach)
            yield Requirement(dim, _reach(far), f"position {far} {where}", PositionError)
    elif item.kind == "tensor":
        what = f"positions are looked up along {dim._title}"
        yield Requirement(dim, 1, what, PositionError, indexers[item.payload].dims)


def _reach(position: int) -> int:
    return position + 1 if position >= 0 else -position


def selected_dims(x: Node, items: Sequence[IndexItem], indexers: tuple[Node, ...]) -> Dims:
    """Infer the dims of a selection: the dims of pointwise indexers replace the indexed dims."""
    kept = without(x.dims, [item.dim for item in items])
    added: list[Dims] = []
    for item in items:
        refuse_ragged(item.dim, "a selection by position")
        if item.kind == "tensor":
            added.append(indexers[item.payload].dims)
        elif item.kind != "int":
            if item.kind == "mask" and indexers[item.payload].dims != (item.dim,):
                raise _ragged(item.dim, indexers[item.payload])
            added.append((item.new_dim(indexers),))
    return union([kept, *added], "selection")


def _ragged(dim: Dim, mask: Node) -> DimError:
    """Make the error of a mask with further dims, for instance by batching."""
    return DimError(
        f"a mask along {dim._title} has this dim and no other: it would select different "
        "numbers of positions along the others",
        [("mask", describe(mask))],
        "dt.where(mask, x, 0) keeps the dim and can be summed; over several dims x[mask] "
        "ravels them",
    )


@kind("index")
class Index(_Selecting):
    """Selection from a tensor."""

    attrs = IndexAttrs
    spoken = "a selection"
    operands = 1
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: IndexAttrs) -> NodeType:
        x = inputs[0]
        return NodeType(selected_dims(x, attrs.items, inputs[1:]), x.dtype, x.categories)

    def aligned(self, inputs: tuple[Node, ...], attrs: IndexAttrs, dims: Dims) -> Node | None:
        selected = {item.dim for item in attrs.items}
        kept = [dim for dim in inputs[0].dims if dim not in selected]
        if not any(above in kept for dim in dims for above in ancestors(dim)):
            return None
        for dim in dims:
            for above in ancestors(dim):
                if above in selected:  # looked up by the same look-up
                    return None
        return super().aligned(inputs, attrs, dims)

    def call(self, node: Node, ref: DimRef) -> Call:
        operands, options = self._text(node, ref)
        return Call("index", [("", node.inputs[0]), *operands], options)

    def with_inputs(self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
        new = super().with_inputs(node, inputs, mapping)
        # a selection by another mask has another dim, which replaces the old one downstream
        after = [item.dim for item in new.attrs.items if item.kind == "mask"]
        before = [item.dim for item in node.attrs.items if item.kind == "mask"]
        made, remade = self.selected(node).new_dims(), self.selected(new).new_dims()
        for old, changed in zip(before, after, strict=True):
            mapping[made[old]] = remade[changed]
            # the masked dim may have another name than the dim it was selected from
            mapping[made[old]._unrenamed] = remade[changed]._unrenamed
        return new

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return at > 0 or all(item.dim != dim for item in node.attrs.items)

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        return self.masked(node).get(dim) is to or super().carries(node, at, dim, to)

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return ((0,),)

    def values_of(self, node: Node) -> tuple[Node, ...] | None:
        """Return the indexed tensor, unless there is a mask."""
        masked = any(item.kind == "mask" for item in node.attrs.items)
        return None if masked else node.inputs[:1]


@kind("update")
class Update(_Selecting):
    """Update of a tensor: a selection is set to a value, or increased by it."""

    attrs = UpdateAttrs
    spoken = "a selection set"
    operands = 2

    def infer(self, inputs: tuple[Node, ...], attrs: UpdateAttrs) -> NodeType:
        x, value = inputs[:2]
        mode, items = attrs
        selected = selected_dims(x, items, inputs[2:])
        for dim in without(value.dims, selected):
            raise _foreign(mode, dim, selected, value)
        if promote((x.dtype, value.dtype)) != x.dtype:
            raise DtypeError(
                f"{mode}: a value of {value.dtype} does not fit into a tensor of {x.dtype}"
            )
        if x.categories is not None and value.categories is not x.categories:
            raise LabelError(
                f"{mode}: {describe(value)} does not hold labels of {x.categories._title}"
            )
        return NodeType(x.dims, x.dtype, x.categories)

    def complaint(self, node: Node) -> str | None:
        if node.attrs.mode not in ("set", "inc"):
            return f"there is no update mode {node.attrs.mode!r}"
        return super().complaint(node)

    def call(self, node: Node, ref: DimRef) -> Call:
        operands, options = self._text(node, ref)
        x, value = node.inputs[:2]
        return Call(node.attrs.mode, [("", x), ("value", value), *operands], options)

    def with_inputs(self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
        """Rebuild the update; the tensor is expanded to additional dims of value or indexers."""
        base, *others = inputs
        added: list[Dim] = []
        for old, new in zip(node.inputs[1:], others, strict=True):
            known = {map_dim(dim, mapping) for dim in old.dims}
            added += [dim for dim in new.dims if dim not in known]
        base = expand_node(base, tuple(dict.fromkeys(added)))
        return super().with_inputs(node, (base, *others), mapping)

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return all(item.dim != dim for item in node.attrs.items)

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        masked = self.masked(node)
        if to in masked:
            return dim in (to, masked[to])
        return super().carries(node, at, dim, to)

    def combined_by(self, node: Node, dim: Dim, varying: Collection[int]) -> str | None:
        return "add" if node.attrs.mode == "inc" and 0 not in varying else None

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return ((0, 1),)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        """Read the update; dims of the value are replaced by the inferred dims of the selection."""
        inputs, attrs, dims = super().parse(entry, reader)
        x, value = inputs[:2]
        inferred = {wanted: dim for dim, wanted in dims.items()}
        pairs = ((dim, inferred.get(dim, dim)) for dim in value.dims)
        return Parsed((x, relabel_node(value, *pairs), *inputs[2:]), attrs)


def _foreign(mode: str, dim: Dim, selected: Dims, value: Node) -> DimError:
    """Make the error of a value with a dim that the selection lacks."""
    namesake = [d for d in selected if d._namespace == dim._namespace]
    if namesake:
        return clash_error(
            f"{mode}: the value has another dim than the selection",
            namesake[0],
            dim,
            "selection",
            "value",
        )
    return DimError(
        f"{mode}: the value has {dim._title}, the selection has not",
        [("selection", dim_set(selected)), ("value", dim_set(value.dims))],
        "expand the tensor over the dim first",
    )
