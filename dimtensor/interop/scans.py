"""PyTensor's scans as loops of dimtensor, which are part of a kernel.

A scan of PyTensor keeps what its steps give in buffers, of which earlier elements are read by their
distance. Here those are states: a window of elements, which moves by one in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import CheckAndRaise
from pytensor.scan.op import Scan
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.shape import Shape
from pytensor.tensor.subtensor import IncSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.errors import DtypeError, GraphError
from dimtensor.interop.lengths import Lengths, Terms, places_of
from dimtensor.kernels.emit.guards import UNFIT
from dimtensor.kernels.plan.axis_lengths import constant_int
from dimtensor.ops.graphs import replaced
from dimtensor.ops.loop.frontend import build_scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph


class _NotALoopError(Exception):
    """A scan that has no counterpart."""


def scans_as_loops(
    graph: FunctionGraph, prepare: Callable[[FunctionGraph], Any], checked: bool = True
) -> bool:
    """Replace PyTensor's scans by loops, as far as they can be.

    Parameters
    ----------
    graph : FunctionGraph
        Changed in place.
    prepare : callable
        Brings the graph of a step into the form that the kernel compiler has rules for, in place.
    checked : bool
        Whether something else takes over where a length is not the expected one. If not, scans stay
        of which not all is known.

    Returns
    -------
    bool
        Whether there was one.

    Notes
    -----
    Buffers are as long as what is written into them, or hold the last elements alone. Where that is
    not known it is checked: a kernel that finds other lengths does not fit.
    """
    found, lengths, counts = False, Lengths(), _Counts()
    for node in graph.toposort():
        if isinstance(node.op, Subtensor) and found and lengths.is_whole(node):
            graph.replace(node.outputs[0], node.inputs[0], reason="scans_as_loops")
        if not isinstance(node.op, Scan):
            continue
        try:
            results = _results(node, prepare, lengths, counts, checked)
        except (_NotALoopError, GraphError, DtypeError):
            continue
        found = True
        for old, new in _replacements(graph, node, results):
            graph.replace(
                old, old.type.filter_variable(new), reason="scans_as_loops", import_missing=True
            )
    return found


class _Counts:
    """Numbers of steps: loops of as many steps have the same."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[Any, int]], Variable] = {}

    def of(self, n_steps: Variable, terms: Terms) -> Variable:
        return self._known.setdefault(frozenset(terms.items()), n_steps)


def _results(
    node: Apply,
    prepare: Callable[[FunctionGraph], Any],
    lengths: Lengths,
    counts: _Counts,
    checked: bool,
) -> list[_Output]:
    """What the outputs of a scan are, of the loop that takes its place."""
    op: Any = node.op
    info = op.info
    if info.n_mit_mot and (info.as_while or op.truncate_gradient != -1):
        raise _NotALoopError
    inner = op.fgraph.unfreeze()
    prepare(inner)
    n_steps: Any = node.inputs[0]
    if lengths.count(n_steps):
        if not checked:
            raise _NotALoopError
        known = n_steps
        n_steps = _checked(known, pt.ge(known, 0))
        lengths.same(n_steps, known)
    n_steps = counts.of(n_steps, lengths.terms(n_steps))
    outputs = _outputs(op, node, inner, n_steps, lengths)
    if not checked and not all(each.is_known() for each in outputs):
        raise _NotALoopError
    elements = list(op.inner_seqs(inner.inputs))
    sequences = [lengths.first(x, n_steps) for x in op.outer_seqs(node.inputs)]
    for each in outputs:
        elements += each.elements
        sequences += each.sequences
    states = [v for each in outputs for v in each.states]
    results = [v for each in outputs for v in (*each.following, *each.traced)]
    if info.as_while:
        results.append(pt.eq(inner.outputs[-1], 0))
    outside = {
        v: v.type.filter_variable(x)
        for v, x in zip(
            op.inner_non_seqs(inner.inputs), op.outer_non_seqs(node.inputs), strict=True
        )
    }
    found = iter(replaced(results, outside))
    step: list[list[Variable]] = [[], []]
    for each in outputs:
        for kind, many in zip(step, (each.following, each.traced), strict=True):
            kind += [next(found) for _ in many]
    go_on = next(found) if info.as_while else None
    graph = StepGraph(states, elements, step[0], step[1], go_on, captured=list(outside.values()))
    init = [x for each in outputs for x in each.init]
    # the scans that gradients are made of go back, and each adds to what is there
    back = info.n_mit_mot > 0
    if back:
        sequences = [lengths.flipped(x) for x in sequences]
    made = build_scan(n_steps, graph, init, sequences, LoopOptions(reverse=back, derivative=back))
    finals, traces = iter(made.states), iter(made.traces)
    for each in outputs:
        each.given = [next(finals) for _ in each.states]
        each.traces = [next(traces) for _ in each.traced]
        if back:
            each.traces = [x[::-1] for x in each.traces]
        each.n_done = made.n_done
    return outputs


