"""Positional variables that stand for inputs outside of a function, and the way back in.

``to_shaped`` gives users such variables. Where what they made of them comes back through
``from_shaped``, the variables are exchanged for those that the inputs have in the new graph: values
and gradients pass the border.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
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


def inputs_beyond(variable: Variable) -> Iterator[tuple[Variable, Node]]:
    """The variables below a positional one that stand for inputs, and the inputs."""
    for root in graph_inputs([variable]):
        node = getattr(root.tag, "stands_for", None)
        if node is not None:
            yield root, node


def join(variable: Variable, variable_of: Callable[[Node], Variable]) -> Variable:
    """A positional variable in terms of the variables that inputs have in a graph."""
    found = {root: variable_of(node) for root, node in inputs_beyond(variable)}
    replace = {root: new for root, new in found.items() if new is not root}
    if not replace:
        return variable
    return clone_replace(variable, replace=replace, rebuild_strict=False)
