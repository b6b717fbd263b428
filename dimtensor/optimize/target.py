"""Target: a backend as lowering and the optimizer see it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from dimtensor.tuning import CARRIED_TANGENTS

REASSOCIATE = "reassociate"
# opt-in rewrites that are not exact
ASKED_FOR = (REASSOCIATE,)


@dataclass(frozen=True)
class Target:
    """Description of a backend, by which the optimizer chooses the steps that a graph gains from.

    The default describes an interpreter.

    Attributes
    ----------
    rewrites : bool
        Graphs are rewritten. An interpreter runs them as written.
    fuses : bool
        Operations on elements become loop nests that share loops, so that an array which is read
        once is never stored.
    raises : bool
        Code can raise errors; without that, assertions within a graph are dropped.
    differentiated : bool
        Another library may differentiate the code: rules whose results have other derivatives are
        left out.
    costly_loops : bool
        A loop over elements takes about a microsecond to start, as in XLA on a CPU. Steps of loops
        then compute as much as possible, and matrices are multiplied by a library.
    stores_inner_traces : bool
        Gradients read what the loops within steps have computed from memory, instead of computing
        it again.
    clears_room : bool
        Memory for the traces of a loop is filled with zeros before the loop runs.
    most_tangents : int
        How many tangents a loop of numbers may carry, so that its gradient needs no backward scan.
    reassociates : bool
        The user allows that sums and products in the steps of loops are reordered.
    """

    rewrites: bool = False
    fuses: bool = False
    raises: bool = True
    differentiated: bool = False
    costly_loops: bool = False
    stores_inner_traces: bool = False
    clears_room: bool = False
    most_tangents: int = CARRIED_TANGENTS
    reassociates: bool = False

    def allowing(self, names: Collection[str]) -> Self:
        """Return the target with opt-in rewrites."""
        return replace(self, reassociates=REASSOCIATE in names)


INTERPRETER = Target()
