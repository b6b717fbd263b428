"""Loops that run until a condition is false, or a number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import dim_set
from dimtensor.errors import DtypeError, GraphError, OptionError
from dimtensor.graph import Node, make
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.graph.dtypes import is_integer
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.batching import loop_attrs, loop_outputs
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.graph.regions import close
from dimtensor.tensor.control.scans import checkpoint_attrs
from dimtensor.tensor.control.steps import Result, States, Traced, check_call, converted, trace
from dimtensor.tensor.control.streams import check_streams, use_generators
from dimtensor.tensor.handle import as_node, cast, constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_WHILE = "dt.while_loop"


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    init: Any,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: bool = False,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
) -> Any:
    """Repeat a step while a condition on the state is true.

    Parameters
    ----------
    cond : callable
        ``cond(state)`` returns a bool. If it has dims, each element terminates independently and
        keeps its final state while others continue; states get the dims of the condition.
    body : callable
        ``body(state)`` returns the next state. Tensors that it captures become inputs of the loop.
    init : tree of tensors and numbers
        The state before the first step; see :func:`dimtensor.scan`.
    max_steps : int or integer tensor, optional
        Maximal number of steps. Gradients need it, or `inverse`.
    return_finished : bool
        Whether to also return if the condition has become false.
    inverse : callable, optional
        ``inverse(state)`` returns the state before a step, given the state after it.
    truncate : int, optional
        Number of last steps through which gradients are propagated.

    Returns
    -------
    state
        The first state for which the condition is false, or the one after `max_steps`.
    finished : DimTensor of bool
        On the dims of the condition; only with `return_finished`.

    Raises
    ------
    DimError
        If the body adds dims to a state.
    DtypeError
        If the condition is not boolean, or the body narrows the dtype of a state.
    GraphError
        If the condition is always true, and there is no `max_steps`.
    OptionError
        If options of gradients contradict each other.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a = dt.data([2.0, 9.0], dims=dt.Dim("k", length=2))
    >>> root = dt.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a, 50)
    >>> root.eval().round(6).values.tolist()
    [1.414214, 3.0]
    """
    states = States(init, _WHILE)
    check_call(_WHILE, "cond", cond, "state")
    check_call(_WHILE, "body", body, "state")
    holds = _condition_of(cond, states, max_steps is None)

    def call(given: list[Node]) -> Result:
        after = states.after(body(states.fill(given)), given, "the body")
        # while types of states are being determined, results may be of other types
        return Result(after, [], holds(converted(after, given)))

    traced = trace(states, call)
    go = holds(traced.init)
    go_on = traced.result.go_on
    assert go_on is not None
    outputs = [*traced.result.after, go_on]
    if inverse is not None:
        outputs += _before(states, traced, inverse(states.fill(traced.states)))
    steps = () if max_steps is None else (_count(max_steps, f"{_WHILE}: max_steps"),)
    _check_options(go_on, bool(steps), inverse is not None, truncate)
    final = _run(
        traced, outputs, (*steps, expand_node(go, go_on.dims)), counted=bool(steps), stops=True,
        inverse=inverse is not None, truncate=truncate,
    )  # fmt: skip
    use_generators(init, _WHILE)
    if not return_finished:
        return states.fill(final)
    return states.fill(final), wrap(make("elemwise", (holds(final),), "logical_not"))


def _condition_of(
    cond: Callable[..., Any], states: States, endless: bool
) -> Callable[[Sequence[Node]], Node]:
    def holds(nodes: Sequence[Node]) -> Node:
        condition = as_node(cond(states.fill(nodes)), what=f"{_WHILE}: the condition")
        if condition.dtype != "bool":
            raise DtypeError(
                f"{_WHILE}: a condition is boolean, {describe(condition)} is of {condition.dtype}",
                hint="compare it with something, as in x > 0",
            )
        if endless and condition.kind == "constant" and condition.attrs.value:
            raise GraphError(
                f"{_WHILE}: the condition is always true, so that the loop never ends",
                hint="compare the state: lambda state: state < 3, or max_steps=100",
            )
        return condition

    return holds


def _check_options(go_on: Node, counted: bool, inverse: bool, truncate: int | None) -> None:
    if inverse and go_on.dims:
        raise OptionError(
            f"{_WHILE}: a loop that stops by dims has no inverse",
            [("dims of the condition", dim_set(go_on.dims))],
            "make the condition a scalar with .any()",
        )
    if truncate is not None and not counted:
        raise OptionError(f"{_WHILE}: gradients are truncated where there are max_steps")


def _before(states: States, traced: Traced, value: Any) -> list[Node]:
    return converted(states.after(value, traced.states, "the inverse"), traced.states)


def _run(
    traced: Traced, outputs: Sequence[Node], first: tuple[Node, ...], **others: Any
) -> list[Node]:
    """Build a loop and return its final states."""
    (region,), captured = close(traced.states, outputs)
    attrs = loop_attrs(region, len(traced.states), **others)
    return loop_outputs(attrs, (*first, *traced.init, *captured))[: len(traced.states)]


def _count(value: Any, what: str) -> Node:
    node = as_node(value, what=what)
    if not is_integer(node.dtype):
        raise DtypeError(f"{what} is an integer, not {describe(node)} of {node.dtype}")
    return cast(node, "int64")


def fori_loop(
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[..., Any],
    init: Any,
    *,
    inverse: Callable[..., Any] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> Any:
    """Run a step for each integer of a range.

    Parameters
    ----------
    start, stop : int or integer tensor
        The first integer, and the one after the last. With dims, each element has its own range.
    body : callable
        ``body(i, state)`` returns the next state.
    init : tree of tensors and numbers
        The state before the first step; see :func:`dimtensor.scan`.
    inverse : callable, optional
        ``inverse(i, state)`` returns the state before step i, given the state after it.
    checkpoint, truncate
        As in :func:`dimtensor.scan`.

    Returns
    -------
    state
        The state after the last step; the initial one if there are no steps.

    Raises
    ------
    DimError
        If the body adds dims to a state.
    DtypeError
        If a bound is not an integer, or the body narrows the dtype of a state.

    Examples
    --------
    >>> import dimtensor as dt
    >>> n = dt.scalar("n", dtype="int64")
    >>> total = dt.fori_loop(0, n, lambda i, s: s + i, 0)
    >>> int(total.eval({n: 5}))
    10
    """
    name = "dt.fori_loop"
    lower, upper = _count(start, f"{name}: start"), _count(stop, f"{name}: stop")
    states = States((lower, init), name)
    states.paths[1:] = [path.replace("state[1]", "state", 1) for path in states.paths[1:]]
    one = constant(1, "int64")

    def call(given: list[Node]) -> Result:
        i, state = states.fill(given)
        return Result(states.after((i + 1, body(i, state)), given, "the body"), [])

    counts, known = make("elemwise", (upper, lower), "subtract"), None
    if lower.kind == upper.kind == "constant":
        known = max(int(upper.attrs.value) - int(lower.attrs.value), 0)
        counts = constant(int(upper.attrs.value) - int(lower.attrs.value), "int64")
    for path, node in zip(states.paths, states.nodes, strict=True):
        check_streams(name, path, node, counts.dims)
    traced = trace(states, call)
    outputs = list(traced.result.after)
    if inverse is not None:
        i, state = states.fill(traced.states)
        step = wrap(make("elemwise", (i.node, one), "subtract"))
        outputs += _before(states, traced, (step, inverse(step, state)))
    final = _run(
        traced, outputs, (counts,), counted=True, inverse=inverse is not None,
        truncate=truncate,
        checkpoint=checkpoint_attrs(name, checkpoint, known, inverse, truncate),
    )  # fmt: skip
    use_generators(init, name)
    return states.fill(final)[1]
