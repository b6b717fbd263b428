"""The dims graph: frozen interned nodes, one op table, inference, verifier, printer."""

from dimtensor.graph import infer as _infer  # registers the inference functions
from dimtensor.graph.node import Node, NodeType, make
from dimtensor.graph.optable import TABLE, OpRow, rows
from dimtensor.graph.walk import leaves, toposort, walk

__all__ = ["TABLE", "Node", "NodeType", "OpRow", "leaves", "make", "rows", "toposort", "walk"]

del _infer
