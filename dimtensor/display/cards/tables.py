"""The card of a table whose columns are tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.display.html import Html, Section, card, never_raises, preformatted, styled, table
from dimtensor.display.peek import array_range, leaf_sizes, values_text

if TYPE_CHECKING:
    from dimtensor.tensor.tables.frame import Frame

_FEW_ROWS = 24


@never_raises
def frame_html(frame: Frame) -> str:
    """Write the card of a table: a row for each column, with its type and values."""
    rows = [_row(frame, name) for name in frame]
    head: list[str | Html] = [styled("Frame", "kind"), f"{len(rows)} columns"]
    first = next((name for name in frame if name.isidentifier()), "name")
    how = preformatted(f"table.{first} or table[{first!r}] is a column, a tensor with its methods")
    columns = table(rows, ("column", "dims", "type", "values", "missing"))
    return card(head, [Section("Columns", Html(columns + how), len(rows) <= _FEW_ROWS, len(rows))])


def _row(frame: Frame, name: str) -> list[str | Html]:
    column = frame._columns[name]
    if isinstance(column, Exception):
        reason = str(column).split(": ", 1)[-1].splitlines()[0]
        return [styled(name, "name"), "", styled("not read", "soft"), styled(reason, "cell"), ""]
    node = column.node
    kind, shown = node.dtype, array_range(node.attrs.values)
    missing = int((node.attrs.values != node.attrs.values).sum())
    if node.categories is not None:
        kind, shown = f"labels of {node.categories._short}", values_text(node).strip("ary()")
    cells = [styled(name, "name"), f"({leaf_sizes(node)})", styled(kind, "soft")]
    return [*cells, styled(shown, "cell"), str(missing) if missing else ""]
