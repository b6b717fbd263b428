"""Kinds of nodes that rearrange elements: expand, rename, ravel, unravel, concat, stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dimtensor.dims import (
    Dim,
    Dims,
    ProductDim,
    clash_error,
    outer_error,
    sort_dims,
    union,
    without,
)
from dimtensor.errors import DimError, LabelError
from dimtensor.graph.attrs import ConcatAttrs, RelabelAttrs
from dimtensor.graph.dtypes import promote
from dimtensor.graph.forms import Entry, Parsed, Reader, Unordered
from dimtensor.graph.infer import describe
from dimtensor.graph.kind import (
    Call,
    DimMap,
    DimRef,
    Kind,
    by_position,
    kind,
    lacking,
    lacking_in_operand,
    mapped,
    set_text,
    wrong_count,
)
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.printing.printer import node_text
from dimtensor.graph.rebuilding.parents import aligned
from dimtensor.graph.rebuilding.substitute import expand_node, map_dim


class _Moving[A](Kind[A]):
    """Base class of nodes that copy the elements of their inputs."""

    def values_of(self, node: Node) -> tuple[Node, ...]:
        return node.inputs

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return (range(len(node.inputs)),)


@kind("expand")
class Expand(_Moving[Dims]):
    """Broadcast to additional dims, which are the attribute."""

    attrs = tuple
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: Dims) -> NodeType:
        (x,) = inputs
        return NodeType(union([x.dims, attrs], "expand"), x.dtype, x.categories)

    def aligned(self, inputs: tuple[Node, ...], attrs: Dims, dims: Dims) -> Node | None:
        (x,) = aligned(inputs, dims)
        return None if x is inputs[0] and set(attrs) <= set(dims) else expand_node(x, dims)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("expand", by_position(node.inputs), [("dims", set_text(node.attrs, ref))])

    def map_dims(self, attrs: Dims, f: DimMap) -> Dims:
        return mapped(attrs, f)

    def with_inputs(self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
        return expand_node(inputs[0], mapped(node.attrs, lambda dim: map_dim(dim, mapping)))

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return True

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        for dim in node.attrs:
            yield dim, "any"

    def form(self, node: Node) -> tuple:
        return (self.name, Unordered(node.attrs), node.inputs)


@kind("relabel")
class Relabel(_Moving[RelabelAttrs]):
    """Renaming of dims, position by position."""

    attrs = RelabelAttrs
    spoken = "rename"

    def infer(self, inputs: tuple[Node, ...], attrs: RelabelAttrs) -> NodeType:
        (x,) = inputs
        mapping = dict(attrs.pairs)
        dims = [mapping.get(dim, dim) for dim in x.dims]
        seen: dict[Any, Dim] = {}
        for dim in dims:
            other = seen.setdefault(dim._namespace, dim)
            if sum(d is dim for d in dims) > 1 or other is not dim:
                raise clash_error(
                    f"rename: the result has two dims named {dim.name!r}",
                    other,
                    dim,
                    hint="rename the other one, too: x.rename(a=..., b=...)",
                )
        outer = outer_error(dims, "rename: the dims of the result")
        if outer is not None:
            raise outer
        return NodeType(sort_dims(dims), x.dtype, x.categories)

    def complaint(self, node: Node) -> str | None:
        for old, new in node.attrs.pairs:
            if None not in (old.length, new.length) and old.length != new.length:
                return f"{old!r} of length {old.length} becomes {new!r} of length {new.length}"
        return wrong_count(node, 1) or lacking_in_operand([d for d, _ in node.attrs.pairs], node)

    def call(self, node: Node, ref: DimRef) -> Call:
        pairs = [(ref(old), ref(new)) for old, new in node.attrs.pairs]
        return Call("rename", by_position(node.inputs), pairs)

    def map_dims(self, attrs: RelabelAttrs, f: DimMap) -> RelabelAttrs:
        return RelabelAttrs(tuple((f(old), f(new)) for old, new in attrs.pairs))

    def renames(self, node: Node) -> Sequence[tuple[Dim, Dim]]:
        return node.attrs.pairs

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return all(dim is not end for pair in node.attrs.pairs for end in pair)

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        return dict(node.attrs.pairs).get(dim, dim) is to

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        for old, new in node.attrs.pairs:
            yield old, "old"
            yield new, "taken"

    def form(self, node: Node) -> tuple:
        return (self.name, Unordered(node.attrs.pairs), node.inputs)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        pairs, inputs = reader.value(entry.parts)
        return Parsed(inputs, RelabelAttrs(pairs))


class _OfProduct(_Moving[ProductDim]):
    """Base class of conversions between a product dim, the attribute, and its factors."""

    attrs = ProductDim

    def map_dims(self, attrs: ProductDim, f: DimMap) -> Any:
        return f(attrs)

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        for number, factor in enumerate(node.attrs.factors):
            yield factor, f"factor {number}"

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return True  # product and factors are never dims of both input and result

    def call(self, node: Node, ref: DimRef) -> Call:
        assert self.spoken is not None
        return Call(self.spoken, by_position(node.inputs), [("", ref(node.attrs))])


@kind("merge")
class Merge(_OfProduct):
    """Conversion of factors to their product dim."""

    spoken = "ravel"

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        product: ProductDim = node.attrs
        return to is (product if dim in product.factors else dim)

    def infer(self, inputs: tuple[Node, ...], attrs: ProductDim) -> NodeType:
        (x,) = inputs
        others = without(x.dims, attrs.factors)
        return NodeType(_with_new(others, (attrs,), "ravel"), x.dtype, x.categories)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1) or lacking_in_operand(node.attrs.factors, node)


@kind("split")
class Split(_OfProduct):
    """Conversion of a product dim to its factors."""

    spoken = "unravel"

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        product: ProductDim = node.attrs
        return to in product.factors if dim is product else dim is to

    def infer(self, inputs: tuple[Node, ...], attrs: ProductDim) -> NodeType:
        (x,) = inputs
        dims = _with_new(without(x.dims, [attrs]), attrs.factors, "unravel")
        return NodeType(dims, x.dtype, x.categories)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1) or lacking_in_operand([node.attrs], node)


def _with_new(kept: Dims, new: Dims, operation: str) -> Dims:
    """Return the union of kept and new dims, which must be disjoint."""
    for dim in new:
        if dim in kept:
            raise DimError(
                f"{operation}: two dims of the result would be {dim._title}",
                [("kept", [d._short for d in kept]), ("new", [d._short for d in new])],
                "rename one of them with rename_dim first",
            )
    return union([kept, new], operation)


@kind("concat")
class Concat(_Moving[ConcatAttrs]):
    """Concatenation of tensors, each along a dim of its own."""

    attrs = ConcatAttrs
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: ConcatAttrs) -> NodeType:
        whole = (attrs.whole,)
        others = [without(x.dims, [part]) for x, part in zip(inputs, attrs.parts, strict=True)]
        for rest in others:
            _with_new(rest, whole, "concat")
        dims = union([*others, whole], "concat", lambda: [*map(describe, inputs), "the result"])
        return NodeType(dims, promote(tuple(x.dtype for x in inputs)), _common_categories(inputs))

    def complaint(self, node: Node) -> str | None:
        parts = node.attrs.parts
        if len(parts) != len(node.inputs):
            return f"{len(node.inputs)} inputs are joined along {len(parts)} dims"
        for x, part in zip(node.inputs, parts, strict=True):
            wrong = lacking([part], x.dims, node_text(x))
            if wrong is not None:
                return wrong
        return None

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("concat", by_position(node.inputs), [("dim", ref(node.attrs.whole))])

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return dim is not node.attrs.whole

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        return dim is not node.attrs.parts[at] and super().carries(node, at, dim, to)

    def map_dims(self, attrs: ConcatAttrs, f: DimMap) -> ConcatAttrs:
        return ConcatAttrs(mapped(attrs.parts, f), f(attrs.whole))


@kind("stack")
class Stack(_Moving[Dim]):
    """Stack of tensors along a new dim, which is the attribute."""

    attrs = Dim
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
        all_dims = [*(x.dims for x in inputs), (attrs,)]
        dims = union(all_dims, "stack", lambda: [*map(describe, inputs), "the new dim"])
        return NodeType(dims, promote(tuple(x.dtype for x in inputs)), _common_categories(inputs))

    def complaint(self, node: Node) -> str | None:
        if node.attrs.length is not None and node.attrs.length != len(node.inputs):
            return f"{len(node.inputs)} inputs are stacked along {node.attrs!r}"
        return None

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("stack", by_position(node.inputs), [("dim", ref(node.attrs))])

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return dim is not node.attrs

    def map_dims(self, attrs: Dim, f: DimMap) -> Dim:
        return f(attrs)


def _common_categories(inputs: tuple[Node, ...]) -> Dim | None:
    kinds = {x.categories for x in inputs}
    if len(kinds) == 1:
        return kinds.pop()
    raise LabelError(
        "labels of different dims (or labels and numbers) do not join",
        [(f"operand {i + 1}", describe(x)) for i, x in enumerate(inputs)],
    )
