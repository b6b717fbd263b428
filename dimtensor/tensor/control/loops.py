"""Loops along a dim: ``scan``, ``cumulate`` and ``reduce``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from dimtensor.dims import Dim, Dims, dim_set, find_dim, union, without
from dimtensor.errors import DimError, InputError, build_message
from dimtensor.graph import Node
from dimtensor.graph.checkpoints import Checkpoints, as_checkpoints
from dimtensor.graph.infer import describe
from dimtensor.graph.printing.words import say
from dimtensor.graph.rebuilding.batching import loop_attrs
from dimtensor.graph.regions import close, loop_nodes, placeholder
from dimtensor.spellings import spelled
from dimtensor.tensor.control.pytree import flatten, paths, unflatten
from dimtensor.tensor.control.steps import Result, States, converted, output_nodes, trace
from dimtensor.tensor.control.streams import use_generators
from dimtensor.tensor.control.types import (
    Four,
    FourLeaves,
    LoopOptions,
    Three,
    ThreeLeaves,
    Tree,
    Two,
    TwoLeaves,
)
from dimtensor.tensor.handle import Leaf, TensorHandle, as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@overload
def scan[X, Y](
    step: Callable[[DimTensor, X], tuple[Leaf, Y]],
    init: Leaf,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[DimTensor, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[Two, X], tuple[TwoLeaves, Y]],
    init: TwoLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[Two, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[Three, X], tuple[ThreeLeaves, Y]],
    init: ThreeLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[Three, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[Four, X], tuple[FourLeaves, Y]],
    init: FourLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[Four, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[dict[str, DimTensor], X], tuple[Mapping[str, Leaf], Y]],
    init: Mapping[str, Leaf],
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[dict[str, DimTensor], Y]: ...
@overload
def scan[X, Y](
    step: Callable[[None, X], tuple[None, Y]],
    init: None,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[None, Y]: ...
@overload
def scan[S: Tree, X, Y](
    step: Callable[[S, X], tuple[S, Y]],
    init: S,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> tuple[S, Y]: ...
@spelled("function")
def scan(
    step: Callable[..., Any],
    init: Any,
    xs: Any = None,
    dim: Dim | str | None = None,
    *,
    reverse: bool = False,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
) -> tuple[Any, Any]:
    """Apply a step to the elements along a dim in turn, carrying a state.

    Parameters
    ----------
    step : callable
        ``step(state, x)`` returns ``(state, y)``. x has the elements of `xs` at one position of the
        dim, without the dim. Tensors that the step captures become inputs of the loop.
    init : tree of tensors and numbers
        The state before the first step: a tensor or number, or tuples, lists, dicts, named tuples,
        dataclasses and None of them. A state keeps its dims; its dtype is widened if a step
        requires it.
    xs : tree of tensors
        Sequences, all with the dim. None for a loop without sequences, whose `dim` is a Dim.
    dim : Dim or str
        The dim to loop over.
    reverse : bool
        Whether to start at the last position.
    checkpoint : Checkpoints or sequence of int, optional
        Saves memory in gradients: ``dt.checkpoint_levels(2)``, ``dt.checkpoint_states(1000)``, or
        numbers of steps of segments from the innermost. Only the states at the starts of segments
        are stored; the others are recomputed.
    inverse : callable, optional
        ``inverse(state, x)`` returns the state before a step, given the state after it. Gradients
        then store no states.
    truncate : int, optional
        Number of last steps through which gradients are propagated.

    Returns
    -------
    state
        The state after the last step; the initial one if the dim has length 0.
    ys
        The values y of all steps, with the dim.

    Raises
    ------
    DimError
        If a sequence lacks the dim, a step adds dims to a state, or a value y has the dim.
    DtypeError
        If a step narrows the dtype of a state.
    InputError
        If a step returns something other than a pair, or a state of another structure.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", coords=[2001, 2002, 2003])
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> last, path = dt.scan(lambda s, x: (s / 2 + x, s), init=0.0, xs=x, dim=time)
    >>> float(last.eval()), path.eval().values.tolist()
    (4.25, [0.0, 1.0, 2.5])
    """
    return run_scan("dt.scan", step, init, xs, dim, reverse, checkpoint, inverse, truncate)


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
    along, sequences, fill = along_dim(name, xs, dim)
    states = States(init, name)
    elements = [placeholder(without(x.dims, [along]), x.dtype, x.categories) for x in sequences]
    shape: list[Any] = [None]

    def call(given: list[Node]) -> Result:
        returned = step(states.fill(given), fill(elements))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise InputError(
                build_message(
                    f"{name}: a step returns a pair, the next state and what it gives",
                    [("returned", flatten(returned)[1].described())],
                    "return state, None gives nothing; dt.reduce and dt.cumulate take steps that "
                    "return the state alone",
                )
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
    InputError
        If it contradicts `inverse` or `truncate`, or needs a number of steps that is not known.
    """
    found = as_checkpoints(given, name)
    if found is None:
        return None
    if inverse is not None or truncate is not None:
        raise InputError(
            f"{name}: a gradient with checkpoints is neither truncated nor has it an inverse"
        )
    if found.how == "states":
        if n_steps is None:
            raise InputError(
                build_message(
                    f"{name}: checkpoint={found!r} needs a known number of steps",
                    [("number of steps", "known when the function is called")],
                    "give dt.checkpoint_levels(2), which stores the square root of the steps",
                )
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
    InputError, DimError
        If no dim is given, or a sequence lacks it.
    """
    leaves, tree = flatten(xs)
    if dim is None:
        raise InputError(f"{name} runs along a dim: dim=dim")
    places = paths(tree, "xs")
    nodes = [as_node(x, what=f"{name}: {p}") for x, p in zip(leaves, places, strict=True)]
    if isinstance(dim, str):
        dim = find_dim(union([(), *(x.dims for x in nodes)], name), dim, name)
    if not isinstance(dim, Dim):
        raise InputError(f"{name}: dim is a Dim or the name of one, not {dim!r}")
    for place, node in zip(places, nodes, strict=True):
        if dim not in node.dims:
            raise _lacking(name, place, node, dim)
    return dim, nodes, lambda given: unflatten(tree, [wrap(node) for node in given])


def _lacking(name: str, place: str, node: Node, dim: Dim) -> DimError:
    namesakes: Dims = tuple(d for d in node.dims if d._namespace == dim._namespace)
    details = [("sequence", describe(node)), ("its dims", dim_set(node.dims)), ("dim", repr(dim))]
    details += [("another dim of that name", repr(each)) for each in namesakes]
    return DimError(
        build_message(
            f"{name}: {place} lacks {dim._title}, along which the loop runs",
            details,
            "a value that is the same in all steps is not a sequence: use it in the step directly",
        )
    )


@overload
def cumulate[X](
    step: Callable[[DimTensor, X], Leaf],
    init: Leaf,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> DimTensor: ...
@overload
def cumulate[X](
    step: Callable[[Two, X], TwoLeaves],
    init: TwoLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> Two: ...
@overload
def cumulate[X](
    step: Callable[[Three, X], ThreeLeaves],
    init: ThreeLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> Three: ...
@overload
def cumulate[X](
    step: Callable[[Four, X], FourLeaves],
    init: FourLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> Four: ...
@overload
def cumulate[X](
    step: Callable[[dict[str, DimTensor], X], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> dict[str, DimTensor]: ...
@overload
def cumulate[S: Tree, X](
    step: Callable[[S, X], S],
    init: S,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> S: ...
@spelled("function")
def cumulate(
    step: Callable[..., Any],
    init: Any,
    xs: Any = None,
    dim: Dim | str | None = None,
    *,
    reverse: bool = False,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
) -> Any:
    """Run a loop along a dim and return the state after every step.

    Parameters
    ----------
    step : callable
        ``step(state, x)`` returns the next state.
    init, xs, dim, reverse, checkpoint, inverse, truncate
        As in :func:`dimtensor.scan`.

    Returns
    -------
    tree of DimTensor
        The states after each step, with the dim, without the initial state.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> dt.cumulate(lambda s, x: s / 2 + x, 0.0, x, time).eval().values.tolist()
    [1.0, 2.5, 4.25]
    """

    def both(state: Any, x: Any) -> tuple[Any, Any]:
        after = step(state, x)
        return after, _widened(after, state)

    states = run_scan("dt.cumulate", both, init, xs, dim, reverse, checkpoint, inverse, truncate)[1]
    return written("cumulate", states, xs, dim)


def _widened(after: Any, state: Any) -> Any:
    """Convert a next state to the dims and dtypes of the state."""
    known, tree = flatten(state)
    leaves, found = flatten(after)
    if len(leaves) != len(known):
        return after
    nodes = [as_node(x, [s.node]) for x, s in zip(leaves, known, strict=True)]
    full = converted(nodes, [s.node for s in known]) if found == tree else nodes
    return unflatten(found, [wrap(node) for node in full])


@overload
def reduce[X](
    step: Callable[[DimTensor, X], Leaf],
    init: Leaf,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> DimTensor: ...
@overload
def reduce[X](
    step: Callable[[Two, X], TwoLeaves],
    init: TwoLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> Two: ...
@overload
def reduce[X](
    step: Callable[[Three, X], ThreeLeaves],
    init: ThreeLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> Three: ...
@overload
def reduce[X](
    step: Callable[[Four, X], FourLeaves],
    init: FourLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> Four: ...
@overload
def reduce[X](
    step: Callable[[dict[str, DimTensor], X], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> dict[str, DimTensor]: ...
@overload
def reduce[S: Tree, X](
    step: Callable[[S, X], S],
    init: S,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopOptions],
) -> S: ...
@spelled("function")
def reduce(
    step: Callable[..., Any],
    init: Any,
    xs: Any = None,
    dim: Dim | str | None = None,
    *,
    reverse: bool = False,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
) -> Any:
    """Run a loop along a dim and return the last state.

    Parameters
    ----------
    step : callable
        ``step(state, x)`` returns the next state.
    init, xs, dim, reverse, checkpoint, inverse, truncate
        As in :func:`dimtensor.scan`.

    Returns
    -------
    tree of DimTensor
        The state after the last step; the initial one if the dim has length 0.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> float(dt.reduce(lambda s, x: s / 2 + x, 0.0, x, time).eval())
    4.25
    """

    def alone(state: Any, x: Any) -> tuple[Any, None]:
        return step(state, x), None

    last = run_scan("dt.reduce", alone, init, xs, dim, reverse, checkpoint, inverse, truncate)[0]
    return written("reduce", last, xs, dim)


def written(name: str, result: Any, xs: Any, dim: Dim | str | None) -> Any:
    """Set how results of a loop are printed: by the function, its sequences and the dim."""
    sequences = [x for x in flatten(xs)[0] if isinstance(x, TensorHandle)]
    leaves = flatten(result)[0]
    along = dim if isinstance(dim, Dim) else None
    for at, leaf in enumerate(leaves):
        say(leaf, name, *sequences, dim=along, output=at if len(leaves) > 1 else None)
    return result
