"""Whether a derivative exists: asked when it is written down, not when it is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.errors import GraphError, build_message
from dimtensor.graph.infer import describe
from dimtensor.graph.node import Node
from dimtensor.graph.optable import TABLE
from dimtensor.graph.walk import toposort


def check_differentiable(y: Node, wrt: Sequence[Node]) -> None:
    """Raise if y depends on `wrt` through an operand that has no known derivative.

    Raises
    ------
    GraphError
        Naming the op and its operand.
    """
    order = toposort([y])
    depends: set[Node] = set()
    for node in order:
        if node in wrt or (_passes(node) and any(x in depends for x in node.inputs)):
            depends.add(node)
    reached = {y}
    for node in reversed(order):
        if node not in reached or node not in depends or node in wrt:
            continue
        if node.dtype.startswith("complex"):
            raise GraphError(
                build_message(
                    f"the derivative through {describe(node)}, of {node.dtype}, is not known",
                    hint="write the expression with real and imaginary parts",
                )
            )
        for at, x in enumerate(node.inputs):
            if x in depends:
                _check_operand(node, at)
                reached.add(x)


def _passes(node: Node) -> bool:
    """Whether small changes of inputs change it."""
    return node.dtype[:5] in ("float", "compl") and node.attrs != "stop_gradient"


def _check_operand(node: Node, at: int) -> None:
    if node.kind != "elemwise":
        return
    row = TABLE[node.attrs]
    if at not in row.differentiable:
        raise GraphError(
            build_message(
                f"the derivative of {row.name} with respect to {row.names[at]} is not known",
                [("operand", describe(node.inputs[at]))],
                "dt.stop_gradient(operand) takes it as a constant",
            )
        )
