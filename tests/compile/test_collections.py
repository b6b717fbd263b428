"""Python's garbage collector while code is made."""

import gc

import pytest

import dimtensor as dt
from dimtensor.compile.code import compiling


def test_the_collector_looks_seldom_while_a_graph_is_lowered():
    v, c = dt.scalar("v"), dt.scalar("c")
    state = v
    for _ in range(300):
        state = dt.tanh(state * c) + v
    gradient = dt.grad(state, v)
    inside = []

    def count(phase, info):
        if phase == "start":
            inside.append(info["generation"])

    before = gc.get_threshold()
    gc.callbacks.append(count)
    try:
        dt.function([v, c], [state, gradient], backend="python")
    finally:
        gc.callbacks.remove(count)
    # 30 and more with the threshold of 2,000 new objects
    assert len(inside) < 5
    assert gc.get_threshold() == before


def test_thresholds_are_given_back():
    before = gc.get_threshold()
    assert compiling(gc.get_threshold) == (100_000, *before[1:])
    assert compiling(lambda: compiling(gc.get_threshold))[0] == 100_000
    assert gc.get_threshold() == before
    x = dt.tensor("x", dims=dt.Dim("k"))
    with pytest.raises(dt.GraphError, match="inputs that are not given"):
        dt.function([], x.sum(), backend="python")
    assert gc.get_threshold() == before


@pytest.mark.parametrize("own", [(0, 10, 10), (500_000, 5, 5)])
def test_a_collector_that_looks_less_often_is_left_as_it_is(own):
    before = gc.get_threshold()
    gc.set_threshold(*own)
    try:
        assert compiling(gc.get_threshold) == own
        assert gc.get_threshold() == own
    finally:
        gc.set_threshold(*before)
