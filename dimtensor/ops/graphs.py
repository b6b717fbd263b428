"""Positional graphs: expressions replaced by others, and equal ones made one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FrozenFunctionGraph, FunctionGraph
from pytensor.graph.traversal import graph_inputs, io_toposort
from pytensor.tensor.elemwise import Elemwise

from dimtensor.ops.facts import facts_of
from dimtensor.tuning import IDENTIFIED_CONSTANT
from dimtensor.upstream.freezing import frozen_graph, signature

_COTANGENT = "dimtensor_cotangent"  # in the tag of a product: the position of the operand
_COTANGENTS = "dimtensor_cotangents"  # of a frozen graph: the products of it that have the note


def tag_of(x: Variable | Apply) -> dict[str, Any]:
    """Return the notes on a variable or a node, by name.

    PyTensor's tags call a function in Python for each look at one of their attributes.
    """
    found: dict[str, Any] = object.__getattribute__(x.tag, "__dict__")
    return found


def with_inputs(node: Apply, inputs: list[Variable]) -> Apply:
    """Copy a node with other inputs, and with the notes on the node and its outputs.

    Where types are the same this takes half as long as PyTensor's ``clone_with_new_inputs``.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, y = pt.dvectors("x", "y")
    >>> with_inputs(pt.exp(x).owner, [y]).inputs
    [y]
    """
    pairs = zip(inputs, node.inputs, strict=True)
    if not all(new.type is old.type or new.type == old.type for new, old in pairs):
        made = node.clone_with_new_inputs(inputs)
        for old, new in zip(node.outputs, made.outputs, strict=True):
            pass_on(old, new)
        return made
    outputs = [type(x)(type=x.type, owner=None, index=None, name=x.name) for x in node.outputs]
    made = Apply(node.op, inputs, outputs)
    tag_of(made).update(tag_of(node))
    for old, new in zip(node.outputs, outputs, strict=True):
        tag_of(new).update(tag_of(old))
    return made


def inputs_of(variable: Variable) -> list[Variable]:
    """Direct inputs of a variable's node; none for a root of the graph."""
    return [] if variable.owner is None else variable.owner.inputs


def nodes_of(graph: FunctionGraph, *kinds: type) -> list[Apply]:
    """Nodes whose operations are of some kinds, in topological order.

    Most graphs have none or one, and need not be put in order for that.
    """
    present = {type(node.op) for node in graph.apply_nodes}
    wanted = {kind for kind in present if issubclass(kind, kinds)}
    found = [node for node in graph.apply_nodes if type(node.op) in wanted] if wanted else []
    if len(found) < 2:
        return found
    chosen = set(found)
    return [node for node in graph.toposort() if node in chosen]


# what takes the place of a node's outputs; None keeps the node
type Rewritten = Variable | Sequence[Variable] | None


def replace_nodes(
    graph: FunctionGraph,
    nodes: Iterable[Apply],
    rewritten: Callable[[Apply], Rewritten],
    reason: str,
) -> bool:
    """Replace nodes of a graph one after the other, and return whether any has changed.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    nodes : iterable of Apply
        Nodes that an earlier replacement has removed are skipped.
    rewritten : callable
        Gets a node; returns what takes the place of its outputs, or None to keep the node.
    reason : str
    """
    changed = False
    for node in nodes:
        found = rewritten(node) if node in graph.apply_nodes else None
        if found is None:
            continue
        results = [found] if isinstance(found, Variable) else found
        for old, new in zip(node.outputs, results, strict=True):
            graph.replace(old, old.type.filter_variable(new), reason=reason, import_missing=True)
        changed = True
    return changed


def on_nodes(
    *kinds: type,
) -> Callable[[Callable[[Apply], Rewritten]], Callable[[FunctionGraph], bool]]:
    """Make a step over a graph of a function that rewrites a node of some kinds.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> @on_nodes(pt.exp.__class__)
    ... def operands(node):
    ...     return node.inputs[0] if node.op == pt.exp else None
    >>> x = pt.dscalar("x")
    >>> graph = FunctionGraph([x], [pt.log(pt.exp(x))], clone=False)
    >>> operands(graph), [str(node.op) for node in graph.toposort()]
    (True, ['Log'])
    """

    def decorate(function: Callable[[Apply], Rewritten]) -> Callable[[FunctionGraph], bool]:
        @functools.wraps(function)
        def step(graph: FunctionGraph) -> bool:
            return replace_nodes(graph, nodes_of(graph, *kinds), function, function.__name__)

        return step

    return decorate


