"""Texts of nodes, dims and attributes, shared by printers and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from dimtensor.dims import DerivedDim, Dim, ProductDim
from dimtensor.dims.selection import Selection
from dimtensor.errors import listing, plain_repr
from dimtensor.graph.kind import Call, DimRef
from dimtensor.graph.node import KINDS, Node
from dimtensor.tuning import SHOWN_VALUES


def short_ref(dim: Dim) -> str:
    """Return the name of a dim, for texts without another dim of that name."""
    return dim._short


def call_of(node: Node, ref: DimRef = short_ref) -> Call:
    """Return the printable form of a node.

    Parameters
    ----------
    node : Node
    ref : callable
        Writes a reference to a dim.
    """
    return KINDS[node.kind].call(node, ref)


# -- dims and attributes as text -------------------------------------------------------------------


def dim_text(dim: Dim, ref: DimRef = short_ref) -> str:
    """Write the recipe of a dim, with references to its parents and without computing labels."""
    if isinstance(dim, DerivedDim):
        return dim._text([ref(parent) for parent in dim.parents])
    return repr(dim)


def attr_text(value: Any, ref: DimRef = short_ref) -> str:
    """Write an attribute as a text that is the same in every process."""
    if isinstance(value, Dim):
        return ref(value)
    if isinstance(value, Node):
        return f"<{value.kind}>"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = (f"{k}={attr_text(v, ref)}" for k, v in zip(value._fields, value, strict=True))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(attr_text(item, ref) for item in value) + "]"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(attr_text(item, ref) for item in value)) + "}"
    if isinstance(value, np.ndarray):
        return f"[{listing(value.ravel(), SHOWN_VALUES)}]"
    if isinstance(value, (str, int, float, complex, bool, bytes, type(None), np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, Selection):
        return value.text
    return function_name(value)


def function_name(value: Any) -> str:
    """Return the name of a function or callable object."""
    path = getattr(value, "path", None)
    if isinstance(path, str):
        return path.rpartition(":")[2]
    graph = getattr(value, "graph", None)
    if graph is not None and hasattr(graph, "toposort"):
        return "+".join(op_name(apply.op) for apply in graph.toposort()) or "identity"
    return getattr(value, "__qualname__", None) or type(value).__name__


def op_name(op: Any) -> str:
    """Return the name of a positional op."""
    scalar = getattr(op, "scalar_op", None)
    return str(getattr(scalar, "name", None) or type(scalar or op).__name__)


def constant_text(node: Node) -> str:
    """Write a constant, with its dtype unless that is the default of its kind."""
    number = node.attrs.value.item()
    if node.dtype in ("bool", "int64", "float64", "complex128"):
        return repr(number)
    return f"{node.dtype}({number!r})"


def label_text(node: Node) -> str | None:
    """Return a text such as ``country['USA']`` for a constant label; None for other nodes."""
    if node.kind != "codes" or node.attrs is None:
        return None
    (x,) = node.inputs
    dim = node.attrs
    if x.kind == "label_position":
        return f"{dim._short}[{plain_repr(x.attrs.labels[0])}]"
    if x.kind != "constant":
        return None
    position = int(x.attrs.value)
    if isinstance(dim, ProductDim) or dim.coords is None or position >= len(dim.coords):
        return f"{dim._short}[{position}]"
    return f"{dim._short}[{listing(dim.coords[position : position + 1])}]"
