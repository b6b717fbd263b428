"""Largest: a maximum whose derivative is shared by all elements that attain it."""

from __future__ import annotations

from pytensor.graph.basic import Variable
from pytensor.tensor.math import Max

from dimtensor.ops.differentiable import WithRules


class Largest(WithRules, Max):
    """Maximum over axes.

    PyTensor's own passes the whole derivative to every element that ties for the maximum, so that
    the derivative of ``max(x, x)`` is 2. Here each gets an equal share, as in JAX: a subgradient,
    and the derivative where tied elements are copies of one.
    """


def largest(x: Variable, axis: list[int]) -> Variable:
    """Maximum over axes."""
    return Largest(axis=axis)(x)


def smallest(x: Variable, axis: list[int]) -> Variable:
    """Minimum over axes."""
    return -Largest(axis=axis)(-x)
