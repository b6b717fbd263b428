"""Sums: factors and terms that do not depend on what is summed over are taken out of the sum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Add, Mul, Neg, Sqr, Sub, Switch, TrueDiv
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Sum
from pytensor.tensor.subtensor import AdvancedIncSubtensor

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.constants import is_zero, number_of
from dimtensor.ops.graphs import merge_equal, nodes_of, replace_nodes
from dimtensor.ops.loop.op import Scan
from dimtensor.ops.loop.shapes import steps_that_run
from dimtensor.ops.nodes import elementwise
from dimtensor.optimize.plan.axis_lengths import Extents, earlier_update, kept_axes, selection_of
from dimtensor.tuning import FACTORED_OPERANDS, FACTORED_POWER, JOINED_SUMS, SPLIT_REDUCTIONS

_PRODUCTS = (Mul, TrueDiv, Sqr, Neg)


def factor_sums(graph: FunctionGraph) -> None:
    """Take out of sums and scatters what need not be computed for every element.

    ``sum(c + w * d**2)`` becomes ``n * c + w * sum(d**2)``, where `c` and `w` do not depend on
    what is summed over. Sums that differ in such factors only become one.

    Notes
    -----
    A difference such as ``sum(y - m)`` stays as it is, because ``sum(y) - n * m`` would lose the
    digits that cancel. A factor that is not finite makes the sum of one element or more not finite,
    as it does where it stays inside, but perhaps infinite where it was NaN; products of very large
    or very small numbers are taken in another order. Of what is zero but where a mask is true the
    factors are taken out, too; where the mask is false everywhere, the sum is 0 whatever they are.
    """
    known: _Known = {}

    def factored(node: Apply) -> Variable | None:
        is_sum = isinstance(node.op, Sum)
        new = _sum_factored(node, known) if is_sum else _scatter_factored(graph, node)
        return _of_type(node, new)

    if replace_nodes(graph, nodes_of(graph, Sum, AdvancedIncSubtensor), factored, "factor_sums"):
        merge_equal(graph)
    sums = nodes_of(graph, Sum)
    replace_nodes(graph, sums, lambda node: _summed_at_once(graph, node), "sum_at_once")
    many = [node for node in graph.toposort() if _adds_many(node)]
    if many:
        extents = Extents(graph)
        replace_nodes(
            graph, many, lambda node: _added_before(graph, node, extents), "add_before_summing"
        )


def _of_type(node: Apply, new: Variable | None) -> Variable | None:
    """Return what a node becomes if it has the type of its output, None otherwise."""
    return new if new is not None and node.outputs[0].type.is_super(new.type) else None


def _added_before(graph: FunctionGraph, node: Apply, extents: Extents) -> Variable | None:
    """Turn a sum of many sums over the same elements into one sum of sums of elements.

    The gradient by what many operations read is such a sum, perhaps of multiples. Each of its sums
    has an accumulator, and variables for what its blocks lose: many of them are most of a loop. A
    few are left as they are, since each can be added up in the loop that computes its elements.
    """
    alike: dict[Any, list[tuple[int, Variable]]] = {}
    for at, variable in enumerate(node.inputs):
        number, total = _multiple(graph, variable)
        summed = _only_sum(graph, total)
        if summed is not None:
            shuffle = None if total.owner is summed else total.owner.op
            key = (summed.op, shuffle, *extents.of(summed.inputs[0]))
            alike.setdefault(key, []).append((at, _times(number, summed.inputs[0])))
    inputs = dict(enumerate(node.inputs))
    for (op, shuffle, *_), members in alike.items():
        if len(members) >= JOINED_SUMS:
            total = op(pt.add(*(elements for _, elements in members)))
            for at, _ in members:
                del inputs[at]
            inputs[members[0][0]] = total if shuffle is None else shuffle(total)
    if len(inputs) == len(node.inputs):
        return None
    terms = [inputs[at] for at in sorted(inputs)]
    return _of_type(node, terms[0] if len(terms) == 1 else node.op(*terms))


def _adds_many(node: Apply) -> bool:
    is_sum = isinstance(node.op, Elemwise) and type(node.op.scalar_op) is Add
    return is_sum and len(node.inputs) >= JOINED_SUMS and node.outputs[0].type.dtype == "float64"


def _multiple(graph: FunctionGraph, variable: Variable) -> tuple[float, Variable]:
    """Split off a constant factor; 1 without one, or if the product has other readers.

    Other factors stay outside of their sums, on which they may depend.
    """
    kind = _scalar_op(variable)
    if kind in (Neg, Mul) and len(graph.clients[variable]) == 1:
        *factors, last = variable.owner.inputs
        if kind is Neg:
            return -1.0, last
        if len(factors) == 1:
            for number, other in ((number_of(factors[0]), last), (number_of(last), factors[0])):
                if number is not None and math.isfinite(number):
                    return number, other
    return 1.0, variable


def _times(number: float, variable: Variable) -> Variable:
    if number == 1.0:
        return variable
    if number == -1.0:
        return pt.neg(variable)
    constant = np.full((1,) * variable.type.ndim, number, dtype=variable.type.dtype)
    return elementwise(pt.mul, pt.constant(constant), variable)


def _only_sum(graph: FunctionGraph, variable: Variable) -> Apply | None:
    """Return the sum behind added axes of length 1, if it has no other reader."""
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle) and len(graph.clients[variable]) == 1:
        variable = node.inputs[0]
        node = variable.owner
    if node is None or not isinstance(node.op, Sum) or len(graph.clients[variable]) != 1:
        return None
    return node if node.inputs[0].type.dtype == variable.type.dtype == "float64" else None


def _summed_at_once(graph: FunctionGraph, node: Apply) -> Variable | None:
    """Turn a sum of a sum, which only sums read, into a sum of what that is the sum of.

    They share its loop nest then, in which they add up each other's partial sums.
    """
    part = node.inputs[0].owner
    if part is None or not isinstance(part.op, Sum):
        return None
    readers = [client for client, _ in graph.clients[part.outputs[0]]]
    if len(readers) > SPLIT_REDUCTIONS or not all(isinstance(r.op, Sum) for r in readers):
        return None
    x, kept = part.inputs[0], kept_axes(part)
    axes = set(range(x.type.ndim)) - {kept[axis] for axis in kept_axes(node)}
    return _of_type(node, Sum(axis=tuple(sorted(axes)), dtype=node.op.dtype)(x))


@dataclass
class _Product:
    """Number times powers of factors, inside (`core`) or outside of a sum."""

    number: float = 1.0
    core: dict[Variable, int] = field(default_factory=dict)
    outer: dict[Variable, int] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Absence of outer factors."""
        return self.number == 1.0 and not self.outer


