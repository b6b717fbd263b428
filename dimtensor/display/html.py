"""HTML reprs for notebooks: self-contained, readable on light and dark pages, all text escaped."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, NamedDim
from dimtensor.dims.dim import AnonymousDim
from dimtensor.display.peek import dim_row, glance_text, leaf_sizes, values_text
from dimtensor.display.style import STYLE
from dimtensor.display.text import in_place_of_errors, sizes_text, used_leaves
from dimtensor.graph import Node
from dimtensor.graph.printing.formula import formula_lines
from dimtensor.graph.printing.printer import graph_text
from dimtensor.renderers import mathml
from dimtensor.traversal import reached

if TYPE_CHECKING:
    from dimtensor.compile.function import CompiledFunction

# labels in an unfolded table, and nodes of a graph that is printed
_MOST_LABELS = 100
_MOST_NODES = 300


class Html(str):
    """Text that is HTML already; everything else is escaped."""

    __slots__ = ()


class Section(NamedTuple):
    """Foldable section of a card.

    Attributes
    ----------
    title : str
    body : Html
    unfolded : bool
    number : int or None
        Shown behind the title.
    """

    title: str
    body: Html
    unfolded: bool = True
    number: int | None = None


def card(head: Iterable[str | Html], sections: Iterable[Section]) -> str:
    """Write a card: a headline and foldable sections.

    Parameters
    ----------
    head : iterable of str or Html
        Parts of the headline.
    sections : iterable of Section

    Returns
    -------
    str
        HTML with its style.

    Examples
    --------
    >>> page = card(["a < b"], [Section("Values", table([["x", "1"]]))])
    >>> "a &lt; b" in page, "<td>x</td>" in page
    (True, True)
    """
    line = " ".join(_text(part) for part in head)
    body = "".join(_section(section) for section in sections)
    return (
        f'<div class="dt-repr"><style>{STYLE}</style><div class="dt-head">{line}</div>{body}</div>'
    )


def _section(section: Section) -> str:
    count = "" if section.number is None else f' <span class="dt-soft">({section.number})</span>'
    return (
        f"<details{' open' if section.unfolded else ''}><summary>{escape(section.title)}{count}"
        f"</summary>{section.body}</details>"
    )


def table(rows: Iterable[Sequence[str | Html]], header: Sequence[str] = ()) -> Html:
    """Write a table."""
    # an empty corner heads nothing
    head = "".join(f"<th>{escape(cell)}</th>" if cell else "<td></td>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    head = f"<tr>{head}</tr>" if head else ""
    # a wide table scrolls in its own box
    return Html(f'<div class="dt-table" tabindex="0"><table>{head}{body}</table></div>')


def preformatted(text: str, wrapped: bool = False) -> Html:
    """Write a block of preformatted text, with long lines scrolled or wrapped."""
    return Html(f"<pre{' class=dt-wrap' if wrapped else ''}>{escape(text)}</pre>")


def scrolled(body: Html) -> Html:
    """Put content that may be wider than the page into a scrollable box."""
    return Html(f'<div class="dt-scroll" tabindex="0">{body}</div>')


def _text(part: str | Html) -> str:
    return part if isinstance(part, Html) else escape(str(part))


def styled(text: str, style: str) -> Html:
    """Write text in one of the styles: kind, soft, name, mono, narrow, cell."""
    return Html(f'<span class="dt-{style}">{escape(text)}</span>')


def never_raises(function: Callable[[Any], str]) -> Callable[[Any], str]:
    """Decorate a function that writes a card: if it fails, the repr is shown instead."""
    return in_place_of_errors(lambda x, _: f"<pre>{escape(repr(x))}</pre>")(function)


# -- dims ------------------------------------------------------------------------------------------


def dims_table(dims: Sequence[Dim], node: Node | None = None) -> Html:
    """Write a table of dims with lengths, labels and recipes; long lists of labels are folded."""
    rows = []
    for dim in dims:
        row = dim_row(dim, node)
        labels = folded(row.labels, functools.partial(_many_labels, dim, node))
        rows.append([styled(row.name, "name"), row.length, labels, styled(row.note, "soft")])
    return table(rows)


def folded(labels: Sequence[str], many: Callable[[], str]) -> Html:
    """Write a few labels; if some are left out, they unfold to many."""
    shown = Html(f'<span class="dt-mono dt-narrow">{escape(" ".join(labels))}</span>')
    if "…" not in labels:
        return shown
    return Html(f"<details><summary>{shown}</summary>{preformatted(many())}</details>")


def _many_labels(dim: Dim, node: Node | None) -> str:
    return "\n".join(dim_row(dim, node, head=_MOST_LABELS, tail=_MOST_LABELS).labels)


@never_raises
def dim_html(dim: Dim) -> str:
    """Write the card of a dim: kind, name, length, labels."""
    length = "?" if dim.length is None else str(dim.length)
    plain = isinstance(dim, (NamedDim, AnonymousDim))
    kind = "Dim" if plain else type(dim).__name__
    head = [styled(kind, "kind"), styled(dim._short, "name"), length]
    return card(head, [Section("Labels", dims_table([dim]))])


# -- tensors ---------------------------------------------------------------------------------------


@never_raises
def tensor_html(x: Any) -> str:
    """Write the card of a tensor: dims, dtype, values of data, expression and graph."""
    node: Node = x.node
    return card(_head(node), _sections(node))


def _head(node: Node) -> list[str | Html]:
    parts: list[str | Html] = [styled("DimTensor", "kind")]
    if node.name is not None:
        parts.append(styled(node.name, "name"))
    parts += [f"({sizes_text(node)})", styled(node.dtype, "soft")]
    if node.categories is not None:
        parts.append(styled(f"labels of {node.categories._short}", "soft"))
    return parts


def _sections(node: Node) -> Iterable[Section]:
    if node.kind == "data":
        yield Section("Values", preformatted(values_text(node)))
    elif node.inputs or node.kind not in ("input", "shaped"):
        values = glance_text(node)
        if values is not None:
            yield Section("Values", preformatted(values))
        yield Section("Expression", _expression(node))
    if node.dims:
        yield Section("Dims", dims_table(node.dims, node), number=len(node.dims))
    leaves = used_leaves(node) if node.inputs else []
    if leaves:
        yield Section("Inputs", nodes_table(leaves), len(leaves) <= 4, len(leaves))
    text = _graph(node) if node.inputs else None
    if text is not None:
        yield Section("Graph", preformatted(text), unfolded=False)


def _expression(node: Node) -> Html:
    """Typeset an expression, with its Python as tooltip; without a typesetter, write the latter."""
    lines, formula = "\n".join(formula_lines(node, 96)), mathml.find(node)
    if formula is None:
        return preformatted(lines, wrapped=True)
    return Html(
        f'<div class="dt-scroll" tabindex="0" title="{escape(lines)}">{formula(node)}</div>'
    )


def _graph(node: Node) -> str | None:
    """Print a graph, unless it is too large for a page."""
    few = len(list(islice(reached([node], lambda x: x.inputs), _MOST_NODES + 1))) <= _MOST_NODES
    return graph_text([node]) if few else None


def nodes_table(nodes: Iterable[Node], names: Iterable[str | None] | None = None) -> Html:
    """Write a table of tensors with their dims and dtypes."""
    nodes = list(nodes)
    titles = [node.name for node in nodes] if names is None else list(names)
    rows = []
    for node, title in zip(nodes, titles, strict=True):
        kind = node.kind if node.kind in ("input", "data") else ""
        rows.append(
            [
                styled(title or ("data" if node.kind == "data" else ""), "name"),
                f"({leaf_sizes(node)})",
                styled(node.dtype, "soft"),
                styled(kind, "soft"),
            ]
        )
    return table(rows)


# -- compiled functions ----------------------------------------------------------------------------


@never_raises
def function_html(f: CompiledFunction) -> str:
    """Write the card of a compiled function: inputs, data, outputs, backend and compile times."""
    code, data = f._code, f._data_nodes
    tensors = [source for source in code.inputs if isinstance(source, Node)]
    lengths = [source for source in code.inputs if isinstance(source, Dim)]
    names = f._structure.names(code.outputs)
    sections = [Section("Inputs", nodes_table(tensors), number=len(tensors))]
    if lengths:
        sections.append(Section("Lengths", dims_table(lengths), number=len(lengths)))
    if data:
        sections.append(Section("Data", nodes_table(data), len(data) <= 6, len(data)))
    sections.append(Section("Outputs", nodes_table(code.outputs, names), number=len(code.outputs)))
    times = [[step, f"{seconds:.4g} s"] for step, seconds in f.stats.items()]
    sections.append(Section("Compilation", table(times), unfolded=False))
    return card([styled("CompiledFunction", "kind"), "on", styled(f.backend, "name")], sections)
