"""Rendering of graph pictures with matplotlib."""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dimtensor.caches import bounded
from dimtensor.errors import escaped
from dimtensor.plugins.pictures.layout import Point, layered_layout
from dimtensor.plugins.pictures.plates import Plate, PlatePlan, place
from dimtensor.plugins.pictures.scene import Arrow, Box

# all lengths are in points
_TITLE, _DETAIL, _LABEL = 10.0, 7.5, 7.0
_MARGIN = 12.0
_PAD_X, _PAD_Y = 9.0, 5.0
_LINE = 1.25
_FONT = "DejaVu Sans"
# candidate positions of an arrow's label along its last bend, the best one first
_LABEL_PLACES = (0.6, 0.5, 0.7, 0.4, 0.3, 0.2)

Rectangle = tuple[Point, tuple[float, float]]  # center, half of width and height


@dataclass(frozen=True)
class Style:
    """Appearance of boxes of one kind."""

    face: str
    edge: str
    shape: str


# color-blind safe (after Okabe and Ito), with a shape per kind
STYLES = {
    "input": Style("#d6e8f7", "#0072b2", "ellipse"),
    "data": Style("#d5efe3", "#009e73", "barrel"),
    "constant": Style("#f2f2f2", "#8c8c8c", "plain"),
    "operation": Style("#ffffff", "#555555", "round"),
    "reduction": Style("#fdf1d8", "#c98500", "round"),
    "lookup": Style("#f6e3ef", "#b0578d", "round"),
    "gradient": Style("#fbe2d5", "#d55e00", "round"),
    "output": Style("#444444", "#222222", "tag"),
    "variable": Style("#ffffff", "#0072b2", "ellipse"),
    "observed": Style("#d9d9d9", "#333333", "ellipse"),
}


def render(
    boxes: list[Box], arrows: list[Arrow], kind: str, dpi: int, plan: PlatePlan | None = None
) -> bytes:
    """Render a picture to the bytes of a file; equal graphs give equal bytes.

    With a plan, boxes are placed in plates.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    edges = [(arrow.source, arrow.target) for arrow in arrows]
    sizes = [_size(box) for box in boxes]
    layout, plates = place(plan, sizes) if plan is not None else (layered_layout(sizes, edges), [])
    left = min([0.0, *(plate.center[0] - plate.half[0] for plate in plates)]) - _MARGIN
    top = min([0.0, *(plate.center[1] - plate.half[1] for plate in plates)]) - _MARGIN
    right = max([layout.width, *(plate.center[0] + plate.half[0] for plate in plates)]) + _MARGIN
    bottom = max([layout.height, *(plate.center[1] + plate.half[1] for plate in plates)]) + _MARGIN
    width, height = right - left, bottom - top
    options: Any = {"svg.hashsalt": "dimtensor", "font.family": _FONT, "path.simplify": False}
    with mpl.rc_context(options):
        figure = Figure(figsize=(max(width, 1) / 72, max(height, 1) / 72))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        for plate in plates:
            _draw_plate(axes, plate)
        for arrow, route in zip(arrows, layout.routes, strict=True):
            _draw_arrow(axes, arrow, route)
        for box, center in zip(boxes, layout.centers, strict=True):
            _draw_box(axes, box, center)
        taken = [
            (center, (width / 2, height / 2))
            for center, (width, height) in zip(layout.centers, sizes, strict=True)
        ]
        _draw_edge_labels(axes, arrows, layout.routes, taken)
        target = io.BytesIO()
        figure.savefig(target, format=kind, dpi=dpi, facecolor="white", metadata=_metadata(kind))
    return target.getvalue()


def _metadata(kind: str) -> dict[str, Any]:
    """Return metadata without a date, so that equal graphs give equal files."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})


