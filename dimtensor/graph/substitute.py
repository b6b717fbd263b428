"""Substitution: rebuild a graph with some nodes replaced, batched over the dims they add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dimtensor.dims import (
    ConcatDim,
    Dim,
    Dims,
    PadDim,
    ProductDim,
    RenamedDim,
    SelDim,
    SortedDim,
    dim_set,
    union,
    without,
)
from dimtensor.dims.selection import Mask
from dimtensor.errors import DimError, build_message
from dimtensor.graph.node import Node, make
from dimtensor.graph.walk import toposort
from dimtensor.graph.words import carry

DimMap = Callable[[Dim], Dim]
Replace = Callable[[Node, tuple[Node, ...]], Node | None]
_WITH_REGIONS = frozenset({"loop", "cond"})


def substitute(outputs: Sequence[Node], replacements: Mapping[Node, Node]) -> list[Node]:
    """Outputs with nodes replaced.

    A replacement may have more dims than what it replaces: everything that depends on it is then
    computed for each position of the additional dims.

    Raises
    ------
    DimError
        If a replacement lacks a dim of what it replaces.
    """
    for old, new in replacements.items():
        lost = without(old.dims, new.dims)
        if lost:
            raise DimError(
                build_message(
                    "a replacement has all dims of what it replaces",
                    [
                        ("replaced", dim_set(old.dims)),
                        ("replacement", dim_set(new.dims)),
                        ("lacking", dim_set(lost)),
                    ],
                    "expand the replacement over them",
                )
            )
    return rebuild(outputs, replacements)


def rebuild(
    outputs: Sequence[Node],
    replacements: Mapping[Node, Node],
    replace: Replace | None = None,
    dims: Mapping[Dim, Dim] | None = None,
    nested: bool = True,
) -> list[Node]:
    """Outputs with nodes replaced, by what is given or by what a function gives.

    Parameters
    ----------
    outputs : sequence of Node
    replacements : mapping of Node to Node
    replace : callable, optional
        Gets a node and its new inputs; returns what takes its place, or None to keep it.
    dims : mapping of Dim to Dim, optional
        Dims that are exchanged for others.
    nested : bool
        Whether the function is asked of nodes in the bodies of loops, too.
    """
    done: dict[Node, Node] = dict(replacements)
    mapping: dict[Dim, Dim] = dict(dims or {})
    loops: dict[Any, list[Node]] = {}
    for node in toposort(outputs):
        if node in done:
            continue
        inputs = tuple(done[i] for i in node.inputs)
        instead = replace(node, inputs) if replace is not None else None
        if instead is not None:
            done[node] = instead
            continue
        inner = replace if nested and node.kind in _WITH_REGIONS else None
        if (
            inputs == node.inputs
            and not inner
            and not any(map_dim(d, mapping) is not d for d in node.dims)
        ):
            done[node] = node
            continue
        if node.kind in _WITH_REGIONS:
            from dimtensor.graph.grown import rebuilt

            key = (node.kind, inputs, node.attrs._replace(output=0))
            if key not in loops:
                loops[key] = rebuilt(node, inputs, mapping, inner)
            done[node] = loops[key][node.attrs.output]
            continue
        done[node] = _rebuild(node, inputs, mapping)
        carry(node, done[node], done)
    return [done[output] for output in outputs]


batch = substitute


def map_dim(dim: Dim, mapping: Mapping[Dim, Dim]) -> Dim:
    """A dim with the dims that it is derived from exchanged."""
    if not mapping:
        return dim
    if dim in mapping:
        return mapping[dim]
    if not dim.parents:
        return dim
    parents = [map_dim(parent, mapping) for parent in dim.parents]
    if all(new is old for new, old in zip(parents, dim.parents, strict=True)):
        return dim
    if isinstance(dim, SelDim):
        return SelDim.of(parents[0], dim.selection)
    if isinstance(dim, RenamedDim):
        return RenamedDim(parents[0], dim.name)
    if isinstance(dim, ProductDim):
        return ProductDim(parents, dim.name)
    if isinstance(dim, ConcatDim):
        return ConcatDim(parents, dim.name)
    if isinstance(dim, PadDim):
        return PadDim(parents[0], dim.before, dim.after)
    assert isinstance(dim, SortedDim)
    return SortedDim(parents[0])


def _rebuild(node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
    attrs = map_attrs(node.kind, node.attrs, lambda dim: map_dim(dim, mapping))
    if node.kind == "expand":
        (x,) = inputs
        added = without(attrs, x.dims)
        return make("expand", inputs, added) if added else x
    if node.kind == "gradient":
        return _batched_gradient(node, inputs, attrs)
    if node.kind == "jacobian":
        return _batched_jacobian(node, inputs)
    if node.kind == "pushforward":
        return _batched_pushforward(inputs, attrs)
    if node.kind == "update":
        inputs = _with_own_base(node, inputs, mapping)
    new = make(node.kind, inputs, attrs)
    if node.kind == "index":
        _map_masks(node, new, mapping)
    return new


def _with_own_base(
    node: Node, inputs: tuple[Node, ...], mapping: Mapping[Dim, Dim]
) -> tuple[Node, ...]:
    """An update whose value or indexers got more dims updates its own tensor for each position."""
    base, *others = inputs
    added: list[Dim] = []
    for old, new in zip(node.inputs[1:], others, strict=True):
        known = {map_dim(dim, mapping) for dim in old.dims}
        added += [dim for dim in new.dims if dim not in known]
    return (expand_node(base, tuple(dict.fromkeys(added))), *others)


def _map_masks(old: Node, new: Node, mapping: dict[Dim, Dim]) -> None:
    """A selection by another mask is another dim; what follows must speak of the new one."""
    for item, changed in zip(old.attrs, new.attrs, strict=True):
        if item.kind == "mask":
            keys = old.inputs[1 + item.payload], new.inputs[1 + item.payload]
            before = SelDim.of(item.dim, Mask(keys[0]))
            after = SelDim.of(changed.dim, Mask(keys[1]))
            mapping[before] = after
            # it may get another name than that of what it is selected from
            mapping[before.unrenamed] = after.unrenamed


def map_attrs(kind: str, attrs: Any, f: DimMap) -> Any:
    """Attributes with all dims in them exchanged."""

    def many(dims: Dims) -> Dims:
        return tuple(f(dim) for dim in dims)

    def items(given: tuple) -> tuple:
        return tuple(item._replace(dim=f(item.dim)) for item in given)

    if kind in ("length", "positions", "merge", "split", "stack"):
        return f(attrs)
    if kind == "label_position":
        return attrs._replace(dim=f(attrs.dim))
    if kind == "reduce":
        return (attrs[0], many(attrs[1]))
    if kind in ("cumulate", "arg_reduce"):
        return (attrs[0], f(attrs[1]))
    if kind in ("sort", "argsort", "dot", "expand"):
        return many(attrs)
    if kind == "relabel":
        return tuple((f(old), f(new)) for old, new in attrs)
    if kind == "index":
        return items(attrs)
    if kind == "update":
        return (attrs[0], items(attrs[1]))
    if kind == "concat":
        return (many(attrs[0]), f(attrs[1]))
    if kind == "apply":
        return attrs._replace(
            core_in=tuple(many(core) for core in attrs.core_in), core_out=many(attrs.core_out)
        )
    if kind == "group_position":
        return (attrs[0], f(attrs[1]), f(attrs[2]))
    if kind == "codes" and attrs is not None:
        return f(attrs)
    return attrs


def expand_node(x: Node, dims: Dims) -> Node:
    """A node with all of some dims."""
    added = without(dims, x.dims)
    return make("expand", (x,), added) if added else x


def _per_position(y: Node, wrt: Sequence[Node], extra: Dims) -> tuple[Node, list[Node]]:
    """The graph of y with each of `wrt` made its own for every position of the extra dims."""
    expanded = [expand_node(x, extra) for x in wrt]
    (y,) = substitute([y], {x: e for x, e in zip(wrt, expanded, strict=True) if x is not e})
    return y, expanded


def _batched_gradient(node: Node, inputs: tuple[Node, ...], attrs: tuple[int, bool]) -> Node:
    """Gradients for each position of a batch: elements are independent, so that of the sum."""
    _, weighted = attrs
    y, wrt = inputs[0], inputs[1 + weighted :]
    old_y = node.inputs[0]
    extra = without(y.dims, old_y.dims)
    if weighted:
        extra = union([extra, without(inputs[1].dims, old_y.dims)], "vjp")
    y, expanded = _per_position(y, wrt, extra)
    if weighted:
        cotangent = expand_node(inputs[1], y.dims)
        return make("gradient", (expand_node(y, cotangent.dims), cotangent, *expanded), attrs)
    total = make("reduce", (y,), ("sum", y.dims)) if y.dims else y
    return make("gradient", (total, *expanded), attrs)


def _batched_jacobian(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Jacobians for each position of a batch: those of the sum over it, by the same argument."""
    y, wrt = inputs
    extra = without(y.dims, node.inputs[0].dims)
    y, (wrt,) = _per_position(y, [wrt], extra)
    batch_dims = without(y.dims, node.inputs[0].dims)
    if batch_dims:
        y = make("reduce", (y,), ("sum", batch_dims))
    return make("jacobian", (y, wrt), None)


def _batched_pushforward(inputs: tuple[Node, ...], n: int) -> Node:
    y, wrt, tangents = inputs[0], inputs[1 : 1 + n], inputs[1 + n :]
    pairs = list(zip(wrt, tangents, strict=True))
    extra = union([(), *(without(t.dims, x.dims) for x, t in pairs)], "jvp")
    y, expanded = _per_position(y, wrt, extra)
    grown = tuple(expand_node(t, x.dims) for x, t in zip(expanded, tangents, strict=True))
    return make("pushforward", (y, *expanded, *grown), n)
