"""Extraction: of each class the member to compute, so that all together cost little.

What is shared counts once. To find the least cost of a graph with sharing is hard (it is a cover
problem), so members are chosen by what they cost alone first, and then exchanged one by one as long
as the cost of the whole falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from dimtensor.graph.kind import kind_of
from dimtensor.graph.node import Node, keep_place, next_serial
from dimtensor.graph.printing.words import carry
from dimtensor.plugins.saturation.costs import Costs
from dimtensor.plugins.saturation.egraph import EGraph, ENode, parts_of

Choice = dict[int, ENode]

# exchanges that are tried
_TRIED = 48


@dataclass
class Extracted:
    """The nodes that are to be computed.

    Attributes
    ----------
    outputs : list of Node
    rules : Counter of str
        How often each rule was applied to get them.
    cost : float
    given : float
        The cost of what was given.
    """

    outputs: list[Node]
    rules: Counter[str]
    cost: float
    given: float


class Extraction:
    """Chooses members of the classes of an e-graph.

    Parameters
    ----------
    graph : EGraph
    costs : Costs
    once : bool
        Whether what follows from data alone counts as free, as it is computed once for all calls.
    """

    def __init__(self, graph: EGraph, costs: Costs, once: bool):
        self._graph = graph
        self._costs = costs
        self._once = once
        self._own: dict[ENode, float] = {}

    def run(self) -> Extracted:
        """Return the cheapest outputs found, or the given ones if none are cheaper."""
        graph = self._graph
        given = {at: graph.nodes(at)[0] for at in graph.classes()}
        before = self._total(given)
        best, cost = given, before
        found = self._alone()
        now = self._total(found)
        if now < cost:
            best, cost = found, now
        best, cost = self._exchanged(best, cost)
        if cost >= before:
            best, cost = given, before
        chosen = self._below(best, graph.roots).values()
        used = {number for one in chosen for number in one.made_by}
        rules = Counter(graph.applied[number] for number in sorted(used))
        return Extracted(self._built(best), rules, cost, before)

    def own(self, one: ENode) -> float:
        """Return the cost of a member without its children."""
        found = self._own.get(one)
        if found is None:
            free = self._once and self._graph.is_fixed(one.owner)
            found = 0.0 if free else self._costs.of(one.sample)
            self._own[one] = found
        return found

    def _alone(self) -> Choice:
        """Choose the cheapest members as if nothing were shared, without cycles.

        Classes are settled in the order of their costs, as in the algorithm of Knuth (1977).
        """
        graph = self._graph
        cost: dict[int, float] = {}
        choice: Choice = {}
        users: dict[int, list[tuple[int, ENode]]] = {}
        missing: dict[ENode, int] = {}
        heap: list[tuple[float, int, int, ENode]] = []
        for at in graph.classes():
            for one in graph.nodes(at):
                children = set(map(graph.find, one.children))
                missing[one] = len(children)
                for child in children:
                    users.setdefault(child, []).append((at, one))
                if not children:
                    heappush(heap, (self.own(one), len(missing), at, one))
        number = len(missing)
        while heap:
            total, _, at, one = heappop(heap)
            if at in choice:
                continue
            cost[at], choice[at] = total, one
            for above, user in users.get(at, ()):
                missing[user] -= 1
                if missing[user] == 0 and above not in choice:
                    number += 1
                    below = sum(cost[graph.find(child)] for child in user.children)
                    heappush(heap, (self.own(user) + below, number, above, user))
        return choice

    def _below(self, choice: Choice, roots: Sequence[int]) -> Choice:
        """Return the required classes, inputs first, with their chosen members."""
        find = self._graph.find
        order: Choice = {}
        open_: set[int] = set()
        for root in roots:
            stack = [(find(root), 0)]
            while stack:
                at, step = stack.pop()
                if at in order:
                    continue
                if step == 0 and at in open_:
                    raise _Cycle
                open_.add(at)
                one = choice[at]
                if step < len(one.children):
                    stack.append((at, step + 1))
                    child = find(one.children[step])
                    if child not in order:
                        if child in open_:
                            raise _Cycle
                        stack.append((child, 0))
                else:
                    order[at] = one
                    open_.discard(at)
        return order

    def _total(self, choice: Choice) -> float:
        try:
            return sum(map(self.own, self._below(choice, self._graph.roots).values()))
        except _Cycle:
            return float("inf")

    def _exchanged(self, choice: Choice, cost: float) -> tuple[Choice, float]:
        """Exchange members where that lowers the total cost."""
        needed = self._below(choice, self._graph.roots)
        whole = _SharedCost(self, choice, needed)
        tried = 0
        for at in reversed(list(needed)):
            members = self._graph.nodes(at)
            if len(members) < 2 or at not in whole.users:
                continue
            for one in members:
                if one is whole.choice[at]:
                    continue
                tried += 1
                if tried > _TRIED:
                    return whole.choice, whole.cost
                whole.exchange(at, one)
        return whole.choice, whole.cost

    def _built(self, choice: Choice) -> list[Node]:
        """Nodes of the members chosen; given ones as they are, where all below them is."""
        graph = self._graph
        made: dict[int, Node] = {}
        for at, one in self._below(choice, graph.roots).items():
            _, inputs = parts_of(one.sample)
            wanted = tuple(made[graph.find(graph.of(x))] for x in inputs)
            made[at] = one.sample if wanted == inputs else _with_inputs(one.sample, wanted)
        return [made[graph.find(root)] for root in graph.roots]


def _with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    kind = kind_of(node)
    if kind.has_regions:
        return kind.rebuilt(node, inputs, {}, None)[node.attrs.output]
    since = next_serial()
    new = kind.with_inputs(node, inputs, {})
    carry(node, new, dict(zip(node.inputs, inputs, strict=True)))
    keep_place(node, new, since)
    return new


class _SharedCost:
    """A choice, how many of its members use each class, and what all cost together."""

    def __init__(self, extraction: Extraction, choice: Choice, needed: Choice):
        self._extraction = extraction
        self._find = extraction._graph.find
        self.choice = dict(choice)
        self.cost = sum(map(extraction.own, needed.values()))
        self.users: Counter[int] = Counter(map(self._find, extraction._graph.roots))
        for one in needed.values():
            self.users.update(self._children(one))

    def _children(self, one: ENode) -> list[int]:
        return list(dict.fromkeys(map(self._find, one.children)))

    def exchange(self, at: int, one: ENode) -> None:
        """Compute another member of a class, if that makes the whole cheaper."""
        own = self._extraction.own
        old, before = self.choice[at], self.cost
        missing = [child for child in self._children(one) if child not in self.choice]
        if missing:
            return
        self._use(one)
        self._leave(old)
        self.cost += own(one) - own(old)
        if self.cost < before and not self._reaches(one, at):
            self.choice[at] = one
            return
        self._use(old)
        self._leave(one)
        self.cost = before

    def _use(self, one: ENode) -> None:
        stack = self._children(one)
        while stack:
            at = stack.pop()
            self.users[at] += 1
            if self.users[at] == 1:
                self.cost += self._extraction.own(self.choice[at])
                stack += self._children(self.choice[at])

    def _leave(self, one: ENode) -> None:
        stack = self._children(one)
        while stack:
            at = stack.pop()
            self.users[at] -= 1
            if self.users[at] == 0:
                del self.users[at]
                self.cost -= self._extraction.own(self.choice[at])
                stack += self._children(self.choice[at])

    def _reaches(self, one: ENode, target: int) -> bool:
        """Return whether a member depends on a class."""
        stack, seen = self._children(one), set()
        while stack:
            at = stack.pop()
            if at == target:
                return True
            if at not in seen:
                seen.add(at)
                stack += self._children(self.choice[at])
        return False


class _Cycle(Exception):
    """A choice in which something is computed of itself."""