@bounded(4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Measure the width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    text = escaped(text)
    if not text.strip():
        return 0.0
    font = FontProperties(family=_FONT, weight="bold" if bold else "normal")
    return float(
        TextPath((0, 0), text.replace("$", r"\$"), size=size, prop=font).get_extents().width
    )


def _size(box: Box) -> tuple[float, float]:
    if box.kind == "constant":
        return text_width(box.title, _DETAIL) + 8, _DETAIL * _LINE + 5
    inner = max(text_width(box.title, _TITLE, bold=True), text_width(box.detail, _DETAIL))
    height = _TITLE * _LINE + (_DETAIL * _LINE if box.detail else 0) + 2 * _PAD_Y
    extra = 10.0 if STYLES[box.kind].shape in ("ellipse", "barrel") else 0.0
    return max(inner + 2 * _PAD_X + extra, 26.0), height


def _draw_plate(axes: Any, plate: Plate) -> None:
    """Draw a rounded rectangle with its title in the lower right corner."""
    from matplotlib.patches import PathPatch

    (x, y), (half_width, half_height) = plate.center, plate.half
    outline = _outline("round", x, y, 2 * half_width, 2 * half_height)
    axes.add_patch(
        PathPatch(outline, facecolor="#00000008", edgecolor="#8c8c8c", linewidth=0.9, zorder=0)
    )
    at = x + half_width - text_width(plate.title, _DETAIL) / 2 - _PAD_Y
    _write(axes, at, y + half_height - _DETAIL * _LINE / 2 - 2, plate.title, _DETAIL, "#555555")


def _draw_box(axes: Any, box: Box, center: Point) -> None:
    from matplotlib.patches import PathPatch

    style = STYLES[box.kind]
    x, y = center
    width, height = _size(box)
    axes.add_patch(
        PathPatch(
            _outline(style.shape, x, y, width, height),
            facecolor=style.face,
            edgecolor=style.edge,
            linewidth=1.0 if style.shape != "plain" else 0.6,
            linestyle="-" if style.shape != "plain" else (0, (2, 2)),
            zorder=3,
        )
    )
    dark = box.kind == "output"
    if box.kind == "constant":
        _write(axes, x, y, box.title, _DETAIL, color="#333333")
        return
    shift = _DETAIL * _LINE / 2 if box.detail else 0.0
    _write(axes, x, y - shift, box.title, _TITLE, "white" if dark else "#111111", bold=True)
    if box.detail:
        _write(axes, x, y + _TITLE * _LINE / 2, box.detail, _DETAIL, "#555555")


def _write(
    axes: Any, x: float, y: float, text: str, size: float, color: str, bold: bool = False
) -> Any:
    return axes.text(
        x,
        y,
        escaped(text),
        size=size,
        color=color,
        ha="center",
        va="center_baseline",
        weight="bold" if bold else "normal",
        zorder=5,
        parse_math=False,
    )


def _outline(shape: str, x: float, y: float, width: float, height: float) -> Any:
    """Return the path of a box's border: rounded, pill, barrel, tag or plain rectangle."""
    from matplotlib.path import Path

    left, right, top, bottom = x - width / 2, x + width / 2, y - height / 2, y + height / 2
    if shape == "barrel":
        bulge = 6.0
        points = [
            (left + bulge, top), (right - bulge, top), (right + 2, top), (right + 2, bottom),
            (right - bulge, bottom), (left + bulge, bottom), (left - 2, bottom), (left - 2, top),
            (left + bulge, top),
        ]  # fmt: skip
        codes = [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
        return Path(points, codes)
    if shape == "tag":
        cut = 5.0
        points = [
            (left + cut, top), (right - cut, top), (right, top + cut), (right, bottom - cut),
            (right - cut, bottom), (left + cut, bottom), (left, bottom - cut), (left, top + cut),
            (left + cut, top),
        ]  # fmt: skip
        return Path(points, [Path.MOVETO, *[Path.LINETO] * 7, Path.CLOSEPOLY])
    radius = {"ellipse": height / 2, "round": 5.0, "plain": 2.0}[shape]
    radius = min(radius, width / 2)
    points = [
        (left + radius, top), (right - radius, top), (right, top), (right, top + radius),
        (right, bottom - radius), (right, bottom), (right - radius, bottom),
        (left + radius, bottom), (left, bottom), (left, bottom - radius),
        (left, top + radius), (left, top), (left + radius, top),
    ]  # fmt: skip
    corner = [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path(points, [Path.MOVETO, *corner * 4])


def _draw_arrow(axes: Any, arrow: Arrow, route: list[Point]) -> None:
    from matplotlib.patches import PathPatch, Polygon

    head = 5.0
    x, y = route[-1]
    axes.add_patch(
        PathPatch(
            _curve([*route[:-1], (x, y - head)]),
            facecolor="none",
            edgecolor="#8a8a8a",
            linewidth=0.9,
            zorder=1,
        )
    )
    tip = [(x, y), (x - 2.4, y - head), (x + 2.4, y - head)]
    axes.add_patch(Polygon(tip, closed=True, facecolor="#8a8a8a", edgecolor="none", zorder=2))


def _curve(points: list[Point]) -> Any:
    """Return a smooth path that passes through points vertically."""
    from matplotlib.path import Path

    vertices, codes = [points[0]], [Path.MOVETO]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 == x1:
            vertices.append((x1, y1))
            codes.append(Path.LINETO)
            continue
        middle = (y0 + y1) / 2
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)


def _draw_edge_labels(
    axes: Any, arrows: list[Arrow], routes: list[list[Point]], taken: list[Rectangle]
) -> None:
    """Draw labels on the last bends of arrows, avoiding overlaps."""
    taken = list(taken)
    for arrow, route in zip(arrows, routes, strict=True):
        if not arrow.label:
            continue
        half = text_width(arrow.label, _LABEL) / 2 + 2, _LABEL * _LINE / 2
        places = [(_along_last_bend(route, t), half) for t in _LABEL_PLACES]
        place = next((at for at in places if not _overlaps(at, taken)), places[0])
        taken.append(place)
        (x, y), _ = place
        text = _write(axes, x, y, arrow.label, _LABEL, "#0b5c8a")
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.9})
        text.set_zorder(4)


def _overlaps(one: Rectangle, others: list[Rectangle]) -> bool:
    (x, y), (w, h) = one
    return any(abs(x - u) < w + a and abs(y - v) < h + b for (u, v), (a, b) in others)


def _along_last_bend(route: list[Point], t: float) -> Point:
    """Evaluate the last Bézier segment of :func:`_curve`."""
    (x0, y0), (x1, y1) = route[-2], route[-1]
    across = x0 + (x1 - x0) * (3 * t**2 - 2 * t**3)
    down = (1 - t) ** 3 * y0 + 3 * (1 - t) * t * (y0 + y1) / 2 + t**3 * y1
    return across, down