class _Output:
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


class _Untraced(_Output):
    """A state of which nothing is kept."""

    def __init__(self, start: Variable, state: Variable, following: Variable):
        super().__init__()
        self.init, self.states, self.following = [start], [state], [following]


class _Kept(_Output):
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
    lengths : Lengths
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
        lengths: Lengths,
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
        if not self._saved and more not in (m, None):
            raise _NotALoopError
        if self._saved and held == 1 and m == 0 and None not in new.type.shape:
            window, m = [new.type()], 1
            self._first = [pt.zeros(new.type.shape, dtype=new.type.dtype)]
        # whether they are the states after the last step
        self._are_states = self._saved and held == m
        if stops and self._saved and not self._are_states:
            raise _NotALoopError
        if more is None and not self._are_states:
            length = start.shape[0] if length is None else length
            found = pt.add(n_steps, m)
            self.fits = pt.ge(found, length) if self._saved else pt.eq(found, length)
        self._held, self._n_steps, self._lengths = held, n_steps, lengths
        self.init, self.states = self._first, window
        self.following = [*window[1:], new] if window else []
        self.traced = [*window, new]

    def _valid(self, x: Variable) -> Variable:
        return _checked(x, self.fits)

    def whole(self) -> Variable:
        if self._are_states:
            return _stacked(self.given)
        first = _stacked(self._first) if self._first else None
        found = self._valid(_joined(first, self.traces[-1]))
        if self._saved and self._held is not None:
            return found[-self._held :]
        return self._done(found, len(self.states))

    def shape(self) -> Variable | None:
        if self._saved or self.fits is not None:
            return None
        trace: Any = self.traces[-1]
        count: Any = self._n_steps if self.n_done is None else self.n_done
        lengths = (count + len(self.states), *trace.shape[1:])
        return MakeVector("int64")(*lengths)

    def element(self, at: int) -> Variable | None:
        if -len(self.given) <= at < 0:
            return self._valid(self.given[at])
        if 0 <= at < len(self._first) and self._are_states:
            return self.given[at]
        if 0 <= at < len(self._first) and not self._saved:
            return self._valid(self._first[at])
        return None

    def run(self, begin: int, end: int) -> Variable | None:
        if self._saved or begin < 0 or end < 0 or begin + end != len(self.states):
            return None
        return self._done(self._valid(self.traces[begin]), 0)

    def _done(self, x: Any, more: int) -> Variable:
        """What steps gave that ran, and so many elements more."""
        if self.n_done is None:
            return x
        found = x[: self.n_done + more if more else self.n_done]
        return self._lengths.know(found, self.n_done, more)


