"""E-graph: classes of nodes of the dims graph that compute the same.

An e-node is a node of the dims graph whose inputs are classes. Each has a sample, which is a node
of the dims graph like any other, so that dims and dtypes are those that inference finds and a
rewrite that makes no sense does not build. The parts are those of Willsey et al. (2021, egg):
union-find, hash-consing, and congruence, which is restored after a round of unions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dimtensor.graph.kind import commutes, kind_of
from dimtensor.graph.node import Node
from dimtensor.graph.regions import type_of
from dimtensor.graph.walk import fixed_nodes, is_fixed, toposort

Origin = frozenset[int]
_GIVEN: Origin = frozenset()


class ENode:
    """A node whose inputs are classes.

    Attributes
    ----------
    key : tuple
        What it computes: the kind, what the attributes are, and the classes of the children.
    children : tuple of int
    sample : Node
        A node of the dims graph with members of the classes for inputs.
    made_by : frozenset of int
        Which applications of rules led to it, by their number; none for a node that was given.
    owner : int
        A class, of which the current one is :meth:`EGraph.find` of it.
    """

    __slots__ = ("children", "key", "made_by", "owner", "sample")

    def __init__(self, key: tuple, children: tuple[int, ...], sample: Node):
        self.key = key
        self.children = children
        self.sample = sample
        self.made_by = _GIVEN
        self.owner = -1

    def __repr__(self) -> str:
        return f"<{self.sample!r} of {self.children}>"


class EClass:
    """Nodes that compute the same.

    Attributes
    ----------
    nodes : list of ENode
        The given one first, where there is one.
    node : Node
        What stands for the class where a rule makes nodes: the sample of the first.
    uses : list of ENode
        E-nodes with the class among their children.
    fixed : bool
        Whether it follows from data and numbers alone.
    """

    __slots__ = ("fixed", "node", "nodes", "uses")

    def __init__(self, first: ENode, fixed: bool):
        self.nodes = [first]
        self.node = first.sample
        self.uses: list[ENode] = []
        self.fixed = fixed


class EGraph:
    """Classes of equivalent nodes, with their properties.

    Parameters
    ----------
    outputs : sequence of Node

    Attributes
    ----------
    applied : list of str
        The rules that were applied, in the order in which they were.
    size, unions : int
        Numbers of e-nodes and of unions.
    """

    def __init__(self, outputs: Sequence[Node]):
        self._parents: list[int] = []
        self._classes: dict[int, EClass] = {}
        self._known: dict[tuple, ENode] = {}
        self._of: dict[Node, ENode] = {}
        self._pending: list[int] = []
        self.applied: list[str] = []
        self.size = 0
        self.unions = 0
        self._given: frozenset[Node] = frozenset()
        self.roots = [self.add(node) for node in outputs]
        self._given = frozenset(self._of)

    @property
    def count(self) -> int:
        """Number of classes ever made."""
        return len(self._parents)

    def find(self, at: int) -> int:
        """Return the representative of a class."""
        parents = self._parents
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    def __getitem__(self, at: int) -> EClass:
        return self._classes[self.find(at)]

    def classes(self) -> list[int]:
        """All classes, in the order in which they were made."""
        return list(self._classes)

    def nodes(self, at: int) -> list[ENode]:
        """Return the members of a class."""
        return self._classes[self.find(at)].nodes

    def node(self, at: int) -> Node:
        """Return the node that represents a class where a rule makes nodes."""
        return self._classes[self.find(at)].node

    def is_fixed(self, at: int) -> bool:
        """Return whether a class is computed from data and numbers alone."""
        return self._classes[self.find(at)].fixed

    def of(self, node: Node) -> int:
        """Return the class of a node, adding new nodes."""
        return self.add(node)

    # -- growing ---------------------------------------------------------------------------------

    def add(self, node: Node, made_by: Origin = _GIVEN) -> int:
        """Add a node and the new nodes below it, and return its class."""
        found = self._of.get(node)
        if found is None:
            for each in toposort([node], stop=self._of):
                if each not in self._of:
                    self._of[each] = self._insert(each)
            found = self._of[node]
        if made_by and not found.made_by and found.sample not in self._given:
            found.made_by = made_by
        return self.find(found.owner)

    def _insert(self, node: Node) -> ENode:
        attrs, inputs = parts_of(node)
        children = tuple(self.find(self._of[x].owner) for x in inputs)
        key = _key(node, attrs, children)
        known = self._known.get(key)
        if known is not None:
            return known
        made = ENode(key, children, node)
        made.owner = at = len(self._parents)
        if len(children) == len(inputs) == len(node.inputs):
            fixed = is_fixed(node, map(self.is_fixed, children))
        else:
            fixed = node in fixed_nodes(toposort([node]))
        self._parents.append(at)
        self._classes[at] = EClass(made, fixed)
        self._known[key] = made
        for child in dict.fromkeys(children):
            self._classes[child].uses.append(made)
        self.size += 1
        return made

    def union(self, one: int, other: int) -> bool:
        """Make two classes one; whether they were two.

        The older class keeps its place, its first member stands for both.
        """
        one, other = sorted((self.find(one), self.find(other)))
        if one == other:
            return False
        kept, gone = self._classes[one], self._classes.pop(other)
        if type_of(kept.node) != type_of(gone.node):
            raise AssertionError(f"{kept.node!r} is not {gone.node!r}")
        self._parents[other] = one
        kept.nodes.extend(gone.nodes)
        kept.uses.extend(gone.uses)
        kept.fixed = kept.fixed or gone.fixed
        self._pending.append(one)
        self.unions += 1
        return True

    def rebuild(self) -> None:
        """Make nodes of equal children one, until there are none."""
        while self._pending:
            for at in dict.fromkeys(map(self.find, self._pending)):
                self._pending = [x for x in self._pending if self.find(x) != at]
                self._repair(at)

    def _repair(self, at: int) -> None:
        uses = self._classes[at].uses
        self._classes[at].uses = []
        kept: dict[tuple, ENode] = {}
        for use in uses:
            if self._known.get(use.key) is use:
                del self._known[use.key]
            use.children = tuple(map(self.find, use.children))
            attrs = use.key[1]
            use.key = _key(use.sample, attrs, use.children)
            twin = self._known.setdefault(use.key, use)
            if twin is not use:
                self.union(use.owner, twin.owner)
            kept.setdefault(use.key, use)
        self._classes[self.find(at)].uses.extend(kept.values())


def parts_of(node: Node) -> tuple[Any, tuple[Node, ...]]:
    """Return the identity of a node apart from its children, and the inputs that are its children.

    A mask is part of the dims that it makes, so it is not a child and never replaced. Neither are
    the bound variables of loop bodies.
    """
    kind = kind_of(node)
    if kind.has_regions:
        if any(x.kind != "bound" for region in kind.regions(node.attrs) for x in region.bound):
            return node, ()
        return node.attrs, node.inputs
    selected = kind.selected(node)
    if selected is None:
        return node.attrs, node.inputs
    masks = {selected.indexers[item.payload] for item in selected.items if item.kind == "mask"}
    if not masks:
        return node.attrs, node.inputs
    return node, ()


def _key(node: Node, attrs: Any, children: tuple[int, ...]) -> tuple:
    if commutes(node):
        children = tuple(sorted(children))
    return (node.kind, attrs, children)
