"""Shares of a device: outputs as expressions of slices of the dims that are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dimtensor.compile.devices.mesh import Placement, dims_below
from dimtensor.compile.obstacles import refusal
from dimtensor.compile.sliced.restriction import Restriction
from dimtensor.dims import Dim, Dims, ProductDim, depends_on_mask, sort_dims
from dimtensor.errors import GraphError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.partition.analysis import Combined, Mapped, split
from dimtensor.graph.partition.slices import restricted
from dimtensor.graph.rebuilding.substitute import map_dim


def shares_of(placement: Placement, outputs: Sequence[Node]) -> DeviceShares | None:
    """Return the shares of outputs along the dims that are cut; None if they have no such dim.

    Raises
    ------
    PartitionError
        If an output mixes positions along a dim.
    GraphError
        If positions of one of these dims are those of another, or slices have lengths that depend
        on values.
    """
    found = placed_dims(placement, outputs)
    return DeviceShares(outputs, found) if found else None


def placed_dims(placement: Placement, outputs: Sequence[Node]) -> dict[Dim, tuple[str, ...]]:
    """Return the dims of expressions that are cut, with their axes of the mesh."""
    return {
        dim: axes
        for key, axes in placement.axes.items()
        for dim in dims_below(outputs)
        if dim is key or (dim.name == key and not dim.parents)
    }


class ShareTerm(NamedTuple):
    """Summand of an output on a device.

    Attributes
    ----------
    node : Node
        An expression of slices.
    cuts : frozenset of int
        The cuts that it depends on, by number.
    """

    node: Node
    cuts: frozenset[int]


class Share(NamedTuple):
    """Expressions of one output on a device.

    Attributes
    ----------
    operation : str
        Combines the values of devices along the cuts that are not joined.
    joined : frozenset of int
        The cuts whose dims the output has, by number.
    terms : tuple of ShareTerm
        More than one only for addition: they are added after those of each are combined.
    """

    operation: str
    joined: frozenset[int]
    terms: tuple[ShareTerm, ...]

    @property
    def reduced(self) -> frozenset[int]:
        """The cuts along which values of devices are combined."""
        return frozenset().union(*(term.cuts for term in self.terms)) - self.joined


class DimCut(Restriction):
    """Restriction of expressions to slices of a dim, whose product dims are cut by their factors.

    Attributes
    ----------
    dim : Dim
    axes : tuple of str
        Axes of the mesh that the dim is cut over.
    dims : frozenset of Dim
        The dim, and all dims whose positions are its positions.
    known : frozenset of Node
        Constants computed from the data of the whole.
    """

    def __init__(
        self, dim: Dim, axes: tuple[str, ...], nodes: Sequence[Node], known: frozenset[Node]
    ):
        self.dim = dim
        self.axes = axes
        self._splits = {x: split(x, dim, known) for x in nodes}
        for found in self._splits.values():
            if found.obstacle is not None:
                raise refusal(found)
            if any(map(depends_on_mask, found.cut)):
                raise GraphError(
                    f"the length of {dim._title} where a mask is true depends on values, and "
                    "devices compute with fixed lengths",
                    hint="dt.where(mask, x, 0.0).sum() in place of x[mask].sum()",
                )
        self.dims: frozenset[Dim] = frozenset().union(*(x.cut for x in self._splits.values()))
        self.known = known.union(*(found.known for found in self._splits.values()))
        super().__init__(dim, self.dims, nodes)

    def share(self, term: ShareTerm, number: int) -> tuple[list[ShareTerm], str | None, bool]:
        """Restrict a term to a slice of this cut.

        Returns
        -------
        terms : list of ShareTerm
        operation : str or None
            Combines slices.
        is_joined : bool
            Whether it has the dim.
        """
        found = self._splits[term.node]
        part, rest = self.split(term.node, found)
        if isinstance(found.role, Mapped) and part is not None:
            part = self._split_products(part, found.role.dim)
            return [ShareTerm(part, term.cuts | {number})], None, True
        terms = [] if part is None else [ShareTerm(part, term.cuts | {number})]
        if rest is not None:
            # constants of the whole are known in it, too
            rest = restricted(rest, self.dims, found.known, self.mapping, self.leaf)
            terms.append(ShareTerm(rest, term.cuts))
        return terms, found.role.operation if isinstance(found.role, Combined) else None, False

    def leaf(self, x: Node) -> Node:
        """Return the leaf of a slice; along a product dim, merged from one along its factors."""
        products = [dim for dim in x.dims if dim in self.dims and isinstance(dim, ProductDim)]
        if not products:
            return super().leaf(x)
        (product,) = products
        if x not in self.leaves:
            dims = sort_dims(map_dim(dim, self.mapping) for dim in factors(x.dims, self.dims))
            name = f"leaf {len(self.leaves)} of {self.dim.name}"
            attrs = InputAttrs(None, name, dims, x.dtype, x.categories)
            self.leaves[x] = make("input", (), attrs)
        return self._merge_products(self.leaves[x], product)

    def _merge_products(self, x: Node, product: ProductDim) -> Node:
        for factor in product.factors:
            if factor in self.dims and isinstance(factor, ProductDim):
                x = self._merge_products(x, factor)
        return make("merge", (x,), map_dim(product, self.mapping))

    def _split_products(self, x: Node, dim: Dim) -> Node:
        if not isinstance(dim, ProductDim):
            return x
        x = make("split", (x,), map_dim(dim, self.mapping))
        for factor in dim.factors:
            if factor in self.dims:
                x = self._split_products(x, factor)
        return x


class DeviceShares:
    """Outputs as expressions of slices of dims.

    Attributes
    ----------
    cuts : list of DimCut
        Each is one of the shares that the ones before it leave.
    outputs : list of Share
        Results along a product dim have its factors as dims, and so have leaves.
    leaves : dict of Node to Node
        Leaves of a device, by those of the whole.
    known : list of Node
        Constants computed from the data of the whole.
    """

    def __init__(self, outputs: Sequence[Node], axes: Mapping[Dim, tuple[str, ...]]):
        known = _constants(outputs, list(axes)) if len(axes) > 1 else frozenset()
        shares = [Share("add", frozenset(), (ShareTerm(x, frozenset()),)) for x in outputs]
        self.cuts: list[DimCut] = []
        self.leaves: dict[Node, Node] = {}
        for number, (dim, names) in enumerate(axes.items()):
            self._check_apart(dim, names)
            nodes = [term.node for share in shares for term in share.terms]
            cut = DimCut(dim, names, nodes, frozenset() if number else known)
            shares = [_cut(share, cut, number) for share in shares]
            if not number:
                constants = cut.known
            own = set(self.leaves.values())
            self.leaves = {x: cut.leaves.get(old, old) for x, old in self.leaves.items()}
            self.leaves |= {x: new for x, new in cut.leaves.items() if x not in own}
            self.cuts.append(cut)
        self.outputs = shares
        self.known = [x for x in self.leaves if x in constants]
        self._all = frozenset().union(*(cut.dims for cut in self.cuts))

    def _check_apart(self, dim: Dim, names: tuple[str, ...]) -> None:
        for other in self.cuts:
            if not set(names).isdisjoint(other.axes):
                raise GraphError(
                    f"two dims are cut over one axis: {dim!r} and {other.dim!r}",
                    hint="name one of them by the Dim itself",
                )
            if dim in other.dims:
                raise GraphError(
                    f"{dim._title} has the positions of {other.dim._title}, and both are placed",
                    hint=f"place {other.dim._title} alone: dims derived from it are placed with it",
                )

    def number_of(self, dim: Dim) -> int | None:
        """Return the number of the cut of a dim that is no product, None if it is not cut."""
        return next((at for at, cut in enumerate(self.cuts) if dim in cut.dims), None)

    def local(self, dim: Dim) -> Dim:
        """Return the slice's counterpart of a dim of the whole."""
        for cut in self.cuts:
            dim = map_dim(dim, cut.mapping)
        return dim

    def factors(self, dims: Dims) -> list[Dim]:
        """Replace product dims that are cut by their factors, in the order of their positions."""
        return factors(dims, self._all)


