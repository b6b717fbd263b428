"""All kinds of nodes; importing them registers them."""

from dimtensor.graph.kinds import (
    derivatives,
    draws,
    elementwise,
    leaves,
    linear,
    loops,
    reductions,
    selection,
    shape,
    variables,
)

del derivatives, draws, elementwise, leaves, linear, loops, reductions, selection, shape, variables
