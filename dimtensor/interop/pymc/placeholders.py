"""Lowering of named axes in PyMC graphs, and placeholders for their variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import ancestors

from dimtensor.interop.scans.steps import with_loops
from dimtensor.upstream.pytensor import xtensor_class


def lower_named_axes(outputs: Sequence[Any]) -> list[Any]:
    """Lower named axes to positional ones, and scans to loops, in graphs that may be changed."""
    if not any(_has_named_axes(v) for v in ancestors(outputs)):
        return with_loops(outputs)
    from pytensor.compile.mode import optdb

    graph = FunctionGraph(outputs=list(outputs), clone=False)
    optdb.query("+lower_xtensor").rewrite(graph)
    return with_loops(graph.outputs)


def _has_named_axes(variable: Any) -> bool:
    return isinstance(variable.type, xtensor_class("type", "XTensorType"))


def with_type_of(variable: Any, stand_in: Any) -> Any:
    """Convert a placeholder to the type of a variable, named axes included."""
    if _has_named_axes(variable):
        from pytensor.xtensor.basic import xtensor_from_tensor

        stand_in = xtensor_from_tensor(stand_in, dims=variable.type.dims)
    else:
        shape = [
            mine if theirs is None else None
            for mine, theirs in zip(variable.type.shape, stand_in.type.shape, strict=True)
        ]
        if any(n is not None for n in shape):
            stand_in = pt.specify_shape(stand_in, shape)
    return stand_in.astype(variable.type.dtype)


def positional(variable: Any) -> Any:
    """Strip named axes off a variable."""
    return variable.values if _has_named_axes(variable) else variable
