"""Cost model of the dims graph: operations and bytes as polynomials in the lengths of dims."""

from dimtensor.cost.nodes import Cost, computation, graph_cost, node_cost
from dimtensor.cost.polynomial import Count, Lengths, Polynomial, missing_lengths

__all__ = [
    "Cost",
    "Count",
    "Lengths",
    "Polynomial",
    "computation",
    "graph_cost",
    "missing_lengths",
    "node_cost",
]
