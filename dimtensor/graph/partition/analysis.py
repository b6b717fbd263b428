"""Partition of an expression along a dim: how the whole is put together from values for slices.

A dim can be cut if the expression does one of these along it, and nothing else:

- it does not depend on the dim,
- each position depends on the same position of the inputs (*mapped*),
- positions are combined by one associative operation, at last. For a sum, linear operations may
  follow: the expression is ``rest + part``, where ``rest`` does not depend on the dim, and ``part``
  of the whole is the sum of ``part`` for slices that make up the dim.

The analysis visits each node once, inputs first. Kinds of nodes answer three queries about
themselves (`carries`, `combined_by` and `linear` of :class:`~dimtensor.graph.kind.Kind`), whose
defaults mean that positions are mixed.
"""
# over budget: one analysis, whose roles and obstacles belong together

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from dimtensor.dims import Dim, ProductDim, depends_on_mask, family, mask_keys
from dimtensor.graph.infer import constant_attrs
from dimtensor.graph.node import KINDS, Node, make
from dimtensor.graph.rebuilding.substitute import expand_node, named_dims, rebuild
from dimtensor.graph.regions import DERIVATIVES, Region, numbered, placeholder, split_derivative
from dimtensor.graph.walk import LEAF_KINDS, fixed_nodes, toposort, with_regions


class Mapped(NamedTuple):
    """Role of a node: each position along `dim` depends on one position of the dim that is cut."""

    dim: Dim


class Combined(NamedTuple):
    """Role of a node: values for slices are combined by an operation of the op table.

    If it is ``add``, the node equals ``rest + part``, and `rest` may be None, which is zero. For
    other operations `part` is the node itself.
    """

    operation: str
    part: Node
    rest: Node | None = None


# None: the node does not depend on the dim
Role = Mapped | Combined | None


class Obstacle(NamedTuple):
    """Reason why an expression cannot be computed from values for slices.

    Attributes
    ----------
    node : Node
        The expression that mixes positions.
    reason : str
        Predicate of a sentence about it.
    operand : Node or None
        Its operand that needs all positions, if it has one.
    is_scan : bool
        Whether it proceeds along the dim from one position to the next.
    """

    node: Node
    reason: str
    operand: Node | None = None
    is_scan: bool = False


class Split(NamedTuple):
    """Result of the analysis: the role of an expression, or an obstacle.

    Attributes
    ----------
    dim : Dim
    role : Mapped, Combined or None
    obstacle : Obstacle or None
    cut : frozenset of Dim
        The dim, and all dims whose positions are those of the dim: renamed, masked, products.
    combining : tuple of Node
        The nodes that combine positions, such as sums.
    known : frozenset of Node
        Nodes computed from the whole of the data: constants, such as the mean of a predictor.
    """

    dim: Dim
    role: Role
    obstacle: Obstacle | None
    cut: frozenset[Dim]
    combining: tuple[Node, ...]
    known: frozenset[Node] = frozenset()


def split(y: Node, dim: Dim, known: frozenset[Node] = frozenset()) -> Split:
    """Analyze how an expression depends on a dim.

    Values of data that mix positions are computed from the whole, once, and are constants then;
    `known` has those that are constants already.
    """
    nodes = nodes_with_masks([y])
    cut = cut_dims(dim, nodes)
    data = _DataOnly(nodes, cut)
    while True:
        analysis = _Analysis(dim, cut, known)
        try:
            more = analysis.visit_with(nodes_with_masks([y], known), data)
        except _MixedError as found:
            return Split(dim, None, found.args[0], cut, ())
        if not more:
            return Split(dim, analysis.roles[y], None, cut, tuple(analysis.combining), known)
        known |= more  # what was computed from them has other roles


def possible_roles(nodes: Sequence[Node], dim: Dim) -> tuple[dict[Node, Role], frozenset[Dim]]:
    """Return the roles of the nodes that have one, and the dims that are cut.

    A node that mixes positions has none, and neither have nodes that are computed from it.
    """
    analysis = _Analysis(dim, cut_dims(dim, nodes))
    for node in nodes:
        if all(x in analysis.roles for x in node.inputs):
            with suppress(_MixedError):
                analysis.roles[node] = analysis._role(node)
    return analysis.roles, analysis.cut


