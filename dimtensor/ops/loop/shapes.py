"""Shape inference of loops: lengths of traces before the loop runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.basic import constant
from pytensor.tensor.basic import stack as as_vector
from pytensor.tensor.math import maximum
from pytensor.tensor.rewriting.shape import ShapeFeature
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.ops.graphs import replaced


def steps_that_run(n_steps: Variable) -> Variable:
    """Return a number of steps as a length, 0 for negative numbers."""
    if isinstance(n_steps, Constant):
        return n_steps if n_steps.data >= 0 else constant(0, dtype=n_steps.type.dtype)
    is_length = n_steps.owner is not None and isinstance(n_steps.owner.op, Shape_i)
    return n_steps if is_length else maximum(n_steps, 0)


def lengths_of(variables: Sequence[Variable]) -> list[tuple[Variable, ...]]:
    """Lengths of the axes of each variable, computed without it where that can be."""
    feature = ShapeFeature()
    found = [tuple(feature.shape_tuple(v)) for v in variables]
    flat = [length for shape in found for length in shape]
    lengths = iter(_without_what_they_are_of(feature, flat))
    return [tuple(next(lengths) for _ in shape) for shape in found]


def _without_what_they_are_of(feature: ShapeFeature, lengths: list[Variable]) -> list[Variable]:
    """Express lengths of an array's element by those of the array, which may be empty."""
    shapes = {
        v: as_vector(feature.shape_tuple(v.owner.inputs[0]))
        for v in ancestors(lengths)
        if v.owner is not None
        and isinstance(v.owner.op, Shape)
        and isinstance(getattr(v.owner.inputs[0].owner, "op", None), Subtensor)
    }
    return replaced(lengths, shapes)


def is_of_one_length(variable: Variable, varying: Collection[Variable]) -> bool:
    """Return whether a step's variable has the same lengths in every step, as a trace needs.

    Parameters
    ----------
    variable : Variable
    varying : collection of Variable
        States and elements, which have one shape themselves. What a mask leaves, say, has not.
    """
    if not isinstance(variable.type, TensorType):
        return False
    if None not in variable.type.shape:
        return True
    stack: list[Variable] = list(lengths_of([variable])[0])
    known: set[Variable] = {*varying}  # whose lengths are on the stack, or were
    while stack:
        length = stack.pop()
        if length in varying:
            return False
        node = length.owner
        if node is None:
            continue
        if not isinstance(node.op, (Shape, Shape_i)):
            stack.extend(node.inputs)
            continue
        source = node.inputs[0]
        if source in known:
            continue
        known.add(source)
        for own in lengths_of([source])[0]:
            if own.owner is not None and source in own.owner.inputs:
                stack.extend(ancestors([source]))  # nothing says the length but itself
            else:
                stack.append(own)
    return True


def scan_shapes(op: Any, node: Apply, shapes: Sequence[Any]) -> list[Any]:
    """Shapes of the outputs of a `Scan` node.

    States keep their shapes. The shape of a trace's element is moved out of the body if it follows
    from shapes, and from values that are captured.
    """
    given = op.split_inputs(node.inputs)
    by_role = op.split_inputs(shapes)
    outputs = op.split_outputs(node.outputs)
    graph = op.body.unfreeze()
    states, elements, captured = op.split_body_inputs(graph.inputs)
    known = dict(zip(captured, given.captured, strict=True))
    for variable, shape in zip(
        [*states, *elements],
        [*by_role.states, *(shape[1:] for shape in by_role.sequences)],
        strict=True,
    ):
        if shape is not None:
            known.update({Shape_i(axis)(variable): n for axis, n in enumerate(shape)})

    def outside(variable: Variable, trace: Variable, axis: int) -> Variable:
        (length,) = _replaced_by_structure([variable], known)
        if any(v in length_leaves for v in graph_inputs([length]) if not isinstance(v, Constant)):
            return Shape_i(axis)(trace)
        return length

    length_leaves = {*states, *elements, *captured}
    traced = lengths_of(graph.outputs[op.n_states : op.n_states + op.n_traces])
    n_steps = steps_that_run(given.n_steps)
    return [
        *by_role.states,
        *(
            (n_steps, *(outside(n, trace, axis + 1) for axis, n in enumerate(lengths)))
            for trace, lengths in zip(outputs.traces, traced, strict=True)
        ),
        *([()] if op.stops else []),
    ]


def _replaced_by_structure(
    variables: Sequence[Variable], replace: dict[Variable, Variable]
) -> list[Variable]:
    """Replace expressions in variables, and all expressions equal to them."""
    by_key = {_key(old): new for old, new in replace.items()}
    found = {}
    for variable in ancestors(variables):
        new = by_key.get(_key(variable))
        if new is not None:
            found[variable] = new
    return replaced(variables, found)


def _key(variable: Variable) -> Any:
    node = variable.owner
    if node is not None and isinstance(node.op, Shape_i):
        return node.op.i, node.inputs[0]
    return variable
