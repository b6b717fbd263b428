"""Labels of dims and selections as text, without computing more labels than are shown."""

from __future__ import annotations

import numpy as np

from dimtensor.dims import Dim
from dimtensor.dims.selection import Positions, Slice
from dimtensor.errors import listing
from dimtensor.graph.attrs import IndexItem
from dimtensor.graph.node import Node
from dimtensor.tuning import SHOWN_LABELS


def where_text(item: IndexItem) -> str:
    """Write a static selection, by label if the dim has labels."""
    dim: Dim = item.dim
    if dim.length is not None:
        if item.kind == "int":
            label = dim._labels_at(np.array([item.payload]))
            return str(item.payload) if label is None else listing(label)
        if isinstance(item.payload, (Positions, Slice)):
            count = item.payload.length(dim.length)
            if count is not None and 0 < count <= SHOWN_LABELS:
                labels = dim._labels_at(item.payload.to_array(dim.length))
                if labels is not None:
                    return f"[{listing(labels)}]"
    return str(item.payload) if item.kind == "int" else item.payload.text


def late_labels_text(node: Node) -> str:
    """Write the labels that a label_position node looks up."""
    _, labels, role = node.attrs
    return listing(labels) if role == "one" else f"[{listing(labels, SHOWN_LABELS)}]"
