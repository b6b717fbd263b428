"""Selections by a number that a loop does not change are decided before it."""

import re

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor.backends import compile_positional
from dimtensor.kernels.ir.nodes import For, If
from dimtensor.kernels.ir.python import Printer
from dimtensor.kernels.passes.unswitching import unswitched
from dimtensor.ops.loop import scan
from tests.kernels.reading import parsed


def rewritten(loop, after=""):
    """A loop over an array with a condition `s0`, and what follows it, after the pass."""
    inside = loop.replace("\n", "\n        ")
    source = f"def kernel(x, y, c):\n    s0 = c[0]\n    for i in range(9):\n        {inside}\n"
    source += f"    {after}\n    return ()\n"
    body = parsed(source, [("float64", 1), ("float64", 1), ("bool", 1)], {"f": "float64"}).body
    counts = iter(range(100))
    return unswitched(body, (), lambda kind: f"{kind}_{next(counts)}")


def text(statements):
    return "\n".join(Printer().lines(statements))


TWO = "t0 = x[i]\nt1 = np.log(t0)\nt2 = f(t1)\nt3 = t0 * 2.0\nt4 = t3 if s0 else t2\ny[i] = t4"


def test_each_loop_has_what_its_arm_needs():
    _, branch = rewritten(TWO)
    assert isinstance(branch, If)
    assert not branch.rare
    assert text(branch.body) == (
        "for i in range(9):\n    t0 = x[i]\n    t3 = t0 * 2.0\n    t4 = t3\n    y[i] = t4"
    )
    assert text(branch.orelse) == (
        "for i in range(9):\n    t_0 = x[i]\n    t_1 = np.log(t_0)\n    t_2 = f(t_1)\n"
        "    t_3 = t_2\n    y[i] = t_3"
    )


def test_what_is_known_to_hold_is_followed():
    known = "t5 = True if s0 else t1 > 0.0\nt6 = not t5\ny[i] = t2 if t6 else t0"
    before = "t0 = x[i]\nt1 = np.log(t0)\nt2 = f(t1)\n"
    _, branch = rewritten(before + known)
    assert text(branch.body) == "for i in range(9):\n    t0 = x[i]\n    y[i] = t0"


STATE = """def kernel(x, y, c):
    s0 = c[0]
    a = 0.0
    for i in range(9):
        t0 = x[i]
        t1 = np.log(t0)
        t2 = f(t1)
        t3 = a if s0 else t2
        a = t3
"""


@pytest.mark.parametrize("after", ["    y[0] = a\n    return ()", "    return (a,)"])
def test_a_state_that_is_read_afterwards_keeps_its_name(after):
    types = [("float64", 1), ("float64", 1), ("bool", 1)]
    function = parsed(STATE + after + "\n", types, {"f": "float64"})
    # as if nothing had a name before the loop
    statements = [each for each in function.body if each.defines != "a"]
    assert len(statements) == len(function.body) - 1
    counts = iter(range(100))
    found = unswitched(statements, function.results, lambda kind: f"{kind}_{next(counts)}")
    (branch,) = [each for each in found if isinstance(each, If)]
    for arm in (branch.body, branch.orelse):
        assert text(arm).splitlines()[-1].strip().startswith("a = ")


def test_loops_inside_are_looked_into():
    loop = "a = 0.0\nfor j in range(5):\n    " + TWO.replace("\n", "\n    ")
    _, branch = rewritten(loop.replace("y[i] = t4", "a += t4") + "\ny[i] = a")
    assert "f(" not in text(branch.body)
    assert "a += t4" in text(branch.body)
    assert "t_0 = 0.0" not in text(branch.orelse)
    assert text(branch.orelse).count("a_") == 3  # a sum has a name of its own there


def test_what_is_read_later_keeps_its_name():
    _, _, branch, _ = parsed_with_sum()
    assert "s1 +=" in text(branch.body)
    assert "s1 +=" in text(branch.orelse)


def parsed_with_sum():
    inside = TWO.replace("y[i] = t4", "s1 += t4").replace("\n", "\n        ")
    source = "def kernel(x, y, c):\n    s0 = c[0]\n    s1 = 0.0\n"
    source += f"    for i in range(9):\n        {inside}\n    y[0] = s1\n    return ()\n"
    body = parsed(source, [("float64", 1), ("float64", 1), ("bool", 1)], {"f": "float64"}).body
    return unswitched(body, (), lambda kind: f"{kind}_new")


def rows(inside):
    """What becomes of loops over rows of unknown length, with conditions `s0` and `s1`."""
    inside = inside.replace("\n", "\n        ")
    source = "def kernel(x, y, c):\n    s0 = c[0]\n    s1 = c[1]\n    for i in range(x.shape[0]):\n"
    source += f"        {inside}\n    return ()\n"
    body = parsed(source, [("float64", 2), ("float64", 2), ("bool", 1)], {"f": "float64"}).body
    counts = iter(range(100))
    return unswitched(body, (), lambda kind: f"{kind}_{next(counts)}")[-1]


def columns(counter, condition="s0"):
    taken = TWO.replace("[i]", f"[i, {counter}]").replace("s0", condition)
    return f"for {counter} in range(x.shape[1]):\n    " + taken.replace("\n", "\n    ")


def test_a_loop_of_many_rounds_inside_is_written_twice_alone():
    found = rows("a = 1.0\n" + columns("j") + "\na = a * 2.0\ny[i, 0] = a")
    assert isinstance(found, For)
    (branch,) = (each for each in found.body if isinstance(each, If))
    assert text(branch.body) == (
        "for j in range(x.shape[1]):\n    t0 = x[i, j]\n    t3 = t0 * 2.0\n    t4 = t3\n"
        "    y[i, j] = t4"
    )
    assert "f(" in text(branch.orelse)
    assert text([found]).count("a * 2.0") == 1


