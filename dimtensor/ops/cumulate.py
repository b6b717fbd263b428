"""RunningProduct: the product of all elements up to each, with a gradient at zeros."""

from __future__ import annotations

from typing import Any

from pytensor.graph.basic import Apply
from pytensor.tensor.extra_ops import CumOp

from dimtensor.ops.differentiable import WithRules


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