class _Over:
    """A sum over some axes, all others being kept."""

    def __init__(self, axes: Iterable[int]):
        self.axes = frozenset(axes)
        self._opens: dict[Variable, bool] = {}
        self._opened = 0

    def is_outer(self, variable: Variable) -> bool:
        return all(variable.type.shape[axis] == 1 for axis in self.axes)

    def is_partly_outer(self, variable: Variable) -> bool:
        return any(variable.type.shape[axis] == 1 for axis in self.axes)

    def opens(self, variable: Variable) -> bool:
        """Return whether a product has outer factors."""
        known = self._opens.get(variable)
        if known is None:
            known = self._opens[variable] = self._has_outer(variable)
        return known

    def _has_outer(self, variable: Variable) -> bool:
        stack, seen = [variable], {variable}
        while stack and len(seen) <= 2 * FACTORED_OPERANDS:
            v = stack.pop()
            if self.is_outer(v):
                return True
            kind = _scalar_op(v)
            if kind is Neg:
                return True
            if kind in _PRODUCTS:
                more = [x for x in v.owner.inputs if x not in seen]
                seen.update(more)
                stack += more
        return False

    def product(self, variable: Variable) -> _Product:
        found = _Product()
        self._opened = 0
        self._multiply(variable, 1, found)
        if self._opened > FACTORED_OPERANDS:
            return _Product(core={variable: 1})
        return found

    def _multiply(self, variable: Variable, power: int, found: _Product) -> None:
        number = number_of(variable)
        if number is not None and (power > 0 or number != 0.0):
            found.number *= float(np.float64(number) ** power)
        elif self.is_outer(variable):
            found.outer[variable] = found.outer.get(variable, 0) + power
        elif not self.opens(variable):
            found.core[variable] = found.core.get(variable, 0) + power
        elif self._opened <= FACTORED_OPERANDS:
            self._opened += 1
            kind, inputs = _scalar_op(variable), variable.owner.inputs
            if kind is Neg:
                found.number *= (-1.0) ** power
            signs = {Sqr: [2], TrueDiv: [1, -1]}.get(kind, [1] * len(inputs))
            for factor, sign in zip(inputs, signs, strict=True):
                self._multiply(factor, power * sign, found)

    def terms(self, variable: Variable, sign: float = 1.0) -> Iterator[_Product]:
        """Yield the terms of a summand."""
        kind = _scalar_op(variable)
        if kind is Neg:
            yield from self.terms(variable.owner.inputs[0], -sign)
        elif kind in (Add, Sub) and not self.is_outer(variable):
            first, *rest = variable.owner.inputs
            yield from self.terms(first, sign)
            for v in rest:
                yield from self.terms(v, sign if kind is Add else -sign)
        else:
            product = self.product(variable)
            product.number *= sign
            yield product


