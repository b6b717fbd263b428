"""Free variables of loop bodies, and the types of their states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import ScalarType, upcast
from pytensor.tensor.basic import MakeVector
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

from dimtensor.errors import DtypeError, GraphError
from dimtensor.ops.constants import is_small_constant
from dimtensor.ops.graphs import inputs_of
from dimtensor.traversal import reached


def captured_by(
    inner: Sequence[Variable], outputs: Sequence[Variable], whole: Sequence[Variable] = ()
) -> list[Variable]:
    """Variables outside that outputs need beside the inner ones, in the order of their use.

    Parameters
    ----------
    inner, outputs : sequence of variable
    whole : sequence of variable
        What is known to be outside, and is captured as it is.

    Notes
    -----
    What does not depend on the inner variables is captured whole: it is computed once, and a
    derivative with respect to it finds it. Constant numbers stay inside, with axes or without: a
    step in which the exponent 2 is known multiplies. So do indices and shapes: they are made where
    they are used. And so do checks that a step makes, and what is made of them: they must not fail
    where no step runs.
    """
    nodes = io_toposort([*inner, *whole], list(outputs))
    inside = set(inner)
    depends = set(inner)
    for node in nodes:
        if isinstance(node.op, CheckAndRaise) or any(v in depends for v in node.inputs):
            depends.update(node.outputs)
    used: list[Variable] = []
    stack: list[Variable] = []

    def need(variables: Iterable[Variable]) -> None:
        for variable in variables:
            if variable in inside:
                continue
            inside.add(variable)
            if variable in depends or _is_index(variable):
                stack.append(variable)
            elif _is_of_constants(variable):
                stack.extend([variable] if variable.owner is not None else [])
            else:
                used.append(variable)

    need(outputs)
    while stack:
        need(stack.pop().owner.inputs)
    return used


def outside_of_step(
    inner: Sequence[Variable],
    outputs: Sequence[Variable],
    again: Callable[[], Sequence[Variable]],
) -> list[Variable]:
    """Collect existing variables that depend on checks, but not on the inner variables.

    A step that runs once more makes its own checks anew, and reads the others again.
    """
    behind: set[Variable] = set()
    depends = set(inner)
    for node in io_toposort(list(inner), list(outputs)):
        if any(v in depends for v in node.inputs):
            depends.update(node.outputs)
        elif isinstance(node.op, CheckAndRaise) or any(v in behind for v in node.inputs):
            behind.update(node.outputs)
    return [v for v in ancestors(again()) if v in behind] if behind else []


def _is_index(variable: Variable) -> bool:
    """Return whether a variable is an index or a shape, whose numbers are captured one by one."""
    node = variable.owner
    if node is None:
        return False
    shape = isinstance(node.op, MakeVector) and node.op.dtype == "int64"
    return shape or isinstance(variable.type, (ScalarType, SliceType, NoneTypeT))


def _is_of_constants(variable: Variable) -> bool:
    """Return whether a variable is a constant, or a number computed from constants."""
    return all(map(_is_small, reached([variable], inputs_of)))


def _is_small(variable: Variable) -> bool:
    if not isinstance(variable, Constant):
        return variable.owner is not None and _is_one_number(variable)
    return not isinstance(variable.type, TensorType) or is_small_constant(variable)


def _is_one_number(variable: Variable) -> bool:
    return all(length == 1 for length in getattr(variable.type, "shape", (None,)))


def as_state(x: Any) -> Variable:
    """Convert the initial value of a state; Python's numbers become int64 and floats."""
    if isinstance(x, Variable):
        return x
    if isinstance(x, (bool, np.bool_)):
        return pt.constant(np.asarray(x))
    if isinstance(x, int):
        return pt.constant(x, dtype="int64")
    return pt.as_tensor_variable(x)


def as_result(x: Any) -> Variable:
    """Convert a result of a step to a variable."""
    return x if isinstance(x, Variable) else pt.as_tensor_variable(x)


