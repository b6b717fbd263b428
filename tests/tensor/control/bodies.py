"""Random steps, run by dimtensor's loops and by a Python loop over arrays of NumPy or JAX.

The expressions of a step are one text for all libraries; the loop around it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import strategies as st

import dimtensor as dt

K = dt.Dim("k", coords=["a", "b", "c"])
FILL = 0.25

OPERATIONS = {
    "add": lambda lib, a, b: a + b,
    "multiply": lambda lib, a, b: lib.tanh(a) * b,
    "divide": lambda lib, a, b: a / (1.5 + lib.cos(b)),
    "power": lambda lib, a, b: lib.tanh(a) ** 2 - b,
    "sin": lambda lib, a, b: lib.sin(a),
    "exp": lambda lib, a, b: lib.exp(-a * a),
    "where": lambda lib, a, b: lib.where(a > b, a, b * 0.5),
    "maximum": lambda lib, a, b: lib.maximum(a, b),
    "total": lambda lib, a, b: lib.tanh(b * a).sum(),
}


@dataclass(frozen=True)
class Body:
    """A step.

    Attributes
    ----------
    states, sequences : tuple of bool
        One per state or sequence: whether it has the dim `K`.
    lags : tuple of int
        By how many positions a sequence is shifted before the loop, back where negative.
    memory : int
        How many earlier values of the first state are a state, too.
    operations : tuple of (str, int, int)
        Names of operations, and which of the values so far are their operands.
    after, traced : tuple of int
        Which values are the next states and the traces.
    """

    states: tuple[bool, ...]
    sequences: tuple[bool, ...]
    lags: tuple[int, ...]
    memory: int
    operations: tuple[tuple[str, int, int], ...]
    after: tuple[int, ...]
    traced: tuple[int, ...]
    reverse: bool

    def values(self, lib: Any, given: Sequence[Any]) -> list[Any]:
        """All values of a step, from the states, the elements and what is captured."""
        pool = list(given)
        for name, i, j in self.operations:
            pool.append(OPERATIONS[name](lib, pool[i % len(pool)], pool[j % len(pool)]))
        return pool

    def next_states(self, lib: Any, pool: Sequence[Any]) -> list[Any]:
        chosen = [lib.sin(pool[i % len(pool)]) for i in self.after]
        return [x if own else x.mean() for x, own in zip(chosen, self.states, strict=True)]

    def traces(self, pool: Sequence[Any]) -> list[Any]:
        return [pool[i % len(pool)] for i in self.traced]


@st.composite
def bodies(draw: Any, sequences: int = 2) -> Body:
    flags = st.booleans()
    states = draw(st.lists(flags, min_size=1, max_size=3))
    along = draw(st.lists(flags, max_size=sequences))
    at = st.integers(0, 11)
    operation = st.tuples(st.sampled_from(sorted(OPERATIONS)), at, at)
    return Body(
        tuple(states),
        tuple(along),
        tuple(draw(st.integers(-2, 2)) for _ in along),
        draw(st.integers(0, 3)),
        tuple(draw(st.lists(operation, min_size=1, max_size=6))),
        tuple(draw(at) for _ in states),
        tuple(draw(st.lists(at, min_size=1, max_size=2))),
        draw(flags),
    )


class Loop:
    """A body as a loop over named dims, with the tensors that it takes."""

    def __init__(self, body: Body, length: int | None = None, **options: Any):
        self.body = body
        self.time = time = dt.Dim("time", length=length)
        self.a, self.c = dt.scalar("a"), dt.tensor("c", dims=K)
        self.init = [
            dt.tensor(f"s{at}", dims=[K] if own else []) for at, own in enumerate(body.states)
        ]
        self.xs = [
            dt.tensor(f"x{at}", dims=[time, K] if own else [time])
            for at, own in enumerate(body.sequences)
        ]
        # a sequence that tells the length where the body has none
        self.clock = dt.tensor("clock", dims=time)
        self.inputs = [*self.init, *self.xs, self.clock, self.a, self.c]
        lags = dt.Dim("lag", coords=range(1, body.memory + 1))
        weights = dt.data(1.0 / np.arange(1, body.memory + 1), dims=lags)

        def step(state: Any, elements: Any) -> Any:
            states, past = state
            given = [*states, *elements[1:], self.a, self.c]
            if body.memory:
                given.append((weights * past).sum(lags))
            pool = body.values(dt, given)
            after = body.next_states(dt, pool)
            past = dt.push(past, after[0].mean(), lags) if body.memory else None
            return (after, past), (states, body.traces(pool))

        past = dt.zeros(lags) if body.memory else None
        sequences = [
            x.shift({time: n}, fill_value=FILL) for x, n in zip(self.xs, body.lags, strict=True)
        ]
        (self.last, _), (self.before, self.traces) = dt.scan(
            step, (self.init, past), [self.clock, *sequences], dim=time, reverse=body.reverse,
            **options,
        )  # fmt: skip

    def loss(self) -> dt.DimTensor:
        """A scalar of the last states and of what was traced."""
        parts = [*self.last, *self.traces, self.clock]
        return sum((0.5 + at) * dt.sin(x).sum() for at, x in enumerate(parts))

    def arrays(self, rng: np.random.Generator, length: int) -> list[np.ndarray]:
        """Values of the inputs: the dim of time is the last axis but that of K."""
        shapes = [(3,) if own else () for own in self.body.states]
        shapes += [(length, 3) if own else (length,) for own in self.body.sequences]
        return [rng.normal(size=shape) for shape in [*shapes, (length,), (), (3,)]]

    def feed(self, arrays: Sequence[np.ndarray]) -> dict[dt.DimTensor, Any]:
        names = [("k",) if own else () for own in self.body.states]
        names += [("time", "k") if own else ("time",) for own in self.body.sequences]
        names += [("time",), (), ("k",)]
        return {
            x: xr.DataArray(array, dims=axes)
            for x, array, axes in zip(self.inputs, arrays, names, strict=True)
        }


class Unrolled:
    """The same steps by a Python loop over arrays of a library: `numpy` or `jax.numpy`."""

    def __init__(self, body: Body, lib: Any, arrays: Sequence[Any]):
        self.body, self.lib = body, lib
        n, m = len(body.states), len(body.sequences)
        self.init, self.clock = list(arrays[:n]), arrays[n + m]
        self.captured = list(arrays[n + m + 1 :])
        self.length = len(self.clock)
        self.xs = [
            self._shifted(x, lag) for x, lag in zip(arrays[n : n + m], body.lags, strict=True)
        ]
        self.weights = 1.0 / np.arange(1, body.memory + 1)

    def _shifted(self, x: Any, lag: int) -> Any:
        lag = max(-self.length, min(self.length, lag))
        fill = self.lib.full((abs(lag), *x.shape[1:]), FILL)
        parts = [fill, x[: self.length - lag]] if lag >= 0 else [x[-lag:], fill]
        return self.lib.concatenate(parts)

    def start(self) -> tuple[list[Any], Any]:
        return self.init, self.lib.zeros(self.body.memory)

    def step(self, t: int, states: list[Any], past: Any) -> tuple[list[Any], Any, list[Any]]:
        body, lib = self.body, self.lib
        given = [*states, *(x[t] for x in self.xs), *self.captured]
        if body.memory:
            given.append((self.weights * past).sum())
        pool = body.values(lib, given)
        after = [
            lib.broadcast_to(x, (3,) if own else ())
            for x, own in zip(body.next_states(lib, pool), body.states, strict=True)
        ]
        if body.memory:
            past = lib.concatenate([after[0].mean()[None], past[:-1]])
        return after, past, body.traces(pool)

    def order(self) -> Any:
        return reversed(range(self.length)) if self.body.reverse else range(self.length)

    def loss(self, skipped: int = 0, stop: Any = None) -> Any:
        """The scalar of `Loop.loss`; what comes from the first steps is passed through `stop`."""
        (states, past), lib = self.start(), self.lib
        n = len(states)
        total = (0.5 + n + len(self.body.traced)) * lib.sin(self.clock).sum()
        for number, t in enumerate(self.order()):
            states, past, traces = self.step(t, states, past)
            if number < skipped:
                states, past, traces = stop((states, past, traces))
            total = total + sum((0.5 + n + at) * lib.sin(x).sum() for at, x in enumerate(traces))
        return total + sum((0.5 + at) * lib.sin(x).sum() for at, x in enumerate(states))
