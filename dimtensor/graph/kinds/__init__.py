"""All kinds of nodes; importing them registers them."""

from dimtensor.graph.kinds import (
    derivatives,
    elementwise,
    leaves,
    linear,
    loops,
    reductions,
    selection,
    shape,
)

del derivatives, elementwise, leaves, linear, loops, reductions, selection, shape
