"""Derivatives of loops: reverse mode, forward mode, checkpoints and recomputation."""
