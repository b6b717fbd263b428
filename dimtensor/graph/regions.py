"""Regions: bodies of loops, branches of conditionals, functions that derivatives are taken of.

A region is closed: all that it reaches outside is an input of the node that has it, and stands in
it as a leaf of kind ``bound``, known by its number. Equal bodies are therefore one object, whatever
they were traced from. While a Python function is traced its arguments are bound leaves with a token
in place of the number.

A captured mask that selects in a region stands for itself: dims name the mask that they are made
by, and inside they are the dims that they are outside.
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
    """A bound leaf: a formal parameter of a region or of a step.

    Of a region that is closed the number is that of the input; of a step that is being traced it
    is -1, and the token tells leaves apart.
    """

    number: int
    token: str | None
    dims: Dims
    dtype: str
    categories: Dim | None = None


class Region(NamedTuple):
    """Nodes over bound leaves.

    Attributes
    ----------
    outputs : tuple of Node
    bound : tuple of Node
        All bound leaves by number, those that the outputs do not use among them; masks that dims
        are made by stand for themselves.
    """

    outputs: tuple[Node, ...]
    bound: tuple[Node, ...]


class LoopAttrs(NamedTuple):
    """A loop, and which of its outputs a node is.

    The inputs of the node are, in this order: the number of steps, if `counted`; a bool that says
    whether the first step runs, if `stops`; initial states; sequences; what is captured. Bound
    leaves of the region stand for states, elements of sequences and what is captured. Outputs of
    the region are next states, elements of traces, whether to go on, if `stops`, and, if `inverse`,
    the states before a step whose bound leaves are those after it.

    Outputs of the loop are the final states and the traces. A loop that stops by a condition with
    dims stops for each position of them on its own.
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
    """Inputs of a loop by role; nodes, or whatever stands for them."""

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
    """A conditional on a scalar, and which of its outputs a node is.

    The inputs of the node are the condition and what the bound leaves of both regions stand for.
    """

    then: Region
    otherwise: Region
    output: int


class DerivativeAttrs(NamedTuple):
    """A derivative of the output of a region by its first bound leaves.

    The inputs of the node are the values of these variables, what is captured, and then the
    cotangent of a gradient that has one, or the tangents of a pushforward. The number says by which
    variable a gradient is taken, whose node has one such output for each.
    """

    region: Region
    n_wrt: int
    output: int


class DerivativeInputs(NamedTuple):
    """Inputs of a derivative by role; nodes, or whatever stands for them."""

    wrt: tuple[Any, ...]
    captured: tuple[Any, ...]
    directions: tuple[Any, ...]


def split_derivative(attrs: DerivativeAttrs, inputs: Sequence[Any]) -> DerivativeInputs:
    """Inputs of a derivative by role."""
    n, m = attrs.n_wrt, len(attrs.region.bound)
    return DerivativeInputs(tuple(inputs[:n]), tuple(inputs[n:m]), tuple(inputs[m:]))


def split_inputs(attrs: LoopAttrs, inputs: Sequence[Any]) -> LoopInputs:
    """Inputs of a loop by role."""
    rest = list(inputs)
    n_steps = rest.pop(0) if attrs.counted else None
    go = rest.pop(0) if attrs.stops else None
    n, m = attrs.n_states, attrs.n_states + attrs.n_sequences
    return LoopInputs(n_steps, go, tuple(rest[:n]), tuple(rest[n:m]), tuple(rest[m:]))


def regions_of(node: Node) -> tuple[Region, ...]:
    """The regions that a node has."""
    return KINDS[node.kind].regions(node.attrs)


def stop_dims(attrs: LoopAttrs, given: LoopInputs) -> Dims:
    """The dims along which a loop stops on its own for each position."""
    if attrs.go_on is None:
        return ()
    return sort_dims({*attrs.go_on.dims, *given.go.dims})


# -- making regions --------------------------------------------------------------------------------


def placeholder(dims: Dims, dtype: str, categories: Dim | None = None) -> Node:
    """A bound leaf that stands for an argument of a step while it is traced."""
    return make("bound", (), BoundAttrs(-1, uuid.uuid4().hex, dims, dtype, categories))


def bound_leaf(number: int, dims: Dims, dtype: str, categories: Dim | None = None) -> Node:
    """The bound leaf of a number."""
    return make("bound", (), BoundAttrs(number, None, dims, dtype, categories))