# sums by summand and axes: sums of a value and its gradients share terms
_Known = dict[tuple[Variable, Any], Variable | None]


def _sum_factored(node: Apply, known: _Known) -> Variable | None:
    """Factor a sum; None without outer factors."""
    key = node.inputs[0], node.op
    if key not in known:
        known[key] = _factored(node, known)
    return known[key]


def _factored(node: Apply, known: _Known) -> Variable | None:
    x, out = node.inputs[0], node.outputs[0]
    dtype = out.type.dtype
    if not is_float(dtype) or x.type.dtype != dtype:
        return None
    axes = range(x.type.ndim) if node.op.axis is None else node.op.axis
    over = _Over(axis % x.type.ndim for axis in axes)
    mask, summed = _masked(x)
    terms = list(over.terms(summed))
    outer = [t for t in terms if not t.core]
    inner = [t for t in terms if t.core]
    if not inner or not all(math.isfinite(t.number) for t in terms):
        return None
    if len(terms) > 1 and (any(map(_is_linear, inner)) or mask is not None):
        return None
    if not outer and all(t.is_plain for t in inner):
        return None
    groups: dict[frozenset[Any], list[_Product]] = {}
    for term in inner:
        groups.setdefault(frozenset(term.outer.items()), []).append(term)
    if len(groups) == 1 and not outer and len(inner) > 1 and not inner[0].outer:
        return None
    parts = []
    for members in groups.values():
        number = members[0].number if len(members) == 1 else 1.0
        cores = [_core(t, 1.0 if len(members) == 1 else t.number) for t in members]
        if any(core is None for core in cores):
            return None
        core: Any = cores[0] if len(cores) == 1 else elementwise(pt.add, *cores)
        if mask is not None:
            core = pt.switch(mask, core, np.zeros((), dtype=dtype))
        if core.type.dtype != dtype:
            return None
        total = type(node.op)(axis=node.op.axis, dtype=node.op.dtype)(core)
        # the inner sum may be masked, with factors inside of the mask
        deeper = _sum_factored(total.owner, known)
        total = total if deeper is None else deeper
        lengths = _lengths(x, [axis for axis in over.axes if core.type.shape[axis] == 1])
        parts.append(_scaled(total, number, members[0].outer, over, lengths, dtype))
    lengths = _lengths(x, over.axes)
    for term in outer:
        parts.append(_scaled(None, term.number, term.outer, over, lengths, dtype))
    result = parts[0] if len(parts) == 1 else elementwise(pt.add, *parts)
    if any(term.outer for term in terms):
        if mask is None or over.is_partly_outer(mask):
            result = _unless_empty(result, lengths)
        if mask is not None:
            some = pt.any(mask, axis=tuple(sorted(over.axes)))
            result = pt.switch(some, result, np.zeros((), dtype=dtype))
    return result if result.type.dtype == dtype else None


