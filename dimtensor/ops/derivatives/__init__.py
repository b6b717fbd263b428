"""Derivatives of positional graphs: reverse and forward mode, with one rule per operation."""

from dimtensor.ops.derivatives import (
    exponentials,
    matrices,
    nested,
    products,
    selecting,
    structural,
)
from dimtensor.ops.derivatives.driver import pull, push
from dimtensor.ops.derivatives.flow import Undefined
from dimtensor.ops.derivatives.scalars import partials, special

# they declared their rules
del exponentials, matrices, nested, partials, products, selecting, special, structural

__all__ = ["Undefined", "pull", "push"]
