"""Reassociate the sums and products of a step for the shortest loop-carried path.

A sum of three terms is two additions. If the loop-carried term is added last, the first addition
is done before the state is known, and a final product and sum are one fused multiply-add.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.scalar.basic import Add, Mul, Neg, Sub
from pytensor.tensor.elemwise import Elemwise

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.constants import is_constant, is_zero
from dimtensor.ops.loop.node import ScanGraph
from dimtensor.ops.nodes import elementwise
from dimtensor.tuning import FACTORED_OPERANDS

# 0: the same in every step; 1: of the step's elements; then by how far it is from the states
_FIXED, _OF_ELEMENTS = 0, 1


def associate(parts: ScanGraph) -> None:
    """Order the sums and products of a body for the shortest loop-carried path."""
    states = [state.variable for state in parts.states]
    elements = [part.variable for part in parts.elements]
    parts.set_outputs(ordered(parts.inner, parts.outputs, states, elements))


def ordered(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    states: Sequence[Variable],
    elements: Sequence[Variable] = (),
) -> list[Variable]:
    """Reassociate the results of a body so that loop-carried operands come last.

    Parameters
    ----------
    inputs, outputs : sequence of variable
        Of the body.
    states, elements : sequence of variable
        The loop-variant inputs.
    """
    body = _Body(outputs)
    for kinds, rewrite in (((Add, Sub, Neg), _sum), ((Mul,), _product)):
        nodes = io_toposort(inputs, body.outputs)
        ranks = _ranks(nodes, inputs, states, elements)
        between = _between(body, states)
        for node in reversed(nodes):
            if node not in body.nodes or not _is(node, kinds):
                continue
            better = rewrite(body, node, ranks, between)
            if better is not None:
                body.replace(node.outputs[0], better)
    return body.outputs


class _Body:
    """Graph of a body that is changed in place.

    In a `FunctionGraph`, removing a reader searches all readers of a variable, so a body of many
    statements that read the same state takes quadratic time.

    Attributes
    ----------
    outputs : list of variable
    nodes : set of Apply
    readers : dict
        The readers of each variable, by node and number of the input; no node for the outputs.
    """

    def __init__(self, outputs: Sequence[Variable]):
        self.outputs = list(outputs)
        self.nodes: set[Apply] = set()
        self.readers: dict[Variable, dict[tuple[Apply | None, int], None]] = {}
        for at, variable in enumerate(self.outputs):
            self._read(variable, (None, at))

    def _read(self, variable: Variable, reader: tuple[Apply | None, int]) -> None:
        stack = [(variable, reader)]
        while stack:
            variable, reader = stack.pop()
            self.readers.setdefault(variable, {})[reader] = None
            node = variable.owner
            if node is not None and node not in self.nodes:
                self.nodes.add(node)
                stack += [(v, (node, at)) for at, v in enumerate(node.inputs)]

    def is_part(self, variable: Variable, kinds: tuple[type, ...]) -> bool:
        """Return whether a variable is read once, by an operation of these kinds and its shape."""
        (reader, _), *others = self.readers[variable]
        if others or reader is None:
            return False
        return _is(reader, kinds) and reader.outputs[0].type == variable.type

    def replace(self, old: Variable, new: Variable) -> None:
        for node, at in self.readers.pop(old):
            (self.outputs if node is None else node.inputs)[at] = new
            self._read(new, (node, at))
        stack = [old]
        while stack:
            unread = stack.pop().owner
            if unread is None or any(self.readers.get(v) for v in unread.outputs):
                continue
            self.nodes.remove(unread)
            for at, variable in enumerate(unread.inputs):
                readers = self.readers[variable]
                del readers[unread, at]
                if not readers:
                    stack.append(variable)


def carry_sums(graph: FunctionGraph, parts: ScanGraph) -> bool:
    """Carry the sum where a state is a sum times a loop-invariant factor.

    A state that is 0 at first and becomes ``c * u``, where u is the state and something else, is
    only used in ``u = x + state``. If u is the state, ``u = x + c * u`` is one instruction.
    """
    changed = False
    for state in parts.states:
        node = state.following.owner
        if any(graph.clients.get(out) for out in state.outputs) or not is_zero(state.init):
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
        moved = factors[0] * state.variable + kept
        number = parts.states.index(state)
        outputs = list(inner.outputs)
        outputs[number] = total
        parts.set_outputs(outputs)
        inner = FunctionGraph(parts.inner, parts.outputs, clone=False)
        inner.replace(total, moved, reason="carry_sums")
        parts.set_outputs(list(inner.outputs))
        changed = True
    return changed


def _is(node: Apply, kinds: tuple[type, ...]) -> bool:
    op = node.op
    if not (isinstance(op, Elemwise) and isinstance(op.scalar_op, kinds)):
        return False
    return is_float(node.outputs[0].type.dtype)


def _ranks(
    nodes: Sequence[Apply],
    inputs: Sequence[Variable],
    states: Sequence[Variable],
    elements: Sequence[Variable],
) -> dict[Variable, int]:
    """Rank variables by the length of their path from the loop carry."""
    ranks = dict.fromkeys(inputs, _FIXED)
    ranks |= dict.fromkeys(elements, _OF_ELEMENTS)
    ranks |= dict.fromkeys(states, _OF_ELEMENTS + 1)
    for node in nodes:
        rank = max((ranks.get(v, _FIXED) for v in node.inputs), default=_FIXED)
        for out in node.outputs:
            ranks[out] = rank + 1 if rank > _OF_ELEMENTS else rank
    return ranks


def _between(body: _Body, states: Sequence[Variable]) -> set[Variable]:
    """Ancestors of the carried states, without sums that are accumulated over the steps."""
    following = [
        after
        for state, after in zip(states, body.outputs, strict=False)
        if not _is_total(body, state, after)
    ]
    return set(ancestors(following))


def _is_total(body: _Body, state: Variable, after: Variable) -> bool:
    """Return whether a state is only added to."""
    return all(
        isinstance(reader, Apply) and reader.outputs == [after] and _is(reader, (Add, Sub))
        for reader, _ in body.readers.get(state, ())
    )


def _may_open(body: _Body, variable: Variable, top: Variable) -> bool:
    """Return whether a nested sum is read once, and has the same elements."""
    # a product that was made without a factor of -1 is no part of the graph yet
    alone = len(body.readers.get(variable, ())) <= 1
    return variable is top or (alone and variable.type == top.type)


def _is_short_cut(variable: Variable, ranks: dict[Variable, int]) -> bool:
    """Return whether a shared number is the product of one loop-carried and invariant factors.

    Further factors are multiplied first, so that a single product depends on the carry.
    """
    waits = [_rank(v, ranks) > _OF_ELEMENTS for v in variable.owner.inputs]
    return variable.type.ndim == 0 and waits.count(True) == 1


def _terms(body: _Body, variable: Variable, top: Variable, sign: int) -> list[tuple[int, Variable]]:
    node = variable.owner
    if node is None or not _may_open(body, variable, top):
        return [(sign, variable)]
    if _is(node, (Add,)):
        return [term for v in node.inputs for term in _terms(body, v, top, sign)]
    if _is(node, (Sub,)):
        first, second = node.inputs
        return [*_terms(body, first, top, sign), *_terms(body, second, top, -sign)]
    if _is(node, (Neg,)):
        return _terms(body, node.inputs[0], top, -sign)
    if _is(node, (Mul,)):
        factors = [v for v in node.inputs if not is_constant(v, -1)]
        if 0 < len(factors) < len(node.inputs):
            sign *= (-1) ** (len(node.inputs) - len(factors))
            return [(sign, factors[0] if len(factors) == 1 else elementwise(pt.mul, *factors))]
    return [(sign, variable)]


def _sum(
    body: _Body, node: Apply, ranks: dict[Variable, int], between: set[Variable]
) -> Variable | None:
    top = node.outputs[0]
    if body.is_part(top, (Add, Sub, Neg)):
        return None
    terms = _terms(body, top, top, 1)
    if len(terms) < 2 or all(sign < 0 for sign, _ in terms):
        return None
    factored = _factored(body, terms, ranks, between)
    if len(factored) == len(terms) < 3 and all(sign > 0 for sign, _ in terms):
        return None
    terms = factored
    sign, total = _in_turn([(_rank(term, ranks), (sign, term)) for sign, term in terms], _added)
    total = elementwise(pt.neg, total) if sign < 0 else total
    return total if total.type == top.type else None


def _factored(
    body: _Body,
    terms: list[tuple[int, Variable]],
    ranks: dict[Variable, int],
    between: set[Variable],
) -> list[tuple[int, Variable]]:
    """Factor terms with equal factors, where that shortens the loop-carried path."""
    groups: dict[Variable, list[tuple[int, Variable]]] = {}
    kept = []
    for sign, term in terms:
        node = term.owner
        alone = len(body.readers.get(term, ())) <= 1
        if node is None or not alone or not _is(node, (Mul,)):
            kept.append((sign, term))
            continue
        negative, factors = _factors(body, term, ranks, between)
        *others, last = sorted(factors, key=lambda v: _rank(v, ranks))
        sign = -sign if negative else sign
        if not others or _rank(last, ranks) <= _OF_ELEMENTS or last.type != term.type:
            kept.append((-sign if negative else sign, term))
            continue
        coefficient = _in_turn([(_rank(v, ranks), v) for v in others], _times)
        groups.setdefault(last, []).append((sign, coefficient))
    for last, coefficients in groups.items():
        if len(coefficients) == 1:
            sign, total = coefficients[0]
        else:
            ranked = [(_rank(v, ranks), (sign, v)) for sign, v in coefficients]
            sign, total = _in_turn(ranked, _added)
        if sign < 0 and _rank(total, ranks) == _FIXED:
            sign, total = 1, elementwise(pt.neg, total)
        kept.append((sign, _times(total, last)))
    return kept


def _added(one: tuple[int, Variable], two: tuple[int, Variable]) -> tuple[int, Variable]:
    """Combine two terms, the later one second. LLVM makes an FMA of a product on the left."""
    (sign, first), (other, second) = one, two
    if sign == other:
        return sign, elementwise(pt.add, second, first)
    return 1, elementwise(pt.sub, *((first, second) if sign > 0 else (second, first)))


def _times(one: Variable, two: Variable) -> Variable:
    return elementwise(pt.mul, one, two)


def _in_turn(items: Sequence[tuple[int, Any]], combine: Callable[[Any, Any], Any]) -> Any:
    """Combine the two items of the lowest ranks until one remains."""
    heap = [(rank, at, item) for at, (rank, item) in enumerate(items)]
    heapq.heapify(heap)
    number = itertools.count(len(heap))
    while len(heap) > 1:
        (_, _, one), (rank, _, two) = heapq.heappop(heap), heapq.heappop(heap)
        after = rank + 1 if rank > _OF_ELEMENTS else rank
        heapq.heappush(heap, (after, next(number), combine(one, two)))
    return heap[0][2]


def _rank(variable: Variable, ranks: dict[Variable, int]) -> int:
    if variable not in ranks and variable.owner is not None:  # made while sums were ordered
        return max(_rank(v, ranks) for v in variable.owner.inputs)
    return ranks.get(variable, _FIXED)


def _factors(
    body: _Body, top: Variable, ranks: dict[Variable, int], between: set[Variable]
) -> tuple[bool, list[Variable]]:
    """Return whether a product is negated, and its factors, with those of nested products."""
    negative, stack = False, [top]
    found: list[Variable] = []
    while stack:
        variable = stack.pop()
        node = variable.owner
        if is_constant(variable, -1):
            negative = not negative
        elif (
            node is not None
            and _is(node, (Mul,))
            and (
                _may_open(body, variable, top)
                # a chain of shared products would be opened once for each of them
                or (
                    top in between
                    and len(found) + len(stack) < FACTORED_OPERANDS
                    and _is_short_cut(variable, ranks)
                )
            )
        ):
            stack += reversed(node.inputs)
        elif node is not None and _is(node, (Neg,)) and variable.type == top.type:
            negative = not negative
            stack.append(node.inputs[0])
        else:
            found.append(variable)
    return negative, found


def _product(
    body: _Body, node: Apply, ranks: dict[Variable, int], between: set[Variable]
) -> Variable | None:
    top = node.outputs[0]
    if body.is_part(top, (Mul,)):
        return None
    negative, factors = _factors(body, top, ranks, between)
    if len(factors) < (2 if negative else 3):
        return None
    factors.sort(key=lambda v: _rank(v, ranks))
    if negative:
        factors[0] = elementwise(pt.neg, factors[0])
    product = _in_turn([(_rank(v, ranks), v) for v in factors], _times)
    return product if product.type == top.type else None
