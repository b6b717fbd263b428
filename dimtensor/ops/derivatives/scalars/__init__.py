"""Derivatives of functions of scalars, applied to each element."""