def nodes_with_masks(outputs: Sequence[Node], stop: Collection[Node] = ()) -> list[Node]:
    """Return the nodes of a graph and of the masks of its dims, inputs first.

    The traversal does not descend below nodes of `stop`.
    """
    masks: dict[Node, None] = {}
    todo = toposort(outputs, stop)
    while todo:
        new = {key for node in todo for dim in named_dims(node) for key in mask_keys(dim)}
        new -= masks.keys()
        masks.update(dict.fromkeys(sorted(new, key=lambda node: node._serial)))
        todo = toposort([*new], stop)
    # a mask is computed from dims without it
    return toposort([*reversed(masks), *outputs], stop)


def cut_dims(dim: Dim, nodes: Iterable[Node]) -> frozenset[Dim]:
    """Return a dim and all dims of nodes whose positions are its positions.

    These are the dims that it is renamed to, or from, selections by masks, and products.
    """
    dims: dict[Dim, None] = {}
    pairs: list[tuple[Dim, Dim]] = []
    for node in with_regions(nodes):
        for own in named_dims(node):
            if own not in dims:
                dims.update(dict.fromkeys(family(own)))
        pairs += KINDS[node.kind].renames(node) if node.kind == "relabel" else ()
    found = {dim}
    while True:
        more = {one for one in dims if one._is_cut_with(found)} - found
        for pair in pairs:
            # positions of a masked or product dim are not in the order of the dim
            if not found.isdisjoint(pair) and not any(map(is_rearranged, pair)):
                more.update(pair)
        if more <= found:
            return frozenset(found)
        found |= more


def is_rearranged(dim: Dim) -> bool:
    return depends_on_mask(dim) or any(isinstance(one, ProductDim) for one in family(dim))


class _MixedError(Exception):
    """Raised with the obstacle."""


class _DataOnly:
    """Data-only nodes of a graph: all of them, and those computed from data along the dim."""

    def __init__(self, nodes: Sequence[Node], cut: frozenset[Dim]):
        self.nodes = nodes
        self.all = fixed_nodes(nodes)
        self.along: set[Node] = set()
        for node in nodes:
            is_data = node.kind == "data" and not cut.isdisjoint(node.dims)
            if node in self.all and (is_data or not self.along.isdisjoint(node.inputs)):
                self.along.add(node)