class _Accumulated(_Output):
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
    lengths : Lengths
    """

    def __init__(
        self,
        start: Any,
        window: list[Variable],
        after: list[Variable],
        n_steps: Variable,
        lengths: Lengths,
    ):
        super().__init__()
        m = len(window) - 1
        more = lengths.more(lengths.of(start), lengths.terms(n_steps))
        if more not in (m, None):
            raise _NotALoopError
        self.fits = None if more == m else pt.eq(pt.add(n_steps, m), start.shape[0])
        self.init, self.states, self.following = _elements(start, m), window[:m], after[1:]
        rest = start[m:] if m else start
        self.elements, self.sequences = [window[m]], [lengths.first(rest, n_steps)]
        self.traced = [after[0]]

    def _valid(self, x: Variable) -> Variable:
        return _checked(x, self.fits)

    def whole(self) -> Variable:
        after = _stacked(self.given) if self.given else None
        return self._valid(_joined(self.traces[0], after))

    def element(self, at: int) -> Variable | None:
        return self._valid(self.given[at]) if -len(self.given) <= at < 0 else None

    def run(self, begin: int, end: int) -> Variable | None:
        return self._valid(self.traces[0]) if (begin, end) == (0, len(self.given)) else None


def _outputs(
    op: Any, node: Apply, inner: FunctionGraph, n_steps: Variable, lengths: Lengths
) -> list[_Output]:
    """The outputs of a scan, in order."""
    info = op.info
    found: list[_Output] = []
    for start, taps, read, places, written in zip(
        op.outer_mitmot(node.inputs),
        info.mit_mot_in_slices,
        op.inner_mitmot_grouped(inner.inputs),
        info.mit_mot_out_slices,
        op.inner_mitmot_outs_grouped(inner.outputs),
        strict=True,
    ):
        back = -min(0, *taps, *places)
        known = dict(zip(taps, read, strict=True))
        kind = TensorType(start.type.dtype, start.type.shape[1:])
        count = back + max(*taps, *places) + 1
        window = [known[at - back] if at - back in known else kind() for at in range(count)]
        following = dict(zip(places, written, strict=True))
        after = [following.get(at - back, v) for at, v in enumerate(window)]
        found.append(_Accumulated(start, window, after, n_steps, lengths))
    several = zip(
        op.outer_mitsot(node.inputs) + op.outer_sitsot(node.inputs),
        (*info.mit_sot_in_slices, *info.sit_sot_in_slices),
        [*op.inner_mitsot_grouped(inner.inputs), *([v] for v in op.inner_sitsot(inner.inputs))],
        op.inner_mitsot_outs(inner.outputs) + op.inner_sitsot_outs(inner.outputs),
        strict=True,
    )
    for start, taps, read, new in several:
        if max(taps) >= 0:
            raise _NotALoopError
        known = dict(zip(taps, read, strict=True))
        window = [known[at] if at in known else new.type() for at in range(min(taps), 0)]
        found.append(_Kept(start, window, new, n_steps, info.as_while, lengths))
    for length, new in zip(
        op.outer_nitsot(node.inputs), op.inner_nitsot_outs(inner.outputs), strict=True
    ):
        found.append(_Kept(None, [], new, n_steps, info.as_while, lengths, length))
    found += map(
        _Untraced,
        op.outer_untraced_sit_sot(node.inputs),
        op.inner_untraced_sit_sot(inner.inputs),
        op.inner_untraced_sit_sot_outs(inner.outputs),
    )
    return found


def _replacements(
    graph: FunctionGraph, node: Apply, results: Sequence[_Output]
) -> Iterator[tuple[Variable, Variable]]:
    """What takes the place of what is read of a scan, and of its outputs where that is not all."""
    for out, result in zip(node.outputs, results, strict=True):
        for client, _ in list(graph.clients[out]):
            found: Any = None
            if isinstance(client.op, Subtensor) and client.inputs[0] is out:
                found = _read(client, result)
            elif isinstance(client.op, Shape):
                found = result.shape()
            if found is not None:
                yield client.outputs[0], found
        if graph.clients.get(out):
            yield out, result.whole()


def _read(client: Any, result: _Output) -> Variable | None:
    """What is read of an output, if it is at hand."""
    at, *rest = places_of(client)
    if not isinstance(at, slice):
        position = constant_int(at)
        found = None if position is None else result.element(position)
        return found if found is None or not rest else found[tuple(rest)]
    start, stop, step = (
        None if v is None else constant_int(v) for v in (at.start, at.stop, at.step)
    )
    for given, number in ((at.start, start), (at.stop, stop), (at.step, step)):
        if given is not None and number is None:
            return None
    if step in (None, 1):
        begin, end = start or 0, 0 if stop is None else -stop
        if stop is not None and stop >= 0:
            return None
    elif step == -1:
        begin = 0 if stop is None else stop + 1
        end = 0 if start is None else -1 - start
        if stop is not None and stop < 0:
            return None
    else:
        return None
    found = result.run(begin, end)
    if found is None:
        return None
    found = found[::-1] if step == -1 else found
    return found[(slice(None), *rest)] if rest else found


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


def _checked(x: Variable, fits: Any) -> Variable:
    """What is right if something else holds, which is checked; None if that is known."""
    return x if fits is None else CheckAndRaise(ValueError, UNFIT)(x, fits)


def _stacked(elements: Sequence[Variable]) -> Variable:
    return pt.stack(list(elements), axis=0)


def _joined(one: Variable | None, two: Variable | None) -> Any:
    if one is None or two is None:
        return two if one is None else one
    return pt.join(0, one, two)
