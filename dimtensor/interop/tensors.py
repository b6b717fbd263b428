"""Tensors of nodes, for layers that know nodes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.graph import Node
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def tensor_of(node: Node) -> DimTensor:
    """The tensor of a node."""
    return wrap(node)
