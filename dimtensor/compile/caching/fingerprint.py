"""Fingerprints of graphs: equal for graphs with the same code, independent of names.

The description of a graph lists its numbered dims and nodes in canonical form
(:mod:`~dimtensor.graph.forms`). Code is generated from the description alone
(:mod:`~dimtensor.compile.caching.rebuild`), so equal descriptions have the same code.

Numbers must not depend on names or on the order of construction. As in tests for graph isomorphism,
nodes and dims are colored by their forms and their neighbors' colors, and numbered by color. If two
nodes of one color cannot be exchanged, which is rare, equal graphs may be compiled twice.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from dimtensor.caches import bounded
from dimtensor.dims import DerivedDim, Dim, Dims
from dimtensor.graph import Node, toposort
from dimtensor.graph.forms import (
    LEAF,
    Argument,
    Chosen,
    Cut,
    FormlessError,
    Place,
    Unordered,
    dim_form,
    parts,
)
from dimtensor.graph.kind import kind_of
from dimtensor.graph.walk import with_regions
from dimtensor.lower import AxisOrder, plan_axes
from dimtensor.tuning import REFINEMENT_ROUNDS, SPECIALIZED_ROWS


@dataclass(frozen=True)
class Description:
    """Canonical form of a graph, and the dims and nodes that its numbers refer to.

    Attributes
    ----------
    form : dict
        Everything that the code depends on, as numbers, strings, tuples and dicts.
    dims : list of Dim
    nodes : list of Node
        Every node after its inputs.
    data : list of Node
        In the order of the code's arguments, which follow the inputs.
    arguments : list of Node, Chosen, Place or Dim
        Arguments of the code after the data: positions of labels, positions, lengths.
    cuts : list of Cut
        Slices whose ends are not part of the form.
    """

    form: dict[str, Any]
    dims: list[Dim]
    nodes: list[Node]
    data: list[Node]
    arguments: list[Any]
    cuts: list[Cut]

    @cached_property
    def fingerprint(self) -> str:
        """The digest of the form."""
        text = json.dumps(self.form, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def describe_graph(
    inputs: Sequence[Node | Dim],
    outputs: Sequence[Node],
    masks: Sequence[Node] = (),
    expected: Mapping[Dim, int] | None = None,
) -> Description:
    """Describe a graph in canonical form.

    Parameters
    ----------
    inputs : sequence of Node or Dim
        The inputs of a function, in order.
    outputs : sequence of Node
    masks : sequence of Node
        Masks that are computed besides the outputs.
    expected : mapping of Dim to int, optional
        Lengths of dims for the layout plan.

    Raises
    ------
    FormlessError
        If the graph contains an object that is meaningful in this process only.

    Examples
    --------
    >>> import dimtensor as dt
    >>> def total(name, length):
    ...     x = dt.tensor("x", dims=dt.Dim(name, length=length))
    ...     return describe_graph([x.node], [(x * 2).sum().node]).fingerprint
    >>> total("a", 100) == total("b", 200), total("a", 100) == total("a", 2)
    (True, False)
    """
    return _Writer(inputs, outputs, masks, expected).description()


class _DimForms(dict[Dim, tuple]):
    """Cache of the canonical forms of dims."""

    def __init__(self, masks: set[Node]):
        super().__init__()
        self._masks = masks
        self._masked: dict[Dim, bool] = {}
        self._rows = _rows_in_loops(masks)

    def __missing__(self, dim: Dim) -> tuple:
        form = dim_form(dim, self._masks)
        if form == ("plain", -1) and dim in self._rows:
            form = ("plain", self._rows[dim])
        self[dim] = form
        return form

    def parents(self, dim: Dim) -> Dims:
        """Return the dims that the form of a dim refers to."""
        return () if self[dim][0] == "plain" else dim.parents

    def with_parents(self, dim: Dim) -> Iterator[Dim]:
        for parent in self.parents(dim):
            yield from self.with_parents(parent)
        yield dim

    def has_mask(self, dim: Dim) -> bool:
        """Return True if the form of a dim refers to a mask."""
        known = self._masked.get(dim)
        if known is None:
            known = self._masked[dim] = any(True for _ in self.masks(dim))
        return known

    def masks(self, dim: Dim) -> Iterator[Node]:
        """Iterate over the masks that the form of a dim refers to."""
        form = self[dim]
        if form[0] == "mask":
            yield form[2]
        for parent in self.parents(dim):
            yield from self.masks(parent)

    def named_by(self, dim: Dim) -> Dim:
        """Return the dim whose number determines the name of a dim in the rebuilt graph."""
        while self[dim][0] != "plain" and isinstance(dim, DerivedDim) and dim._named_as_parent:
            (dim,) = dim.parents
        return dim


def _rows_in_loops(nodes: Iterable[Node]) -> dict[Dim, int]:
    """Return the small lengths of dims of matrix products in loop bodies."""
    steps = [node.attrs.region.outputs for node in nodes if node.kind == "loop"]
    products = (one for outputs in steps for one in toposort(outputs) if one.kind == "dot")
    dims = {dim for product in products for x in product.inputs for dim in x.dims}
    return {dim: dim.length for dim in dims if dim.length and dim.length <= SPECIALIZED_ROWS}


# where nodes are used, and where dims: by which node, at which place in it
_Uses = tuple[list[tuple[Node, int, Node]], list[tuple[Node, int, Dim]]]


class _Colors:
    """Colors of nodes and dims: hashes of their forms, refined by the colors of their neighbors."""

    def __init__(
        self,
        nodes: Sequence[Node],
        forms: dict[Node, tuple],
        parts_of: dict[Node, list[tuple[int, Any]]],
        dim_forms: _DimForms,
        given: dict[Node, int],
        plan: AxisOrder,
    ):
        self._forms = forms
        self._parts = parts_of
        self._dim_forms = dim_forms
        self._given = given
        self._plan = plan
        self.nodes: dict[Node, int] = {}
        self.dims: dict[Dim, int] = {}
        for node in nodes:
            self._color_node(node)
        uses = self._uses(nodes)
        for _ in range(REFINEMENT_ROUNDS):
            self._refine(uses)

    def _color_node(self, node: Node) -> int:
        known = self.nodes.get(node)
        if known is None:
            self.nodes[node] = hash((_text(node.kind), self._given.get(node, -1)))  # till done
            known = self.nodes[node] = hash(
                (
                    self._given.get(node, -1),
                    _text(node.dtype),
                    self.of(self._forms[node]),
                    *map(self.dim, self._plan.sort(node.dims)),
                )
            )
        return known

    def dim(self, dim: Dim) -> int:
        known = self.dims.get(dim)
        if known is None:
            known = self.dims[dim] = self.of(self._dim_forms[dim])
        return known

    def of(self, form: Any) -> int:
        """Return the color of a form, which is the same in every process."""
        kind = type(form)
        if kind is str:
            return _text(form)
        if kind is Node:
            return self._color_node(form)
        if kind is tuple:
            return hash((4, *map(self.of, form)))
        if kind is Unordered:
            return hash((1, *sorted(map(self.of, form))))
        if isinstance(form, Dim):
            return self.dim(form)
        if isinstance(form, Chosen):
            return hash((2, self.dim(form.dim)))
        if isinstance(form, (Place, Cut)):
            return 3
        return form if kind is int else _text(repr(form))

    def _uses(self, nodes: Sequence[Node]) -> _Uses:
        of_nodes: list[tuple[Node, int, Node]] = []
        of_dims: list[tuple[Node, int, Dim]] = []
        for node in nodes:
            for place, part in self._parts[node]:
                if type(part) is Node:
                    of_nodes.append((node, place, part))
                elif isinstance(part, Dim):
                    of_dims.append((node, place, part))
            of_dims += [(node, -at, dim) for at, dim in enumerate(self._plan.sort(node.dims), 1)]
            if node.categories is not None:
                of_dims.append((node, 0, node.categories))
        for dim in {dim for *_, dim in of_dims}:
            self.dim(dim)
        return of_nodes, of_dims

    def _refine(self, uses: _Uses) -> None:
        nodes, dims = self.nodes, self.dims
        by_nodes: dict[Node, list[int]] = defaultdict(list)
        by_dims: dict[Dim, list[int]] = defaultdict(list)
        of_nodes, of_dims = uses
        for node, place, used in of_nodes:
            by_nodes[used].append(hash((place, nodes[node])))
            by_nodes[node].append(hash((place, nodes[used])))
        for node, place, dim in of_dims:
            by_dims[dim].append(hash((place, nodes[node])))
            by_nodes[node].append(hash((place, dims[dim])))
        for node, heard in by_nodes.items():
            nodes[node] = hash((nodes[node], *sorted(heard)))
        for dim, heard in by_dims.items():
            dims[dim] = hash((dims[dim], *sorted(heard)))


@bounded(4096)
def _text(text: str) -> int:
    """Hash a string to a number that is the same in every process, unlike Python's hash."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest())


