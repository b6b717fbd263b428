"""Find the states of a loop all of whose elements are used in each step.

The adjoint of an unused element is zero and must not be multiplied by an infinite partial
derivative. Guarding each product costs a fifth of the time of a Kalman filter, whose states are
used as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytensor.scalar.basic as ps
from pytensor.graph.basic import Variable
from pytensor.tensor.basic import Alloc, Join, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot, Sum
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import IncSubtensor

from dimtensor.ops.derivatives.flow import MOSTLY, SPARSE, Flow, is_continuous
from dimtensor.ops.facts import STEPS
from dimtensor.ops.special import Vanishing
from dimtensor.traversal import reached

# Operations whose result has all elements of the first operand, or of all operands.
_FIRST = (Alloc, DimShuffle, JoinDims, Reshape, SpecifyShape, SplitDims, Sum)
_ALL = (Dot, Join, MakeVector, ScalarFromTensor, TensorFromScalar)
# Operations some operand of which may have no influence.
_CHOOSING = (
    ps.Switch, ps.Maximum, ps.Minimum, ps.Clip, ps.Second, ps.ScalarInnerGraphOp, Vanishing, *STEPS,
)  # fmt: skip


def used_states(op: Any, finals: Sequence[bool], traces: Sequence[bool]) -> list[bool]:
    """Return whether the step uses all elements of each state, in every step.

    Parameters
    ----------
    op : Scan
    finals, traces : sequence of bool
        Of which final states and which traces all elements are used.
    """
    n = op.n_states
    readers = [_read_by(op.body.inputs[:n], output) for output in op.body.outputs]
    traced = [any(i in readers[n + k] for k, on in enumerate(traces) if on) for i in range(n)]
    # start with the states used by the last step, then propagate backwards
    used = [traced[i] or _is_read(i, readers, finals) for i in range(n)]
    while True:
        before = [on and (traced[i] or _is_read(i, readers, used)) for i, on in enumerate(used)]
        if before == used:
            return used
        used = before


def _is_read(state: int, readers: Sequence[set[int]], by: Sequence[bool]) -> bool:
    return any(on and state in readers[j] for j, on in enumerate(by))


def seed_flows(
    adjoints: dict[int, Variable],
    cotangents: dict[int, Variable],
    used: Sequence[bool],
    traces: Sequence[bool],
) -> list[Flow]:
    """Adjoints of next states and cotangents of traces, by number, with whether they have zeros.

    A flow whose elements are all used may still be zero, as a product of factors of other steps.
    """
    given = [(v, used[i]) for i, v in adjoints.items()]
    given += [(v, traces[k]) for k, v in cotangents.items()]
    return [Flow(v, None, MOSTLY if whole else SPARSE) for v, whole in given]


def _read_by(states: Sequence[Variable], output: Variable) -> set[int]:
    """Return the numbers of the states all of whose elements an output depends on."""
    if not is_continuous(output):
        return set()
    seen = set(reached([output], lambda variable: list(_wholly_read(variable))))
    return {i for i, state in enumerate(states) if state in seen}


def _wholly_read(variable: Variable) -> Iterator[Variable]:
    node = variable.owner
    if node is None:
        return
    op = node.op.core_op if isinstance(node.op, Blockwise) else node.op
    operands = list(node.inputs)
    if isinstance(op, Elemwise):
        operands = [] if isinstance(op.scalar_op, _CHOOSING) else operands
    elif isinstance(op, IncSubtensor):
        operands = operands[1:2] if op.set_instead_of_inc else operands[:2]
    elif isinstance(op, _FIRST):
        operands = operands[:1]
    elif not isinstance(op, _ALL):
        return
    yield from (x for x in operands if is_continuous(x))
