"""Verifier of lowered graphs: positional variables must match the types of their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs

from dimtensor.dims import Dim, Dims
from dimtensor.graph import Node
from dimtensor.graph.checking.verify import BrokenGraphError
from dimtensor.graph.printing.printer import node_text


def verify_variable(
    node: Node, variable: Variable, axes: Dims, lengths: Mapping[Dim, Any] | None = None
) -> None:
    """Compare a positional variable with its node.

    Parameters
    ----------
    node : Node
    variable : Variable
    axes : tuple of Dim
        Dims of the axes of the variable, in order.
    lengths : mapping of Dim to int or Variable, optional
        Lengths that the graph is specialized on.

    Raises
    ------
    BrokenGraphError
        If number of axes, dtype, or a static length disagree; the node is named.
    """
    shape = variable.type.shape
    if len(shape) != len(node.dims):
        raise _error(node, variable, f"{len(shape)} axes stand for {len(node.dims)} dims")
    if variable.type.dtype != node.dtype:
        raise _error(node, variable, f"dtype {variable.type.dtype} stands for {node.dtype}")
    for axis, (dim, static) in enumerate(zip(axes, shape, strict=True)):
        if static is None:
            continue
        length = dim.length
        if length is None and lengths:
            length = lengths.get(dim)
        if isinstance(length, int) and length != static:
            raise _error(
                node,
                variable,
                f"axis {axis} has static length {static}, {dim._title} has length {length}",
            )


def _error(node: Node, variable: Variable, what: str) -> BrokenGraphError:
    return BrokenGraphError(
        f"the lowering of {node.kind!r} is broken: {what}",
        [
            ("node", node_text(node)),
            ("variable", f"{variable.type} from {variable.owner or variable}"),
        ],
        "this is a bug of dimtensor, not of the model",
    )


def verify_program(
    inputs: Sequence[Variable], outputs: Sequence[Variable], messages: Sequence[str]
) -> None:
    """Check that a positional graph depends on its inputs only, and that its checks are scalars.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The last outputs are the checks.
    messages : sequence of str
        One per check.

    Raises
    ------
    BrokenGraphError
        If an input occurs twice, a root variable is not an input, or a check is not a bool scalar.
    """
    if len(set(inputs)) != len(inputs):
        twice = sorted({str(v) for v in inputs if list(inputs).count(v) > 1})
        raise BrokenGraphError(f"the lowered graph is broken: {', '.join(twice)} is an input twice")
    strays = _strays(outputs, set(inputs))
    if strays:
        raise BrokenGraphError(
            "the lowered graph is broken: it needs variables that are not its inputs",
            [("variables", ", ".join(f"{v} ({v.type})" for v in strays))],
        )
    checks = outputs[len(outputs) - len(messages) :] if messages else ()
    for condition, message in zip(checks, messages, strict=True):
        if condition.type.ndim != 0 or condition.type.dtype != "bool":
            raise BrokenGraphError(
                f"the lowered graph is broken: the check {message!r} is of {condition.type}"
            )


def _strays(outputs: Iterable[Variable], known: set[Variable]) -> list[Variable]:
    return [
        variable
        for variable in graph_inputs(list(outputs))
        if variable not in known
        and not isinstance(variable, Constant)
        and not hasattr(variable, "get_value")
    ]
