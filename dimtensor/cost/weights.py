"""Costs per element of operations, in additions or multiplications.

They are those of kernels (:mod:`dimtensor.ops.facts`), by the names of the op table and without
importing PyTensor; a test compares the two.
"""

from __future__ import annotations

from dimtensor.tuning import CALL, DIVISION, QUICK

_QUICK = """
add subtract multiply negative abs square maximum minimum equal not_equal less less_equal greater
greater_equal isnan isinf isfinite isposinf isneginf logical_and logical_or logical_xor logical_not
bitwise_and bitwise_or bitwise_xor invert where deg2rad rad2deg
"""
_DIVISION = "divide reciprocal sqrt"

WEIGHTS: dict[str, int] = {
    **dict.fromkeys(_QUICK.split(), QUICK),
    **dict.fromkeys(_DIVISION.split(), DIVISION),
    "stop_gradient": 0,
}


def weight(name: str) -> int:
    """Return the cost per element of an operation; by default that of a library function."""
    return WEIGHTS.get(name, CALL)