@dataclass
class _Writer:
    """Writer of the description of a graph: assigns numbers, then writes forms."""

    inputs: Sequence[Node | Dim]
    outputs: Sequence[Node]
    masks: Sequence[Node]
    expected: Mapping[Dim, int] | None = None
    numbers: dict[Any, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    arguments: dict[Argument, int] = field(default_factory=dict)
    cuts: dict[Cut, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [source for source in self.inputs if isinstance(source, Node)]
        roots = [*given, *self.outputs, *self.masks]
        self.known = set(found := with_regions(toposort(roots)))
        self.forms = {node: kind_of(node).form(node) for node in found}
        self.parts = {node: list(parts(form)) for node, form in self.forms.items()}
        self.dims_of = {node: _dims_of(node, self.parts[node]) for node in found}
        self.dim_forms = _DimForms(self.known)
        self.plan = plan_axes(self.outputs, self.expected)
        order = {node: at for at, node in enumerate(given)}
        self.colors = _Colors(found, self.forms, self.parts, self.dim_forms, order, self.plan)
        for root in roots:
            self._number_from(root)
        self.dims = self._number_dims()

    def description(self) -> Description:
        masks = sorted(self.masks, key=lambda node: self.numbers[node])
        entries = [self._entry(node) for node in self.nodes]
        dims = [self._written(self.dim_forms[dim]) for dim in self.dims]
        data = [node for node in self.nodes if node.kind == "data"]
        late = [node for node in self.nodes if node.kind == "label_position"]
        arguments = list(self.arguments)
        lengths = self._lengths(arguments)
        form = {
            "dims": dims,
            "names": self._names(),
            "nodes": entries,
            "inputs": [self._ref(source) for source in self.inputs],
            "data": [self._ref(node) for node in (*data, *late)],
            "arguments": [[self._ref(dim) for dim in one.dims] for one in arguments],
            "lengths": [self._ref(dim) for dim in lengths],
            "cuts": [self._ref(cut.dim) for cut in self.cuts],
            "outputs": [self._ref(node) for node in self.outputs],
            "masks": [self._ref(node) for node in masks],
            "order": self._axis_order(),
        }
        return Description(
            form, self.dims, self.nodes, data, [*late, *arguments, *lengths], list(self.cuts)
        )

    # -- numbers ---------------------------------------------------------------------------------

    def _number_from(self, root: Node) -> None:
        """Assign numbers to a node and its ancestors, each after its inputs and its dims' masks."""
        stack: list[tuple[Node, bool]] = [(root, False)]
        open_: set[Node] = set()
        while stack:
            node, ready = stack.pop()
            if node in self.numbers:
                continue
            if ready:
                self.numbers[node] = len(self.nodes)
                self.nodes.append(node)
            elif node not in open_:
                open_.add(node)
                stack.append((node, True))
                below = list(self._below(node))
                stack += [(one, False) for one in reversed(below) if one not in self.numbers]

    def _below(self, node: Node) -> Iterator[Node]:
        masked = [dim for dim in self.dims_of[node] if self.dim_forms.has_mask(dim)]
        for dim in sorted(masked, key=self._dim_key):
            yield from self.dim_forms.masks(dim)
        yield from self._nodes_in(self.forms[node])

    def _nodes_in(self, form: Any) -> list[Node]:
        if type(form) is Unordered:
            form = sorted(form, key=self._part_key)
        elif type(form) is not tuple:
            return [form] if type(form) is Node else []
        found: list[Node] = []
        for part in form:
            if type(part) is Node:
                found.append(part)
            elif isinstance(part, tuple):
                found += self._nodes_in(part)
        return found

    def _part_key(self, part: Any) -> tuple:
        first = part[0] if type(part) is tuple else part
        if isinstance(first, Dim):
            return self._dim_key(first)
        return (self.colors.nodes[first], first._serial)

    def _dim_key(self, dim: Dim) -> tuple:
        return (self.colors.dim(dim), dim._sort_key)

    def _number_dims(self) -> list[Dim]:
        """Assign numbers to dims in the order of occurrence, parents before derived dims."""
        found: dict[Dim, None] = {}
        sources = [(source,) for source in self.inputs if isinstance(source, Dim)]
        for dims in (*sources, *(self.dims_of[node] for node in self.nodes)):
            new = [dim for dim in dims if dim not in found]
            for dim in sorted(new, key=self._dim_key):
                for one in self.dim_forms.with_parents(dim):
                    found[one] = None
        pairs = [(parent, dim) for dim in found for parent in self.dim_forms.parents(dim)]
        order = _first_that_fits(list(found), pairs)
        self.numbers.update((dim, number) for number, dim in enumerate(order))
        return order

    def _names(self) -> list[int]:
        """Order dims so that the names of a rebuilt graph sort the factors of product dims alike.

        The elements of a product dim are ordered by the names of its factors. This order may differ
        from that of the numbers: a renamed dim follows its parent, but its name may sort before it.
        """
        pairs: list[tuple[Dim, Dim]] = []
        for dim in self.dims:
            if self.dim_forms[dim][0] == "product":
                pairs += pairwise(map(self.dim_forms.named_by, self.dim_forms.parents(dim)))
        place = {dim: at for at, dim in enumerate(_first_that_fits(self.dims, pairs))}
        return [place[dim] for dim in self.dims]

    # -- what is written ---------------------------------------------------------------------------

    def _entry(self, node: Node) -> tuple:
        categories = None if node.categories is None else self._ref(node.categories)
        dims = sorted(self.numbers[dim] for dim in node.dims)
        return (self._written(self.forms[node]), dims, node.dtype, categories)

    def _written(self, form: Any) -> Any:
        kind = type(form)
        if kind is str:
            return form
        if kind is tuple:
            return tuple(map(self._written, form))
        if kind is Unordered:
            return tuple(self._written(part) for part in sorted(form, key=self._number))
        if isinstance(form, (Dim, Node, Chosen, Place, Cut)):
            return self._ref(form)
        return form

    def _number(self, part: Any) -> int:
        return self.numbers[part[0] if type(part) is tuple else part]

    def _ref(self, one: Any) -> dict[str, int]:
        if isinstance(one, (Chosen, Place)):
            return {"argument": self.arguments.setdefault(one, len(self.arguments))}
        if isinstance(one, Cut):
            return {"cut": self.cuts.setdefault(one, len(self.cuts))}
        return {"dim" if isinstance(one, Dim) else "node": self.numbers[one]}

    def _lengths(self, arguments: Iterable[Argument]) -> list[Dim]:
        """Return dims with known lengths that are neither in the form nor axes of an argument."""
        told: set[Dim] = {dim for argument in arguments for dim in argument.dims}
        told |= {d for node in self.nodes if self.forms[node] == LEAF for d in node.dims}
        told |= {dim._unrenamed for dim in told}
        told |= {source for source in self.inputs if isinstance(source, Dim)}
        return [
            dim
            for dim in self.dims
            if dim.length is not None and self.dim_forms[dim] == ("plain", -1) and dim not in told
        ]

    def _axis_order(self) -> list[int]:
        """Return the layout plan as an order of dims.

        The plan depends on comparisons of lengths. Only dims that are axes of one variable are
        ordered by it, so graphs may share code if the lengths of other dims compare differently.
        """
        met: dict[Dims, None] = {}
        for node in self.nodes:
            for dims in _dims_beside(node, self.parts[node]):
                met[self.plan.sort(dims)] = None
        pairs = [pair for axes in met for pair in pairwise(axes)]
        used = sorted({dim for axes in met for dim in axes}, key=self.numbers.__getitem__)
        return [self.numbers[dim] for dim in _first_that_fits(used, pairs)]


def _dims_beside(node: Node, of_form: Iterable[tuple[int, Any]]) -> Iterator[Iterable[Dim]]:
    """Iterate over sets of dims that are axes of one variable when a node is lowered."""
    yield node.dims
    for one in node.inputs:
        yield one.dims
    if node.kind == "dot":
        yield set().union(*(i.dims for i in node.inputs))
    selected = kind_of(node).selected(node)
    if selected is not None:
        chosen = (part.dim for _, part in of_form if isinstance(part, Chosen))
        yield set(chosen).union(*(i.dims for i in selected.indexers))


def _dims_of(node: Node, of_form: Iterable[tuple[int, Any]]) -> set[Dim]:
    dims = {part for _, part in of_form if isinstance(part, Dim)}
    dims.update(node.dims)
    if node.categories is not None:
        dims.add(node.categories)
    return dims


def _first_that_fits(dims: Sequence[Dim], pairs: Iterable[tuple[Dim, Dim]]) -> list[Dim]:
    """Sort dims topologically by pairs (earlier, later), close to their given order."""
    place = {dim: at for at, dim in enumerate(dims)}
    before: dict[Dim, set[Dim]] = {dim: set() for dim in dims}
    after: dict[Dim, list[Dim]] = {dim: [] for dim in dims}
    for first, second in pairs:
        if first is not second and first not in before[second]:
            before[second].add(first)
            after[first].append(second)
    ready = [place[dim] for dim in dims if not before[dim]]
    heapq.heapify(ready)
    order: list[Dim] = []
    while ready:
        dim = dims[heapq.heappop(ready)]
        order.append(dim)
        for later in after[dim]:
            before[later].discard(dim)
            if not before[later]:
                heapq.heappush(ready, place[later])
    if len(order) < len(dims):
        raise FormlessError("names order the dims of this graph in a circle")
    return order
