"""Abbreviated labels of dims and values of arrays, computed only as far as they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimtensor.dims import Coords, Dim, NamedDim, RowNumbers
from dimtensor.dims.dim import AnonymousDim
from dimtensor.errors import clipped, plain_repr
from dimtensor.graph import Node
from dimtensor.graph.printing.text import dim_text
from dimtensor.graph.printing.words import words_of

# as xarray's default for showing values
_SHOWN_VALUES = 200


@dataclass(frozen=True)
class DimRow:
    """Row of a table of dims.

    Attributes
    ----------
    name : str
    length : str
        ``?`` for late lengths.
    labels : list of str
        The first and last labels, with ``…`` between them; empty if there are none.
    note : str
        The parents of a derived dim, or a remark on late labels.
    """

    name: str
    length: str
    labels: list[str]
    note: str


def dim_row(dim: Dim, node: Node | None = None, head: int = 3, tail: int = 2) -> DimRow:
    """Make the row of a dim, with its length and labels in the data of `node`."""
    own_length, own_labels = _said_by_data(dim, node)
    length = dim.length if dim.length is not None else own_length
    labels: list[str] = []
    if length is not None:
        wanted, gap = _edges(length, head, tail)
        found = own_labels.values[wanted] if own_labels is not None else dim._labels_at(wanted)
        if found is not None:
            labels = [label_repr(label) for label in found]
            if gap is not None:
                labels.insert(gap, "…")
    return DimRow(
        dim._short,
        "?" if dim.length is None else str(dim.length),
        labels,
        _note(dim, own_length, bool(labels)),
    )


def _note(dim: Dim, own_length: int | None, labeled: bool) -> str:
    notes = []
    if not isinstance(dim, (NamedDim, AnonymousDim)):
        parents = ", ".join(parent._short for parent in dim.parents)
        if dim._within is not None:
            notes.append(f"within {dim._within._short}")
        else:
            notes.append(f"{type(dim).__name__} of {parents}" if labeled else dim_text(dim))
    if dim.length is None:
        notes.append(f"{own_length} in these data" if own_length is not None else "with the data")
    elif not labeled and dim.length > 0:
        notes.append("no labels")
    return ", ".join(notes)


def _said_by_data(dim: Dim, node: Node | None) -> tuple[int | None, Coords | None]:
    if node is None or node.kind != "data" or dim not in node.attrs.dims:
        return None, None
    labels = dict(node.attrs.labels).get(dim)
    shown = None if isinstance(labels, RowNumbers) else labels
    return node.attrs.values.shape[node.attrs.dims.index(dim)], shown


def _edges(length: int, head: int, tail: int) -> tuple[np.ndarray, int | None]:
    """Return the positions to show, and the index of the gap among them."""
    if length <= head + tail + 1:
        return np.arange(length), None
    return np.r_[0:head, length - tail : length], head


def dim_labels(dim: Dim, node: Node | None, most: int) -> Sequence[Any] | np.ndarray | None:
    """Return all labels of a dim, or of its data; None if there are none or too many."""
    length, told = _said_by_data(dim, node)
    if told is not None:
        return told.values if length is not None and length <= most else None
    if dim.length is None or dim.length > most:
        return None
    return dim._labels_at(np.arange(dim.length))


def leaf_sizes(node: Node) -> str:
    """Write the dims of an input with their lengths; late lengths are those of its data."""
    lengths = [(dim, dim.length or _said_by_data(dim, node)[0]) for dim in node.dims]
    return ", ".join(f"{dim._short}: {'?' if n is None else n}" for dim, n in lengths)


def array_range(values: np.ndarray) -> str:
    """Write the number of a scalar, or the range of an array of numbers."""
    if not values.size or values.dtype.kind not in "biuf":
        return ""
    if values.ndim == 0:
        return f"{values.item():.6g}"
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return f"{known.min():.4g} to {known.max():.4g}" if known.size else ""


def label_repr(label: Any) -> str:
    """Write a label as in code; a label of a product dim is a tuple."""
    if isinstance(label, tuple):
        return f"({', '.join(map(label_repr, label))})"
    return clipped(plain_repr(label))


def glance_text(node: Node) -> str | None:
    """Write the values of a data-only expression, or why not; None for other expressions."""
    from dimtensor.tensor.values import glance, too_long

    try:
        found = glance(node)
        reason = too_long(node) if found is None else None
    except Exception as error:  # a failed check, or an error of the user's functions
        return f"not computed: .eval() raises {type(error).__name__}"
    if found is None:
        return None if reason is None else f"not computed: {reason}; .eval() computes them"
    text = array_text(found.values)
    return f"{text}\n{_OF_MISSING}" if _includes_missing(node, found.values) else text


_OF_MISSING = "NaN where an element is missing; skipna=True leaves those out"
# reductions that do not skip NaN by default
_WITH_SKIPNA = frozenset(
    {"sum", "prod", "mean", "var", "std", "min", "max", "median", "quantile", "cumsum", "cumprod"}
)


def _includes_missing(node: Node, values: np.ndarray) -> bool:
    """Return True if a reduction is NaN because it includes missing elements."""
    from dimtensor.tensor.values import glance

    if values.dtype.kind not in "fc" or not np.isnan(values).any():
        return False
    words = words_of(node)
    if words is None:
        if node.kind != "reduce":
            return False
        name, operand, options = node.attrs.name, node.inputs[0], {}
    elif words.operands:
        name, operand, options = words.name, words.operands[0][1], dict(words.options)
    else:
        return False
    if name.removeprefix("coarsen_") not in _WITH_SKIPNA or options.get("skipna"):
        return False
    shown = operand.attrs if operand.kind == "data" else glance(operand)
    elements = None if shown is None else shown.values
    return elements is not None and elements.dtype.kind in "fc" and bool(np.isnan(elements).any())


def values_text(node: Node, width: int = 80) -> str:
    """Write the values, or labels, of a data node abbreviated as in xarray."""
    return array_text(node.attrs.values, width, _label_formatter(node.categories))


def array_text(
    values: np.ndarray, width: int = 80, formatter: dict[str, Callable[[Any], str]] | None = None
) -> str:
    """Write values abbreviated as in xarray."""
    if formatter is None and values.dtype.kind not in "biufc":
        formatter = {"all": label_repr}
    edge = 3 if values.ndim < 3 else 2 if values.ndim == 3 else 1
    text = np.array2string(
        values,
        max_line_width=width,
        precision=6,
        threshold=_SHOWN_VALUES,
        edgeitems=edge,
        separator=", ",
        prefix="array(",
        formatter=formatter,  # type: ignore[arg-type]
    )
    return f"array({text})"


def _label_formatter(categories: Dim | None) -> dict[str, Callable[[Any], str]] | None:
    if categories is None or categories.length is None:
        return None
    if categories._labels_at(np.arange(0)) is None:
        return None
    length = categories.length

    def label(code: Any) -> str:
        if not 0 <= code < length:
            return str(code)
        return label_repr(categories._labels_at(np.array([code]))[0])  # type: ignore[index]

    return {"int_kind": label}
