"""Deduplicated observations: choice of the sums over distinct rows, and their values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dimtensor.compile.function import function
from dimtensor.dims import Binding, Dim, Dims, sort_dims
from dimtensor.errors import DimtensorError
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import DataAttrs
from dimtensor.graph.kind import placed
from dimtensor.model.rows.distinct import Column, Distinct, distinct_rows, rounded_up, rows_of
from dimtensor.model.rows.sums import RowNodes, RowSums, find_row_sums, over_rows
from dimtensor.tensor.handle import wrap
from dimtensor.values.labeled import axis_names

# Number of rows below which deduplication does not pay.
_LEAST = 64
# Share of the work above which deduplication does not pay, as counts are read and multiplied, too.
# With this share left, gradients are 1.2 to 1.5 times faster.
_WORTH = 0.75


@dataclass(frozen=True, eq=False)
class ModelData:
    """Data of a model.

    Attributes
    ----------
    arrays : mapping of Node to ndarray
        Axes in the order of the node's dims; labels as positions.
    binding : Binding
    replaced : mapping of Node to value
        Replacements of the values that nodes were made with.
    """

    arrays: Mapping[Node, np.ndarray]
    binding: Binding
    replaced: Mapping[Node, Any]
    _rows: dict[tuple[Node, ...], tuple[list[Column], Distinct]] = field(default_factory=dict)

    def rows(self, sums: RowSums) -> tuple[list[Column], Distinct]:
        """Return the columns of sums and their distinct rows: all rows if most are distinct."""
        found = self._rows.get(sums.columns)
        if found is None:
            columns = self._columns(sums.columns)
            lengths = [self.length(dim) for dim in sums.dims]
            distinct = distinct_rows(columns, sums.dims, lengths)
            if distinct is None:
                number = self.size(sums.dims)
                distinct = Distinct(number, np.arange(number), np.ones(number, np.int64))
            found = self._rows[sums.columns] = columns, distinct
        return found

    def length(self, dim: Dim) -> int:
        """Length of a dim; 1 if nothing tells it."""
        length = dim._bound_length(self.binding)
        return 1 if length is None else length

    def size(self, dims: Sequence[Dim]) -> int:
        return math.prod(map(self.length, dims))

    def _columns(self, nodes: Sequence[Node]) -> list[Column]:
        found = {x: Column(self.arrays[x], x.dims) for x in nodes if x in self.arrays}
        computed = [x for x in nodes if x not in found]
        if computed:
            data = {x for x in toposort(computed) if x.kind == "data"}
            replaced = {x: value for x, value in self.replaced.items() if x in data}
            f = function([], [wrap(_codes(x)) for x in computed], "python")
            plain = (f.with_data(replaced) if replaced else f).positional
            for node, x, dims in zip(computed, plain(), plain.output_dims, strict=True):
                found[node] = Column(np.asarray(x), dims)
        return [found[x] for x in nodes]


class RowValues(NamedTuple):
    """Values of the nodes of distinct rows.

    Attributes
    ----------
    values : dict of Node to value
        As new data take them.
    lengths : dict of Dim to int
        Numbers of distinct rows.
    text : str
        Description for users.
    """

    values: dict[Node, Any]
    lengths: dict[Dim, int]
    text: str


@dataclass(frozen=True, eq=False)
class DeduplicatedDensity:
    """Log density with sums over distinct rows.

    Attributes
    ----------
    expression : Node
    chosen : list of (RowSums, RowNodes)
    """

    expression: Node
    chosen: list[tuple[RowSums, RowNodes]]

    def values(self, known: ModelData, few_lengths: bool = False) -> RowValues:
        """Compute the distinct rows of data.

        Parameters
        ----------
        known : ModelData
        few_lengths : bool
            Whether code is compiled for each length.
        """
        values: dict[Node, Any] = {}
        lengths: dict[Dim, int] = {}
        texts = []
        for sums, stand in self.chosen:
            columns, found = known.rows(sums)
            along = ", ".join(dim._short for dim in sums.dims)
            texts.append(f"{len(found.first):,} distinct of {found.number:,} along {along}")
            found = rounded_up(found) if few_lengths else found
            lengths[stand.row] = len(found.first)
            values[stand.counts] = found.counts.astype("float64")
            values[stand.number] = np.asarray(float(found.number))
            for node, column in zip(sums.columns, columns, strict=True):
                leaf = stand.columns[node]
                leaf = leaf if leaf.kind == "data" else leaf.inputs[0]
                dims, array = _at_rows(column, sums, found, stand.row, known)
                values[leaf] = (tuple(axis_names(dims).values()), array)
        return RowValues(values, lengths, "; ".join(texts))


def deduplicated(expression: Node, known: ModelData) -> DeduplicatedDensity | None:
    """Replace sums of a log density by sums over distinct rows, if these are cheaper.

    Parameters
    ----------
    expression : Node
        Of parameters and data.
    known : ModelData
    """
    chosen: list[tuple[RowSums, RowNodes]] = []
    result = expression
    for sums in find_row_sums(expression):
        try:
            if not _is_worth_it(sums, known):
                continue
        except DimtensorError:
            continue  # evaluating the log density says what is wrong
        taken = [stand.row.name for _, stand in chosen]
        one = sums, _stand(sums, known, taken)
        found = over_rows(expression, [*chosen, one])
        if _knows_lengths(found, sums.dims):
            chosen.append(one)
            result = found
    return DeduplicatedDensity(result, chosen) if chosen else None


def _is_worth_it(sums: RowSums, known: ModelData) -> bool:
    told = all(dim._bound_length(known.binding) is not None for dim in sums.dims)
    if not told or known.size(sums.dims) < _LEAST:
        return False
    _, found = known.rows(sums)
    before = after = sum(known.size(node.dims) for node in sums.kept)
    for node in sums.inner:
        rest = known.size([dim for dim in node.dims if dim not in sums.dims])
        before += 0 if node in sums.kept else known.size(node.dims)
        after += rest * len(found.first)
    return after <= _WORTH * before


def _stand(sums: RowSums, known: ModelData, taken: Sequence[str | None]) -> RowNodes:
    columns, found = known.rows(sums)
    row = Dim(_another(f"rows of {', '.join(dim._short for dim in sums.dims)}", taken))
    leaves: dict[Node, Node] = {}
    names: list[str] = []
    for node, column in zip(sums.columns, columns, strict=True):
        # data of equal values and no names would be one node, and have others later
        names.append(_another(node.name or row._short, names))
        leaf = make("data", (), DataAttrs(names[-1], *_at_rows(column, sums, found, row, known)))
        leaves[node] = leaf if node.categories is None else make("codes", (leaf,), node.categories)
    counts = DataAttrs(f"counts of {row._short}", (row,), found.counts.astype("float64"))
    number = DataAttrs(f"number of {row._short}", (), np.asarray(float(found.number)))
    return RowNodes(row, leaves, make("data", (), counts), make("data", (), number))


def _another(name: str, taken: Sequence[str | None]) -> str:
    while name in taken:
        name += "'"
    return name


def _at_rows(
    column: Column, sums: RowSums, found: Distinct, row: Dim, known: ModelData
) -> tuple[Dims, np.ndarray]:
    """Select the distinct rows of a column, with axes in canonical order."""
    rows = rows_of(column, sums.dims, [known.length(dim) for dim in sums.dims])
    dims = (row, *(dim for dim in column.dims if dim not in sums.dims))
    canonical = sort_dims(dims)
    return canonical, rows[found.first].transpose([dims.index(dim) for dim in canonical])


def _codes(node: Node) -> Node:
    return node if node.categories is None else make("codes", (node,), None)


def _knows_lengths(expression: Node, dims: Dims) -> bool:
    """Return True if data or parameters still determine the lengths of all dims that occur."""
    nodes = toposort([expression])
    told = {
        dim for node in nodes if not node.inputs for dim in node.dims if node.kind != "positions"
    }
    for node in nodes:
        mentioned = {*node.dims, *(dim for dim, _ in placed(node.attrs, ""))}
        bases = {base for dim in mentioned for base in (dim, *dim._bases)}
        if any(dim in bases and dim.length is None and dim not in told for dim in dims):
            return False
    return True
