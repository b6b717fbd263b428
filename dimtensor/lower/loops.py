"""Lowering of loops and conditionals: one positional op for all outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dim, Dims, depends_on_mask, mask_keys, without
from dimtensor.errors import GraphError
from dimtensor.graph import Node, toposort
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.checking.checks import Check, check_messages
from dimtensor.graph.checkpoints import Checkpoints, checkpoint_levels
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.batching import masked
from dimtensor.graph.regions import LoopAttrs, Region, split_inputs, stop_dims
from dimtensor.graph.walk import with_regions
from dimtensor.lower.context import Lowering, lowers, transpose
from dimtensor.lower.layout.preferences import Estimates, Found, first, prefers
from dimtensor.ops.constants import integer_of
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from dimtensor.tuning import CHECKPOINTED_STEPS, COPY

Results = list[tuple[Variable, Dims]]


class RegionLowering(Lowering):
    """Lowering of a region.

    Parameters
    ----------
    parent : Lowering
        The lowering of the enclosing graph, which provides the lengths of dims.
    region : Region
    bound : sequence of Variable
        The values of the bound leaves, with axes in the plan's order.
    known : mapping of Node to Node, optional
        For bound leaves with the same value in all of the region: the outer node.
    may_not_run : bool
        Whether the region may not be computed, depending on run-time values.
    in_steps : bool
        Whether it is a step of a loop.
    """

    def __init__(
        self,
        parent: Lowering,
        region: Region,
        bound: Sequence[Variable],
        known: Mapping[Node, Node] | None = None,
        may_not_run: bool = False,
        in_steps: bool = False,
    ):
        super().__init__(
            region.outputs,
            parent.order,
            parent._leaf,
            stop=region.bound,
            options=parent.options,
        )
        self.parent = parent
        self.may_not_run = parent.may_not_run or may_not_run
        self.in_steps = parent.in_steps or in_steps
        self.differentiates = self.differentiates or parent.differentiates
        self.variables.update(zip(region.bound, bound, strict=True))
        self._known = known or {}

    def _lower(self, node: Node) -> Variable:
        known = self.variables.get(node)
        return super()._lower(node) if known is None else known

    def is_checked(self, leaf: Node) -> bool:
        if leaf.kind != "bound":
            return True
        outside = self._known.get(leaf)
        return outside is not None and self.parent.are_checked(outside)

    def _find_length(self, dim: Dim) -> Any:
        if not any(self.makes(key) for key in mask_keys(dim)):
            try:
                return self.parent.length(dim)
            except GraphError:
                for leaf, variable in self.variables.items():
                    if leaf.kind == "bound" and dim in leaf.dims:
                        axis = self.axes(leaf).index(dim)
                        return variable.shape[axis]
                if dim not in self._replaced and not dim.parents:
                    raise
        return super()._find_length(dim)

    def hidden_input(self, position: LabelPosition) -> Variable:
        return self.parent.hidden_input(position)


@lowers("bound")
def bound(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    raise GraphError(
        "a value from inside a loop step is used outside the loop",
        [("value", describe(node))],
        "return it from the step, as its state or as a value of its trace",
    )


@lowers("loop")
def loop(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    key = ("loop", node.inputs, node.attrs._replace(output=0))
    return ctx.once(key, lambda: _loop(ctx, node.attrs, node.inputs))[node.attrs.output]


@prefers("loop")
def loop_order(node: Node, estimates: Estimates) -> Found:
    """Prefer the dim of a loop as first axis of its sequences and traces."""
    over = node.attrs.over
    if over is None:
        return
    for x in (*split_inputs(node.attrs, node.inputs).sequences, node):
        if over in x.dims and len(x.dims) > 1:
            yield ("first", x), first(x.dims, (over,), COPY * estimates.elements(x.dims))


def _loop(ctx: Lowering, attrs: LoopAttrs, nodes: tuple[Node, ...]) -> Results:
    from dimtensor.ops.loop import build_loop, build_scan

    shown = attrs.n_states
    if stop_dims(attrs, split_inputs(attrs, nodes)):
        attrs, nodes = masked(attrs, nodes)
    given = split_inputs(attrs, nodes)
    n = attrs.n_states
    leaves = attrs.region.bound
    states = [_stand_in(ctx, leaf) for leaf in leaves[:n]]
    elements = [_stand_in(ctx, leaf) for leaf in leaves[n : n + attrs.n_sequences]]
    captured = [ctx.variable(x) for x in given.captured]
    masked_steps = attrs.over is not None and depends_on_mask(attrs.over)
    bound = [*states, *elements, *captured]
    inner = RegionLowering(ctx, attrs.region, bound, may_not_run=masked_steps, in_steps=True)
    outputs = inner.run()
    after, traced = outputs[:n], outputs[n : n + attrs.n_traces]
    go_on = outputs[n + attrs.n_traces] if attrs.stops else None
    before = outputs[-n:] if attrs.inverse else None
    init = [ctx.variable(x) for x in given.init]
    for holds, _ in inner.checks:
        so_far = pt.scalar(dtype="bool")
        states.append(so_far)
        after.append(pt.and_(so_far, holds))
        init.append(pt.constant(np.bool_(True)))
        if before is not None:
            before.append(so_far)
    go = ctx.variable(given.go) if attrs.stops else True
    final: Sequence[Variable]
    step = StepGraph(states, elements, after, traced, go_on, before, captured)
    if attrs.over is None and not attrs.counted:
        final, traces = build_loop(step, init, go), []
    else:
        steps = ctx.variable(given.n_steps) if attrs.counted else _length(ctx, attrs.over)
        sequences = [_along(ctx, x, attrs.over) for x in given.sequences]
        checkpoint = Checkpoints.of_attrs(attrs.checkpoint) or _segments(ctx, attrs, steps)
        options = LoopOptions(attrs.reverse, attrs.truncate, checkpoint)
        result = build_scan(steps, step, init, sequences, options, go)
        final, traces = result.states, result.traces
    for (_, check), holds in zip(inner.checks, final[n:], strict=True):
        ctx.check(check.node, holds, check.about)
    results = [(v, ctx.axes(x)) for v, x in zip(final, leaves[:shown], strict=False)]
    for trace, element in zip(traces, attrs.traced, strict=True):
        assert attrs.over is not None
        results.append((trace, (attrs.over, *ctx.axes(element))))
    return results


def _segments(ctx: Lowering, attrs: LoopAttrs, steps: Variable) -> Checkpoints | None:
    """Choose checkpoints for the gradient of a while loop that is nested in another loop.

    Its tape has room for the maximal number of steps, which is zeroed at each run although few
    steps may run. With segments, only the room of one segment is zeroed, and steps run once more.
    """
    clears_room = ctx.options.target.clears_room
    if not (clears_room and ctx.in_steps and ctx.differentiates and attrs.stops):
        return None
    known = integer_of(steps)
    if attrs.inverse or attrs.truncate is not None or known is None:
        return None
    return checkpoint_levels(2) if known >= CHECKPOINTED_STEPS else None


def _stand_in(ctx: Lowering, leaf: Node) -> Variable:
    """Make a variable for a state or an element of a sequence."""
    lengths = ctx.shape(ctx.axes(leaf))
    static = tuple(length if isinstance(length, int) else None for length in lengths)
    return pt.tensor(dtype=leaf.dtype, shape=static)


def _length(ctx: Lowering, over: Dim | None) -> Variable:
    assert over is not None
    return pt.as_tensor_variable(ctx.length(over), dtype="int64")


def _along(ctx: Lowering, x: Node, over: Dim | None) -> Variable:
    """Transpose a sequence so that the dim of the loop is its first axis."""
    assert over is not None
    axes = ctx.axes(x)
    return transpose(ctx.variable(x), axes, (over, *without(axes, [over])))


@lowers("cond")
def cond(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    key = ("cond", node.inputs, node.attrs._replace(output=0))
    return ctx.once(key, lambda: _cond(ctx, node, inputs))[node.attrs.output]


def _cond(ctx: Lowering, node: Node, inputs: list[Variable]) -> Results:
    from dimtensor.ops.loop.conditional import conditional

    condition, *operands = inputs
    checks: list[list[Check]] = [[], []]

    def branch(at: int, bound: Sequence[Variable]) -> list[Variable]:
        arm = (node.attrs.then, node.attrs.otherwise)[at]
        inner = RegionLowering(ctx, arm, bound, may_not_run=True)
        outputs = inner.run()
        checks[at] = [check for _, check in inner.checks]
        other = [pt.constant(np.bool_(True)) for _ in checks[1 - at]]
        own = [holds for holds, _ in inner.checks]
        return [*outputs, *(other + own if at else own + other)]

    if _may_ask(node.attrs.otherwise):
        branch(1, [x.type() for x in operands])  # to count its checks
    results = conditional(
        condition, lambda *bound: branch(0, bound), lambda *bound: branch(1, bound), operands
    )
    shown = node.attrs.then.outputs
    for check, holds in zip(checks[0] + checks[1], results[len(shown) :], strict=True):
        ctx.check(check.node, holds, check.about)
    return [(v, ctx.axes(x)) for v, x in zip(results, shown, strict=False)]


def _may_ask(region: Region) -> bool:
    return any(check_messages(node) for node in with_regions(toposort(region.outputs)))
