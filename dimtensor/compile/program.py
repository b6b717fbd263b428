"""Programs: positional graphs of outputs, with the information that calls need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs

from dimtensor.backends import backend_of
from dimtensor.compile.arguments import Source
from dimtensor.dims import Dim, Dims, SelDim, has_run_time_length, mask_keys
from dimtensor.errors import GraphError
from dimtensor.graph import Node, leaves, toposort
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.checking.checks import Check
from dimtensor.graph.checking.lengths import Requirement, length_requirements, relabeled_dims
from dimtensor.graph.checking.positions import indexed_leaves
from dimtensor.graph.checking.verify import full_checks
from dimtensor.graph.infer import describe
from dimtensor.graph.kind import kind_of
from dimtensor.graph.walk import with_regions
from dimtensor.lower import Lowering, plan_axes
from dimtensor.lower.border import named_variable
from dimtensor.lower.context import DEFAULTS, LoweringOptions
from dimtensor.lower.layout.order import AxisOrder
from dimtensor.lower.verify import verify_program
from dimtensor.ops.graphs import shared


@dataclass(frozen=True)
class Slot:
    """Positional input of a program.

    Attributes
    ----------
    source : Node, Dim, LabelPosition or Source
        The input or data node, the Dim whose length it is, or the source of a hidden input, which
        is computed at each call.
    dims : tuple of Dim
        Its axes, in order.
    variable : Variable or None
        None for cached code.
    """

    source: Node | Dim | LabelPosition | Source
    dims: Dims
    variable: Variable | None = None


@dataclass
class Program:
    """Positional graph of outputs.

    Attributes
    ----------
    slots : list of Slot
        The positional inputs: inputs, dims given as inputs, data, hidden inputs.
    outputs : list of Variable
        The requested outputs, then masks (needed for labels), then checks. Empty for cached code.
    output_dims : list of tuple of Dim
        Axes of the requested outputs, in order.
    masks : list of Node
    checks : list of Check
        Checks whose conditions are the last outputs.
    indexed : list of (Node, Dim)
        Integer leaves that are used as positions along a dim, to be checked on the host.
    requirements : list of Requirement
        Requirements on late lengths.
    relabeled : list of (Dim, Dim)
        Pairs of a dim and its replacement, which must have the same length.
    static : bool
        Whether all lengths are independent of values; the length of a masked dim is not.
    grown : list of Dim
        Derived dims of late length, which may be longer than their parents.
    """

    slots: list[Slot]
    outputs: list[Variable]
    output_dims: list[Dims]
    order: AxisOrder
    masks: list[Node] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    indexed: list[tuple[Node, Dim]] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    relabeled: list[tuple[Dim, Dim]] = field(default_factory=list)
    static: bool = True
    grown: list[Dim] = field(default_factory=list)

    @property
    def inputs(self) -> list[Variable]:
        return [slot.variable for slot in self.slots if slot.variable is not None]

    @property
    def messages(self) -> list[str]:
        """Messages of the checks, in the same order."""
        return [check.message for check in self.checks]


def program_for(
    backend: str,
    inputs: Sequence[Node | Dim],
    outputs: Sequence[Node],
    lengths: Mapping[Dim, int] | None = None,
    order: AxisOrder | None = None,
    annotate: bool = False,
) -> Program:
    """Call :func:`build_program` for a backend."""
    options = LoweringOptions(backend_of(backend).target, annotate)
    return build_program(inputs, outputs, lengths, order, options)


def build_program(
    inputs: Sequence[Node | Dim],
    outputs: Sequence[Node],
    lengths: Mapping[Dim, int] | None = None,
    order: AxisOrder | None = None,
    options: LoweringOptions = DEFAULTS,
    given: int | None = None,
) -> Program:
    """Lower outputs to a positional graph.

    Parameters
    ----------
    inputs : sequence of Node or Dim
        Input nodes, in the order of the call; a Dim stands for its length.
    outputs : sequence of Node
    lengths : mapping of Dim to int, optional
        Lengths to specialize on.
    order : AxisOrder, optional
        The layout plan; by default it is computed.
    options : LoweringOptions
    given : int, optional
        Number of inputs whose values come with each call; by default all.

    Raises
    ------
    GraphError
        If the outputs need an input that is not given, or a length that no input determines.
    """
    lengths = dict(lengths or {})
    check_inputs(inputs, outputs)
    order = order or plan_axes(outputs, lengths)
    masks = masks_for_labels(outputs)
    data = [node for node in toposort([*outputs, *masks]) if node.kind == "data"]
    slots: dict[Any, Slot] = {}
    for source in [*inputs, *data]:
        slots[source] = _slot(source, order, lengths)

    def leaf(node: Node, dims: Dims) -> Variable:
        variable = slots[node].variable
        assert variable is not None
        return variable

    known: dict[Dim, Any] = dict(lengths)
    for source in inputs:
        if isinstance(source, Dim):
            known.setdefault(source, slots[source].variable)
    # lengths of data first: what is computed from them and data alone is computed once
    fixed = [*inputs[len(inputs) if given is None else given :], *data]
    told = {dim._unrenamed for node in leaves(outputs) for dim in node.dims}
    for source in [*fixed, *inputs]:
        if isinstance(source, Node):  # an input that no output uses may determine a length
            for axis, dim in enumerate(slots[source].dims):
                if dim.length is None and (source in fixed or dim._unrenamed not in told):
                    for name in (dim, dim._unrenamed):
                        known.setdefault(name, leaf(source, ()).shape[axis])
    lowering = Lowering([*outputs, *masks], order, leaf, known, check_shapes=True, options=options)
    variables = lowering.run()
    conditions = [condition for condition, _ in lowering.checks]
    if lowering.differentiates:
        both = shared([*variables, *conditions])
        variables, conditions = both[: len(variables)], both[len(variables) :]
    for position, variable in lowering.hidden.items():
        dims = () if position.role != "many" else (position.dim,)
        slots[position] = Slot(position, dims, variable)
    program = Program(
        slots=list(slots.values()),
        outputs=[*variables, *conditions],
        output_dims=[lowering.axes(node) for node in outputs],
        order=order,
        masks=masks,
        checks=[check for _, check in lowering.checks],
        **host_side(outputs),
    )
    if full_checks():
        verify_program(program.inputs, program.outputs, program.messages)
    return program


def host_side(outputs: Sequence[Node]) -> dict[str, Any]:
    """Collect the fields of a program that describe checks of a call before its code runs."""
    nodes = with_regions(toposort(outputs))
    dims = dict.fromkeys(dim for node in nodes for dim in _dims_within(node))
    return {
        "indexed": indexed_leaves(outputs) if any(map(_looks_up, nodes)) else [],
        "requirements": length_requirements(outputs) if any(map(_asks, nodes)) else [],
        "relabeled": relabeled_dims(nodes),
        "static": not any(map(has_run_time_length, dims)),
        "grown": [dim for dim in dims if _grows(dim)],
    }


def _slot(source: Node | Dim, order: AxisOrder, lengths: Mapping[Dim, int]) -> Slot:
    if isinstance(source, Dim):
        return Slot(source, (), named_variable(source.name, "int64", ()))
    if source.kind == "shaped":
        return Slot(source, source.attrs.dims, source.attrs.variable)
    dims = order.sort(source.dims)
    shape = tuple(dim.length if dim.length is not None else lengths.get(dim) for dim in dims)
    return Slot(source, dims, named_variable(source.name, source.dtype, shape))


def check_inputs(inputs: Sequence[Node | Dim], outputs: Sequence[Node]) -> None:
    """Check that all leaves of outputs are among the inputs, and that names are unique.

    Raises
    ------
    GraphError
        If an input is missing, is computed from others, or has the name of another one.
    """
    given = [source for source in inputs if isinstance(source, Node)]
    names: dict[str, Node] = {}
    for node in given:
        if node.kind not in ("input", "shaped") or (
            node.kind == "shaped" and node.attrs.variable.owner is not None
        ):
            raise GraphError(
                f"{describe(node)} is computed from other tensors and cannot be an input",
                hint="make inputs with dt.tensor, and use dt.substitute to cut a graph open",
            )
        if node.name is not None and names.setdefault(node.name, node) is not node:
            raise GraphError(
                f"two different inputs are named {node.name!r}",
                [("one", describe(names[node.name])), ("other", describe(node))],
                "give inputs of one function different names",
            )
    allowed = set(given)
    roots = {node.attrs.variable for node in given if node.kind == "shaped"}
    missing: list[str] = []
    found = leaves(outputs)
    streams = [x for x in found if x.kind == "input" and x.attrs.stream and x not in allowed]
    if streams:
        raise GraphError(
            "a stream has no values in memory",
            [("read in chunks", ", ".join(map(describe, streams)))],
            "log densities and models read streams, and functions where one is the value of an "
            "input",
        )
    for leaf in found:
        if leaf.kind == "input" and leaf not in allowed:
            missing.append(describe(leaf))
        if leaf.kind == "shaped":
            missing += [
                f"the positional variable {root}"
                for root in graph_inputs([leaf.attrs.variable])
                if not isinstance(root, Constant)
                and not hasattr(root, "get_value")
                and root not in roots
            ]
    if missing:
        raise GraphError(
            "the outputs depend on inputs that are not given",
            [("missing", ", ".join(dict.fromkeys(missing)))],
            "add them to the inputs of the function",
        )


def masks_for_labels(outputs: Sequence[Node]) -> list[Node]:
    """Return the masks that the labels of outputs depend on."""
    keys = [key for node in outputs for dim in node.dims for key in mask_keys(dim)]
    return list(dict.fromkeys(keys))


def _looks_up(node: Node) -> bool:
    selected = kind_of(node).selected(node)
    return selected is not None and bool(selected.looked_up())


def _asks(node: Node) -> bool:
    """Return True if a node has requirements on late lengths."""
    return any(True for _ in kind_of(node).requirements(node))


def _grows(dim: Dim) -> bool:
    open_ = dim.parents and dim.length is None
    return bool(open_) and not isinstance(dim, SelDim)


def _dims_within(node: Node) -> Iterator[Dim]:
    """Iterate over the dims of a node and those of its selection, which updates lack."""
    yield from node.dims
    selected = kind_of(node).selected(node)
    if selected is not None:
        yield from selected.new_dims().values()
