"""Rules of derivatives as the methods that PyTensor's own drivers call."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Variable
from pytensor.graph.null_type import NullType
from pytensor.tensor.type import TensorType


class WithRules:
    """An operation whose derivatives are rules of ours.

    A subclass has them as methods ``pull_rule`` and ``push_rule``, or they are declared for it.
    """

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        from dimtensor.ops.derivatives.driver import pulled_by_rules
        from dimtensor.ops.derivatives.flow import Undefined, is_continuous

        node = SimpleNamespace(op=self, inputs=list(inputs), outputs=list(outputs))
        wanted = [is_continuous(x) for x in inputs]
        found = pulled_by_rules(node, _given(cotangents), wanted)
        here = [c is not None for c in _given(cotangents)]
        joined = _joined(self, node)
        answers: list[Variable] = []
        for x, result, row in zip(inputs, found, joined, strict=True):
            if isinstance(result, Undefined):
                answers.append(result.as_variable())
            elif result is not None:
                answers.append(result)
            elif any(a and b for a, b in zip(row, here, strict=True)):
                answers.append(_nothing(x))
            else:
                answers.append(disconnected_type())
        return answers

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Variable]:
        from dimtensor.ops.derivatives.driver import pushed_by_rules
        from dimtensor.ops.derivatives.flow import Undefined, is_continuous

        node = SimpleNamespace(op=self, inputs=list(inputs), outputs=list(outputs))
        given = [
            t if is_continuous(x) else None for x, t in zip(inputs, _given(tangents), strict=True)
        ]
        found = pushed_by_rules(node, given)
        return [
            disconnected_type() if v is None else v.as_variable() if isinstance(v, Undefined) else v
            for v in found
        ]


class WithoutGradient:
    """An operation none of whose results depends on its inputs continuously."""

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        return [disconnected_type() for _ in inputs]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False] * len(node.outputs) for _ in node.inputs]


def _given(flows: Sequence[Any]) -> list[Variable | None]:
    return [None if isinstance(v.type, (DisconnectedType, NullType)) else v for v in flows]


def _joined(op: Any, node: Any) -> list[list[bool]]:
    if hasattr(op, "connection_pattern"):
        return op.connection_pattern(node)
    return [[True] * len(node.outputs)] * len(node.inputs)


def _nothing(x: Variable) -> Variable:
    """Return zeros, as floats where a variable is discrete."""
    from dimtensor.ops.derivatives.flow import is_continuous, zeros
    from dimtensor.ops.nodes import lengths

    if not isinstance(x.type, TensorType):
        return disconnected_type()
    return zeros(x) if is_continuous(x) else pt.alloc(0.0, *lengths(x))
