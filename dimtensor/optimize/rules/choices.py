"""Rewrites of choices: functions of them, and what their conditions tell about their arms."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import AND, OR, Invert, Switch
from pytensor.tensor.elemwise import Elemwise

from dimtensor.ops.facts import facts_of
from dimtensor.ops.nodes import elementwise
from dimtensor.optimize.rules.table import rule, scalar_op
from dimtensor.tuning import SEARCHED_ARMS

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting


def _is_choice(variable: Variable) -> bool:
    return isinstance(scalar_op(variable), Switch)


def _long(variables: Collection[Variable]) -> set[int]:
    """Axes along which one of some variables is longer than 1."""
    return {axis for v in variables for axis, length in enumerate(v.type.shape) if length != 1}


@rule(Elemwise, differentiable=False)
def function_of_choice(node: Apply, rw: Rewriting) -> Variable | None:
    """Move a function of an elementwise choice between two numbers into its arms."""
    if isinstance(node.op.scalar_op, Switch) or len(node.outputs) != 1:
        return None
    chosen = [at for at, v in enumerate(node.inputs) if _is_choice(v)]
    if len(chosen) != 1:
        return None
    (at,) = chosen
    x, out = node.inputs[at], node.outputs[0]
    condition, *arms = x.owner.inputs
    if any(arm.type.dtype != x.type.dtype for arm in arms):
        return None
    others = [v for k, v in enumerate(node.inputs) if k != at]
    if not _long([*arms, *others]) < _long([out]):
        return None
    values = [node.op(*node.inputs[:at], arm, *node.inputs[at + 1 :]) for arm in arms]
    new = pt.switch(condition, *values)
    return new if new.type.dtype == out.type.dtype else None


@rule(Switch, differentiable=False)
def choice_in_its_own_arm(node: Apply, rw: Rewriting) -> Variable | None:
    """Resolve selections in an arm by conditions that the outer selection implies."""
    condition, *arms = node.inputs
    if condition.type.dtype != "bool":
        return None
    new = [
        _settled(arm, _implied(condition, value))
        for arm, value in zip(arms, (True, False), strict=True)
    ]
    if all(a is b for a, b in zip(new, arms, strict=True)):
        return None
    return elementwise(pt.switch, condition, *new)


def _implied(condition: Variable, value: bool) -> dict[Variable, bool]:
    """Collect conditions whose values follow from the value of one."""
    found: dict[Variable, bool] = {}
    stack = [(condition, value)]
    while stack and len(found) < SEARCHED_ARMS:
        c, v = stack.pop()
        if c in found or c.type.dtype != "bool":
            continue
        found[c] = v
        kind = scalar_op(c)
        if isinstance(kind, Invert):
            stack.append((c.owner.inputs[0], not v))
        elif isinstance(kind, AND if v else OR):
            stack += [(part, v) for part in c.owner.inputs]
    return found


def _value(condition: Variable, known: dict[Variable, bool]) -> bool | None:
    """Return the value of a condition that follows from known ones, None otherwise."""
    if condition in known:
        return known[condition]
    kind = scalar_op(condition)
    if isinstance(kind, Invert):
        inner = known.get(condition.owner.inputs[0])
        return None if inner is None else not inner
    if isinstance(kind, (AND, OR)):
        decides = isinstance(kind, OR)
        parts = [known.get(part) for part in condition.owner.inputs]
        if decides in parts:
            return decides
        return None if None in parts else not decides
    return None


def _settled(arm: Variable, known: dict[Variable, bool]) -> Variable:
    """Resolve selections by known conditions in an arm.

    Library functions are kept, as their results may be shared with other expressions.
    """
    seen: dict[Variable, Variable] = {}

    def settled(v: Variable) -> Variable:
        if v in seen or len(seen) >= SEARCHED_ARMS:
            return seen.get(v, v)
        seen[v] = v
        node = v.owner
        if node is None or not isinstance(node.op, Elemwise) or len(node.outputs) != 1:
            return v
        if not facts_of(node.op.scalar_op).is_cheap:
            return v
        inputs = node.inputs
        if _is_choice(v):
            value = _value(inputs[0], known)
            if value is not None:
                inner = inputs[1] if value else inputs[2]
                if inner.type.dtype == v.type.dtype:
                    seen[v] = settled(inner)
                    return seen[v]
        new = [settled(x) for x in inputs]
        if any(a is not b for a, b in zip(new, inputs, strict=True)):
            made = elementwise(node.op, *new)
            if made.type.dtype == v.type.dtype:
                seen[v] = made
        return seen[v]

    return settled(arm)


@rule(Switch)
def choice_of_choice(node: Apply, rw: Rewriting) -> Variable | None:
    """Merge a selection in an arm with an outer selection that shares its other arm."""
    condition, then, otherwise = node.inputs
    if condition.type.dtype != "bool" or not _is_choice(then):
        return None
    inner, value, other = then.owner.inputs
    if other is not otherwise or inner.type.dtype != "bool" or value.type.dtype != then.type.dtype:
        return None
    return elementwise(pt.switch, elementwise(pt.and_, condition, inner), value, otherwise)
