"""What an element of an operation costs, in sums or products.

The numbers are those of kernels (:mod:`dimtensor.ops.facts`), by the names of the op table and
without asking PyTensor; a test compares the two.
"""

from __future__ import annotations

QUICK, DIVISION, CALL = 1, 3, 10

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
    """What an element of a row of the op table costs; a function of a library is a call."""
    return WEIGHTS.get(name, CALL)


# log2 of a length of a dim that is sorted along, which is no polynomial: a million elements
SORT_DEPTH = 20
# comparisons, and moves, per element and level
SORT = 2
# words that a generator makes for a draw, and the function of them
DRAW = 3 * CALL
# an element read at a place that is looked up
GATHER = 2
# a gradient costs at most so many times its function (Baur and Strassen 1983: 3 to 5)
REVERSE, FORWARD = 3, 2
