"""Derivatives of programs by an imaginary step, and by differences of those, in NumPy alone.

The first derivative is the imaginary part of the value for an imaginary step of 1e-20, exact to
rounding (Squire and Trapp, 1998, "Using complex variables to estimate derivatives of real
functions"). Derivatives of that are central differences of five points (Abramowitz and Stegun,
25.3.6). A difference over points that decide differently somewhere is none: :class:`Kink`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.differential.named import Named, NumPy, elementwise, union
from tests.differential.program import Program, run

IMAGINARY = 1e-20
STEP = 2e-4

Key = frozenset  # numbers of the values that are moved together: those of one tensor
Shifts = Mapping[Key, Named]


class Kink(Exception):
    """The function has no derivative here that differences could find."""


@dataclass
class Loss:
    """A scalar of some values, ``sum(sin(c * v))`` with a number for each."""

    outputs: tuple[int, ...]

    def factors(self) -> list[float]:
        return [1.07 + 0.13 * at for at in range(len(self.outputs))]

    def array(self, env: Mapping[int, Named]) -> Any:
        pairs = zip(self.outputs, self.factors(), strict=True)
        return sum((np.sin(env[at].data * c).sum() for at, c in pairs), np.float64(0.0))

    def tensor(self, values: Mapping[int, Any]) -> Any:
        import dimtensor as dt

        total = dt.zeros()
        for at, c in zip(self.outputs, self.factors(), strict=True):
            total = total + dt.sin(values[at] * c).sum()
        return total


class Oracle:
    """Values and derivatives of a program at a point.

    ``step`` is that of differences, shorter for what is steep.
    """

    step = STEP

    def __init__(self, program: Program, point: Mapping[int, Named] | None = None):
        self.program = program
        self.point = dict(program.point if point is None else point)
        self.env, self.decisions, self.margin = self.at({})
        self._moved: dict[Any, dict[int, Named]] = {}

    def at(self, shifts: Shifts) -> tuple[dict[int, Named], list[bytes], float]:
        """All values where some inputs and intermediates are shifted."""
        lib = NumPy()
        # values of one tensor are one variable, also where one of them is computed from another
        moved = {
            at: elementwise(lib, lambda a, b: a + b, self.value(key), shift)
            for key, shift in shifts.items()
            for at in key
        }
        lib.override = moved.get  # type: ignore[attr-defined]
        point = {at: moved.get(at, value) for at, value in self.point.items()}
        env = run(self.program, point, lib)
        return env, lib.decisions, lib.margin

    @property
    def defined(self) -> bool:
        """Whether all values exist and no decision is close."""
        found = all(np.all(np.isfinite(value.data)) for value in self.env.values())
        return found and self.margin >= 1e-3

    def smooth(self, shifts: Shifts) -> dict[int, Named]:
        env, decisions, _ = self.at(shifts)
        if decisions != self.decisions:
            raise Kink
        return env

    def value(self, key: Key) -> Named:
        """What the values of a key are: one of them, they are equal."""
        return self.env[min(key)]

    def directional(
        self, what: Callable[[Mapping[int, Named]], Any], along: Shifts, base: Shifts | None = None
    ) -> Any:
        """Derivative of a function of the values, from a base, in a direction."""
        shifts = {key: scaled(1j * IMAGINARY, v) for key, v in along.items()}
        return np.imag(what(self.smooth(added(base or {}, shifts)))) / IMAGINARY

    def gradient(self, loss: Loss, key: Key, base: Shifts | None = None) -> Named:
        """Gradient of a loss, element by element."""
        like = self.value(key)
        found = np.zeros(np.shape(like.data))
        for index in np.ndindex(found.shape):
            env = self._moved.get((key, index)) if base is None else None
            if env is None:
                unit = np.zeros(found.shape, dtype=complex)
                unit[index] = 1j * IMAGINARY
                env = self.smooth(added(base or {}, {key: Named(like.dims, unit)}))
            if base is None:  # other losses ask for the same values
                self._moved[key, index] = env
            found[index] = np.imag(loss.array(env)) / IMAGINARY
        return Named(like.dims, found)

    def hessian(self, loss: Loss, key: Key) -> Named:
        """The second time with primes."""
        like = self.value(key)
        found = np.zeros((*np.shape(like.data), *np.shape(like.data)))
        for index in np.ndindex(np.shape(like.data)):
            unit = np.zeros(np.shape(like.data))
            unit[index] = 1.0
            along = {key: Named(like.dims, unit)}
            column = self.along(lambda base: self.gradient(loss, key, base).data, along)
            found[(..., *index)] = column
        return Named((*like.dims, *[f"{d}'" for d in like.dims]), found)

    def along(self, function: Callable[[Shifts], Any], direction: Shifts) -> Any:
        """Derivative of a function of shifts, by differences of five points."""
        step = self.step

        def moved(by: float) -> Any:
            return function({key: scaled(by * step, v) for key, v in direction.items()})

        return (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)


def scaled(factor: Any, value: Named) -> Named:
    return Named(value.dims, factor * value.data)


def added(one: Shifts, other: Shifts) -> Shifts:
    """Shifts on top of each other."""
    result = dict(one)
    for key, shift in other.items():
        own = result.get(key)
        result[key] = shift if own is None else elementwise(NumPy(), lambda a, b: a + b, own, shift)
    return result


def inner(lib: Any, one: Named, other: Named) -> Any:
    """Sum of the product."""
    assert set(one.dims) == set(other.dims)
    dims = tuple(union(one, other))
    product = elementwise(lib, lambda a, b: a * b, one, other)
    assert product.dims == dims
    return product.data.sum()


def single(numbers: Sequence[int]) -> list[Key]:
    """A key for each value."""
    return [frozenset([at]) for at in numbers]
