"""Plate diagrams of models: a box per variable, and a plate per dim.

A plate encloses the variables with a dim; plates of further dims are nested in it. Variables with
the same dims share a column, so that a plate encloses no others, and rows follow the dependencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dimtensor.graph import Node, toposort
from dimtensor.plugins.pictures.lanes import lane_layout
from dimtensor.plugins.pictures.layout import Layout, layers_of
from dimtensor.plugins.pictures.scene import Arrow, Box
from dimtensor.tuning import FEWEST_ALIKE_TERMS

if TYPE_CHECKING:
    from dimtensor.model.model import Model

_LONGEST = 40
# padding of a plate, height of its title, and width of a letter there
PAD, TITLE, LETTER = 10.0, 12.0, 6.0


@dataclass(frozen=True)
class Plate:
    """Rectangle around the variables with a dim.

    Attributes
    ----------
    title : str
        The dim and its length.
    center, half : pair of float
    """

    title: str
    center: tuple[float, float]
    half: tuple[float, float]


@dataclass
class PlateGroup:
    """Boxes with the same dims, and nested groups with more dims.

    Attributes
    ----------
    title : str
        Its dims, without those of the enclosing group, with their lengths.
    members : list of int
        Numbers of boxes.
    dims : frozenset of str
        All of its dims.
    inner : list of PlateGroup
    """

    title: str
    dims: frozenset[str]
    members: list[int] = field(default_factory=list)
    inner: list[PlateGroup] = field(default_factory=list)


@dataclass(frozen=True)
class PlatePlan:
    """A picture without places: boxes, arrows and groups."""

    boxes: list[Box]
    arrows: list[Arrow]
    root: PlateGroup


def plan_of(model: Model) -> PlatePlan:
    """Boxes of random variables, named expressions and inputs, arrows, and groups by dims.

    Many variables with the same distribution, dims, sources and users are one box.
    """
    found = model.spec.graph
    shown = {v.node: name for name, v in found.variables.items()}
    shown |= {node: name for name, node in (*found.named.items(), *found.inputs.items())}
    order = [node for node in toposort([x.node for x in model.outputs]) if node in shown]
    number = {node: at for at, node in enumerate(order)}
    box = {node: _box(model, node, shown[node]) for node in order}
    sources = {node: _sources(node, number) for node in order}
    users: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for x in sources[node]:
            users[x].append(node)
    alike: dict[tuple, list[Node]] = {}
    for node in order:
        key: tuple = (node,)
        if node.kind == "rv":
            key = (replace(box[node], title=""), node.dims, (*sources[node],), (*users[node],))
        alike.setdefault(key, []).append(node)
    for group in alike.values():
        if len(group) >= FEWEST_ALIKE_TERMS:
            first, *others = sorted(group, key=lambda node: node._serial)
            title = f"{box[first].title} … {box[others[-1]].title}"
            detail = f"{len(group):,} × {box[first].detail}"
            box[first] = replace(box[first], title=title, detail=detail)
            for node in others:
                del box[node]
    kept = {node: at for at, node in enumerate(box)}
    arrows = [Arrow(kept[x], at) for node, at in kept.items() for x in sources[node] if x in kept]
    return PlatePlan([*box.values()], arrows, _grouped([*kept], _lengths(model)))


def _sources(node: Node, shown: Mapping[Node, int]) -> list[Node]:
    """Return the shown nodes that a node depends on, directly or through unnamed expressions."""
    found: dict[Node, None] = {}
    pending = list(node.inputs)
    seen: set[Node] = set()
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        if x in shown:
            found[x] = None
        else:
            pending += x.inputs
    return sorted(found, key=shown.__getitem__)


def _box(model: Model, node: Node, name: str) -> Box:
    if node.kind == "rv":
        kind = "observed" if name in model.observed else "variable"
        detail = repr(model.variables[name].distribution)
        detail = "summed out" if name in model.spec.marginalized else detail
    elif node.kind == "named":
        kind, detail = "operation", "named"
    else:
        kind = "data" if node.kind == "data" or name in model.data else "input"
        detail = f"→ {node.categories._short}" if node.categories is not None else node.dtype
    return Box(_short(name), _short(detail), kind)


def _lengths(model: Model) -> dict[str, int]:
    """Return the lengths of dims, including those known from data and observations."""
    found: dict[str, int] = {}
    for array in (*model.observed.values(), *model.defaults.values()):
        found |= {str(dim): size for dim, size in array.sizes.items()}
    nodes = [v.node for v in model.variables.values()]
    for node in (*nodes, *model.spec.graph.named.values(), *model.spec.graph.inputs.values()):
        found |= {dim._short: dim.length for dim in node.dims if dim.length is not None}
    return found


def _grouped(order: Sequence[Node], lengths: Mapping[str, int]) -> PlateGroup:
    """Nest groups: each in the largest one whose dims are a subset of its own."""
    root = PlateGroup("", frozenset())
    sets: dict[frozenset[str], PlateGroup] = {root.dims: root}
    members = [frozenset(dim._short for dim in node.dims) for node in order]
    for dims in sorted(set(members), key=lambda dims: (len(dims), sorted(dims))):
        if dims not in sets:
            around = max((d for d in sets if d < dims), key=len)
            title = ", ".join(f"{dim}: {lengths.get(dim, '?')}" for dim in sorted(dims - around))
            sets[dims] = PlateGroup(title, dims)
            sets[around].inner.append(sets[dims])
    for at, dims in enumerate(members):
        sets[dims].members.append(at)
    return root


def place(plan: PlatePlan, sizes: Sequence[tuple[float, float]]) -> tuple[Layout, list[Plate]]:
    """Place boxes, arrows and plates.

    Groups are side by side. A plate extends over the rows of its boxes and nested plates; rows are
    far enough apart for the borders of plates between them.
    """
    edges = [(arrow.source, arrow.target) for arrow in plan.arrows]
    layer = layers_of(len(sizes), edges)
    sizes = _wide_enough(plan.root, sizes)
    depth = _depth(plan.root)
    lanes = _lanes(plan.root)
    layout = lane_layout(
        sizes,
        edges,
        layer,
        [group.members for group, _, _ in lanes],
        [PAD * before for _, before, _ in lanes],
        [PAD * after for _, _, after in lanes],
        rise=30.0 + depth * (2 * PAD + TITLE),
    )
    plates: list[Plate] = []
    for inner in plan.root.inner:
        _enclose(inner, layout, sizes, plates)
    return layout, plates


def _wide_enough(
    root: PlateGroup, sizes: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Give boxes so much room that the titles of their plates are inside of the plates."""
    found = list(sizes)

    def visit(group: PlateGroup) -> list[int]:
        members = [*group.members, *(at for inner in group.inner for at in visit(inner))]
        if group.dims and members:
            widest = max(members, key=lambda at: found[at][0])
            width, height = found[widest]
            found[widest] = (max(width, LETTER * len(group.title)), height)
        return members

    visit(root)
    return found


