"""Saturation: rules are applied in rounds, as long as they find something new and within bounds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from dimtensor.dims import Dim
from dimtensor.errors import DimtensorError
from dimtensor.graph.node import Node, keep_place, next_serial
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.graph.regions import type_of
from dimtensor.plugins.saturation.costs import Costs
from dimtensor.plugins.saturation.egraph import EGraph, ENode
from dimtensor.plugins.saturation.extract import Extraction
from dimtensor.plugins.saturation.rules import likelihoods as _likelihoods  # noqa: F401
from dimtensor.plugins.saturation.rules import lookups as _lookups  # noqa: F401
from dimtensor.plugins.saturation.rules import matrices as _matrices  # noqa: F401
from dimtensor.plugins.saturation.rules import statistics as _statistics  # noqa: F401
from dimtensor.plugins.saturation.rules import sums as _sums  # noqa: F401
from dimtensor.plugins.saturation.rules.rule import RULES, CostRule, Matching


@dataclass(frozen=True)
class Limits:
    """Bounds of a saturation.

    Parameters
    ----------
    rounds : int
        How often all rules are tried.
    nodes : int
        How many nodes may be added to those that are given.
    seconds : float
        A last resort; what is found in less does not depend on the time.
    """

    rounds: int = 8
    nodes: int = 1500
    seconds: float = 2.0


@dataclass
class Rewritten:
    """Outputs after rewriting.

    Attributes
    ----------
    outputs : list of Node
    rules : Counter of str
    before, after : float
    assumptions : dict of Dim to int
    """

    outputs: list[Node]
    rules: Counter[str] = field(default_factory=Counter)
    before: float = 0.0
    after: float = 0.0
    assumptions: dict[Dim, int] = field(default_factory=dict)


def saturated(
    outputs: Sequence[Node],
    costs: Costs,
    allow: Collection[str] = (),
    once: bool = True,
    limits: Limits | None = None,
) -> Rewritten:
    """Find the cheapest equivalent outputs; derivatives are left unchanged.

    Parameters
    ----------
    outputs : sequence of Node
    costs : Costs
    allow : collection of str
        ``"reassociate"`` for rules that can lose digits.
    once : bool
        Whether data-only subgraphs count as free.
    limits : Limits, optional
    """
    graph = EGraph(outputs)
    matching = Matching(graph, costs, "reassociate" in allow)
    rules = [rule for rule in RULES if rule.exact or matching.reassociate]
    _saturate(graph, matching, rules, limits or Limits())
    found = Extraction(graph, costs, once).run()
    return Rewritten(found.outputs, found.rules, found.given, found.cost)


def _saturate(graph: EGraph, m: Matching, rules: Sequence[CostRule], limits: Limits) -> None:
    ends = time.perf_counter() + limits.seconds
    most = graph.size + limits.nodes
    by_kind: dict[str, list[CostRule]] = {}
    for rule in rules:
        for kind in rule.kinds:
            by_kind.setdefault(kind, []).append(rule)
    dirty: set[int] | None = None
    for _ in range(limits.rounds):
        tried: list[tuple[CostRule, ENode]] = []
        m.views.forget()
        for at in graph.classes():
            if graph.is_fixed(at) or (dirty is not None and at not in dirty):
                continue
            for one in graph.nodes(at):
                tried += [(rule, one) for rule in by_kind.get(one.sample.kind, ())]
        size, unions = graph.size, graph.unions
        changed: set[int] = set()
        for rule, one in tried:
            if graph.size > most or time.perf_counter() > ends:
                break
            _apply(graph, m, rule, one, changed)
        graph.rebuild()
        if (graph.size, graph.unions) == (size, unions) or graph.size > most:
            return
        dirty = _above(graph, changed | set(range(size, graph.size)))


def _apply(graph: EGraph, m: Matching, rule: CostRule, one: ENode, changed: set[int]) -> None:
    since = next_serial()
    try:
        found = list(rule.apply(m, one))
    except DimtensorError:
        return  # two dims of one name would meet in it
    origin = one.made_by | {len(graph.applied)}
    graph.applied.append(rule.name)
    for node in found:
        node = expand_node(node, one.sample.dims)
        keep_place(one.sample, node, since)
        if type_of(node) != type_of(one.sample):
            continue
        at = graph.add(node, origin)
        if graph.union(at, one.owner):
            changed.add(graph.find(at))


def _above(graph: EGraph, changed: Iterable[int], levels: int = 6) -> set[int]:
    """Classes that changed, and those a few levels above."""
    found = {graph.find(at) for at in changed if at < graph.count}
    front = found
    for _ in range(levels):
        front = {graph.find(use.owner) for at in front for use in graph[at].uses} - found
        if not front:
            break
        found = found | front
    return found
