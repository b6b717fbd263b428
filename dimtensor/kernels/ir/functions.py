"""What loops call by name and numba has to be given."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytensor.graph.basic import Apply


class NumbaFunction(NamedTuple):
    """PyTensor's numba function of an operation, made when it is asked for: numba wakes slowly."""

    node: Apply

    def make(self) -> Any:
        """Return the jitted function."""
        from pytensor.link.numba.dispatch.basic import numba_funcify

        return numba_funcify(self.node.op, node=self.node)


class Routine(NamedTuple):
    """A subroutine of LAPACK or BLAS."""

    name: str

    def make(self) -> Any:
        """Return what numba calls."""
        from dimtensor.kernels.rules.fortran import routine

        return routine(self.name)
