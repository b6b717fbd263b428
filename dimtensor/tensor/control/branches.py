"""Conditionals: one of two branches, or elementwise selection from both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dimtensor.errors import ArgumentError, DtypeError, LabelError
from dimtensor.graph import Node
from dimtensor.graph.dtypes import promote
from dimtensor.graph.infer import describe
from dimtensor.graph.node import recorded
from dimtensor.graph.rebuilding.batching import conditional
from dimtensor.graph.regions import close, placeholder
from dimtensor.tensor.control.pytree import TreeDef as Structure
from dimtensor.tensor.control.pytree import flatten, leaves_like, paths, unflatten
from dimtensor.tensor.control.streams import (
    TracedBody,
    check_returned,
    check_streams,
    traced,
    use_generators,
)
from dimtensor.tensor.control.types import Tree
from dimtensor.tensor.handle import Leaf, TensorHandle, as_node, cast, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@overload
def if_else[*Args](
    condition: DimTensor | bool,
    then_function: Callable[[*Args], Leaf],
    else_function: Callable[[*Args], Leaf],
    *args: *Args,
) -> DimTensor: ...
@overload
def if_else[T: Tree, *Args](
    condition: DimTensor | bool,
    then_function: Callable[[*Args], T],
    else_function: Callable[[*Args], T],
    *args: *Args,
) -> T: ...
def if_else(  # type: ignore[misc]
    condition: DimTensor | bool,
    then_function: Callable[..., Any],
    else_function: Callable[..., Any],
    *args: Any,
) -> Any:
    """Compute one of two functions, chosen by a condition.

    Parameters
    ----------
    condition : DimTensor of bool, or bool
        Without dims, only the selected function runs. With dims, it selects elementwise: results
        of a function are used, checked and differentiated only where it is selected, so it may be
        undefined elsewhere.
    then_function, else_function : callable
        Take `args` and return trees of tensors of one structure. Tensors that they capture become
        inputs of the conditional.
    *args : trees of tensors and numbers

    Returns
    -------
    tree of DimTensor
        On the dims of the condition and those of both functions' results.

    Raises
    ------
    DtypeError
        If the condition is not boolean.
    ArgumentError
        If the functions return trees of different structures.
    GraphError
        If a function makes a random variable.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([4.0, -4.0], dims=dt.Dim("k", length=2))
    >>> root = dt.if_else(x > 0, dt.sqrt, lambda x: -dt.sqrt(-x), x)
    >>> root.eval().values.tolist()
    [2.0, -2.0]
    """
    called = None
    if isinstance(condition, (bool, np.bool_)):
        called = [then_function if condition else else_function]
    for function in called or (then_function, else_function):
        if not callable(function):
            raise ArgumentError(
                "dt.if_else takes a function for each case, and is given "
                f"{type(function).__name__}",
                hint="of values it is dt.where(condition, x, y)",
            )
    if called:
        return called[0](*args)
    which = as_node(condition, what="dt.if_else: the condition")
    if which.dtype != "bool":
        raise DtypeError(
            f"dt.if_else: a condition is boolean, {describe(which)} is of {which.dtype}",
            hint="compare it with something, as in x > 0",
        )
    leaves, tree = flatten(args)
    operands = [
        as_node(x, what=f"dt.if_else: {path}")
        for x, path in zip(leaves, paths(tree, "args"), strict=True)
    ]
    own = [placeholder(x.dims, x.dtype, x.categories) for x in operands]
    given = unflatten(tree, [wrap(x) for x in own])
    name = "dt.if_else"
    body, other_body = (TracedBody(name, own, operands) for _ in range(2))

    def trace() -> tuple[Structure, tuple[list[Node], list[Node]]]:
        then, shape = flatten(traced(body, partial(then_function, *given)))
        anew = unflatten(tree, [wrap(x) for x in own])
        other = traced(other_body, lambda: _results(shape, else_function(*anew)))
        return shape, _common(shape, then, other)

    (shape, branches), made = recorded(trace)
    named = paths(shape, "result")
    for nodes, one in zip(branches, (body, other_body), strict=True):
        check_returned(one, list(zip(named, nodes, strict=True)))
        for path, node in zip(named, nodes, strict=True):
            check_streams(name, path, node, which.dims)
    regions, captured = close(own, *branches, made=made)
    outputs = [region.outputs for region in regions]
    nodes = conditional(which, outputs, regions[0].bound, (*operands, *captured))
    use_generators(args, name)
    return unflatten(shape, [wrap(node) for node in nodes])


def _results(shape: Structure, value: Any) -> list[Any]:
    try:
        return leaves_like(shape, value, "")
    except ArgumentError:
        raise ArgumentError(
            "dt.if_else: the functions return trees of different structures",
            [("then", shape), ("else", flatten(value)[1])],
        ) from None


def _common(
    shape: Structure, then: Sequence[Any], other: Sequence[Any]
) -> tuple[list[Node], list[Node]]:
    """Return the result nodes of both branches, cast to common dtypes."""
    results: tuple[list[Node], list[Node]] = ([], [])
    for a, b, path in zip(then, other, paths(shape, "result"), strict=True):
        beside = [x.node for x in (a, b) if isinstance(x, TensorHandle)]
        pair = [as_node(x, beside, f"dt.if_else: {path}") for x in (a, b)]
        if pair[0].categories is not pair[1].categories:
            raise LabelError(
                f"dt.if_else: {path} is labels of different dims, or labels and numbers",
                [("then", describe(pair[0])), ("else", describe(pair[1]))],
            )
        dtype = promote((pair[0].dtype, pair[1].dtype))
        for found, x in zip(results, pair, strict=True):
            found.append(cast(x, dtype))
    return results
