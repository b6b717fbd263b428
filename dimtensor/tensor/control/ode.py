"""Solvers of ordinary differential equations, differentiable through their loops."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dimtensor.dims import Dim
from dimtensor.errors import DimError, OptionError
from dimtensor.graph.infer import describe
from dimtensor.tensor.check import check
from dimtensor.tensor.constructors import length
from dimtensor.tensor.control.pytree import flatten, leaves_like, unflatten
from dimtensor.tensor.control.scans import run_cumulate, run_scan
from dimtensor.tensor.control.while_loops import fori_loop, while_loop
from dimtensor.tensor.elementwise import maximum, minimum, sqrt, stop_gradient, where
from dimtensor.tensor.handle import as_node, require_float, wrap

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor

_NAME = "dt.ode"
Leaves = list[Any]
Slope = Callable[[Any, Leaves], Leaves]

# Dormand and Prince (1980), table 2: nodes, stages, and weights of order 5 less those of order 4
_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# Hairer, Nørsett and Wanner (1993), program DOPRI5: weights of the dense output of order 4
_WITHIN = (
    -12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
)  # fmt: skip
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Hairer, Nørsett and Wanner (1993), section II.4
_SAFETY, _SMALLEST, _LARGEST = 0.9, 0.2, 10.0


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
        Times, increasing or decreasing, with one dim. Labels are not values:
        ``dt.data(time.coords, dims=time)`` has those of a dim.
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
    DtypeError
        If the times are labels or a dim; the hint has the labels as numbers.

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
    times = as_node(t, what=f"{_NAME}: t")
    if len(times.dims) != 1:
        raise DimError(f"{_NAME}: times have one dim: {describe(times)}")
    if method not in ("dopri5", "rk4"):
        raise OptionError(f"{_NAME}: the method is 'dopri5' or 'rk4', not {method!r}")
    (dim,) = times.dims
    at = wrap(require_float(times))
    leaves, tree = flatten(y0)
    start = [wrap(require_float(as_node(x, what=f"{_NAME}: y0"))) for x in leaves]

    def slope(t: Any, y: Leaves) -> Leaves:
        value = rhs(t, unflatten(tree, y))
        found = leaves_like(tree, value, f"{_NAME}: what rhs returns")
        return [wrap(as_node(x, [a.node], f"{_NAME}: rhs"))
                for x, a in zip(found, y, strict=True)]  # fmt: skip

    if method == "rk4":
        found = _along_grid(lambda a, b, y: _classical(slope, a, b, y, steps), start, at, dim)
    else:
        found = _Control(slope, rtol, atol, max_steps).solve(start, at, dim)
    return unflatten(tree, found)


def _end_of(times: Any, dim: Dim, last: bool) -> Any:
    """Return the first or the last time; if there is none, 1, where few slopes are infinite."""
    if dim.length:
        return times.isel({dim: -1 if last else 0})
    with_one_more = times.pad({dim: (1, 0) if last else (0, 1)}, constant_values=1.0)
    (padded,) = with_one_more.dims
    return with_one_more.isel({padded: -1 if last else 0})


def _along_grid(advance: Callable[[Any, Any, Any], Any], start: Any, times: Any, dim: Dim) -> Any:
    """Compute the states at all times by a function that advances from one time to the next."""
    before = times.shift({dim: 1}, fill_value=_end_of(times, dim, last=False))
    return run_cumulate(lambda y, t: advance(t[0], t[1], y), start, (before, times), dim)


def _classical(slope: Slope, start: Any, end: Any, y: Leaves, steps: int) -> Leaves:
    """Advance a state by the classical Runge–Kutta method of order 4."""
    h = (end - start) / steps

    def step(i: Any, y: Leaves) -> Leaves:
        t = start + i * h
        k1 = slope(t, y)
        k2 = slope(t + h / 2, _moved(y, h / 2, [1.0], [k1]))
        k3 = slope(t + h / 2, _moved(y, h / 2, [1.0], [k2]))
        k4 = slope(t + h, _moved(y, h, [1.0], [k3]))
        return _moved(y, h / 6, [1.0, 2.0, 2.0, 1.0], [k1, k2, k3, k4])

    if steps == 1:
        return step(0, y)
    return fori_loop(0, steps, step, y)


def _moved(y: Leaves, h: Any, weights: Sequence[float], slopes: Sequence[Leaves]) -> Leaves:
    """Advance a state by a step along a weighted sum of slopes."""
    return [x + h * total for x, total in zip(y, _weighted(weights, slopes), strict=True)]


def _weighted(weights: Sequence[float], slopes: Sequence[Leaves]) -> Leaves:
    """Return a weighted sum of slopes."""
    terms = [(w, k) for w, k in zip(weights, slopes, strict=True) if w]
    return [
        functools.reduce(operator.add, (w * k[at] for w, k in terms))
        for at in range(len(slopes[0]))
    ]


class _Control:
    """Adaptive step size control for Dormand and Prince's method."""

    def __init__(self, slope: Slope, rtol: float, atol: float, max_steps: int):
        self.slope = slope
        self.rtol, self.atol, self.max_steps = rtol, atol, max_steps

    def solve(self, start: Leaves, times: Any, dim: Dim) -> Leaves:
        first, end = _end_of(times, dim, last=False), _end_of(times, dim, last=True)
        forward = where(end < first, -1.0, 1.0)
        before = times.shift({dim: 1}, fill_value=first)
        ordered = (forward * (times - before) >= 0).all()
        message = f"{_NAME}: times increase or decrease from the first one to the last"
        times = check(ordered, message, times)
        slopes = self.slope(first, start)
        length = self.first_length(first, end, start, slopes)
        none = [x * 0.0 for x in start]
        state = _Reached(first, start, slopes, first, start, slopes, none, length)
        return run_scan(
            _NAME,
            lambda state, t: self.advance(_Reached(*state), t, end, forward),
            tuple(state), times, dim=dim,
        )[1]  # fmt: skip

    def norm(self, errors: Leaves, scales: Leaves) -> Any:
        """Return the root mean square of errors in units of their tolerance."""
        return sqrt(self.mean_square(errors, scales))

    def mean_square(self, errors: Leaves, scales: Leaves) -> Any:
        """Return the mean square of errors in units of their tolerance, without derivatives."""
        parts = [
            (stop_gradient(e) / stop_gradient(s)) ** 2 for e, s in zip(errors, scales, strict=True)
        ]
        total = functools.reduce(operator.add, (part.sum() for part in parts))
        # a state without elements has error 0
        return total / maximum(sum(_size(s) for s in scales), 1)

    def first_length(self, t: Any, end: Any, y: Leaves, slopes: Leaves) -> Any:
        scales = [self.atol + self.rtol * abs(x) for x in y]
        size, speed = self.norm(y, scales), self.norm(slopes, scales)
        small = (size < 1e-5) | (speed < 1e-5)
        guess = where(small, 1e-6, 0.01 * size / where(small, 1.0, speed))
        forward = where(end < t, -1.0, 1.0)
        later = self.slope(t + forward * guess, _moved(y, forward * guess, [1.0], [slopes]))
        change = [b - a for a, b in zip(slopes, later, strict=True)]
        curved = self.norm(change, scales) / guess
        steepest = maximum(speed, curved)
        flat = steepest <= 1e-15
        better = where(
            flat, maximum(1e-6, guess * 1e-3), (0.01 / where(flat, 1.0, steepest)) ** (1 / 5)
        )
        return stop_gradient(minimum(100 * guess, better))

    def advance(self, state: _Reached, t: Any, end: Any, forward: Any) -> tuple[Any, Leaves]:
        """Take steps until a time is reached or passed; return the progress and the state then."""
        (*found,), finished = while_loop(
            lambda s: forward * (t - s[0]) > 0,
            lambda s: tuple(self.step(_Reached(*s), end)),
            tuple(state),
            self.max_steps,
            return_finished=True,
        )
        message = f"{_NAME}: {self.max_steps} steps are not enough between two times"
        reached = _Reached(*found)
        reached = reached._replace(t=check(finished, message, reached.t))
        return tuple(reached), reached.at(t)

    def step(self, state: _Reached, end: Any) -> _Reached:
        """Try a step; if its error is too large, reject it and shorten the next one."""
        t, y, first, length = state.t, state.y, state.slopes, state.length
        rest = end - t
        last = length >= abs(rest)
        h = where(last, rest, where(rest < 0, -length, length))
        slopes = [first]
        for node, weights in zip(_NODES, _STAGES, strict=True):
            moved = _moved(y, h, weights, slopes)
            slopes.append(self.slope(t + node * h, moved))
        errors = [h * total for total in _weighted(_ERROR, slopes)]
        scales = [
            self.atol + self.rtol * maximum(abs(a), abs(b)) for a, b in zip(y, moved, strict=True)
        ]
        square = self.mean_square(errors, scales)
        fine = square <= 1
        # the error is of order 5: to the power of -1/5, in single precision, which is fast
        power = where(square > 0, square, 1e-20).astype("float32") ** np.float32(-1 / 10)
        factor = _SAFETY * power.astype("float64")
        factor = minimum(maximum(factor, _SMALLEST), where(fine, _LARGEST, 1.0))
        # NaN or infinity: the step was much too long
        factor = where(square < np.inf, factor, _SMALLEST)
        within = [h * total for total in _weighted(_WITHIN, slopes)]
        after = _Reached(
            where(last, end, t + h), moved, slopes[-1], t, y, first, within,
            stop_gradient(abs(h)) * factor,
        )  # fmt: skip
        kept = state._replace(length=after.length)
        pairs = zip(flatten(tuple(after))[0], flatten(tuple(kept))[0], strict=True)
        return _Reached(*unflatten(flatten(tuple(after))[1], [where(fine, *x) for x in pairs]))


class _Reached(NamedTuple):
    """Progress of the solver: the last accepted step, and the size of the next one."""

    t: Any
    y: Leaves
    slopes: Leaves
    before: Any
    y_before: Leaves
    slopes_before: Leaves
    within: Leaves
    length: Any

    def at(self, t: Any) -> Leaves:
        """Interpolate the solution at a time within the last step."""
        h = self.t - self.before
        none = h == 0
        part = where(none, 0.0, (t - self.before) / where(none, 1.0, h))
        rest = 1.0 - part
        found = []
        for a, b, f, g, c in zip(
            self.y_before, self.y, self.slopes_before, self.slopes, self.within, strict=True
        ):
            change = b - a
            bent = h * f - change
            turned = change - h * g - bent
            found.append(a + part * (change + rest * (bent + part * (turned + rest * c))))
        return found


def _size(x: Any) -> Any:
    """Return the number of elements of a tensor."""
    count: Any = 1
    for dim in x.dims:
        count = count * length(dim)
    return count
