"""Reductions along dims: sums and their kin, order statistics, weighted ones."""
