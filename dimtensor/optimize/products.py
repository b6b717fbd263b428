"""Sums of exponentials of logarithms that are looked up: sums of products.

``logsumexp(log(p)[i] + log(q)[j])`` over a short axis is ``log(sum(p[i] * q[j]))``, and the weights
of its gradient are the products over their sum, where no product leaves the range of numbers. One
look at the tables tells. Otherwise the largest term is subtracted and exponentials are taken, as it
was written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import EQ, Add, Log, Mul, ScalarMaximum, Sub, Switch, TrueDiv
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from dimtensor.ops.constants import number_of
from dimtensor.optimize.pairs import exponential, is_none, is_operation, readers, where_finite
from dimtensor.tuning import EXPONENT_RANGE, LOG_SUM_EXP_TERMS


class _Factor(NamedTuple):
    """Operand of a gathered logarithm, and the table of logarithms."""

    value: Variable
    table: Variable


class _Sum(NamedTuple):
    """A sum of exponentials.

    Attributes
    ----------
    shift : Variable
        What is subtracted from all exponents.
    products : dict of Variable to Variable
        What each exponential is, but for the shift.
    total : Variable
    are_small : Variable
        Whether the products are in range.
    """

    shift: Variable
    products: Mapping[Variable, Variable]
    total: Variable
    are_small: Variable


def products_of_looked_up(graph: FunctionGraph) -> None:
    """Take logarithms of sums, and the weights of their gradients, of products where these fit.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    """
    for node in graph.toposort():
        if not is_operation(node, ScalarMaximum) or node.outputs[0].type.dtype != "float64":
            continue
        for shift in list(where_finite(graph, node.outputs[0])):
            found = _sum(graph, node.outputs[0], shift)
            new = None if found is None else _Rewriting(graph, found).replacements()
            if new is not None:
                graph.replace_all(new, reason="products", import_missing=True)


def _terms(variable: Variable, kind: type) -> list[Variable]:
    """Return the operands of an operation, with nested operations of the same kind opened."""
    node = variable.owner
    if node is None or not is_operation(node, kind):
        return [variable]
    return [term for operand in node.inputs for term in _terms(operand, kind)]


def _sum(graph: FunctionGraph, largest: Variable, shift: Variable) -> _Sum | None:
    """Return the sum of exponentials of terms less the largest one, each a sum of logarithms."""
    terms = _terms(largest, ScalarMaximum)
    products: dict[Variable, Variable] = {}
    tables: dict[Variable, float] = {}
    for term in terms:
        own = exponential(graph, term, shift)
        logarithms = _terms(term, Add)
        factors = [factor for each in logarithms if (factor := _factor(each)) is not None]
        if own is None or len(factors) < len(logarithms) or len(terms) > LOG_SUM_EXP_TERMS:
            return None
        bound = EXPONENT_RANGE / len(factors)
        for factor in factors:
            tables[factor.table] = min(bound, tables.get(factor.table, bound))
        products[own] = reduce(pt.mul, (factor.value for factor in factors))
    total = _total(graph, products)
    if total is None:
        return None
    fit = (pt.all(pt.le(pt.abs(table), bound)) for table, bound in tables.items())
    return _Sum(shift, products, total, reduce(pt.and_, fit))


def _factor(logarithm: Variable) -> _Factor | None:
    """Return the operand of a logarithm that is gathered or the same for all elements."""
    chain: list[Apply] = []
    node = logarithm.owner
    while node is not None and isinstance(node.op, (Subtensor, AdvancedSubtensor, DimShuffle)):
        chain.append(node)
        node = node.inputs[0].owner
    is_looked_up = any(isinstance(each.op, AdvancedSubtensor) for each in chain)
    has_no_axes = all(length == 1 for length in logarithm.type.shape)
    if node is None or not is_operation(node, Log) or not (is_looked_up or has_no_axes):
        return None
    (value,), (table,) = node.inputs, node.outputs
    if value.type.dtype != "float64":
        return None
    for each in reversed(chain):
        value = each.op(value, *each.inputs[1:])
    return _Factor(value, table)


def _total(graph: FunctionGraph, products: Mapping[Variable, Variable]) -> Variable | None:
    """Return the sum of all exponentials, added one after the other."""
    at = next(iter(products))
    while len(more := list(readers(graph, at, Add))) == 1:
        at = more[0].outputs[0]
        terms = _terms(at, Add)
        if len(terms) == len(products) and set(terms) == products.keys():
            return at
    return None


class _Rewriting:
    """Readers of a sum of exponentials and of its terms, with products; none that fits is 0."""

    def __init__(self, graph: FunctionGraph, found: _Sum):
        self._graph = graph
        self._sum = found
        self._new: list[tuple[Variable, Variable]] = []
        self._known: set[Apply] = set()  # what needs no exponentials any more where products fit
        self._total = reduce(pt.add, found.products.values())

    def replacements(self) -> list[tuple[Variable, Variable]] | None:
        """Return `(old, new)` replacements, None if the exponentials have other readers."""
        graph, (shift, products, total, _) = self._graph, self._sum
        divisors = [total]
        for node in list(readers(graph, total, EQ)):
            if is_none(node.outputs[0], total):
                self._replace(node, pt.constant(False, dtype="bool"))
        for node in readers(graph, total, Switch):
            test, one, usual = node.inputs
            if usual is total and is_none(test, total) and number_of(one) == 1:
                divisors.append(node.outputs[0])
        for divisor in divisors:
            self._weights(divisor)
            for log in readers(graph, divisor, Log):
                self._logarithms(log.outputs[0])
        self._known.update(readers(graph, shift, Sub))
        read = [node for each in (shift, *products) for node, _ in graph.clients[each]]
        return self._new if self._known.issuperset(read) else None

    def _replace(self, node: Apply, new: Variable) -> None:
        self._known.add(node)
        (old,) = node.clone().outputs
        self._new.append((node.outputs[0], pt.switch(self._sum.are_small, new, old)))

    def _weights(self, divisor: Variable) -> None:
        """Exponentials times a quotient by their sum: of products the weight comes first.

        It is from 0 to 1, while a product alone may be so large, or so small, that further factors
        leave the range.
        """
        inverse = pt.true_div(pt.constant(1.0, dtype="float64"), self._total)
        for own, product in self._sum.products.items():
            self._known.update(readers(self._graph, own, Add))
            for node in list(readers(self._graph, own, Mul)):
                rest = list(node.inputs)
                rest.remove(own)
                at = [k for k, each in enumerate(rest) if _is_quotient(each, divisor)]
                if at and own not in rest:
                    above = rest.pop(at[0]).owner.inputs[0]
                    factors = [each for each in (above, *rest) if number_of(each) != 1]
                    self._replace(node, reduce(pt.mul, factors, product * inverse))

    def _logarithms(self, log: Variable) -> None:
        """Rewrite a logarithm to which the shift is added, also with a guard against -inf."""
        graph, (shift, _, total, _) = self._graph, self._sum
        for node in list(readers(graph, log, Switch)):
            test, at_none, usual = node.inputs
            if usual is log and is_none(test, total) and number_of(at_none) == -math.inf:
                self._logarithms(node.outputs[0])
        for node in list(readers(graph, log, Add)):
            rest = list(node.inputs)
            rest.remove(log)
            if rest.count(shift) == 1:
                rest.remove(shift)
                self._replace(node, reduce(pt.add, rest, pt.log(self._total)))


def _is_quotient(variable: Variable, divisor: Variable) -> bool:
    node = variable.owner
    return node is not None and is_operation(node, TrueDiv) and node.inputs[1] is divisor
