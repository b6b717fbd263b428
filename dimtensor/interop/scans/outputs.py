"""Outputs of a PyTensor scan in terms of the loop that replaces it.

A scan writes the results of its steps into buffers, from which later steps read by lag. In the loop
the lagged elements are carried states: a window that moves by one element per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.subtensor import IncSubtensor
from pytensor.tensor.type import TensorType

from dimtensor.interop.scans.lengths import KnownIntegers, indices_of
from dimtensor.ops.constants import integer_of

# the whole message of the ValueError that says: this graph was compiled for other arguments
UNFIT = "the kernel does not fit the lengths or positions of its arguments"


class NotALoopError(Exception):
    """Scan that cannot be converted to a loop."""


class ScanOutput:
    """Output of a scan: the loop states and traces that it needs, and its value in terms of them.

    Attributes
    ----------
    states, following, init : list of variable
        States in the step, their next values, and their initial values.
    elements, sequences : list of variable
        Elements in the step, and their sequences.
    traced : list of variable
        Values whose trace the loop returns.
    given, traces : list of variable
        The final states, and traces.
    n_done : variable or None
        The number of steps that ran, for a loop with a stopping condition.
    fits : variable or None
        Condition on lengths that is checked at run time, if it is not known to hold.
    """

    def __init__(self) -> None:
        self.states: list[Variable] = []
        self.following: list[Variable] = []
        self.init: list[Variable] = []
        self.elements: list[Variable] = []
        self.sequences: list[Variable] = []
        self.traced: list[Variable] = []
        self.given: list[Variable] = []
        self.traces: list[Variable] = []
        self.n_done: Variable | None = None
        self.fits: Any = None

    def is_known(self) -> bool:
        """Return whether all of its lengths are known statically."""
        return self.fits is None and all(isinstance(v.type, TensorType) for v in self.states)

    def whole(self) -> Variable:
        """Return the whole output."""
        return self.given[0]

    def shape(self) -> Variable | None:
        """Return its shape if it is known without the output, else None."""
        return None

    def element(self, at: int) -> Variable | None:
        """Return an element if it is a state or initial value of the loop, else None."""
        return None

    def run(self, begin: int, end: int) -> Variable | None:
        """Return the output without some first and last elements if that is a trace, else None."""
        return None


class UntracedState(ScanOutput):
    """State without a trace."""

    def __init__(self, start: Variable, state: Variable, following: Variable):
        super().__init__()
        self.init, self.states, self.following = [start], [state], [following]


class RecurrentOutput(ScanOutput):
    """Recurrent output (sit-sot, mit-sot) or trace (nit-sot): initial elements, then step results.

    Parameters
    ----------
    start : variable or None
        The buffer, with one initial element per state.
    window : list of variable
        The lagged elements in the step, the earliest first.
    new : variable
        The result of the step.
    n_steps : variable
    stops : bool
        Whether the loop has a stopping condition.
    lengths : KnownIntegers
    truncated : bool
        Whether the buffer may be longer than the trace; its other elements are zeros.
    length : variable, optional
        Length of the buffer, if there is no `start`.
    """

    def __init__(
        self,
        start: Any,
        window: list[Variable],
        new: Variable,
        n_steps: Variable,
        stops: bool,
        lengths: KnownIntegers,
        truncated: bool,
        length: Any = None,
    ):
        super().__init__()
        m = len(window)
        self._first = [] if start is None else _elements(start, m)
        size = lengths.of(start) if length is None else lengths.terms(length)
        held, steps = lengths.number(size), lengths.number(lengths.terms(n_steps))
        more = lengths.more(size, lengths.terms(n_steps))
        # whether the buffer holds the last elements only
        self._saved = held is not None and more != m and (steps is None or held < steps + m)
        # number of zeros after the trace
        self._zeros: Any = None
        if truncated and not self._saved and more != m:
            length = start.shape[0] if length is None else length
            self._zeros = length - n_steps - m
        elif not self._saved and more not in (m, None):
            raise NotALoopError
        if self._saved and held == 1 and m == 0 and None not in new.type.shape:
            window, m = [new.type()], 1
            self._first = [pt.zeros(new.type.shape, dtype=new.type.dtype)]
        # whether these are the final states
        self._are_states = self._saved and held == m
        if stops and self._saved and not self._are_states:
            raise NotALoopError
        if more is None and not self._are_states:
            length = start.shape[0] if length is None else length
            found = pt.add(n_steps, m)
            if self._zeros is not None:
                self.fits = pt.le(found, length)
            else:
                self.fits = pt.ge(found, length) if self._saved else pt.eq(found, length)
        self._held, self._n_steps, self._lengths = held, n_steps, lengths
        self.init, self.states = self._first, window
        self.following = [*window[1:], new] if window else []
        self.traced = [*window, new]

    def _valid(self, x: Variable) -> Variable:
        return only_if(x, self.fits)

    def whole(self) -> Variable:
        if self._are_states:
            return _stacked(self.given)
        first = _stacked(self._first) if self._first else None
        found = _joined(first, self.traces[-1])
        if self._zeros is not None:
            zeros = pt.zeros((self._zeros, *found.shape[1:]), dtype=found.dtype)
            found = _joined(found, zeros)
        found = self._valid(found)
        if self._saved and self._held is not None:
            return found[-self._held :]
        return self._done(found, len(self.states))

    def shape(self) -> Variable | None:
        if self._saved or self.fits is not None or self._zeros is not None:
            return None
        trace: Any = self.traces[-1]
        count: Any = self._n_steps if self.n_done is None else self.n_done
        lengths = (count + len(self.states), *trace.shape[1:])
        return MakeVector("int64")(*lengths)

    def element(self, at: int) -> Variable | None:
        if -len(self.given) <= at < 0 and self._zeros is None:
            return self._valid(self.given[at])
        if 0 <= at < len(self._first) and self._are_states:
            return self.given[at]
        if 0 <= at < len(self._first) and not self._saved:
            return self._valid(self._first[at])
        return None

    def run(self, begin: int, end: int) -> Variable | None:
        if (
            self._saved
            or self._zeros is not None
            or begin < 0
            or end < 0
            or begin + end != len(self.states)
        ):
            return None
        return self._done(self._valid(self.traces[begin]), 0)

    def _done(self, x: Any, more: int) -> Variable:
        """Truncate a trace to the steps that ran, plus a number of elements."""
        if self.n_done is None:
            return x
        found = x[: self.n_done + more if more else self.n_done]
        return self._lengths.know(found, self.n_done, more)


class AccumulatedOutput(ScanOutput):
    """Accumulated output (mit-mot): a buffer to whose elements steps add, as in gradients.

    Parameters
    ----------
    start : variable
        The buffer.
    window : list of variable
        Its elements in the step, from the earliest one that it reads or writes.
    after : list of variable
        The same elements after the step.
    n_steps : variable
    lengths : KnownIntegers
    truncated : bool
        Whether the buffer may be longer than the loop; its other elements are kept.
    """

    def __init__(
        self,
        start: Any,
        window: list[Variable],
        after: list[Variable],
        n_steps: Variable,
        lengths: KnownIntegers,
        truncated: bool,
    ):
        super().__init__()
        m = len(window) - 1
        more = lengths.more(lengths.of(start), lengths.terms(n_steps))
        end = pt.add(n_steps, m)
        self._rest = start[end:] if truncated and more != m else None
        if more not in (m, None) and not truncated:
            raise NotALoopError
        if more is None:
            self.fits = (pt.le if truncated else pt.eq)(end, start.shape[0])
        self.init, self.states, self.following = _elements(start, m), window[:m], after[1:]
        rest = start[m:] if m else start
        self.elements, self.sequences = [window[m]], [lengths.first(rest, n_steps)]
        self.traced = [after[0]]

    def _valid(self, x: Variable) -> Variable:
        return only_if(x, self.fits)

    def whole(self) -> Variable:
        after = _stacked(self.given) if self.given else None
        return self._valid(_joined(_joined(self.traces[0], after), self._rest))

    def element(self, at: int) -> Variable | None:
        if self._rest is not None or not -len(self.given) <= at < 0:
            return None
        return self._valid(self.given[at])

    def run(self, begin: int, end: int) -> Variable | None:
        if self._rest is not None or (begin, end) != (0, len(self.given)):
            return None
        return self._valid(self.traces[0])


# -- elements of buffers ---------------------------------------------------------------------------


def _elements(start: Any, count: int) -> list[Variable]:
    """Return the first elements of a buffer."""
    made = start.owner
    if made is not None and isinstance(made.op, IncSubtensor) and made.op.set_instead_of_inc:
        places = indices_of(made, 2)
        values = made.inputs[1]
        if len(places) == 1 and isinstance(places[0], slice):
            stop = None if places[0].stop is None else integer_of(places[0].stop)
            plain = places[0].start is None and places[0].step is None
            if plain and stop == values.type.shape[0] and stop is not None and stop >= count:
                return [values[at] for at in range(count)]
    if made is not None and isinstance(made.op, Alloc) and made.inputs[0].type.ndim == 0:
        if start.type.ndim == 1:
            return [made.inputs[0]] * count
    return [start[at] for at in range(count)]


def only_if(x: Variable, fits: Any) -> Variable:
    """Guard a value by a run-time check of a condition, unless it is None (known to hold)."""
    return x if fits is None else CheckAndRaise(ValueError, UNFIT)(x, fits)


def _stacked(elements: Sequence[Variable]) -> Variable:
    return pt.stack(list(elements), axis=0)


def _joined(one: Variable | None, two: Variable | None) -> Any:
    if one is None or two is None:
        return two if one is None else one
    return pt.join(0, one, two)
