"""Which rule differentiates which operation.

A forward rule gets a node and the tangents of its inputs, None where there is none, and gives the
tangents of its outputs. A reverse rule gets a node, the cotangents of its outputs and which of the
inputs are asked for, and gives the cotangents of the inputs. Both give None where nothing depends.

An operation of our own has its rules as methods ``push_rule(node, tangents)``
and ``pull_rule(node, cotangents, wanted)``, or ``pull_used(node, cotangents, wanted, used)`` where
it makes use of which outputs have cotangents without elements that are zero for want of a use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pytensor.graph.basic import Variable

from dimtensor.ops.derivatives.flow import Flow, Undefined

Tangents = Sequence[Variable | None]
Forward = Callable[[Any, Tangents], Sequence[Variable | None]]
Reverse = Callable[[Any, Tangents, Sequence[bool]], Sequence[Variable | Undefined | None]]

_FORWARD: dict[type, Forward] = {}
_REVERSE: dict[type, Reverse] = {}


def forward_rule(*kinds: type) -> Callable[[Forward], Forward]:
    """Declare the forward rule of some operations."""

    def declare(rule: Forward) -> Forward:
        _FORWARD.update(dict.fromkeys(kinds, rule))
        return rule

    return declare


def reverse_rule(*kinds: type) -> Callable[[Reverse], Reverse]:
    """Declare the reverse rule of some operations."""

    def declare(rule: Reverse) -> Reverse:
        _REVERSE.update(dict.fromkeys(kinds, rule))
        return rule

    return declare


def forward_of(op: Any) -> Forward | None:
    """The forward rule of an operation."""
    return getattr(op, "push_rule", None) or _found(_FORWARD, op)


def reverse_of(op: Any) -> Reverse | None:
    """The reverse rule of an operation."""
    return getattr(op, "pull_rule", None) or _found(_REVERSE, op)


def _found(rules: dict[type, Any], op: Any) -> Any:
    for kind in type(op).__mro__:
        if kind in rules:
            return rules[kind]
    return None


class FlowRules(NamedTuple):
    """Rules of an operation with one output that take masks and what broadcasts as it is.

    ``pull(node, cotangent, wanted)`` gives one `Flow` for each input, ``push(node, tangents)`` one.
    """

    pull: Callable[..., Sequence[Flow | Undefined | None]]
    push: Callable[..., Flow | None]
    applies: Callable[[Any], bool] = lambda node: True


_FLOW: dict[type, FlowRules] = {}


def declare_flow_rules(kind: type, rules: FlowRules) -> None:
    """Declare rules that take masks."""
    _FLOW[kind] = rules


def flow_rules(node: Any) -> FlowRules | None:
    """The rules of a node that take masks, if it has any."""
    rules = _found(_FLOW, node.op)
    return rules if rules is not None and rules.applies(node) else None
