"""Shapes of variables of a PyMC model, of which no element is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytensor
from pytensor.compile.mode import Mode, optdb
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RNGConsumerOp

from dimtensor.errors import GraphError, build_message

# shapes as functions of parameters' shapes; constants are not folded, for which C would be compiled
_QUERY = RewriteDatabaseQuery(include=["ShapeOpt", "canonicalize"], exclude=["constant_folding"])


def shapes_of(variables: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of variables by name, without a random number drawn for it.

    Parameters
    ----------
    variables : mapping of str to pytensor variable

    Raises
    ------
    GraphError
        If a shape depends on random numbers.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> rates = pt.exp(pt.random.normal(0.0, 1e6, size=(3, 2)))  # no rates that Poisson takes
    >>> shapes_of({"y": pt.random.poisson(rates)})
    {'y': (3, 2)}
    """
    shapes = [v.shape for v in variables.values()]
    graph = FunctionGraph(outputs=shapes, clone=True, copy_inputs=False)
    optdb.query(_QUERY).rewrite(graph)
    for name, shape in zip(variables, graph.outputs, strict=True):
        for v in ancestors([shape]):
            if v.owner is not None and isinstance(v.owner.op, RNGConsumerOp):
                raise GraphError(
                    build_message(
                        f"from_pymc: the shape of {name!r} depends on random numbers",
                        [("drawn by", str(v.owner.op))],
                        "keep all elements, pm.math.switch(x > 0, x, 0), in place of x[x > 0]",
                    )
                )
    found = pytensor.function([], list(graph.outputs), mode=Mode("py", None))()
    return {n: tuple(map(int, shape)) for n, shape in zip(variables, found, strict=True)}