def test_what_only_an_arm_needs_leaves_the_outer_loop_too():
    found = rows("b = np.log(x[i, 0])\n" + columns("j").replace("f(t1)", "t1 + b"))
    assert isinstance(found, If)
    assert "log" not in text(found.body)
    assert text(found.orelse).count("log") == 2
    assert not any(isinstance(each, If) for each in found.orelse[0].body)


def test_each_of_two_loops_inside_has_its_condition():
    found = rows(columns("j") + "\n" + columns("k", "s1").replace("t", "u"))
    assert isinstance(found, For)
    first, second = found.body
    assert isinstance(first, If)
    assert isinstance(second, If)
    assert ("f(" in text(first.body), "f(" in text(second.body)) == (False, False)


def test_what_an_outer_loop_reads_keeps_its_name():
    found = rows("a = 0.0\n" + columns("j").replace("y[i, j] = t4", "a += t4") + "\ny[i, 0] = a")
    (branch,) = (each for each in found.body if isinstance(each, If))
    assert "a += t4" in text(branch.body)
    assert "a +=" in text(branch.orelse)


def test_what_an_outer_loop_reads_is_assigned_in_both_forms():
    largest = columns("j").replace("y[i, j] = t4", "a = t4 if t4 > a else a")
    found = rows("a = 0.0\n" + largest + "\ny[i, 0] = a")
    (branch,) = (each for each in found.body if isinstance(each, If))
    assert "a = t4 if t4 > a else a" in text(branch.body)
    assert re.search(r"\ba = t_\d+ if", text(branch.orelse))


@pytest.mark.parametrize(
    "loop",
    [
        "t0 = x[i]\nt1 = t0 + 1.0\ny[i] = t1 if s0 else t0",
        "t0 = x[i]\nt1 = np.log(t0)\ny[i] = t1 if s0 else t0",
        TWO.replace("y[i] = t4", "y[i] = t4 + t2"),
        TWO.replace("t4 =", "t5 = t0 > 1.0\nt4 =").replace("if s0", "if t5"),
    ],
    ids=["cheap", "one function", "needed anyway", "of the loop"],
)
def test_one_loop_is_left(loop):
    _, found = rewritten(loop)
    assert isinstance(found, For)


@pytest.mark.compiled
@pytest.mark.parametrize("n", [0, 1, 8, 9, 40, 3000])
def test_selections_by_a_number(rng, n):
    obs = dt.Dim("obs")
    x, which = dt.tensor("x", dims=obs), dt.tensor("which", dtype="bool")
    y = dt.where(which, dt.exp(dt.sin(x)) * dt.log(1 + x * x), x)
    f = dt.function([x, which], [y, (y * y).sum(), dt.grad(y.sum(), x)])
    values = rng.normal(size=n)
    for holds in (True, False):
        log = np.log1p(values**2)
        usual = np.exp(np.sin(values))
        wanted = usual * log if holds else values
        slope = usual * (np.cos(values) * log + 2 * values / (1 + values**2))
        found = [np.asarray(each) for each in f(values, holds)]
        np.testing.assert_allclose(found[0], wanted, rtol=1e-14)
        np.testing.assert_allclose(found[1], (wanted**2).sum(), rtol=1e-13)
        np.testing.assert_allclose(found[2], slope if holds else np.ones(n), rtol=1e-12)


@pytest.mark.compiled
def test_two_conditions(rng):
    obs = dt.Dim("obs")
    x = dt.tensor("x", dims=obs)
    a, b = dt.tensor("a", dtype="bool"), dt.tensor("b", dtype="bool")
    one = dt.where(a, dt.exp(dt.exp(x)), x)
    other = dt.where(b, dt.log(1 + dt.exp(x)), -x)
    f = dt.function([x, a, b], [one, other, (one * other).sum()])
    values = rng.normal(size=100)
    for first in (True, False):
        for second in (True, False):
            right = np.exp(np.exp(values)) if first else values
            right_too = np.log1p(np.exp(values)) if second else -values
            found = [np.asarray(each) for each in f(values, first, second)]
            np.testing.assert_allclose(found[0], right, rtol=1e-14)
            np.testing.assert_allclose(found[1], right_too, rtol=1e-14)
            np.testing.assert_allclose(found[2], (right * right_too).sum(), rtol=1e-12)


def test_what_writes_into_arrays_stays_in_both_forms():
    _, branch = rewritten("done = f(y)\n" + TWO)
    assert "done = f(y)" in text(branch.body)
    assert text(branch.orelse).count("f(y)") == 1


@pytest.mark.compiled
@pytest.mark.parametrize("holds", [True, False])
def test_products_of_matrices_beside_a_selection(holds, rng):
    flag, slope = pt.scalar("flag", dtype="bool"), pt.dscalar("slope")
    matrix, state = pt.dmatrix("matrix"), pt.dvector("state")

    def step(states, elements):
        usual = pt.exp(pt.sin(slope * elements[0]))
        return [matrix @ states[0] + pt.switch(flag, usual, slope)], []

    x = pt.dvector("x")
    (last,) = scan(step, [state], [x]).states
    run = compile_positional("numba", [flag, slope, matrix, state, x], [last])
    values = rng.normal(size=4), rng.normal(size=(3, 3)), rng.normal(size=3)
    wanted = values[2]
    for each in values[0]:
        wanted = values[1] @ wanted + (np.exp(np.sin(0.7 * each)) if holds else 0.7)
    found = run.call(np.asarray(holds), np.asarray(0.7), values[1], values[2], values[0])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-13)
