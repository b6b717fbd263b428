"""Regions: loop bodies, branches of conditionals, and functions to differentiate.

A region is closed: values from outside are inputs of the node that contains it, and occur in it as
numbered leaves of kind ``bound``. Equal bodies are therefore one object, whatever they were traced
from. While a Python function is traced, its arguments are bound leaves with a token in place of a
number.

A captured mask is not replaced by a bound leaf: masked dims refer to their masks, and are the same
inside and outside of a region.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from dimtensor.dims import Dim, Dims, mask_keys, sort_dims
from dimtensor.errors import GraphError
from dimtensor.graph.node import KINDS, Node, NodeType, make
from dimtensor.graph.rebuilding.substitute import named_dims, rebuild
from dimtensor.graph.walk import LEAF_KINDS, toposort

DERIVATIVES = frozenset({"gradient", "jacobian", "pushforward"})
_OUTSIDE = frozenset((*LEAF_KINDS, "bound", "label_position"))


class BoundAttrs(NamedTuple):
    """Bound leaf: a formal parameter of a region or of a step.

    In a closed region the number is that of the input. While a step is traced it is -1, and tokens
    distinguish the leaves.
    """

    number: int
    token: str | None
    dims: Dims
    dtype: str
    categories: Dim | None = None


class Region(NamedTuple):
    """Closed graph: outputs as functions of bound leaves.

    Attributes
    ----------
    outputs : tuple of Node
    bound : tuple of Node
        All bound leaves by number, including unused ones; captured masks of dims are not replaced
        by leaves.
    """

    outputs: tuple[Node, ...]
    bound: tuple[Node, ...]


class LoopAttrs(NamedTuple):
    """Loop, and the index of the output that a node is.

    The inputs of the node are, in this order: the number of steps, if `counted`; a bool for whether
    the first step runs, if `stops`; initial states; sequences; captured nodes. The bound leaves of
    the region are states, elements of sequences, and captured nodes. Its outputs are next states,
    elements of traces, whether to continue, if `stops`, and, if `inverse`, the states before a step
    as functions of those after it.

    Outputs of the loop are the final states and the traces. If the condition of a loop has dims,
    each of its elements terminates independently.
    """

    region: Region
    n_states: int
    n_sequences: int
    over: Dim | None
    counted: bool
    stops: bool
    reverse: bool
    inverse: bool
    truncate: int | None
    checkpoint: tuple[Any, ...] | None
    output: int

    @property
    def n_traces(self) -> int:
        return len(self.region.outputs) - self.n_states * (1 + self.inverse) - self.stops

    @property
    def next_states(self) -> tuple[Node, ...]:
        return self.region.outputs[: self.n_states]

    @property
    def traced(self) -> tuple[Node, ...]:
        return self.region.outputs[self.n_states : self.n_states + self.n_traces]

    @property
    def go_on(self) -> Node | None:
        return self.region.outputs[self.n_states + self.n_traces] if self.stops else None

    @property
    def before(self) -> tuple[Node, ...] | None:
        return self.region.outputs[-self.n_states :] if self.inverse else None


class LoopInputs(NamedTuple):
    """Inputs of a loop by role; nodes, or objects that represent them."""

    n_steps: Any
    go: Any
    init: tuple[Any, ...]
    sequences: tuple[Any, ...]
    captured: tuple[Any, ...]

    @property
    def inputs(self) -> tuple[Any, ...]:
        first = [x for x in (self.n_steps, self.go) if x is not None]
        return (*first, *self.init, *self.sequences, *self.captured)


class CondAttrs(NamedTuple):
    """Conditional on a scalar, and the index of the output that a node is.

    The inputs of the node are the condition and the values of the bound leaves of both regions.
    """

    then: Region
    otherwise: Region
    output: int


class DerivativeAttrs(NamedTuple):
    """Derivative of the output of a region with respect to its first bound leaves.

    The inputs of the node are the values of these variables, captured nodes, and the cotangent of a
    vector-Jacobian product or the tangents of a pushforward. A gradient has one output for each
    variable; the index of the node's output selects one.

    Further outputs of the region are the pieces of the variable in order, if the function depends
    on it through them alone (`derivatives.gradient_by_pieces`).
    """

    region: Region
    n_wrt: int
    output: int


class DerivativeInputs(NamedTuple):
    """Inputs of a derivative by role; nodes, or objects that represent them."""

    wrt: tuple[Any, ...]
    captured: tuple[Any, ...]
    directions: tuple[Any, ...]


def split_derivative(attrs: DerivativeAttrs, inputs: Sequence[Any]) -> DerivativeInputs:
    """Split the inputs of a derivative by role."""
    n, m = attrs.n_wrt, len(attrs.region.bound)
    return DerivativeInputs(tuple(inputs[:n]), tuple(inputs[n:m]), tuple(inputs[m:]))


def split_inputs(attrs: LoopAttrs, inputs: Sequence[Any]) -> LoopInputs:
    """Split the inputs of a loop by role."""
    rest = list(inputs)
    n_steps = rest.pop(0) if attrs.counted else None
    go = rest.pop(0) if attrs.stops else None
    n, m = attrs.n_states, attrs.n_states + attrs.n_sequences
    return LoopInputs(n_steps, go, tuple(rest[:n]), tuple(rest[n:m]), tuple(rest[m:]))


def regions_of(node: Node) -> tuple[Region, ...]:
    """Return the regions of a node."""
    return KINDS[node.kind].regions(node.attrs)


def stop_dims(attrs: LoopAttrs, given: LoopInputs) -> Dims:
    """Return the dims of a loop's condition, along which elements terminate independently."""
    if attrs.go_on is None:
        return ()
    return sort_dims({*attrs.go_on.dims, *given.go.dims})