def replace_variables(
    graph: FunctionGraph, replacements: Mapping[Variable, Variable], reason: str = "loops"
) -> None:
    """Put variables in the place of others, as far as the graph has these."""
    for old, new in replacements.items():
        if old in graph.variables and old is not new:
            graph.replace(old, new, reason=reason, import_missing=True)


def set_outputs(graph: FunctionGraph, outputs: Sequence[Variable], reason: str) -> None:
    """Replace the outputs of a graph by others.

    `FunctionGraph.replace` takes what is not needed any more out node by node, and each is looked
    for among all readers of its inputs: of a number that all nodes read, the square of them. Here
    the graph is filled anew.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> graph = FunctionGraph([x], [pt.exp(x) + x], clone=False)
    >>> set_outputs(graph, [pt.log(x)], "example")
    >>> len(graph.apply_nodes), len(graph.clients[x])
    (1, 1)
    """
    for node in graph.apply_nodes:
        graph.execute_callbacks("on_prune", node, reason)
    graph.apply_nodes.clear()
    graph.variables.clear()
    graph.clients.clear()
    graph.outputs.clear()
    graph.clients.update((x, []) for x in graph.inputs)
    for output in outputs:
        graph.add_output(output, reason=reason, import_missing=True)


def computation(op: Any, inputs: Sequence[Hashable]) -> Hashable:
    """Return a key that two applications of operations share if they compute the same.

    The first two operands of sums and products may be exchanged; the others are added in turn.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> computation(pt.add, ["x", "y"]) == computation(pt.add, ["y", "x"])
    True
    >>> computation(pt.sub, ["x", "y"]) == computation(pt.sub, ["y", "x"])
    False
    """
    if len(inputs) > 1 and isinstance(op, Elemwise) and facts_of(op.scalar_op).commutes:
        return (op, frozenset(inputs[:2]), *inputs[2:])
    return (op, *inputs)


def shared(outputs: Sequence[Variable]) -> list[Variable]:
    """Merge equal nodes in the graph of outputs.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> one, two = shared([pt.exp(x + y), pt.exp(y + x)])
    >>> one is two
    True
    """
    known: dict[Hashable, list[Variable]] = {}
    found: dict[Variable, Variable] = {}
    for node in io_toposort([], list(outputs)):
        inputs = [found.get(x, x) for x in node.inputs]
        key = computation(node.op, [_key(x) for x in inputs])
        made = known.get(key)
        if made is None or any(a.type != b.type for a, b in zip(made, node.outputs, strict=True)):
            changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
            made = with_inputs(node, inputs).outputs if changed else node.outputs
            known[key] = made
        for old, new in zip(node.outputs, made, strict=True):
            if old is not new:
                found[old] = new
    return [found.get(x, x) for x in outputs]


def merge_equal(graph: FunctionGraph) -> None:
    """Make nodes of a graph that compute the same one, in place.

    PyTensor's merging compares constants by `==`, for which zeros of both signs are equal, and
    leaves a feature behind that is told of every later change.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> graph = FunctionGraph([x], [pt.exp(x), pt.exp(x), x + 0.0, x + -0.0], clone=False)
    >>> merge_equal(graph)
    >>> len(graph.apply_nodes)
    3
    """
    found = shared(graph.outputs)
    if any(new is not old for new, old in zip(found, graph.outputs, strict=True)):
        set_outputs(graph, found, "merge_equal")


def identities(
    outputs: Sequence[Variable], replace: Mapping[Variable, Variable] | None = None
) -> list[Hashable]:
    """Something for each output that those have in common that compute the same.

    Parameters
    ----------
    outputs : sequence of Variable
    replace : mapping of Variable to Variable, optional
        Inputs, and what is taken for them.

    Notes
    -----
    Computations are numbered; no node is made.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> one, two, three = identities([pt.exp(x + y), pt.exp(y + x), pt.exp(x)])
    >>> one == two, one == three
    (True, False)
    >>> one, two = identities([pt.exp(x), pt.exp(y)], {y: x})
    >>> one == two
    True
    """
    found: dict[Variable, Hashable] = {x: _key(by) for x, by in (replace or {}).items()}
    numbers: dict[Hashable, int] = {}
    for node in io_toposort([], list(outputs)):
        inputs = [found[x] if x in found else _key(x) for x in node.inputs]
        key = computation(node.op, inputs), tuple(x.type for x in node.outputs)
        number = numbers.setdefault(key, len(numbers))
        found.update((x, (number, at)) for at, x in enumerate(node.outputs))
    return [found[x] if x in found else _key(x) for x in outputs]


