"""Distributions whose elements belong together along dims: vectors, matrices, outcomes."""