def common_type(number: int, before: Variable, after: Variable) -> Any:
    """Type of a state that starts as one variable and, after a step, is another.

    Raises
    ------
    GraphError
        If the step changes the type, the number of axes or a length.
    """
    old, new = before.type, after.type
    if not isinstance(old, TensorType) or not isinstance(new, TensorType):
        if old != new:
            raise _changed(GraphError, "its type", number, before, after)
        return old
    if old.ndim != new.ndim:
        raise _changed(GraphError, "its number of axes", number, before, after)
    if any(n != m and None not in (n, m) for n, m in zip(old.shape, new.shape, strict=True)):
        raise _changed(GraphError, "its shape", number, before, after)
    lengths = zip(old.shape, new.shape, strict=True)
    shape = [m if n is None else n for n, m in lengths]
    return TensorType(upcast(old.dtype, new.dtype), shape)


def check_dtype(number: int, before: Variable, after: Variable) -> None:
    """Refuse a step that narrows the dtype of a state.

    Raises
    ------
    DtypeError
        If it does.
    """
    if isinstance(before.type, TensorType) and before.type.dtype != after.type.dtype:
        raise _changed(DtypeError, "its dtype to a narrower one", number, before, after)


def _changed(
    error: type[Exception], what: str, number: int, before: Variable, after: Variable
) -> Exception:
    name = f" ({before.name})" if before.name else ""
    return error(
        f"a step changes state {number}{name}: {what}",
        [("went in", _described(before)), ("came out", _described(after))],
        "a state keeps dtype, axes and lengths; cast the initial value, or what comes out",
    )


def _described(variable: Variable) -> str:
    if not isinstance(variable.type, TensorType):
        return str(variable.type)
    shape = ", ".join("?" if n is None else str(n) for n in variable.type.shape)
    return f"{variable.type.dtype} of shape ({shape})"


def converted(variable: Variable, wanted: Any) -> Variable:
    """Convert a variable to the dtype and the static shape of a type."""
    if not isinstance(wanted, TensorType):
        return variable
    if variable.type.dtype != wanted.dtype:
        variable = pt.cast(variable, wanted.dtype)
    return wanted.filter_variable(variable)


def check_generators(
    inner: Sequence[Variable],
    next_states: Sequence[Variable],
    outputs: Sequence[Variable],
    again: Callable[[], Sequence[Variable]] | None = None,
) -> None:
    """Refuse draws from a generator whose advanced state is not returned.

    Parameters
    ----------
    inner, next_states, outputs : sequence of variables
        What the step got, the states that it returned, and all that it returned.
    again : callable, optional
        Runs the step once more. Nodes that are others then were made by the step; a draw that
        depends on nothing the step got can also have been made outside, where it is in order.

    Raises
    ------
    GraphError
        If there is one: each step would draw the same numbers.
    """
    returned = set(ancestors([v for v in next_states if isinstance(v.type, RandomType)]))
    dropped = [node for node in io_toposort(list(inner), list(outputs)) if _draws(node)]
    dropped = [node for node in dropped if not returned.intersection(node.outputs)]
    if not dropped:
        return
    depends = set(inner)
    for node in io_toposort(list(inner), list(outputs)):
        if any(v in depends for v in node.inputs):
            depends.update(node.outputs)
    inside = [node for node in dropped if depends.intersection(node.outputs)]
    if not inside and again is not None:
        outside = {v.owner for v in ancestors(again())}
        inside = [node for node in dropped if node not in outside]
    for node in inside[:1]:
        generator = next(v for v in node.inputs if isinstance(v.type, RandomType))
        raise GraphError(
            f"a step draws from the generator {generator} and does not return what becomes "
            "of it: every step would draw the same numbers",
            [("went in", str(generator)), ("drawn by", str(node.op)), ("came out", "nothing")],
            "make the generator a state, and return the one that the draw gives",
        )


def _draws(node: Apply) -> bool:
    types = [[isinstance(v.type, RandomType) for v in vs] for vs in (node.inputs, node.outputs)]
    return any(types[0]) and any(types[1])