class _Analysis:
    """Roles of nodes with respect to one dim."""

    def __init__(
        self,
        dim: Dim,
        cut: frozenset[Dim],
        known: frozenset[Node] = frozenset(),
        in_region: bool = False,
    ):
        self.dim = dim
        self.cut = cut
        self.known = known
        self.in_region = in_region
        self.roles: dict[Node, Role] = {}
        self.combining: list[Node] = []

    def visit(self, nodes: Sequence[Node]) -> None:
        """Find the roles of nodes, inputs first; raise `_MixedError` at the first obstacle."""
        for node in nodes:
            if node not in self.roles:
                self.roles[node] = self._role(node)

    def visit_with(self, nodes: Sequence[Node], data: _DataOnly) -> set[Node]:
        """Find the roles of nodes; return data-only nodes that must be constants in another visit.

        Raises
        ------
        _MixedError
            At the first obstacle that constants do not avoid.
        """
        new: set[Node] = set()
        for node in nodes:
            if node in self.known:
                self._make_constant(node)
            while node not in self.roles:
                try:
                    self.roles[node] = self._role(node)
                except _MixedError:
                    more = self._causes(node, data) - new
                    if not more and not new:
                        raise
                    new |= more
                    if not more:  # it depends on one of the new constants
                        return new
                    if node in data.all and node not in more:  # a constant is computed from it
                        return new
                    for each in more:
                        self._make_constant(each)
        return new

    def _make_constant(self, node: Node) -> None:
        own = self._own_dim(node)
        self.roles[node] = None if own is None else Mapped(own)

    def _causes(self, obstacle: Node, data: _DataOnly) -> set[Node]:
        """Return the data-only nodes that avoid an obstacle if their values are constants."""
        mixing = {obstacle}
        if obstacle not in data.all:  # the data-only sums that it depends on
            mixing = set()
            todo = [*obstacle.inputs]
            while todo:
                node = todo.pop()
                if isinstance(self.roles.get(node), Combined) and node not in mixing:
                    if node in data.all:
                        mixing.add(node)
                    else:
                        todo += node.inputs
        found = {node for node in mixing & data.along if self._can_be_leaf(node)}
        if found == mixing:
            return found - self.known
        for node in data.nodes:  # the first values computed from them that can be constants
            if node in data.all and node not in found and not mixing.isdisjoint(node.inputs):
                can = node in data.along and self._can_be_leaf(node)
                (found if can else mixing).add(node)
        return found - self.known

    def _can_be_leaf(self, node: Node) -> bool:
        related = self._related(named_dims(node))
        return all(map(self._is_plain, related)) and len(related) <= 1

    def _related(self, dims: Iterable[Dim]) -> list[Dim]:
        """Return the dims that are cut, or derived from a dim that is."""
        return [
            dim
            for dim in dims
            if dim in self.cut or (dim.parents and any(one in self.cut for one in family(dim)))
        ]

    def _role(self, node: Node) -> Role:
        own = self._own_dim(node)
        if not node.inputs:
            return self._leaf(node, own)
        if node.kind in DERIVATIVES:
            return self._derivative(node, own)
        roles = [self.roles[x] for x in node.inputs]
        mapped = {at: role.dim for at, role in enumerate(roles) if isinstance(role, Mapped)}
        combined = {at: role for at, role in enumerate(roles) if isinstance(role, Combined)}
        if combined:
            return self._after(node, own, mapped, combined)
        self._check_inside(node, bool(mapped))
        if own is not None:
            return self._mapped(node, own, mapped)
        return self._combined(node, mapped) if mapped else None

    def _own_dim(self, node: Node) -> Dim | None:
        """Return the dim of a node that is cut; None if it has none."""
        own = [dim for dim in node.dims if dim in self.cut]
        if len(own) > 1:
            pair = " and ".join(dim._title for dim in own)
            raise self._mixed(node, f"has {pair}: all pairs of positions")
        if node.categories is not None and self._related([node.categories]):
            raise self._mixed(node, f"holds labels of {node.categories._title}")
        for dim in named_dims(node):
            if dim in self.cut:
                continue
            if self._related([dim]):
                raise self._mixed(node, f"rearranges positions: it has {dim!r}")
            for key in mask_keys(dim):
                if self.roles.get(key) is not None:
                    raise self._mixed(node, "is masked by a condition that only the whole has", key)
        return own[0] if own else None

    def _leaf(self, node: Node, own: Dim | None) -> Role:
        if self.in_region and node.kind in ("length", "positions") and self._related([node.attrs]):
            raise self._mixed(node, "is a length or position in a differentiated function")
        if node.kind == "length" and self._related([node.attrs]):
            if depends_on_mask(node.attrs):
                return self._combining(node, Combined("add", node))
            if self._is_plain(node.attrs):
                return None
            raise self._mixed(node, "is the length of a selection or product")
        if node.kind == "positions" and own is not None and not self._is_plain(own):
            raise self._mixed(node, f"counts along {own._title}")
        if node.kind == "label_position" and self._related([node.attrs.dim]):
            raise self._mixed(node, f"looks up labels of {self.dim._title}")
        if own is not None and node.kind in (*LEAF_KINDS, "bound") and depends_on_mask(own):
            raise self._mixed(node, f"has values along {own!r}, whose positions a mask decides")
        return None if own is None else Mapped(own)

    def _is_plain(self, dim: Dim) -> bool:
        """Return whether positions along a dim that is cut are those of the dim, in order."""
        return dim in self.cut and (dim is self.dim or not is_rearranged(dim))

    def _mapped(self, node: Node, own: Dim, mapped: Mapping[int, Dim]) -> Role:
        kind = KINDS[node.kind]
        if not mapped and node.kind != "expand":
            raise self._mixes(node)
        for at, dim in mapped.items():
            if not kind.carries(node, at, dim, own):
                raise self._mixes(node)
        return Mapped(own)

    def _combined(self, node: Node, mapped: Mapping[int, Dim]) -> Role:
        dim, *others = set(mapped.values())
        operation = None
        if not others:
            operation = KINDS[node.kind].combined_by(node, dim, mapped.keys())
        if operation is None:
            raise self._mixes(node)
        if operation != "add" or node.kind != "update":
            return self._combining(node, Combined(operation, node))
        base = node.inputs[0]
        if _is_zero(base):
            return self._combining(node, Combined("add", node))
        return self._combining(node, Combined("add", _with(node, {0: None}), base))

    def _after(
        self,
        node: Node,
        own: Dim | None,
        mapped: Mapping[int, Dim],
        combined: Mapping[int, Combined],
    ) -> Role:
        """Return the role of an operation on combined values."""
        first = node.inputs[min(combined)]
        if node.kind == "check" and combined.keys() == {0}:  # of the positions of each slice
            operation, part, rest = combined[0]
            return Combined(operation, make("check", (part, node.inputs[1]), node.attrs), rest)
        if mapped or own is not None:
            raise self._mixed(node, "needs the whole at each position", first)
        operations = {role.operation for role in combined.values()}
        if operations == {"add"}:
            for group in KINDS[node.kind].linear(node):
                if combined.keys() <= set(group):
                    return _linear(node, combined, [at for at in group if at not in combined])
            raise self._mixed(node, "is not linear in the sum", first)
        copied = KINDS[node.kind].values_of(node)
        if len(operations) == 1 and copied is not None and node.kind != "check":
            if combined.keys() == {at for at, x in enumerate(node.inputs) if x in copied}:
                return Combined(operations.pop(), node)
        raise self._mixed(node, "continues with a value that only the whole has", first)

    # -- derivatives -----------------------------------------------------------------------------

    def _derivative(self, node: Node, own: Dim | None) -> Role:
        """Return the role of a derivative, which is linear in the differentiated expression."""
        region = node.attrs.region
        given = split_derivative(node.attrs, node.inputs)
        if not self._depends(node):
            return None
        inner = _Analysis(self.dim, self.cut, self.known, in_region=True)
        standing: dict[Node, Node] = {}  # for parts and rests of captured sums, by bound leaf
        for leaf, x in zip(region.bound, node.inputs, strict=False):
            inner.roles[leaf] = _inside(leaf, self.roles[x], standing)
        y = region.outputs[0]
        inner.visit(toposort([y]))
        role = inner.roles[y]
        by = [self.roles[x] for x in given.wrt]
        along = [self.roles[x] for x in given.directions]
        if any(isinstance(each, Combined) for each in (*by, *along)):
            raise self._mixed(node, "is a derivative at a value that only the whole has")
        self.combining += inner.combining
        if node.kind == "pushforward":
            whole, directed = role, all(each is None for each in (*by, *along))
        else:
            whole = by[node.attrs.output]
            directed = not along or isinstance(along[0], Mapped) == isinstance(role, Mapped)
        if isinstance(role, Combined):
            if role.operation != "add" or not directed:
                raise self._mixed(node, "is a derivative of an operation other than a sum")
            if isinstance(whole, Mapped) and node.kind == "gradient":
                return Mapped(whole.dim)
            if isinstance(whole, Mapped) and node.kind == "jacobian":
                raise self._mixes(node)
            part = _of_expression(node, role.part, standing)
            rest = None if role.rest is None else _of_expression(node, role.rest, standing)
            return self._combining(node, Combined("add", part, rest))
        if node.kind == "pushforward" and isinstance(role, Mapped):
            if all(each is None or each == role for each in (*by, *along)):
                return role
        if node.kind == "gradient" and isinstance(role, Mapped) and along == [role]:
            if isinstance(whole, Mapped):
                return Mapped(whole.dim)
            return self._combining(node, Combined("add", node))
        raise self._mixes(node)

    def _depends(self, node: Node) -> bool:
        """Return whether a node with regions depends on the dim."""
        if any(self.roles[x] is not None for x in node.inputs):
            return True
        regions = KINDS[node.kind].regions(node.attrs)
        inside = with_regions(toposort([y for region in regions for y in region.outputs]))
        return any(self._related(named_dims(each)) for each in inside)

    def _check_inside(self, node: Node, is_mapped: bool) -> None:
        """Check that bodies of loops and branches do not depend on lengths and positions."""
        kind = KINDS[node.kind]
        if not kind.has_regions:
            return
        over = getattr(node.attrs, "over", None)
        if over is not None and self._related([over]):
            raise self._mixes(node)
        regions = kind.regions(node.attrs)
        for each in with_regions(toposort([y for region in regions for y in region.outputs])):
            made = not (is_mapped and (each.inputs or each.kind == "bound"))
            if made and self._related(named_dims(each)):
                raise self._mixed(node, f"uses {self.dim._title} in its body")

    # -- obstacles -------------------------------------------------------------------------------

    def _combining(self, node: Node, role: Combined) -> Combined:
        self.combining.append(node)
        return role

    def _mixes(self, node: Node) -> _MixedError:
        attrs = node.attrs
        along = getattr(attrs, "over", None) or getattr(attrs, "dim", None)
        is_scan = node.kind in ("loop", "cumulate") and along in self.cut
        reason = "proceeds from one position to the next" if is_scan else "mixes positions"
        return self._mixed(node, reason, is_scan=is_scan)

    def _mixed(
        self, node: Node, reason: str, operand: Node | None = None, is_scan: bool = False
    ) -> _MixedError:
        return _MixedError(Obstacle(node, reason, operand, is_scan))


