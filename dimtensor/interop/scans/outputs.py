"""What a scan of PyTensor gives, told by the loop that takes its place.

A scan keeps what its steps give in buffers, of which earlier elements are read by their distance.
Here those are states: a window of elements, which moves by one in each step.
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

from dimtensor.interop.scans.lengths import KnownIntegers, places_of
from dimtensor.kernels.emit.guards import UNFIT
from dimtensor.kernels.plan.axis_lengths import constant_int


class NotALoopError(Exception):
    """A scan that has no counterpart."""


class Output:
    """An output of a scan: its part of the loop, and what the loop gives for it.

    Attributes
    ----------
    states, following, init : list of variable
        States in the step, what they become, and what they start with.
    elements, sequences : list of variable
        Elements in the step, and what they are elements of.
    traced : list of variable
        What is traced.
    given, traces : list of variable
        The final states, and traces.
    n_done : variable or None
        How many steps ran, of a loop that stops.
    fits : variable or None
        What has to hold, if that is not known.
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
        """Whether it has the length that it is taken to have."""
        return self.fits is None and all(isinstance(v.type, TensorType) for v in self.states)

    def whole(self) -> Variable:
        """The output."""
        return self.given[0]

    def shape(self) -> Variable | None:
        """Its lengths, if they are told without it."""
        return None

    def element(self, at: int) -> Variable | None:
        """An element of it, if that is at hand."""
        return None

    def run(self, begin: int, end: int) -> Variable | None:
        """All elements but so many first and so many last ones, if they are at hand."""
        return None


class Untraced(Output):
    """A state of which nothing is kept."""

    def __init__(self, start: Variable, state: Variable, following: Variable):
        super().__init__()
        self.init, self.states, self.following = [start], [state], [following]


class History(Output):
    """What steps give, after what was there before the first one.

    Parameters
    ----------
    start : variable or None
        The buffer, of which as many elements are there as there are states.
    window : list of variable
        The last elements in the step, from the earliest.
    new : variable
        What the step gives.
    n_steps : variable
    stops : bool
        Whether the loop does.
    lengths : KnownIntegers
    truncated : bool
        Whether steps may end before the buffer does: the elements after them are zeros.
    length : variable, optional
        Of the buffer, where there is none yet.
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
        # whether the last elements alone are held
        self._saved = held is not None and more != m and (steps is None or held < steps + m)
        # how many zeros are after what steps give
        self._zeros: Any = None
        if truncated and not self._saved and more != m:
            length = start.shape[0] if length is None else length
            self._zeros = length - n_steps - m
        elif not self._saved and more not in (m, None):
            raise NotALoopError
        if self._saved and held == 1 and m == 0 and None not in new.type.shape:
            window, m = [new.type()], 1
            self._first = [pt.zeros(new.type.shape, dtype=new.type.dtype)]
        # whether they are the states after the last step
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
        """What steps gave that ran, and so many elements more."""
        if self.n_done is None:
            return x
        found = x[: self.n_done + more if more else self.n_done]
        return self._lengths.know(found, self.n_done, more)


class Accumulated(Output):
    """A buffer to whose elements steps add, as gradients do.

    Parameters
    ----------
    start : variable
        The buffer.
    window : list of variable
        Its elements from the earliest one that the step reads or writes.
    after : list of variable
        What they are after the step.
    n_steps : variable
    lengths : KnownIntegers
    truncated : bool
        Whether steps may end before the buffer does, which keeps the elements after them.
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
    """The first elements of a buffer."""
    made = start.owner
    if made is not None and isinstance(made.op, IncSubtensor) and made.op.set_instead_of_inc:
        places = places_of(made, 2)
        values = made.inputs[1]
        if len(places) == 1 and isinstance(places[0], slice):
            stop = None if places[0].stop is None else constant_int(places[0].stop)
            plain = places[0].start is None and places[0].step is None
            if plain and stop == values.type.shape[0] and stop is not None and stop >= count:
                return [values[at] for at in range(count)]
    if made is not None and isinstance(made.op, Alloc) and made.inputs[0].type.ndim == 0:
        if start.type.ndim == 1:
            return [made.inputs[0]] * count
    return [start[at] for at in range(count)]


def only_if(x: Variable, fits: Any) -> Variable:
    """What is right if something else holds, which is checked; None if that is known."""
    return x if fits is None else CheckAndRaise(ValueError, UNFIT)(x, fits)


def _stacked(elements: Sequence[Variable]) -> Variable:
    return pt.stack(list(elements), axis=0)


def _joined(one: Variable | None, two: Variable | None) -> Any:
    if one is None or two is None:
        return two if one is None else one
    return pt.join(0, one, two)