def _key(variable: Variable) -> Hashable:
    """Identity of a variable; small constants are identified by value."""
    if not isinstance(variable, Constant):
        return variable
    data: Any = variable.data
    if getattr(data, "size", IDENTIFIED_CONSTANT) >= IDENTIFIED_CONSTANT or data.dtype.hasobject:
        return variable
    return signature(variable)


def replaced(outputs: Sequence[Variable], replace: Mapping[Variable, Variable]) -> list[Variable]:
    """Replace variables in the graph of outputs, all at once.

    What depends on none of the variables stays the same object, and so does what takes their place:
    a derivative with respect to it finds it. The time is that of one walk, whatever the depth.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> same, new = replaced([pt.exp(y), x + pt.exp(y)], {x: y * 2})
    >>> float(new.eval({y: 0.0}, mode="FAST_COMPILE"))
    1.0
    """
    if not replace:
        return list(outputs)
    found: dict[Variable, Variable] = dict(replace)
    stack = [v for v in reversed(outputs) if v not in found]
    while stack:
        variable = stack[-1]
        if variable in found:
            stack.pop()
            continue
        node = variable.owner
        if node is None:
            found[variable] = variable
            stack.pop()
            continue
        missing = [v for v in node.inputs if v not in found]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        inputs = [found[v] for v in node.inputs]
        if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            made = node.outputs
        else:
            made = with_inputs(node, inputs).outputs
        for old, new in zip(node.outputs, made, strict=True):
            found.setdefault(old, new)
    return [found[v] for v in outputs]


def cotangent_of(product: Variable) -> int | None:
    """Return the number of a product's operand that is noted as a cotangent, None without one.

    Where it is zero, the other operands have no influence on the product, whatever that is
    multiplied by in turn: an infinity, in reverse mode over reverse mode.
    """
    return tag_of(product).get(_COTANGENT)


def note_cotangent(product: Variable, at: int) -> None:
    """Note on a product which operand is such a cotangent."""
    tag_of(product)[_COTANGENT] = at


def pass_on(old: Variable, new: Variable) -> None:
    """Copy the note on a product to one of the same operands."""
    at = cotangent_of(old)
    if at is not None:
        note_cotangent(new, at)


def freeze(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FrozenFunctionGraph:
    """Freeze the graph from inputs to outputs, with equal nodes merged.

    Frozen graphs share their nodes, so each graph stores the notes on cotangents itself.
    """
    nodes = io_toposort(list(inputs), list(outputs))
    graph = frozen_graph(inputs, outputs, nodes)
    found = {}
    for node, frozen in zip(nodes, graph.toposort(), strict=True):
        at = cotangent_of(node.outputs[0])
        if at is not None:
            found[frozen.outputs[0]] = at
    if found:
        setattr(graph, _COTANGENTS, found)
    return graph


def bound(
    graph: FrozenFunctionGraph, values: Sequence[Variable]
) -> tuple[list[Variable], dict[Variable, Variable]]:
    """Bind a frozen graph to values; returns outputs and a map from frozen to new variables.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> product = x * y
    >>> note_cotangent(product, 1)
    >>> (outputs, _) = bound(freeze([x, y], [product + x]), [y, x])
    >>> cotangent_of(outputs[0].owner.inputs[0])
    1
    """
    outputs, memo = graph.bind(list(values), return_memo=True)
    for variable, at in getattr(graph, _COTANGENTS, {}).items():
        note_cotangent(memo[variable], at)
    return outputs, {old: new for old, new in memo.items() if isinstance(old, Variable)}


def reduced_axes_of(node: Apply) -> list[int]:
    """Return the axes that a reduction reduces."""
    reduction: Any = node.op
    axis, ndim = reduction.axis, node.inputs[0].type.ndim
    return list(range(ndim)) if axis is None else sorted(each % ndim for each in axis)


def shared_variables(outputs: Sequence[Variable], known: Collection[Variable]) -> list[Any]:
    """Return PyTensor's shared variables that outputs depend on, without known ones."""
    return [v for v in graph_inputs(outputs) if hasattr(v, "get_value") and v not in known]
