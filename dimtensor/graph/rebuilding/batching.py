"""Batching: loops and conditionals with inputs that have additional dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dimtensor.dims import Dim, Dims, union, without
from dimtensor.errors import GraphError
from dimtensor.graph.attrs import WORD, ReduceAttrs, StreamAttrs
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.infer import constant_attrs
from dimtensor.graph.node import KINDS, Node, make
from dimtensor.graph.rebuilding.independence import is_apart, mixed_later
from dimtensor.graph.rebuilding.substitute import Replace, expand_node, rebuild
from dimtensor.graph.regions import (
    CondAttrs,
    LoopAttrs,
    LoopInputs,
    Region,
    bound_leaf,
    leaves_like,
    loop_nodes,
    numbered,
    regions_of,
    split_inputs,
    stop_dims,
)
from dimtensor.graph.walk import toposort, with_regions


def _elemwise(name: str, *operands: Node) -> Node:
    return make("elemwise", operands, name)


# -- loops -----------------------------------------------------------------------------------------


def grown_loop(
    attrs: LoopAttrs, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
) -> list[Node]:
    """Rebuild all outputs of a loop with other inputs, adding dims that steps add to its states."""
    given = split_inputs(attrs, inputs)
    if given.n_steps is not None and given.n_steps.dims:
        attrs, given = _counting_for_each(attrs, given)
    over = () if attrs.over is None else (attrs.over,)
    dims = [x.dims for x in given.init]
    while True:
        init = tuple(_expanded_state(x, d) for x, d in zip(given.init, dims, strict=True))
        types = [
            *((x.dims, x) for x in init),
            *((without(x.dims, over), x) for x in given.sequences),
            *((x.dims, x) for x in given.captured),
        ]
        old = attrs.region.bound
        bound = tuple(
            bound_leaf(at, d, x.dtype, x.categories) if leaf.kind == "bound" else x
            for at, (leaf, (d, x)) in enumerate(zip(old, types, strict=True))
        )
        leaves = dict(zip(old, bound, strict=True))
        outputs = rebuild(attrs.region.outputs, leaves, replace, mapping)
        grown = attrs._replace(region=Region(tuple(outputs), bound))
        after = _dims_after(grown, given, dims)
        if after == dims:
            break
        dims = after
    n = attrs.n_states
    outputs[:n] = [expand_node(x, d) for x, d in zip(outputs[:n], dims, strict=True)]
    if attrs.inverse:
        outputs[-n:] = [expand_node(x, d) for x, d in zip(outputs[-n:], dims, strict=True)]
    grown = attrs._replace(region=Region(tuple(outputs), bound))
    return loop_nodes(grown, given._replace(init=init).inputs)


def _expanded_state(node: Node, dims: Dims) -> Node:
    """Add dims to an initial state: by broadcasting, or as independent streams of a generator."""
    if node.dtype != "uint64" or WORD not in node.dims:
        return expand_node(node, dims)
    for dim in without(dims, node.dims):
        node = make("stream", (node,), StreamAttrs(dim, WORD))
    return node


def _masks(bound: Sequence[Node]) -> set[Node]:
    return {leaf for leaf in bound if leaf.kind != "bound"}


def _dims_after(attrs: LoopAttrs, given: LoopInputs, dims: Sequence[Dims]) -> list[Dims]:
    """Return the dims of states after a step."""
    along = stop_dims(attrs, given)
    found = [[d, x.dims, along] for d, x in zip(dims, attrs.next_states, strict=True)]
    for state, x in zip(found, attrs.before or (), strict=False):
        state.append(x.dims)
    return [union(state, "a loop") for state in found]


def _counting_for_each(attrs: LoopAttrs, given: LoopInputs) -> tuple[LoopAttrs, LoopInputs]:
    """Turn a loop with numbers of steps per element into one with a condition per element."""
    if attrs.inverse:
        raise GraphError("a loop with an inverse has the same number of steps everywhere")
    counts = given.n_steps
    n = attrs.n_states
    zero, one = (make("constant", (), constant_attrs(v, "int64")) for v in (0, 1))
    states = [*given.init, zero]
    captured = (*given.captured, counts)
    step = bound_leaf(n, (), "int64")
    old = attrs.region.bound
    moved = numbered([*old[:n], step, *old[n:], counts], _masks(old))
    leaves = dict(zip(old, (*moved[:n], *moved[n + 1 : -1]), strict=True))
    outputs = rebuild(attrs.region.outputs, leaves)
    after = _elemwise("add", moved[n], one)
    go_on = _elemwise("less", after, moved[-1])
    go = _elemwise("greater", counts, zero)
    if attrs.stops:
        go_on = _elemwise("logical_and", go_on, outputs[-1])
        go = _elemwise("logical_and", go, given.go)
        outputs = outputs[:-1]
    most = make("reduce", (counts,), ReduceAttrs("supremum", counts.dims))  # there may be no counts
    most = _elemwise("maximum", most, zero)
    region = Region((*outputs[:n], after, *outputs[n:], go_on), moved)
    longer = attrs._replace(region=region, n_states=n + 1, stops=True)
    return longer, LoopInputs(most, go, tuple(states), given.sequences, captured)


def masked(attrs: LoopAttrs, inputs: tuple[Node, ...]) -> tuple[LoopAttrs, tuple[Node, ...]]:
    """Turn a loop with a batched condition into one with a scalar condition and masked steps.

    Finished elements keep their states. A further state holds which elements continue; for the
    others, steps are guarded.
    """
    given = split_inputs(attrs, inputs)
    along = stop_dims(attrs, given)
    if attrs.inverse or attrs.n_traces:
        raise GraphError("a loop that stops by dims has no inverse and no traces")
    n = attrs.n_states
    old = attrs.region.bound
    moved = numbered([*old[:n], bound_leaf(n, along, "bool"), *old[n:]], _masks(old))
    going = moved[n]
    leaves = dict(zip(old, (*moved[:n], *moved[n + 1 :]), strict=True))
    *after, go_on = guarded(rebuild(attrs.region.outputs, leaves), going)
    kept = [_elemwise("where", going, x, s) for x, s in zip(after, moved, strict=False)]
    go_on = expand_node(_elemwise("logical_and", going, go_on), along)
    some = make("reduce", (go_on,), ReduceAttrs("any", along))
    region = Region((*kept, go_on, some), moved)
    go = expand_node(given.go, along)
    start = make("reduce", (go,), ReduceAttrs("any", along))
    scalar = given._replace(go=start, init=(*given.init, go))
    return attrs._replace(region=region, n_states=n + 1), scalar.inputs


# -- conditionals ----------------------------------------------------------------------------------


def grown_cond(
    attrs: CondAttrs, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
) -> list[Node]:
    """Rebuild all outputs of a conditional with other inputs."""
    condition, *operands = inputs
    bound = leaves_like(attrs.then.bound, operands)
    branches = []
    for region in (attrs.then, attrs.otherwise):
        leaves = dict(zip(region.bound, bound, strict=True))
        branches.append(rebuild(region.outputs, leaves, replace, mapping))
    return conditional(condition, branches, bound, tuple(operands))


def conditional(
    condition: Node,
    branches: Sequence[Sequence[Node]],
    bound: tuple[Node, ...],
    operands: tuple[Node, ...],
) -> list[Node]:
    """Make the outputs of a conditional; a condition with dims selects elementwise.

    Parameters
    ----------
    condition : Node
    branches : sequence of sequence of Node
        The outputs if the condition is true, and if it is false.
    bound, operands : tuple of Node
        The bound leaves of the branches, and their values.
    """
    pairs = list(zip(*branches, strict=True))
    shared = [union([a.dims, b.dims], "if_else") for a, b in pairs]
    regions = [
        Region(tuple(expand_node(x, d) for x, d in zip(branch, shared, strict=True)), bound)
        for branch in branches
    ]
    if condition.dims:
        return _elementwise(condition, regions, operands)
    return [
        make("cond", (condition, *operands), CondAttrs(regions[0], regions[1], at))
        for at in range(len(pairs))
    ]


def _elementwise(
    condition: Node, regions: Sequence[Region], operands: tuple[Node, ...]
) -> list[Node]:
    """Compute both branches and select elementwise.

    Where a branch is not selected it is guarded, and not differentiated, as its derivative may not
    exist there.
    """
    results = []
    for at, region in enumerate(regions):
        taken = _elemwise("logical_not", condition) if at else condition
        apart = _elementwise_along(region.outputs, condition.dims)
        gated = [
            _elemwise("where", taken, x, _elemwise("stop_gradient", x))
            if apart and is_float(x.dtype)
            else x
            for x in operands
        ]
        leaves = dict(zip(region.bound, gated, strict=True))
        results.append(guarded(region.outputs, taken, leaves))
    return [_elemwise("where", condition, a, b) for a, b in zip(*results, strict=True)]


def _elementwise_along(outputs: Sequence[Node], dims: Dims) -> bool:
    """Return True if outputs are computed elementwise along dims."""
    for node in toposort(outputs):
        if regions_of(node):
            if not all(_elementwise_along(r.outputs, dims) for r in regions_of(node)):
                return False
            if node.kind == "loop" and node.attrs.over in dims:
                return False
        elif node.kind in ("elemwise", "cast", "codes", "check", "constant", "bound", "expand"):
            continue
        elif any(dim in x.dims for x in (node, *node.inputs) for dim in dims if node.inputs):
            if node.kind != "reduce" or any(dim in dims for dim in node.attrs.dims):
                return False
    return True


def loop_outputs(attrs: LoopAttrs, inputs: tuple[Node, ...]) -> list[Node]:
    """Make the nodes of all outputs of a loop whose number of steps may have dims."""
    n_steps = split_inputs(attrs, inputs).n_steps
    if n_steps is not None and n_steps.dims:
        return grown_loop(attrs, inputs, {}, None)
    return loop_nodes(attrs, inputs)


def loop_attrs(region: Region, n_states: int, **others: Any) -> LoopAttrs:
    """Make the attributes of a loop, with defaults for those that are not given."""
    usual: dict[str, Any] = {
        "n_sequences": 0, "over": None, "counted": False, "stops": False, "reverse": False,
        "inverse": False, "truncate": None, "checkpoint": None, "output": 0,
    }  # fmt: skip
    return LoopAttrs(region, n_states, **{**usual, **others})


# -- guards for unused elements --------------------------------------------------------------------


def guarded(
    outputs: Sequence[Node], condition: Node, leaves: Mapping[Node, Node] | None = None
) -> list[Node]:
    """Rebuild outputs so that they are safe to compute where a condition is false.

    Results are not used there. Where the condition is false, checks hold, positions are in range,
    and loops stop. Intermediate results that are combined along a dim of the condition, for example
    summed, are needed everywhere if they are needed at one position. The values of `leaves` are
    computed outside, and not guarded.
    """
    if not any(map(_may_harm, with_regions(toposort(outputs)))):
        return rebuild(outputs, leaves or {})
    loops: dict[Any, list[Node]] = {}
    mixed = mixed_later(outputs, condition.dims, _without_output)
    mapping: dict[Dim, Dim] = {}

    def replace(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        together = tuple(mixed.get(node, ()))
        if node.kind == "loop" and node.attrs.over is not None:
            together += (node.attrs.over,)  # later steps depend on each step
        counts = _any(condition, without(condition.dims, together))
        if node.kind == "check" and len(inputs) == 2:
            never = _elemwise("logical_not", counts)
            return make("check", (inputs[0], _elemwise("logical_or", inputs[1], never)), node.attrs)
        if node.kind in ("index", "update"):
            return _inside(node, inputs, counts, mapping)
        if node.kind not in ("loop", "cond"):
            return None
        key = (node.kind, inputs, node.attrs._replace(output=0))
        if key not in loops:
            guard = _guarded_loop if node.kind == "loop" else _guarded_cond
            loops[key] = guard(node.attrs, inputs, counts)
        return loops[key][node.attrs.output]

    return rebuild(outputs, leaves or {}, replace, mapping, nested=False)


def _without_output(node: Node) -> Any:
    """Return a key that all outputs of one loop or conditional share."""
    if node.kind in ("loop", "cond"):
        return node.kind, node.inputs, node.attrs._replace(output=0)
    return node


def _may_harm(node: Node) -> bool:
    return node.kind in ("check", "index", "update") or (node.kind == "loop" and node.attrs.stops)


def _inside(
    node: Node, inputs: tuple[Node, ...], condition: Node, mapping: dict[Dim, Dim]
) -> Node | None:
    """Rebuild a selection with position 0 where the condition is false."""
    selected = KINDS[node.kind].selected(node)
    assert selected is not None
    first = len(inputs) - len(selected.indexers)
    changed = list(inputs)
    for item in selected.items:
        at = first + item.payload if item.kind == "tensor" else 0
        if at and changed[at].categories is None:
            positions = changed[at]
            zero = make("constant", (), constant_attrs(0, positions.dtype))
            own = tuple(d for d in positions.dims if is_apart(node, at, d))
            changed[at] = _elemwise("where", _any(condition, own), positions, zero)
    if tuple(changed) == inputs:
        return None
    return KINDS[node.kind].with_inputs(node, tuple(changed), mapping)


def _any(condition: Node, along: Dims) -> Node:
    """Reduce a condition to some dims by any()."""
    others = without(condition.dims, along)
    return make("reduce", (condition,), ReduceAttrs("any", others)) if others else condition


def _guarded_loop(attrs: LoopAttrs, inputs: tuple[Node, ...], condition: Node) -> list[Node]:
    given = split_inputs(attrs, inputs)
    region, going = _with_condition(attrs.region, condition)
    if attrs.stops and not attrs.inverse:
        at = attrs.n_states + attrs.n_traces
        outputs = list(region.outputs)
        outputs[at] = _elemwise("logical_and", outputs[at], going)
        region = region._replace(outputs=tuple(outputs))
        given = given._replace(go=_elemwise("logical_and", given.go, condition))
    given = given._replace(captured=(*given.captured, condition))
    return grown_loop(attrs._replace(region=region), given.inputs, {}, None)


def _guarded_cond(attrs: CondAttrs, inputs: tuple[Node, ...], condition: Node) -> list[Node]:
    then, _ = _with_condition(attrs.then, condition)
    otherwise, _ = _with_condition(attrs.otherwise, condition)
    return grown_cond(CondAttrs(then, otherwise, 0), (*inputs, condition), {}, None)


def _with_condition(region: Region, condition: Node) -> tuple[Region, Node]:
    """Guard a region by a condition, which becomes an additional bound leaf."""
    leaf = bound_leaf(len(region.bound), condition.dims, "bool")
    return Region(tuple(guarded(region.outputs, leaf)), (*region.bound, leaf)), leaf