# -- making regions --------------------------------------------------------------------------------


def placeholder(dims: Dims, dtype: str, categories: Dim | None = None) -> Node:
    """Make a bound leaf for an argument of a function that is traced."""
    return make("bound", (), BoundAttrs(-1, uuid.uuid4().hex, dims, dtype, categories))


def bound_leaf(number: int, dims: Dims, dtype: str, categories: Dim | None = None) -> Node:
    """Make the bound leaf of a number."""
    return make("bound", (), BoundAttrs(number, None, dims, dtype, categories))


def numbered(nodes: Iterable[Node], masks: Collection[Node] = ()) -> tuple[Node, ...]:
    """Make bound leaves with the types of nodes; masks are kept."""
    return tuple(
        node if node in masks else bound_leaf(at, node.dims, node.dtype, node.categories)
        for at, node in enumerate(nodes)
    )


def leaves_like(bound: Sequence[Node], inputs: Sequence[Node]) -> tuple[Node, ...]:
    """Make bound leaves with the types of other inputs."""
    pairs = zip(bound, inputs, strict=True)
    return numbered(inputs, {x for leaf, x in pairs if leaf.kind != "bound"})


def bound_masks(inside: Iterable[Node], captured: Collection[Node]) -> set[Node]:
    """Return the captured nodes that a region uses as masks."""
    found: set[Any] = set()
    for node in inside:
        found.update(key for dim in node.dims for key in mask_keys(dim))
        selected = KINDS[node.kind].selected(node)
        if selected is not None:
            items, indexers = selected
            found.update(indexers[item.payload] for item in items if item.kind == "mask")
    found.update(key for node in captured for dim in node.dims for key in mask_keys(dim))
    return found.intersection(captured)


def close(
    own: Sequence[Node], *outputs: Sequence[Node], made: set[Node] | None = None
) -> tuple[list[Region], tuple[Node, ...]]:
    """Close groups of outputs to regions with common captured nodes.

    Subgraphs that do not depend on the placeholders are captured, so that they are computed once.
    Constants stay inside, and so do checks created after the placeholders, which must not fail if
    no step runs.

    Parameters
    ----------
    own : sequence of Node
        Placeholders.
    *outputs : sequence of Node
        The outputs of each region.
    made : set of Node, optional
        Nodes that stay inside even if they do not depend on placeholders, such as those of a branch
        that may not be taken.

    Returns
    -------
    regions : list of Region
    captured : tuple of Node
    """
    roots = [node for group in outputs for node in group]
    nodes = toposort(roots)
    inside = (
        dependent(_roots(own, nodes), nodes) if made is None else _made_inside(own, nodes, made)
    )
    captured = {x for node in inside for x in node.inputs if x not in inside}
    captured |= {node for node in roots if node not in inside}
    captured = {node for node in captured if not is_number(node)}
    ordered = tuple(sorted(captured, key=lambda node: node._serial))
    bound = numbered((*own, *ordered), bound_masks(inside, ordered))
    replace = dict(zip((*own, *ordered), bound, strict=True))
    closed = rebuild(roots, replace)
    regions = []
    for group in outputs:
        regions.append(Region(tuple(closed[: len(group)]), bound))
        closed = closed[len(group) :]
    return regions, ordered


def _roots(own: Sequence[Node], nodes: Sequence[Node]) -> set[Node]:
    """Return the placeholders of a region, and the checks that were created after them."""
    since = min((leaf._serial for leaf in own), default=0)
    return {*own, *[node for node in nodes if node.kind == "check" and node._serial > since]}


def _made_inside(own: Sequence[Node], nodes: Sequence[Node], made: set[Node]) -> set[Node]:
    """Return the nodes that were made in the region, and those that depend on placeholders."""
    inside = {node for node in nodes if node in made and node.kind not in _OUTSIDE}
    return inside | dependent(set(own), nodes)


def dependent(on: set[Node], nodes: Sequence[Node], without: Collection[Node] = ()) -> set[Node]:
    """Return the nodes, of a topologically sorted list, that depend on others, and these.

    Paths through nodes of `without` do not count, and these nodes are not returned.
    """
    found = set(on)
    keys = {node: _mask_keys(node) for node in nodes}
    while True:
        before = len(found)
        for node in nodes:
            if node not in without and not found.isdisjoint((*node.inputs, *keys[node])):
                found.add(node)
        # a node with a masked dim may precede the mask in the order
        if len(found) == before or not any(keys.values()):
            return found


def _mask_keys(node: Node) -> tuple[Node, ...]:
    return tuple(key for dim in named_dims(node) if dim.parents for key in mask_keys(dim))


def is_number(node: Node) -> bool:
    """Return True for a constant, possibly cast or converted to a label."""
    while node.kind in ("codes", "cast"):
        (node,) = node.inputs
    return node.kind == "constant"


def loop_nodes(attrs: LoopAttrs, inputs: tuple[Node, ...]) -> list[Node]:
    """Make the nodes of all outputs of a loop."""
    count = attrs.n_states + attrs.n_traces
    return [make("loop", inputs, attrs._replace(output=at)) for at in range(count)]


# -- types -----------------------------------------------------------------------------------------


def type_of(node: Node) -> NodeType:
    """Return the inferred type of a node."""
    return NodeType(node.dims, node.dtype, node.categories)


def same_types(what: str, found: Iterable[NodeType], expected: Iterable[NodeType]) -> None:
    """Check that types are equal.

    Raises
    ------
    GraphError
        If they differ.
    """
    found, expected = list(found), list(expected)
    if found != expected:
        raise GraphError(f"{what} of a region is of another type: {found} for {expected}")
