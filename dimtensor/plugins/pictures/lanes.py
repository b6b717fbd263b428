"""Layout in lanes: groups of boxes side by side that share rows."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.plugins.pictures.layout import Layout

_SWEEPS = 8


def lane_layout(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    layer: Sequence[int],
    lanes: Sequence[Sequence[int]],
    before: Sequence[float],
    after: Sequence[float],
    rise: float,
    gap: float = 14.0,
) -> Layout:
    """Place boxes in their layers and lanes.

    Parameters
    ----------
    sizes : sequence of (width, height)
    edges : sequence of (source, target)
    layer : sequence of int
        Row of each box, the first one at the top.
    lanes : sequence of sequence of int
        Boxes of each lane, lanes from left to right.
    before, after : sequence of float
        Padding on both sides of each lane.
    rise : float
        Distance between rows.
    gap : float
        Distance between boxes, and between lanes.

    Examples
    --------
    >>> plan = lane_layout(
    ...     [(10, 4)] * 3, [(0, 1), (0, 2)], [0, 1, 1], [[0], [1, 2]], [0, 0], [0, 0], rise=6
    ... )
    >>> plan.centers
    [(5.0, 2.0), (29.0, 12.0), (53.0, 12.0)]
    """
    rows = [_rows(lane, layer) for lane in lanes]
    widths = [max((_width(row, sizes, gap) for row in each), default=0.0) for each in rows]
    starts, left = [], 0.0
    for width, front, behind in zip(widths, before, after, strict=True):
        starts.append(left + front)
        left += front + width + behind + gap
    near: list[list[int]] = [[] for _ in sizes]
    for source, target in edges:
        near[source].append(target)
        near[target].append(source)
    x = [0.0] * len(sizes)
    for sweep in range(_SWEEPS):
        for each, start, width in zip(rows, starts, widths, strict=True):
            for row in each:
                if sweep:
                    row.sort(key=lambda node: _mean([x[n] for n in near[node]], x[node]))
                at = start + (width - _width(row, sizes, gap)) / 2
                for node in row:
                    x[node] = at + sizes[node][0] / 2
                    at += sizes[node][0] + gap
    heights = [0.0] * (max(layer, default=-1) + 1)
    for node, (_, height) in enumerate(sizes):
        heights[layer[node]] = max(heights[layer[node]], height)
    middle, top = [], 0.0
    for height in heights:
        middle.append(top + height / 2)
        top += height + rise
    centers = [(x[node], middle[layer[node]]) for node in range(len(sizes))]
    routes = [_route(source, target, centers, sizes) for source, target in edges]
    return Layout(centers, routes, max(left - gap, 0.0), max(top - rise, 0.0))


def _rows(lane: Sequence[int], layer: Sequence[int]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for node in lane:
        found.setdefault(layer[node], []).append(node)
    return [found[number] for number in sorted(found)]


def _width(row: Sequence[int], sizes: Sequence[tuple[float, float]], gap: float) -> float:
    return sum(sizes[node][0] for node in row) + gap * (len(row) - 1)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _route(
    source: int,
    target: int,
    centers: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
) -> list[tuple[float, float]]:
    (x, y), (u, v) = centers[source], centers[target]
    return [(x, y + sizes[source][1] / 2), (u, v - sizes[target][1] / 2)]
