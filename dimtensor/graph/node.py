"""Nodes of the dims graph: frozen and interned, so that structural equality is identity."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dimtensor.dims import Dim, Dims
from dimtensor.errors import GraphError, NoAttributeError, build_message, printable
from dimtensor.graph.lines import Line, Place, line_at, place_outside
from dimtensor.interning import Interned
from dimtensor.scopes import within

if TYPE_CHECKING:
    from dimtensor.graph.kind import Kind

_interned: Interned[Node] = Interned()
_serial = itertools.count()
_recorded: ContextVar[tuple[set[Node], ...]] = ContextVar("recorded", default=())


_NAMED = frozenset({"input", "data", "shaped", "rv", "named"})


class NodeType(NamedTuple):
    """What inference says of a node: dims in canonical order, dtype, and the dim whose positions
    its elements are, if they are labels.
    """

    dims: Dims
    dtype: str
    categories: Dim | None = None


# what answers for the nodes of a kind, by its name
KINDS: dict[str, Kind] = {}


class _Fields:
    """What a node has, while it is being made."""

    __slots__ = (
        "__weakref__", "attrs", "beside", "categories", "dims", "dtype", "inputs", "kind", "place",
        "serial",
    )  # fmt: skip

    kind: str
    inputs: tuple[Node, ...]
    attrs: Any
    dims: Dims
    dtype: str
    categories: Dim | None
    serial: int
    beside: dict[Any, Any]
    place: Place | None


class Node(_Fields):
    """One operation of the dims graph, which is read and cannot be changed.

    ``x.node`` is that of a tensor, ``dt.walk(x)`` are all of an expression, and ``dt.from_node``
    gives the tensor of one. Printers and rewrites need the attributes and properties below, and
    none of how a kind keeps its attributes.

    Attributes
    ----------
    kind : str
        Name of the kind that answers for it, see :mod:`dimtensor.graph.kind`.
    inputs : tuple of Node
        Its operands.
    attrs : hashable
        Everything else that the operation is determined by, in a form of the kind's own, which may
        change: `operation`, `options` and `value` say it.
    dims : tuple of Dim
        Dims of the result, in canonical order.
    dtype : str
    categories : Dim or None
        The dim whose positions the elements are.

    Examples
    --------
    >>> import dimtensor as dt
    >>> node = (2.0 * dt.tensor("x", dims=dt.Dim("k"))).sum().node
    >>> node.operation, node.options
    ('sum', {'dim': '{k}'})
    >>> [(one.operation, one.name, one.value) for one in dt.walk(node)]
    [('constant', None, 2.0), ('input', 'x', None), ('multiply', None, None), ('sum', None, None)]
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise self._unchanged()

    def __delattr__(self, name: str) -> None:
        raise self._unchanged()

    def _unchanged(self) -> NoAttributeError:
        # equal expressions are this one node: all of them would change
        return NoAttributeError(
            build_message(
                "a node is read and not changed",
                [("node", self)],
                "dt.rewrite and dt.substitute make new expressions of old ones",
            )
        )

    @printable
    def __repr__(self) -> str:
        dims = ", ".join(dim.short for dim in self.dims)
        return f"<{self.kind} {{{dims}}} {self.dtype}>"

    def __reduce__(self) -> tuple:
        from dimtensor.graph.printing.words import listed
        from dimtensor.graph.walk import toposort

        return (_rebuild_graph, (flatten(self), listed(toposort([self]))))

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: Mapping) -> Node:
        return self

    @property
    def name(self) -> str | None:
        """Name of an input, of data, of a random variable or of what was given one, else None."""
        return self.attrs.name if self.kind in _NAMED else None

    @property
    def operation(self) -> str:
        """The name of the operation: ``exp``, ``sum``, ``index``, ``input``, ``constant``."""
        return KINDS[self.kind].call(self, _short).name

    @property
    def options(self) -> dict[str, str]:
        """What it does beside its operands, in words: the dims that a sum is over, say."""
        options = KINDS[self.kind].call(self, _short).options
        return {key or str(at): text for at, (key, text) in enumerate(options)}

    @property
    def bodies(self) -> dict[str, tuple[Node, ...]]:
        """The outputs of a loop's body, or of the arms of a conditional; else nothing."""
        return {body.name: tuple(body.outputs) for body in KINDS[self.kind].bodies(self)}

    @property
    def value(self) -> Any:
        """The number of a constant, None of everything else; :func:`data_of` has that of data."""
        return self.attrs.value.item() if self.kind == "constant" else None

    @property
    def is_known(self) -> bool:
        """Whether it is data or a number."""
        return self.kind in ("data", "constant")

    @property
    def line(self) -> Line | None:
        """The line of the user's code on which it was made first; None where there is none."""
        return line_at(self.place)


