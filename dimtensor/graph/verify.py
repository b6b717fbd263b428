"""The verifier of the dims graph: what may exist in it, checked between the stages.

The cheap checks run whenever a graph is lowered. The full ones infer every node anew; they run
where the environment variable ``DIMTENSOR_VERIFY`` is 1, as in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from dimtensor.dims import Dim, Dims, sort_dims
from dimtensor.errors import GraphError, build_message
from dimtensor.graph import attrs as at
from dimtensor.graph.dtypes import DTYPES
from dimtensor.graph.node import INFERENCE, Node, make
from dimtensor.graph.printer import node_text
from dimtensor.graph.regions import DerivativeAttrs, LoopAttrs, Region, split_inputs
from dimtensor.graph.walk import LEAF_KINDS, toposort
from dimtensor.settings import settings

AttrCheck = Callable[[Node], str | None]
ATTR_CHECKS: dict[str, AttrCheck] = {}
_KNOWN_DTYPES = frozenset(DTYPES)


def attrs_of(*kinds: str) -> Callable[[AttrCheck], AttrCheck]:
    """Register what the attributes of a kind must satisfy: a function that returns a complaint."""

    def register(check: AttrCheck) -> AttrCheck:
        for kind in kinds:
            ATTR_CHECKS[kind] = check
        return check

    return register


def full_checks() -> bool:
    """Whether the full checks are asked for."""
    return settings().verify


def verify_graph(outputs: Sequence[Node], full: bool | None = None) -> None:
    """Check every node below some outputs.

    Parameters
    ----------
    outputs : sequence of Node
    full : bool, optional
        Also infer dims and dtype of every node anew and check its attributes; by default where
        ``DIMTENSOR_VERIFY`` asks for it.

    Raises
    ------
    GraphError
        If a node is not one that :func:`dimtensor.graph.make` makes; it is named.

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


def _error(node: Node, what: str, details: Iterable[tuple[str, object]] = ()) -> GraphError:
    lines = [("node", node_text(node)), *details]
    return GraphError(build_message(f"the dims graph is broken: {what}", lines))


