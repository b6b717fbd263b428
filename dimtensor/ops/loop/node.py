"""Other versions of a loop's node."""

from __future__ import annotations

from collections.abc import Sequence

from pytensor.graph.basic import Variable

from dimtensor.ops.loop.capture import freeze
from dimtensor.ops.loop.op import Scan, ScanInputs


def with_more_traces(op: Scan, given: ScanInputs, elements: Sequence[Variable]) -> list[Variable]:
    """Traces of variables of a frozen body, from a second node."""
    m = op.n_states + op.n_traces
    inputs = [v.type() for v in op.body.inputs]
    outputs, memo = op.body.bind(inputs, return_memo=True)
    traced = [memo[v] for v in elements]
    longer = op.with_props(
        body=freeze(inputs, [*outputs[:m], *traced, *outputs[m:]]),
        n_traces=op.n_traces + len(traced),
    )
    go = [given.go] if op.stops else []
    results = longer(given.n_steps, *go, *given.states, *given.sequences, *given.captured)
    return results[m : m + len(traced)]
