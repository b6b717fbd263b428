"""Operations along axes whose derivatives PyTensor takes otherwise: maxima and running products."""

from __future__ import annotations

from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.extra_ops import CumOp
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


class RunningProduct(WithRules, CumOp):
    """PyTensor's ``CumOp`` of products, whose gradient divides by zero where an element is zero.

    Parameters
    ----------
    axis : int

    Examples
    --------
    >>> import numpy as np, pytensor, pytensor.tensor as pt
    >>> x = pt.vector("x")
    >>> gradient = pytensor.grad(RunningProduct(0)(x).sum(), x)
    >>> gradient.eval({x: np.array([3.0, 0.0, 2.0])}).tolist()
    [1.0, 9.0, 0.0]
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int, mode: str = "mul"):
        super().__init__(axis, "mul")

    def make_node(self, x: Any) -> Apply:
        return super().make_node(x)
