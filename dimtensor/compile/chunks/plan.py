"""ChunkPlan of lazy calls: functions of chunks, compiled once for the dims with several chunks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.compile.chunks.terms import ChunkTerm, ChunkTerms
from dimtensor.compile.chunks.values import ChunkedValue
from dimtensor.compile.code import Code
from dimtensor.compile.obstacles import refusal
from dimtensor.dims import Dim, Dims, sort_dims
from dimtensor.errors import PartitionError
from dimtensor.graph import Node, toposort
from dimtensor.graph.partition.analysis import Split, cut_dims, is_rearranged, nodes_with_masks
from dimtensor.graph.rebuilding.substitute import map_dim

if TYPE_CHECKING:
    from dimtensor.compile.function import CompiledFunction


class ChunkSource(NamedTuple):
    """Value of one input of a function of chunks.

    Attributes
    ----------
    what : str
        ``operand``: an input (by number), data or a constant (by node); ``length`` of a whole dim,
        ``start`` of a chunk, ``count`` of the positions in it.
    of : int, Node or Dim
    """

    what: str
    of: Any


class ChunkGroup(NamedTuple):
    """Terms that have chunks along the same dims, compiled to one function.

    Attributes
    ----------
    along : tuple of Dim
    function : CompiledFunction
    sources : list of ChunkSource
    orders : tuple of tuple of int
        For each output of the function, the axes in the order of the whole's.
    """

    along: tuple[Dim, ...]
    function: CompiledFunction
    sources: list[ChunkSource]
    orders: tuple[tuple[int, ...], ...]


class ChunkPlan:
    """Plan of a computation in chunks: the terms of each output, and the shares they need.

    Attributes
    ----------
    dims : tuple of Dim
        The dims with several chunks.
    cut : dict of Dim to Dim
        One of them by each dim with its positions.
    terms : list of list of ChunkTerm
        For each output.
    groups : list of ChunkGroup
    places : dict of (int, int) to (int, int)
        For each output and term, the group and the number of its output.
    constants : dict of Node to ChunkedValue
        Data along the dims, and values computed from them.
    """

    def __init__(
        self,
        function: CompiledFunction,
        operands: Sequence[ChunkedValue],
        dims: Sequence[Dim],
        batch: Sequence[Dim],
    ):
        code = function._code
        nodes = nodes_with_masks(code.outputs)
        self.cut: dict[Dim, Dim] = {}
        for dim in dims:
            if dim not in self.cut:
                self.cut.update(dict.fromkeys(cut_dims(dim, nodes), dim))
        self.dims = tuple(dim for dim in dims if self.cut[dim] is dim)
        batched = [dim for dim in self.dims if dim in batch]

        def refuse(found: Split) -> PartitionError:
            many = _titles(code, operands, found.cut)
            details = [("inputs in chunks", ", ".join(many))]
            return refusal(found, details, _one_chunk(found.dim, many))

        terms = ChunkTerms(code.outputs, self.dims, batched, refuse)
        self.terms, self.late = terms.of, terms.late
        self._check_order([*code.outputs, *terms.leaves], code, operands)
        sources = {new: old for old, new in terms.leaves.items()}
        self.constants = _constants(function, [x for x in terms.leaves if x not in code.inputs])
        members: dict[Dims, list[tuple[int, int]]] = {}
        for number, many in enumerate(terms.of):
            for place, term in enumerate(many):
                along = tuple(dim for dim in self.dims if dim in term.along)
                members.setdefault(along, []).append((number, place))
        self.groups: list[ChunkGroup] = []
        self.places: dict[tuple[int, int], tuple[int, int]] = {}
        for along, places in members.items():
            for position, pair in enumerate(places):
                self.places[pair] = (len(self.groups), position)
            of = [(code.outputs[number], terms.of[number][place]) for number, place in places]
            self.groups.append(_group(function, along, of, terms, sources))

    @classmethod
    def of(
        cls, function: CompiledFunction, operands: Sequence[ChunkedValue], batch: Sequence[Dim]
    ) -> ChunkPlan:
        """Return the plan for values, which the function keeps."""
        dims = sort_dims({dim for operand in operands for dim in operand.cut})
        plan = function._plans.get(dims)
        if plan is None:
            plan = function._plans[dims] = cls(function, operands, dims, batch)
        return plan

    def _check_order(
        self, nodes: Sequence[Node], code: Code, operands: Sequence[ChunkedValue]
    ) -> None:
        """Check that positions along dims of arrays are those of the dims with several chunks.

        Raises
        ------
        PartitionError
            If they have another order, as those of a product dim.
        """
        for node in nodes:
            for dim in node.dims:
                if dim in self.cut and dim is not self.cut[dim] and is_rearranged(dim):
                    whole = self.cut[dim]
                    many = _titles(code, operands, {whole})
                    raise PartitionError(
                        f"chunks of {whole._title} do not make up an array with {dim!r}",
                        [("inputs in chunks", ", ".join(many))],
                        _one_chunk(whole, many),
                    )


def _group(
    function: CompiledFunction,
    along: Dims,
    of: Sequence[tuple[Node, ChunkTerm]],
    terms: ChunkTerms,
    sources: dict[Node, Node],
) -> ChunkGroup:
    """Compile terms to a function of the chunks of inputs and data."""
    code = function._code
    expressions = [term.expression for _, term in of]
    inputs: list[Node | Dim] = []
    values = []
    for node in toposort(expressions):
        whole = sources.get(node, node)
        if node in terms.lengths:
            values.append(ChunkSource("length", terms.lengths[node]))
        elif node in terms.starts:
            values.append(ChunkSource("start", terms.starts[node]))
        elif whole in code.inputs:
            values.append(ChunkSource("operand", code.inputs.index(whole)))
        elif node in sources:
            values.append(ChunkSource("operand", whole))
        else:
            continue
        inputs.append(node)
    for at, dim in enumerate(code.inputs):
        if isinstance(dim, Dim) and dim not in terms.late:
            inputs.append(dim)
            values.append(ChunkSource("operand", at))
    for dim in along:
        for own in terms.dims[dim]:
            inputs.append(own)
            values.append(ChunkSource("count", dim))
    orders = []
    for node, term in of:
        axes = sort_dims(term.expression.dims)
        orders.append(tuple(axes.index(map_dim(dim, terms.late)) for dim in sort_dims(node.dims)))
    return ChunkGroup(along, function._of(inputs, expressions), values, tuple(orders))


def _constants(function: CompiledFunction, nodes: Sequence[Node]) -> dict[Node, ChunkedValue]:
    """Return data, and values computed from data alone."""
    found = {}
    for node, array, dims in zip(
        function._data_nodes, function._data, function._data_axes, strict=True
    ):
        if node in nodes:
            found[node] = ChunkedValue(array, dims, {})
    computed = [node for node in nodes if node not in found]
    if computed:
        held = function._of([], computed).held()
        for node, value in zip(computed, held, strict=True):
            found[node] = ChunkedValue(value.values, sort_dims(node.dims), {})
    return found


def _titles(code: Code, operands: Sequence[ChunkedValue], cut: Collection[Dim]) -> list[str]:
    """Return the names of the inputs that have several chunks along some dims."""
    pairs = zip(code.inputs, operands, strict=True)
    return [source.name or "value" for source, one in pairs if not one.cut.isdisjoint(cut)]


def _one_chunk(dim: Dim, many: Collection[str]) -> str:
    """Suggest one chunk along a dim."""
    whole = f"{dim._short}=-1" if dim._short.isidentifier() else f"{{{dim._short!r}: -1}}"
    return "; ".join(f"{name} = {name}.chunk({whole})" for name in many)
