"""Splits, which the gradient of a concatenation is made of, as slices."""

from __future__ import annotations

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.basic import Split


def split_as_slices(graph: FunctionGraph) -> None:
    """Replace every split of known sizes by slices.

    A slice is a view in a loop nest; PyTensor's split for numba takes ten seconds to compile.
    """
    for node in graph.toposort():
        if not isinstance(node.op, Split):
            continue
        x, sizes = node.inputs
        if not isinstance(sizes, Constant):
            continue
        stops = np.cumsum(sizes.data).tolist()
        before = (slice(None),) * (node.op.axis % x.type.ndim)
        for start, stop, output in zip([0, *stops[:-1]], stops, node.outputs, strict=True):
            graph.replace(output, x[(*before, slice(start, stop))], reason="split_as_slices")
