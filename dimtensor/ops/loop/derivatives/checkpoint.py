"""Gradients that store few states: nested loops over segments, whose steps are computed again.

The states at the start of segments are stored, and the others of a segment are computed again when
the gradient comes to it. With one level of segments of √n steps that is the schedule of Chen et
al. (2016, section 4.1); with more levels, their recursion (section 4.4) with segments of equal
lengths. The binomial schedule of Griewank and Walther (2000) computes fewer steps again for the
same memory. Its segments are of unequal lengths, which loops in loops cannot have.

References
----------
T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory cost", 2016,
arXiv:1604.06174.

A. Griewank and A. Walther, "Algorithm 799: revolve: an implementation of checkpointing for the
reverse or adjoint mode of computational differentiation", ACM Transactions on Mathematical Software
26, 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.errors import GraphError
from dimtensor.graph.checkpoints import Checkpoints, as_checkpoints, checkpoint_levels
from dimtensor.ops.constants import integer_of
from dimtensor.ops.loop import frontend
from dimtensor.ops.loop.capture import as_state
from dimtensor.ops.loop.frontend import ScanResult, build_scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from dimtensor.ops.nodes import reshaped
from dimtensor.tuning import CHECKPOINT_LEVELS


@dataclass(frozen=True)
class SegmentSchedule:
    """Cost of a loop's gradient.

    Attributes
    ----------
    lengths : tuple of int
        Numbers of steps of the segments, from the innermost.
    stored : int
        How many states are stored at once, at most.
    steps : int
        How often a step runs forward, the derivatives of steps not counted.
    """

    lengths: tuple[int, ...]
    stored: int
    steps: int


def schedule(n_steps: int, checkpoint: Checkpoints | Sequence[int] | None) -> SegmentSchedule:
    """Cost of a loop's gradient under a checkpoint schedule.

    Parameters
    ----------
    n_steps : int
    checkpoint : Checkpoints, sequence of int or None
        As in `scan`.

    Examples
    --------
    >>> schedule(10_000, checkpoint_levels(2))
    SegmentSchedule(lengths=(100,), stored=200, steps=20000)
    >>> schedule(10_000, None)
    SegmentSchedule(lengths=(), stored=10000, steps=10000)
    """
    found = as_checkpoints(checkpoint, "schedule") or checkpoint_levels(1)
    lengths = tuple(int(n) for n in _lengths(n_steps, found))

    @cache
    def kept(n: int, depth: int) -> int:
        """States that the forward loop stores."""
        if depth == 0:
            return n
        count, rest = divmod(n, lengths[depth - 1])
        return count + kept(rest, depth - 1)

    @cache
    def most(n: int, depth: int) -> int:
        """States that are stored at once on the way back."""
        if depth == 0:
            return n
        size = lengths[depth - 1]
        count, rest = divmod(n, size)
        within = most(size, depth - 1) if count else 0
        return count + max(kept(rest, depth - 1) + within, most(rest, depth - 1))

    @cache
    def again(n: int, depth: int) -> int:
        """Count the steps that are recomputed."""
        if depth == 0:
            return 0
        size = lengths[depth - 1]
        count, rest = divmod(n, size)
        return count * (size + again(size, depth - 1)) + again(rest, depth - 1)

    depth = len(lengths)
    return SegmentSchedule(lengths, most(n_steps, depth), n_steps + again(n_steps, depth))


def levels_within(n_steps: int, memory: int) -> int:
    """Return the fewest levels with which a gradient stores at most `memory` states.

    Raises
    ------
    GraphError
        If there are none.

    Examples
    --------
    >>> levels_within(1_000_000, 1_000), levels_within(1_000_000, 10_000)
    (3, 2)
    """
    stored = {
        n: schedule(n_steps, checkpoint_levels(n)).stored for n in range(1, CHECKPOINT_LEVELS + 1)
    }
    for number, count in stored.items():
        if count <= memory:
            return number
    least = min(stored.values())
    raise GraphError(f"the gradient of {n_steps} steps stores {least} states or more, not {memory}")


def _lengths(n_steps: Any, checkpoint: Checkpoints) -> list[Any]:
    """Numbers of steps of the segments, from the innermost; with `n_steps` they are variables."""
    if checkpoint.how == "segments":
        return list(checkpoint.numbers)
    (depth,) = checkpoint.numbers
    if checkpoint.how == "states":
        if isinstance(n_steps, Variable):
            raise GraphError(f"checkpoint={checkpoint!r} needs a known number of steps")
        depth = levels_within(n_steps, depth)
    if isinstance(n_steps, Variable):
        root = pt.cast(pt.ceil(n_steps ** (1 / depth)), "int64")
        length = pt.maximum(root, 1)
    else:
        length = max(math.floor(n_steps ** (1 / depth)) - 1, 1)
        while length**depth < n_steps:
            length += 1
    return [length**level for level in range(1, depth)]


@frontend.checkpointed.provides()
def checkpointed(
    n_steps: Any,
    step: StepGraph,
    init: Sequence[Variable],
    sequences: Sequence[Variable],
    options: LoopOptions,
    go: Any,
) -> ScanResult:
    """Build a scan in segments; parameters as in `build_scan`.

    Raises
    ------
    GraphError
        If the gradient is also to be truncated or to use an inverse, which store less without.
    """
    if step.inverse is not None or options.truncate is not None:
        raise GraphError("a gradient with checkpoints is neither truncated nor has it an inverse")
    found = as_checkpoints(options.checkpoint, "a loop")
    assert found is not None
    # a count below zero is none; a loop over sequences has as many steps as they have elements
    known = n_steps if isinstance(n_steps, int) else integer_of(n_steps)
    if known is not None:
        n_steps = max(known, 0)
    elif not sequences:
        n_steps = pt.maximum(n_steps, 0)
    states, next_states, init = list(step.states), list(step.next_states), list(init)
    if step.go_on is not None:
        on, count = pt.scalar("on", dtype="bool"), pt.lscalar("count")
        states += [on, count]
        next_states += [step.go_on, count + 1]
        init += [as_state(go), pt.constant(0, dtype="int64")]
    whole = step._replace(states=states, next_states=next_states)
    loop = _Nested(whole, LoopOptions(options.reverse), _lengths(n_steps, found))
    final, traces = loop.run(n_steps, init, list(sequences), len(loop.lengths))
    if step.go_on is None:
        return ScanResult(final, traces, None)
    return ScanResult(final[:-2], traces, final[-1])


@dataclass
class _Nested:
    """A step, and the lengths of the segments that it runs in.

    A loop that stops has two states more at the end: whether to go on, and how many steps ran.
    """

    step: StepGraph
    options: LoopOptions
    lengths: list[Any]

    def run(
        self, n_steps: Any, init: list[Variable], sequences: list[Variable], depth: int
    ) -> tuple[list[Variable], list[Variable]]:
        """Return final states and traces of `n_steps` steps, in segments of `depth` levels."""
        if depth == 0:
            result = self._scan(n_steps, self.step, init, sequences)
            return result.states, result.traces
        size = self.lengths[depth - 1]
        count, rest = n_steps // size, n_steps % size
        whole = count * size
        reverse = self.options.reverse
        start = rest if reverse else 0
        segments = [_in_segments(x[start : start + whole], count, size) for x in sequences]
        states = [v.type(v.name) for v in self.step.states]
        elements = [x[0].type() for x in segments]
        final, traces = self.run(size, states, elements, depth - 1)
        within = self.step._replace(
            states=states, elements=elements, next_states=final, traced=traces
        )
        result = self._scan(count, within, init, segments)
        joined = [reshaped(x, [whole, *_lengths_after(x, 2)]) for x in result.traces]
        if isinstance(rest, int) and rest == 0:
            return result.states, joined
        others = [x[:rest] if reverse else x[whole:] for x in sequences]
        final, traces = self.run(rest, result.states, others, depth - 1)
        both = zip(traces, joined, strict=True)
        return final, [
            pt.concatenate([rest_, main] if reverse else [main, rest_]) for rest_, main in both
        ]

    def _scan(
        self, n_steps: Any, step: StepGraph, init: list[Variable], sequences: list[Variable]
    ) -> ScanResult:
        if step.go_on is None:
            return build_scan(n_steps, step, init, sequences, self.options)
        stopping = step._replace(go_on=step.next_states[-2])
        return build_scan(n_steps, stopping, init, sequences, self.options, go=init[-2])


def _in_segments(x: Variable, count: Any, size: Any) -> Variable:
    return reshaped(x, [count, size, *_lengths_after(x, 1)])


def _lengths_after(x: Variable, axis: int) -> list[Any]:
    lengths = enumerate(x.type.shape[axis:], axis)
    return [x.shape[at] if n is None else n for at, n in lengths]
