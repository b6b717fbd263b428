"""Costs of nodes, against counts by hand."""

from __future__ import annotations

import pytest

import dimtensor as dt
from dimtensor.cost import Lengths
from dimtensor.graph.node import KINDS
from dimtensor.plugins.saturation.node_costs import FLOPS, graph_cost, node_cost

i, j, k, m = (dt.Dim(name) for name in "ijkm")
x, y = dt.tensor("x", dims=[i, k]), dt.tensor("y", dims=[k, j])
v = dt.tensor("v", dims=k)


def flops(tensor):
    return str(node_cost(tensor.node).flops)


def test_every_kind_has_a_cost():
    assert set(FLOPS) == set(KINDS)


def test_products_of_matrices():
    assert flops(dt.dot(x, y, dim=k)) == "2·i·j·k"
    assert flops(dt.dot(x, v, dim=k)) == "2·i·k"
    # (x y) z is 2ijk + 2ijl, x (y z) is 2jkl + 2ikl: the smaller result comes first
    long, short = dt.Dim("long", length=1000), dt.Dim("short", length=2)
    p, q = dt.tensor("p", dims=[long, short]), dt.tensor("q", dims=[short, long.rename()])
    r = dt.tensor("r", dims=[long.rename(), k])
    chain = node_cost(dt.dot(p, q, r, dim=[short, long.rename()]).node)
    assert chain.flops.at(Lengths({k: 3})) == 2 * (2 * 1000 * 3) * 2


def test_elementwise_operations_move_nothing_where_they_are_fused():
    term = dt.exp(x) * 2 + v
    assert str(graph_cost([term.node]).flops) == "12·i·k"
    assert str(graph_cost([term.node]).read) == "8·i·k + 8·k"
    assert graph_cost([term.node]).written == 0
    apart = graph_cost([term.node], fused=False)
    # exp and * read and write a matrix, + reads a vector beside; leaves are read once more
    assert str(apart.written) == "24·i·k"


def test_what_is_used_twice_is_counted_once():
    e = dt.exp(v)
    assert str(graph_cost([(e + e * e).node]).flops) == "12·k"


@pytest.mark.parametrize(
    ("function", "count", "of_many"),
    [
        ("cholesky", "n³/3", "i·n³/3"),
        ("det", "2·n³/3", "2·i·n³/3"),
        ("inv", "2·n³", "2·i·n³"),
    ],
)
def test_linear_algebra_is_counted_as_in_textbooks(function, count, of_many):
    n = dt.Dim("n")
    a = dt.tensor("a", dims=[n, n.rename()])
    assert flops(getattr(dt.linalg, function)(a)) == count
    many = dt.tensor("a", dims=[i, n, n.rename()])
    assert flops(getattr(dt.linalg, function)(many, dims=[n, n.rename()])) == of_many


def test_solutions_count_their_right_hand_sides():
    n = dt.Dim("n")
    a, b = dt.tensor("a", dims=[n, n.rename()]), dt.tensor("b", dims=[n, m])
    dims = [n, n.rename()]
    assert flops(dt.linalg.solve(a, b, dims=dims)) == "2·n³/3 + 2·m·n²"
    assert flops(dt.linalg.solve_triangular(a, b, dims=dims)) == "m·n²"


def test_loops_cost_their_rounds_times_their_body():
    t = dt.Dim("t")
    series, start = dt.tensor("series", dims=[t, k]), dt.tensor("start", dims=k)
    final, states = dt.scan(lambda s, e: (0.5 * s + e,) * 2, start, series, dim=t)
    cost = graph_cost([final.node, states.node])
    assert str(cost.flops) == "2·k·t"
    counted = dt.while_loop(lambda s: s.sum() < 10, lambda s: s * 2, start, max_steps=5)
    assert str(node_cost(counted.node).flops) == "10·k + 5"
    powers = dt.fori_loop(1, dt.length(k), lambda n, s: s * s, dt.tensor("s"))
    assert str(node_cost(powers.node).flops) == "2·k - 2"  # the counter, and the square
    ended = dt.while_loop(lambda s: s.sum() < 10, lambda s: s * 2, start)
    assert str(node_cost(ended.node).flops) == "2·k·rounds + rounds"


def test_a_conditional_costs_at_most_its_dearer_branch():
    which = dt.tensor("which", dtype="bool")
    found = dt.if_else(which, lambda: dt.exp(v), lambda: v + v.sum())
    assert str(node_cost(found.node).flops) == "10·k"


def test_a_gradient_costs_three_times_its_function():
    loss = (dt.exp(v) * v).sum()
    once = graph_cost([loss.node]).flops
    assert node_cost(dt.grad(loss, v).node).flops == 3 * once


def test_look_ups_read_what_they_look_up():
    at = dt.tensor("at", dims=m, categories=k)
    assert str(node_cost(v.sel(k=at).node).read) == "8·m"
    assert node_cost(v.isel(k=0).node).flops == 0
