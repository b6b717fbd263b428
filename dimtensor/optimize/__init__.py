"""Optimizer of positional graphs, for all backends: the stages between lowering and code."""