def _masked(x: Variable) -> tuple[Variable | None, Variable]:
    """Split `where(mask, v, 0)` into mask and values."""
    node = x.owner
    if node is not None and isinstance(node.op, Elemwise) and type(node.op.scalar_op) is Switch:
        mask, value, other = node.inputs
        same = value.type.dtype == x.type.dtype == other.type.dtype
        if same and mask.type.dtype == "bool":
            if number_of(other) == 0.0:
                return mask, value
            if number_of(value) == 0.0:
                return pt.invert(mask), other
    return None, x


def _unless_empty(total: Variable, lengths: list[Variable | int]) -> Variable:
    """Guard a factored sum: over no elements it is 0, whatever the factors."""
    late = [n for n in lengths if not isinstance(n, int)]
    if 0 in lengths:
        return pt.zeros_like(total)
    if not late:
        return total
    empty = pt.eq(late[0] if len(late) == 1 else pt.mul(*late), 0)
    return pt.switch(empty, pt.constant(np.zeros((), dtype=total.type.dtype)), total)


def _scatter_factored(graph: FunctionGraph, node: Apply) -> Variable | None:
    """Return an update of zeros by a multiple of something as a multiple of an update.

    Updates of one array in a row, as in the gradient of pairs that are looked up, are one update
    if they have the same factors.
    """
    readers = [client for client, _ in graph.clients[node.outputs[0]]]
    if any(isinstance(each, Apply) and earlier_update(graph, each) is node for each in readers):
        return None
    updates = [node]
    while (before := earlier_update(graph, updates[0])) is not None:
        updates.insert(0, before)
    total, dtype = updates[0].inputs[0], node.outputs[0].type.dtype
    ndim = node.inputs[1].type.ndim
    if not is_float(dtype) or ndim == 0 or not is_zero(total):
        return None
    shapes = [total.type.shape, *(selection_of(each).type.shape for each in updates)]
    if all(None not in shape for shape in shapes):
        if math.prod(shapes[0]) > sum(map(math.prod, shapes[1:])):
            return None
    over = _Over(range(ndim))
    products = []
    for each in updates:
        value = each.inputs[1]
        if each.op.set_instead_of_inc or value.type.ndim != ndim or value.type.dtype != dtype:
            return None
        if over.is_outer(value):
            return None
        products.append(over.product(value))
    number, outer = products[0].number, products[0].outer
    if all(each.is_plain for each in products) or any(each.outer != outer for each in products):
        return None
    first = _core(products[0], 1.0)
    for each, product in zip(updates, products, strict=True):
        ratio = 1.0
        if product.number != number:
            ratio = product.number / number if number else math.nan
        if not math.isfinite(ratio):
            return None
        same = first is not None and product.core == products[0].core
        core = _times(ratio, first) if same else _core(product, ratio)
        if core is None or core.type != each.inputs[1].type:
            return None
        total = each.op(total, core, *each.inputs[2:])
    return _scaled(total, number, outer, over, [], dtype)


