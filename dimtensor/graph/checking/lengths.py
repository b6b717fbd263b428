"""Requirements on late lengths, checked by name before code runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dimtensor.dims import Binding, Dim, Dims, depends_on_mask
from dimtensor.errors import DimtensorError
from dimtensor.graph.node import KINDS, Node
from dimtensor.graph.walk import toposort

# kinds whose lowering creates run-time checks for lengths that the host does not know
_ASKED_BY_CODE = ("arg_reduce", "index", "reduce", "update")


class Requirement(NamedTuple):
    """Minimal length of a dim for which an operation is defined.

    It applies only if the dims in ``beside`` are not empty, as an empty indexer looks up nothing.
    """

    dim: Dim
    at_least: int
    what: str
    error: type[DimtensorError]
    beside: Dims = ()

    def check(self, binding: Binding) -> None:
        """Raise if the dim is known to be too short."""
        length = self.dim._bound_length(binding)
        if length is None or length >= self.at_least:
            return
        if any(dim._bound_length(binding) in (0, None) for dim in self.beside):
            return
        raise self.error(f"{self.what}: it has length {length}")


def length_requirements(outputs: Iterable[Node]) -> list[Requirement]:
    """Collect the requirements on dims whose lengths were unknown when their nodes were built.

    Requirements of a loop's step apply only if the loop has a step. Those in branches, and in loops
    whose number of steps is known at run time only, are checked by lowered code:
    ``Lowering.is_late``.
    """
    found: dict[Requirement, None] = {}
    todo: list[tuple[tuple[Node, ...], Dims, bool]] = [(tuple(outputs), (), True)]
    seen = set()  # the nodes of one derivative's results share their region
    while todo:
        here = below, around, runs = todo.pop()
        if here in seen:
            continue
        seen.add(here)
        for node in toposort(below):
            for one in KINDS[node.kind].requirements(node):
                if not _satisfied(one) and (runs or node.kind not in _ASKED_BY_CODE):
                    found[one._replace(beside=(*one.beside, *around))] = None
            over = (node.attrs.over,) if node.kind == "loop" and node.attrs.over else ()
            inside = runs and node.kind != "cond" and not any(map(depends_on_mask, over))
            todo += [
                ((*region.bound, *region.outputs), (*around, *over), inside)
                for region in KINDS[node.kind].regions(node.attrs)
            ]
    return list(found)


def _satisfied(requirement: Requirement) -> bool:
    length = requirement.dim.length
    return length is not None and length >= requirement.at_least


def relabeled_dims(nodes: Iterable[Node]) -> list[tuple[Dim, Dim]]:
    """Return the pairs (old, new) of renamed dims with unknown lengths."""
    pairs = {
        (old, new): None
        for node in nodes
        if node.kind == "relabel"
        for old, new in node.attrs.pairs
        if old._unrenamed is not new._unrenamed and None in (old.length, new.length)
    }
    return list(pairs)


def bind_relabeled(pairs: Iterable[tuple[Dim, Dim]], binding: Binding) -> None:
    """Bind the lengths of new names of dims.

    Raises
    ------
    DimError
        If an input has another length.
    """
    for old, new in pairs:
        length = old._bound_length(binding)
        if length is not None:
            binding.add_length(new, length, f"the {old._title} that it takes the place of")
