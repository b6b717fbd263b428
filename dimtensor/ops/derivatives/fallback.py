"""Derivatives of operations of which there is but one rule, or PyTensor's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Variable
from pytensor.graph.null_type import NullType
from pytensor.graph.utils import MethodNotDefined

from dimtensor.ops.derivatives.flow import Undefined, is_continuous, zeros
from dimtensor.ops.graphs import replaced


def transposed(
    forward: Callable[..., Any],
    node: Any,
    cotangents: Sequence[Variable | None],
    wanted: Sequence[bool],
) -> list[Any]:
    """Cotangents of the inputs of a node, by transposing its forward rule.

    The tangents of the outputs are linear in those of the inputs. Reverse mode through the linear
    graph gives its transpose, which does not depend on the values of the tangents.
    """
    from dimtensor.ops.derivatives.driver import pull

    tangents = [x.type() if on else None for x, on in zip(node.inputs, wanted, strict=True)]
    results = forward(node, tangents)
    for result in results:
        if isinstance(result, Undefined):
            return [result if on else None for on in wanted]
    pairs = [
        (result, cotangent)
        for result, cotangent in zip(results, cotangents, strict=True)
        if result is not None and cotangent is not None
    ]
    asked = [t for t in tangents if t is not None]
    found = pull([r for r, _ in pairs], [c for _, c in pairs], asked)
    # lengths may have been taken of the tangents
    stand_ins = {t: x for t, x in zip(tangents, node.inputs, strict=True) if t is not None}
    answers = iter(_replaced(found, stand_ins))
    return [next(answers) if on else None for on in wanted]


def pulled_by_op(
    node: Any, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> list[Any]:
    """Cotangents of the inputs of a node, by the operation's own ``pullback``."""
    given = [disconnected_type() if c is None else c for c in cotangents]
    try:
        results = node.op.pullback(list(node.inputs), list(node.outputs), given)
    except (NotImplementedError, MethodNotDefined):
        reason = f"{_named(node.op)} has none"
        return [Undefined(reason) if on else None for on in wanted]
    answers: list[Any] = []
    for result, on in zip(results, wanted, strict=True):
        if not on or result is None or isinstance(result.type, DisconnectedType):
            answers.append(None)
        elif isinstance(result.type, NullType):
            answers.append(Undefined(str(result.type.why_null)))
        else:
            answers.append(result)
    return answers


def _named(op: Any) -> str:
    scalar_op = getattr(op, "scalar_op", None)
    return str(op) if scalar_op is None else type(scalar_op).__name__


def pushed_by_pulling(node: Any, tangents: Sequence[Variable | None]) -> list[Any]:
    """Tangents of the outputs of a node that has a reverse rule only, by two reverse passes.

    The cotangents of the inputs are linear in those of the outputs, and the transpose of that map
    takes tangents of the inputs to those of the outputs. The node is one on variables of its own:
    what its inputs are, and how the tangents depend on each other, is of no matter.

    References
    ----------
    J. Towns, "A new trick for calculating Jacobian vector products", 2017.
    """
    from dimtensor.ops.derivatives.driver import pull, pulled_node

    wanted = [t is not None for t in tangents]
    fresh = [x if t is None else x.type() for x, t in zip(node.inputs, tangents, strict=True)]
    results = node.op.make_node(*fresh).outputs
    inner = SimpleNamespace(op=node.op, inputs=fresh, outputs=results)
    cotangents = [v.type() if is_continuous(v) else None for v in results]
    slopes = pulled_node(inner, cotangents, wanted)
    for slope in slopes:
        if isinstance(slope, Undefined):
            return [slope for _ in results]
    pairs = [(s, t) for s, t in zip(slopes, tangents, strict=True) if s is not None]
    asked = [c for c in cotangents if c is not None]
    if not pairs or not asked:
        return [None for _ in results]
    inside = [t.type() for _, t in pairs]  # type: ignore[union-attr]
    found = pull([s for s, _ in pairs], inside, asked)
    # lengths may have been taken of the cotangents
    found = _replaced(found, {c: zeros(v) for c, v in zip(cotangents, results, strict=True)
                              if c is not None})  # fmt: skip
    outside = dict(zip(inside, (t for _, t in pairs), strict=True))
    outside |= {new: x for new, x in zip(fresh, node.inputs, strict=True) if new is not x}
    outside |= dict(zip(results, node.outputs, strict=True))
    answers = iter(_replaced(found, outside))
    return [None if c is None else next(answers) for c in cotangents]


def _replaced(variables: Sequence[Any], pairs: dict[Any, Any]) -> list[Any]:
    """Variables with others in the place of some that they depend on; None stays None."""
    answers = iter(replaced([v for v in variables if v is not None], pairs))
    return [None if v is None else next(answers) for v in variables]
