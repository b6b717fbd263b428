"""Parts of a function that are exported."""

from __future__ import annotations

from typing import NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph import Node


class ExportedParts(NamedTuple):
    """A function as it is exported: what goes in and what comes out.

    Attributes
    ----------
    inputs : tuple of Node or Dim
        Those of the function, then data that become inputs.
    outputs : tuple of Node
        Those of the function, then gradients.
    wrt : tuple of Node
        The inputs of the gradients.
    data : dict of Node to Node
        The inputs that data become.
    """

    inputs: tuple[Node | Dim, ...]
    outputs: tuple[Node, ...]
    wrt: tuple[Node, ...]
    data: dict[Node, Node]
