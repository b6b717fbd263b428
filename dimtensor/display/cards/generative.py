"""Reprs of generative models: a picture, and tables of variables, dims and data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, dim_set
from dimtensor.display.cards.densities import curve_of, sparkline
from dimtensor.display.html import (
    Html,
    Section,
    card,
    folded,
    never_raises,
    scrolled,
    styled,
    table,
)
from dimtensor.display.peek import array_range, dim_row, label_repr
from dimtensor.errors import listing
from dimtensor.model.variables import left_out
from dimtensor.renderers import plates

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.graph import Node
    from dimtensor.model.model import Model

_HEADER = ("variable", "dims", "support", "distribution", "role")
# limits above which there is no picture, and tables are folded
_MOST_BOXES, _FEW_ROWS = 60, 12
_EDGE = (3, 2)
_MOST_LABELS = 100


def model_text(model: Model) -> str:
    """Write a line for each random variable, and the names of deterministics and data."""
    rows = _rows(model)
    widths = [max(len(row[at]) for row in [_HEADER, *rows]) for at in range(len(_HEADER))]
    lines = [f"<Model of {_summary(model)}>"]
    for row in [_HEADER, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    done = model.spec.interventions
    named = [name for name in model.spec.graph.named if name not in done]
    if done:
        lines.append(f"  set by do: {', '.join(done)}")
    if named:
        lines.append(f"  named: {', '.join(named)}")
    lines += [f"  {line}" for line in _left_out(model)]
    inputs = model.spec.graph.inputs.values()
    if inputs:
        lines.append(f"  data: {', '.join(f'{x.name}{dim_set(x.dims)}' for x in inputs)}")
    return "\n".join(lines)


@never_raises
def model_html(model: Model) -> str:
    """Write the card of a model: plate diagram, variables with densities, dims, data."""
    return card([styled("Model", "kind"), _summary(model)], _sections(model))


def _sections(model: Model) -> Iterator[Section]:
    arrays = _arrays(model)
    draw = plates.find(model)
    svg = None if draw is None else draw(model, _MOST_BOXES)
    if svg is not None:
        yield Section("Picture", scrolled(Html(svg)))
    yield Section("Random variables", _variables(model, arrays), number=len(model.variables))
    dims = _dims(model)
    if dims:
        rows = [_dim_row(dim, arrays) for dim in dims]
        yield Section("Dims", table(rows), len(rows) <= _FEW_ROWS, len(rows))
    named = model.spec.graph.named
    if named:
        rows = [
            [styled(name, "name"), _sizes(node, arrays), styled(node.dtype, "soft")]
            for name, node in named.items()
        ]
        yield Section("Named", table(rows), len(named) <= _FEW_ROWS, len(named))
    for line in _left_out(model):
        yield Section("Not recorded", styled(line, "soft"))
    rows = _data(model, arrays)
    if rows:
        header = ("data", "dims", "type", "values", "missing", "")
        yield Section("Data", table(rows, header), len(rows) <= _FEW_ROWS, len(rows))


def _left_out(model: Model) -> list[str]:
    """Describe the named expressions that are not recorded, in one line or none."""
    names = left_out(model.spec.graph)
    if not names:
        return []
    outputs = ", ".join(str(x.node.name) for x in model.outputs)
    return [
        f"not recorded, as no output needs it: {listing(names)}; dt.Model({outputs}, {names[0]}) "
        "records it"
    ]


def _summary(model: Model) -> str:
    count = len(model.variables)
    observed = f", {len(model.observed)} observed" if model.observed else ""
    return f"{count} random variable{'' if count == 1 else 's'}{observed}"


def _rows(model: Model) -> list[tuple[str, ...]]:
    return [
        (
            name,
            dim_set(v.node.dims),
            str(v.distribution.support),
            repr(v.distribution),
            _role(model, name),
        )
        for name, v in model.variables.items()
    ]


def _role(model: Model, name: str) -> str:
    role = "observed" if name in model.observed else "free"
    role = "summed out" if name in model.spec.marginalized else role
    return f"{role}, noncentered" if name in model.spec.noncentered else role


def _variables(model: Model, arrays: Mapping[str, Any]) -> Html:
    """Write the table of random variables; of many, the observed and the first ones unfolded."""
    header = ("variable", "dims", "role", "density", "distribution", "support")
    rows = {name: _variable(model, name, arrays) for name in model.variables}
    if len(rows) <= 2 * _FEW_ROWS:
        return table(rows.values(), header)
    first = [*model.observed, *(name for name in rows if name not in model.observed)][:_FEW_ROWS]
    more = [row for name, row in rows.items() if name not in first]
    summary = f"<summary>{len(more)} more</summary>"
    unfolded = table([rows[name] for name in first], header)
    return Html(f"{unfolded}<details>{summary}{table(more, header)}</details>")


def _variable(model: Model, name: str, arrays: Mapping[str, Any]) -> list[str | Html]:
    v = model.variables[name]
    found = curve_of(v.node)
    return [
        styled(name, "name"),
        _sizes(v.node, arrays),
        styled(_role(model, name), "soft"),
        sparkline(found) if found is not None else "",
        styled(repr(v.distribution), "cell"),
        str(v.distribution.support),
    ]


# -- dims and data ---------------------------------------------------------------------------------


def _arrays(model: Model) -> dict[str, xr.DataArray]:
    """Return the data and observations of a model, by name."""
    return {**model.defaults, **model.observed}


def _dims(model: Model) -> list[Dim]:
    found: dict[Dim, None] = {}
    nodes = [v.node for v in model.variables.values()]
    for node in (*nodes, *model.spec.graph.named.values(), *model.spec.graph.inputs.values()):
        found |= dict.fromkeys(node.dims)
    return list(found)


def _told(dim: Dim, arrays: Mapping[str, xr.DataArray]) -> tuple[int | None, Any]:
    """Return the length and labels of a dim in the data."""
    sizes = [x for x in arrays.values() if dim._short in x.dims]
    labels = next((x.indexes[dim._short] for x in sizes if dim._short in x.indexes), None)
    return (sizes[0].sizes[dim._short] if sizes else None), labels


def _sizes(node: Node, arrays: Mapping[str, xr.DataArray]) -> str:
    lengths = [dim.length if dim.length is not None else _told(dim, arrays)[0] for dim in node.dims]
    known = ["?" if length is None else str(length) for length in lengths]
    shown = ", ".join(f"{dim._short}: {n}" for dim, n in zip(node.dims, known, strict=True))
    return f"({shown})" if shown else ""


def _dim_row(dim: Dim, arrays: Mapping[str, xr.DataArray]) -> list[str | Html]:
    length, late = _told(dim, arrays)
    if dim.length is None and length is not None:
        labels = _first(late, *_EDGE) if late is not None else []
        many = _first(late, _MOST_LABELS, _MOST_LABELS) if late is not None else []
        note = "with the data" if labels else "with the data, no labels"
        return [
            styled(dim._short, "name"),
            str(length),
            _folded(labels, many),
            styled(note, "soft"),
        ]
    row = dim_row(dim)
    many = dim_row(dim, head=_MOST_LABELS, tail=_MOST_LABELS).labels
    return [
        styled(row.name, "name"),
        row.length,
        _folded(row.labels, many),
        styled(row.note, "soft"),
    ]


def _first(labels: Any, head: int, tail: int) -> list[str]:
    if len(labels) <= head + tail + 1:
        return [label_repr(label) for label in labels]
    first, last = labels[:head], labels[-tail:]
    return [*map(label_repr, first), "…", *map(label_repr, last)]


def _folded(labels: list[str], many: list[str]) -> Html:
    return folded(labels, lambda: "\n".join(many))


def _data(model: Model, arrays: Mapping[str, xr.DataArray]) -> list[list[str | Html]]:
    rows: list[list[str | Html]] = []
    nodes: dict[str, Node] = {**model.spec.graph.inputs}
    nodes |= {name: model.variables[name].node for name in model.observed}
    for name, node in nodes.items():
        array = arrays.get(name)
        kind = "labels of " + node.categories._short if node.categories is not None else node.dtype
        role = "observed" if name in model.observed else "" if array is not None else "not given"
        missing = int(array.isnull().sum()) if array is not None else 0
        how = model.spec.missing.get(name, "")
        rows.append(
            [
                styled(name, "name"),
                _sizes(node, arrays),
                styled(kind, "soft"),
                array_range(array.values) if array is not None else "",
                f"{missing} of {array.size}{_how(how)}" if array is not None and missing else "",
                styled(role, "soft"),
            ]
        )
    return rows


def _how(how: str) -> str:
    return {"drop": ", left out", "infer": ", inferred"}.get(how, "")
