"""Split of the outputs of a function into terms, each computed from chunks along several dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dimtensor.compile.obstacles import refusal
from dimtensor.dims import Dim, sort_dims
from dimtensor.errors import PartitionError
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.partition.analysis import Combined, Split, split
from dimtensor.graph.partition.slices import framed, late_dims, restricted
from dimtensor.graph.rebuilding.substitute import map_dim


class ChunkTerm(NamedTuple):
    """Summand of an output.

    Attributes
    ----------
    expression : Node
        Its value for one chunk along each of the dims.
    operation : str
        Name of the ufunc that combines chunks.
    along : tuple of Dim
        The dims that it is computed in chunks along.
    combined : tuple of Dim
        The dims among them along which chunks are combined; the output has the others.
    known : frozenset of Node
        Constants computed from the whole of the data.
    """

    expression: Node
    operation: str = "add"
    along: tuple[Dim, ...] = ()
    combined: tuple[Dim, ...] = ()
    known: frozenset[Node] = frozenset()


class ChunkTerms:
    """Terms of the outputs of a function.

    Parameters
    ----------
    outputs : sequence of Node
    dims : sequence of Dim
        Dims with several chunks.
    batch : collection of Dim
        The dims among them that were added to batch the function.
    refuse : callable
        Makes the error of an expression that mixes positions.

    Attributes
    ----------
    of : list of list of ChunkTerm
        For each output its terms: expressions over `leaves`.
    leaves : dict of Node to Node
        Inputs of the expressions by what they are chunks of: inputs and data along the dims, and
        constants.
    dims : dict of Dim to tuple of Dim
        Dims of a chunk, without length and labels, by dims with several chunks.
    late : dict of Dim to Dim
        The same by the dims that they replace.
    lengths, starts : dict of Node to Dim
        Inputs of the expressions that stand for the length of a dim, and for the position at which
        a chunk starts.

    Raises
    ------
    PartitionError
        If an expression mixes the positions of a dim.
    """

    def __init__(
        self,
        outputs: Sequence[Node],
        dims: Sequence[Dim],
        batch: Sequence[Dim] = (),
        refuse: Callable[[Split], PartitionError] = refusal,
    ):
        self.lengths: dict[Node, Dim] = {}
        self.starts: dict[Node, Dim] = {}
        self.leaves: dict[Node, Node] = {}
        self._batch = batch
        self._refuse = refuse
        self._cut: dict[Dim, frozenset[Dim]] = {dim: frozenset([dim]) for dim in batch}
        found = [self._terms(ChunkTerm(output), tuple(dims)) for output in outputs]
        cut = {each for one in self._cut.values() for each in one}
        taken = {each for node in toposort(outputs) for each in node.dims} - cut
        self.late: dict[Dim, Dim] = {}
        self.dims: dict[Dim, tuple[Dim, ...]] = {}
        for dim, own in self._cut.items():
            new = late_dims(own, taken)
            self.dims[dim] = tuple(new.values())
            self.late.update(new)

        def in_chunks(term: ChunkTerm) -> ChunkTerm:
            y = restricted(term.expression, cut, term.known, self.late, self._leaf)
            return term._replace(expression=y)

        self.of = [[*map(in_chunks, terms)] for terms in found]

    def _leaf(self, x: Node) -> Node:
        """Return the input that stands for a leaf, or for a constant, in a chunk."""
        dims = sort_dims(map_dim(dim, self.late) for dim in x.dims)
        name = x.name if x.kind == "input" else None
        token = str(x._serial) if name is None else None
        self.leaves[x] = make("input", (), InputAttrs(name, token, dims, x.dtype, x.categories))
        return self.leaves[x]

    def _terms(self, term: ChunkTerm, dims: tuple[Dim, ...]) -> list[ChunkTerm]:
        """Split a term along dims, one after the other."""
        if not dims:
            return [term]
        dim, *rest = dims
        others = tuple(rest)
        inside = term._replace(along=(*term.along, dim))
        if dim in self._batch:
            return self._terms(inside if dim in term.expression.dims else term, others)
        found = split(term.expression, dim, term.known)
        if found.obstacle is not None:
            raise self._refuse(found)
        self._cut[dim] = self._cut.get(dim, frozenset()) | found.cut
        term, inside = term._replace(known=found.known), inside._replace(known=found.known)
        role = found.role
        if role is None:
            return self._terms(term, others)
        if not isinstance(role, Combined):
            (expression,) = self._framed([term.expression], found)
            return self._terms(inside._replace(expression=expression), others)
        parts = self._framed([role.part, *([] if role.rest is None else [role.rest])], found)
        results = []
        for expression in parts[1:]:
            results += self._terms(term._replace(expression=expression), others)
        inside = inside._replace(
            expression=parts[0], operation=role.operation, combined=(*term.combined, dim)
        )
        return results + self._terms(inside, others)

    def _framed(self, outputs: Sequence[Node], found: Split) -> list[Node]:
        nodes, facts = framed(outputs, found)
        if facts.length is not None:
            self.lengths[facts.length] = found.dim
        if facts.start is not None:
            self.starts[facts.start] = found.dim
        return nodes
