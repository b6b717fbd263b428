"""The loops of a kernel: typed expressions and statements.

The emitter writes them and passes rewrite them; they are printed as Python and as LLVM. Nodes do
not change once they are made, and are compared by value.
"""

from dimtensor.kernels.ir.expressions import (
    Array,
    Call,
    Const,
    Expression,
    Length,
    Load,
    Op,
    Part,
    Reshaped,
    Var,
    Wrapped,
)
from dimtensor.kernels.ir.node import NOTHING, Names, Node
from dimtensor.kernels.ir.statements import (
    Accumulate,
    Allocate,
    Assign,
    Bind,
    Body,
    Break,
    Carry,
    Continue,
    Fill,
    For,
    Foreign,
    Function,
    If,
    Raise,
    Statement,
    Store,
    While,
)

__all__ = [
    "NOTHING",
    "Accumulate",
    "Allocate",
    "Array",
    "Assign",
    "Bind",
    "Body",
    "Break",
    "Call",
    "Carry",
    "Const",
    "Continue",
    "Expression",
    "Fill",
    "For",
    "Foreign",
    "Function",
    "If",
    "Length",
    "Load",
    "Names",
    "Node",
    "Op",
    "Part",
    "Raise",
    "Reshaped",
    "Statement",
    "Store",
    "Var",
    "While",
    "Wrapped",
]
