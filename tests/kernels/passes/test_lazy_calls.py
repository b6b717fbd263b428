"""Calls that one arm of a selection alone needs are made where it is selected."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

import dimtensor as dt
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.kernels.ir.parse import parsed
from dimtensor.kernels.ir.python import Printer
from dimtensor.kernels.passes.lazy_calls import on_demand


def rewritten(text, needed):
    """The body of a loop whose calls, of `f`, are made on demand."""
    stores = [f"v[i] = {name}" for name in needed]
    body = "\n        ".join(["t0 = x[i]", *text.splitlines(), *stores])
    source = f"def kernel(x, v):\n    for i in range(7):\n        {body}\n    return ()\n"
    (loop,) = parsed(source, [("float64", 1)] * 2, {"f": "float64"}).body
    (new,) = on_demand([loop.replace(is_parallel=True)], (), str)
    _, *statements = new.body
    return "\n".join(Printer().lines(statements[: -len(stores)]))


def test_a_call_waits_for_its_condition():
    text = "t1 = f(t0)\nt2 = t1 * 2.0\nt3 = t0 > 1.0\nt4 = t2 if t3 else t0"
    wanted = "t3 = t0 > 1.0\nt1 = f(t0) if t3 else 0.0\nt2 = t1 * 2.0\nt4 = t2 if t3 else t0"
    assert rewritten(text, ["t4"]) == wanted
    other = text.replace("t2 if t3 else t0", "t0 if t3 else t2")
    assert "t1 = 0.0 if t3 else f(t0)" in rewritten(other, ["t4"])


@pytest.mark.parametrize("other", ["0.0", "2.5", "(-np.inf)", "t0 + 1.0", "f(t0 + 1.0)"])
def test_what_the_other_arm_is_does_not_matter(other):
    text = f"t1 = f(t0)\nt3 = t0 > 1.0\nt4 = t1 if t3 else {other}"
    assert "t1 = f(t0) if t3 else 0.0" in rewritten(text, ["t4"])


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("t1 = f(t0)\nt3 = t0 > 1.0\nt4 = t1 if t3 else t0", ["t4", "t1"]),
        ("t1 = f(t0)\nt3 = t0 > 1.0\nt4 = t1 if t3 else t1", ["t4"]),
        ("t1 = f(t0)\nt3 = t1 > 1.0\nt4 = t1 if t3 else t0", ["t4"]),
        ("t1 = f(t0)\nt3 = t0 > 1.0\nt4 = t1 if t3 else t0\nt5 = t1 + t0", ["t4", "t5"]),
        ("t1 = f(t0)\nt2 = t1 + t0", ["t2"]),
    ],
)
def test_a_call_that_is_needed_is_made(text, needed):
    assert rewritten(text, needed) == text


def branches(x):
    return pt.switch(x > 0, pt.arcsinh(x), pt.switch(x < -3, x * 2, pt.j0(x)))


def expected(x):
    with np.errstate(all="ignore"):
        return np.where(x > 0, np.arcsinh(x), np.where(x < -3, 2 * x, special.j0(x)))


@pytest.mark.compiled
@pytest.mark.parametrize("n", [0, 1, 5, 700])
def test_values_and_gradients(n, rng):
    x = pt.dvector("x")
    value = branches(x)
    kernel = compile_kernel([x], [value, value.sum(), pytensor.grad(value.sum(), x)])
    assert kernel.source.count(" if t") > 2
    at = rng.uniform(-6, 6, n)
    found = kernel.native.bind(kernel.constants)(at)
    np.testing.assert_allclose(found[0], expected(at), rtol=1e-12)
    np.testing.assert_allclose(found[1], expected(at).sum(), rtol=1e-11)
    left = np.where(at < -3, 2.0, -special.j1(at))
    slope = np.where(at > 0, 1 / np.sqrt(1 + at**2), left)
    np.testing.assert_allclose(found[2], slope, rtol=1e-9)


@pytest.mark.compiled
def test_a_function_runs_only_where_it_is_selected():
    """With a condition that has dims; the source says what is called when."""
    x = dt.tensor("x", dims=dt.Dim("k"))
    y = dt.if_else(x > 1, dt.arccosh, lambda x: 2 * x, x)
    f = dt.function([x], y)
    (line,) = [line for line in f.source.splitlines() if "acosh(" in line]
    assert " if t" in line
    at = np.array([-2.0, 0.5, 3.0])
    np.testing.assert_allclose(f(at), [-4.0, 1.0, np.arccosh(3.0)])
