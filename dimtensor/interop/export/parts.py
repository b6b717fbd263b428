"""Inputs and outputs of an exported function."""

from __future__ import annotations

from typing import NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph import Node


class ExportedParts(NamedTuple):
    """Inputs and outputs of an exported function.

    Attributes
    ----------
    inputs : tuple of Node or Dim
        Inputs of the function, then data that become inputs.
    outputs : tuple of Node
        Outputs of the function, then gradients.
    wrt : tuple of Node
        The inputs of the gradients.
    data : dict of Node to Node
        The inputs that replace data.
    """

    inputs: tuple[Node | Dim, ...]
    outputs: tuple[Node, ...]
    wrt: tuple[Node, ...]
    data: dict[Node, Node]
