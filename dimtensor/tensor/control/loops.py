"""Loops: along a dim, until a condition is false, a number of times, and of differential equations.

Type checkers read the overloads of these functions in ``loops.pyi``, which
``tools/generate_loops.py`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dimtensor.dims import Dim
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.spellings import spelled
from dimtensor.tensor.control.ode import ode as ode
from dimtensor.tensor.control.scans import run_cumulate, run_reduce, run_scan
from dimtensor.tensor.control.while_loops import fori_loop as fori_loop
from dimtensor.tensor.control.while_loops import while_loop as while_loop


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
    ArgumentError
        If a step returns something other than a pair, or a state of another structure.
    OptionError
        If options of gradients contradict each other.
    GraphError
        If a step makes a random variable, or returns a generator that it has drawn from.

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

    Raises
    ------
    OptionError
        If options of gradients contradict each other, or are not for a ragged dim.
    GraphError
        If a step makes a random variable.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> dt.cumulate(lambda s, x: s / 2 + x, 0.0, x, time).eval().values.tolist()
    [1.0, 2.5, 4.25]
    """
    options = {"reverse": reverse, "checkpoint": checkpoint, "inverse": inverse}
    return run_cumulate(step, init, xs, dim, **options, truncate=truncate)


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

    Raises
    ------
    ArgumentError
        If a step returns a state of another structure.
    OptionError
        If options of gradients contradict each other, or are not for a ragged dim.
    LabelError
        If a step returns labels of another dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> float(dt.reduce(lambda s, x: s / 2 + x, 0.0, x, time).eval())
    4.25
    """
    options = {"reverse": reverse, "checkpoint": checkpoint, "inverse": inverse}
    return run_reduce(step, init, xs, dim, **options, truncate=truncate)
