"""Log-sum-exp and softmax as the operations that kernels have: of whole axes, and of a few terms.

Both share the exponentials and their sum. Of two terms, the exponential of the larger one less
itself is 1, so one exponential is left, and the logarithm is one of 1 + x with x from 0 to 1, which
loses no digits of a small x.

``logsumexp(log(p)[i] + log(q)[j])`` of a few terms, each a sum of logarithms that are gathered, is
``log(sum(p[i] * q[j]))``, and the softmax is the products over their sum, where no product leaves
the range of numbers: one look at the tables tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Add, Log
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from dimtensor.graph.dtypes import accumulator
from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax
from dimtensor.ops.constants import is_constant
from dimtensor.ops.derivatives.flow import number
from dimtensor.ops.graphs import nodes_of, replace_nodes
from dimtensor.ops.special import log1p_unit
from dimtensor.optimize.rules.table import scalar_op
from dimtensor.tuning import EXPONENT_RANGE


def write_out_exponentials(graph: FunctionGraph) -> None:
    """Write log-sum-exp and softmax over whole axes as maxima, exponentials and sums.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    """
    known: dict[tuple[Variable, tuple[int, ...]], _Whole] = {}

    def written_out(node: Apply) -> Variable:
        x, *factor = node.inputs
        key = x, node.op.axis
        if key not in known:
            known[key] = _Whole(*key)
        if isinstance(node.op, Softmax):
            return known[key].log_softmax() if node.op.log else known[key].softmax()
        return known[key].scaled_softmax(*factor) if factor else known[key].log_sum_exp()

    nodes = nodes_of(graph, LogSumExp, ScaledSoftmax, Softmax)
    replace_nodes(graph, nodes, written_out, "write_out_exponentials")


def _is_end(largest: Variable) -> Variable:
    return pt.or_(pt.isnan(largest), pt.isinf(largest))


def _shift(largest: Variable) -> Variable:
    """Return the largest exponent where it is finite, 0 elsewhere."""
    return pt.switch(_is_end(largest), number(0, largest), largest)


def _quotient(factor: Variable, total: Variable) -> Variable:
    """Divide by a sum of exponentials; 0 where all of them are 0."""
    zero = number(0, total)
    return pt.switch(pt.eq(total, zero), zero, pt.true_div(factor, total))


class _Whole:
    """Exponentials over axes of an array.

    What they share has the other axes only: it is stored, not computed for each element.
    """

    def __init__(self, x: Variable, axis: Sequence[int]):
        self._kept = [at for at in range(x.type.ndim) if at not in axis]
        some = all(x.type.shape[at] for at in axis)
        initial = {} if some else {"initial": -np.inf}
        self._shift = _shift(pt.max(x, axis=list(axis), **initial))
        self._order = ["x" if at in axis else self._kept.index(at) for at in range(x.type.ndim)]
        self._apart = x - self._shift.dimshuffle(self._order)
        self._parts = pt.exp(self._apart)
        dtype = x.type.dtype
        wide = {"dtype": dtype, "acc_dtype": accumulator(dtype)}
        self._total = pt.sum(self._parts, axis=list(axis), **wide)

    def log_sum_exp(self) -> Variable:
        return pt.log(self._total) + self._shift

    def softmax(self) -> Variable:
        return pt.true_div(self._parts, self._total.dimshuffle(self._order))

    def log_softmax(self) -> Variable:
        return pt.sub(self._apart, pt.log(self._total).dimshuffle(self._order))

    def scaled_softmax(self, factor: Variable) -> Variable:
        quotient = _quotient(factor.dimshuffle(self._kept), self._total)
        return quotient.dimshuffle(self._order) * self._parts


class FewTerms:
    """Exponentials of a few arrays, element by element.

    Parameters
    ----------
    terms : sequence of Variable
    """

    def __init__(self, terms: Sequence[Variable]):
        self._terms = terms
        self._products = _products(terms)

    @cached_property
    def largest(self) -> Variable:
        """Largest of the terms."""
        return reduce(pt.maximum, self._terms)

    @cached_property
    def _smaller(self) -> tuple[Variable, Variable]:
        """Mask of the larger first terms, with the exponential of the smaller term."""
        a, b = self._terms
        first = pt.or_(pt.gt(a, b), pt.isnan(a))
        return first, pt.exp(pt.switch(first, b, a) - _shift(self.largest))

    @cached_property
    def _exponentials(self) -> list[Variable]:
        largest = self.largest
        if len(self._terms) > 2:
            return [pt.exp(term - _shift(largest)) for term in self._terms]
        # of minus infinity 0, of infinity and NaN themselves
        at_ends = pt.switch(pt.eq(largest, number(-np.inf, largest)), number(0, largest), largest)
        own = pt.switch(_is_end(largest), at_ends, number(1, largest))
        first, other = self._smaller
        return [pt.switch(first, own, other), pt.switch(first, other, own)]

    @cached_property
    def _total(self) -> Variable:
        """Sum from the first to the last, in the dtype of accumulators."""
        dtype = self.largest.type.dtype
        parts = [pt.cast(v, accumulator(dtype)) for v in self._exponentials]
        return pt.cast(reduce(pt.add, parts), dtype)

    @cached_property
    def log_sum_exp(self) -> Variable:
        largest = self.largest
        is_pair = len(self._terms) == 2
        found = pt.add(self.log_total, largest if is_pair else _shift(largest))
        if self._products is None:
            return found
        return pt.switch(self._products.fit, pt.log(self._products.total), found)

    def softmax(self, at: int) -> Variable:
        """Return the element of the softmax for one of the terms."""
        found = pt.true_div(self._exponentials[at], self._total)
        if self._products is None:
            return found
        share = pt.true_div(self._products.each[at], self._products.total)
        return pt.switch(self._products.fit, share, found)

    @cached_property
    def log_total(self) -> Variable:
        """Logarithm of the sum of exponentials of the terms less the largest, where finite."""
        if len(self._terms) == 2:
            zero = number(0, self.largest)
            return log1p_unit(pt.switch(_is_end(self.largest), zero, self._smaller[1]))
        return pt.log(self._total)

    def log_softmax(self, at: int) -> Variable:
        """Return the element of the logarithm of the softmax for one of the terms."""
        return pt.sub(pt.sub(self._terms[at], self.largest), self.log_total)

    def scaled_softmax(self, at: int, factor: Variable) -> Variable:
        """Return the element of the softmax for one of the terms, times a factor."""
        found = pt.mul(_quotient(factor, self._total), self._exponentials[at])
        if self._products is None:
            return found
        # the weight first: a factor over the sum of small products might be infinite
        total = self._products.total
        weight = pt.mul(self._products.each[at], pt.true_div(number(1, total), total))
        weight = weight if is_constant(factor, 1) else pt.mul(weight, factor)
        return pt.switch(self._products.fit, weight, found)


class _Products(NamedTuple):
    """Products whose logarithms are the terms.

    Attributes
    ----------
    each : list of Variable
    total : Variable
    fit : Variable
        Whether the products are in range.
    """

    each: list[Variable]
    total: Variable
    fit: Variable


class _Factor(NamedTuple):
    """Operand of a gathered logarithm, and the table of logarithms."""

    value: Variable
    table: Variable


def _products(terms: Sequence[Variable]) -> _Products | None:
    """Return the products whose logarithms are the terms; None if no table tells their range."""
    each: list[Variable] = []
    tables: dict[Variable, float] = {}
    for term in terms:
        logarithms = _summands(term)
        factors = [factor for v in logarithms if (factor := _factor(v)) is not None]
        if len(factors) < len(logarithms):
            return None
        bound = EXPONENT_RANGE / len(factors)
        for factor in factors:
            tables[factor.table] = min(bound, tables.get(factor.table, bound))
        each.append(reduce(pt.mul, (factor.value for factor in factors)))
    fit = (pt.all(pt.le(pt.abs(table), bound)) for table, bound in tables.items())
    return _Products(each, reduce(pt.add, each), reduce(pt.and_, fit))


def _summands(variable: Variable) -> list[Variable]:
    """Return the terms of a sum, with nested sums opened."""
    if not isinstance(scalar_op(variable), Add):
        return [variable]
    return [term for operand in variable.owner.inputs for term in _summands(operand)]


def _factor(logarithm: Variable) -> _Factor | None:
    """Return the operand of a logarithm that is gathered or the same for all elements."""
    chain: list[Apply] = []
    node = logarithm.owner
    while node is not None and isinstance(node.op, (Subtensor, AdvancedSubtensor, DimShuffle)):
        chain.append(node)
        node = node.inputs[0].owner
    is_looked_up = any(isinstance(each.op, AdvancedSubtensor) for each in chain)
    has_no_axes = all(length == 1 for length in logarithm.type.shape)
    if node is None or not (is_looked_up or has_no_axes):
        return None
    (table,), value = node.outputs, node.inputs[0]
    if not isinstance(scalar_op(table), Log):
        return None
    if value.type.dtype != "float64":
        return None
    for each in reversed(chain):
        value = each.op(value, *each.inputs[1:])
    return _Factor(value, table)
