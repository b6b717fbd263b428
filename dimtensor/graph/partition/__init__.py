"""Partition of expressions along a dim, and their restriction to slices."""
