"""Text reprs: what a tensor is, on one screen, without computing anything."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from itertools import islice
from typing import Any

from dimtensor.dims import Dim
from dimtensor.display.peek import DimRow, dim_row, glance_text, leaf_sizes, values_text
from dimtensor.graph import Node
from dimtensor.graph.printing.formula import formula_lines, leaf_name
from dimtensor.graph.walk import LEAF_KINDS
from dimtensor.traversal import reached

type _Decorator[T] = Callable[[Callable[[Any], T]], Callable[[Any], T]]

_WIDTH = 80
# inputs of an expression are searched among this many nodes
_MOST_NODES = 20_000


def in_place_of_errors[T](instead: Callable[[Any, Exception], T]) -> _Decorator[T]:
    """Decorate a repr: if it raises an error, return a substitute that does not hide the object."""

    def decorated(function: Callable[[Any], T]) -> Callable[[Any], T]:
        @functools.wraps(function)
        def shown(x: Any) -> T:
            try:
                return function(x)
            except Exception as error:  # reprs of broken objects must work, too
                return instead(x, error)

        return shown

    return decorated


never_raises = in_place_of_errors(
    lambda x, error: f"<{type(x).__name__} (no repr: {type(error).__name__})>"
)


@never_raises
def tensor_text(x: Any) -> str:
    """Write the repr of a tensor: name, dims with lengths, dtype, and values or formula.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a = dt.tensor("a", dims=dt.Dim("country", coords=["Italy", "Kenya"]))
    >>> a * 2
    <DimTensor (country: 2) float64>
    2 * a
    Dims:
      country  2  'Italy' 'Kenya'
    Inputs: a (country: 2)
    """
    node: Node = x.node
    lines = [headline(node, type(x).__name__), *_content(node)]
    if node.dims:
        lines += ["Dims:", *dim_lines([dim_row(dim, node) for dim in node.dims])]
    if node.inputs:
        leaves = used_leaves(node)
        inputs = ", ".join(leaf_title(leaf) for leaf in leaves) if leaves is not None else "many"
        lines += _wrapped(f"Inputs: {inputs or 'none'}")
    return "\n".join(lines)


def headline(node: Node, kind: str = "DimTensor") -> str:
    """Write the first line of a repr."""
    name = f" {node.name!r}" if node.name is not None else ""
    labels = f" labels of {node.categories._short}" if node.categories is not None else ""
    return f"<{kind}{name} ({sizes_text(node)}) {node.dtype}{labels}>"


def sizes_text(node: Node) -> str:
    """Write dims with their lengths; late lengths are ``?``."""
    return ", ".join(f"{d._short}: {'?' if d.length is None else d.length}" for d in node.dims)


def _content(node: Node) -> list[str]:
    if node.kind == "data":
        return [values_text(node)]
    if node.kind == "input":
        return []
    if node.kind == "shaped":
        return [f"of the positional variable {str(node.attrs.variable)[:_WIDTH]}"]
    lines = [line for text in formula_lines(node) for line in _wrapped(text)]
    values = glance_text(node)
    return lines if values is None else [*lines, values]


def _wrapped(text: str) -> list[str]:
    """Wrap a text into lines at sums and commas, but not within products and brackets."""
    kept = text.replace(" * ", _kept(" * ")).replace(" / ", _kept(" / ")).replace(": ", _kept(": "))
    lines = textwrap.wrap(
        kept.replace(" (", _kept(" (")), _WIDTH, subsequent_indent="  ", break_long_words=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _kept(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def dim_lines(rows: list[DimRow]) -> list[str]:
    """Align rows of dims in columns."""
    names = max(len(row.name) for row in rows)
    lengths = max(len(row.length) for row in rows)
    lines = []
    for row in rows:
        head = f"  {row.name:<{names}}  {row.length:>{lengths}}"
        note = f"({row.note})" if row.note else ""
        labels = fit(row.labels, _WIDTH - len(head) - 2)
        lines.append("  ".join(part for part in (head, labels, note) if part))
    return lines


def fit(labels: list[str], width: int) -> str:
    """Write labels in a line, leaving out middle ones if it is too long."""
    shown = list(labels)
    while len(" ".join(shown)) > width and len(shown) > 3:
        middle = len(shown) // 2
        shown[middle - 1 : middle + 1] = ["…"] if "…" not in shown else []
        if "…" not in shown:
            shown.insert(len(shown) // 2, "…")
    text = " ".join(shown)
    return text if len(text) <= max(width, 20) else text[: max(width, 20) - 1] + "…"


def used_leaves(node: Node) -> list[Node] | None:
    """Return the inputs and data that a node depends on, oldest first; None for a large graph."""
    nodes = list(islice(reached([node], lambda x: x.inputs), _MOST_NODES + 1))
    if len(nodes) > _MOST_NODES:
        return None
    return sorted((x for x in nodes if x.kind in LEAF_KINDS), key=lambda leaf: leaf._serial)


def leaf_title(leaf: Node) -> str:
    """Write the name and the dims of an input."""
    title = leaf_name(leaf)
    return f"{title} ({leaf_sizes(leaf)})" if leaf.dims else title


@never_raises
def dim_text_long(dim: Dim) -> str:
    """Write a dim on a few lines: its recipe, length and labels."""
    row = dim_row(dim, head=8, tail=3)
    return "\n".join([repr(dim), *dim_lines([row])])
