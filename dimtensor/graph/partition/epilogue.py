"""Epilogue of a partition: what is computed from combined values of the whole, such as quotients.

A mean by group is a quotient of two sums. The sums are combined from slices of a dim, and the
quotient, which is not, is computed from them afterwards. A variance takes another pass: deviations
from the mean need the mean, and are summed in slices again. So an epilogue may have one itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.derivatives import gradients, laid_open
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.node import Node, make
from dimtensor.graph.partition.analysis import (
    Combined,
    Role,
    nodes_with_masks,
    possible_roles,
    split,
)
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.regions import split_derivative
from dimtensor.graph.walk import leaves, toposort


class Epilogue(NamedTuple):
    """Outputs as expressions of values that are computed first.

    Attributes
    ----------
    totals : tuple of Node
        Values that are combined from slices, with what is computed beside them and does not depend
        on the dims, and outputs that need no epilogue.
    inputs : tuple of Node
        Inputs that stand for them.
    outputs : tuple of Node
        The outputs as expressions of these inputs and of those of the whole. They can be computed
        in slices, or have an epilogue.
    """

    totals: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def without(self, known: Collection[object]) -> Epilogue:
        """Leave out values that an epilogue before has computed: those whose inputs are known."""
        pairs = zip(self.totals, self.inputs, strict=True)
        new = [(total, leaf) for total, leaf in pairs if leaf not in known]
        return Epilogue(tuple(x for x, _ in new), tuple(x for _, x in new), self.outputs)


def split_epilogue(outputs: Sequence[Node], dims: Iterable[Dim]) -> Epilogue | None:
    """Split outputs into combined values and their epilogue.

    None if no output needs it. An output that mixes positions in another way is unchanged.
    """
    dims = tuple(dims)
    standing: dict[Node, Node] = {}
    after: list[Node | None] = []
    for y in outputs:
        step = _first_step(y, dims) if _is_refused(y, dims) else None
        if step is not None and _is_possible(step.expression, dims):
            standing.update(step.totals)
            after.append(step.expression)
        else:
            after.append(None)
    if not any(after):
        return None
    for y, later in zip(outputs, after, strict=True):
        if later is None and y.inputs:
            standing[y] = _stand_in(y)
    found = [standing.get(y, y) if x is None else x for y, x in zip(outputs, after, strict=True)]
    return Epilogue(tuple(standing), tuple(standing.values()), tuple(found))


class _Step(NamedTuple):
    """An expression of values that are computed first, each with the input that stands for it."""

    totals: dict[Node, Node]
    expression: Node


def _is_refused(y: Node, dims: Sequence[Dim]) -> bool:
    return any(split(y, dim).obstacle is not None for dim in dims)


def _is_possible(y: Node, dims: Sequence[Dim]) -> bool:
    """Return whether slices suffice for an expression, after epilogues of its own."""
    while _is_refused(y, dims):
        step = _first_step(y, dims)
        if step is None:
            return False
        y = step.expression
    return True


def _stand_in(x: Node) -> Node:
    token = f"total {x._serial}"
    return make("input", (), InputAttrs(None, token, x.dims, x.dtype, x.categories))


def _first_step(y: Node, dims: Sequence[Dim]) -> _Step | None:
    """Replace the combined values below an expression; None if it needs something else first."""
    while True:
        totals, derivatives = _combined_below(y, dims)
        if totals:
            standing = {x: _stand_in(x) for x in totals}
            return _Step(standing, rebuild([y], standing)[0])
        opened = {node: _by_chain_rule(node, dims) for node in derivatives}
        replaced = {node: x for node, x in opened.items() if x is not None}
        if not replaced:
            return None
        y = rebuild([y], replaced)[0]


def _combined_below(y: Node, dims: Sequence[Dim]) -> tuple[list[Node], list[Node]]:
    """Return the values that an expression needs of the whole.

    Returns
    -------
    totals : list of Node
        The last combined values, and what does not depend on the dims beside them.
    derivatives : list of Node
        The gradients whose function needs such values.
    """
    nodes = nodes_with_masks([y])
    known = [possible_roles(nodes, dim)[0] for dim in dims]
    totals: dict[Node, None] = {}
    derivatives: list[Node] = []
    is_combined = False
    seen, todo = set(), [y]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if any(node not in roles for roles in known):
            todo += node.inputs
            if node.kind == "gradient" and all(x in roles for roles in known for x in node.inputs):
                derivatives.append(node)
            continue
        own = [roles[node] for roles in known]
        if _is_combined(own):
            is_combined = True
            totals[node] = None
        elif not any(own) and node.inputs and leaves([node]):
            totals[node] = None
    return ([*totals] if is_combined else []), derivatives


def _is_combined(roles: Iterable[Role]) -> bool:
    return any(isinstance(role, Combined) for role in roles)


def _by_chain_rule(node: Node, dims: Sequence[Dim]) -> Node | None:
    """Write the gradient of a function of combined values as a sum of gradients of these values.

    Each is in the direction of the function's own gradient by the value, which is computed from the
    whole. None if the function needs something else first.
    """
    opened = laid_open(node)
    if opened is None:
        return None
    y, wrt = opened
    step = _first_step(y, dims)
    if step is None:
        return None
    given = split_derivative(node.attrs, node.inputs)
    x = wrt[node.attrs.output]
    values = dict(zip(wrt, given.wrt, strict=True))
    (along,) = given.directions or (None,)
    terms = []
    if x in toposort([step.expression]):
        terms += gradients(step.expression, [x], along)
    for total, leaf in step.totals.items():
        if is_float(total.dtype) and x in toposort([total]):
            (direction,) = gradients(step.expression, [leaf], along)
            terms += gradients(total, [x], direction)
    return _at(terms, step.totals, values)


def _at(terms: Sequence[Node], totals: Mapping[Node, Node], values: Mapping[Node, Node]) -> Node:
    """Return a sum, with the values that inputs and variables stand for."""
    whole = rebuild(terms, {leaf: total for total, leaf in totals.items()})
    found, *others = rebuild(whole, dict(values))
    for x in others:
        found = make("elemwise", (found, x), "add")
    return found
