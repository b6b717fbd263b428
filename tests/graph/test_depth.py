"""Deep expressions: no walk over the dims graph recurses, and all are linear."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.program import build_program
from dimtensor.graph.checking import positions
from dimtensor.graph.checking.positions import source_leaves
from dimtensor.graph.walk import toposort

# more than Python's limit of recursion once PyTensor is there
N = 3_500
DEEP = 10_000
# more than a limit that is set lower, so that most expressions need not be as deep
SHALLOW = 600
K, J, LATE = dt.Dim("k", length=3), dt.Dim("j", length=3), dt.Dim("late")
X, C = dt.scalar("x"), dt.scalar("c")
V, W = dt.tensor("v", dims=K), dt.tensor("w", dims=LATE)
TURN = dt.data(np.array([2, 0, 1]), dims=K)

STEPS: dict[str, tuple[dt.DimTensor, Callable[[dt.DimTensor], dt.DimTensor]]] = {
    "sums": (X, lambda s: s + X),
    "products and differences": (X, lambda s: s * C - X),
    "signs": (X, lambda s: -s),
    "selections": (X, lambda s: dt.where(s > 0, s, C)),
    "checks": (X, lambda s: dt.check(s > -9, "m", s) * C),
    "look-ups": (V, lambda s: s.isel(k=TURN)),
    "slices": (V, lambda s: s.isel(k=slice(None, None, -1))),
    "renames": (V, lambda s: s.relabel(K, J).relabel(J, K)),
    "reductions": (V, lambda s: s.sum() * V),
    "updates": (V, lambda s: s.isel(k=0).set(X)),
    "late lengths": (W, lambda s: s * C + W),
    "lags": (W, lambda s: s.shift({LATE: 1}, fill_value=0.0)),
}


def chain(name: str, n: int = N) -> dt.DimTensor:
    s, step = STEPS[name]
    for _ in range(n):
        s = step(s)
    return s


@pytest.fixture
def little_stack():
    """A limit of recursion that leaves a few hundred calls above those that are open."""
    known = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 400)
    yield
    sys.setrecursionlimit(known)


@pytest.mark.parametrize("name", STEPS)
def test_what_is_deep_is_built_shown_stored_and_differentiated(name, little_stack):
    n = N if name == "products and differences" else SHALLOW
    s = chain(name, n)
    assert len(repr(s)) < 1000
    assert "<" in s._repr_html_()
    assert dt.dprint(s, file="str").count("\n") >= n
    assert pickle.loads(pickle.dumps(s)) is s
    start, _ = STEPS[name]
    assert dt.substitute(s, {start: start + 1.0}) is not s
    batched = dt.vectorize(s, {start: dt.Dim("draw", length=2)})
    assert "draw" in [dim.name for dim in batched.dims]
    gradient = dt.grad(s.sum() if s.dims else s, start)
    assert repr(gradient)
    assert pickle.loads(pickle.dumps(gradient)) is gradient
    outputs = [s.node, gradient.node]
    inputs = [x.node for x in dt.inputs_of([s, gradient])]
    assert describe_graph(inputs, outputs).fingerprint


@pytest.mark.parametrize("name", ["signs", "look-ups"])
def test_what_is_deep_is_lowered_and_runs(name):
    s = chain(name, DEEP)
    found = s.eval({V: [1.0, 2.0, 3.0]} if s.dims else {X: 0.5})
    expected = {"signs": 0.5, "look-ups": [3.0, 1.0, 2.0]}
    np.testing.assert_allclose(found, expected[name])


def test_the_gradient_of_what_is_deep():
    s = chain("sums", N)
    assert dt.grad(s, X).eval({X: 0.5}).item() == N + 1


def test_what_a_loop_captures_and_its_body_are_deep(little_stack):
    """Operands are read twice, too: who walks along all paths does not end."""

    def deep(x: dt.DimTensor) -> dt.DimTensor:
        for _ in range(SHALLOW):
            x = dt.tanh(x) * (x + 1.0)
        return x

    x = deep(C)
    total = dt.reduce(lambda s, v: deep(s * x + v), 0.0, V, dim=K)
    found = dt.grad(total, C).eval({V: np.zeros(3), C: 0.0})
    assert found.item() == 0.0  # x is 0 where C is, and so is every state


def test_an_indexer_is_deep():
    positions = dt.tensor("i", dims=K, dtype="int64")
    deep = positions
    for _ in range(N):
        deep = deep.isel(k=TURN)
    assert source_leaves(deep.node) == [positions.node]
    picked = V.isel(k=deep)
    program = build_program([V.node, positions.node], [picked.node])
    assert program.indexed
    assert pickle.loads(pickle.dumps(dt.grad(picked.sum(), V))).dims == (K,)


def test_gradients_by_many_variables_are_searched_for_positions_once(monkeypatch):
    searched = []

    def counted(*asked):
        searched.append(asked)
        return toposort(*asked)

    monkeypatch.setattr(positions, "toposort", counted)
    variables = [dt.scalar(f"x{at}") for at in range(50)]
    at = dt.tensor("at", dims=K, dtype="int64")
    value = sum((x * V.isel(k=at)).sum() for x in variables)
    slopes = dt.grad(value, variables)
    assert positions.indexed_leaves([x.node for x in slopes]) == [(at.node, K)]
    assert len(searched) == 2  # the graph, and the function that is differentiated


def test_conditionals_in_conditionals():
    def nested(depth, x):
        return dt.if_else(x > depth, lambda: nested(depth - 1, x) * X, lambda: x) if depth else x

    y = nested(20, C)
    assert pickle.loads(pickle.dumps(y)) is y
    assert repr(y)
    slope = dt.grad(y, X)
    assert slope.eval({X: 2.0, C: 30.0}).item() == 20 * 2.0**19 * 30
