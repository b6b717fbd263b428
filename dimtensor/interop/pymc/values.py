"""Values and shapes of a PyMC model, evaluated without drawing random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode, optdb
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RNGConsumerOp

from dimtensor.dims import Dim
from dimtensor.errors import GraphError
from dimtensor.interop.pymc.expressions import unwrapped
from dimtensor.values.labeled import axis_names

if TYPE_CHECKING:
    import xarray as xr


# Rewrites shapes to functions of the parameters' shapes. Constant folding would compile C code.
_QUERY = RewriteDatabaseQuery(
    include=["ShapeOpt", "canonicalize"], exclude=["topo_constant_folding"]
)


def shapes_of(variables: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of variables by name, without drawing a random number.

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
    >>> rng, x = pt.random.rng("rng").normal(0.0, 1e6, size=(3, 2))
    >>> _, y = rng.poisson(pt.exp(x))  # rates too large for NumPy
    >>> shapes_of({"y": y})
    {'y': (3, 2)}
    """
    shapes = [pt.as_tensor(v.shape) for v in variables.values()]  # of pymc.dims: tuples
    graph = FunctionGraph(outputs=shapes, clone=True, copy_inputs=False)
    optdb.query(_QUERY).rewrite(graph)
    for name, shape in zip(variables, graph.outputs, strict=True):
        for v in ancestors([shape]):
            if v.owner is not None and isinstance(v.owner.op, RNGConsumerOp):
                raise GraphError(
                    f"from_pymc: the shape of {name!r} depends on random numbers",
                    [("drawn by", str(v.owner.op))],
                    "keep all elements, pm.math.switch(x > 0, x, 0), in place of x[x > 0]",
                )
    found = pytensor.function([], list(graph.outputs), mode=Mode("py", None))()
    return {n: tuple(map(int, shape)) for n, shape in zip(variables, found, strict=True)}


def event_axes(variable: Any) -> tuple[int, ...]:
    """Return the event axes of a random variable."""
    op, ndim = variable.owner.op, variable.type.ndim
    # pymc-extras' marginalized ops: their first output is the marginalized variable
    apart = getattr(op, "support_axes", None) if hasattr(op, "marginalized_name") else None
    if apart is None:
        return tuple(range(ndim - op.ndim_supp, ndim))
    return tuple(at % ndim for at in apart[variable.owner.outputs.index(variable) - 1])


def value_of(variable: Any) -> Any:
    """Return the value of a variable that depends on data only."""
    if isinstance(variable, Constant):
        return variable.data
    if hasattr(variable, "get_value"):
        return variable.get_value()
    return pytensor.function([], unwrapped(variable), mode=Mode("py", None))()


def labeled_array(values: np.ndarray, dims: Sequence[Dim]) -> xr.DataArray:
    """Return values as a DataArray with the names of their dims."""
    import xarray as xr

    shape = tuple(
        d.length if d.length is not None else n for d, n in zip(dims, values.shape, strict=True)
    )
    names = axis_names(tuple(dims))
    return xr.DataArray(np.broadcast_to(values, shape), dims=[names[dim] for dim in dims])
