"""Loops over positional variables: the ops, their builders and their derivatives."""

from dimtensor.ops.loop import batching as _batching  # teaches PyTensor to batch the ops
from dimtensor.ops.loop.derivatives import ahead, checkpoint, gradient, pushforward
from dimtensor.ops.loop.frontend import build_loop, build_scan, fori_loop, scan, while_loop
from dimtensor.ops.loop.op import Loop, Scan

del _batching, ahead, checkpoint, gradient, pushforward

__all__ = ["Loop", "Scan", "build_loop", "build_scan", "fori_loop", "scan", "while_loop"]
