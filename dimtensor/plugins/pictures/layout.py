"""Layered layout of a directed acyclic graph, after Sugiyama, Tagawa and Toda.

K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
structures", IEEE Trans. Systems, Man, and Cybernetics 11(2), 1981: layers, then an order within
each layer that has few crossings (barycenters), then coordinates. Coordinates are found by least
squares: each layer in turn moves as close to its neighbors as the order and the widths allow. This
is an isotonic regression, solved by pooling adjacent violators (Barlow et al., "Statistical
Inference under Order Restrictions", 1972, section 1.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dimtensor.traversal import reached

Point = tuple[float, float]
_SWEEPS = 24
# weight of virtual nodes: keeping long edges straight has priority
_VIRTUAL_WEIGHT = 4.0


@dataclass
class Layout:
    """Coordinates of nodes and edges; y increases downward.

    Attributes
    ----------
    centers : list of (x, y)
        Centers of the boxes.
    routes : list of list of (x, y)
        Points on each edge, from the lower border of its source to the upper border of its target.
    width, height : float
    """

    centers: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


@dataclass
class _Graph:
    """Graph with a virtual node in every layer that an edge crosses."""

    widths: list[float]
    layer: list[int]
    chains: list[list[int]]
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    real: int = 0


def layered_layout(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    gap: float = 14.0,
    rise: float = 30.0,
) -> Layout:
    """Place boxes so that every edge points down.

    Parameters
    ----------
    sizes : sequence of (width, height)
        One box per node.
    edges : sequence of (source, target)
        Numbers of nodes, without cycles.
    gap : float
        Minimal distance between boxes of one layer.
    rise : float
        Distance between layers.

    Examples
    --------
    >>> plan = layered_layout([(10, 4), (10, 4), (10, 4)], [(0, 2), (1, 2)])
    >>> plan.centers[2][0] == (plan.centers[0][0] + plan.centers[1][0]) / 2
    True
    """
    layer = layers_of(len(sizes), edges)
    graph = _with_virtual_nodes([width for width, _ in sizes], layer, edges)
    rows = _ordered_rows(graph)
    x = _coordinates(graph, rows, gap)
    heights = [0.0] * len(rows)
    for node, (_, height) in enumerate(sizes):
        heights[layer[node]] = max(heights[layer[node]], height)
    y, top = [], 0.0
    for height in heights:
        y.append(top + height / 2)
        top += height + rise
    left = min((x[n] - sizes[n][0] / 2 for n in range(len(sizes))), default=0.0)
    left = min([left, *x])
    x = [value - left for value in x]
    centers = [(x[n], y[layer[n]]) for n in range(len(sizes))]
    width = max((x[n] + graph.widths[n] / 2 for n in range(len(x))), default=0.0)
    routes = [_route(chain, graph, sizes, x, y, heights) for chain in graph.chains]
    return Layout(centers, routes, width, top - rise if sizes else 0.0)


def layers_of(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Assign layers by longest paths, then move each node to where its edges are shortest."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    layer = [0] * count
    waiting = [len(sources) for sources in above]
    ready = [node for node in range(count) if not waiting[node]]
    for node in ready:
        for target in below[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for _ in range(count):
        moved = False
        for node in reversed(ready):
            if len(below[node]) > len(above[node]) or (below[node] and not above[node]):
                lowest = min(layer[target] for target in below[node]) - 1
                moved |= lowest != layer[node]
                layer[node] = lowest
        if not moved:
            break
    first = min(layer, default=0)
    return [value - first for value in layer]


def _with_virtual_nodes(
    widths: list[float], layer: list[int], edges: Sequence[tuple[int, int]]
) -> _Graph:
    graph = _Graph(list(widths), list(layer), [], real=len(widths))
    for source, target in edges:
        chain = [source]
        for between in range(layer[source] + 1, layer[target]):
            chain.append(len(graph.layer))
            graph.layer.append(between)
            graph.widths.append(0.0)
        chain.append(target)
        graph.chains.append(chain)
    graph.above = [[] for _ in graph.layer]
    graph.below = [[] for _ in graph.layer]
    for chain in graph.chains:
        for one, other in pairwise(chain):
            graph.below[one].append(other)
            graph.above[other].append(one)
    return graph


# -- order within layers ---------------------------------------------------------------------------


def _ordered_rows(graph: _Graph) -> list[list[int]]:
    """Order the nodes of each layer from left to right, with few crossings."""
    rows = _first_order(graph)
    best, fewest = [list(row) for row in rows], _crossings(graph, rows)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        _sort_by_barycenters(graph, rows, downwards)
        _exchange_neighbors(graph, rows)
        crossings = _crossings(graph, rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
        if not fewest:
            break
    return best


def _first_order(graph: _Graph) -> list[list[int]]:
    """Order nodes depth first from the bottom, which starts with related nodes side by side."""
    rows: list[list[int]] = [[] for _ in range(max(graph.layer, default=-1) + 1)]
    roots = [n for n in range(len(graph.layer)) if not graph.below[n]]
    for node in reached(roots, lambda n: graph.above[n]):
        rows[graph.layer[node]].append(node)
    return rows


def _sort_by_barycenters(graph: _Graph, rows: list[list[int]], downwards: bool) -> None:
    numbers = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
    neighbors = graph.above if downwards else graph.below
    for number in numbers:
        fixed = rows[number - 1 if downwards else number + 1]
        place = {node: at for at, node in enumerate(fixed)}
        row = rows[number]
        own = {node: at for at, node in enumerate(row)}

        def barycenter(
            node: int, place: dict[int, int] = place, own: dict[int, int] = own
        ) -> tuple[float, int]:
            found = [place[other] for other in neighbors[node] if other in place]
            return (sum(found) / len(found) if found else own[node], own[node])

        row.sort(key=barycenter)


def _exchange_neighbors(graph: _Graph, rows: list[list[int]]) -> None:
    """Exchange adjacent nodes where that reduces the number of crossings."""
    for number, row in enumerate(rows):
        places = [
            {node: at for at, node in enumerate(rows[other])} if 0 <= other < len(rows) else {}
            for other in (number - 1, number + 1)
        ]
        for at in range(len(row) - 1):
            one, two = row[at], row[at + 1]
            now = later = 0
            for neighbors, place in zip((graph.above, graph.below), places, strict=True):
                for a in neighbors[one]:
                    for b in neighbors[two]:
                        now += place[a] > place[b]
                        later += place[a] < place[b]
            if later < now:
                row[at], row[at + 1] = two, one


def _crossings(graph: _Graph, rows: list[list[int]]) -> int:
    total = 0
    for number, row in enumerate(rows[:-1]):
        place = {node: at for at, node in enumerate(rows[number + 1])}
        ends = [place[other] for node in row for other in sorted(graph.below[node], key=place.get)]  # type: ignore[arg-type]
        total += sum(1 for i, a in enumerate(ends) for b in ends[i + 1 :] if a > b)
    return total


# -- coordinates -----------------------------------------------------------------------------------


def _coordinates(graph: _Graph, rows: list[list[int]], gap: float) -> list[float]:
    """Compute the x coordinates of centers."""
    x = [0.0] * len(graph.layer)
    for row in rows:
        left = 0.0
        for node in row:
            x[node] = left + graph.widths[node] / 2
            left += graph.widths[node] + gap
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            _settle(graph, row, x, gap, downwards, both=sweep >= _SWEEPS - 6)
    return x


def _settle(
    graph: _Graph, row: list[int], x: list[float], gap: float, downwards: bool, both: bool
) -> None:
    """Move a layer as close to its neighbors as order and widths allow."""
    wanted, weights = [], []
    for node in row:
        near = graph.above[node] if downwards else graph.below[node]
        if both and node < graph.real:
            near = graph.above[node] + graph.below[node]
        pull = [
            (x[other], _VIRTUAL_WEIGHT if max(other, node) >= graph.real else 1.0) for other in near
        ]
        total = sum(weight for _, weight in pull)
        wanted.append(sum(at * weight for at, weight in pull) / total if pull else x[node])
        weights.append(total if pull else 0.1)
    offsets, left = [], 0.0
    for at, node in enumerate(row):
        if at:
            left += (graph.widths[row[at - 1]] + graph.widths[node]) / 2 + gap
        offsets.append(left)
    shifted = [value - offset for value, offset in zip(wanted, offsets, strict=True)]
    for node, value, offset in zip(row, _isotonic(shifted, weights), offsets, strict=True):
        x[node] = value + offset


def _isotonic(values: list[float], weights: list[float]) -> list[float]:
    """Fit non-decreasing numbers to values by weighted least squares (isotonic regression)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        count = 1
        while pools and pools[-1][0] > value:
            mean, mass, members = pools.pop()
            value = (value * weight + mean * mass) / (weight + mass)
            weight, count = weight + mass, count + members
        pools.append((value, weight, count))
    return [mean for mean, _, count in pools for _ in range(count)]


def _route(
    chain: list[int],
    graph: _Graph,
    sizes: Sequence[tuple[float, float]],
    x: list[float],
    y: list[float],
    heights: list[float],
) -> list[Point]:
    source, target = chain[0], chain[-1]
    points = [(x[source], y[graph.layer[source]] + sizes[source][1] / 2)]
    for node in chain[1:-1]:
        # straight lines within layers, bends between them
        middle, half = y[graph.layer[node]], heights[graph.layer[node]] / 2
        points += [(x[node], middle - half), (x[node], middle + half)]
    points.append((x[target], y[graph.layer[target]] - sizes[target][1] / 2))
    return points