# -- linear operations -----------------------------------------------------------------------------


def _linear(node: Node, combined: Mapping[int, Combined], others: Sequence[int]) -> Combined:
    """Split a node that is jointly linear in sums and other inputs."""
    part = _with(
        node, {**{at: role.part for at, role in combined.items()}, **dict.fromkeys(others)}
    )
    rests = {at: role.rest for at, role in combined.items()}
    if not others and all(rest is None for rest in rests.values()):
        return Combined("add", part)
    return Combined("add", part, _with(node, rests))


def _with(node: Node, inputs: Mapping[int, Node | None]) -> Node:
    """Rebuild a node with other inputs of the same types; None is zero."""
    changed = list(node.inputs)
    for at, x in inputs.items():
        changed[at] = _zeros(node.inputs[at]) if x is None else x
    if node.kind == "elemwise" and node.attrs in ("add", "subtract"):
        kept = [at for at in (0, 1) if at not in inputs or inputs[at] is not None]
        if len(kept) == 1 and changed[kept[0]].dtype == node.dtype:
            x = expand_node(changed[kept[0]], node.dims)
            return x if node.attrs == "add" or kept == [0] else make("elemwise", (x,), "negative")
    return make(node.kind, tuple(changed), node.attrs)


def _zeros(x: Node) -> Node:
    return expand_node(make("constant", (), constant_attrs(0, x.dtype)), x.dims)


