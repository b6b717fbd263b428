"""Derivatives of loops: reverse and forward mode, checkpoints, what is recomputed."""
