"""Rule of rewriting, and its view of the e-graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dimtensor.dims import Dims
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.node import Node
from dimtensor.plugins.saturation.costs import Costs
from dimtensor.plugins.saturation.egraph import EGraph, ENode
from dimtensor.plugins.saturation.views import Product, Views


@dataclass(frozen=True)
class CostRule:
    """A rule.

    Attributes
    ----------
    name : str
        As it is shown to users.
    reason : str
        Why both sides are the same, in a sentence.
    kinds : frozenset of str
        Kinds of nodes that it is tried on.
    apply : callable
        ``apply(matching, enode)`` gives nodes that compute the same as the e-node.
    exact : bool
        Whether results are the same but for the order of sums and the last digits of products;
        else digits can be lost, and the rule is applied where it is asked for.
    """

    name: str
    reason: str
    kinds: frozenset[str]
    apply: Callable[[Matching, ENode], Iterator[Node]]
    exact: bool = True


RULES: list[CostRule] = []


def rule(name: str, reason: str, *kinds: str, exact: bool = True) -> Callable[[Any], Any]:
    """Register a function as a rule."""

    def register(apply: Any) -> Any:
        RULES.append(CostRule(name, reason, frozenset(kinds), apply, exact))
        return apply

    return register


class Matching:
    """View of the e-graph for rules: sums, products, costs and options."""

    def __init__(self, graph: EGraph, costs: Costs, reassociate: bool):
        self.graph = graph
        self.costs = costs
        self.reassociate = reassociate
        self.views = Views(graph, costs)

    def size(self, dims: Any) -> float:
        """Count the elements of a tensor with some dims."""
        return self.costs.size(dims)

    def summed(self, one: ENode) -> tuple[Dims, Product] | None:
        """Return the dims that a sum of floats is over, and the factors of its terms."""
        sample = one.sample
        graph = self.graph
        if not is_float(sample.dtype):
            return None
        if sample.kind == "dot":
            found = Product(1.0, ())
            for x in sample.inputs:
                if is_float(x.dtype) and x.dtype != sample.dtype:
                    return None
                found = found.times(self.views.product(graph.of(x)))
            return sample.attrs, found
        if sample.kind == "reduce" and sample.attrs.name == "sum":
            (x,) = sample.inputs
            if x.dtype == sample.dtype:
                return sample.attrs.dims, self.views.product(graph.of(x))
        return None