def factors(dims: Dims, cut: frozenset[Dim]) -> list[Dim]:
    """Replace product dims among dims of a cut by their factors."""
    found: list[Dim] = []
    for dim in dims:
        is_cut = isinstance(dim, ProductDim) and dim in cut
        found += factors(dim.factors, cut) if isinstance(dim, ProductDim) and is_cut else [dim]
    return found


def _constants(outputs: Sequence[Node], dims: Sequence[Dim]) -> frozenset[Node]:
    """Return the nodes computed from the whole of the data because they mix positions of a dim."""
    known: frozenset[Node] = frozenset()
    while True:
        splits = [split(x, dim, known) for dim in dims for x in outputs]
        for found in splits:
            if found.obstacle is not None:
                raise refusal(found)
        more = known.union(*(found.known for found in splits))
        if more == known:
            return known
        known = more


def _cut(share: Share, cut: DimCut, number: int) -> Share:
    """Cut the terms of an output along another dim."""
    terms: list[ShareTerm] = []
    operations = {share.operation} if share.reduced else set()
    is_joined = False
    for term in share.terms:
        more, operation, has_dim = cut.share(term, number)
        terms += more
        is_joined |= has_dim
        operations |= set() if operation is None else {operation}
    if len(operations) > 1:
        raise GraphError(
            f"slices of an output are combined by {' and '.join(sorted(operations))}, along "
            "different dims",
            hint=f"leave {cut.dim._title} whole",
        )
    operation = operations.pop() if operations else share.operation
    joined = share.joined | {number} if is_joined else share.joined
    return Share(operation, joined, tuple(terms))
