"""Loops: along a dim, until a condition is false, a number of times, and of differential equations.

Type checkers read the overloads of these functions in ``loops.pyi``, which
``tools/generate_loops.py`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dimtensor.dims import Dim
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.spellings import spelled
from dimtensor.tensor.control.ode import solve_ode
from dimtensor.tensor.control.scans import run_cumulate, run_reduce, run_scan
from dimtensor.tensor.control.while_loops import run_fori, run_while

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor


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
    options = {"return_finished": return_finished, "inverse": inverse, "truncate": truncate}
    return run_while(cond, body, init, max_steps, **options)


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
    options = {"inverse": inverse, "checkpoint": checkpoint, "truncate": truncate}
    return run_fori(start, stop, body, init, **options)


def ode(
    rhs: Callable[..., Any],
    y0: Any,
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> Any:
    """Solve the initial value problem ``dy/dt = rhs(t, y)`` at given times.

    Parameters
    ----------
    rhs : callable
        ``rhs(t, y)`` returns the slope, a tree like y. Tensors that it captures, such as
        parameters, become inputs of the loop.
    y0 : tree of tensors and numbers
        The solution at the first of the times.
    t : DimTensor
        Times, increasing or decreasing, with one dim.
    method : {"dopri5", "rk4"}
        Dormand and Prince's method of order 5 with adaptive steps, or the classical Runge–Kutta
        method of order 4 with `steps` equal steps between two times.
    steps : int
        Number of steps of "rk4".
    rtol, atol : float
        Tolerances of "dopri5": the error of a step is at most ``atol + rtol * abs(y)``, as root
        mean square over all elements of y.
    max_steps : int
        Maximal number of steps that "dopri5" tries between two times.

    Returns
    -------
    tree of DimTensor
        Like `y0`, with the dim of the times added.

    Raises
    ------
    CheckError
        At the call, if `max_steps` are not enough, or times are out of order.
    DimError
        If the times do not have exactly one dim.

    Notes
    -----
    Dormand and Prince (1980), *A family of embedded Runge-Kutta formulae*. The step size control
    and the first step size follow section II.4 of Hairer, Nørsett and Wanner (1993), *Solving
    Ordinary Differential Equations I*. Steps need not end at the requested times: the solution
    there is the dense output of order 4 (section II.6). Gradients are those of the steps taken,
    with step sizes held fixed.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> t, rate = dt.data([0.0, 1.0, 2.0], dims=time), dt.scalar("rate")
    >>> y = dt.ode(lambda t, y: -rate * y, 1.0, t)
    >>> y.eval({rate: 1.0}).values.round(4).tolist()
    [1.0, 0.3679, 0.1353]
    """
    options = {"steps": steps, "rtol": rtol, "atol": atol, "max_steps": max_steps}
    return solve_ode(rhs, y0, t, method, **options)
