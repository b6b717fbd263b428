"""``to_shaped``: lowering there and then, an input being the same PyTensor variable each time."""

from __future__ import annotations

import weakref
from typing import Any

import pytensor.tensor as pt

from dimtensor.dims import Dims
from dimtensor.errors import GraphError, build_message
from dimtensor.graph import Node
from dimtensor.lower import AxisOrder, Lowering, transpose
from dimtensor.lower.border import named_variable, stand_for

# canonical order, so that an input is the same variable whatever expression it is in
_ORDER = AxisOrder.canonical()
_variables: weakref.WeakValueDictionary[Node, Any] = weakref.WeakValueDictionary()


def input_variable(node: Node, axes: Dims) -> Any:
    """The positional variable that stands for an input or data node."""
    variable = _variables.get(node)
    if variable is None:
        if node.kind == "data":
            values = node.attrs.values.transpose([node.attrs.dims.index(d) for d in axes])
            variable = pt.constant(values, name=node.name)
        else:
            shape = tuple(dim.length for dim in axes)
            variable = named_variable(node.name, node.dtype, shape)
            stand_for(variable, node)
        _variables[node] = variable
    return variable


def to_shaped(node: Node, order: Dims) -> Any:
    """The positional variable of a node, axes in the given order.

    Raises
    ------
    GraphError
        If labels would have to be looked up when data arrives, which only ``dt.function`` does.
    """
    lowering = Lowering([node], _ORDER, input_variable)
    (variable,) = lowering.run()
    if lowering.hidden:
        late = [f"{p.dim.short}: {p.labels}" for p in lowering.hidden]
        raise GraphError(
            build_message(
                "a positional graph cannot look up labels that arrive with the data",
                [("selected", ", ".join(late))],
                "give the dims their coords, or select by position",
            )
        )
    variable = transpose(variable, _ORDER.sort(node.dims), order)
    if lowering.checks:
        from pytensor.raise_op import Assert

        for condition, message in lowering.checks:
            variable = Assert(message)(variable, condition)
    return variable
