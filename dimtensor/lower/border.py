"""Links between positional variables and the nodes that they were lowered from.

Variables returned by ``to_shaped`` refer to their inputs, so that ``from_shaped`` can wrap results
computed from them as functions of these inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Make a positional variable of any name; PyTensor's constructor rejects some names."""
    variable = pt.tensor(dtype=dtype, shape=shape)
    variable.name = name
    return variable


def stand_for(variable: Variable, node: Node) -> None:
    """Record on a variable the input that it represents; its axes are in the order of the dims."""
    variable.tag.stands_for = node


def remember(variable: Variable, node: Node) -> None:
    """Record on a variable, and its copies, the first node that it was lowered from."""
    # weakly: positional graphs have reference cycles, which would keep data alive
    tag_of(variable).setdefault("made_for", ref(node))


def made_for(variable: Variable) -> Node | None:
    """Return the recorded node of a variable, if any."""
    known = tag_of(variable).get("made_for")
    return None if known is None else known()


class Remembered(Feature):
    """Feature of function graphs that copies recorded nodes to variables' replacements."""

    def on_change_input(
        self, fgraph: Any, node: Any, i: Any, r: Variable, new_r: Variable, reason: Any = None
    ) -> None:
        known = made_for(r)
        if known is not None and not isinstance(new_r, Constant):
            remember(new_r, known)


def roots_of(variable: Variable) -> dict[Variable, Node | None]:
    """Return the root variables of a positional variable, with the inputs they represent."""
    return {
        root: getattr(root.tag, "stands_for", None)
        for root in graph_inputs([variable])
        if not isinstance(root, Constant)
    }


def without_assertions(
    inputs: Sequence[Variable], output: Variable
) -> tuple[list[Variable], Variable, list[tuple[Variable, str]]]:
    """Separate a positional graph from the assertions in it.

    Returns
    -------
    inputs : list of Variable
    output : Variable
        Inputs and output of a copy of the graph.
    asserted : list of (Variable, str)
        Boolean scalars with their messages, innermost first.
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
