"""Reprs of generative models: a table of their variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.display.html import Section, card, never_raises, nodes_table, styled, table

if TYPE_CHECKING:
    from dimtensor.graph import Node
    from dimtensor.model.model import Model

_HEADER = ("variable", "dims", "support", "distribution", "role")


def model_text(model: Model) -> str:
    """A line for each random variable, and what is named."""
    rows = _rows(model)
    widths = [max(len(row[at]) for row in [_HEADER, *rows]) for at in range(len(_HEADER))]
    lines = [f"<Model of {_summary(model)}>"]
    for row in [_HEADER, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    if model._found.named:
        lines.append(f"  named: {', '.join(model._found.named)}")
    if model._found.inputs:
        lines.append(f"  data: {', '.join(_with_dims(x) for x in model._found.inputs.values())}")
    return "\n".join(lines)


@never_raises
def model_html(model: Model) -> str:
    """The same as a card."""
    rows = [[styled(row[0], "name"), *row[1:]] for row in _rows(model)]
    sections = [Section("Random variables", table(rows, _HEADER), number=len(rows))]
    for title, nodes in (("Named", model._found.named), ("Data", model._found.inputs)):
        if nodes:
            found = list(nodes.values())
            sections.append(Section(title, nodes_table(found, nodes), len(found) <= 12, len(found)))
    return card([styled("Model", "kind"), _summary(model)], sections)


def _summary(model: Model) -> str:
    count = len(model.variables)
    observed = f", {len(model.observed)} observed" if model.observed else ""
    return f"{count} random variable{'' if count == 1 else 's'}{observed}"


def _rows(model: Model) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, v in model.variables.items():
        dims = "{" + ", ".join(dim.short for dim in v.node.dims) + "}"
        role = "observed" if name in model.observed else "free"
        role = "summed out" if name in model._marginal else role
        role = f"{role}, noncentred" if name in model._noncentred else role
        d = v.distribution
        rows.append((name, dims, str(d.support), repr(d), role))
    return rows


def _with_dims(node: Node) -> str:
    return f"{node.name}{{{', '.join(dim.short for dim in node.dims)}}}"
