"""The order in which a step computes, so that little stands between a state and the next.

A sum of three terms, one of them made of a state, is two additions one after the other; if the
state's comes last, the first is done before the state is known. What multiplies and adds last is
one fused instruction.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import io_toposort
from pytensor.scalar.basic import Add, Mul, Neg, Sub
from pytensor.tensor.elemwise import Elemwise

from dimtensor.ops.loop.node import ScanGraph

# 0: the same in every step; 1: of the step's elements; then by how far it is from the states
_FIXED, _OF_ELEMENTS = 0, 1


def associate(parts: ScanGraph) -> None:
    """Order the sums and products of a body by what they wait for."""
    inner = FunctionGraph(parts.inner, parts.outputs, clone=False)
    for kinds, rewrite in (((Add, Sub, Neg), _sum), ((Mul,), _product)):
        ranks = _ranks(parts, inner.outputs)
        for node in reversed(inner.toposort()):
            if node not in inner.apply_nodes or not _is(node, kinds):
                continue
            better = rewrite(inner, node, ranks)
            if better is not None:
                inner.replace(node.outputs[0], better, reason="associate")
    parts.set_outputs(list(inner.outputs))


def carry_sums(graph: FunctionGraph, parts: ScanGraph) -> bool:
    """Carry the sum where a state is a sum times what is fixed.

    A state that is 0 at first and becomes ``c * u``, where u is the state and something else, is
    only used in ``u = x + state``. If u is the state, ``u = x + c * u`` is one instruction.
    """
    changed = False
    for state in parts.states:
        node = state.following.owner
        if any(graph.clients.get(out) for out in state.outputs) or not _is_zero(state.init):
            continue
        if node is None or not _is(node, (Mul,)) or len(node.inputs) != 2:
            continue
        inner = FunctionGraph(parts.inner, parts.outputs, clone=False)
        captured = {part.variable for part in parts.captured}
        readers = inner.clients[state.variable]
        own = inner.clients[state.following]
        if len(readers) != 1 or len(own) != 1 or state.following is state.variable:
            continue
        reader = readers[0][0]
        if not isinstance(reader, Apply) or not _is(reader, (Add,)):
            continue
        total = reader.outputs[0]
        factors = [v for v in node.inputs if v is not total]
        if len(factors) != 1 or not (factors[0] in captured or isinstance(factors[0], Constant)):
            continue
        if total.type != state.variable.type or reader.inputs.count(state.variable) != 1:
            continue
        others = [v for v in reader.inputs if v is not state.variable]
        if not others:
            continue
        kept = others[0] if len(others) == 1 else pt.add(*others)
        moved = kept + factors[0] * state.variable
        number = parts.states.index(state)
        outputs = list(inner.outputs)
        outputs[number] = total
        parts.set_outputs(outputs)
        inner = FunctionGraph(parts.inner, parts.outputs, clone=False)
        inner.replace(total, moved, reason="carry_sums")
        parts.set_outputs(list(inner.outputs))
        changed = True
    return changed


def _is_zero(variable: Variable) -> bool:
    while variable.owner is not None and len(variable.owner.inputs) == 1:
        variable = variable.owner.inputs[0]
    return isinstance(variable, Constant) and not np.any(variable.data)


def _is(node: Apply, kinds: tuple[type, ...]) -> bool:
    op = node.op
    if not (isinstance(op, Elemwise) and isinstance(op.scalar_op, kinds)):
        return False
    return node.outputs[0].type.dtype.startswith("float")


def _ranks(parts: ScanGraph, outputs: Iterable[Variable]) -> dict[Variable, int]:
    """How long each variable waits for the states."""
    ranks = {part.variable: _FIXED for part in parts.captured}
    ranks |= {part.variable: _OF_ELEMENTS for part in parts.elements}
    ranks |= {state.variable: _OF_ELEMENTS + 1 for state in parts.states}
    for node in io_toposort(parts.inner, list(outputs)):
        rank = max((ranks.get(v, _FIXED) for v in node.inputs), default=_FIXED)
        for out in node.outputs:
            ranks[out] = rank + 1 if rank > _OF_ELEMENTS else rank
    return ranks


def _may_open(graph: FunctionGraph, variable: Variable, top: Variable) -> bool:
    """Whether a sum in a sum is only there, and has the same elements."""
    alone = len(graph.clients[variable]) == 1
    return variable is top or (alone and variable.type == top.type)


def _terms(
    graph: FunctionGraph, variable: Variable, top: Variable, sign: int
) -> list[tuple[int, Variable]]:
    node = variable.owner
    if node is None or not _may_open(graph, variable, top):
        return [(sign, variable)]
    if _is(node, (Add,)):
        return [term for v in node.inputs for term in _terms(graph, v, top, sign)]
    if _is(node, (Sub,)):
        first, second = node.inputs
        return [*_terms(graph, first, top, sign), *_terms(graph, second, top, -sign)]
    if _is(node, (Neg,)):
        return _terms(graph, node.inputs[0], top, -sign)
    if _is(node, (Mul,)):
        factors = [v for v in node.inputs if not _is_minus_one(v)]
        if 0 < len(factors) < len(node.inputs):
            sign *= (-1) ** (len(node.inputs) - len(factors))
            return [(sign, factors[0] if len(factors) == 1 else pt.mul(*factors))]
    return [(sign, variable)]


def _is_minus_one(variable: Variable) -> bool:
    return isinstance(variable, Constant) and bool(np.all(np.asarray(variable.data) == -1))


def _sum(graph: FunctionGraph, node: Apply, ranks: dict[Variable, int]) -> Variable | None:
    top = node.outputs[0]
    clients = graph.clients[top]
    if len(clients) == 1 and isinstance(clients[0][0], Apply):
        client = clients[0][0]
        if _is(client, (Add, Sub, Neg)) and client.outputs[0].type == top.type:
            return None  # a part of another
    terms = _terms(graph, top, top, 1)
    if len(terms) < 3 and not any(sign < 0 for sign, _ in terms):
        return None
    ordered = sorted(terms, key=lambda term: (_rank(term[1], ranks), -term[0]))
    if len(ordered) < 2 or all(sign < 0 for sign, _ in ordered):
        return None
    if ordered[0][0] < 0:  # a sum starts with what is not subtracted
        first = next(at for at, (sign, _) in enumerate(ordered) if sign > 0)
        if _rank(ordered[first][1], ranks) > _OF_ELEMENTS and len(ordered) > 2:
            ordered = [(1, -ordered[0][1]), *ordered[1:]]
        else:
            ordered.insert(0, ordered.pop(first))
    total = ordered[0][1]
    for sign, term in ordered[1:]:
        total = total + term if sign > 0 else total - term
    return total if total.type == top.type else None


def _rank(variable: Variable, ranks: dict[Variable, int]) -> int:
    if variable not in ranks and variable.owner is not None:  # made while sums were ordered
        return max(_rank(v, ranks) for v in variable.owner.inputs)
    return ranks.get(variable, _FIXED)


def _product(graph: FunctionGraph, node: Apply, ranks: dict[Variable, int]) -> Variable | None:
    top = node.outputs[0]
    if len(node.inputs) < 3:
        return None
    minus = sum(map(_is_minus_one, node.inputs))
    factors = [v for v in node.inputs if not _is_minus_one(v)]
    factors.sort(key=lambda v: _rank(v, ranks))
    product = -factors[0] if minus % 2 else factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product if product.type == top.type else None
