"""Loops along ragged dims: one along all positions, whose state starts anew for each parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dimtensor.dims import Dim, Dims, ancestors, without
from dimtensor.errors import OptionError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import WORD
from dimtensor.graph.functions import BatchedFunction, with_own_columns
from dimtensor.graph.rebuilding.parents import at_positions, plain
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild
from dimtensor.graph.walk import toposort
from dimtensor.tensor.constructors import full
from dimtensor.tensor.control.pytree import flatten, paths, unflatten
from dimtensor.tensor.control.scans import run_scan
from dimtensor.tensor.handle import as_node, elemwise, wrap
from dimtensor.tensor.ragged.layout import (
    from_flat,
    numbers,
    order,
    ragged_scan,
    sizes,
    sorted_places,
    starts,
    to_flat,
)
from dimtensor.tensor.reductions.order_statistics import with_an_element


@ragged_scan.provides()
def scan_ragged(
    dim: Dim,
    name: str,
    step: Callable[..., Any],
    init: Any,
    sequences: Sequence[Node],
    fill: Callable[[Sequence[Node]], Any],
    reverse: bool,
    checkpoint: Any,
    inverse: Any,
    truncate: int | None,
) -> tuple[Any, Any]:
    """Run a loop for each parent; arguments are those of `run_scan`.

    Returns
    -------
    state
        The last state of each parent; the initial one of a parent without positions. A generator
        of random numbers goes on from parent to parent.
    ys
        The values of all steps, with the ragged dim.
    """
    if inverse is not None or truncate is not None:
        option = "inverse" if inverse is not None else "truncate"
        raise OptionError(
            f"{name}: {option}= is for a loop along one plain dim, and {dim._title} is ragged",
            hint="checkpoint=dt.checkpoint_levels(2) saves memory",
        )
    sort = _Sorted(dim)
    leaves, tree = flatten(init)
    places = paths(tree, "state")
    begin = [wrap(as_node(x, what=f"{name}: {p}")) for x, p in zip(leaves, places, strict=True)]
    own = [any(above in x.dims for above in ancestors(dim)) for x in begin]
    # the state of a generator is kept: parents draw different numbers
    is_random = [WORD in x.dims for x in begin]
    begins = [
        sort.sequence(at_positions(x.node, dim)) if looked_up else None
        for x, looked_up in zip(begin, own, strict=True)
    ]
    start = [_blank(x, dim) if looked_up else x for x, looked_up in zip(begin, own, strict=True)]
    captured: list[Node] = []
    number = numbers(dim)
    end = elemwise("subtract", sizes(dim), 1) if reverse else 0
    first = sort.sequence(elemwise("equal", number, end).node)

    def restarted(state: Any, now: Any) -> Any:
        is_first, here, elements, of_parents = now
        before = [
            each if random else elemwise("where", is_first, x if at is None else at, each)
            for x, at, each, random in zip(begin, here, flatten(state)[0], is_random, strict=True)
        ]
        returned = step(unflatten(tree, before), fill([x.node for x in elements]))
        if not isinstance(returned, tuple) or len(returned) != 2:
            return returned
        found, shape = flatten(returned)
        nodes = [as_node(x, what=f"{name}: what the step returns") for x in found]
        more = [x for x in _of_ancestors(nodes, dim) if x not in captured]
        if more:
            raise _CapturedError(more)
        own = dict(zip(captured, [x.node for x in of_parents], strict=True))
        if own:
            nodes = rebuild(nodes, own, partial(_at_one_parent, tuple(ancestors(dim))))
        returned = unflatten(shape, [wrap(x) for x in nodes])
        after = zip(flatten(returned[0])[0], is_random, strict=False)  # the loop checks them
        return returned[0], (returned[1], [x for x, random in after if not random])

    given = (first, begins, [sort.sequence(x) for x in sequences])
    while True:
        xs = (*given, [sort.sequence(at_positions(x, dim)) for x in captured])
        try:
            end_state, (ys, states) = run_scan(
                name, restarted, unflatten(tree, start), xs, plain(dim), reverse, checkpoint
            )
            break
        except _CapturedError as error:
            captured += error.nodes
    shown, shape = flatten(ys)
    traced = iter(states)
    last = [
        end if random else sort.last(next(traced), initial, reverse)
        for end, initial, random in zip(flatten(end_state)[0], begin, is_random, strict=True)
    ]
    return unflatten(tree, last), unflatten(shape, [sort.result(x) for x in shown])


class _CapturedError(Exception):
    """Tensors along parents that a step captures: its elements at each position are meant."""

    def __init__(self, nodes: list[Node]):
        super().__init__("captured tensors along the parents of a ragged dim")
        self.nodes = nodes


def _of_ancestors(outputs: Sequence[Node], dim: Dim) -> list[Node]:
    """Return the largest captured expressions along ancestors of a dim, below some outputs."""
    nodes = toposort(outputs)
    bound: set[Node] = set()
    for node in nodes:
        if node.kind == "bound" or not bound.isdisjoint(node.inputs):
            bound.add(node)
    own = set(ancestors(dim))
    free = [x for x in nodes if x not in bound and not own.isdisjoint(x.dims)]
    users = {x for node in nodes for x in node.inputs if node in bound} | set(outputs)
    return [x for x in free if x in users]


def _at_one_parent(above: Dims, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """Make an operation along ancestors anew, whose operands are at one of their positions."""
    if node.kind == "expand" and not set(above).isdisjoint(node.attrs):
        return expand_node(inputs[0], without(node.attrs, above))
    if node.kind == "draw" and not set(above).isdisjoint(node.attrs.order):
        order = without(node.attrs.order, above)
        return make("draw", inputs, node.attrs._replace(order=order))
    if node.kind == "apply" and isinstance(node.attrs.function, BatchedFunction):
        attrs = with_own_columns(node.attrs, inputs)
        return make("apply", inputs, attrs) if attrs is not node.attrs else None
    return None


def _blank(x: Any, dim: Dim) -> Any:
    """Return a state without the dims of parents, which the first step of each replaces."""
    dims: Dims = without(x.dims, tuple(ancestors(dim)))
    zero = full(dims, 0, x.dtype)
    return zero if x.categories is None else wrap(make("codes", (zero.node,), x.categories))


class _Sorted:
    """Conversion of tensors along a ragged dim to its positions sorted by parent, and back."""

    def __init__(self, dim: Dim):
        self._dim = dim
        self._order = order(dim)

    def sequence(self, x: Node) -> Any:
        flat = to_flat(wrap(x), self._dim)
        return flat if self._order is None else flat.isel({plain(self._dim): self._order})

    def result(self, x: Any) -> Any:
        if self._order is not None:
            x = x.isel({plain(self._dim): to_flat(sorted_places(self._dim), self._dim)})
        return from_flat(x, self._dim)

    def last(self, x: Any, initial: Any, reverse: bool) -> Any:
        """Return the state after the last step of each parent, the initial one after none."""
        n = sizes(self._dim)
        elements, (along,) = with_an_element(x, (plain(self._dim),), 0)
        at = elemwise("add", starts(self._dim), 0 if reverse else elemwise("maximum", n - 1, 0))
        within = wrap(make("length", (), plain(self._dim)))
        at = elemwise("minimum", at, elemwise("maximum", within - 1, 0))
        return elemwise("where", elemwise("greater", n, 0), elements.isel({along: at}), initial)
