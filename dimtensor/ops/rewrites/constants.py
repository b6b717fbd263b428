"""Constant folding."""

from __future__ import annotations

import numpy as np
from pytensor.graph.basic import Apply, Variable
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import ScalarInnerGraphOp, ScalarType
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.type import TensorType

from dimtensor.ops.interpret import prepare

# results of more elements are computed when the code runs, if their operands have fewer
_FEW = 64


def folded(node: Apply) -> list[Variable] | None:
    """Constants in the place of the outputs of a node of constants; None if they are too large.

    They are computed by PyTensor's implementation of the operation, as the interpreter does.
    """
    op = node.op
    if isinstance(op, (Alloc, CheckAndRaise, RandomVariable)) or hasattr(op, "fgraph"):
        return None
    given = sum(np.size(getattr(v, "data", 0)) for v in node.inputs)
    for variable in node.outputs:
        kind = variable.type
        if isinstance(kind, TensorType):
            if None in kind.shape or np.prod(kind.shape) > max(given, _FEW):
                return None
        elif not isinstance(kind, ScalarType):
            return None
    if isinstance(op, Elemwise) and isinstance(op.scalar_op, ScalarInnerGraphOp):
        return None
    storage: list[list] = [[None] for _ in node.outputs]
    prepare(node)
    try:
        with np.errstate(all="ignore"):
            op.perform(node, [v.data for v in node.inputs], storage)
    except (NotImplementedError, ValueError, IndexError, ArithmeticError, AssertionError):
        return None  # it fails when it runs, where it runs
    return [_constant(v, cell[0]) for v, cell in zip(node.outputs, storage, strict=True)]


def _constant(variable: Variable, value: object) -> Variable:
    kind = variable.type
    if isinstance(kind, TensorType):
        data = np.array(value, dtype=kind.dtype)
        return TensorType(kind.dtype, data.shape).make_constant(data)
    return kind.make_constant(kind.filter(value))
