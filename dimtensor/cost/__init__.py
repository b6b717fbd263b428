"""Costs as polynomials in the lengths of dims, and the weights of operations."""

from dimtensor.cost.polynomial import Count, Lengths, Polynomial, missing_lengths

__all__ = [
    "Count",
    "Lengths",
    "Polynomial",
    "missing_lengths",
]
