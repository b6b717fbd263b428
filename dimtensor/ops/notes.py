"""Notes on positional variables: the dims of their axes and the line of the user's code.

Lowering forgets both. Where somebody reads what is made of the graph, it notes them on variables,
and a feature of the graph passes them on when rewrites put one variable in the place of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pytensor.graph.basic import Variable
from pytensor.graph.features import Feature

from dimtensor.dims import Dims
from dimtensor.graph import Node
from dimtensor.graph.lines import Line
from dimtensor.ops.graphs import tag_of

_NAME = "dimtensor_note"


class Note(NamedTuple):
    """Display provenance of a variable.

    Attributes
    ----------
    dims : tuple of str, optional
        Names of the dims of its axes; None inside of an operation, where axes may be others.
    line : Line, optional
        The line of the user's code that asks for it.
    """

    dims: tuple[str, ...] | None
    line: Line | None

    def __str__(self) -> str:
        return "" if self.dims is None else "{" + ", ".join(self.dims) + "}"


def note_of(variable: Any) -> Note | None:
    """Return the note on a variable, None without one."""
    return tag_of(variable).get(_NAME)


def write_note(variable: Variable, node: Node, axes: Dims) -> None:
    """Note dims and line of a node on its variable, and the line on what that is made of."""
    _write(variable, Note(tuple(dim._short for dim in axes), node.line))
    inside = Note(None, node.line)
    todo = [variable]
    while todo:
        owner = todo.pop().owner
        for one in () if owner is None else (*owner.inputs, *owner.outputs):
            if note_of(one) is None:
                _write(one, inside)
                todo.append(one)


def _write(variable: Variable, note: Note) -> None:
    if note_of(variable) is None and not hasattr(variable, "data"):  # constants are shared
        tag_of(variable)[_NAME] = note


class KeepNotes(Feature):
    """Passes notes on to the variables that rewrites put in the place of others."""

    def __init__(self) -> None:
        self._new: list[Any] = []

    def on_import(self, fgraph: Any, node: Any, reason: Any) -> None:
        self._new.append(node)

    def on_change_input(
        self, fgraph: Any, node: Any, i: Any, var: Any, new_var: Any, reason: Any = None
    ) -> None:
        note = note_of(var)
        if note is not None:
            _write(new_var, note)
            inside = Note(None, note.line)
            for made in self._new:
                for one in made.outputs:
                    _write(one, inside)
        self._new.clear()


def keep_notes(graph: Any, outputs: Sequence[Variable]) -> None:
    """Let a graph pass notes on, if there are any."""
    if any(note_of(output) is not None for output in outputs):
        graph.attach_feature(KeepNotes())
