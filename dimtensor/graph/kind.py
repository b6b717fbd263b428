"""Kinds of nodes: one class per kind with everything that the dims graph needs to know of it.

A kind declares the type of its nodes' attributes, and implements inference, verification, changes
of dims, printing, error messages and requirements on lengths. Functions of arbitrary nodes, such as
:func:`~dimtensor.graph.infer.describe`, dispatch to the kind. Lowering of a kind is in
:mod:`dimtensor.lower`, in a module of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dimtensor.dims import Dim, Dims, dim_set
from dimtensor.graph.forms import Entry, Parsed, Reader, plain
from dimtensor.graph.node import KINDS, Node, NodeType, make
from dimtensor.graph.rebuilding.parents import aligned
from dimtensor.graph.rebuilding.substitute import DimMap, Replace, map_dim

if TYPE_CHECKING:
    from dimtensor.graph.attrs import IndexItem
    from dimtensor.graph.checking.lengths import Requirement
    from dimtensor.graph.regions import Region

DimRef = Callable[[Dim], str]


class Call(NamedTuple):
    """Printable form of a node: operation, operands with their roles, and options as text."""

    name: str
    operands: list[tuple[str, Node]]
    options: list[tuple[str, str]]


class Body(NamedTuple):
    """Printable form of a loop body or branch: its name, and its outputs with their names."""

    name: str
    results: list[str]
    outputs: list[Node]


class Selected(NamedTuple):
    """Selection of a node: an item per dim, and the indexers: nodes of positions or masks."""

    items: tuple[IndexItem, ...]
    indexers: tuple[Node, ...]

    def new_dims(self) -> dict[Dim, Dim]:
        """Map the dims that are selected from to the selected dims."""
        return {
            item.dim: item.new_dim(self.indexers)
            for item in self.items
            if item.kind in ("select", "mask")
        }

    def looked_up(self) -> list[tuple[Dim, Node]]:
        """Return the dims that are indexed by tensors of positions, with these tensors."""
        return [(i.dim, self.indexers[i.payload]) for i in self.items if i.kind == "tensor"]


class Kind[A]:
    """Base class of kinds of nodes.

    Subclasses define `infer`, `complaint` and `call`; other methods have defaults that suit most
    kinds.

    Attributes
    ----------
    name : str
        Value of `Node.kind`.
    attrs : type
        Type of `Node.attrs`.
    spoken : str or None
        Name of unnamed nodes in error messages; by default the name of the kind.
    is_leaf : bool
        Whether its values come from outside of the graph.
    has_regions : bool
        Whether its nodes contain graphs, such as loop bodies.
    broadcasts : bool
        Whether its inputs are broadcast to common dims: values of the parents of a ragged dim are
        then looked up at its positions.
    """

    attrs: ClassVar[Any]
    spoken: ClassVar[str | None] = None
    is_leaf: ClassVar[bool] = False
    has_regions: ClassVar[bool] = False
    broadcasts: ClassVar[bool] = False

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"<kind {self.name}>"

    # -- to be defined ---------------------------------------------------------------------------

    def infer(self, inputs: tuple[Node, ...], attrs: A) -> NodeType:
        """Infer the type of a node.

        Raises
        ------
        DimtensorError
            If the operation is invalid; the message is for users.
        """
        raise NotImplementedError

    def complaint(self, node: Node) -> str | None:
        """Describe the error in a node's attributes or number of inputs; None if it is valid."""
        raise NotImplementedError

    def call(self, node: Node, ref: DimRef) -> Call:
        """Return the printable form of a node, with dims written by `ref`."""
        raise NotImplementedError

    # -- dims ------------------------------------------------------------------------------------

    def aligned(self, inputs: tuple[Node, ...], attrs: A, dims: Dims) -> Node | None:
        """Make the node of inputs whose values of parents are looked up along ragged dims.

        None if there are no such values.
        """
        found = aligned(inputs, dims)
        return None if found == inputs else make(self.name, found, attrs)

    def map_dims(self, attrs: A, f: DimMap) -> A:
        """Replace all dims in attributes by the results of `f`."""
        return attrs

    def with_inputs(self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
        """Rebuild a node with other inputs, which may have more dims, and with dims replaced.

        New dims that the node makes are added to the mapping.
        """
        return make(self.name, inputs, self.map_dims(node.attrs, lambda d: map_dim(d, mapping)))

    def selected(self, node: Node) -> Selected | None:
        """Return the selection of the node; None if it does not select."""
        return None

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        """Return True if the node works elementwise along a dim of input number `at`.

        Then each position of the input affects the same position of the result only. Both have the
        dim.
        """
        return False

    def carries(self, node: Node, at: int, dim: Dim, to: Dim) -> bool:
        """Return True if each position along a dim depends on one position of an input.

        `to` is a dim of the node: each of its positions depends on a single position along `dim` of
        input number `at`. The default is for kinds that do not rename, mask or reshape.
        """
        return dim is to and self.keeps_apart(node, at, dim)

    def combined_by(self, node: Node, dim: Dim, varying: Collection[int]) -> str | None:
        """Return the operation that combines results for parts of a dim of inputs.

        Parameters
        ----------
        node : Node
            The dim is not among its dims.
        dim : Dim
        varying : collection of int
            Numbers of the inputs that differ between the parts.

        Returns
        -------
        str or None
            Name in the op table, such as ``add`` for a sum over the dim; None if positions are
            mixed in another way.
        """
        return None

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        """Return groups of inputs in which the node is jointly linear, the others being fixed."""
        return ()

    def renames(self, node: Node) -> Sequence[tuple[Dim, Dim]]:
        """Return the dims that the node renames, as pairs (old, new)."""
        return ()

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        """Iterate over the dims in attributes, each with a text for its role."""
        return placed(node.attrs, "")

    def commutes(self, attrs: A) -> bool:
        """Return True if the operation with these attributes is commutative."""
        return False

    # -- values ----------------------------------------------------------------------------------

    def values_of(self, node: Node) -> tuple[Node, ...] | None:
        """Return the nodes whose elements the node copies; None if it computes new values."""
        return None

    def passes_derivatives(self, node: Node) -> bool:
        """Return True if derivatives of a floating-point node by its inputs may be nonzero."""
        return True

    # -- regions ---------------------------------------------------------------------------------

    def regions(self, attrs: A) -> tuple[Region, ...]:
        """Return loop bodies, branches, or the differentiated function."""
        return ()

    def rebuilt(
        self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
    ) -> list[Node]:
        """Rebuild all outputs of a node with regions, with other inputs."""
        raise NotImplementedError

    def captured(self, node: Node) -> tuple[Node, ...]:
        """Return the captured (closed-over) nodes of bodies and branches."""
        return ()

    def bound_names(self, node: Node) -> list[str]:
        """Return the printed names of the bound leaves of bodies and branches."""
        return []

    def bodies(self, node: Node) -> list[Body]:
        """Return the printable forms of bodies and branches."""
        return []

    # -- words -----------------------------------------------------------------------------------

    def title(self, node: Node) -> str:
        """Return the name of the node in error messages."""
        return node.name or self.spoken or self.name

    def described(self, node: Node) -> str:
        """Describe the node with its dims, for error messages."""
        dims = f"with dims {dim_set(node.dims)}" if node.dims else "without dims"
        labels = f", labels of {node.categories._short}" if node.categories is not None else ""
        return f"{self.title(node)} {dims}{labels}"

    def messages(self, node: Node) -> dict[Dim | None, str]:
        """Return the messages of all checks that lowering may create, by the dim they are about."""
        return {}

    # -- compilation -----------------------------------------------------------------------------

    def requirements(self, node: Node) -> Iterator[Requirement]:
        """Iterate over requirements on late lengths."""
        yield from ()

    def form(self, node: Node) -> tuple:
        """Return the form of a node (:mod:`~dimtensor.graph.forms`), starting with its kind's name.

        Raises
        ------
        FormlessError
            If an attribute is meaningful in this process only.
        """
        return (self.name, plain(node.attrs), node.inputs)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        """Read the inputs and attributes of a node from its form: the inverse of `form`."""
        attrs, inputs = reader.value(entry.parts)
        fields = getattr(self.attrs, "_make", None)
        return Parsed(inputs, attrs if fields is None else fields(attrs))


def kind(*names: str) -> Callable[[type[Kind]], type[Kind]]:
    """Register a class for kinds of nodes."""

    def register(cls: type[Kind]) -> type[Kind]:
        for name in names:
            KINDS[name] = cls(name)
        return cls

    return register


def kind_of(node: Node) -> Kind:
    """Return the kind of a node."""
    return KINDS[node.kind]


def commutes(node: Node) -> bool:
    """Return True if a node's operation is commutative."""
    return KINDS[node.kind].commutes(node.attrs)


def placed(value: Any, place: str) -> Iterator[tuple[Dim, str]]:
    """Iterate over the dims in a nested value, each with its path."""
    if isinstance(value, Dim):
        yield value, place
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from placed(part, f"{place}.{number}")


def mapped(dims: Dims, f: DimMap) -> Dims:
    """Apply a function to dims."""
    return tuple(map(f, dims))


# -- complaints ------------------------------------------------------------------------------------


def wrong_count(node: Node, number: int) -> str | None:
    """Return a complaint if a node has another number of inputs."""
    if len(node.inputs) != number:
        return f"{node.kind} takes {number} inputs, not {len(node.inputs)}"
    return None


def lacking(dims: Iterable[Any], owner: Dims, whose: str) -> str | None:
    """Return a complaint if attributes refer to a dim that is not there."""
    for dim in dims:
        if dim not in owner:
            has = "{" + ", ".join(map(repr, owner)) + "}"
            return f"its attributes refer to {dim!r}, which {whose} lacks: {has}"
    return None


def lacking_in_operand(dims: Iterable[Any], node: Node) -> str | None:
    """Return a complaint if attributes refer to a dim that the first input lacks."""
    return lacking(dims, node.inputs[0].dims, "the operand")


# -- text ------------------------------------------------------------------------------------------


def by_position(inputs: Sequence[Node]) -> list[tuple[str, Node]]:
    """Return inputs as operands without role names."""
    return [("", x) for x in inputs]


def set_text(dims: Dims, ref: DimRef) -> str:
    """Write a set of dims."""
    return "{" + ", ".join(map(ref, dims)) + "}"
