"""Run-time checks: conditions that must hold when a graph runs, and their error messages.

A check is identified by its node and, if a node has several, by the dim that it is about. The
message is a function of these two. Compiled code contains the condition only, so it can be shared
by graphs that differ in names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dimtensor.dims import Dim
from dimtensor.errors import GraphError
from dimtensor.graph.infer import constant_attrs, describe
from dimtensor.graph.node import KINDS, Node, make
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.regions import regions_of
from dimtensor.graph.walk import toposort, with_regions


class Check(NamedTuple):
    """Run-time check of a node.

    Attributes
    ----------
    node : Node
    about : Dim or None
        The dim that the condition is about, if the node has a check per dim.
    """

    node: Node
    about: Dim | None = None

    @property
    def message(self) -> str:
        """Error message for a false condition."""
        return check_messages(self.node)[self.about]

    @property
    def condition(self) -> Node | None:
        """Tensor whose elements must be true, for a user's check outside of loops; else None."""
        if self.node.kind != "check":
            return None
        condition = self.node.inputs[1]
        return None if any(x.kind == "bound" for x in toposort([condition])) else condition


def check_messages(node: Node) -> dict[Dim | None, str]:
    """Return the messages of all checks that lowering may create for a node.

    They depend on the node only; the graph determines which of the checks are created.

    Returns
    -------
    dict of Dim or None to str
        Messages by `Check.about`.

    Examples
    --------
    >>> import dimtensor as dt
    >>> check_messages(dt.check(dt.scalar("x") > 0, "x is positive").node)
    {None: 'x is positive'}
    """
    return KINDS[node.kind].messages(node)


def is_check(node: Node) -> bool:
    """Return True for a user's check."""
    return node.kind == "check"


def without_checks(outputs: Sequence[Node]) -> list[Node]:
    """Remove users' checks from outputs; those of operations are kept."""
    if not any(map(is_check, with_regions(toposort(outputs)))):
        return list(outputs)

    def drop(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        return inputs[0] if is_check(node) else None

    return rebuild(outputs, {}, drop)


def with_checks(outputs: Sequence[Node], checked: Sequence[Node]) -> list[Node]:
    """Attach the checks of other expressions to the first output.

    Raises
    ------
    GraphError
        If one of the expressions has no check, or there is no output.
    """
    for node in checked:
        if not any(map(is_check, with_regions(toposort([node])))):
            raise GraphError(
                f"no check is made where {describe(node)} is computed",
                hint='checks=[...] takes what dt.check(condition, "message") returns',
            )
    if not outputs:
        raise GraphError("a function without outputs makes no checks; make a check the output")
    first, *others = outputs
    made = {(node.inputs[1], node.attrs) for node in toposort(outputs) if is_check(node)}
    for node in toposort(checked):
        if is_check(node) and (node.inputs[1], node.attrs) not in made:
            made.add((node.inputs[1], node.attrs))
            first = make("check", (first, node.inputs[1]), node.attrs)
    below = set(toposort(outputs))
    for node in toposort(checked):
        if regions_of(node) and node not in below and any(map(is_check, with_regions([node]))):
            first = make("check", (first, _true_of(node)), "a loop runs")
    return [first, *others]


def _true_of(node: Node) -> Node:
    """Make a true condition that depends on a node."""
    true = make("constant", (), constant_attrs(True, "bool"))
    return make("elemwise", (make("elemwise", (node, node), "equal"), true), "logical_or")


def unchecked(node: Node) -> Node:
    """Return the tensor that checks are attached to."""
    while node.kind == "check":
        node = node.inputs[0]
    return node