def _is_zero(x: Node) -> bool:
    while x.kind in ("expand", "cast"):
        (x,) = x.inputs
    return x.kind == "constant" and not x.attrs.value


def _inside(leaf: Node, role: Role, standing: dict[Node, Node]) -> Role:
    """Return the role of a bound leaf: part and rest of a captured sum are bound leaves, too."""
    if not isinstance(role, Combined):
        return role
    if role.operation != "add":
        return Combined(role.operation, leaf)
    found: list[Node | None] = []
    for x in (role.part, role.rest):
        made = None if x is None else placeholder(x.dims, x.dtype, x.categories)
        if made is not None and x is not None:
            standing[made] = x
        found.append(made)
    part, rest = found
    assert part is not None
    return Combined("add", part, rest)


def _of_expression(node: Node, y: Node, standing: dict[Node, Node]) -> Node:
    """Return a derivative of another expression of the same variables.

    Captured nodes that the expression does not depend on are left out, and so are variables other
    than that of a gradient: what is counted once does not depend on the values of a slice.
    """
    region, n, m = node.attrs.region, node.attrs.n_wrt, len(node.attrs.region.bound)
    output = node.attrs.output
    outputs = (y, *region.outputs[1:])
    used = set(nodes_with_masks(outputs))
    own = dict(zip(region.bound, node.inputs[:m], strict=True)) | standing
    wrt = [
        leaf
        for at, leaf in enumerate([*own][:n])
        if node.kind != "gradient" or at == output or leaf in used
    ]
    output = wrt.index([*own][output]) if node.kind == "gradient" else output
    kept = {leaf: x for leaf, x in own.items() if leaf in wrt or leaf in used}
    bound = numbered([*kept], {leaf for leaf in kept if leaf.kind != "bound"})
    closed = rebuild(outputs, dict(zip(kept, bound, strict=True)))
    inputs = (*kept.values(), *node.inputs[m:])
    attrs = node.attrs._replace(region=Region(tuple(closed), bound), n_wrt=len(wrt), output=output)
    return make(node.kind, inputs, attrs)
