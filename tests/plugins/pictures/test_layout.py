"""Layouts: every edge goes down, nothing overlaps, few lines cross."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dimtensor.plugins.pictures.layout import _isotonic, layered_layout


def random_graph(rng, n):
    """A connected-looking acyclic graph with boxes of many sizes."""
    sizes = [(float(w), float(h)) for w, h in zip(rng.integers(8, 90, n), rng.integers(8, 40, n))]  # noqa: B905
    edges = sorted({
        (int(rng.integers(max(0, target - 12), target)), target)
        for target in range(1, n)
        for _ in range(rng.integers(1, 4))
    })  # fmt: skip
    return sizes, edges


def overlap(one, other):
    (x, y), (w, h) = one
    (u, v), (a, b) = other
    return abs(x - u) < (w + a) / 2 - 1e-6 and abs(y - v) < (h + b) / 2 - 1e-6


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60, 150])
def test_boxes_do_not_overlap_and_edges_go_down(rng, n):
    sizes, edges = random_graph(rng, n)
    plan = layered_layout(sizes, edges)
    boxes = list(zip(plan.centers, sizes, strict=True))
    assert not any(overlap(one, other) for one, other in itertools.combinations(boxes, 2))
    for (source, target), route in zip(edges, plan.routes, strict=True):
        heights = [y for _, y in route]
        assert heights == sorted(heights)
        x, y = plan.centers[source]
        assert route[0] == (x, pytest.approx(y + sizes[source][1] / 2))
        x, y = plan.centers[target]
        assert route[-1] == (x, pytest.approx(y - sizes[target][1] / 2))


@pytest.mark.parametrize("n", [5, 20, 60])
def test_edges_keep_out_of_boxes(rng, n):
    sizes, edges = random_graph(rng, n)
    plan = layered_layout(sizes, edges)
    for (source, target), route in zip(edges, plan.routes, strict=True):
        others = [
            (center, size)
            for at, (center, size) in enumerate(zip(plan.centers, sizes, strict=True))
            if at not in (source, target)
        ]
        # where an edge is level with boxes it is straight: corners of its route bound it
        for (x0, y0), (x1, y1) in itertools.pairwise(route[1:-1]):
            if x0 == x1:
                line = ((x0, (y0 + y1) / 2), (0.0, y1 - y0))
                assert not any(overlap(line, other) for other in others)


def test_everything_is_within_the_picture(rng):
    sizes, edges = random_graph(rng, 40)
    plan = layered_layout(sizes, edges)
    for (x, y), (w, h) in zip(plan.centers, sizes, strict=True):
        assert x - w / 2 >= -1e-9
        assert x + w / 2 <= plan.width + 1e-9
        assert y - h / 2 >= -1e-9
        assert y + h / 2 <= plan.height + 1e-9


def test_the_same_graph_has_the_same_layout(rng):
    sizes, edges = random_graph(rng, 50)
    assert layered_layout(sizes, edges) == layered_layout(sizes, edges)


def test_a_tree_has_no_crossings():
    edges = [(at, (at - 1) // 2) for at in range(1, 31)]
    relabeled = [(30 - a, 30 - b) for a, b in edges]
    plan = layered_layout([(20.0, 10.0)] * 31, relabeled)
    lines = [(r[0], r[-1]) for r in plan.routes]
    for (a, b), (c, d) in itertools.combinations(lines, 2):
        if a[1] == c[1] and b[1] == d[1]:
            assert (a[0] - c[0]) * (b[0] - d[0]) >= 0


def test_an_empty_graph_has_a_layout():
    plan = layered_layout([], [])
    assert (plan.centers, plan.routes, plan.width, plan.height) == ([], [], 0.0, 0.0)


def test_isotonic_regression_against_the_minimax_formula(rng):
    """Barlow et al. 1972, eq. 1.9: max over starts of min over ends of the mean between."""
    for _ in range(50):
        n = int(rng.integers(1, 9))
        values, weights = rng.normal(size=n), rng.uniform(0.1, 3, size=n)
        expected = [
            max(
                min(np.average(values[s : t + 1], weights=weights[s : t + 1]) for t in range(i, n))
                for s in range(i + 1)
            )
            for i in range(n)
        ]
        np.testing.assert_allclose(_isotonic(list(values), list(weights)), expected)
