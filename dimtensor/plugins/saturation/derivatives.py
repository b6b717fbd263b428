"""Whole graphs: functions that derivatives are taken of, and the values beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, depends_on_mask
from dimtensor.graph.derivatives import derivative_like, laid_open
from dimtensor.graph.node import Node
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.regions import DERIVATIVES, split_derivative
from dimtensor.graph.walk import fixed_nodes, toposort
from dimtensor.plugins.saturation.costs import Costs
from dimtensor.plugins.saturation.driver import Limits, Rewritten, saturated
from dimtensor.plugins.saturation.node_costs import FORWARD, REVERSE


def simplified(
    outputs: Sequence[Node],
    lengths: Mapping[Dim, int] | None = None,
    allow: Collection[str] = (),
    once: bool = True,
    limits: Limits | None = None,
) -> Rewritten:
    """Find the cheapest equivalent outputs, derivatives among them.

    The derivative of a function is that of what the function becomes. Where the value is asked for,
    too, it is what the function becomes at the values of its variables, so that both share all
    that they have in common.

    Parameters
    ----------
    outputs : sequence of Node
    lengths : mapping of Dim to int, optional
    allow : collection of str
        ``"reassociate"`` for rules that can lose digits.
    once : bool
        Whether data-only subgraphs count as free.
    limits : Limits, optional
    """
    costs = Costs(lengths, outputs)
    found = _Simplification(costs, allow, once, limits or Limits()).run(list(outputs))
    found.assumptions = costs.assumptions
    return found


class _Differentiated(NamedTuple):
    """Function that derivatives are taken of, before and after rewriting."""

    value: Node
    wrt: tuple[Node, ...]
    found: Rewritten


class _Simplification:
    def __init__(self, costs: Costs, allow: Collection[str], once: bool, limits: Limits):
        self._costs = costs
        self._allow = allow
        self._once = once
        self._limits = limits
        self._functions: dict[tuple, _Differentiated | None] = {}

    def run(self, outputs: list[Node]) -> Rewritten:
        """Rewrite outputs, functions of derivatives first."""
        nodes = toposort(outputs)
        derivatives = [node for node in nodes if node.kind in DERIVATIVES]
        if not derivatives:
            return self._saturated(outputs)
        total = Rewritten([])
        values: dict[Node, Node] = {}
        for key, node in {_key(node): node for node in derivatives}.items():
            function = self._function(key, node)
            if function is None:
                continue
            found = function.found
            times = FORWARD if node.kind == "pushforward" else REVERSE
            total.before += times * found.before
            total.after += times * found.after
            total.rules += found.rules
            new = rebuild(found.outputs, dict(zip(function.wrt, node.inputs, strict=False)))
            values[function.value] = new[0]
        asked = [node for node in outputs if node in values]
        rest = self._with_functions([node for node in outputs if node not in values])
        found = self._saturated(rest)
        rewritten = iter(found.outputs)
        total.outputs = [values[x] if x in values else next(rewritten) for x in outputs]
        total.rules += found.rules
        total.before += found.before + self._cost(asked)
        total.after += found.after + self._cost([values[x] for x in asked])
        return total

    def _saturated(self, outputs: Sequence[Node]) -> Rewritten:
        if not outputs:
            return Rewritten([])
        return saturated(outputs, self._costs, self._allow, self._once, self._limits)

    def _cost(self, outputs: Sequence[Node]) -> float:
        """Return the cost of outputs that a function computes besides its derivatives."""
        nodes = toposort(outputs)
        free = fixed_nodes(nodes) if self._once else ()
        return sum(self._costs.of(node) for node in nodes if node not in free)

    def _function(self, key: tuple, node: Node) -> _Differentiated | None:
        if key not in self._functions:
            self._functions[key] = None
            opened = laid_open(node)
            # the dim of a mask is found by the mask, which rewriting may make another one
            if opened is not None and not _has_masks(opened[0]):
                y, wrt = opened
                at_values = dict(zip(wrt, node.inputs, strict=False))
                value = rebuild([y], at_values)[0]
                self._functions[key] = _Differentiated(value, wrt, self.run([y]))
        return self._functions[key]

    def _with_functions(self, outputs: list[Node]) -> list[Node]:
        """Replace the functions in the derivatives of outputs."""

        def replace(node: Node, inputs: tuple[Node, ...]) -> Node | None:
            if node.kind not in DERIVATIVES:
                return None
            function = self._functions.get(_key(node))
            if function is None or not function.found.rules:
                return None
            n, m = node.attrs.n_wrt, len(node.attrs.region.bound)
            given = (*inputs[:n], *inputs[m:])
            return derivative_like(node, function.found.outputs[0], function.wrt, given)

        return rebuild(outputs, {}, replace, nested=False)


def _has_masks(y: Node) -> bool:
    """Return whether a function has dims of positions selected by a mask."""
    return any(depends_on_mask(dim) for node in toposort([y]) for dim in node.dims)


def _key(node: Node) -> tuple:
    """Return a key that derivatives of one function at the same values share."""
    given = split_derivative(node.attrs, node.inputs)
    return node.kind == "pushforward", node.attrs.region, given.wrt, given.captured
