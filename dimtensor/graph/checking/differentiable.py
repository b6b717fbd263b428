"""Check that a derivative exists, when it is built rather than when it is compiled."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dimtensor.errors import GraphError
from dimtensor.graph.dtypes import is_complex, is_float, is_inexact
from dimtensor.graph.infer import describe
from dimtensor.graph.node import KINDS, Node
from dimtensor.graph.optable import TABLE
from dimtensor.graph.regions import DERIVATIVES, LoopAttrs, regions_of, split_inputs
from dimtensor.graph.walk import toposort

# pairs of outputs and leaves that have been checked
_Checked = set[tuple[tuple[Node, ...], frozenset[Node]]]


def check_differentiable(y: Node, wrt: Sequence[Node], backward: bool = True) -> None:
    """Raise if y depends on `wrt` through an operand that has no known derivative.

    Parameters
    ----------
    y : Node
    wrt : sequence of Node
    backward : bool
        Whether it is a reverse-mode derivative.

    Raises
    ------
    GraphError
        Naming the op and its operand.
    """
    _check((y,), frozenset(wrt), backward, set())


def _check(
    outputs: tuple[Node, ...], wrt: frozenset[Node], backward: bool, checked: _Checked
) -> None:
    if (outputs, wrt) in checked:  # a body may occur in many others
        return
    checked.add((outputs, wrt))
    order = toposort(outputs)
    depends = _depending(order, wrt)
    reached = set(outputs)
    for node in reversed(order):
        if node not in reached or node not in depends or node in wrt:
            continue
        if is_complex(node.dtype):
            raise GraphError(
                f"the derivative through {describe(node)}, of {node.dtype}, is not known",
                hint="write the expression with real and imaginary parts",
            )
        for at, x in enumerate(node.inputs):
            if x in depends:
                _check_operand(node, at)
                reached.add(x)
        if regions_of(node):
            _check_regions(node, depends, backward, checked)


def _passes(node: Node) -> bool:
    """Return True if derivatives propagate through a node."""
    return is_inexact(node.dtype) and KINDS[node.kind].passes_derivatives(node)


def _check_operand(node: Node, at: int) -> None:
    if node.kind == "draw":
        raise GraphError(
            f"the derivative of a random draw is not known: {describe(node)}",
            [("parameter", describe(node.inputs[at]))],
            "write it as a function of draws without parameters, mu + sigma * z; or "
            "dt.stop_gradient(parameter)",
        )
    if node.kind != "elemwise":
        return
    row = TABLE[node.attrs]
    if at not in row.differentiable:
        raise GraphError(
            f"the derivative of {row.name} with respect to {row.names[at]} is not known",
            [("operand", describe(node.inputs[at]))],
            "dt.stop_gradient(operand) takes it as a constant",
        )


def _check_regions(node: Node, depends: set[Node], backward: bool, checked: _Checked) -> None:
    """Check the regions of a node with differentiated inputs."""
    if node.kind in DERIVATIVES:
        (region,) = regions_of(node)
        pairs = zip(region.bound, node.inputs, strict=False)
        leaves = frozenset(x for x, of in pairs if of in depends)
        _check(region.outputs[:1], leaves, backward, checked)
        return
    if node.kind == "cond":
        moved = [x in depends for x in node.inputs[1:]]
        for region in regions_of(node):
            leaves = frozenset(x for x, moves in zip(region.bound, moved, strict=True) if moves)
            _check((region.outputs[node.attrs.output],), leaves, backward, checked)
        return
    attrs: LoopAttrs = node.attrs
    if backward and attrs.over is None and not attrs.counted and not attrs.inverse:
        raise GraphError(
            "a while loop without max_steps has no gradient: the number of its steps is not "
            "bounded",
            [("loop", describe(node))],
            "pass max_steps, or inverse=, the inverse of a step; dt.jvp needs neither",
        )
    given = split_inputs(attrs, node.inputs)
    inputs = (*given.init, *given.sequences, *given.captured)
    moving = {b for b, x in zip(attrs.region.bound, inputs, strict=True) if x in depends}
    order = toposort(attrs.next_states)
    while True:
        depending = _depending(order, moving)
        states = zip(attrs.region.bound, attrs.next_states, strict=False)
        moved_on = moving | {state for state, after in states if after in depending}
        if moved_on == moving:
            break
        moving = moved_on
    wrt = frozenset(x for x in moving if is_float(x.dtype))
    outputs = (*attrs.next_states, *attrs.traced)
    _check(tuple(x for x in outputs if is_float(x.dtype)), wrt, backward, checked)


def _depending(order: Sequence[Node], leaves: Collection[Node]) -> set[Node]:
    """Return the nodes, of a topologically sorted list, with derivatives by the leaves."""
    found: set[Node] = set()
    for node in order:
        if node in leaves or (_passes(node) and any(x in found for x in node.inputs)):
            found.add(node)
    return found
