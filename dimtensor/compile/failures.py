"""Locating failed checks: conditions are re-evaluated by the interpreter."""

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
from dimtensor.tuning import KEPT_FAILURE_BYTES, KEPT_FAILURES, SHOWN_FAILURES
from dimtensor.values.definite import NoFactor, factors_in, why_no_factor
from dimtensor.values.outputs import positions_to_labels


def failure(
    program: Program,
    inputs: Sequence[Node | Dim],
    fine: Sequence[Any],
    arrays: Sequence[Any],
    binding: Binding,
) -> CheckError:
    """Make the error of the first check that failed.

    Compiled code reports only whether all elements of a condition are true. The elements that are
    false are found by interpreting the condition on the values of the call.

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
    if condition is None:
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
    """Make the error of a check whose failure made a loop stop, as it had no element to read.

    Any other IndexError is returned unchanged. The other parameters are those of :func:`failure`.
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
    """Evaluate the condition of a user's check; True if it depends on values that are not there."""
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
    why = _failed_factor(condition, inputs, values, binding)
    details, hint = ([], None) if why is None else why
    if not condition.dims:
        return build_message(check.message, details, hint)
    axes, found, binding = _evaluated(condition, inputs, values, binding)
    false = np.argwhere(~np.asarray(_in_order(axes, found, sort_dims(axes))))
    if not len(false):  # compiled code rounds differently
        return check.message
    places = "; ".join(_place(sort_dims(axes), place, binding) for place in false[:SHOWN_FAILURES])
    more = "; …" if len(false) > SHOWN_FAILURES else ""
    return build_message(
        check.message,
        [("false", f"{len(false)} of {np.size(found)} elements"), ("at", places + more), *details],
        hint,
    )


def _failed_factor(
    condition: Node,
    inputs: tuple[Node | Dim, ...],
    values: Mapping[Any, tuple[Dims, Any]],
    binding: Binding,
) -> NoFactor | None:
    """Explain the first Cholesky factor of a condition whose matrix has none."""
    for factor in factors_in([condition]):
        axes, matrices, _ = _evaluated(factor.inputs[0], inputs, values, binding)
        if (why := why_no_factor(factor, axes, matrices)) is not None:
            return why
    return None


def _evaluated(
    condition: Node,
    inputs: tuple[Node | Dim, ...],
    values: Mapping[Any, tuple[Dims, Any]],
    binding: Binding,
) -> tuple[Dims, Any, Binding]:
    """Interpret a condition.

    Returns
    -------
    dims : tuple of Dim
        Its axes.
    values : ndarray
    binding : Binding
        With the values of masks.
    """
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


# samplers may hit failures often
_interpreted: Recent[tuple, Code] = Recent(count=KEPT_FAILURES, nbytes=KEPT_FAILURE_BYTES)


def _interpret(inputs: tuple[Node | Dim, ...], condition: Node) -> Code:
    """Compile the condition to a function of the inputs for the interpreter."""
    code = _interpreted.get((inputs, condition))
    if code is None:
        code = Code(inputs, without_checks([condition]), "python")
        code = _interpreted.put((inputs, condition), code, held_bytes([condition]))
    return code


def _in_order(axes: Dims, array: Any, dims: Dims) -> Any:
    """Transpose an array to another order of dims."""
    if axes == dims:
        return array
    return np.asarray(array).transpose([axes.index(dim) for dim in dims])


def _place(dims: Dims, place: Sequence[int], binding: Binding) -> str:
    parts = []
    for dim, position in zip(dims, place, strict=True):
        label = positions_to_labels(np.asarray([position]), dim, binding)[0]
        parts.append(f"{dim._short}={plain_repr(label)}")
    return ", ".join(parts)
