"""Kinds of nodes: one class each, which answers for all that the dims graph asks of a node.

A kind says what its attributes are, and gives type, complaints, dims, text, messages and
requirements of its nodes. Functions that work on any node, such as
:func:`~dimtensor.graph.infer.describe`, ask the kind. What a kind becomes below the dims graph is
said in :mod:`dimtensor.lower`, in the module of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dimtensor.dims import Dim, Dims, dim_set
from dimtensor.graph.forms import Entry, Parsed, Reader, plain
from dimtensor.graph.node import KINDS, Node, NodeType, make
from dimtensor.graph.rebuilding.substitute import DimMap, Replace, map_dim

if TYPE_CHECKING:
    from dimtensor.graph.attrs import IndexItem
    from dimtensor.graph.checking.lengths import Requirement
    from dimtensor.graph.regions import Region

DimRef = Callable[[Dim], str]


class Call(NamedTuple):
    """An operation, its operands with the part they play in it, and its options as text."""

    name: str
    operands: list[tuple[str, Node]]
    options: list[tuple[str, str]]


class Body(NamedTuple):
    """A body or branch as it is printed: its name, and its outputs with theirs."""

    name: str
    results: list[str]
    outputs: list[Node]


class Selected(NamedTuple):
    """The selection that a node makes: items by dim, and the nodes that hold positions or masks."""

    items: tuple[IndexItem, ...]
    indexers: tuple[Node, ...]

    def new_dims(self) -> dict[Dim, Dim]:
        """The dims that selections and masks make, by the dim that they select from."""
        return {
            item.dim: item.new_dim(self.indexers)
            for item in self.items
            if item.kind in ("select", "mask")
        }

    def looked_up(self) -> list[tuple[Dim, Node]]:
        """Dims along which positions are looked up, and the positions."""
        return [(i.dim, self.indexers[i.payload]) for i in self.items if i.kind == "tensor"]


class Kind[A]:
    """A kind of nodes with attributes of one type.

    `infer`, `complaint` and `call` are to be defined; the rest has a default, which is what most
    kinds need.

    Attributes
    ----------
    name : str
        What `Node.kind` is.
    attrs : type
        What `Node.attrs` is an instance of.
    spoken : str or None
        How messages speak of a node without a name; by default the name of the kind.
    is_leaf : bool
        Whether its values come from outside of the graph.
    has_regions : bool
    """

    attrs: ClassVar[Any]
    spoken: ClassVar[str | None] = None
    is_leaf: ClassVar[bool] = False
    has_regions: ClassVar[bool] = False

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"<kind {self.name}>"

    # -- to be defined ---------------------------------------------------------------------------

    def infer(self, inputs: tuple[Node, ...], attrs: A) -> NodeType:
        """The type of a node.

        Raises
        ------
        DimtensorError
            If there is no such node; a user reads the message.
        """
        raise NotImplementedError

    def complaint(self, node: Node) -> str | None:
        """The error in attributes or number of inputs of a broken node; None for a sound one."""
        raise NotImplementedError

    def call(self, node: Node, ref: DimRef) -> Call:
        """The node as a call, for printers and pictures; dims are referred to by `ref`."""
        raise NotImplementedError

    # -- dims ------------------------------------------------------------------------------------

    def map_dims(self, attrs: A, f: DimMap) -> A:
        """Attributes with all dims in them exchanged."""
        return attrs

    def with_inputs(self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
        """A node with other inputs, whose dims may be more, and dims exchanged.

        Dims that it makes anew are added to the mapping.
        """
        return make(self.name, inputs, self.map_dims(node.attrs, lambda d: map_dim(d, mapping)))

    def selected(self, node: Node) -> Selected | None:
        """The selection that the node makes; None if it makes none."""
        return None

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        """Whether a position of input number `at` along a dim matters at that position only.

        The node and the input have the dim.
        """
        return False

    def renames(self, node: Node) -> Sequence[tuple[Dim, Dim]]:
        """Pairs of dims of which the second takes the place of the first."""
        return ()

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        """The dims that attributes name, each with a text that says its role without names."""
        return placed(node.attrs, "")

    def commutes(self, attrs: A) -> bool:
        """Whether the order of the inputs of a node with these attributes says nothing."""
        return False

    # -- values ----------------------------------------------------------------------------------

    def values_of(self, node: Node) -> tuple[Node, ...] | None:
        """The nodes whose values, unchanged, are all that it holds; None where it computes."""
        return None

    def passes_derivatives(self, node: Node) -> bool:
        """Whether small changes of inputs change it, provided that it holds floats."""
        return True

    # -- regions ---------------------------------------------------------------------------------

    def regions(self, attrs: A) -> tuple[Region, ...]:
        """Bodies, branches, or the function that a derivative is taken of."""
        return ()

    def rebuilt(
        self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim], replace: Replace | None
    ) -> list[Node]:
        """All outputs of a node with regions, with other inputs."""
        raise NotImplementedError

    def captured(self, node: Node) -> tuple[Node, ...]:
        """Free variables of bodies and branches: nodes outside that they use."""
        return ()

    def bound_names(self, node: Node) -> list[str]:
        """How the bound leaves of bodies and branches are called where the node is printed."""
        return []

    def bodies(self, node: Node) -> list[Body]:
        """Bodies and branches as they are printed."""
        return []

    # -- words -----------------------------------------------------------------------------------

    def title(self, node: Node) -> str:
        """How a message calls the node."""
        return node.name or self.spoken or self.name

    def described(self, node: Node) -> str:
        """How a message speaks of the node, with its dims."""
        dims = f"with dims {dim_set(node.dims)}" if node.dims else "without dims"
        labels = f", labels of {node.categories.short}" if node.categories is not None else ""
        return f"{self.title(node)} {dims}{labels}"

    def messages(self, node: Node) -> dict[Dim | None, str]:
        """Messages of all checks that its lowering may ask for, by the dim they are about."""
        return {}

    # -- compilation -----------------------------------------------------------------------------

    def requirements(self, node: Node) -> Iterator[Requirement]:
        """Requirements on lengths that come with the data."""
        yield from ()

    def form(self, node: Node) -> tuple:
        """The form of a node, see :mod:`~dimtensor.graph.forms`; first the name of the kind.

        Raises
        ------
        FormlessError
            If the attributes have something that only this process knows.
        """
        return (self.name, plain(node.attrs), node.inputs)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        """Inputs and attributes of a node from its form: the inverse of `form`."""
        attrs, inputs = reader.value(entry.parts)
        fields = getattr(self.attrs, "_make", None)
        return Parsed(inputs, attrs if fields is None else fields(attrs))


def kind(*names: str) -> Callable[[type[Kind]], type[Kind]]:
    """Register a class as what answers for the nodes of some kinds."""

    def register(cls: type[Kind]) -> type[Kind]:
        for name in names:
            KINDS[name] = cls(name)
        return cls

    return register


def kind_of(node: Node) -> Kind:
    """The kind of a node."""
    return KINDS[node.kind]


def commutes(node: Node) -> bool:
    """Whether the order of a node's inputs says nothing."""
    return KINDS[node.kind].commutes(node.attrs)


