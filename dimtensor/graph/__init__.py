"""The dims graph: frozen interned nodes, their kinds, one op table, verifier, printer."""

from dimtensor.graph import kinds as _kinds  # importing it registers them
from dimtensor.graph.node import Node, NodeType, make
from dimtensor.graph.optable import TABLE, OpRow, rows
from dimtensor.graph.rebuilding import pickling as _pickling  # and how nodes are pickled
from dimtensor.graph.walk import leaves, toposort, walk

__all__ = ["TABLE", "Node", "NodeType", "OpRow", "leaves", "make", "rows", "toposort", "walk"]

del _kinds, _pickling
