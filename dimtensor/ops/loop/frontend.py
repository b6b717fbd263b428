"""Front doors: loops from Python functions, or from graphs that exist already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.type import TensorType

from dimtensor.errors import GraphError
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.hooks import Hook
from dimtensor.ops.graphs import freeze, replaced
from dimtensor.ops.loop.capture import (
    as_result,
    as_state,
    captured_by,
    converted,
)
from dimtensor.ops.loop.fission import Split, split
from dimtensor.ops.loop.op import Loop, Scan
from dimtensor.ops.loop.spec import PLAIN, LoopOptions, LoopSpec, StepGraph
from dimtensor.ops.loop.steps import (
    as_list,
    as_long_as,
    called,
    condition,
    element,
    inverted,
    number_of_steps,
    other_count,
    settled,
)


class ScanResult(NamedTuple):
    """Results of a scan.

    Attributes
    ----------
    states : list of variable
        The states after the last step.
    traces : list of variable
        What each step gave, along a first axis.
    n_done : variable or None
        How many steps ran, of a loop that can stop.
    """

    states: list[Variable]
    traces: list[Variable]
    n_done: Variable | None


class WhileResult(NamedTuple):
    """Results of a while loop.

    Attributes
    ----------
    states : list of variable
        The states after the last step.
    n_done : variable or None
        How many steps ran, of a loop with ``max_steps``.
    finished : variable or None
        Whether the condition ended the loop, of a loop with ``max_steps``.
    """

    states: list[Variable]
    n_done: Variable | None
    finished: Variable | None


def scan(
    step: Callable[..., Any],
    init: Sequence[Any] = (),
    sequences: Sequence[Any] = (),
    n_steps: Any = None,
    *,
    reverse: bool = False,
    stops: bool = False,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
) -> ScanResult:
    """Run a step along the first axis of sequences, with states that go from step to step.

    Parameters
    ----------
    step : callable
        ``step(states, elements)`` gets the states and the elements of the sequences, in lists, and
        returns ``(next states, trace elements)``; with `stops`,
        ``(next states, trace elements, go on)``. What else it reaches is captured by itself.
    init : sequence of variable, array, number or generator
        The initial states, of any type. A state of a dtype that the step widens starts widened.
    sequences : sequence of variable or array
        All of one length along the first axis; that is checked when the loop runs, but on JAX.
    n_steps : int or integer scalar, optional
        Needed where there is no sequence.
    reverse : bool
        Whether steps run from the last element to the first. Traces are in the order of the
        sequences.
    stops : bool
        Whether the step says, by a bool scalar, whether to go on.
    inverse : callable, optional
        ``inverse(states, elements)`` gives the states before a step from those after it. The
        gradient then stores no states.
    truncate : int, optional
        How many of the last steps the gradient goes back.
    checkpoint : Checkpoints or sequence of int, optional
        ``levels(2)``, ``states(1000)``, or numbers of steps of segments from the innermost: the
        gradient stores the states at the start of segments and computes the others again.

    Returns
    -------
    ScanResult

    Raises
    ------
    DtypeError
        If a step narrows the dtype of a state.
    GraphError
        If a step changes the type or a static length of a state, if it draws from a generator and
        does not return it, or if the number of steps is not known.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> scale = pt.dscalar("scale")
    >>> result = scan(lambda s, e: ([s[0] * scale + e[0]], [s[0]]), [0], [x])
    >>> feed = {x: np.array([1.0, 2.0, 3.0]), scale: 2.0}
    >>> result.states[0].eval(feed).tolist()
    11.0
    >>> result.traces[0].eval(feed).tolist()
    [0.0, 1.0, 4.0]
    """
    sequences = [pt.as_tensor_variable(x) for x in sequences]
    n_steps = number_of_steps(n_steps, sequences)
    elements = [element(x, number) for number, x in enumerate(sequences)]
    sequences = [as_long_as(x, number, n_steps) for number, x in enumerate(sequences)]
    initial = [as_state(x) for x in init]
    graph = settled(lambda states: called(step, states, elements, stops), initial, elements)
    if inverse is not None:
        graph = graph._replace(inverse=inverted(inverse, list(graph.states), elements))
    return build_scan(
        n_steps, graph, initial, sequences, LoopOptions(reverse, truncate, checkpoint)
    )


checkpointed = Hook("a loop with checkpoints")


def build_scan(
    n_steps: Any,
    step: StepGraph,
    init: Sequence[Variable],
    sequences: Sequence[Variable],
    options: LoopOptions = PLAIN,
    go: Any = True,
) -> ScanResult:
    """Build a scan from the graph of its step.

    Parameters
    ----------
    n_steps : int or integer scalar
    step : StepGraph
    init, sequences : sequence of variable
        What the loop is given.
    options : LoopOptions
    go : bool scalar
        Whether the first step runs, of a loop that can stop.
    """
    changing = [at for at, v in enumerate(step.states) if not _stays(v, step.next_states[at])]
    if len(changing) < len(step.states) and step.inverse is None and options.truncate is None:
        return _scan_of_changing(changing, n_steps, step, init, sequences, options, go)
    if options.checkpoint is not None:
        return checkpointed(n_steps, step, init, sequences, options, go)
    states, elements, traced = list(step.states), list(step.elements), list(step.traced)
    init = [converted(x, v.type) for x, v in zip(init, states, strict=True)]
    next_states = [converted(x, v.type) for x, v in zip(step.next_states, states, strict=True)]
    stops, inverse = step.go_on is not None, step.inverse
    window = options.window
    if (
        options.histories
        and inverse is None
        and options.truncate is None
        and not (stops or window or options.whole)
    ):
        parts = split(states, elements, next_states, traced)
        if parts is not None:
            plain = LoopOptions(options.reverse, derivative=options.derivative)
            kept = step._replace(next_states=next_states)
            return _fissioned_scan(n_steps, parts, kept, init, sequences, plain)
    outputs = [*next_states, *traced]
    if options.histories and inverse is None:
        # what a gradient needs of each step; draws of generators are traced when it is taken
        outputs += [v for v in states if isinstance(v.type, TensorType) and v not in traced]
    outputs += [] if step.go_on is None else [step.go_on]
    captured = captured_by([*states, *elements], [*outputs, *(inverse or ())], step.captured)
    inner = [*states, *elements, *captured]
    n_traces = len(outputs) - len(states) - stops
    # gradients read the histories at steps that ran
    is_open = (*(False for _ in traced), *(True for _ in range(n_traces - len(traced))))
    spec = LoopSpec(
        len(states),
        len(elements),
        n_traces,
        stops,
        options.reverse,
        options.truncate,
        bool(window),
        options.derivative,
        is_open if stops or window else (),
        tuple(k for k, v in enumerate(elements) if v in options.residuals),
    )
    op = Scan(freeze(inner, outputs), spec, None if inverse is None else freeze(inner, inverse))
    first = [n_steps, *([go] if stops else []), *window]
    results = op.split_outputs(op(*first, *init, *sequences, *captured))
    return ScanResult(results.states, results.traces[: len(traced)], results.n_done)


def _stays(state: Variable, following: Variable) -> bool:
    return following is state and isinstance(state.type, TensorType)


def _scan_of_changing(
    changing: Sequence[int],
    n_steps: Any,
    step: StepGraph,
    init: Sequence[Variable],
    sequences: Sequence[Variable],
    options: LoopOptions,
    go: Any,
) -> ScanResult:
    """Build a scan that captures the states that no step changes.

    A derivative with respect to what is captured sums over the steps, and carries nothing.
    """
    finals = [converted(x, v.type) for x, v in zip(init, step.states, strict=True)]
    known = {v: finals[at] for at, v in enumerate(step.states) if at not in changing}
    states, following, start = (
        [given[at] for at in changing] for given in (step.states, step.next_states, finals)
    )
    on = [] if step.go_on is None else [step.go_on]
    found = replaced([*following, *step.traced, *on], known)
    end = len(changing) + len(step.traced)
    inside = step._replace(
        states=states,
        next_states=found[: len(changing)],
        traced=found[len(changing) : end],
        go_on=found[end] if on else None,
    )
    result = build_scan(n_steps, inside, start, sequences, options, go)
    for at, final in zip(changing, result.states, strict=True):
        finals[at] = final
    return ScanResult(finals, result.traces, result.n_done)


def _fissioned_scan(
    n_steps: Any,
    parts: Split,
    step: StepGraph,
    init: Sequence[Variable],
    sequences: Sequence[Variable],
    options: LoopOptions,
) -> ScanResult:
    """Build a smaller loop, and compute the fissioned part for all steps at once."""
    kept = [[given[k] for k in parts.kept] for given in (step.states, step.next_states, init)]
    inside = step._replace(states=kept[0], next_states=kept[1], traced=parts.traced)
    smaller = build_scan(n_steps, inside, kept[2], sequences, options)
    finals, traces = parts.results(init, smaller.states, smaller.traces, step.elements, sequences)
    return ScanResult(finals, traces, None)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    init: Sequence[Any],
    max_steps: Any = None,
    *,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
) -> WhileResult:
    """Run a step as long as a condition on the states is true.

    Parameters
    ----------
    cond : callable
        ``cond(states)`` gives a bool scalar.
    body : callable
        ``body(states)`` gives the next states.
    init : sequence of variable, array, number or generator
    max_steps : int or integer scalar, optional
        After how many steps the loop ends in any case. It makes the loop differentiable.
    inverse : callable, optional
        ``inverse(states)`` gives the states before a step from those after it. It makes the loop
        differentiable with memory that does not grow with the steps.
    truncate : int, optional
        How many of the last steps the gradient goes back.

    Returns
    -------
    WhileResult

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> a = pt.dscalar("a")
    >>> root = while_loop(
    ...     lambda s: abs(s[0] * s[0] - a) > 1e-12, lambda s: [(s[0] + a / s[0]) / 2], [a], 50
    ... )
    >>> round(float(root.states[0].eval({a: 2.0})), 6), int(root.n_done.eval({a: 2.0}))
    (1.414214, 5)
    """
    initial = [as_state(x) for x in init]

    def step(states: list[Variable], elements: list[Variable]) -> tuple[Any, Any, Any]:
        after = [as_result(x) for x in as_list(body(list(states)))]
        if len(after) != len(states):
            raise other_count(states, after)
        return after, [], cond(after)

    graph = settled(lambda states: called(step, states, [], True), initial, [])
    states = list(graph.states)
    initial = [converted(x, v.type) for x, v in zip(initial, states, strict=True)]
    go = condition(cond(initial))
    if inverse is not None:
        graph = graph._replace(inverse=inverted(lambda s, e: inverse(s), states, []))
    if max_steps is None:
        if truncate is not None:
            raise GraphError("the gradient of a loop is truncated where it has max_steps")
        found = build_loop(graph, initial, go)
        return WhileResult(found, None, None)
    result = build_scan(max_steps, graph, initial, [], LoopOptions(truncate=truncate), go)
    return WhileResult(result.states, result.n_done, pt.invert(condition(cond(result.states))))


def build_loop(step: StepGraph, init: Sequence[Variable], go: Any) -> list[Variable]:
    """Return the final states of a `Loop` built from the graph of its step; see `build_scan`."""
    states, next_states, inverse = list(step.states), list(step.next_states), step.inverse
    assert step.go_on is not None
    if inverse is not None:  # the gradient runs as many steps back
        count = pt.lscalar("steps")
        states = [count, *states]
        next_states = [count + 1, *next_states]
        inverse = [count - 1, *inverse]
        init = [pt.constant(0, dtype="int64"), *init]
    init = [converted(x, v.type) for x, v in zip(init, states, strict=True)]
    outputs = [converted(x, v.type) for x, v in zip(next_states, states, strict=True)]
    captured = captured_by(states, [*outputs, step.go_on, *(inverse or ())], step.captured)
    inner = [*states, *captured]
    op = Loop(
        freeze(inner, [*outputs, step.go_on]),
        len(states),
        None if inverse is None else freeze(inner, inverse),
    )
    results = op(go, *init, *captured)
    return results[1:] if inverse is not None else results


def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[..., Any],
    init: Sequence[Any],
    *,
    inverse: Callable[..., Any] | None = None,
    truncate: int | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
) -> list[Variable]:
    """Run a step for each integer of a range.

    Parameters
    ----------
    lower, upper : int or integer scalar
        The first integer, and the one after the last.
    body : callable
        ``body(i, states)`` gives the next states.
    init : sequence of variable, array, number or generator
    inverse : callable, optional
        ``inverse(i, states)`` gives the states before step i from those after it.
    truncate, checkpoint
        As in `scan`.

    Returns
    -------
    list of variable
        The final states.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> n = pt.lscalar("n")
    >>> fori_loop(0, n, lambda i, s: [s[0] + i], [0])[0].eval({n: 5}).tolist()
    10
    """
    lower, upper = as_state(lower), as_state(upper)
    n_steps = pt.cast(upper - lower, "int64")
    if all(hasattr(v, "data") for v in (lower, upper)):
        n_steps = pt.constant(int(upper.data) - int(lower.data), dtype="int64")
    before = None
    if inverse is not None:

        def before(states: list[Variable], elements: list[Variable]) -> list[Any]:
            i = states[0] - 1
            return [i, *as_list(inverse(i, states[1:]))]

    result = scan(
        lambda s, e: ([s[0] + 1, *as_list(body(s[0], s[1:]))], []),
        [pt.cast(lower, "int64"), *init],
        n_steps=n_steps, inverse=before, truncate=truncate, checkpoint=checkpoint,
    )  # fmt: skip
    return result.states[1:]
