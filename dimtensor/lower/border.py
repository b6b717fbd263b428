"""Positional variables that stand for inputs outside of a function.

``to_shaped`` gives users such variables. They remember which input they stand for, so that what is
made of them can come back, through ``from_shaped``, as a function of the inputs.
"""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs

from dimtensor.graph import Node


def named_variable(name: str | None, dtype: str, shape: tuple[int | None, ...]) -> Variable:
    """A positional variable of any name; PyTensor refuses names like ``single`` in constructors."""
    variable = pt.tensor(dtype=dtype, shape=shape)
    variable.name = name
    return variable


def stand_for(variable: Variable, node: Node) -> None:
    """Remember on a variable which input it stands for; its axes are in the order of the dims."""
    variable.tag.stands_for = node


def roots_of(variable: Variable) -> dict[Variable, Node | None]:
    """The variables that a positional one is computed from, and the inputs that they stand for."""
    return {
        root: getattr(root.tag, "stands_for", None)
        for root in graph_inputs([variable])
        if not isinstance(root, Constant)
    }
