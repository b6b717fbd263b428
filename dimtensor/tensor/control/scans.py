"""Loops along a dim: the tracing of their steps, which `dt.scan` and what is made of it share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dimtensor.dims import Dim, Dims, dim_set, find_dim, union, without
from dimtensor.errors import ArgumentError, DimError, OptionError
from dimtensor.graph import Node
from dimtensor.graph.checkpoints import Checkpoints, as_checkpoints
from dimtensor.graph.infer import describe
from dimtensor.graph.printing.words import say
from dimtensor.graph.rebuilding.batching import loop_attrs
from dimtensor.graph.rebuilding.parents import at_positions
from dimtensor.graph.regions import close, loop_nodes, placeholder
from dimtensor.tensor.control.pytree import flatten, paths, unflatten
from dimtensor.tensor.control.steps import (
    Result,
    States,
    check_call,
    converted,
    output_nodes,
    trace,
)
from dimtensor.tensor.control.streams import use_generators
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.ragged.layout import ragged_scan


def run_scan(
    name: str,
    step: Callable[..., Any],
    init: Any,
    xs: Any,
    dim: Dim | str | None,
    reverse: bool = False,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
) -> tuple[Any, Any]:
    check_call(name, "step", step, "state", "x")
    along, sequences, fill = along_dim(name, xs, dim)
    if along._within is not None:
        options = (reverse, checkpoint, inverse, truncate)
        return ragged_scan(along, name, step, init, sequences, fill, *options)
    states = States(init, name)
    elements = [placeholder(without(x.dims, [along]), x.dtype, x.categories) for x in sequences]
    shape: list[Any] = [None]

    def call(given: list[Node]) -> Result:
        returned = step(states.fill(given), fill(elements))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise ArgumentError(
                f"{name}: a step returns a pair, the next state and what it gives",
                [("returned", flatten(returned)[1].described())],
                "return state, None gives nothing; dt.reduce and dt.cumulate take steps that "
                "return the state alone",
            )
        traced, shape[0] = output_nodes(returned[1], name, "y")
        return Result(states.after(returned[0], given), traced)

    traced = trace(states, call, elements, along)
    outputs = [*traced.result.after, *traced.result.traced]
    if inverse is not None:
        before = inverse(states.fill(traced.states), fill(elements))
        outputs += converted(states.after(before, traced.states, "the inverse"), traced.states)
    (region,), captured = close([*traced.states, *elements], outputs)
    attrs = loop_attrs(
        region, len(traced.states), n_sequences=len(sequences), over=along, reverse=bool(reverse),
        inverse=inverse is not None, truncate=truncate,
        checkpoint=checkpoint_attrs(name, checkpoint, along.length, inverse, truncate),
    )  # fmt: skip
    nodes = loop_nodes(attrs, (*traced.init, *sequences, *captured))
    use_generators((init, xs), name)
    ys = unflatten(shape[0], [wrap(node) for node in nodes[len(traced.states) :]])
    return states.fill(nodes[: len(traced.states)]), ys


def run_cumulate(
    step: Callable[..., Any], init: Any, xs: Any, dim: Dim | str | None, **options: Any
) -> Any:
    """Run a loop for its states; the arguments are those of `cumulate`."""
    check_call("dt.cumulate", "step", step, "state", "x")

    def both(state: Any, x: Any) -> tuple[Any, Any]:
        after = step(state, x)
        return after, _widened(after, state)

    states = run_scan("dt.cumulate", both, init, xs, dim, **options)[1]
    return written("cumulate", states, xs, dim)


def run_reduce(
    step: Callable[..., Any], init: Any, xs: Any, dim: Dim | str | None, **options: Any
) -> Any:
    """Run a loop for its last state; the arguments are those of `reduce`."""
    check_call("dt.reduce", "step", step, "state", "x")

    def alone(state: Any, x: Any) -> tuple[Any, None]:
        return step(state, x), None

    last = run_scan("dt.reduce", alone, init, xs, dim, **options)[0]
    return written("reduce", last, xs, dim)


def checkpoint_attrs(
    name: str,
    given: Any,
    n_steps: int | None,
    inverse: Any = None,
    truncate: int | None = None,
) -> tuple[Any, ...] | None:
    """Convert the argument ``checkpoint=`` to a loop's attribute, checked for the number of steps.

    Raises
    ------
    OptionError
        If it contradicts `inverse` or `truncate`, or needs a number of steps that is not known.
    """
    found = as_checkpoints(given, name)
    if found is None:
        return None
    if inverse is not None or truncate is not None:
        raise OptionError(
            f"{name}: a gradient with checkpoints is neither truncated nor has it an inverse"
        )
    if found.how == "states":
        if n_steps is None:
            raise OptionError(
                f"{name}: checkpoint={found!r} needs a known number of steps",
                [("number of steps", "known when the function is called")],
                "give dt.checkpoint_levels(2), which stores the square root of the steps",
            )
        from dimtensor.ops.loop.derivatives.checkpoint import levels_within

        levels_within(n_steps, found.numbers[0])
    return found.attrs


def along_dim(
    name: str, xs: Any, dim: Dim | str | None
) -> tuple[Dim, list[Node], Callable[[Sequence[Node]], Any]]:
    """Resolve the dim and the sequences of a loop.

    Returns
    -------
    dim : Dim
    nodes : list of Node
        The sequences.
    fill : callable
        Builds a tree like `xs` from nodes.

    Raises
    ------
    DimError
        If no dim is given, or a sequence lacks it.
    """
    leaves, tree = flatten(xs)
    if dim is None:
        raise DimError(f"{name} runs along a dim: dim=dim")
    places = paths(tree, "xs")
    nodes = [as_node(x, what=f"{name}: {p}") for x, p in zip(leaves, places, strict=True)]
    if isinstance(dim, str):
        dim = find_dim(union([(), *(x.dims for x in nodes)], name), dim, name)
    if not isinstance(dim, Dim):
        raise DimError(f"{name}: dim is a Dim or the name of one, not {dim!r}")
    nodes = [at_positions(node, dim) for node in nodes]
    for place, node in zip(places, nodes, strict=True):
        if dim not in node.dims:
            raise _lacking(name, place, node, dim)
    return dim, nodes, lambda given: unflatten(tree, [wrap(node) for node in given])


def _lacking(name: str, place: str, node: Node, dim: Dim) -> DimError:
    namesakes: Dims = tuple(d for d in node.dims if d._namespace == dim._namespace)
    details = [("sequence", describe(node)), ("its dims", dim_set(node.dims)), ("dim", repr(dim))]
    details += [("another dim of that name", repr(each)) for each in namesakes]
    return DimError(
        f"{name}: {place} lacks {dim._title}, along which the loop runs",
        details,
        "a value that is the same in all steps is not a sequence: use it in the step directly",
    )


def _widened(after: Any, state: Any) -> Any:
    """Convert a next state to the dims and dtypes of the state."""
    known, tree = flatten(state)
    leaves, found = flatten(after)
    if len(leaves) != len(known):
        return after
    nodes = [as_node(x, [s.node]) for x, s in zip(leaves, known, strict=True)]
    full = converted(nodes, [s.node for s in known]) if found == tree else nodes
    return unflatten(found, [wrap(node) for node in full])


def written(name: str, result: Any, xs: Any, dim: Dim | str | None) -> Any:
    """Set how results of a loop are printed: by the function, its sequences and the dim."""
    sequences = [x for x in flatten(xs)[0] if isinstance(x, TensorHandle)]
    leaves = flatten(result)[0]
    along = dim if isinstance(dim, Dim) else None
    for at, leaf in enumerate(leaves):
        say(leaf, name, *sequences, dim=along, output=at if len(leaves) > 1 else None)
    return result