def placed(value: Any, place: str) -> Iterator[tuple[Dim, str]]:
    """The dims in a value, each with its place there."""
    if isinstance(value, Dim):
        yield value, place
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from placed(part, f"{place}.{number}")


def mapped(dims: Dims, f: DimMap) -> Dims:
    """Dims exchanged one by one."""
    return tuple(map(f, dims))


# -- complaints ------------------------------------------------------------------------------------


def wrong_count(node: Node, number: int) -> str | None:
    """A complaint if a node has another number of inputs."""
    if len(node.inputs) != number:
        return f"{node.kind} takes {number} inputs, not {len(node.inputs)}"
    return None


def lacking(dims: Iterable[Any], owner: Dims, whose: str) -> str | None:
    """A complaint if one of the dims that attributes speak of is not there."""
    for dim in dims:
        if dim not in owner:
            has = "{" + ", ".join(map(repr, owner)) + "}"
            return f"its attributes speak of {dim!r}, which {whose} lacks: {has}"
    return None


def lacking_in_operand(dims: Iterable[Any], node: Node) -> str | None:
    """A complaint if the first input lacks a dim that attributes speak of."""
    return lacking(dims, node.inputs[0].dims, "the operand")


# -- text ------------------------------------------------------------------------------------------


def by_position(inputs: Sequence[Node]) -> list[tuple[str, Node]]:
    """Operands that play no part with a name."""
    return [("", x) for x in inputs]


def set_text(dims: Dims, ref: DimRef) -> str:
    """Dims as text."""
    return "{" + ", ".join(map(ref, dims)) + "}"
