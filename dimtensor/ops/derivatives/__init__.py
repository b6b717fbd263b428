"""Derivatives of positional graphs: reverse and forward mode, with one rule per operation."""

from dimtensor.ops.derivatives import (
    matrices,
    nested,
    partials,
    products,
    selecting,
    special,
    structural,
)
from dimtensor.ops.derivatives.driver import pull, push
from dimtensor.ops.derivatives.flow import Undefined

del (
    matrices,
    nested,
    partials,
    products,
    selecting,
    special,
    structural,
)  # they declared their rules

__all__ = ["Undefined", "pull", "push"]
