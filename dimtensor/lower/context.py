"""Lowering of the dims graph to a positional PyTensor graph, node by node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.raise_op import CheckAndRaise

from dimtensor.dims import DerivedDim, Dim, Dims, SelDim, depends_on_mask
from dimtensor.dims.derivation import check_positions_of
from dimtensor.dims.selection import LateSlice, Mask, Slice
from dimtensor.errors import CheckError, GraphError
from dimtensor.graph import Node, leaves, toposort
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.checking.checks import Check
from dimtensor.graph.checking.positions import source_leaves
from dimtensor.graph.checking.verify import verify_graph
from dimtensor.graph.infer import describe
from dimtensor.graph.regions import DERIVATIVES
from dimtensor.graph.walk import LEAF_KINDS, with_regions
from dimtensor.lower.border import remember
from dimtensor.lower.layout.order import AxisOrder
from dimtensor.lower.verify import verify_variable
from dimtensor.ops.nodes import alloc
from dimtensor.ops.notes import write_note
from dimtensor.ops.slices import slice_length
from dimtensor.optimize.target import INTERPRETER, Target
from dimtensor.scopes import quiet

Rule = Callable[["Lowering", Node, list[Variable]], tuple[Variable, Dims]]
RULES: dict[str, Rule] = {}


@dataclass(frozen=True)
class LoweringOptions:
    """Options for the lowering of a graph.

    Attributes
    ----------
    target : Target
        The backend that runs it.
    annotate : bool
        Record dims and lines of the user's code on variables.
    remember : bool
        Record on variables the nodes that they were lowered from.
    """

    target: Target = INTERPRETER
    annotate: bool = False
    remember: bool = False


DEFAULTS = LoweringOptions()


def lowers(kind: str) -> Callable[[Rule], Rule]:
    """Register the lowering function of a node kind.

    The function takes the positional variables of the inputs, whose axes are in the plan's order,
    and returns a variable with the dims of its axes in any order.
    """

    def register(rule: Rule) -> Rule:
        RULES[kind] = rule
        return rule

    return register


class Lowering:
    """Lowering of one graph, with the positional variables of its nodes.

    Parameters
    ----------
    outputs : sequence of Node
    order : AxisOrder
        The layout plan.
    leaf : callable
        Returns the positional variable of an input or data node, with axes in the plan's order.
    lengths : mapping of Dim to Variable, optional
        Scalars for the lengths of dims that are not axes of a leaf.
    check_shapes : bool
        Whether to check that computed positional variables have the lengths of their dims.
    stop : collection of Node
        Nodes whose variables are given.
    options : LoweringOptions

    Attributes
    ----------
    hidden : dict of LabelPosition to Variable
        Integer inputs besides the leaves: positions of late labels.
    checks : list of (Variable, Check)
        Boolean scalars that are true in a valid run, and the checks that they belong to.
    """

    def __init__(
        self,
        outputs: Sequence[Node],
        order: AxisOrder,
        leaf: Callable[[Node, Dims], Variable],
        lengths: dict[Dim, Variable] | None = None,
        check_shapes: bool = False,
        stop: Collection[Node] = (),
        options: LoweringOptions = DEFAULTS,
    ):
        verify_graph(outputs)
        self.options = options
        self.may_not_run = self.in_steps = False
        self.order = order
        self._leaf = leaf
        self._check_shapes = check_shapes
        self._outputs = list(outputs)
        self._nodes = toposort(outputs, stop)
        self.differentiates = any(node.kind in DERIVATIVES for node in with_regions(self._nodes))
        self._carriers = self._find_carriers()
        self._replaced = self._find_replaced()
        self._lengths: dict[Dim, Any] = dict(lengths or {})
        self._sought: set[Dim] = set()
        self.variables: dict[Node, Variable] = {}
        self.shared: dict[Any, Any] = {}  # results shared by the outputs of one computation
        self.hidden: dict[LabelPosition, Variable] = {}
        self.checks: list[tuple[Variable, Check]] = []

    def run(self) -> list[Variable]:
        """Lower the graph and return the variables of the outputs, with axes in plan order."""
        quiet(self._run)  # PyTensor's constant folding may divide by lengths of 0
        if self.options.remember:
            for node, variable in self.variables.items():
                remember(variable, node)
        return [self.variables[node] for node in self._outputs]

    def _run(self) -> None:
        for node in self._nodes:
            self.variables[node] = self._lower(node)

    def variable(self, output: Node) -> Variable:
        """Return the variable of a node that depends on nodes of the graph."""
        for node in toposort([output]):
            if node not in self.variables:
                self.variables[node] = self._lower(node)
        return self.variables[output]

    def makes(self, node: Node) -> bool:
        """Return True if a node can be lowered from the leaves of this graph."""
        below = toposort([node], self.variables)
        needed = {x for x in below if x.kind in (*LEAF_KINDS, "bound")}
        return needed.difference(self.variables).issubset(self._nodes)

    def axes(self, node: Node) -> Dims:
        """Return the dims of the axes of a node's variable."""
        return self.order.sort(node.dims)

    def _lower(self, node: Node) -> Variable:
        if node.kind in ("input", "data", "shaped"):
            variable = self._leaf_variable(node)
        else:
            inputs = [self.variables[i] for i in node.inputs]
            rule = RULES.get(node.kind)
            if rule is None:
                raise GraphError(f"no lowering for nodes of kind {node.kind!r}")
            variable, dims = rule(self, node, inputs)
            variable = transpose(variable, dims, self.axes(node))
            if variable.type.dtype != node.dtype:
                variable = pt.cast(variable, node.dtype)
        verify_variable(node, variable, self.axes(node), self._lengths)
        if self.options.annotate:
            write_note(variable, node, self.axes(node))
        return variable

    def _leaf_variable(self, node: Node) -> Variable:
        if node.kind != "shaped":
            return self._leaf(node, self.axes(node))
        variable = node.attrs.variable
        if self._check_shapes and (_is_computed(node) or hasattr(variable, "get_value")):
            self.variables[node] = transpose(variable, node.attrs.dims, self.axes(node))
            variable = self._of_promised_shape(node, variable)
        return transpose(variable, node.attrs.dims, self.axes(node))

    def _of_promised_shape(self, node: Node, variable: Variable) -> Variable:
        """Add checks that a computed variable has the lengths of its dims."""
        for axis, dim in enumerate(node.attrs.dims):
            carrier = self._carriers.get(dim)
            known = dim.length is not None or (carrier is not None and carrier[0] is not node)
            if not known or variable.type.shape[axis] == dim.length is not None:
                continue
            variable = self.of_length(node, variable, axis, dim)
        return variable

    def of_length(self, node: Node, variable: Variable, axis: int, dim: Dim) -> Variable:
        """Check that the variable of a node has the length of a dim along an axis.

        Code relies on lengths, so the check precedes every use. It is a check of the program, too,
        for backends that cannot raise errors in their code.
        """
        fits = pt.eq(variable.shape[axis], self.length(dim))
        self.check(node, fits, dim)
        return CheckAndRaise(CheckError, Check(node, dim).message)(variable, fits)

    # -- lengths -------------------------------------------------------------------------------

    def _find_carriers(self) -> dict[Dim, tuple[Node, Dim]]:
        """Find for each dim a leaf and its axis that determine the length."""
        carriers: dict[Dim, tuple[Node, Dim]] = {}
        # computed variables determine lengths only if no other leaf does
        for leaf in sorted(leaves(self._outputs), key=_is_computed):
            for dim in leaf.dims:
                carriers.setdefault(dim, (leaf, dim))
                carriers.setdefault(dim._unrenamed, (leaf, dim))
        return carriers

    def _find_replaced(self) -> dict[Dim, dict[Dim, None]]:
        """Find for each dim the dims that renames equate with it."""
        replaced: dict[Dim, dict[Dim, None]] = {}
        for node in self._nodes:
            for old, new in node.attrs.pairs if node.kind == "relabel" else ():
                replaced.setdefault(new, {})[old] = None
                replaced.setdefault(old, {})[new] = None
        return replaced

    def length(self, dim: Dim) -> Any:
        """Return the length of a dim: an int if it is static, else a scalar variable of int64.

        Raises
        ------
        GraphError
            If nothing in the graph determines it.
        MemoryLimitError
            If it does not fit into 64-bit integers.
        """
        if dim.length is not None:
            check_positions_of(dim, dim.length, ((each, each.length) for each in dim.parents))
            return dim.length
        known = self._lengths.get(dim)
        if known is None:
            if dim in self._sought:  # two dims are renamed to each other
                raise self._unknown_length(dim)
            self._sought.add(dim)
            try:
                known = self._lengths[dim] = self._find_length(dim)
            finally:
                self._sought.discard(dim)
        return known

    def _unknown_length(self, dim: Dim) -> GraphError:
        return GraphError(
            f"nothing in the expression determines the length of {dim!r}",
            [("inputs", ", ".join(map(describe, leaves(self._outputs))) or "none")],
            "give the dim a length or coords, or make the dim itself an input of dt.function",
        )

    def set_length(self, dim: Dim, length: Any) -> None:
        """Set the length of a dim that a computation determines."""
        self._lengths[dim] = length

    def _find_length(self, dim: Dim) -> Any:
        if dim in self._carriers:
            leaf, along = self._carriers[dim]
            variable = self.variables.get(leaf)
            if variable is None:
                variable = self._leaf_variable(leaf)
                self.variables[leaf] = variable
            axis = self.axes(leaf).index(along)
            static = variable.type.shape[axis]
            return static if static is not None else variable.shape[axis]
        try:
            return self._derived_length(dim)
        except GraphError:
            for other in self._replaced.get(dim, ()):
                if other not in self._sought:
                    with suppress(GraphError):
                        return self.length(other)
            raise

    def _derived_length(self, dim: Dim) -> Any:
        if isinstance(dim, SelDim):
            return self._selected_length(dim)
        if isinstance(dim, DerivedDim):
            return dim._length_from([self.length(parent) for parent in dim.parents])
        raise self._unknown_length(dim)

    def _selected_length(self, dim: SelDim) -> Any:
        selection = dim.selection
        if isinstance(selection, Slice):
            return slice_length(selection.as_slice(), self.length(dim.parent))
        if isinstance(selection, Mask):
            if self.makes(selection.key):  # the mask may be lowered later, or not be in the graph
                return pt.sum(self.variable(selection.key), dtype="int64")
        if isinstance(selection, LateSlice):
            return self.hidden_input(LabelPosition(dim.parent, selection.ends, "length"))
        raise GraphError(f"nothing in the expression determines the length of {dim!r}")

    def hidden_input(self, position: LabelPosition) -> Variable:
        """Return the integer input for the position of a late label."""
        variable = self.hidden.get(position)
        if variable is None:
            shape = (len(position.labels),) if position.role == "many" else ()
            variable = pt.tensor(None, dtype="int64", shape=shape)
            self.hidden[position] = variable
        return variable

    def once[R](self, key: Any, compute: Callable[[], R]) -> R:
        """Compute the results that the outputs of one computation share."""
        found = self.shared.get(key)
        if found is None:
            found = self.shared[key] = compute()
        return found

    def shape(self, dims: Iterable[Dim]) -> list[Any]:
        return [self.length(dim) for dim in dims]

    # -- positions -------------------------------------------------------------------------------

    def are_checked(self, indexer: Node) -> bool:
        """Return True if the host checks all values of an indexer before the graph runs."""
        leaves = source_leaves(indexer)
        return leaves is not None and all(map(self.is_checked, leaves))

    def is_checked(self, leaf: Node) -> bool:
        return leaf.kind != "bound"

    def is_late(self, dim: Dim) -> bool:
        """Return True if code must check the length of a dim, because the host cannot."""
        return depends_on_mask(dim) or (self.may_not_run and dim.length is None)

    # -- helpers for rules -----------------------------------------------------------------------

    def align(self, variable: Variable, dims: Dims, to: Dims) -> Variable:
        """Transpose axes to the order of `to`, inserting axes of length 1 for lacking dims."""
        if dims == to:
            return variable
        pattern = [dims.index(dim) if dim in dims else "x" for dim in to]
        return variable.dimshuffle(pattern)

    def broadcast(self, variable: Variable, dims: Dims, to: Dims) -> Variable:
        """Align axes, and broadcast along lacking dims."""
        if set(dims) == set(to):
            return transpose(variable, dims, to)
        return alloc(self.align(variable, dims, to), *self.shape(to))

    def check(self, node: Node, condition: Variable, about: Dim | None = None) -> None:
        """Add a run-time check that a boolean scalar is true.

        For its message see :func:`~dimtensor.graph.checking.checks.check_messages`.
        """
        self.checks.append((condition, Check(node, about)))


def transpose(variable: Variable, dims: Dims, to: Dims) -> Variable:
    """Transpose a variable to another order of dims."""
    if dims == to:
        return variable
    return variable.dimshuffle([dims.index(dim) for dim in to])


def _is_computed(leaf: Node) -> bool:
    """Return True for a positional variable that is computed or constant."""
    if leaf.kind != "shaped":
        return False
    variable = leaf.attrs.variable
    return variable.owner is not None or isinstance(variable, Constant)
