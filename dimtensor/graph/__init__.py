"""The dims graph: frozen interned nodes, one op table, inference, verifier, printer."""

from dimtensor.graph import checks as _checks  # these register inference functions
from dimtensor.graph import derivatives as _derivatives
from dimtensor.graph import infer as _infer
from dimtensor.graph import regions as _regions
from dimtensor.graph.node import Node, NodeType, make
from dimtensor.graph.optable import TABLE, OpRow, rows
from dimtensor.graph.walk import leaves, toposort, walk

__all__ = ["TABLE", "Node", "NodeType", "OpRow", "leaves", "make", "rows", "toposort", "walk"]

del _checks, _derivatives, _infer, _regions