def numbered(nodes: Iterable[Node], masks: Collection[Node] = ()) -> tuple[Node, ...]:
    """Bound leaves of the types of some nodes; masks stand for themselves."""
    return tuple(
        node if node in masks else bound_leaf(at, node.dims, node.dtype, node.categories)
        for at, node in enumerate(nodes)
    )


def leaves_like(bound: Sequence[Node], inputs: Sequence[Node]) -> tuple[Node, ...]:
    """Bound leaves of the types of other inputs."""
    pairs = zip(bound, inputs, strict=True)
    return numbered(inputs, {x for leaf, x in pairs if leaf.kind != "bound"})


def bound_masks(inside: Iterable[Node], captured: Collection[Node]) -> set[Node]:
    """Captured nodes that a region uses as masks."""
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
    """Regions of some outputs each, and what they reach outside, which is the same for all.

    What does not depend on the leaves of its own is captured whole, so that it is computed once.
    Numbers stay inside, and so do checks that were made after those leaves, because they must not
    fail where no step runs.

    Parameters
    ----------
    own : sequence of Node
        Placeholders.
    *outputs : sequence of Node
        The outputs of each region.
    made : set of Node, optional
        Nodes that stay inside whatever they depend on, because they may never be computed.

    Returns
    -------
    list of Region, tuple of Node
    """
    roots = [node for group in outputs for node in group]
    nodes = toposort(roots)
    inside = (
        dependent(_roots(own, nodes), nodes) if made is None else _made_inside(own, nodes, made)
    )
    captured = {x for node in inside for x in node.inputs if x not in inside}
    captured |= {node for node in roots if node not in inside}
    captured = {node for node in captured if not is_number(node)}
    ordered = tuple(sorted(captured, key=lambda node: node.serial))
    bound = numbered((*own, *ordered), bound_masks(inside, ordered))
    replace = dict(zip((*own, *ordered), bound, strict=True))
    closed = rebuild(roots, replace)
    regions = []
    for group in outputs:
        regions.append(Region(tuple(closed[: len(group)]), bound))
        closed = closed[len(group) :]
    return regions, ordered


def _roots(own: Sequence[Node], nodes: Sequence[Node]) -> set[Node]:
    """Leaves of a region, and the checks in it: a derivative by an older one is by what it is."""
    since = min((leaf.serial for leaf in own), default=0)
    return {*own, *[node for node in nodes if node.kind == "check" and node.serial > since]}


def _made_inside(own: Sequence[Node], nodes: Sequence[Node], made: set[Node]) -> set[Node]:
    """Nodes that depend on placeholders, among those that were made.

    What depends on something that was made, but was there before, is made of what was there, too.
    """
    inside = {node for node in nodes if node in made and node.kind not in _OUTSIDE}
    return inside | dependent(set(own), nodes)


def dependent(on: set[Node], nodes: Sequence[Node], without: Collection[Node] = ()) -> set[Node]:
    """Those of nodes in topological order that depend on some, these among them.

    What depends on them through some others alone is left out, and so are these.
    """
    found = set(on)
    keys = {node: _mask_keys(node) for node in nodes}
    while True:
        before = len(found)
        for node in nodes:
            if node not in without and not found.isdisjoint((*node.inputs, *keys[node])):
                found.add(node)
        # what is of a masked dim may come before the mask
        if len(found) == before or not any(keys.values()):
            return found


def _mask_keys(node: Node) -> tuple[Node, ...]:
    return tuple(key for dim in named_dims(node) if dim.parents for key in mask_keys(dim))


def is_number(node: Node) -> bool:
    """Whether a node is a number that is written down."""
    while node.kind in ("codes", "cast"):
        (node,) = node.inputs
    return node.kind == "constant"


def loop_nodes(attrs: LoopAttrs, inputs: tuple[Node, ...]) -> list[Node]:
    """The nodes of all outputs of a loop."""
    count = attrs.n_states + attrs.n_traces
    return [make("loop", inputs, attrs._replace(output=at)) for at in range(count)]


# -- types -----------------------------------------------------------------------------------------


def type_of(node: Node) -> NodeType:
    """The inferred type of a node."""
    return NodeType(node.dims, node.dtype, node.categories)


def same_types(what: str, found: Iterable[NodeType], expected: Iterable[NodeType]) -> None:
    """Check that types are equal.

    Raises
    ------
    GraphError
        If not.
    """
    found, expected = list(found), list(expected)
    if found != expected:
        raise GraphError(f"{what} of a region is of another type: {found} for {expected}")
