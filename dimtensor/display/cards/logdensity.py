"""Reprs of log densities: parameters, terms and deterministics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.display.html import (
    Section,
    card,
    never_raises,
    nodes_table,
    preformatted,
    styled,
    table,
)

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity


def density_text(model: LogDensity) -> str:
    """Write a headline, a line for each parameter, and the names of terms and deterministics."""
    rows = _rows(model)
    widths = [max([len(row[at]) for row in rows], default=0) for at in range(3)]
    lines = [f"<LogDensity {_summary(model)}>"]
    for name, support, sizes, size in rows:
        texts = (name.ljust(widths[0]), support.ljust(widths[1]), sizes.ljust(widths[2]), size)
        lines.append("  " + "  ".join(texts).rstrip())
    lines += [f"  terms: {', '.join(model.terms)}"] if model.terms else []
    lines += [f"  recorded: {', '.join(model.deterministics)}"] if model.deterministics else []
    distinct = model.functions.rows
    lines += [] if distinct is None else [f"  rows: {distinct.text}"]
    return "\n".join(lines)


@never_raises
def density_html(model: LogDensity) -> str:
    """Write the card of a log density."""
    header = ("parameter", "support", "dims", "elements")
    rows = [[styled(row[0], "name"), *row[1:]] for row in _rows(model)]
    sections = [Section("Parameters", table(rows, header), number=len(rows))]
    if model.terms:
        sections.append(_named("Terms", model.terms))
    if model.deterministics:
        sections.append(_named("Recorded", model.deterministics))
    data = model.functions.data_nodes
    if data:
        sections.append(Section("Data", nodes_table(data), len(data) <= 6, len(data)))
    if model.functions.rows is not None:
        sections.append(Section("Rows", preformatted(model.functions.rows.text)))
    head = [styled("LogDensity", "kind"), _summary(model)]
    return card(head, sections)


def _named(title: str, tensors: dict[str, Any]) -> Section:
    nodes = [x.node for x in tensors.values()]
    return Section(title, nodes_table(nodes, tensors), len(nodes) <= 12, len(nodes))


def _summary(model: LogDensity) -> str:
    jacobian = "" if model.jacobian else ", without Jacobians"
    return f"of {model.size} unconstrained elements on {model.backend}{jacobian}"


def _rows(model: LogDensity) -> list[tuple[str, str, str, str]]:
    """Return name, support, dims and number of unconstrained elements of each parameter."""
    rows, binding = [], model.functions.binding
    for p in model.parameters:
        sizes = [f"{dim._short}: {dim._bound_length(binding)}" for dim in p.tensor.dims]
        rows.append((p.name, repr(p.support), f"{{{', '.join(sizes)}}}", str(p.size(binding))))
    return rows
