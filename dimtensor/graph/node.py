"""Nodes of the dims graph: frozen and interned, so that structural equality is identity."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dimtensor.dims import Dim, Dims
from dimtensor.errors import GraphError, NoAttributeError, printable
from dimtensor.graph.lines import Line, Place, line_at, place_outside
from dimtensor.hooks import Hook
from dimtensor.interning import Interned
from dimtensor.scopes import within

if TYPE_CHECKING:
    from dimtensor.graph.kind import Kind

_interned: Interned[Node] = Interned()
_serials = itertools.count()
_recorded: ContextVar[tuple[set[Node], ...]] = ContextVar("recorded", default=())


tensor_of = Hook("the tensor of a node")

_NAMED = frozenset({"input", "data", "shaped", "rv", "named"})


class NodeType(NamedTuple):
    """Inferred type of a node.

    Attributes
    ----------
    dims : tuple of Dim
        In canonical order.
    dtype : str
    categories : Dim or None
        If the elements are labels: the dim whose positions they are.
    """

    dims: Dims
    dtype: str
    categories: Dim | None = None


# registry of kinds by name
KINDS: dict[str, Kind] = {}


class _Fields:
    """Node under construction, whose fields can be set."""

    __slots__ = (
        "__weakref__",
        "_beside",
        "_place",
        "_serial",
        "attrs",
        "categories",
        "dims",
        "dtype",
        "inputs",
        "kind",
    )  # fmt: skip

    kind: str
    inputs: tuple[Node, ...]
    attrs: Any
    dims: Dims
    dtype: str
    categories: Dim | None
    _serial: int
    _beside: dict[Any, Any]
    _place: Place | None


class Node(_Fields):
    """Node of the dims graph: one operation, immutable and interned.

    ``x.node`` is the node of a tensor, ``dt.walk(x)`` iterates over the nodes of an expression, and
    ``dt.from_node`` returns the tensor of a node. Printers and rewrites should use the attributes
    and properties below rather than `attrs`, whose format belongs to the kind.

    Attributes
    ----------
    kind : str
        Name of the node's kind, see :mod:`dimtensor.graph.kind`.
    inputs : tuple of Node
        Its operands.
    attrs : hashable
        Parameters of the operation, in a format of the kind that may change; see `operation`,
        `options` and `value`.
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
            "a node is read and not changed",
            [("node", self)],
            "dt.rewrite and dt.substitute make new expressions of old ones",
        )

    @printable
    def __repr__(self) -> str:
        dims = ", ".join(dim._short for dim in self.dims)
        return f"<{self.kind} {{{dims}}} {self.dtype}>"

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: Mapping) -> Node:
        return self

    @property
    def name(self) -> str | None:
        """Name of an input, data, a random variable or a named expression; else None."""
        return self.attrs.name if self.kind in _NAMED else None

    @property
    def operation(self) -> str:
        """Name of the operation, such as ``exp``, ``sum``, ``index``, ``input`` or ``constant``."""
        return KINDS[self.kind].call(self, _short).name

    @property
    def options(self) -> dict[str, str]:
        """Options of the operation as text, such as the dims of a sum."""
        options = KINDS[self.kind].call(self, _short).options
        return {key or str(at): text for at, (key, text) in enumerate(options)}

    @property
    def bodies(self) -> dict[str, tuple[Node, ...]]:
        """Outputs of a loop's body or of a conditional's branches; empty for other nodes."""
        return {body.name: tuple(body.outputs) for body in KINDS[self.kind].bodies(self)}

    @property
    def value(self) -> Any:
        """Value of a constant; None for other nodes. For data see :func:`data_of`."""
        return self.attrs.value.item() if self.kind == "constant" else None

    @property
    def is_known(self) -> bool:
        """True for data and constants."""
        return self.kind in ("data", "constant")

    @property
    def line(self) -> Line | None:
        """Line of the user's code that first made the node, if any."""
        return line_at(self._place)


def make(kind: str, inputs: tuple[Node, ...] = (), attrs: Any = None) -> Node:
    """Return the node of an operation: an existing one if an equal node is alive, else a new one.

    Operands of commutative operations are sorted by their creation.

    Raises
    ------
    DimtensorError
        If the inference of the kind rejects the operation.
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
    if known.broadcasts:
        for dim in dims:
            if dim._within is not None:
                looked_up = known.aligned(inputs, attrs, dims)
                if looked_up is not None:
                    return looked_up
                break
    node = object.__new__(_Fields)
    node.kind = kind
    node.inputs = inputs
    node.attrs = attrs
    node.dims = dims
    node.dtype = dtype
    node.categories = categories
    node._serial = next(_serials)
    node._beside = {}
    node._place = place_outside()
    node.__class__ = Node  # from now on it can be read alone
    return _interned.add(key, cast("Node", node))


def alive() -> Iterator[Node]:
    """Iterate over all nodes that are alive."""
    return iter(_interned)


# the place may be set later, to that of a node which this one replaces
_set_place: Callable[[Node, Place | None], None] = vars(_Fields)["_place"].__set__


def next_serial() -> int:
    """Return a serial number that is smaller than those of all nodes made later."""
    return next(_serials)


def keep_place(old: Node, new: Node, since: int) -> None:
    """Copy the line of code of a node to the node that replaces it.

    Parameters
    ----------
    old, new : Node
    since : int
        Replacements with lower serial numbers existed before and keep their own lines.
    """
    if new._serial > since:
        _set_place(new, old._place)


def _short(dim: Dim) -> str:
    return dim._short


def _serial_of(node: Node) -> int:
    return node._serial