def make(kind: str, inputs: tuple[Node, ...] = (), attrs: Any = None) -> Node:
    """The node of an operation: the existing one where an equal one is alive.

    Operands of commutative operations are put into the order in which they were made.

    Raises
    ------
    DimtensorError
        Whatever the inference of the kind finds wrong.
    """
    known = KINDS.get(kind)
    if known is None:
        raise GraphError(f"there is no node kind {kind!r}")
    if known.commutes(attrs):
        inputs = tuple(sorted(inputs, key=_serial_of))
    key = (kind, inputs, attrs)
    found = _interned.refs.get(key)
    node = None if found is None else found()
    if node is None:
        node = _new(known, key)
    for nodes in _recorded.get():
        nodes.add(node)
    return node


def recorded[T](call: Callable[[], T]) -> tuple[T, set[Node]]:
    """Call a function; return its result and all nodes that it requests, new or not."""
    nodes: set[Node] = set()
    return within(_recorded, (*_recorded.get(), nodes), call), nodes


def _new(known: Kind, key: tuple[str, tuple[Node, ...], Any]) -> Node:
    kind, inputs, attrs = key
    dims, dtype, categories = known.infer(inputs, attrs)
    node = object.__new__(_Fields)
    node.kind = kind
    node.inputs = inputs
    node.attrs = attrs
    node.dims = dims
    node.dtype = dtype
    node.categories = categories
    node.serial = next(_serial)
    node.beside = {}
    node.place = place_outside()
    node.__class__ = Node  # from now on it can be read alone
    return _interned.add(key, cast("Node", node))


def alive() -> Iterator[Node]:
    """All nodes that something holds."""
    return iter(_interned)


# what is told later of a node: the line of a node before it
_set_place: Callable[[Node, Place | None], None] = vars(_Fields)["place"].__set__


def next_serial() -> int:
    """A number that is less than those of all nodes that are not made yet."""
    return next(_serial)


def keep_place(old: Node, new: Node, since: int) -> None:
    """Let a node that was made of another one's rebuilt inputs have the line of that one.

    Parameters
    ----------
    old, new : Node
    since : int
        Nodes of lower numbers were there before, with lines of their own.
    """
    if new.serial > since:
        _set_place(new, old.place)


def _short(dim: Dim) -> str:
    return dim.short


def _serial_of(node: Node) -> int:
    return node.serial


def flatten(node: Node) -> list[tuple[str, tuple[int, ...], Any]]:
    """The graph below a node as a list, inputs by their place in it."""
    from dimtensor.graph.walk import toposort

    order = toposort([node])
    place = {n: i for i, n in enumerate(order)}
    return [(n.kind, tuple(place[i] for i in n.inputs), n.attrs) for n in order]


def _rebuild_graph(
    entries: list[tuple[str, tuple[int, ...], Any]], words: Sequence[tuple] = ()
) -> Node:
    from dimtensor.graph.printing.words import restore

    nodes: list[Node] = []
    for kind, inputs, attrs in entries:
        nodes.append(make(kind, tuple(nodes[i] for i in inputs), attrs))
    restore(nodes, words)
    return nodes[-1]
