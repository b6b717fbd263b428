"""Lowering of the dims graph to positional PyTensor: the only place where dims become axes."""

from dimtensor.lower import (
    autodiff,
    basic,
    check,
    contract,
    draws,
    indexing,
    lifted,
    loops,
    shape,
    variables,
)
from dimtensor.lower.context import RULES, Lowering, transpose
from dimtensor.lower.layout.order import AxisOrder, plan_axes

__all__ = ["RULES", "AxisOrder", "Lowering", "plan_axes", "transpose"]

del autodiff, basic, check, contract, lifted, draws, indexing, loops, shape, variables
