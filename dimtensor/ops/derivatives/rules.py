"""Registry of forward and reverse rules of operations.

A forward rule gets a node and the tangents of its inputs, None where there is none, and gives the
tangents of its outputs. A reverse rule gets a node, the cotangents of its outputs and which of the
inputs are asked for, and gives the cotangents of the inputs. Both give None where nothing depends.

A rule is declared for the class of an operation, or is a method of it:
``push_rule(node, tangents)`` and ``pull_rule(node, cotangents, wanted)``.
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
_REVERSE_WITH_USES: dict[type, Callable[..., Any]] = {}
_AHEAD: dict[type, Callable[..., Any]] = {}


def forward_rule(*kinds: type) -> Callable[[Forward], Forward]:
    """Declare the forward rule of some operations."""
    return _declared(_FORWARD, kinds)


def reverse_rule(*kinds: type) -> Callable[[Reverse], Reverse]:
    """Declare the reverse rule of some operations."""
    return _declared(_REVERSE, kinds)


def reverse_rule_with_uses(*kinds: type) -> Callable[[Any], Any]:
    """Declare a reverse rule ``(node, cotangents, wanted, used)``.

    ``used`` are the outputs whose cotangents have no element that is zero for want of a use.
    """
    return _declared(_REVERSE_WITH_USES, kinds)


def ahead_rule(*kinds: type) -> Callable[[Any], Any]:
    """Declare a rule for cotangents of variables before a node, not of its inputs."""
    return _declared(_AHEAD, kinds)


def _declared[R: Callable[..., Any]](
    rules: dict[type, Any], kinds: Sequence[type]
) -> Callable[[R], R]:
    def declare(rule: R) -> R:
        rules.update(dict.fromkeys(kinds, rule))
        return rule

    return declare


def forward_of(op: Any) -> Forward | None:
    """Return the forward rule of an operation, None without one."""
    return getattr(op, "push_rule", None) or _found(_FORWARD, op)


def reverse_of(op: Any) -> Reverse | None:
    """Return the reverse rule of an operation, None without one."""
    return getattr(op, "pull_rule", None) or _found(_REVERSE, op)


def reverse_with_uses_of(op: Any) -> Callable[..., Any] | None:
    """Return the reverse rule of an operation that depends on which outputs are used."""
    return _found(_REVERSE_WITH_USES, op)


def ahead_of(op: Any) -> Callable[..., Any] | None:
    """Return the rule of an operation for cotangents of the variables before it."""
    return _found(_AHEAD, op)


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
    """Return the rules of a node that take masks, None without any."""
    rules = _found(_FLOW, node.op)
    return rules if rules is not None and rules.applies(node) else None
