"""Conversion of PyTensor's scans to loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scan.op import Scan
from pytensor.tensor.shape import Shape
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.errors import DtypeError, GraphError
from dimtensor.interop.scans.lengths import KnownIntegers, LinearSum, indices_of
from dimtensor.interop.scans.outputs import (
    AccumulatedOutput,
    NotALoopError,
    RecurrentOutput,
    ScanOutput,
    UntracedState,
    only_if,
)
from dimtensor.ops.constants import integer_of
from dimtensor.ops.graphs import replaced
from dimtensor.ops.loop.frontend import build_scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph


def scans_as_loops(
    graph: FunctionGraph, prepare: Callable[[FunctionGraph], Any], checked: bool = True
) -> bool:
    """Replace PyTensor's scans by loops where possible.

    Parameters
    ----------
    graph : FunctionGraph
        Changed in place.
    prepare : callable
        Rewrites the graph of a step, in place, to the canonical form of the kernel compiler.
    checked : bool
        Whether there is a fallback at run time for unexpected lengths. If not, scans whose lengths
        are not all known are left unchanged.

    Returns
    -------
    bool
        Whether a scan was replaced.

    Notes
    -----
    A buffer is assumed to be as long as the trace written into it, or to hold the last elements
    only. Where that is not known statically it is checked at run time, and a mismatch triggers the
    fallback.
    """
    found, lengths, counts = False, KnownIntegers(), _StepCounts()
    for node in graph.toposort():
        if isinstance(node.op, Subtensor) and found and lengths.is_whole(node):
            graph.replace(node.outputs[0], node.inputs[0], reason="scans_as_loops")
        if not isinstance(node.op, Scan):
            continue
        try:
            results = _results(node, prepare, lengths, counts, checked)
        except (NotALoopError, GraphError, DtypeError):
            continue
        found = True
        for old, new in _replacements(graph, node, results):
            graph.replace(
                old, old.type.filter_variable(new), reason="scans_as_loops", import_missing=True
            )
    return found


class _StepCounts:
    """Canonical variables for numbers of steps, shared by loops with as many steps."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[Any, int]], Variable] = {}

    def of(self, n_steps: Variable, terms: LinearSum) -> Variable:
        return self._known.setdefault(frozenset(terms.items()), n_steps)


def _results(
    node: Apply,
    prepare: Callable[[FunctionGraph], Any],
    lengths: KnownIntegers,
    counts: _StepCounts,
    checked: bool,
) -> list[ScanOutput]:
    """Build the loop of a scan; return the outputs of the scan in terms of it."""
    op: Any = node.op
    info = op.info
    if info.n_mit_mot and info.as_while:
        raise NotALoopError
    inner = op.fgraph.unfreeze()
    prepare(inner)
    n_steps: Any = node.inputs[0]
    if lengths.count(n_steps):
        if not checked:
            raise NotALoopError
        known = n_steps
        n_steps = only_if(known, pt.ge(known, 0))
        lengths.same(n_steps, known)
    n_steps = counts.of(n_steps, lengths.terms(n_steps))
    outputs = _outputs(op, node, inner, n_steps, lengths)
    if not checked and not all(each.is_known() for each in outputs):
        raise NotALoopError
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
    # scans of gradients run backwards, and accumulate into mit-mot buffers
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


def _outputs(
    op: Any, node: Apply, inner: FunctionGraph, n_steps: Variable, lengths: KnownIntegers
) -> list[ScanOutput]:
    """Return the outputs of a scan, in order."""
    info = op.info
    found: list[ScanOutput] = []
    truncated = op.truncate_gradient != -1
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
        found.append(AccumulatedOutput(start, window, after, n_steps, lengths, truncated))
    several = zip(
        op.outer_mitsot(node.inputs) + op.outer_sitsot(node.inputs),
        (*info.mit_sot_in_slices, *info.sit_sot_in_slices),
        [*op.inner_mitsot_grouped(inner.inputs), *([v] for v in op.inner_sitsot(inner.inputs))],
        op.inner_mitsot_outs(inner.outputs) + op.inner_sitsot_outs(inner.outputs),
        strict=True,
    )
    for start, taps, read, new in several:
        if max(taps) >= 0:
            raise NotALoopError
        known = dict(zip(taps, read, strict=True))
        window = [known[at] if at in known else new.type() for at in range(min(taps), 0)]
        found.append(
            RecurrentOutput(start, window, new, n_steps, info.as_while, lengths, truncated)
        )
    for length, new in zip(
        op.outer_nitsot(node.inputs), op.inner_nitsot_outs(inner.outputs), strict=True
    ):
        stops = info.as_while
        found.append(RecurrentOutput(None, [], new, n_steps, stops, lengths, truncated, length))
    found += map(
        UntracedState,
        op.outer_untraced_sit_sot(node.inputs),
        op.inner_untraced_sit_sot(inner.inputs),
        op.inner_untraced_sit_sot_outs(inner.outputs),
    )
    return found


def _replacements(
    graph: FunctionGraph, node: Apply, results: Sequence[ScanOutput]
) -> Iterator[tuple[Variable, Variable]]:
    """Yield replacements of reads of a scan's outputs, and of outputs that are used as a whole."""
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


def _read(client: Any, result: ScanOutput) -> Variable | None:
    """Return an element or slice of an output from the loop, or None if it needs the buffer."""
    at, *rest = indices_of(client)
    if not isinstance(at, slice):
        position = integer_of(at)
        found = None if position is None else result.element(position)
        return found if found is None or not rest else found[tuple(rest)]
    start, stop, step = (None if v is None else integer_of(v) for v in (at.start, at.stop, at.step))
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
