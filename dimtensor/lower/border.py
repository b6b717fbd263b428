"""Positional variables that stand for inputs outside of a function.

``to_shaped`` gives users such variables. They remember which input they stand for, so that what is
made of them can come back, through ``from_shaped``, as a function of the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any
from weakref import ref

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.features import Feature
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import graph_inputs
from pytensor.raise_op import CheckAndRaise

from dimtensor.graph import Node
from dimtensor.ops.graphs import tag_of


def named_variable(name: str | None, dtype: str, shape: tuple[int | None, ...]) -> Variable:
    """A positional variable of any name; PyTensor refuses names like ``single`` in constructors."""
    variable = pt.tensor(dtype=dtype, shape=shape)
    variable.name = name
    return variable


def stand_for(variable: Variable, node: Node) -> None:
    """Remember on a variable which input it stands for; its axes are in the order of the dims."""
    variable.tag.stands_for = node


# whether variables are to remember the nodes that they were made for
remembering: ContextVar[bool] = ContextVar("remembering", default=False)


def remember(variable: Variable, node: Node) -> None:
    """Remember on a variable, and on copies of it, the first node that it is the value of."""
    # weakly: positional graphs are cycles, which would keep data until the collector finds them
    tag_of(variable).setdefault("made_for", ref(node))


def made_for(variable: Variable) -> Node | None:
    """The node that a variable is the value of, if that is remembered."""
    known = tag_of(variable).get("made_for")
    return None if known is None else known()


class Remembered(Feature):
    """Lets what takes the place of a variable remember the node that the variable was made for."""

    def on_change_input(
        self, fgraph: Any, node: Any, i: Any, r: Variable, new_r: Variable, reason: Any = None
    ) -> None:
        known = made_for(r)
        if known is not None and not isinstance(new_r, Constant):
            remember(new_r, known)


def roots_of(variable: Variable) -> dict[Variable, Node | None]:
    """The variables that a positional one is computed from, and the inputs that they stand for."""
    return {
        root: getattr(root.tag, "stands_for", None)
        for root in graph_inputs([variable])
        if not isinstance(root, Constant)
    }


def without_assertions(
    inputs: Sequence[Variable], output: Variable
) -> tuple[list[Variable], Variable, list[tuple[Variable, str]]]:
    """A positional graph and, apart from it, the conditions that were asserted in it.

    Returns
    -------
    list of Variable, Variable, list of (Variable, str)
        Inputs and output of a copy, and scalars of bool with their messages, innermost first.
    """
    graph = FunctionGraph(list(inputs), [output], clone=True)
    asserted = [node for node in graph.toposort() if isinstance(node.op, CheckAndRaise)]
    if not asserted:
        return list(inputs), output, []
    conditions = [
        (pt.neq(condition, 0), node.op.msg or "an assertion in a positional graph failed")
        for node in asserted
        for condition in node.inputs[1:]
    ]
    for condition, _ in conditions:
        graph.add_output(condition)
    for node in asserted:
        graph.replace(node.outputs[0], node.inputs[0])
    result, *flags = graph.outputs
    messages = [message for _, message in conditions]
    return list(graph.inputs), result, list(zip(flags, messages, strict=True))
