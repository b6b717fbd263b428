"""Canonical listing of the dims graph, independent of the process and the session's history.

Nodes are numbered in topological order and printed once each. In the graph the operands of
commutative operations are sorted by creation, which depends on the session; they are printed in a
canonical order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dimtensor.dims import Dim, SelDim, dim_labels
from dimtensor.dims.dim import AnonymousDim
from dimtensor.dims.selection import Mask, Positions
from dimtensor.graph import attrs as at
from dimtensor.graph.kind import commutes, kind_of
from dimtensor.graph.node import Node
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.printing.text import attr_text, call_of, constant_text, dim_text, label_text
from dimtensor.graph.regions import BoundAttrs, Region, regions_of
from dimtensor.graph.walk import LEAF_KINDS, toposort
from dimtensor.traversal import postorder
from dimtensor.tuning import COLUMN_WIDTH


def graph_text(outputs: Sequence[Node] | Mapping[str, Node]) -> str:
    """Print the graph of outputs.

    Parameters
    ----------
    outputs : sequence of Node, or mapping of str to Node

    Returns
    -------
    str
        Dims with their recipes, one line per node with the dims, lengths (``?`` for late ones) and
        dtype of its result, and the outputs.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> x = dt.tensor("x", dims=k)
    >>> print(graph_text([(x * 2 + x).sum().node]))
    dims:
      k: 2 = Dim('k', length=2)
    nodes:
      x  = input                {k: 2} float64
      %0 = multiply(x, 2.0)     {k: 2} float64
      %1 = add(x, %0)           {k: 2} float64
      %2 = sum(%1, dim={k})    {}     float64
    outputs: %2
    """
    named = dict(outputs) if isinstance(outputs, Mapping) else None
    roots = shown(list(outputs.values() if isinstance(outputs, Mapping) else outputs))
    names = References(roots)
    lines = _lines(names)
    refs = [names.node(root) for root in roots]
    if named is not None:
        refs = [f"{key}: {ref}" for key, ref in zip(named, refs, strict=True)]
    parts = []
    if names.dims:
        parts += ["dims:", *(f"  {line}" for line in _dim_lines(names))]
    parts += ["nodes:", *(f"  {line}" for line in _columns(lines))] if lines else []
    return "\n".join([*parts, f"outputs: {', '.join(refs)}"])


def node_text(node: Node) -> str:
    """Print one node in one line for error messages, even if the node is broken."""
    try:
        call = call_of(node)
        operands = [
            (f"{role}=" if role else "") + (x.name or f"<{x.kind}>") for role, x in call.operands
        ]
        if commutes(node):
            operands.sort()
        options = [f"{key}={text}" if key else text for key, text in call.options]
        return f"{call.name}({', '.join([*operands, *options])}) {_type_text(node, str_ref)}"
    except Exception:  # the error about a broken node must be reported
        kind = getattr(node, "kind", type(node).__name__)
        return f"<{kind} number {getattr(node, 'serial', '?')}>"


def str_ref(dim: Dim) -> str:
    """Return the name of a dim, or the repr of an object that is not a dim."""
    return dim._short if isinstance(dim, Dim) else repr(dim)


class References:
    """References to the nodes and dims of a graph.

    Attributes
    ----------
    printed : list of Node
        The nodes with a line of their own: all but constants and single labels.
    dims : dict of Dim to str
        References to dims in the order of first use, parents before derived dims.
    """

    def __init__(
        self,
        outputs: Sequence[Node],
        bound: Mapping[Node, str] | None = None,
        around: References | None = None,
        prefix: str = "%",
        first: int = 0,
    ):
        self._order = CanonicalOrder(outputs, bound)
        self.dims: dict[Dim, str] = {} if around is None else around.dims
        self._namesakes: dict[str | None, int] = {} if around is None else around._namesakes
        bound = bound or {}
        nodes = self._order.toposort(outputs)
        self._nodes: dict[Node, str] = {}
        leaf_names = [node.name for node in nodes if node.kind in LEAF_KINDS]
        labels = {i for node in nodes if label_text(node) is not None for i in node.inputs}
        used_otherwise = set(outputs)
        for node in nodes:
            if label_text(node) is None:
                used_otherwise.update(node.inputs)
        self.printed: list[Node] = []
        self.numbered = first
        for node in nodes:
            if node in labels and node not in used_otherwise:
                continue
            inline = constant_text(node) if node.kind == "constant" else label_text(node)
            if inline is not None or node in bound:
                self._nodes[node] = bound[node] if inline is None else inline
                continue
            self.printed.append(node)
            if node.name is not None and leaf_names.count(node.name) == 1:
                self._nodes[node] = node.name if node.name.isidentifier() else repr(node.name)
            else:
                self._nodes[node] = f"{prefix}{self.numbered}"
                self.numbered += 1

    def node(self, node: Node) -> str:
        ref = self._nodes.get(node)
        return ref if ref is not None else f"<{node.kind}>"

    def operands(self, node: Node) -> list[tuple[str, Node]]:
        """Return operands with their roles; commutative ones are in canonical order."""
        operands = call_of(node, self.dim).operands
        if regions_of(node):
            first = len(operands) - len(kind_of(node).captured(node))
            ranked = sorted(operands[first:], key=lambda pair: self._order.key(pair[1]))
            return [*operands[:first], *((f"c{at}", x) for at, (_, x) in enumerate(ranked))]
        if not commutes(node):
            return operands
        return sorted(operands, key=lambda pair: self._order.key(pair[1]))

    def bound(self, node: Node) -> list[str]:
        """Return the printed names of a node's bound leaves, by number."""
        captured = kind_of(node).captured(node)
        ranked = sorted(captured, key=self._order.key)
        names = kind_of(node).bound_names(node)
        return [*names[: len(names) - len(captured)], *(f"c{ranked.index(x)}" for x in captured)]

    def dim(self, dim: Dim) -> str:
        """Return a reference to a dim: its name, numbered if another dim has the same name."""
        known = self.dims.get(dim)
        if known is not None:
            return known
        for parent in dim.parents:
            self.dim(parent)
        count = self._namesakes.get(dim.name, 0)
        self._namesakes[dim.name] = count + 1
        if dim.name is None:
            ref = f"_{count}"
        else:
            ref = dim.name if count == 0 else f"{dim.name}#{count + 1}"
        self.dims[dim] = ref
        return ref


