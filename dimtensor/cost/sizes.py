"""Sizes of the values of nodes."""

from __future__ import annotations

import numpy as np

from dimtensor.cost.polynomial import Polynomial
from dimtensor.graph.node import Node


def size_of(node: Node) -> Polynomial:
    """Return the size of a node's values in bytes."""
    return Polynomial.size(node.dims) * np.dtype(node.dtype).itemsize
