"""Interpolation between labels, extrapolation, and gaps."""
