"""Reductions along dims: sums, moments, extremes, order statistics, weighted reductions."""
