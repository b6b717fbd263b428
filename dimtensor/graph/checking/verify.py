"""Verifier of the dims graph, which runs between compiler stages.

Cheap checks run whenever a graph is lowered. Full checks repeat the inference of every node; they
run if the environment variable ``DIMTENSOR_VERIFY`` is 1, as in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dimtensor.dims import Dim, Dims, sort_dims
from dimtensor.errors import GraphError
from dimtensor.graph.attrs import REBUILT
from dimtensor.graph.dtypes import DTYPES
from dimtensor.graph.node import KINDS, Node, make
from dimtensor.graph.printing.printer import node_text
from dimtensor.graph.regions import Region
from dimtensor.graph.walk import LEAF_KINDS, toposort
from dimtensor.settings import settings

_KNOWN_DTYPES = frozenset(DTYPES)


class BrokenGraphError(GraphError):
    """A graph that breaks the rules of its kind, by a bug of dimtensor."""


def full_checks() -> bool:
    """Return True if full checks are enabled."""
    return settings().verify


def verify_graph(outputs: Sequence[Node], full: bool | None = None) -> None:
    """Check every node of a graph.

    Parameters
    ----------
    outputs : sequence of Node
    full : bool, optional
        Also repeat the inference of every node and check its attributes; the default is set by
        ``DIMTENSOR_VERIFY``.

    Raises
    ------
    BrokenGraphError
        If a node is not one that :func:`dimtensor.graph.make` could have made; it is named.

    Examples
    --------
    >>> import dimtensor as dt
    >>> verify_graph([(dt.scalar("x") + 1).node], full=True)
    """
    full = full_checks() if full is None else full
    for node in _nodes(outputs):
        complaint = _cheap_complaint(node)
        if complaint is None and full:
            complaint = _full_complaint(node)
        if complaint is not None:
            raise _error(node, *complaint)


def _error(node: Node, what: str, details: Iterable[tuple[str, object]] = ()) -> BrokenGraphError:
    lines = [("node", node_text(node)), *details]
    return BrokenGraphError(f"the dims graph is broken: {what}", lines)


def _nodes(outputs: Sequence[Node]) -> list[Node]:
    """Return all nodes, inputs first.

    Inputs must be older than their nodes, which excludes cycles.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = []
    for output in outputs:
        if not isinstance(output, Node):
            raise GraphError(f"the dims graph is broken: an output is {output!r}, not a node")
        stack.append((output, False))
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            stack.append((node, True))
            if not isinstance(node.inputs, tuple):
                raise _error(node, "the inputs of a node are a tuple")
            for x in node.inputs:
                if not isinstance(x, Node):
                    raise _error(node, "an input is not a node", [("input", repr(x))])
                if x._serial >= node._serial:
                    raise _error(node, "an input is not older than its node",
                                 [("input", node_text(x))])  # fmt: skip
                if x not in seen:
                    stack.append((x, False))
    return order


Complaint = tuple[str, list[tuple[str, object]]]


def _cheap_complaint(node: Node) -> Complaint | None:
    if node.kind not in KINDS:
        return f"there is no node kind {node.kind!r}", [("kinds", ", ".join(sorted(KINDS)))]
    if node.dtype not in _KNOWN_DTYPES:
        return f"{node.dtype!r} is not a dtype", []
    dims = node.dims
    if len(dims) > 1:
        keys = [dim._sort_key for dim in dims]
        if any(one >= two for one, two in pairwise(keys)):
            if len({dim._short for dim in dims}) < len(dims):
                return "two dims have one name", [("dims", list(map(repr, dims)))]
            return "the dims are not in canonical order", [("expected", _names(sort_dims(dims)))]
    return None


def _full_complaint(node: Node) -> Complaint | None:
    for dim in node.dims:
        if not isinstance(dim, Dim):
            return f"{dim!r} is not a dim", []
    try:
        hash(node.attrs)
    except TypeError as error:
        return "the attributes are not hashable", [("why", error)]
    kind = KINDS[node.kind]
    if not isinstance(node.attrs, kind.attrs):
        return "the attributes are of another type", [
            ("attributes", repr(node.attrs)),
            ("expected", getattr(kind.attrs, "__name__", kind.attrs)),
        ]
    wrong = kind.complaint(node)
    if wrong is not None:
        return wrong, []
    try:
        dims, dtype, categories = kind.infer(node.inputs, node.attrs)
    except Exception as error:  # any error must name the node
        return "inference rejects the node", [("why", f"{type(error).__name__}: {error}")]
    for what, has, inferred in (
        ("other dims", node.dims, dims),
        ("another dtype", node.dtype, dtype),
        ("other categories", node.categories, categories),
    ):
        if has != inferred:
            return f"inference gives {what}", [("the node has", has), ("inference", inferred)]
    if make(node.kind, node.inputs, node.attrs) is not node:
        return "it is not the interned node of its kind, inputs and attributes", []
    return None


def _names(dims: Dims) -> str:
    return "{" + ", ".join(map(repr, dims)) + "}"


# -- regions ---------------------------------------------------------------------------------------


def open_region(region: Region) -> str | None:
    """Return a complaint if a region is not closed; its nodes are verified, too.

    Inputs of rebuilt graphs may be positions of labels, which a region need not capture.
    """
    verify_graph(region.outputs, full=True)
    for node in toposort(region.outputs, stop=region.bound):
        if node.kind == "input" and node.attrs.token == REBUILT:
            continue
        if node.kind in (*LEAF_KINDS, "bound") and node not in region.bound:
            return f"its body depends on {node_text(node)}, which is outside of it"
    return None
