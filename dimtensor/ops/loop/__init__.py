"""Loops over positional variables: the ops, what builds them, their gradients and rewrites."""

from dimtensor.ops.loop.frontend import build_loop, build_scan, fori_loop, scan, while_loop
from dimtensor.ops.loop.op import Loop, Scan

__all__ = ["Loop", "Scan", "build_loop", "build_scan", "fori_loop", "scan", "while_loop"]
