"""A graph written as a block inside another function, as the body of a loop is."""

import math

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph

from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.kernels.emit.shared import Shared
from dimtensor.kernels.ir.make import ONE, number, op
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Array,
    Assign,
    Fill,
    For,
    Function,
    Length,
    Load,
    Part,
    Var,
)
from dimtensor.kernels.ir.python import Printer, printed
from dimtensor.kernels.rules.elementwise import Place
from dimtensor.optimize.plan.plan import Plan
from tests.kernels.interpret import interpreted

rng = np.random.default_rng(0)
STATE, DATA, RATE = pt.dvector("state"), pt.dvector("data"), pt.dscalar("rate")
STEPS, SIZE = 6, 4


def body():
    """A state that moves to the data, what it costs, and a vector that is used inside only."""
    near = pt.exp(-pt.sqr(DATA - STATE))
    moved = STATE + RATE * (DATA - STATE) * near / near.sum()
    return FunctionGraph([STATE, DATA, RATE], [moved, pt.sqr(near).sum()], clone=False)


XS, TRACE = Array("xs", "float64", 2), Array("trace", "float64", 2)
T, TOTAL = Var("t", "int64"), Var("total", "float64")
NEXT = op("+", T, ONE)


def loop(emitter, results):
    """Statements that run a block for each row of an array."""
    inside = For(T, Length(XS, 0), (*emitter.lines, *results))
    return (*emitter.early, inside)


def written():
    graph = body()
    moved, cost = graph.outputs
    emitter = Emitter(Plan(graph), Shared(), {moved: Place(TRACE, (NEXT,))})
    emitter.bind(STATE, Place(TRACE, (T,)))
    emitter.bind(DATA, Place(XS, (T,)))
    rate = Var("rate", "float64")
    emitter.bind(RATE, rate)
    emitter.write()
    assert emitter.place(moved).whole == Part(TRACE, (NEXT,))
    statements = loop(emitter, [Accumulate("+", TOTAL, emitter.scalar(cost))])
    given = Array("given", "float64", 0)
    start = [Assign(rate, Load(given, ())), Assign(TOTAL, number(0, "float64"))]
    return printed(Function("f", (XS, given, TRACE), (*start, *statements), (TOTAL,)))


def expected(xs, rate, start):
    trace, total = [start], 0.0
    for x in xs:
        near = np.exp(-((x - trace[-1]) ** 2))
        trace.append(trace[-1] + rate * (x - trace[-1]) * near / near.sum())
        total += (near**2).sum()
    return total, np.array(trace)


def check(function):
    xs, start = rng.normal(size=(STEPS, SIZE)), rng.normal(size=SIZE)
    trace = np.zeros((STEPS + 1, SIZE))
    trace[0] = start
    (total,) = function(xs, np.array(0.3), trace)
    for found, exact in zip((total, trace), expected(xs, 0.3, start), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_a_block_in_a_loop():
    namespace = {"np": np, "math": math}
    exec(written(), namespace)
    check(namespace["f"])


@pytest.mark.compiled
def test_a_block_in_a_compiled_loop():
    import numba

    namespace = {"np": np, "math": math}
    exec(written(), namespace)
    check(numba.njit(namespace["f"]))


def test_memory_is_made_before_the_loop():
    before, inside = written().split("for t0 in")
    assert before.count("np.empty") == 1
    assert "np.empty" not in inside
    assert "np.zeros" not in inside


def test_what_is_added_up_is_cleared_in_each_step():
    m, total = pt.dmatrix("m"), pt.dvector("total")
    graph = FunctionGraph([m, total], [total + m.sum(axis=0)], clone=False)
    (out,) = graph.outputs
    totals = Array("totals", "float64", 2)
    rows = Array("xs", "float64", 3)
    emitter = Emitter(Plan(graph), Shared(), {out: Place(totals, (NEXT,))})
    emitter.bind(m, Place(rows, (T,)))
    emitter.bind(total, Place(totals, (T,)))
    emitter.write()
    statements = (*emitter.early, For(T, Length(rows, 0), tuple(emitter.lines)))
    namespace = {"np": np}
    exec(printed(Function("f", (rows, totals), statements, ())), namespace)
    xs, totals = rng.normal(size=(3, 2, 4)), np.zeros((4, 4))
    namespace["f"](xs, totals)
    np.testing.assert_allclose(totals[1:], np.cumsum(xs.sum(axis=1), axis=0), rtol=1e-12)


def test_an_output_that_is_an_input_is_copied_to_where_it_is_to_be():
    graph = FunctionGraph([STATE], [STATE], clone=False)
    emitter = Emitter(Plan(graph), Shared(), {STATE: Place(TRACE, (NEXT,))})
    emitter.bind(STATE, Place(TRACE, (T,)))
    emitter.write()
    assert emitter.lines == [Fill(Part(TRACE, (NEXT,)), Part(TRACE, (T,)))]
    assert Printer().lines(emitter.lines) == ["trace[t + 1, ...] = trace[t]"]


def test_two_blocks_share_names_and_constants():
    table = pt.constant(np.arange(4.0))
    v = pt.dvector("v")
    shared = Shared()
    names = set()
    for _ in range(2):
        graph = FunctionGraph([v], [v * table + 1.0], clone=False)
        emitter = Emitter(Plan(graph), shared)
        emitter.bind(v, Place(Array("xs", "float64", 1)))
        emitter.write()
        names.add(emitter.place(graph.outputs[0]).name)
    assert len(names) == 2
    assert len(shared.constants) == 1


def test_dead_arrays_are_overwritten():
    m = pt.dmatrix("m")
    columns = m.sum(axis=0)
    function = interpreted([m], [pt.exp(columns) * 2.0])
    assert function.source.count("np.zeros") == 1
    assert "np.empty" not in function.source
    array = rng.normal(size=(3, 4))
    np.testing.assert_allclose(function(array)[0], 2 * np.exp(array.sum(axis=0)), rtol=1e-12)


def test_arrays_that_are_read_again_are_not_overwritten():
    m = pt.dmatrix("m")
    columns = m.sum(axis=0)
    outputs = [pt.exp(columns) * 2.0, columns, (columns[::-1] - columns) * columns]
    function = interpreted([m], outputs)
    array = rng.normal(size=(3, 4))
    sums = array.sum(axis=0)
    found = function(array)
    for one, other in zip(found, [2 * np.exp(sums), sums, (sums[::-1] - sums) * sums], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert not any(np.shares_memory(found[i], found[j]) for i, j in [(0, 1), (0, 2), (1, 2)])


def test_a_mirrored_array_is_not_overwritten_while_it_is_read():
    m = pt.dmatrix("m")
    columns = m.sum(axis=0)
    array = rng.normal(size=(3, 4))
    sums = array.sum(axis=0)
    (found,) = interpreted([m], [(columns[::-1] - columns) * columns])(array)
    np.testing.assert_allclose(found, (sums[::-1] - sums) * sums, rtol=1e-12)
