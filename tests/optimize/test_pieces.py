"""Pieces that are added to zeros side by side are joined."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.basic import Join

from dimtensor.backends import python as interpreter
from dimtensor.backends.jax import compile_positional
from dimtensor.optimize.pieces import join_pieces

A, B, ROW = pt.tensor("a", shape=(3,)), pt.tensor("b", shape=(2,)), pt.tensor("row", shape=(4,))
NUMBER, AT = pt.dscalar("number"), pt.lscalar("at")


def inc(x, places, value):
    return pt.inc_subtensor(x[places], value)


def after(outputs, inputs=(A, B, ROW, NUMBER, AT)):
    graph = FunctionGraph(list(inputs), outputs, clone=True)
    join_pieces(graph)
    return graph


a = np.array([1.5, np.nan, -np.inf])
b = np.array([0.25, np.inf])
row = np.array([-1.0, 2.0, np.nan, 3.0])
VALUES = [a, b, row, np.float64(0.7), np.int64(5)]
JOINED = {
    "all": (inc(inc(pt.zeros(5), slice(0, 3), A), slice(3, None), B), [*a, *b]),
    "from the end": (inc(inc(pt.zeros(5), slice(-2, None), B), slice(None, 3), A), [*a, *b]),
    "with gaps": (
        inc(inc(pt.zeros(9), slice(1, 4), A), slice(5, 7), B),
        [0.0, *a, 0.0, *b, 0.0, 0.0],
    ),
    "rows": (
        inc(inc(inc(pt.zeros((3, 4)), 2, ROW), 0, 2 * ROW), 1, ROW + 1.0),
        [2 * row, row + 1.0, row],
    ),
    "columns": (
        inc(inc(pt.zeros((4, 2)), (slice(None), 1), ROW), (slice(None), 0), 2 * ROW),
        np.transpose([2 * row, row]),
    ),
    "numbers": (inc(inc(pt.zeros(3), 2, NUMBER), 0, 2 * NUMBER), [1.4, 0.0, 0.7]),
}
LEFT = {
    "one": inc(pt.zeros(5), slice(0, 3), A),
    "twice": inc(inc(pt.zeros(5), slice(0, 3), A), slice(2, 4), B),
    "in another order": inc(inc(pt.zeros(6), slice(0, 3), A), slice(None, 3, -1), B),
    "apart": inc(inc(pt.zeros(6), slice(0, 3), A), slice(3, 6, 2), B),
    "other axes": inc(inc(pt.zeros((4, 4)), 0, ROW), (slice(None), 1), ROW),
    "corners": inc(inc(pt.zeros((4, 4)), (0, slice(2)), B), (3, slice(2)), B),
    "ones": inc(inc(pt.ones(5), slice(0, 3), A), slice(3, None), B),
    "repeated": inc(inc(pt.zeros(5), slice(0, 3), NUMBER), slice(3, None), B),
    "unknown length": inc(inc(pt.zeros(AT), slice(0, 3), A), slice(3, 5), B),
    "unknown place": inc(inc(pt.zeros((5, 4)), AT, ROW), 0, ROW),
    "by a list": inc(inc(pt.zeros(5), slice(0, 3), A), pt.constant([3, 4]), B),
    "set": pt.set_subtensor(inc(pt.zeros(5), slice(0, 3), A)[3:], B),
}


@pytest.mark.parametrize("case", JOINED)
def test_pieces_side_by_side_are_joined(case):
    x, wanted = JOINED[case]
    graph = after([x])
    kinds = [type(node.op).__name__ for node in graph.apply_nodes]
    assert kinds.count("Join") == 1
    assert "IncSubtensor" not in kinds
    (found,) = interpreter.compile_positional(graph.inputs, graph.outputs).call(*VALUES)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("case", LEFT)
def test_others_stay(case):
    assert not any(isinstance(node.op, Join) for node in after([LEFT[case]]).apply_nodes)


def test_what_is_read_before_it_is_whole_stays():
    first = inc(pt.zeros(5), slice(0, 3), A)
    graph = after([inc(first, slice(3, None), B), first])
    assert not any(isinstance(node.op, Join) for node in graph.apply_nodes)


@pytest.mark.compiled
def test_on_jax():
    outputs = [x for x, _ in JOINED.values()]
    found = compile_positional([A, B, ROW, NUMBER, AT], outputs).call(*VALUES)
    for one, (_, wanted) in zip(found, JOINED.values(), strict=True):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.compiled
def test_sums_with_zero_are_no_negative_zeros():
    x = inc(inc(pt.zeros(5), slice(0, 3), A), slice(3, None), B)
    given = np.array([-0.0, 1.0, -2.0]), np.array([0.0, -0.0])
    (found,) = compile_positional([A, B], [x]).call(*given)
    np.testing.assert_array_equal(np.signbit(found), [False, False, True, False, False])
