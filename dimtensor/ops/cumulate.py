"""RunningProduct: the product of all elements up to each, with a gradient at zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.extra_ops import CumOp


class RunningProduct(CumOp):
    """PyTensor's ``CumOp`` of products, whose gradient divides by zero where an element is zero.

    Parameters
    ----------
    axis : int

    Notes
    -----
    Up to the first zero the gradient is the usual sum of outputs divided by the element. At the
    first zero it is that of the product in which the zero counts as one. Behind it all outputs and
    their gradients vanish. Second derivatives, which are derivatives of these formulas, are right
    where no more than one element along the axis is zero.

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

    def pullback(
        self, inputs: list[Variable], outputs: list[Variable], cotangents: list[Variable]
    ) -> list[Variable]:
        (x,), (product,), (cotangent,) = inputs, outputs, cotangents
        one = np.asarray(1, dtype=x.type.dtype)
        zero = pt.eq(x, 0)
        first = zero & pt.eq(pt.cumsum(pt.cast(zero, "int64"), axis=self.axis), 1)
        usual = self._from_the_end(cotangent * product) / pt.switch(zero, one, x)
        without = type(self)(self.axis)(pt.switch(first, one, x))
        return [pt.switch(first, self._from_the_end(cotangent * without), usual)]

    def _from_the_end(self, x: Variable) -> Variable:
        """Sum of each element and those after it."""
        backwards = tuple([slice(None)] * self.axis + [slice(None, None, -1)])
        return pt.cumsum(x[backwards], axis=self.axis)[backwards]