def _scaled(
    total: Any, number: float, outer: Any, over: _Over, lengths: Sequence[Any], dtype: str
) -> Variable:
    """Multiply a sum, or a number of elements, by its outer factors."""
    number *= math.prod(n for n in lengths if isinstance(n, int))
    factors = [] if total is None else [total]
    factors += [length.astype(dtype) for length in lengths if not isinstance(length, int)]
    factors += [_without(v, over.axes) for v, power in outer.items() for _ in range(max(power, 0))]
    if number != 1.0 or not factors:
        ndim = max((factor.type.ndim for factor in factors), default=0)
        factors.insert(0, pt.constant(np.full((1,) * ndim, number, dtype=dtype)))
    result = factors[0] if len(factors) == 1 else elementwise(pt.mul, *factors)
    for v, power in outer.items():
        # one division after the other: the square of a divisor may be zero where it is not
        for _ in range(-power):
            result = elementwise(pt.true_div, result, _without(v, over.axes))
    return result


def _core(product: _Product, number: float) -> Variable | None:
    """Return the inner factors times a number, None without any."""
    if any(abs(power) > FACTORED_POWER for power in product.core.values()):
        return None
    above = [_power(v, power) for v, power in product.core.items() if power > 0]
    below = [_power(v, -power) for v, power in product.core.items() if power < 0]
    if number != 1.0 or not above:
        dtype = next(iter(product.core)).type.dtype
        ndim = next(iter(product.core)).type.ndim
        constant = pt.constant(np.full((1,) * ndim, number, dtype=dtype))
        above.insert(1 if below and above else 0, constant)
    # other sums divide the same: a gradient has products of it with different factors
    first, rest = ([above[0]], above[1:]) if below else (above, [])
    result = first[0] if len(first) == 1 else elementwise(pt.mul, *first)
    for divisor in below:
        result = elementwise(pt.true_div, result, divisor)
    for factor in rest:
        result = elementwise(pt.mul, result, factor)
    return result


def _power(variable: Variable, power: int) -> Variable:
    if power == 1:
        return variable
    half = elementwise(pt.sqr, _power(variable, power // 2))
    return half if power % 2 == 0 else elementwise(pt.mul, half, variable)


def _is_linear(product: _Product) -> bool:
    """Return whether a term is a multiple of a variable that is read, not computed."""
    if list(product.core.values()) != [1]:
        return False
    (variable,) = product.core
    return not isinstance(getattr(variable.owner, "op", None), Elemwise)


def _without(variable: Variable, axes: frozenset[int]) -> Variable:
    """Drop axes of length 1."""
    order = [axis for axis in range(variable.type.ndim) if axis not in axes]
    node = variable.owner
    if node is not None and isinstance(node.op, DimShuffle):
        source = node.inputs[0]
        order = [node.op.new_order[axis] for axis in order]
        variable = source
    if order == list(range(variable.type.ndim)):
        return variable
    return variable.dimshuffle(order)


def _lengths(x: Variable, axes: Iterable[int]) -> list[Variable | int]:
    """Lengths of axes, of variables that need not be computed for it where there are such."""
    return [_length(x, axis) for axis in sorted(axes)]


def _length(x: Variable, axis: int) -> Variable | int:
    static = x.type.shape[axis]
    if static is not None:
        return static
    node = x.owner
    if node is not None and isinstance(node.op, Elemwise):
        for source in node.inputs:
            if source.type.shape[axis] != 1:
                return _length(source, axis)
    if node is not None and isinstance(node.op, DimShuffle):
        return _length(node.inputs[0], node.op.new_order[axis])
    if node is not None and isinstance(node.op, Scan) and axis == 0:
        given = node.op.split_inputs(node.inputs)
        if x in node.op.split_outputs(node.outputs).traces:  # it may be read for nothing else
            return (
                _length(given.sequences[0], 0) if given.sequences else steps_that_run(given.n_steps)
            )
    return x.shape[axis]


def _scalar_op(variable: Variable) -> type | None:
    """Return the class of the scalar operation of a variable, of operands of its dtype."""
    node = variable.owner
    if node is None or not isinstance(node.op, Elemwise):
        return None
    same = all(v.type.dtype == variable.type.dtype for v in node.inputs)
    return type(node.op.scalar_op) if same else None
