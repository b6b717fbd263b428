"""What a node does, as a call with labelled arguments: what printers and pictures are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import DerivedDim, Dim, Dims, ProductDim
from dimtensor.dims.selection import LateSlice, Selection
from dimtensor.errors import listing, plain_repr
from dimtensor.graph import attrs as at
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.graph.node import Node
from dimtensor.graph.regions import LoopAttrs, split_derivative, split_inputs

DimRef = Callable[[Dim], str]

SHOWN_VALUES = 3


class Call(NamedTuple):
    """An operation, its operands with the part they play in it, and its options as text."""

    name: str
    operands: list[tuple[str, Node]]
    options: list[tuple[str, str]]


def short_ref(dim: Dim) -> str:
    """Reference to a dim where nothing else of its name is near."""
    return dim.short


def call_of(node: Node, ref: DimRef = short_ref) -> Call:
    """The operation of a node.

    Parameters
    ----------
    node : Node
    ref : callable
        How dims are referred to.
    """
    function = _CALLS.get(node.kind)
    if function is not None:
        return function(node, ref)
    options = [] if node.attrs is None else [("", attr_text(node.attrs, ref))]
    return Call(node.kind, _plain(node.inputs), options)


def _plain(inputs: tuple[Node, ...]) -> list[tuple[str, Node]]:
    return [("", x) for x in inputs]


def _set(dims: Dims, ref: DimRef) -> str:
    return "{" + ", ".join(map(ref, dims)) + "}"


# -- dims and attributes as text -------------------------------------------------------------------


def dim_text(dim: Dim, ref: DimRef = short_ref) -> str:
    """The recipe of a dim, the dims it is derived from by reference; no labels are derived."""
    if isinstance(dim, DerivedDim):
        return dim.text([ref(parent) for parent in dim.parents])
    return repr(dim)


def attr_text(value: Any, ref: DimRef = short_ref) -> str:
    """Any attribute as text that is the same in every process."""
    if isinstance(value, Dim):
        return ref(value)
    if isinstance(value, Node):
        return f"<{value.kind}>"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = (f"{k}={attr_text(v, ref)}" for k, v in zip(value._fields, value, strict=True))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(attr_text(item, ref) for item in value) + "]"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(attr_text(item, ref) for item in value)) + "}"
    if isinstance(value, np.ndarray):
        return f"[{listing(value.ravel(), SHOWN_VALUES)}]"
    if isinstance(value, (str, int, float, complex, bool, bytes, type(None), np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, Selection):
        return value.text
    return function_name(value)


def function_name(value: Any) -> str:
    """Name of a function or function-like object, without addresses."""
    path = getattr(value, "path", None)
    if isinstance(path, str):
        return path.rpartition(":")[2]
    graph = getattr(value, "graph", None)
    if graph is not None and hasattr(graph, "toposort"):
        return "+".join(op_name(apply.op) for apply in graph.toposort()) or "identity"
    return getattr(value, "__qualname__", None) or type(value).__name__


def op_name(op: Any) -> str:
    """Name of a positional op."""
    scalar = getattr(op, "scalar_op", None)
    return str(getattr(scalar, "name", None) or type(scalar or op).__name__)


def constant_text(node: Node) -> str:
    """The number of a constant, with its dtype where that is not the usual one of its kind."""
    number = node.attrs.value.item()
    if node.dtype in ("bool", "int64", "float64", "complex128"):
        return repr(number)
    return f"{node.dtype}({number!r})"


def label_text(node: Node) -> str | None:
    """``country['USA']`` for a constant label, None for everything else."""
    if node.kind != "codes" or node.attrs is None:
        return None
    (x,) = node.inputs
    dim = node.attrs
    if x.kind == "label_position":
        return f"{dim.short}[{plain_repr(x.attrs.labels[0])}]"
    if x.kind != "constant":
        return None
    position = int(x.attrs.value)
    if isinstance(dim, ProductDim) or dim.coords is None or position >= len(dim.coords):
        return f"{dim.short}[{position}]"
    return f"{dim.short}[{listing(dim.coords[position : position + 1])}]"


# -- one function per kind -------------------------------------------------------------------------


def _input(node: Node, ref: DimRef) -> Call:
    return Call("input", [], _categories(node.categories, ref))


def _categories(dim: Dim | None, ref: DimRef) -> list[tuple[str, str]]:
    return [] if dim is None else [("labels of", ref(dim))]


def _data(node: Node, ref: DimRef) -> Call:
    values: np.ndarray = node.attrs.values
    shown = [v.item() for v in values.ravel()[:SHOWN_VALUES]]
    text = ", ".join(f"{v:.6g}" if isinstance(v, float) else repr(v) for v in shown)
    more = ", …" if values.size > SHOWN_VALUES else ""
    return Call("data", [], [("", f"[{text}{more}]"), *_categories(node.categories, ref)])


def _constant(node: Node, ref: DimRef) -> Call:
    return Call("constant", [], [("", constant_text(node))])


def _shaped(node: Node, ref: DimRef) -> Call:
    variable = node.attrs.variable
    owner = getattr(variable, "owner", None)
    source = variable.name or (op_name(owner.op) if owner is not None else "variable")
    axes = "[" + ", ".join(map(ref, node.attrs.dims)) + "]"
    return Call("from_shaped", [], [("", source), ("axes", axes)])


def _of_dim(node: Node, ref: DimRef) -> Call:
    return Call(node.kind, [], [("", ref(node.attrs))])


def _label_position(node: Node, ref: DimRef) -> Call:
    dim, labels, role = node.attrs
    if role == "one":
        return Call("position", [], [(ref(dim), listing(labels))])
    if role == "many":
        return Call("position", [], [(ref(dim), f"[{listing(labels, 4)}]")])
    return Call(role, [], [(ref(dim), LateSlice(*labels).text)])


def _elemwise(node: Node, ref: DimRef) -> Call:
    return Call(node.attrs, _plain(node.inputs), [])


def _cast(node: Node, ref: DimRef) -> Call:
    return Call("cast", _plain(node.inputs), [("", node.attrs)])


def _codes(node: Node, ref: DimRef) -> Call:
    if node.attrs is None:
        return Call("codes", _plain(node.inputs), [])
    return Call("labels", _plain(node.inputs), [("of", ref(node.attrs))])


def _check(node: Node, ref: DimRef) -> Call:
    x, *conditions = node.inputs
    operands = [("", x), *(("condition", condition) for condition in conditions)]
    return Call("check", operands, [("", repr(node.attrs))])


def _reduce(node: Node, ref: DimRef) -> Call:
    name, dims = node.attrs
    return Call(name, _plain(node.inputs), [("over", _set(dims, ref))])


def _along(node: Node, ref: DimRef) -> Call:
    name, dim = node.attrs
    return Call(name, _plain(node.inputs), [("along", ref(dim))])


def _sort(node: Node, ref: DimRef) -> Call:
    return Call(node.kind, _plain(node.inputs), [("along", ref(node.attrs[0]))])


def _expand(node: Node, ref: DimRef) -> Call:
    return Call("expand", _plain(node.inputs), [("over", _set(node.attrs, ref))])


def _relabel(node: Node, ref: DimRef) -> Call:
    pairs = [(ref(old), ref(new)) for old, new in node.attrs]
    return Call("rename", _plain(node.inputs), pairs)


def _items(
    items: tuple[at.IndexItem, ...], indexers: tuple[Node, ...], ref: DimRef
) -> tuple[list[tuple[str, Node]], list[tuple[str, str]]]:
    operands, options = [], []
    for item in items:
        if item.kind in ("tensor", "mask"):
            operands.append((ref(item.dim), indexers[item.payload]))
        elif item.kind == "int":
            options.append((ref(item.dim), str(item.payload)))
        else:
            options.append((ref(item.dim), item.payload.text))
    return operands, options


def _index(node: Node, ref: DimRef) -> Call:
    x, *indexers = node.inputs
    operands, options = _items(node.attrs, tuple(indexers), ref)
    return Call("index", [("", x), *operands], options)


def _update(node: Node, ref: DimRef) -> Call:
    mode, items = node.attrs
    x, value, *indexers = node.inputs
    operands, options = _items(items, tuple(indexers), ref)
    return Call(mode, [("", x), ("value", value), *operands], options)


def _merge(node: Node, ref: DimRef) -> Call:
    name = {"merge": "ravel", "split": "unravel"}.get(node.kind, node.kind)
    return Call(name, _plain(node.inputs), [("", ref(node.attrs))])


def _concat(node: Node, ref: DimRef) -> Call:
    return Call("concat", _plain(node.inputs), [("along", ref(node.attrs[1]))])


def _stack(node: Node, ref: DimRef) -> Call:
    return Call("stack", _plain(node.inputs), [("along", ref(node.attrs))])


def _dot(node: Node, ref: DimRef) -> Call:
    return Call("dot", _plain(node.inputs), [("over", _set(node.attrs, ref))])


def _apply(node: Node, ref: DimRef) -> Call:
    attrs: at.ApplyAttrs = node.attrs
    cores = [f"({', '.join(map(ref, core))})" for core in (*attrs.core_in, attrs.core_out)]
    options = [("core", f"{' '.join(cores[:-1])} -> {cores[-1]}")]
    if attrs.output:
        options.append(("output", str(attrs.output)))
    return Call(attrs.name or function_name(attrs.function), _plain(node.inputs), options)


def _group_position(node: Node, ref: DimRef) -> Call:
    x, codes = node.inputs
    which, along, _ = node.attrs
    return Call(f"group_{which}", [("", x), ("by", codes)], [("along", ref(along))])


def _derivative(node: Node, ref: DimRef) -> Call:
    """A derivative in one line; what it is taken of is in its region, see `shown`."""
    given = split_derivative(node.attrs, node.inputs)
    operands = [("at", x) for x in given.wrt]
    operands += [(f"c{at}", x) for at, x in enumerate(given.captured)]
    role = "tangent" if node.kind == "pushforward" else "cotangent"
    operands += [(role, x) for x in given.directions]
    name = "jvp" if node.kind == "pushforward" else node.kind
    return Call(name, operands, _number_of(node))


def _number_of(node: Node) -> list[tuple[str, str]]:
    attrs = node.attrs
    if node.kind != "gradient" or attrs.n_wrt == 1:
        return []
    return [("of", f"{attrs.output + 1}/{attrs.n_wrt}")]


def _shown(node: Node, ref: DimRef) -> Call:
    attrs: at.ShownAttrs = node.attrs
    return Call(attrs.name, list(zip(attrs.roles, node.inputs, strict=True)), list(attrs.options))


def _bound(node: Node, ref: DimRef) -> Call:
    return Call("bound", [], [("", str(node.attrs.number))])


def loop_name(attrs: LoopAttrs) -> str:
    """What a loop is called."""
    if attrs.over is not None:
        return "scan"
    return "while" if attrs.stops else "fori"


def _loop(node: Node, ref: DimRef) -> Call:
    attrs: LoopAttrs = node.attrs
    given = split_inputs(attrs, node.inputs)
    operands = [("steps", given.n_steps), ("go", given.go)]
    operands = [(role, x) for role, x in operands if x is not None]
    names = bound_names(node)
    operands += list(zip(names[0], (*given.init, *given.sequences, *given.captured), strict=True))
    options = [] if attrs.over is None else [("over", ref(attrs.over))]
    settings = {
        "reverse": attrs.reverse,
        "checkpoint": Checkpoints.of_attrs(attrs.checkpoint),
        "truncate": attrs.truncate,
    }
    options += [(name, str(value)) for name, value in settings.items() if value]
    made, at = "state", attrs.output
    if at >= attrs.n_states:
        made, at = "trace", at - attrs.n_states
    options.append((made, str(at)))
    return Call(loop_name(attrs), operands, options)


def _cond(node: Node, ref: DimRef) -> Call:
    condition, *others = node.inputs
    names = bound_names(node)[0]
    operands = [("", condition), *zip(names, others, strict=True)]
    return Call("if_else", operands, [("output", str(node.attrs.output))])


def captured_of(node: Node) -> tuple[Node, ...]:
    """What the bodies of a loop or conditional reach outside."""
    if node.kind == "cond":
        return node.inputs[1:]
    return split_inputs(node.attrs, node.inputs).captured


def bound_names(node: Node) -> tuple[list[str], list[tuple[str, list[str], list[Node]]]]:
    """How bound leaves of a loop or conditional are called, and its bodies: name and outputs."""
    if node.kind == "cond":
        names = [f"c{at}" for at in range(len(node.inputs) - 1)]
        regions = [("then", node.attrs.then), ("else", node.attrs.otherwise)]
        return names, [
            (name, [str(at) for at in range(len(region.outputs))], list(region.outputs))
            for name, region in regions
        ]
    attrs: LoopAttrs = node.attrs
    counts = {"s": attrs.n_states, "x": attrs.n_sequences}
    counts["c"] = len(attrs.region.bound) - sum(counts.values())
    names = [f"{letter}{at}" for letter, count in counts.items() for at in range(count)]
    results = [f"s{at}" for at in range(attrs.n_states)]
    results += [f"y{at}" for at in range(attrs.n_traces)]
    results += ["go on"] * attrs.stops
    results += [f"s{at} before" for at in range(attrs.n_states * attrs.inverse)]
    return names, [("body", results, list(attrs.region.outputs))]


_CALLS: dict[str, Callable[[Node, DimRef], Call]] = {
    "input": _input,
    "data": _data,
    "constant": _constant,
    "shaped": _shaped,
    "length": _of_dim,
    "positions": _of_dim,
    "label_position": _label_position,
    "elemwise": _elemwise,
    "cast": _cast,
    "codes": _codes,
    "check": _check,
    "reduce": _reduce,
    "cumulate": _along,
    "arg_reduce": _along,
    "sort": _sort,
    "argsort": _sort,
    "expand": _expand,
    "relabel": _relabel,
    "index": _index,
    "update": _update,
    "merge": _merge,
    "split": _merge,
    "concat": _concat,
    "stack": _stack,
    "dot": _dot,
    "apply": _apply,
    "group_position": _group_position,
    "gradient": _derivative,
    "jacobian": _derivative,
    "pushforward": _derivative,
    "shown": _shown,
    "bound": _bound,
    "loop": _loop,
    "cond": _cond,
}
