"""Inline SVG of a model's graph, drawn without a library and in the colors of the page.

The layout is that of :mod:`dimtensor.plugins.pictures.canvas`, with widths of texts estimated for a
typical sans-serif font. Viewers of untrusted pages may drop the card's style; shapes are then
outlines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from dimtensor.plugins.pictures.plates import Plate, PlatePlan, place

if TYPE_CHECKING:
    from dimtensor.plugins.pictures.layout import Point
    from dimtensor.plugins.pictures.scene import Box

# all lengths are in pixels
_TITLE, _DETAIL = 13.0, 10.0
_MARGIN, _PAD_X, _PAD_Y, _LINE = 3.0, 11.0, 5.0, 1.3
_HEAD = 6.0
# a picture wider than the page shrinks to at least this scale, so that texts stay readable
_LEAST = 0.65
_OUTLINE = 'fill="none" stroke="currentColor"'
# widths of characters in parts of the size of the font
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]{} "), frozenset("mwMW@…")
_ROUND = {"variable": 0.5, "observed": 0.5, "data": 0.0, "input": 0.0}


def model_svg(plan: PlatePlan) -> str:
    """Draw the boxes, arrows and plates of a model as an ``svg`` element in a card.

    Parameters
    ----------
    plan : PlatePlan

    Returns
    -------
    str
        Empty for a plan without boxes.
    """
    if not plan.boxes:
        return ""
    boxes = [replace(box, detail=_brief(box.detail)) for box in plan.boxes]
    sizes = [_size(box) for box in boxes]
    layout, plates = place(plan, sizes)
    left = min([0.0, *(each.center[0] - each.half[0] for each in plates)]) - _MARGIN
    top = min([0.0, *(each.center[1] - each.half[1] for each in plates)]) - _MARGIN
    right = max([layout.width, *(each.center[0] + each.half[0] for each in plates)]) + _MARGIN
    bottom = max([layout.height, *(each.center[1] + each.half[1] for each in plates)]) + _MARGIN
    parts = [
        *map(_plate, plates),
        *map(_arrow, layout.routes),
        *map(_box, boxes, layout.centers, sizes),
    ]
    width, height = right - left, bottom - top
    names = ", ".join(box.title for box in boxes[:20])
    return (
        f'<svg class="dt-picture" role="img" aria-label="{escape(f"model graph of {names}")}" '
        f'width="{width:.0f}" height="{height:.0f}" fill="currentColor" font-size="{_DETAIL:g}" '
        f'style="max-width: 100%; min-width: {_LEAST * width:.0f}px; height: auto" '
        f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">{"".join(parts)}</svg>'
    )


def _brief(detail: str) -> str:
    """Remove the names of parameters and the dims, which plates show, from a distribution."""
    return re.sub(r"\w+=|\{[^}]*\}", "", detail)


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text."""
    return size * sum(_width_of(character) for character in text)


def _width_of(character: str) -> float:
    if character in _NARROW:
        return 0.34
    if character in _WIDE or ord(character) > 0x2E80:  # full-width scripts
        return 1.0
    return 0.72 if character.isupper() else 0.6


def _size(box: Box) -> tuple[float, float]:
    inner = max(text_width(box.title, _TITLE), text_width(box.detail, _DETAIL))
    lines = _TITLE + (_DETAIL if box.detail else 0.0)
    return inner + 2 * _PAD_X, lines * _LINE + 2 * _PAD_Y


def _plate(plate: Plate) -> str:
    (x, y), (across, down) = plate.center, plate.half
    return (
        f'<rect class="dt-plate" x="{x - across:.1f}" y="{y - down:.1f}" width="{2 * across:.1f}" '
        f'height="{2 * down:.1f}" rx="6" {_OUTLINE}/>'
        f'<text class="dt-detail" text-anchor="end" x="{x + across - 6:.1f}" '
        f'y="{y + down - 4:.1f}">{escape(plate.title)}</text>'
    )


def _arrow(route: list[Point]) -> str:
    x, y = route[-1]
    line = _path([*route[:-1], (x, y - _HEAD)])
    head = f"{x:.1f},{y:.1f} {x - 3:.1f},{y - _HEAD:.1f} {x + 3:.1f},{y - _HEAD:.1f}"
    arrow = f'<path class="dt-arrow" d="{line}" {_OUTLINE}/>'
    return f'{arrow}<polygon class="dt-head-of" points="{head}"/>'


def _path(points: Iterable[Point]) -> str:
    """Return a smooth path that passes through points vertically."""
    points = list(points)
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        parts.append(f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}")
    return " ".join(parts)


def _box(box: Box, center: Point, size: tuple[float, float]) -> str:
    (x, y), (width, height) = center, size
    corner = _ROUND.get(box.kind, 0.15) * height
    baseline = y + 0.35 * _TITLE
    if box.detail:
        baseline -= _DETAIL * _LINE / 2
    detail = (
        f'<text class="dt-detail" text-anchor="middle" x="{x:.1f}" '
        f'y="{baseline + _DETAIL * _LINE + 1:.1f}">{escape(box.detail)}</text>'
    )
    return (
        f'<rect class="dt-box dt-{box.kind}" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="{corner:.1f}" {_OUTLINE}/>'
        f'<text class="dt-title" text-anchor="middle" x="{x:.1f}" y="{baseline:.1f}" '
        f'font-size="{_TITLE:g}">{escape(box.title)}</text>{detail if box.detail else ""}'
    )
