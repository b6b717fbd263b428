"""What a graph asks of lengths that come with the data: checked, by name, before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dimtensor.dims import Binding, Dim, Dims
from dimtensor.dims.selection import Positions
from dimtensor.errors import DimError, DimtensorError, PositionError
from dimtensor.graph import Node
from dimtensor.graph.attrs import ApplyAttrs, IndexItem
from dimtensor.graph.kind import kind_of
from dimtensor.lower.lift import BatchedFunction

_NEED_ELEMENTS = frozenset({"min", "max", "argmin", "argmax"})


class Requirement(NamedTuple):
    """Fewest positions that a dim must have for an operation to be defined.

    It counts only where the dims in ``beside`` have positions: nothing is looked up by an empty
    indexer.
    """

    dim: Dim
    at_least: int
    what: str
    error: type[DimtensorError]
    beside: Dims = ()

    def check(self, binding: Binding) -> None:
        """Raise if the dim is known to be too short."""
        length = self.dim.bound_length(binding)
        if length is None or length >= self.at_least:
            return
        if any(dim.bound_length(binding) in (0, None) for dim in self.beside):
            return
        raise self.error(f"{self.what}: it has length {length}")


def length_requirements(nodes: Iterable[Node]) -> list[Requirement]:
    """What nodes ask of the dims whose lengths were not known when they were built."""
    found = dict.fromkeys(r for node in nodes for r in _of_node(node) if not _satisfied(r))
    return list(found)


def _satisfied(requirement: Requirement) -> bool:
    length = requirement.dim.length
    return length is not None and length >= requirement.at_least


def _of_node(node: Node) -> Iterator[Requirement]:
    selected = kind_of(node).selected(node)
    if selected is not None:
        for item in selected.items:
            yield from _of_item(item, selected.indexers)
    elif node.kind == "reduce" and node.attrs.name in _NEED_ELEMENTS:
        for dim in node.attrs.dims:
            yield Requirement(
                dim, 1, f"{node.attrs.name} has no value over {dim.title}", DimError, node.dims
            )
    elif node.kind == "arg_reduce":
        name, dim = node.attrs
        yield Requirement(dim, 1, f"{name} has no value over {dim.title}", DimError)
    elif node.kind == "apply" and isinstance(node.attrs.function, BatchedFunction):
        if node.attrs.function.checked_lengths:
            yield from _of_promise(node.attrs)


def _of_promise(attrs: ApplyAttrs) -> Iterator[Requirement]:
    """The new dim of a thin decomposition is as long as the shorter dim of the matrix."""
    matrix = attrs.core_in[0]
    for new in attrs.core_out:
        if new in matrix or new.length is None:
            continue
        for dim in matrix:
            what = f"{attrs.name}: {dim.title} is shorter than {new.title} of length {new.length}"
            yield Requirement(dim, new.length, what, DimError)


def _of_item(item: IndexItem, indexers: Sequence[Node]) -> Iterator[Requirement]:
    dim = item.dim
    where = f"is outside of {dim.title}"
    if item.kind == "int":
        needed = _reach(item.payload)
        yield Requirement(dim, needed, f"position {item.payload} {where}", PositionError)
    elif item.kind == "select" and isinstance(item.payload, Positions):
        positions = item.payload.array
        if positions.size:
            far = max(positions.tolist(), key=_reach)
            yield Requirement(dim, _reach(far), f"position {far} {where}", PositionError)
    elif item.kind == "tensor":
        indexer = indexers[item.payload]
        what = f"positions are looked up along {dim.title}"
        yield Requirement(dim, 1, what, PositionError, indexer.dims)


def _reach(position: int) -> int:
    return position + 1 if position >= 0 else -position


def relabelled_dims(nodes: Iterable[Node]) -> list[tuple[Dim, Dim]]:
    """Pairs of dims of which the second takes the place of the first, lengths not all known."""
    pairs = {
        (old, new): None
        for node in nodes
        if node.kind == "relabel"
        for old, new in node.attrs.pairs
        if old.unrenamed is not new.unrenamed and None in (old.length, new.length)
    }
    return list(pairs)


def bind_relabelled(pairs: Iterable[tuple[Dim, Dim]], binding: Binding) -> None:
    """The length of a dim is that of the dim whose place it takes.

    Raises
    ------
    DimError
        If an input says otherwise.
    """
    for old, new in pairs:
        length = old.bound_length(binding)
        if length is not None:
            binding.add_length(new, length, f"the {old.title} that it takes the place of")
