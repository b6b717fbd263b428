"""Rewrites of positional graphs that only kernels need."""
