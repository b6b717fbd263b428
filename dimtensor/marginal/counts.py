"""Counts: terms of a log density that are affine in a count become one product per state.

The log density of a count ``k`` often is a table of data, such as ``-gammaln(k + 1)``, plus terms
that are affine in ``k``: ``k * log(rate)``, or ``(k - y) * log1p(-p)`` for each observation. Each
summand of the marginal density then is the one before it times ``exp(slope)`` and a ratio of data.
The slopes of all affine terms are summed before they are multiplied by the count: a state costs one
product, however many observations there are, and the table is computed once per data set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.marginal.alignment import aligned, read_at, reads_all
from dimtensor.marginal.unknowns import Factor, FactorSlot, LookupIndex, StateDims, sum_unread_dims
from dimtensor.tensor.elementwise import log, log1p, logical_and, logical_or, maximum, where
from dimtensor.tensor.handle import constant, wrap

# Sums with more terms than this are not opened up.
MOST_TERMS = 1000


def by_count(
    factor: Factor, states: StateDims, protected: Callable[[Factor], Factor]
) -> Factor | None:
    """Sum the terms of a factor that are affine in a count before they are multiplied by it.

    Parameters
    ----------
    factor : Factor
    states : StateDims
    protected : callable
        Keeps gradients at the state 0 finite, for terms that are neither affine nor data.

    Returns
    -------
    Factor or None
        None if no term is affine in a count.
    """
    counts = [(dim, slot) for dim, slot in factor.slots if slot.unknown.is_count]
    if not is_float(factor.node.dtype) or len(counts) != 1:
        return None
    ((dim, slot),) = counts
    if is_renamed(toposort([factor.node]), dim):
        return None
    unknown = slot.unknown
    scatters = len(factor.slots) == 1 and _is_lookup(slot)

    def total(node: Node, safe: bool = True) -> Factor:
        part = replace(factor, node=node)
        part = sum_unread_dims(part if safe else protected(part))
        return aligned(part, slot, states) if scatters else part

    whole = total(factor.node)
    own = whole.slots[0][0] if scatters else dim
    target = _SumTarget(
        own,
        unknown.value(own).node,
        lambda node, safe=True: total(node, safe).node,
        lambda node: read_at(node, slot) if scatters else node,
    )
    node = _CountReader(unknown.value(dim).node, dim, unknown.limits).separated(factor.node, target)
    return None if node is None else replace(whole, node=node)


def _is_lookup(slot: FactorSlot) -> bool:
    """Return whether the elements of an unknown are looked up, or read as they are."""
    pairs = list(zip(slot.unknown.dims, slot.indices, strict=True))
    looked_up = [isinstance(where, LookupIndex) for _, where in pairs]
    others = [pair for pair, is_looked_up in zip(pairs, looked_up, strict=True) if not is_looked_up]
    return any(looked_up) and all(reads_all(*pair) for pair in others)


def is_renamed(order: Iterable[Node], dim: Dim) -> bool:
    """Return whether one of the nodes renames a dim."""
    return any(dim in pair for x in order for pair in KINDS[x.kind].renames(x))


class _SumTarget(NamedTuple):
    """Dims onto which the terms of a factor are summed: its own, or those of the unknown.

    Attributes
    ----------
    dim : Dim
        The dim of states among them.
    values : Node
        The count along it.
    total : callable
        Sums a term onto them; the second argument is False for terms to be protected.
    read : callable
        Gathers a node with these dims at the elements of the factor.
    """

    dim: Dim
    values: Node
    total: Callable[..., Node]
    read: Callable[[Node], Node]


@dataclass
class _Terms:
    """Summands of a log density, by how they depend on the count.

    Attributes
    ----------
    dtype : str
        That of the log density.
    affine : list of Node
        Terms that are affine in the count wherever the density is not 0.
    slopes : list of Node
        Slopes of the affine terms.
    tables : list of Node
        Other terms, of data alone.
    others : list of Node
        Other terms.
    excluded : list of Node
        Conditions under which the density is 0.
    """

    dtype: str
    affine: list[Node] = field(default_factory=list)
    slopes: list[Node] = field(default_factory=list)
    tables: list[Node] = field(default_factory=list)
    others: list[Node] = field(default_factory=list)
    excluded: list[Node] = field(default_factory=list)


class _CountReader:
    """Reader of log densities that are partly affine in a count.

    Parameters
    ----------
    count : Node
        Values of the count along a dim of states, in increasing order.
    dim : Dim
    limits : tuple of int
        Smallest and largest count.

    Notes
    -----
    Affine terms are expanded at the first count k0 that is possible, ``at(k0) + (k - k0) * slope``:
    either part is minus infinity only where the terms are. With ``p = 1``, for instance, the slope
    of ``(k - y) * log1p(-p)`` is, and the sum over counts is its term of ``k = y``.
    """

    def __init__(self, count: Node, dim: Dim, limits: tuple[int, int]):
        self._count, self._dim = count, dim
        self._limits = limits

    def separated(self, node: Node, target: _SumTarget) -> Node | None:
        """Return the sum of a log density; None if no term is affine in the count."""
        terms = self._terms(node)
        pairs = [(x, self._split(x)) for x in terms.others]
        if not terms.slopes and all(new is None for _, new in pairs):
            return None
        others = [old for old, new in pairs if new is None]
        parts = [target.total(_sum(others), False)] if others else []
        parts += [target.total(new) for _, new in pairs if new is not None]
        return wrap(_sum([*parts, *self._expanded(terms, target)])).astype(node.dtype).node

    # -- reading ----------------------------------------------------------------------------------

    def _terms(self, node: Node, excluded: Sequence[Node] = ()) -> _Terms:
        """Sort the summands of a log density that is 0 under the excluded conditions."""
        found = _Terms(node.dtype, excluded=list(excluded))
        pairs = list(self._summands(node))
        masks = [(mask, kept) for term, kept in pairs if (mask := _mask(term)) is not None]
        for term, kept in pairs:
            mask = _mask(term)
            if mask is not None and self._dim in mask.dims:
                found.excluded.append(mask if kept is None else _both(kept, mask))
            here = (mask for mask, where_kept in masks if where_kept in (None, kept))
            possible = dict.fromkeys((*here, *excluded), constant(False, "bool"))
            (inside,) = rebuild([term], possible, _known_arm, nested=False)
            slope = None if mask is not None else self._slope(inside)
            if slope is None:
                term = _where(kept, term)
                (found.others if _has_inputs(term) else found.tables).append(term)
                continue
            found.affine.append(_where(kept, inside))
            if not _is_number(slope, 0):
                found.slopes.append(_where(kept, slope))
        return found

    def _summands(self, node: Node) -> Iterator[tuple[Node, Node | None]]:
        """Yield the terms of a sum, each with the condition under which it counts."""
        stack: list[tuple[Node, Node | None]] = [(node, None)]
        for _ in range(MOST_TERMS):
            if not stack:
                return
            node, kept = stack.pop()
            name = node.attrs if node.kind == "elemwise" and self._dim in node.dims else None
            if name in ("add", "subtract"):
                first, last = node.inputs
                last = last if name == "add" else (-wrap(last)).node
                stack += [(last, kept), (first, kept)]
            elif name == "where" and self._counts_where(node):
                condition, term, _ = node.inputs
                stack.append((term, condition if kept is None else _both(kept, condition)))
            else:
                yield node, kept
        yield from reversed(stack)

    def _counts_where(self, node: Node) -> bool:
        """Return whether a node is ``where(condition, term, 0)``, for all counts alike."""
        condition, _, rest = node.inputs
        return self._dim not in condition.dims and _is_number(rest, 0)

    def _slope(self, node: Node) -> Node | None:
        """Return the slope of an affine function of the count; None if it is not affine."""
        known: dict[Node, Node] = {}
        for x in toposort([node]):
            if self._dim not in x.dims:
                known[x] = constant(0)
            elif x is self._count:
                known[x] = constant(1)
            elif all(operand in known for operand in x.inputs):
                slope = _slope(x, [known[operand] for operand in x.inputs])
                if slope is not None:
                    known[x] = slope
        return known.get(node)

    def _split(self, node: Node) -> Node | None:
        """Expand ``where(count == number, a, b)``, such as of a zero-inflated distribution.

        Return None for other expressions, or if `b` has no affine terms.
        """
        if node.kind != "elemwise" or node.attrs != "where":
            return None
        test, arm, elsewhere = node.inputs
        number = self._number(test)
        if number is None:
            return None
        terms = self._terms(elsewhere, [test])
        if not terms.slopes:
            return None
        count = wrap(self._count)
        above = where(count == number, number + 1, count).node
        others = [self._with_count(x, above) for x in terms.others]
        at = self._with_count(arm, constant(number, self._count.dtype))
        here = _SumTarget(self._dim, self._count, lambda x: x, lambda x: x)
        rest = _sum([*others, *self._expanded(terms, here)])
        return where(wrap(test), wrap(at), wrap(rest)).node

    def _number(self, test: Node) -> int | None:
        """Return the number that a condition compares the count with; None for others."""
        if test.kind != "elemwise" or test.attrs != "equal":
            return None
        numbers = [x.attrs.value for x in test.inputs if x.kind == "constant"]
        counts = [x for x in test.inputs if (x.inputs[0] if x.kind == "cast" else x) is self._count]
        return int(numbers[0]) if numbers and counts and numbers[0] == int(numbers[0]) else None

    # -- expansion --------------------------------------------------------------------------------

    def _expanded(self, terms: _Terms, target: _SumTarget) -> list[Node]:
        """Return the sum of the tables, and the affine terms expanded at the first count."""
        parts = [target.total(_sum(terms.tables))] if terms.tables else []
        first = self._first_possible(terms.excluded, target)
        if terms.affine:
            at_first = [self._with_count(x, target.read(first)) for x in terms.affine]
            parts.append(target.total(_sum(at_first)))
        if terms.slopes:
            slope = target.total(wrap(_sum(terms.slopes)).astype(terms.dtype).node)
            parts.append(_product(target.values, first, slope))
        return parts

    def _first_possible(self, excluded: Sequence[Node], target: _SumTarget) -> Node:
        """Return the first count that no condition excludes."""
        smallest, largest = self._limits
        if not excluded:
            return constant(smallest, self._count.dtype)
        numbers = [target.total(wrap(x).astype("int64").node) for x in excluded]
        is_excluded = reduce(logical_or, (wrap(x) > 0 for x in numbers))
        return where(is_excluded, largest, wrap(target.values)).min(target.dim).node

    def _with_count(self, node: Node, count: Node) -> Node:
        """Replace the count in a term, whose products with 0 become 0."""

        def product(old: Node, inputs: tuple[Node, ...]) -> Node | None:
            counted = [self._dim in x.dims for x in old.inputs]
            if old.kind != "elemwise" or old.attrs != "multiply" or sum(counted) != 1:
                return None
            factor, other = inputs if counted[0] else inputs[::-1]
            if factor.kind == "constant":
                return constant(0, old.dtype) if not factor.attrs.value else None
            return where(wrap(factor) == 0, 0, wrap(factor) * wrap(other)).node

        return rebuild([node], {self._count: count}, product, nested=False)[0]


def _slope(node: Node, slopes: Sequence[Node]) -> Node | None:
    """Return the slope of an operation, given those of its operands; None if it is not affine."""
    if node.kind == "cast":
        return make("cast", (slopes[0],), node.dtype) if is_float(node.dtype) else None
    if node.kind != "elemwise":
        return None
    name, operands = node.attrs, [wrap(x) for x in node.inputs]
    constants = [_is_number(x, 0) for x in slopes]
    first, last = wrap(slopes[0]), wrap(slopes[-1])
    if name == "negative":
        return (-first).node
    if name in ("add", "subtract") and constants[0]:
        return (last if name == "add" else -last).node
    if name in ("add", "subtract"):
        both = first + last if name == "add" else first - last
        return (first if constants[1] else both).node
    if name == "multiply" and constants[0]:
        return (operands[0] * last).node
    if name not in _OF_FIRST or not constants[1]:
        return None
    return _OF_FIRST[name](first, operands[1]).node


# Operations that are linear in their first operand.
_OF_FIRST: Mapping[str, Callable[[Any, Any], Any]] = {
    "multiply": lambda slope, x: slope * x,
    "divide": lambda slope, x: slope / x,
    "xlogy": lambda slope, x: slope * log(x),
    "xlog1py": lambda slope, x: slope * log1p(x),
}


def _product(count: Node, first: Node, slope: Node) -> Node:
    """Return the steps from the first count times a slope, which may be minus infinity."""
    steps = wrap(count).astype(slope.dtype) - wrap(first).astype(slope.dtype)
    return (steps * maximum(wrap(slope), _least(slope))).node  # 0 steps of it are 0


def _least(node: Node) -> float:
    """Return the lower bound of slopes: a count times it does not overflow."""
    return -1e300 if node.dtype == "float64" else -1e30


def joined(terms: Sequence[Node], dim: Dim) -> list[Node]:
    """Join the tables of a sum, and its products with a count.

    Parameters
    ----------
    terms : sequence of Node
    dim : Dim
        Of the states.

    Returns
    -------
    list of Node
        Terms with the same sum: tables of data first, and one product with the count.
    """
    pairs = [(x, _factors(x, dim)) for x in terms]
    products = [factors for _, factors in pairs if factors is not None]
    if not products:
        return list(terms)
    rest = sorted((x for x, factors in pairs if factors is None), key=_has_inputs)
    if len(products) == 1:
        return [*rest, *(x for x, factors in pairs if factors is not None)]
    first = reduce(maximum, (wrap(x.first) for x in products)).node
    for x in products:
        steps = (wrap(first) - wrap(x.first)).astype(x.slope.dtype)
        rest.append(where(steps == 0, 0, steps * wrap(x.slope)).node)
    return [*rest, _product(products[0].values, first, _sum([x.slope for x in products]))]


def with_impossible(total: Node, terms: Sequence[Node], dim: Dim) -> Node:
    """Return a log-space sum of states: minus infinity where no count is possible."""
    if not any(_factors(term, dim) for term in terms):
        return total
    return where(wrap(total) < 0.5 * _least(total), -math.inf, wrap(total)).node


class _CountProduct(NamedTuple):
    values: Node
    first: Node
    slope: Node


def _factors(node: Node, dim: Dim) -> _CountProduct | None:
    """Return the factors of what `_product` returns; None for other terms."""
    if node.kind != "elemwise" or node.attrs != "multiply":
        return None
    for steps, bounded in (node.inputs, node.inputs[::-1]):
        if not (steps.kind == bounded.kind == "elemwise") or dim in bounded.dims:
            continue
        if bounded.attrs == "maximum" and steps.attrs == "subtract":
            count, first = (x.inputs[0] if x.kind == "cast" else x for x in steps.inputs)
            (slope,) = (x for x in bounded.inputs if x.kind != "constant")
            if dim not in first.dims:
                return _CountProduct(count, first, slope)
    return None


def _has_inputs(node: Node) -> bool:
    return any(x.kind == "input" for x in toposort([node]))


def _mask(term: Node) -> Node | None:
    """Return the condition of ``where(condition, -inf, 0)``; None for other terms."""
    if term.kind != "elemwise" or term.attrs != "where":
        return None
    condition, excluded, rest = term.inputs
    is_mask = _is_number(excluded, -math.inf) and _is_number(rest, 0)
    return condition if is_mask else None


def _known_arm(node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """Replace a choice by a constant condition by its arm."""
    if node.kind != "elemwise" or node.attrs != "where" or inputs[0].kind != "constant":
        return None
    arm = inputs[1] if inputs[0].attrs.value else inputs[2]
    return arm if arm.dtype == node.dtype else make("cast", (arm,), node.dtype)


def _is_number(node: Node, number: float) -> bool:
    return node.kind == "constant" and node.attrs.value == number


def _both(condition: Node, other: Node) -> Node:
    return logical_and(wrap(condition), wrap(other)).node


def _where(condition: Node | None, term: Node) -> Node:
    return term if condition is None else where(wrap(condition), wrap(term), 0).node


def _sum(terms: Sequence[Node]) -> Node:
    return reduce(lambda total, term: total + term, map(wrap, terms)).node
