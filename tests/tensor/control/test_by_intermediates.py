"""Gradients by what a loop takes: an input, something computed, a slice, at any length."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import CheckAndRaise

import dimtensor as dt
from dimtensor.ops.loop import build_scan
from dimtensor.ops.loop.spec import StepGraph
from tests.backend_names import LONG_JAX

STEPS = 3
LENGTHS = [1, 8, 9, 40, None]


def given(what: str, length: int | None, at: dt.Dim) -> tuple[dt.DimTensor, dt.DimTensor]:
    """An input, and what is made of it along a dim."""
    if what == "slice":
        flat = dt.Dim("flat", length=None if length is None else 2 * length)
        x = dt.tensor("x", dims=flat)
        part = x.isel(flat=slice(0, -9 if length is None else length))
        return x, part.relabel(*part.dims, at)
    x = dt.tensor("x", dims=at)
    return x, x if what == "input" else dt.exp(x)


def of_loop(role: str, y: dt.DimTensor, c: dt.Dim) -> dt.DimTensor:
    day = dt.Dim("day", length=STEPS)
    if role == "captured":
        s = dt.reduce(lambda s, _: 0.5 * s + y, dt.zeros_like(y), dim=day)
    elif role == "carried":
        s = dt.reduce(lambda s, _: 0.5 * s, y, dim=day)
    else:
        s = dt.reduce(lambda s, e: 0.5 * s + e, 0.0, y, dim=c)
    return -(s**2).sum()


def expected(role: str, y: np.ndarray) -> np.ndarray:
    if role == "sequence":
        weights = 0.5 ** np.arange(len(y))[::-1]
        return -2 * (weights @ y) * weights
    factor = 1 + 0.5 + 0.25 if role == "captured" else 0.5**STEPS
    return -2 * factor**2 * y


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("role", ["captured", "carried", "sequence"])
def test_gradients_by_what_a_loop_takes(role, backend):
    for length in LENGTHS:
        for what in ("input", "computed", "slice"):
            c = dt.Dim("c", length=length)
            x, y = given(what, length, c)
            gradient = dt.grad(of_loop(role, y, c), y)
            n = length or 9
            values = np.linspace(-0.5, 0.7, 2 * n if what == "slice" else n)
            found = dt.function([x], gradient, backend=backend)(values)
            at = np.exp(values) if what == "computed" else values[:n]
            np.testing.assert_allclose(
                found.values, expected(role, at), rtol=1e-12, atol=1e-15,
                err_msg=f"{what}, {length}",
            )  # fmt: skip


@pytest.mark.parametrize("backend", LONG_JAX)
def test_second_derivatives_by_a_slice_that_a_loop_captures(backend):
    c, day = dt.Dim("c", length=9), dt.Dim("day", length=STEPS)
    x, y = given("slice", 9, c)
    s = dt.reduce(lambda s, _: s * y, dt.ones_like(y), dim=day)  # its cube
    second = dt.grad(dt.grad(s.sum(), y).sum(), y)
    values = np.linspace(-0.5, 0.7, 18)
    found = dt.function([x], second, backend=backend)(values)
    np.testing.assert_allclose(found.values, 6 * values[:9], rtol=1e-12)


def test_what_a_check_gives_is_captured_as_it_is():
    x = pt.dvector("x")
    y = CheckAndRaise(ValueError, "negative")(x, pt.all(x >= 0))
    s = pt.dvector("s")
    step = StepGraph([s], [], [0.5 * s + y], captured=[y])
    result = build_scan(pt.constant(3), step, [pt.zeros_like(x)], [])
    gradient = pt.grad(result.states[0].sum(), y)
    assert gradient.eval({x: [1.0, 2.0]}, mode="FAST_COMPILE").tolist() == [1.75, 1.75]


@pytest.mark.parametrize("what", ["check", "loop", "tolerance"])
def test_gradients_by_what_is_checked_before_a_loop(what):
    """What a step reads is not computed in it again, where no derivative by it would be seen."""
    c, day = dt.Dim("c", length=4), dt.Dim("day", length=STEPS)
    x = dt.tensor("x", dims=c)
    values = np.linspace(0.5, 1.1, 4)
    if what == "check":
        y, at = dt.check(x > 0.0, "positive", 2.0 * x), 2.0 * values
    elif what == "loop":
        safe = dt.check(x > 0.0, "positive", x)
        y, at = dt.reduce(lambda s, _: s + safe, x, dim=day), (STEPS + 1) * values
    else:  # an integration checks that it comes to its end
        times = dt.data([0.0, 0.3], dims=dt.Dim("time"))
        y = dt.ode(lambda t, s: -s, x, times, method="dopri5", rtol=1e-12, atol=1e-12)
        y, at = y.isel(time=1), values * np.exp(-0.3)
    for backend in ("python", "numba"):
        for role in ("captured", "carried"):
            gradient = dt.grad(of_loop(role, y, c), y)
            found = dt.function([x], gradient, backend=backend)(values)
            np.testing.assert_allclose(found.values, expected(role, at), rtol=1e-10)
        whole = dt.if_else(x.sum() > 0.0, lambda: (y**2).sum(), lambda: y.sum())
        found = dt.function([x], dt.grad(whole, y), backend=backend)(values)
        np.testing.assert_allclose(found.values, 2 * at, rtol=1e-10)
