"""The table of rewrites: what each does, why, and for which values it holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import ScalarOp
from pytensor.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting

Apply1 = Callable[[Apply, "Rewriting"], "Variable | list[Variable] | None"]

EXACT = "exact"
ACCURATE = "more accurate"
REDUCTION = "in reductions"


class Rule(NamedTuple):
    """A rewrite of one node.

    Attributes
    ----------
    name : str
    on : tuple of type
        The operations of the nodes that it is tried on; scalar ones stand for their elementwise
        operations.
    function : callable
        Gets a node whose inputs are rewritten; gives what takes the place of its outputs, or None.
    kind : {"exact", "more accurate", "in reductions"}
        Exact: the same value for every input, signs of zeros, infinities and NaN included. More
        accurate: the same value but for rounding, also where the original overflows or loses
        digits. In reductions: the terms are added up in another order.
    text : str
        What it does, and why.
    differentiable : bool
        Whether derivatives of what it makes are those of what was there. Where a guard is taken
        away, or both values of a choice are computed, zero times infinity may come in.
    """

    name: str
    on: tuple[type, ...]
    function: Apply1
    kind: str
    text: str
    differentiable: bool = True


RULES: list[Rule] = []


def rule(*on: type, kind: str = EXACT, differentiable: bool = True) -> Callable[[Apply1], Apply1]:
    """Put a function into the table, under its name and with its docstring."""

    def register(function: Apply1) -> Apply1:
        text = inspect.getdoc(function)
        assert text is not None
        name = function.__name__.strip("_")
        RULES.append(Rule(name, on, function, kind, text, differentiable))
        return function

    return register


def by_operation(rules: list[Rule]) -> dict[type, list[Rule]]:
    """Rules by the classes of the operations that they are tried on."""
    found: dict[type, list[Rule]] = {}
    for one in rules:
        for kind in one.on:
            found.setdefault(kind, []).append(one)
    return found


def operation(node: Apply) -> type:
    """Return the class by which rules for a node are found."""
    op: Any = node.op
    return type(op.scalar_op) if isinstance(op, Elemwise) else type(op)


def scalar_op(variable: Variable) -> ScalarOp | None:
    """Return the scalar operation of an elementwise result, None for other variables."""
    node = variable.owner
    return node.op.scalar_op if node is not None and isinstance(node.op, Elemwise) else None
