"""Rebuilding of graphs with replaced nodes, batched over the dims that these add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dimtensor.dims import DerivedDim, Dim, Dims, SelDim, family, without
from dimtensor.dims.selection import Mask
from dimtensor.graph.attrs import RelabelAttrs
from dimtensor.graph.node import KINDS, Node, keep_place, make, next_serial
from dimtensor.graph.printing.words import carry
from dimtensor.graph.walk import toposort

DimMap = Callable[[Dim], Dim]
Replace = Callable[[Node, tuple[Node, ...]], Node | None]


def rebuild(
    outputs: Sequence[Node],
    replacements: Mapping[Node, Node],
    replace: Replace | None = None,
    dims: dict[Dim, Dim] | None = None,
    nested: bool = True,
) -> list[Node]:
    """Rebuild outputs with nodes replaced by a mapping or by a function.

    Parameters
    ----------
    outputs : sequence of Node
    replacements : mapping of Node to Node
    replace : callable, optional
        Takes a node and its new inputs; returns a replacement, or None to keep the node.
    dims : dict of Dim to Dim, optional
        Replacements of dims; those of masked dims are added to it.
    nested : bool
        Whether the function is also called with nodes in loop bodies.
    """
    done: dict[Node, Node] = dict(replacements)
    mapping = {} if dims is None else dims
    loops: dict[Any, list[Node]] = {}
    nodes = toposort(outputs, replacements)
    kept = _kept_dims(replacements)
    for dim, key in _masked_dims(nodes):  # nodes with a masked dim need not depend on its mask
        if dim in kept:
            continue
        _rebuild_nodes(toposort([key], replacements), done, mapping, loops, replace, nested)
        if done[key] is not key and dim not in mapping:
            mapping[dim] = SelDim._from(map_dim(dim.parent, mapping), Mask(done[key]))
    _rebuild_nodes(nodes, done, mapping, loops, replace, nested)
    return [done[output] for output in outputs]


def _rebuild_nodes(
    nodes: Sequence[Node],
    done: dict[Node, Node],
    mapping: dict[Dim, Dim],
    loops: dict[Any, list[Node]],
    replace: Replace | None,
    nested: bool,
) -> None:
    for node in nodes:
        if node in done:
            continue
        inputs = tuple(done[i] for i in node.inputs)
        instead = replace(node, inputs) if replace is not None else None
        if instead is not None:
            done[node] = instead
            continue
        kind = KINDS[node.kind]
        closed = kind.has_regions
        since = next_serial()
        inner = replace if nested and closed else None
        if (
            inputs == node.inputs
            and not inner
            and not (mapping and (closed or not inputs))
            and not any(map_dim(d, mapping) is not d for d in node.dims)
        ):
            done[node] = node
            continue
        if closed:
            key = (node.kind, inputs, node.attrs._replace(output=0))
            if key not in loops:
                loops[key] = kind.rebuilt(node, inputs, mapping, inner)
                for one in loops[key]:
                    keep_place(node, one, since)
            done[node] = loops[key][node.attrs.output]
            continue
        done[node] = kind.with_inputs(node, inputs, mapping)
        carry(node, done[node], done)
        keep_place(node, done[node], since)


def _kept_dims(replacements: Mapping[Node, Node]) -> set[Dim]:
    """Return the derived dims that replaced nodes and their replacements share."""
    return {
        part
        for old, new in replacements.items()
        for dim in new.dims
        if dim.parents and dim in old.dims
        for part in family(dim)
    }


def named_dims(node: Node) -> Dims:
    """Return the dims of a node, and the dim in its attribute, if any."""
    return (*node.dims, node.attrs) if isinstance(node.attrs, Dim) else node.dims


def _masked_dims(nodes: Sequence[Node]) -> list[tuple[SelDim, Node]]:
    """Return the masked dims of nodes with their masks, in the order of their dependencies."""
    found: dict[SelDim, Node] = {}
    seen: set[Dim] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        for dim in named_dims(node):
            if dim in seen or not dim.parents:
                continue
            seen.add(dim)
            for part in family(dim):
                if isinstance(part, SelDim) and isinstance(part.selection, Mask):
                    if part not in found:
                        found[part] = part.selection.key
                        todo += toposort([part.selection.key])
    return sorted(found.items(), key=lambda pair: pair[1]._serial)


def map_dim(dim: Dim, mapping: Mapping[Dim, Dim]) -> Dim:
    """Replace a dim, or the parents that it is derived from."""
    if not mapping:
        return dim
    if dim in mapping:
        return mapping[dim]
    if not isinstance(dim, DerivedDim):
        return dim
    parents = [map_dim(parent, mapping) for parent in dim.parents]
    if all(new is old for new, old in zip(parents, dim.parents, strict=True)):
        return dim
    return dim._with_parents(parents)


def expand_node(x: Node, dims: Dims) -> Node:
    """Expand a node to additional dims."""
    added = without(dims, x.dims)
    return make("expand", (x,), added) if added else x


def relabel_node(x: Node, *pairs: tuple[Dim, Dim]) -> Node:
    """Rename dims of a node, given as pairs (old, new), position by position."""
    changed = tuple((old, new) for old, new in pairs if old is not new)
    return make("relabel", (x,), RelabelAttrs(changed)) if changed else x
