"""Arithmetic is IEEE's: no rewrite changes what NaN, infinities, zeros and denormals give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.values import Scalar, Value
from tests.differential.ieee import _TEMPLATES, Expression, describe, difference, expression, points
from tests.random_programs.choosing import Seeded

N = dt.Dim("n", length=len(points()[0]))
x, y = dt.tensor("x", dims=N), dt.tensor("y", dims=N)


def outside(expressions: list[Expression]) -> list[Any]:
    """The expressions, in no loop."""
    tensors = [e.of(dt, x, y) for e in expressions]
    return [t + dt.zeros(N) * 0 if not t.dims else t for t in tensors]


def in_steps(expressions: list[Expression]) -> list[Any]:
    """The expressions as what a loop with a state traces."""

    def step(state: Any, elements: Any) -> Any:
        return state * 0.5 + 1.0, tuple(e.of(dt, *elements) for e in expressions)

    return list(dt.scan(step, 0.0, (x, y), dim=N)[1])


def in_branches(expressions: list[Expression]) -> list[Any]:
    """The expressions as what a branch gives that is taken."""
    return list(
        dt.if_else(
            dt.isnan(x).any(),
            lambda: tuple(outside(expressions)),
            lambda: tuple(outside([Expression(f"-({e.text})") for e in expressions])),
        )
    )


def wrong(
    expressions: list[Expression],
    backend: str,
    place: Callable[[list[Expression]], list[Any]] = outside,
) -> list[str]:
    """Where a function of all the expressions gives something else than NumPy."""
    found = dt.function([x, y], place(expressions), backend=backend)(*points())
    lines = []
    for e, result in zip(expressions, found, strict=True):
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(e.of(np, *points()), result.shape).astype(float)
        at = difference(result.values.astype(float), expected, signs=backend != "jax")
        if backend == "jax":
            at &= ~flushed() & ~((np.abs(expected) < 2.3e-308) & (expected != 0))
        if at.any():
            lines.append(describe(e.text, result.values, expected, at))
    return lines


def flushed() -> np.ndarray:
    """Where a denormal is among the operands, or near: XLA takes them for zero on processors.

    It also takes ``x + 0`` for x, and one zero for the other in a maximum.
    """
    return np.any([(np.abs(p) < 1e-290) & (p != 0) for p in points()], axis=0)


@pytest.fixture
def unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code that rounds products before they are added, as NumPy does.

    Rounded once, a sum may be a number where the product alone overflows, or vanishes.
    """

    def separate(self: Builder, operator: str, a: Value, b: Value, type_: Scalar) -> Value:
        name = {"+": "fadd", "-": "fsub"}[operator]
        return Value(self.let(f"{name} {type_.llvm} {a.text}, {b.text}"), type_)

    monkeypatch.setattr(Builder, "_fused", separate)


SINGLE = [Expression(template.format("x", "y", "(x * y)")) for template in _TEMPLATES]


def test_templates_on_python() -> None:
    assert not wrong(SINGLE, "python")


def test_random_expressions_on_python() -> None:
    assert not wrong([expression(Seeded(seed), 4) for seed in range(60)], "python")


@pytest.mark.compiled
def test_templates_on_numba() -> None:
    assert not wrong(SINGLE, "numba")


@pytest.mark.compiled
@pytest.mark.usefixtures("unfused")
def test_random_expressions_on_numba() -> None:
    assert not wrong([expression(Seeded(seed), 4) for seed in range(40)], "numba")


@pytest.mark.compiled
def test_templates_on_jax() -> None:
    # XLA divides by the product of two divisors
    exact = [e for e in SINGLE if e.text != "(x / y / (x * y))"]
    assert not wrong(exact, "jax")


@pytest.mark.parametrize("place", [in_steps, in_branches])
@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
@pytest.mark.usefixtures("unfused")
def test_random_expressions_in_loops_and_branches(place: Any, backend: str) -> None:
    assert not wrong([expression(Seeded(seed), 4) for seed in range(60, 100)], backend, place)


@pytest.mark.fuzz
@pytest.mark.compiled
@pytest.mark.usefixtures("unfused")
@pytest.mark.parametrize("place", [in_steps, in_branches])
@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("start", range(1100, 1500, 100))
def test_many_random_expressions_in_loops_and_branches(
    start: int, backend: str, place: Any
) -> None:
    expressions = [expression(Seeded(seed), 5) for seed in range(start, start + 100)]
    assert not wrong(expressions, backend, place)


@pytest.mark.fuzz
@pytest.mark.compiled
@pytest.mark.usefixtures("unfused")
@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("start", range(100, 1100, 100))
def test_many_random_expressions(start: int, backend: str) -> None:
    assert not wrong([expression(Seeded(seed), 5) for seed in range(start, start + 100)], backend)
