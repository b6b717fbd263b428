"""Hoisting: loop-invariant code moves out, and a loop that is elementwise becomes vectorized."""

from __future__ import annotations

from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc, MakeVector, alloc
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.type import TensorType

from dimtensor.ops.batching import over_batch
from dimtensor.ops.constants import follows
from dimtensor.ops.graphs import identities, inputs_of, replaced
from dimtensor.ops.loop.node import InputParts, ScanGraph
from dimtensor.ops.loop.shapes import steps_that_run
from dimtensor.traversal import reached

# they cost nothing where they are
_VIEWS = (DimShuffle, Alloc, MakeVector)
_ELEMENTWISE = (Elemwise, DimShuffle, CAReduce)


def hoist(parts: ScanGraph) -> bool:
    """Move loop-invariant code out of the body, unless the body has a conditional."""
    nodes = io_toposort(parts.inner, parts.outputs)
    if any(isinstance(node.op, IfElse) for node in nodes):
        return False
    moving = {part.variable for part in parts.states}
    moving |= {part.variable for part in parts.elements}
    fixed: set[Variable] = {part.variable for part in parts.captured}
    for node in nodes:
        if not any(v in moving for v in node.inputs) and _may_leave(node, parts.runs):
            if follows(node, fixed):
                fixed.update(node.outputs)
                continue
        moving.update(node.outputs)
    outer = {part.variable for part in parts.captured}
    needed = [v for node in nodes if node.outputs[0] in moving for v in node.inputs]
    needed += parts.outputs
    inside = fixed - outer

    def below(variable: Variable) -> list[Variable]:
        views = variable in inside and isinstance(variable.owner.op, _VIEWS)
        return inputs_of(variable)[::-1] if views else []

    # views move together with the arrays that they show
    leaving = [
        v
        for v in reached(needed[::-1], below)
        if v in inside and not isinstance(v.owner.op, _VIEWS) and _depends_on(v, outer)
    ]
    if not leaving:
        return False
    keys = identities(leaving)
    first = dict(zip(reversed(keys), reversed(leaving), strict=True))
    computed = list(first.values())
    outside = replaced(computed, {part.variable: part.outside for part in parts.captured})
    stand_ins = {v: v.type() for v in computed}
    parts.substitute({v: stand_ins[first[key]] for v, key in zip(leaving, keys, strict=True)})
    parts.captured += [InputParts(x, stand_ins[v]) for v, x in zip(computed, outside, strict=True)]
    used = set(ancestors(parts.outputs))
    parts.captured = [part for part in parts.captured if part.variable in used]
    return True


def _may_leave(node: Apply, runs: bool) -> bool:
    if isinstance(node.op, (CheckAndRaise, RandomVariable)):
        return False
    if not all(isinstance(v.type, TensorType) for v in node.outputs):
        return False
    if runs:
        return True
    # scalars cost nothing, also where the loop is empty; other operations can fail
    scalars = all(v.type.ndim == 0 for v in node.outputs)
    return isinstance(node.op, _VIEWS) or (scalars and isinstance(node.op, Elemwise))


def _depends_on(variable: Variable, outer: set[Variable]) -> bool:
    return any(v in outer for v in ancestors([variable]))


def vectorize(parts: ScanGraph) -> dict[Variable, Variable] | None:
    """Replace a loop without states, and with an elementwise body, by operations on arrays.

    Returns
    -------
    dict of variable to variable, or None
        What takes the place of the outputs of the node.
    """
    if parts.states or not parts.runs_all or not parts.traces:
        return None
    if not all(isinstance(n.op, _ELEMENTWISE) for n in io_toposort(parts.inner, parts.outputs)):
        return None
    outputs = replaced(parts.outputs, {part.variable: part.outside for part in parts.captured})
    # a variable that both varies and is captured varies
    batched = over_batch(outputs, {part.variable: part.outside for part in parts.elements})
    replace = dict(parts.replaced)
    for trace, before, after in zip(parts.traces, outputs, batched, strict=True):
        if after.type.ndim == before.type.ndim:  # it depends on no sequence
            after = alloc(before, steps_that_run(parts.n_steps), *before.shape)
        replace.update((out, after) for out in trace.outputs)
    return replace
