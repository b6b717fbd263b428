"""Largest: a maximum whose derivative is shared by all elements that attain it."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Variable
from pytensor.tensor.math import Max


class Largest(Max):
    """Maximum over axes.

    PyTensor's own passes the whole derivative to every element that ties for the maximum, so that
    the derivative of ``max(x, x)`` is 2. Here each gets an equal share, as in JAX: a subgradient,
    and the derivative where tied elements are copies of one.
    """

    def _shares(self, x: Variable, out: Variable) -> tuple[Variable, tuple[int, ...]]:
        axes = tuple(range(x.type.ndim)) if self.axis is None else tuple(self.axis)
        tied = pt.cast(pt.eq(x, pt.expand_dims(out, axes)), x.type.dtype)
        # a NaN equals nothing, so that no element attains a maximum of NaN
        count = pt.maximum(pt.sum(tied, axis=axes, keepdims=True), 1)
        return tied / count, axes

    def pullback(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Variable]:
        shares, axes = self._shares(inputs[0], outputs[0])
        return [shares * pt.expand_dims(output_grads[0], axes)]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Variable]:
        if isinstance(tangents[0].type, DisconnectedType):
            return [disconnected_type()]
        shares, axes = self._shares(inputs[0], outputs[0])
        return [pt.sum(shares * tangents[0], axis=axes)]


def largest(x: Variable, axis: list[int]) -> Variable:
    """Maximum over axes."""
    return Largest(axis=axis)(x)


def smallest(x: Variable, axis: list[int]) -> Variable:
    """Minimum over axes."""
    return -Largest(axis=axis)(-x)
