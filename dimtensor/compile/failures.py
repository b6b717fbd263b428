"""Locating failed checks: their conditions are evaluated once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.caches import Recent
from dimtensor.compile.binding_values import located
from dimtensor.compile.code import Code
from dimtensor.compile.program import Program
from dimtensor.dims import Binding, Dim, Dims, sort_dims
from dimtensor.errors import CheckError, build_message, plain_repr
from dimtensor.graph import Node, leaves
from dimtensor.graph.checking.checks import Check, is_check, without_checks
from dimtensor.graph.walk import held_bytes
from dimtensor.ops.positions import NOTHING_TO_READ
from dimtensor.values.outputs import positions_to_labels

_SHOWN = 4


def failure(
    program: Program,
    inputs: Sequence[Node | Dim],
    fine: Sequence[Any],
    arrays: Sequence[Any],
    binding: Binding,
) -> CheckError:
    """The error of the first check that failed.

    Compiled code only says whether all elements of a condition are true. Which are not is found by
    interpreting the condition on the values of the call.

    Parameters
    ----------
    program : Program
    inputs : sequence of Node or Dim
        The inputs of the function.
    fine : sequence of bool
        Results of the checks.
    arrays : sequence of ndarray
        Values of the program's slots, at least of all that are inputs and data.
    binding : Binding
        Lengths and labels of the call.
    """
    check = next(c for c, holds in zip(program.checks, fine, strict=True) if not holds)
    condition = check.condition
    if condition is None or not condition.dims:
        return CheckError(check.message)
    values = _by_source(program, arrays)
    return CheckError(_message(check, condition, tuple(inputs), values, binding))


def unread(
    error: IndexError,
    program: Program,
    inputs: Sequence[Node | Dim],
    arrays: Sequence[Any],
    binding: Binding,
) -> Exception:
    """The check that failed where loops stopped since there was nothing to read.

    Any other error of an index is given back as it is. The other parameters are those of
    :func:`failure`.
    """
    if str(error) != NOTHING_TO_READ:
        return error
    values = _by_source(program, arrays)
    for check in program.checks:
        if is_check(check.node):
            fails = not _holds(check, tuple(inputs), values, binding)
        else:
            fails = check.about is not None and not (
                check.about.length or binding.length(check.about)
            )
        if fails:
            others = [each is not check for each in program.checks]
            return failure(program, inputs, others, arrays, binding)
    return CheckError(NOTHING_TO_READ)


def _by_source(program: Program, arrays: Sequence[Any]) -> dict[Any, tuple[Dims, Any]]:
    pairs = zip(program.slots, arrays, strict=False)
    return {slot.source: (slot.dims, array) for slot, array in pairs}


def _holds(
    check: Check,
    inputs: tuple[Node | Dim, ...],
    values: Mapping[Any, tuple[Dims, Any]],
    binding: Binding,
) -> bool:
    """Whether the condition of a user's check is true, as far as the values of a call tell."""
    condition = check.condition
    if condition is None or not values.keys() >= set(leaves([condition])):
        return True
    _, found, _ = _evaluated(condition, inputs, values, binding)
    return bool(np.all(found))


def _message(
    check: Check,
    condition: Node,
    inputs: tuple[Node | Dim, ...],
    values: Mapping[Any, tuple[Dims, Any]],
    binding: Binding,
) -> str:
    axes, found, binding = _evaluated(condition, inputs, values, binding)
    false = np.argwhere(~np.asarray(_in_order(axes, found, sort_dims(axes))))
    if not len(false):  # rounded otherwise here than in compiled code
        return check.message
    places = "; ".join(_place(sort_dims(axes), place, binding) for place in false[:_SHOWN])
    more = "; …" if len(false) > _SHOWN else ""
    return build_message(
        check.message,
        [("false", f"{len(false)} of {np.size(found)} elements"), ("at", places + more)],
    )


def _evaluated(
    condition: Node,
    inputs: tuple[Node | Dim, ...],
    values: Mapping[Any, tuple[Dims, Any]],
    binding: Binding,
) -> tuple[Dims, Any, Binding]:
    """A condition as the interpreter computes it: its axes, its values, and what masks keep."""
    code = _interpret(inputs, condition)
    program, executable = code.compiled({})
    arrays = [
        _in_order(*values[slot.source], slot.dims)
        for slot in program.slots
        if isinstance(slot.source, (Node, Dim))
    ]
    found, *masks = executable.call(*arrays, *located(program, binding))
    binding = binding.copy()
    binding.masks.update(zip(program.masks, masks, strict=False))
    return program.output_dims[0], found, binding


# a sampler may come upon a failure often
_interpreted: Recent[tuple, Code] = Recent(count=16, nbytes=1 << 25)


def _interpret(inputs: tuple[Node | Dim, ...], condition: Node) -> Code:
    """The condition as a function of the inputs."""
    code = _interpreted.get((inputs, condition))
    if code is None:
        code = Code(inputs, without_checks([condition]), "python")
        code = _interpreted.put((inputs, condition), code, held_bytes([condition]))
    return code


def _in_order(axes: Dims, array: Any, dims: Dims) -> Any:
    """An array with its axes in another order."""
    if axes == dims:
        return array
    return np.asarray(array).transpose([axes.index(dim) for dim in dims])


def _place(dims: Dims, place: Sequence[int], binding: Binding) -> str:
    parts = []
    for dim, position in zip(dims, place, strict=True):
        label = positions_to_labels(np.asarray([position]), dim, binding)[0]
        parts.append(f"{dim.short}={plain_repr(label)}")
    return ", ".join(parts)