def _lines(names: References) -> list[tuple[str, str, str, str]]:
    """Make one line per node, with bodies indented below the first node of their loop."""
    lines = []
    known = set()
    for node in names.printed:
        lines.append(_line(node, names))
        if not regions_of(node):
            continue
        key = (node.inputs, node.attrs._replace(output=0))
        if key not in known:
            known.add(key)
            lines += _body_lines(node, names)
    return lines


def _body_lines(node: Node, around: References) -> list[tuple[str, str, str, str]]:
    called, bodies = around.bound(node), kind_of(node).bodies(node)
    lines = []
    first = 0
    for (title, keys, outputs), region in zip(bodies, regions_of(node), strict=True):
        bound = dict(zip(region.bound, called, strict=True))
        names = References(outputs, bound, around, f"{around.node(node)}.", first)
        first = names.numbered
        lines.append((f"  {title}:", "", "", ""))
        lines += [(f"    {line[0]}", *line[1:]) for line in _lines(names)]
        results = ", ".join(
            f"{key}: {names.node(output)}" for key, output in zip(keys, outputs, strict=True)
        )
        lines.append((f"    -> {results}", "", "", ""))
    return lines


def _line(node: Node, names: References) -> tuple[str, str, str, str]:
    call = call_of(node, names.dim)
    parts = [(f"{role}=" if role else "") + names.node(x) for role, x in names.operands(node)] + [
        f"{key}={text}" if key else text for key, text in call.options
    ]
    ref = names.node(node)
    title = ""
    if node.name is not None and ref.startswith("%"):
        title = f" {node.name!r}"
    arguments = f"({', '.join(parts)})" if parts else ""
    dims = _dims_text(node, names.dim)
    return ref, f"{call.name}{title}{arguments}", dims, str(node.dtype)


def _dims_text(node: Node, ref: Any) -> str:
    sizes = (f"{ref(dim)}: {'?' if dim.length is None else dim.length}" for dim in node.dims)
    return "{" + ", ".join(sizes) + "}"


def _type_text(node: Node, ref: Any) -> str:
    dims = ", ".join(ref(dim) for dim in node.dims)
    return f"{{{dims}}} {node.dtype}"


