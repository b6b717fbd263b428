"""Sums and products as multisets: how rules see chains of operations of two operands.

Nothing is added to the e-graph for the order in which terms or factors are written: a rule asks for
all factors of a class at once, and what it makes is written in one order, the small ones first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, Dims
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.infer import constant_attrs
from dimtensor.graph.node import Node, make
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.plugins.saturation.costs import Costs
from dimtensor.plugins.saturation.egraph import EGraph, ENode

LARGEST_POWER = 4
MOST_FACTORS = 16
MOST_TERMS = 16
_PRODUCTS = frozenset({"multiply", "divide", "square", "negative", "reciprocal", "power"})
_SUMS = frozenset({"add", "subtract", "negative"})


class Product(NamedTuple):
    """A number times powers of classes."""

    number: float
    powers: tuple[tuple[int, int], ...]

    @property
    def factors(self) -> list[int]:
        return [at for at, _ in self.powers]

    def times(self, other: Product) -> Product:
        """Multiply two products; a factor and its reciprocal are kept, as 0 / 0 is not 1."""
        powers = dict(self.powers)
        loose: list[tuple[int, int]] = []
        for at, power in other.powers:
            if at in powers and (powers[at] > 0) != (power > 0):
                loose.append((at, power))
            else:
                powers[at] = powers.get(at, 0) + power
        return Product(self.number * other.number, (*sorted(powers.items()), *loose))


class Views:
    """Classes as sums and as products, and nodes made of those.

    Parameters
    ----------
    graph : EGraph
    costs : Costs
    """

    def __init__(self, graph: EGraph, costs: Costs):
        self.graph = graph
        self.costs = costs
        self._products: dict[int, Product] = {}
        self._terms: dict[int, list[Product]] = {}

    def forget(self) -> None:
        """Clear the cached products and terms, which unions of classes make stale."""
        self._products.clear()
        self._terms.clear()

    # -- reading ---------------------------------------------------------------------------------

    def members(self, at: int) -> list[ENode]:
        """Return the members of a class, seen through names."""
        nodes = self.graph.nodes(at)
        while nodes[0].sample.kind == "named":
            nodes = self.graph.nodes(nodes[0].children[0])
        return nodes

    def member(self, at: int, names: frozenset[str]) -> ENode | None:
        """Return the first member that is one of some elementwise operations on one dtype."""
        dtype = self.graph.node(at).dtype
        if not is_float(dtype):
            return None
        for each in self.members(at):
            sample = each.sample
            if sample.kind == "elemwise" and sample.attrs in names:
                if all(_joins(x, dtype) for x in sample.inputs):
                    return each
        return None

    def product(self, at: int) -> Product:
        """Return the factors of a class, itself if it is no product."""
        found = self._products.get(at)
        if found is None:
            found = self._products[at] = self._product(at)
        return found

    def _product(self, at: int) -> Product:
        number = 1.0
        powers: dict[int, int] = {}
        loose: list[tuple[int, int]] = []
        stack = [(self.graph.find(at), 1)]
        opened = 0
        while stack:
            one, power = stack.pop()
            value = self.number(one)
            if value is not None and (power > 0 or value != 0.0):
                number *= value**power
                continue
            each = self.member(one, _PRODUCTS) if opened < MOST_FACTORS else None
            parts = None if each is None else self._factors(each, power)
            if parts is None or any(abs(p) > LARGEST_POWER for _, p in parts):
                if one in powers and (powers[one] > 0) != (power > 0):
                    loose.append((one, power))
                else:
                    powers[one] = powers.get(one, 0) + power
                continue
            opened += 1
            if each is not None and each.sample.attrs == "negative":
                number *= (-1.0) ** power
            stack += reversed(parts)
        return Product(number, (*sorted(powers.items()), *loose))

    def _factors(self, each: ENode, power: int) -> list[tuple[int, int]] | None:
        inputs = [self.graph.find(self.graph.of(x)) for x in each.sample.inputs]
        name = each.sample.attrs
        if name == "multiply":
            return [(x, power) for x in inputs]
        if name == "divide":
            return [(inputs[0], power), (inputs[1], -power)]
        if name == "reciprocal":
            return [(inputs[0], -power)]
        if name == "square":
            return [(inputs[0], 2 * power)]
        if name == "power":
            exponent = self.number(inputs[1])
            if exponent is None or exponent != int(exponent) or not 1 <= exponent <= 3:
                return None
            return [(inputs[0], int(exponent) * power)]
        return [(inputs[0], power)]

    def number(self, at: int) -> float | None:
        """Return the constant value of a class, None without one."""
        node = self.graph.node(at)
        while node.kind == "cast" and node.inputs[0].kind == "constant":
            node = node.inputs[0]
        if node.kind != "constant":
            return None
        value = node.attrs.value
        return float(value) if value.dtype.kind in "fiu" else None

    def terms(self, at: int) -> list[Product]:
        """Return the terms of a class, itself if it is no sum."""
        known = self._terms.get(at)
        if known is None:
            known = self._terms[at] = self._sum(at)
        return known

    def _sum(self, at: int) -> list[Product]:
        found: list[Product] = []
        stack = [(1.0, self.graph.find(at))]
        while stack:
            number, one = stack.pop()
            each = self.member(one, _SUMS)
            if each is not None and len(found) + len(stack) < MOST_TERMS:
                inputs = [self.graph.of(x) for x in each.sample.inputs]
                signs = {"add": [1.0, 1.0], "subtract": [1.0, -1.0], "negative": [-1.0]}
                pairs = zip(signs[each.sample.attrs], inputs, strict=True)
                stack += [(number * sign, x) for sign, x in reversed(list(pairs))]
                continue
            product = self.product(one)
            if len(product.powers) == 1 and product.powers[0][1] == 1:
                (inner, _) = product.powers[0]
                if inner != one and self.member(inner, _SUMS) is not None:
                    stack.append((number * product.number, inner))
                    continue
            found.append(product._replace(number=product.number * number))
        return found

    def dims(self, product: Product) -> set[Dim]:
        """Return the dims of all factors."""
        return {dim for at in product.factors for dim in self.graph.node(at).dims}

    def has(self, at: int, dims: Iterable[Dim]) -> bool:
        """Return whether a class has one of some dims."""
        own = self.graph.node(at).dims
        return any(dim in own for dim in dims)

    # -- making ----------------------------------------------------------------------------------

    def made(self, product: Product, dtype: str) -> Node:
        """Make a node for a product, small factors first."""
        above = self._powers([(at, p) for at, p in product.powers if p > 0], dtype)
        below = self._powers([(at, -p) for at, p in product.powers if p < 0], dtype)
        number = product.number
        if not above:
            numerator = constant(number, dtype)
            return (
                elemwise("divide", numerator, self.chain("multiply", below))
                if below
                else (numerator)
            )
        above = self.ordered(above)
        if number == -1.0:
            above[0] = elemwise("negative", above[0])
        elif number != 1.0:
            above[0] = elemwise("multiply", above[0], constant(number, dtype))
        if not below:
            return self.chain("multiply", above)
        divisor = self.chain("multiply", below)
        size = self.costs.size(divisor.dims)
        first = [x for x in above if self.costs.size(x.dims) <= size]
        rest = [x for x in above if self.costs.size(x.dims) > size]
        top = self.chain("multiply", first) if first else constant(1.0, dtype)
        return self.chain("multiply", [elemwise("divide", top, divisor), *rest])

    def _powers(self, powers: Sequence[tuple[int, int]], dtype: str) -> list[Node]:
        return [self.power(as_dtype(self.graph.node(at), dtype), p) for at, p in powers]

    def power(self, x: Node, power: int) -> Node:
        """Make a small positive power."""
        if power == 1:
            return x
        half = elemwise("square", self.power(x, power // 2))
        return half if power % 2 == 0 else elemwise("multiply", half, x)

    def ordered(self, nodes: Iterable[Node]) -> list[Node]:
        """Nodes by their size, those of the same dims beside each other, in the order given.

        Not in the order in which they were made, which depends on what else is alive: the same
        has to be found again.
        """
        return sorted(nodes, key=lambda x: (self.costs.size(x.dims), [d._sort_key for d in x.dims]))

    def chain(self, name: str, nodes: Iterable[Node]) -> Node:
        """Nodes combined by an operation of two operands, small ones first."""
        first, *rest = self.ordered(nodes)
        for x in rest:
            first = elemwise(name, first, x)
        return first

    def total(self, terms: Sequence[tuple[float, Node]], dtype: str) -> Node:
        """Sum multiples, small terms first."""
        found: Node | None = None
        apart = dict.fromkeys(x for _, x in terms)
        rank = {x: at for at, x in enumerate(self.ordered(apart))}
        for number, x in sorted(terms, key=lambda term: (rank[term[1]], -term[0])):
            if found is None:
                found = _multiple(number, x, dtype)
            elif number < 0:
                found = elemwise("subtract", found, _multiple(-number, x, dtype))
            else:
                found = elemwise("add", found, _multiple(number, x, dtype))
        return constant(0.0, dtype) if found is None else found


def _joins(x: Node, dtype: str) -> bool:
    """Return whether an operand has a dtype, or holds integers that convert to it."""
    return x.dtype == dtype or (not is_float(x.dtype) and not x.dtype.startswith("complex"))


def _multiple(number: float, node: Node, dtype: str) -> Node:
    if number == 1.0:
        return node
    if number == -1.0:
        return elemwise("negative", node)
    return elemwise("multiply", constant(number, dtype), node)


def constant(number: float, dtype: str) -> Node:
    """Make the node of a number."""
    return make("constant", (), constant_attrs(number, dtype))


def elemwise(name: str, *inputs: Node) -> Node:
    """Make an elementwise node."""
    return make("elemwise", inputs, name)


def as_dtype(x: Node, dtype: str) -> Node:
    """Cast a node to a dtype."""
    if x.dtype == dtype:
        return x
    return make("cast", (x,), dtype)


def over(x: Node, dims: Dims) -> Node:
    """Broadcast a node to all of some dims."""
    return expand_node(x, dims)
