"""Terms of sums that differ only in the scalar parameters they read, as one vectorized term."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from dimtensor.dims import Dim
from dimtensor.graph import Node, toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.model.assembly import Assembly
from dimtensor.tensor.autodiff import grad, grad_by_pieces
from dimtensor.tensor.core import DimTensor
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.inputs import tensor
from dimtensor.tuning import ALIKE_TERM_NODES, FEWEST_ALIKE_TERMS


def stack_alike_terms(parts: Assembly) -> Assembly:
    """Compute terms of equal structure, such as priors of many scalars, as one vectorized term.

    The vectorized term reads slices of the flat vector where the terms read scalars, so that one
    term is differentiated and compiled instead of thousands. The gradient is the sum of the one
    through the remaining scalars and the one through the slices.
    """
    positions = {x.node: at for x in parts.pieces if (at := _position(x.node)) is not None}
    if len(positions) < FEWEST_ALIKE_TERMS:
        return parts
    (along,) = parts.flat.dims
    vector = tensor("elements of alike terms", dims=along)
    value = parts.value
    while found := _stacked_sums(value.node, vector, positions):
        value = substitute(value, {wrap(old): new for old, new in found.items()})
    if value.node is parts.value.node:
        return parts
    pieces = _merged(parts, positions, set(toposort([value.node])))

    def gradient() -> DimTensor:
        found = grad_by_pieces(value, parts.flat, pieces) + grad(value, vector)
        return substitute(found, {vector: parts.flat})

    return replace(
        parts,
        value=substitute(value, {vector: parts.flat}),
        pieces=pieces,
        differentiate=gradient,
    )


def _position(piece: Node) -> int | None:
    """Return the position of a piece of the flat vector that is a scalar."""
    if piece.kind != "index" or piece.dims or len(piece.attrs.items) != 1:
        return None
    (item,) = piece.attrs.items
    return item.payload if item.kind == "int" and item.payload >= 0 else None


def _merged(
    parts: Assembly, positions: Mapping[Node, int], read: set[Node]
) -> tuple[DimTensor, ...]:
    """Return pieces of the flat vector, neighboring scalars that are not read as one piece."""
    (along,) = parts.flat.dims
    found: list[DimTensor] = []
    unread = groupby(parts.pieces, lambda x: x.node in positions and x.node not in read)
    for merged, group in unread:
        pieces = list(group)
        if merged and len(pieces) > 1:
            start = positions[pieces[0].node]
            pieces = [parts.flat.isel({along: slice(start, start + len(pieces))})]
        found += pieces
    return tuple(found)


def _stacked_sums(
    value: Node, vector: DimTensor, positions: Mapping[Node, int]
) -> dict[Node, DimTensor]:
    """Return sums of alike terms, vectorized, that contain no other such sums."""
    nodes = toposort([value])
    readers = Counter(x for node in nodes for x in node.inputs)
    inner = {
        x for node in nodes if _adds(node) for x in node.inputs if _adds(x) and readers[x] == 1
    }
    found: dict[Node, DimTensor] = {}
    above: set[Node] = set()  # depends on a sum that is replaced
    for node in nodes:
        if not above.isdisjoint(node.inputs):
            above.add(node)
        elif _adds(node) and node not in inner:
            stacked = _stacked(_terms(node, inner), vector, positions)
            if stacked is not None:
                found[node] = stacked
                above.add(node)
    return found


def _adds(node: Node) -> bool:
    return node.kind == "elemwise" and node.attrs == "add" and not node.dims


def _terms(total: Node, inner: set[Node]) -> list[Node]:
    """Return the terms of a sum whose partial sums are `inner`."""
    found: list[Node] = []
    pending = list(total.inputs)
    while pending:
        node = pending.pop()
        if node in inner:
            pending += node.inputs
        else:
            found.append(node)
    return found


def _stacked(
    terms: Sequence[Node], vector: DimTensor, positions: Mapping[Node, int]
) -> DimTensor | None:
    """Add terms, those of equal structure vectorized; None where too few are alike."""
    if len(terms) < FEWEST_ALIKE_TERMS:
        return None
    groups: dict[tuple, list[tuple[Node, tuple[Node, ...]]]] = defaultdict(list)
    for term in terms:
        structure, read = _structure(term, positions)
        groups[structure].append((term, read))
    total: DimTensor | None = None
    any_stacked = False
    for members in groups.values():
        members.sort(key=lambda member: [positions.get(x, 0) for x in member[1]])
        columns = list(zip(*(read for _, read in members), strict=True))
        varying = {
            wrap(column[0]): _as_vector(column, vector, positions)
            for column in columns
            if len(set(column)) > 1
        }
        added = [wrap(term) for term, _ in members]
        if len(members) >= FEWEST_ALIKE_TERMS and varying:
            any_stacked = True
            added = [substitute(added[0], varying).sum()]
        for each in added:
            total = each if total is None else total + each
    return total if any_stacked else None


def _as_vector(
    scalars: Sequence[Node], vector: DimTensor, positions: Mapping[Node, int]
) -> DimTensor:
    """Return constants, or elements of a vector, along a dim of their number."""
    (along,) = vector.dims
    alike = Dim("alike", length=len(scalars))
    if scalars[0] not in positions:
        return make_data(np.array([x.attrs.value for x in scalars]), dims=alike)
    places = [positions[x] for x in scalars]
    first, end = places[0], places[0] + len(places)
    found = vector.isel({along: slice(first, end) if places == [*range(first, end)] else places})
    return found.relabel(found.dims[0], alike)


def _structure(term: Node, positions: Mapping[Node, int]) -> tuple[tuple, tuple[Node, ...]]:
    """Return a term up to the scalars that it reads, and these in order of first occurrence.

    They are parameters and constants.

    A term that has other operations than elementwise ones, or more than `ALIKE_TERM_NODES` nodes,
    is its own structure.
    """
    numbers: dict[Node, int] = {}
    structure: list[tuple] = []
    read: dict[Node, int] = {}
    pending = [term]
    while pending:
        node = pending[-1]
        missing = [x for x in node.inputs if x not in numbers] if node.kind == "elemwise" else []
        if missing:
            pending += missing
            if len(pending) > ALIKE_TERM_NODES:
                return (term,), ()
            continue
        pending.pop()
        if node in numbers:
            continue
        if node in positions:
            entry: tuple = ("scalar", read.setdefault(node, len(read)))
        elif node.kind == "constant" and is_float(node.dtype):
            entry = (node.dtype, read.setdefault(node, len(read)))
        elif node.kind == "elemwise":
            entry = (node.attrs, *(numbers[x] for x in node.inputs))
        elif node.dims or node.kind not in ("constant", "data", "input", "index"):
            return (term,), ()
        else:
            entry = ("node", node)
        numbers[node] = len(structure)
        structure.append(entry)
        if len(structure) > ALIKE_TERM_NODES:
            return (term,), ()
    return tuple(structure), tuple(read)