def _columns(lines: list[tuple[str, str, str, str]]) -> list[str]:
    ref_width = max(len(line[0]) for line in lines if line[1])
    widths = [min(max(len(line[at]) for line in lines), COLUMN_WIDTH) for at in (1, 2)]
    return [
        f"{ref:<{ref_width}} = {text:<{widths[0]}}    {dims:<{widths[1]}} {dtype}" if text else ref
        for ref, text, dims, dtype in lines
    ]


def _dim_lines(names: References) -> list[str]:
    heads = [
        f"{ref}: {'?' if dim.length is None else dim.length}" for dim, ref in names.dims.items()
    ]
    width = max(map(len, heads))
    return [
        f"{head:<{width}} = {_recipe(dim, names)}"
        for head, dim in zip(heads, names.dims, strict=True)
    ]


def _recipe(dim: Dim, names: References) -> str:
    if isinstance(dim, SelDim) and isinstance(dim.selection, Mask):
        return f"SelDim({names.dim(dim.parent)}, mask {names.node(dim.selection.key)})"
    return dim_text(dim, names.dim)


# -- canonical order of operands -------------------------------------------------------------------


_RANKS = {"input": 0, "bound": 0, "data": 1, "shaped": 1, "constant": 3}


class CanonicalOrder:
    """Canonical order of operands: inputs by name, data, computed nodes by structure, constants."""

    def __init__(self, outputs: Iterable[Node], bound: Mapping[Node, str] | None = None):
        self._bound = bound or {}
        self._digests: dict[Node, str] = {}
        self._structures: dict[Dim, str] = {}
        for node in toposort(outputs):
            self._digests[node] = self._digest(node)

    def key(self, node: Node) -> tuple:
        rank = 3 if label_text(node) is not None else _RANKS.get(node.kind, 2)
        name = node.name or (node.attrs if node.kind == "elemwise" else node.kind)
        name = self._bound.get(node, name)
        return (rank, str(name), self._digests.get(node, ""), node._serial)

    def toposort(self, outputs: Iterable[Node]) -> list[Node]:
        """Return every node after its inputs; commutative inputs are in canonical order."""
        return postorder(outputs, self._below)

    def _below(self, node: Node) -> Sequence[Node]:
        if node in self._bound:
            return ()
        return sorted(node.inputs, key=self.key) if commutes(node) else node.inputs

    def _digest(self, node: Node) -> str:
        if node in self._bound:
            return self._bound[node]
        inputs = [self._digests[i] for i in node.inputs]
        if commutes(node):
            inputs.sort()
        text = "\n".join([node.kind, self._structure(node.attrs), *inputs])
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()

    def _structure(self, value: Any) -> str:
        """Write an attribute so that equal texts mean equal values, except for unnamed objects."""
        if isinstance(value, Dim):
            return self._dim_structure(value)
        if isinstance(value, at.InputAttrs):
            return self._structure(tuple(value._replace(token=None)))
        if isinstance(value, at.DataAttrs):
            return self._structure(value._key[:-1]) + self._structure([d for d, _ in value.labels])
        if isinstance(value, at.ShapedAttrs):
            return self._structure((value.name, str(value.variable.type), value.dims))
        if isinstance(value, BoundAttrs):  # the numbers of captured inputs depend on history
            return self._structure((value.dims, value.dtype, value.categories))
        if isinstance(value, Region):
            inner = CanonicalOrder(value.outputs)
            return " ".join(inner._digests[node] for node in value.outputs)
        if isinstance(value, Positions):
            return str(value._key)
        if isinstance(value, (at.IndexAttrs, at.RelabelAttrs)):
            (value,) = value
        if isinstance(value, (tuple, list)):
            return "(" + ",".join(self._structure(item) for item in value) + ")"
        return attr_text(value, self._dim_structure)

    def _dim_structure(self, dim: Dim) -> str:
        known = self._structures.get(dim)
        if known is None:
            kind = type(dim).__name__
            if isinstance(dim, AnonymousDim):
                known = f"{kind}({dim.length})"
            elif isinstance(dim, SelDim):
                selection = self._structure(dim.selection)
                known = f"{kind}({self._dim_structure(dim.parent)},{selection})"
            elif dim.parents:
                known = f"{dim.name!r}{dim_text(dim, self._dim_structure)}"
            else:
                labels = dim_labels(dim)
                known = f"{kind}({dim.name!r},{dim.length},{labels.key if labels else None})"
            self._structures[dim] = known
        return known
