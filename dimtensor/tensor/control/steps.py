"""Tracing of loop steps: calls on placeholders until the types of the states are stable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, dim_set, mask_keys, union, without
from dimtensor.errors import (
    ArgumentError,
    DimError,
    DimtensorError,
    DtypeError,
    GraphError,
    LabelError,
)
from dimtensor.graph import Node
from dimtensor.graph.dtypes import promote
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.graph.regions import placeholder
from dimtensor.graph.walk import toposort
from dimtensor.tensor.control.pytree import TreeDef, flatten, leaves_like, paths, unflatten
from dimtensor.tensor.control.streams import TracedBody, check_returned, check_streams, traced
from dimtensor.tensor.handle import as_node, cast, wrap
from dimtensor.tuning import DTYPE_TRIALS


def check_call(name: str, what: str, function: Any, *arguments: str) -> None:
    """Check that a function of the user takes the arguments that it will be called with.

    Raises
    ------
    ArgumentError
        If it is none, or takes other arguments.
    """
    call = f"{what}({', '.join(arguments)})"
    if not callable(function):
        kind = type(function).__name__
        raise ArgumentError(f"{name}: {what} is a function, called as {call}, and not {kind}")
    try:
        signature(function).bind(*arguments)
    except TypeError as error:
        raise ArgumentError(
            f"{name}: {what} is called as {call}, and takes other arguments: {error}"
        ) from None
    except ValueError:  # a function of C, which has no signature
        pass


class Result(NamedTuple):
    """Results of a step: next states, elements of traces, and the condition to continue."""

    after: list[Node]
    traced: list[Node]
    go_on: Node | None = None


class Traced(NamedTuple):
    """Traced step with stable state types.

    Attributes
    ----------
    states : list of Node
        Placeholders.
    init : list of Node
        Initial states of the same types.
    result : Result
    """

    states: list[Node]
    init: list[Node]
    result: Result


class States:
    """Initial states of a loop, with their paths for error messages.

    Parameters
    ----------
    init : tree of tensors and numbers
    name : str
        The function that the user called.
    what : str
        The name of the tree in error messages.
    """

    def __init__(self, init: Any, name: str, what: str = "state"):
        leaves, self.tree = flatten(init)
        self.name = name
        self.what = what
        self.paths = paths(self.tree, what)
        self.nodes = [
            as_node(x, what=f"{name}: {path}") for x, path in zip(leaves, self.paths, strict=True)
        ]

    def fill(self, nodes: Sequence[Node]) -> Any:
        """Build the tree of states with the tensors of other nodes."""
        return unflatten(self.tree, [wrap(node) for node in nodes])

    def after(self, value: Any, states: Sequence[Node], by: str = "the step") -> list[Node]:
        """Return the nodes of the state that a step returned."""
        leaves = leaves_like(self.tree, value, f"{self.name}: what {by} returns as {self.what}")
        return [
            as_node(x, [state], f"{self.name}: {path} as {by} returns it")
            for x, state, path in zip(leaves, states, self.paths, strict=True)
        ]


def trace(
    states: States,
    call: Callable[[list[Node]], Result],
    elements: Sequence[Node] = (),
    dim: Dim | None = None,
) -> Traced:
    """Trace a step on placeholders, widening their dtypes until they are stable.

    Parameters
    ----------
    states : States
    call : callable
        Gets placeholders.
    elements : sequence of Node
        Placeholders of the step's other arguments.
    dim : Dim, optional
        The dim of the loop.

    Raises
    ------
    DimError
        If the step adds dims to a state.
    DtypeError
        If it narrows a dtype.
    LabelError
        If it turns a state into labels of another dim.
    GraphError
        If it draws the same random numbers at every step.
    """
    init = list(states.nodes)
    for _ in range(DTYPE_TRIALS):
        given = [placeholder(x.dims, x.dtype, x.categories) for x in init]
        own = [*given, *elements]
        body = TracedBody(states.name, own, dim=dim, has_state=bool(given))
        result = traced(body, partial(call, given))
        along = () if result.go_on is None else result.go_on.dims
        wider = [
            _settled(states, path, x, state, after, along)
            for path, x, state, after in zip(states.paths, init, given, result.after, strict=True)
        ]
        if wider == init:
            returned = list(zip(states.paths, result.after, strict=True))
            check_returned(body, returned, result.traced)
            after = converted(result.after, given)
            _check_lengths(states, [*given, *elements], [*result.after, *result.traced])
            return Traced(given, init, result._replace(after=after))
        init = wider
    raise GraphError(f"{states.name}: the types of the states never stay the same")


def _settled(states: States, path: str, init: Node, state: Node, after: Node, along: Dims) -> Node:
    """Convert an initial state to the dtype and the dims that the state has after a step."""
    check_streams(states.name, path, init, along)
    added = without(after.dims, union([state.dims, along], states.name))
    if added:
        raise _changed(
            DimError, f"adds {dim_set(added)} to {path}", states, state, after,
            "a state keeps its dims; start from one that has them: dt.full(dims, value)",
        )  # fmt: skip
    if after.categories is not state.categories:
        raise _changed(
            LabelError, f"makes other labels of {path}", states, state, after,
            "a state holds labels of one dim, or numbers",
        )  # fmt: skip
    dtype = promote((state.dtype, after.dtype))
    if dtype == state.dtype != after.dtype and not _fits(after, state.dtype):
        raise _changed(
            DtypeError, f"narrows {path} to {after.dtype}", states, state, after,
            f"a dtype widens and never narrows; return it with .astype({state.dtype!r})",
        )  # fmt: skip
    return expand_node(cast(init, dtype), along)


def _fits(after: Node, dtype: str) -> bool:
    """Return True for a constant that a dtype can represent without widening."""
    return after.kind == "constant" and np.result_type(after.attrs.value, dtype) == dtype


def _changed(
    error: type[DimtensorError], what: str, states: States, before: Node, after: Node, hint: str
) -> DimtensorError:
    return error(
        f"{states.name}: a step {what}",
        [("went in", _typed(before)), ("came out", f"{_typed(after)}: {describe(after)}")],
        hint,
    )


def _typed(node: Node) -> str:
    labels = "" if node.categories is None else f", labels of {node.categories._short}"
    return f"{dim_set(node.dims)} {node.dtype}{labels}"


def converted(nodes: Sequence[Node], states: Sequence[Node]) -> list[Node]:
    """Convert next states to the dtypes and dims of the states."""
    return [
        expand_node(cast(node, state.dtype), state.dims)
        for node, state in zip(nodes, states, strict=True)
    ]


def _check_lengths(states: States, own: Sequence[Node], outputs: Sequence[Node]) -> None:
    """Raise DimError for results whose lengths differ between steps."""
    for output in outputs:
        for dim in output.dims:
            for key in mask_keys(dim):
                if not set(own).isdisjoint(toposort([key])):
                    raise DimError(
                        f"{states.name}: what a step gives has a length that each step "
                        "decides anew",
                        [("given", _typed(output)), ("dim", repr(dim))],
                        "dt.where(mask, x, 0) keeps the dim that a mask selects from",
                    )


def output_nodes(value: Any, name: str, what: str) -> tuple[list[Node], TreeDef]:
    """Return the nodes and the structure of a tree of results."""
    leaves, tree = flatten(value)
    named = zip(leaves, paths(tree, what), strict=True)
    return [as_node(x, what=f"{name}: {path}") for x, path in named], tree
