"""Specification of a loop besides its graph: counts, options, and the graph of one step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytensor.graph.basic import Variable

from dimtensor.graph.checkpoints import Checkpoints


@dataclass(frozen=True)
class LoopSpec:
    """Roles of the inputs and outputs of a loop's body, and how the loop runs.

    Attributes
    ----------
    n_states, n_sequences, n_traces : int
        How many there are of each, in this order.
    stops : bool
        Whether the body says when to end before the last step.
    reverse : bool
        Whether step t runs from ``n_steps - 1`` down to 0.
    truncate : int, optional
        How many of the last steps the gradient goes back.
    windowed : bool
        Whether the loop runs a window of its steps only: those from a start up to a stop, which
        are inputs of the node. So does the reverse pass of a loop that stopped early.
    derivative : bool
        Whether differentiation made the step. No user wrote its sums, so they may be reassociated;
        such a loop is never merged or fused with one whose sums may not.
    open_traces : tuple of bool
        Which traces are never read at steps that did not run, where they need not be zero. Traces
        beyond the end of it are read as a whole.
    residuals : tuple of int
        Numbers of the sequences that are traces of the loop whose reverse pass this is. Only
        elements of steps that ran are read.
    """

    n_states: int
    n_sequences: int = 0
    n_traces: int = 0
    stops: bool = False
    reverse: bool = False
    truncate: int | None = None
    windowed: bool = False
    derivative: bool = False
    open_traces: tuple[bool, ...] = ()
    residuals: tuple[int, ...] = ()

    @property
    def runs_all(self) -> bool:
        """Guarantee that no step is skipped."""
        return not (self.stops or self.windowed)

    def is_open(self, trace: int) -> bool:
        """Return whether the elements of a trace at steps that did not run are never read."""
        return not self.runs_all and trace < len(self.open_traces) and self.open_traces[trace]


class StepGraph(NamedTuple):
    """The graph of one step.

    Attributes
    ----------
    states, elements : sequence of variable
        Placeholders of the states and the elements of sequences; they need not be roots.
    next_states, traced : sequence of variable
        Results of the step.
    go_on : bool scalar, optional
        Whether to go on after the step.
    inverse : sequence of variable, optional
        The states before a step, in terms of `states`, which then are those after it.
    captured : sequence of variable
        Variables known to be outside of the step; others are found by a search.
    """

    states: Sequence[Variable]
    elements: Sequence[Variable]
    next_states: Sequence[Variable]
    traced: Sequence[Variable] = ()
    go_on: Variable | None = None
    inverse: Sequence[Variable] | None = None
    captured: Sequence[Variable] = ()


class LoopOptions(NamedTuple):
    """Options for building a loop from its step.

    Attributes
    ----------
    reverse, truncate, checkpoint
        As in :func:`~dimtensor.ops.loop.scan`.
    histories : bool
        Whether the node also traces what its gradient needs.
    whole : bool
        Whether the loop keeps computations that could run on traces after it.
    derivative : bool
        Whether the step is that of a derivative.
    window : tuple of int scalars
        The first step that runs and the first after it that does not; empty if all may run.
    residuals : collection of variable
        Elements of the step that are those of traces of the loop whose reverse pass this is.
    """

    reverse: bool = False
    truncate: int | None = None
    checkpoint: Checkpoints | Sequence[int] | None = None
    histories: bool = True
    whole: bool = False
    derivative: bool = False
    window: Sequence[Variable] = ()
    residuals: Collection[Variable] = ()


PLAIN = LoopOptions()