def _depth(group: PlateGroup) -> int:
    return max((1 + _depth(inner) for inner in group.inner), default=0)


def _lanes(group: PlateGroup) -> list[tuple[PlateGroup, int, int]]:
    """List groups from left to right, with the numbers of plates that begin and end there."""
    found: list[tuple[PlateGroup, int, int]] = []
    if group.members:
        found.append((group, 0, 0))
    for inner in group.inner:
        found += _lanes(inner)
    if found and group.dims:
        first, before, after = found[0]
        found[0] = (first, before + 1, after)
        last, before, after = found[-1]
        found[-1] = (last, before, after + 1)
    return found


def _enclose(
    group: PlateGroup, layout: Layout, sizes: Sequence[tuple[float, float]], plates: list[Plate]
) -> tuple[float, float, float, float]:
    """Compute the rectangle of a group; add it and nested ones to the plates, outer ones first."""
    at = len(plates)
    corners = []
    for member in group.members:
        (x, y), (width, height) = layout.centers[member], sizes[member]
        corners.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    corners += [_enclose(inner, layout, sizes, plates) for inner in group.inner]
    left, top, right, bottom = (
        min(c[0] for c in corners) - PAD,
        min(c[1] for c in corners) - PAD,
        max(c[2] for c in corners) + PAD,
        max(c[3] for c in corners) + PAD + TITLE,
    )
    center = ((left + right) / 2, (top + bottom) / 2)
    plates.insert(at, Plate(group.title, center, ((right - left) / 2, (bottom - top) / 2)))
    return left, top, right, bottom


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
