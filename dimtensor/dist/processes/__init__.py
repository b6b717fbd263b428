"""Distributions of what follows along a dim."""
