"""Reverse and forward mode on positional graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.null_type import NullType
from pytensor.graph.traversal import io_toposort
from pytensor.graph.utils import MethodNotDefined
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.type import TensorType

from dimtensor.errors import GraphError
from dimtensor.ops.constants import is_constant
from dimtensor.ops.derivatives.flow import (
    SPARSE,
    USED,
    Flow,
    Undefined,
    accumulated,
    is_continuous,
    of_type,
    settled,
    zeros,
)
from dimtensor.ops.derivatives.rules import (
    ahead_of,
    flow_rules,
    forward_of,
    reverse_of,
    reverse_with_uses_of,
)
from dimtensor.ops.facts import facts_of
from dimtensor.ops.graphs import replaced
from dimtensor.tuning import CARRIED_TANGENTS


def pull(
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | Flow | None],
    wrt: Sequence[Variable],
    undefined: Literal["raise", "return"] = "raise",
    most_tangents: int = CARRIED_TANGENTS,
) -> list[Any]:
    """Cotangents of variables, from those of outputs: reverse mode.

    Parameters
    ----------
    outputs : sequence of variable
        One may be there twice, be an ancestor of another, or be one of `wrt`.
    cotangents : sequence of variable or None
        One for each output. A constant of lengths 1 broadcasts.
    wrt : sequence of variable
        Where one depends on another, the cotangent of that other includes what comes through it.
    undefined : {"raise", "return"}
        What is done about a derivative that an operation does not have.
    most_tangents : int
        How many tangents a loop may carry, so that its gradient needs no backward scan. The graphs
        within conditionals and functions have the default.

    Returns
    -------
    list of variable or None
        None where no output depends on the variable; an `Undefined` where that is to be returned.

    Raises
    ------
    GraphError
        If a derivative is asked for that an operation does not have.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> q = x * x
    >>> (slope,) = pull([q, pt.sin(q)], [pt.constant(1.0), pt.constant(1.0)], [x])
    >>> round(float(slope.eval({x: 0.9})), 4)
    3.0411
    """
    waiting: dict[Variable, list[Flow | Undefined]] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        if cotangent is not None and is_continuous(output):
            waiting.setdefault(output, []).append(_seed(cotangent, output))
    nodes = io_toposort([], list(waiting))
    depends = _depending(nodes, wrt)
    asked = set(wrt)
    found: dict[Variable, Flow | Undefined] = {}
    for node in reversed(nodes):
        if not any(v in waiting and v in depends for v in node.outputs):
            continue
        totals = [_total(waiting.pop(v)) if v in waiting else None for v in node.outputs]
        for variable, flow in zip(node.outputs, totals, strict=True):
            if variable in asked and flow is not None:
                found[variable] = flow
        wanted = [v in depends for v in node.inputs]
        if not any(wanted):
            continue
        ahead = _pulled_ahead(node, totals, depends, asked, most_tangents)
        if ahead is not None:
            for x, flow in ahead:
                waiting.setdefault(x, []).append(flow)
            continue
        results = _pulled(node, totals, wanted)
        for x, on, result in zip(node.inputs, wanted, results, strict=True):
            if on and result is not None:
                waiting.setdefault(x, []).append(result)
    found.update((v, _total(waiting[v])) for v in asked if v in waiting)
    answers: list[Any] = []
    for variable in wrt:
        flow = found.get(variable)
        if isinstance(flow, Undefined) and undefined == "raise":
            raise GraphError(f"a derivative in this expression is not known: {flow.reason}")
        answers.append(settled(flow, variable) if isinstance(flow, Flow) else flow)
    return answers


def push(
    outputs: Sequence[Variable],
    wrt: Sequence[Variable],
    tangents: Sequence[Variable | None],
    guarded: bool = True,
) -> list[Variable | None]:
    """Tangents of outputs, from those of variables: forward mode.

    Parameters
    ----------
    outputs, wrt : sequence of variable
    tangents : sequence of variable or None
        One for each of `wrt`. Where one of `wrt` depends on another, its tangent is added to the
        one that it has from there.
    guarded : bool
        Whether a tangent of zero stays zero where a partial derivative is infinite.

    Returns
    -------
    list of variable or None
        None where the output does not depend on what has a tangent.

    Raises
    ------
    GraphError
        If a derivative is needed that an operation does not have.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> y = pt.exp(x)
    >>> push([x + y], [x, y], [y, y])[0].eval({x: 0.0}).tolist()
    3.0
    """
    given: dict[Variable, list[Flow]] = {}
    for variable, tangent in zip(wrt, tangents, strict=True):
        if tangent is not None and is_continuous(variable):
            given.setdefault(variable, []).append(_seed(tangent, variable))
    if not guarded:
        given = {v: [flow._replace(sparse=USED) for flow in flows] for v, flows in given.items()}
    found = {v: accumulated(flows) for v, flows in given.items() if v.owner is None}
    for node in io_toposort([], list(outputs)):
        here = [found.get(v) for v in node.inputs]
        results: Sequence[Flow | None] = [None] * len(node.outputs)
        if any(flow is not None for flow in here):
            results = _pushed(node, here)
        for variable, flow in zip(node.outputs, results, strict=True):
            flows = [*([] if flow is None else [flow]), *given.get(variable, ())]
            if flows and is_continuous(variable):
                found[variable] = accumulated(flows)
    found.update((v, accumulated(given[v])) for v in outputs if v in given and v not in found)
    return [settled(found[v], v) if v in found else None for v in outputs]


def _seed(value: Variable | Flow, like: Variable) -> Flow:
    if isinstance(value, Flow):
        return value
    whole = is_constant(value)
    if isinstance(like.type, TensorType):
        value = of_type(pt.as_tensor_variable(value), like)
    return Flow(value, None, USED if whole else SPARSE)


def _depending(nodes: Sequence[Apply], wrt: Sequence[Variable]) -> set[Variable]:
    """Variables that may have a derivative with respect to some others."""
    depends = {v for v in wrt if is_continuous(v)}
    for node in nodes:
        here = [v in depends for v in node.inputs]
        if not any(here):
            continue
        pattern = None if isinstance(node.op, Elemwise) else _pattern(node)
        if isinstance(node.op, Elemwise) and facts_of(node.op.scalar_op).is_step:
            continue
        for at, v in enumerate(node.outputs):
            if pattern is None or any(
                on and row[at] for on, row in zip(here, pattern, strict=True)
            ):
                depends.update([v] if is_continuous(v) else ())
    return depends


def _pattern(node: Apply) -> Any:
    """For each input, which outputs have a derivative with respect to it; None if all have."""
    pattern = getattr(node.op, "connection_pattern", None)
    return None if pattern is None else pattern(node)


def _total(flows: list[Flow | Undefined]) -> Flow | Undefined:
    for flow in flows:
        if isinstance(flow, Undefined):
            return flow
    return accumulated(flows)  # type: ignore[arg-type]


def _pulled_ahead(
    node: Apply,
    totals: Sequence[Any],
    depends: set[Variable],
    asked: set[Variable],
    most_tangents: int,
) -> Sequence[tuple[Variable, Flow]] | None:
    """Cotangents of variables before a node, not of its inputs, where it has a way to them."""
    rule = ahead_of(node.op)
    if rule is None or any(isinstance(v, Undefined) for v in totals):
        return None
    return rule(node, totals, depends, asked, most_tangents)


def _pulled(node: Apply, totals: Sequence[Any], wanted: Sequence[bool]) -> Sequence[Any]:
    """Cotangents of the inputs of a node."""
    for flow in totals:
        if isinstance(flow, Undefined):
            return [flow if on else None for on in wanted]
    rules = flow_rules(node)
    if rules is not None:
        return rules.pull(node, totals[0], wanted)
    plain = [
        None if flow is None else settled(flow, v)
        for flow, v in zip(totals, node.outputs, strict=True)
    ]
    rule = reverse_with_uses_of(node.op)
    if rule is not None:
        used = [flow is not None and flow.sparse_when_masked == USED for flow in totals]
        results = rule(node, plain, wanted, used)
    else:
        results = pulled_node(node, plain, wanted)
    return [_as_flow(result, x) for result, x in zip(results, node.inputs, strict=True)]


def pulled_node(
    node: Any, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Variable | Undefined | None]:
    """Cotangents of the inputs of one node, by its reverse rule or what takes the place of one."""
    reverse = reverse_of(node.op)
    if reverse is not None:
        return reverse(node, cotangents, wanted)
    forward = forward_of(node.op)
    if forward is not None:
        return transposed(forward, node, cotangents, wanted)
    return pulled_by_op(node, cotangents, wanted)


def pulled_by_rules(
    node: Any, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Variable | Undefined | None]:
    """Cotangents of the inputs of one node whose operation has a rule of any form."""
    if flow_rules(node) is None:
        return pulled_node(node, cotangents, wanted)
    pairs = zip(cotangents, node.outputs, strict=True)
    flows = [None if c is None else _as_flow(c, v) for c, v in pairs]
    if flows[0] is None:
        return [None] * len(node.inputs)
    return _plain(_pulled(node, flows, wanted), node.inputs)


def pushed_by_rules(node: Any, tangents: Sequence[Variable | None]) -> Sequence[Any]:
    """Tangents of the outputs of one node whose operation has a rule of any form."""
    if flow_rules(node) is None:
        return pushed_node(node, tangents)
    pairs = zip(tangents, node.inputs, strict=True)
    flows = [None if t is None else _as_flow(t, v) for t, v in pairs]
    return _plain(_pushed(node, flows), node.outputs)


def _plain(flows: Sequence[Any], likes: Sequence[Variable]) -> list[Any]:
    pairs = zip(flows, likes, strict=True)
    return [settled(flow, v) if isinstance(flow, Flow) else flow for flow, v in pairs]


def _pushed(node: Apply, tangents: Sequence[Flow | None]) -> Sequence[Flow | None]:
    """Tangents of the outputs of a node."""
    rules = flow_rules(node)
    if rules is not None:
        return [rules.push(node, tangents)]
    plain = [
        None if flow is None else settled(flow, v)
        for flow, v in zip(tangents, node.inputs, strict=True)
    ]
    results = pushed_node(node, plain)
    found = [_as_flow(result, v) for result, v in zip(results, node.outputs, strict=True)]
    for flow in found:
        if isinstance(flow, Undefined):
            raise GraphError(f"a derivative in this expression is not known: {flow.reason}")
    return found


def pushed_node(node: Any, tangents: Sequence[Variable | None]) -> Sequence[Any]:
    """Tangents of the outputs of one node, by its forward rule or by two reverse ones."""
    forward = forward_of(node.op)
    if forward is not None:
        return forward(node, tangents)
    return pushed_by_pulling(node, tangents)


def _as_flow(result: Any, like: Variable) -> Any:
    if result is None or isinstance(result, (Undefined, Flow)) or not is_continuous(like):
        return result
    if isinstance(like.type, TensorType):
        result = of_type(result, like)
    return Flow(result, None, SPARSE)


# -- operations with one rule, or with PyTensor's own --------------------------------------------


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
    J. Townsend, "A new trick for calculating Jacobian vector products", 2017.
    """
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