def _nodes(outputs: Sequence[Node]) -> list[Node]:
    """All nodes, inputs first.

    An input is always older than its node; where that does not hold there may be a cycle, on which
    a walk would never end.
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
                if x.serial >= node.serial:
                    raise _error(node, "an input is not older than its node",
                                 [("input", node_text(x))])  # fmt: skip
                if x not in seen:
                    stack.append((x, False))
    return order


Complaint = tuple[str, list[tuple[str, object]]]


def _cheap_complaint(node: Node) -> Complaint | None:
    if node.kind not in INFERENCE:
        return f"there is no node kind {node.kind!r}", [("kinds", ", ".join(sorted(INFERENCE)))]
    if node.dtype not in _KNOWN_DTYPES:
        return f"{node.dtype!r} is not a dtype", []
    dims = node.dims
    if len(dims) > 1:
        keys = [dim.sort_key for dim in dims]
        if any(one >= two for one, two in pairwise(keys)):
            if len({dim.short for dim in dims}) < len(dims):
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
    check = ATTR_CHECKS.get(node.kind)
    wrong = check(node) if check is not None else None
    if wrong is not None:
        return wrong, []
    try:
        dims, dtype, categories = INFERENCE[node.kind](node.inputs, node.attrs)
    except Exception as error:  # whatever it is, the node it came from must be named
        return "inference refuses the node", [("why", f"{type(error).__name__}: {error}")]
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


# -- attributes ------------------------------------------------------------------------------------


def _lacking(dims: Iterable[Any], node: Node, owner: Dims, whose: str) -> str | None:
    """A complaint if one of the dims that attributes speak of is not there."""
    for dim in dims:
        if dim not in owner:
            return f"its attributes speak of {dim!r}, which {whose} lacks: {_names(owner)}"
    return None


def _in_first(dims: Iterable[Any], node: Node) -> str | None:
    return _lacking(dims, node, node.inputs[0].dims, "the operand")


def _count(node: Node, number: int) -> str | None:
    if len(node.inputs) != number:
        return f"{node.kind} takes {number} inputs, not {len(node.inputs)}"
    return None


@attrs_of("input", "constant", "length", "positions", "label_position", "bound")
def _leaf(node: Node) -> str | None:
    return _count(node, 0)


@attrs_of("elemwise", "cast", "codes", "expand")
def _without_dims(node: Node) -> str | None:
    return None if node.kind == "elemwise" else _count(node, 1)


@attrs_of("check")
def _check(node: Node) -> str | None:
    if type(node.attrs) is not str:
        return f"{node.attrs!r} is the attribute of a check"
    return _count(node, 2)


@attrs_of("shaped")
def _shaped(node: Node) -> str | None:
    shape = node.attrs.variable.type.shape
    if len(shape) != len(node.attrs.dims):
        return f"a variable of {len(shape)} axes has {len(node.attrs.dims)} dims"
    return _lengths(node.attrs.dims, shape)


@attrs_of("data")
def _data(node: Node) -> str | None:
    values = node.attrs.values
    if values.flags.writeable:
        return "its values can be overwritten"
    if values.ndim != len(node.attrs.dims):
        return f"values of {values.ndim} axes have {len(node.attrs.dims)} dims"
    return _lengths(node.attrs.dims, values.shape)


def _lengths(dims: Dims, shape: Sequence[int | None]) -> str | None:
    for dim, length in zip(dims, shape, strict=True):
        if None not in (dim.length, length) and dim.length != length:
            return f"{dim!r} has length {dim.length}, its axis {length}"
    return None


@attrs_of("reduce")
def _reduce(node: Node) -> str | None:
    return _count(node, 1) or _in_first(node.attrs[1], node)


@attrs_of("cumulate", "arg_reduce")
def _one_dim(node: Node) -> str | None:
    return _count(node, 1) or _in_first([node.attrs[1]], node)


@attrs_of("sort", "argsort")
def _sorted(node: Node) -> str | None:
    return _count(node, 1) or _in_first([node.attrs[0]], node)


@attrs_of("relabel")
def _relabel(node: Node) -> str | None:
    for old, new in node.attrs:
        if None not in (old.length, new.length) and old.length != new.length:
            return f"{old!r} of length {old.length} becomes {new!r} of length {new.length}"
    return _count(node, 1) or _in_first([old for old, _ in node.attrs], node)


@attrs_of("merge")
def _merge(node: Node) -> str | None:
    return _count(node, 1) or _in_first(node.attrs.factors, node)


@attrs_of("split")
def _split(node: Node) -> str | None:
    return _count(node, 1) or _in_first([node.attrs], node)


@attrs_of("concat")
def _concat(node: Node) -> str | None:
    parts, _ = node.attrs
    if len(parts) != len(node.inputs):
        return f"{len(node.inputs)} inputs are joined along {len(parts)} dims"
    for x, part in zip(node.inputs, parts, strict=True):
        wrong = _lacking([part], node, x.dims, node_text(x))
        if wrong is not None:
            return wrong
    return None


@attrs_of("stack")
def _stack(node: Node) -> str | None:
    if node.attrs.length is not None and node.attrs.length != len(node.inputs):
        return f"{len(node.inputs)} inputs are stacked along {node.attrs!r}"
    return None


@attrs_of("dot")
def _dot(node: Node) -> str | None:
    joint = tuple(dim for x in node.inputs for dim in x.dims)
    return _lacking(node.attrs, node, joint, "every operand")


@attrs_of("index")
def _index(node: Node) -> str | None:
    return _items(node, node.attrs, len(node.inputs) - 1)


@attrs_of("update")
def _update(node: Node) -> str | None:
    mode, items = node.attrs
    if mode not in ("set", "inc"):
        return f"there is no update mode {mode!r}"
    return _items(node, items, len(node.inputs) - 2)


def _items(node: Node, items: tuple[at.IndexItem, ...], indexers: int) -> str | None:
    if indexers < 0:
        return f"{len(node.inputs)} inputs are too few"
    named = [item.dim for item in items]
    if len(set(named)) != len(named):
        return f"a dim is indexed twice: {named}"
    for item in items:
        if item.kind not in ("int", "select", "mask", "tensor"):
            return f"there is no indexing kind {item.kind!r}"
        if item.kind in ("mask", "tensor") and not 0 <= item.payload < indexers:
            return f"indexer number {item.payload} of {indexers}"
    return _in_first(named, node)


@attrs_of("apply")
def _apply(node: Node) -> str | None:
    if len(node.attrs.core_in) != len(node.inputs):
        return f"{len(node.inputs)} inputs have {len(node.attrs.core_in)} sets of core dims"
    for x, core in zip(node.inputs, node.attrs.core_in, strict=True):
        wrong = _lacking(core, node, x.dims, node_text(x))
        if wrong is not None:
            return wrong
    return None


@attrs_of("group_position")
def _group_position(node: Node) -> str | None:
    return _count(node, 2) or _in_first([node.attrs[1]], node)


@attrs_of("gradient", "jacobian", "pushforward")
def _derivative(node: Node) -> str | None:
    attrs: DerivativeAttrs = node.attrs
    results = attrs.n_wrt if node.kind == "gradient" else 1
    if not 0 <= attrs.output < results:
        return f"{node.kind} number {attrs.output} of {results}"
    if node.kind == "jacobian" and attrs.n_wrt != 1:
        return f"a jacobian by {attrs.n_wrt} variables"
    bound = len(attrs.region.bound)
    given = len(node.inputs) - bound
    directions = {"gradient": min(given, 1), "jacobian": 0, "pushforward": attrs.n_wrt}
    if not attrs.n_wrt <= bound:
        return f"a {node.kind} by {attrs.n_wrt} of {bound} variables"
    return _count(node, bound + max(directions[node.kind], 0)) or _closed(attrs.region)


@attrs_of("shown")
def _shown(node: Node) -> str | None:
    return _count(node, len(node.attrs.roles))


@attrs_of("loop")
def _loop(node: Node) -> str | None:
    attrs: LoopAttrs = node.attrs
    if attrs.n_traces < 0 or not 0 <= attrs.output < attrs.n_states + attrs.n_traces:
        return f"output {attrs.output} of {attrs.n_states} states and {attrs.n_traces} traces"
    expected = attrs.counted + attrs.stops + len(attrs.region.bound)
    if attrs.over is None and attrs.n_sequences + attrs.n_traces:
        return "sequences and traces belong to loops along a dim"
    sequences = split_inputs(attrs, node.inputs).sequences
    for x in sequences:
        wrong = _lacking([attrs.over], node, x.dims, node_text(x))
        if wrong is not None:
            return wrong
    return _count(node, expected) or _closed(attrs.region)


@attrs_of("cond")
def _cond(node: Node) -> str | None:
    regions = (node.attrs.then, node.attrs.otherwise)
    return _count(node, 1 + len(regions[0].bound)) or _closed(regions[0]) or _closed(regions[1])


def _closed(region: Region) -> str | None:
    """A complaint if a region depends on what is not bound in it, or is broken itself."""
    verify_graph(region.outputs, full=True)
    for node in toposort(region.outputs, stop=region.bound):
        if node.kind in (*LEAF_KINDS, "bound") and node not in region.bound:
            return f"its body depends on {node_text(node)}, which is outside of it"
    return None
