"""Lowering: the dims graph becomes a positional PyTensor graph, node by node, or raises."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.raise_op import CheckAndRaise

from dimtensor.dims import DerivedDim, Dim, Dims, SelDim, depends_on_mask
from dimtensor.dims.derivation import check_positions_of
from dimtensor.dims.selection import LateSlice, Mask, Slice
from dimtensor.errors import CheckError, GraphError, build_message
from dimtensor.graph import Node, leaves, toposort
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.checking.checks import Check
from dimtensor.graph.checking.positions import source_leaves
from dimtensor.graph.checking.verify import verify_graph
from dimtensor.graph.infer import describe
from dimtensor.graph.regions import DERIVATIVES
from dimtensor.graph.walk import LEAF_KINDS, with_regions
from dimtensor.lower.border import remember, remembering
from dimtensor.lower.layout.order import AxisOrder
from dimtensor.lower.verify import verify_variable
from dimtensor.ops.nodes import alloc
from dimtensor.ops.notes import write_note
from dimtensor.scopes import quiet

Rule = Callable[["Lowering", Node, list[Variable]], tuple[Variable, Dims]]
RULES: dict[str, Rule] = {}


def lowers(kind: str) -> Callable[[Rule], Rule]:
    """Register the lowering function of a node kind.

    The function gets the positional variables of the inputs, whose axes are in the plan's order,
    and returns a variable with the dims of its axes in any order.
    """

    def register(rule: Rule) -> Rule:
        RULES[kind] = rule
        return rule

    return register


class Lowering:
    """Positional variables of one graph.

    Parameters
    ----------
    outputs : sequence of Node
    order : AxisOrder
        The layout plan.
    leaf : callable
        Gives the positional variable of an input or data node, axes in the plan's order.
    lengths : mapping of Dim to Variable, optional
        Scalars that stand for the lengths of dims which no leaf carries.
    check_shapes : bool
        Whether computed positional variables are checked to have the lengths of their dims.
    stop : collection of Node
        Nodes of which the variables are given.
    annotate : bool
        Whether dims and the lines of the user's code are noted on variables.
    segments : bool
        Whether gradients through loops that stop store states by segments, where such a loop runs
        in the steps of another.

    Attributes
    ----------
    hidden : dict of LabelPosition to Variable
        Integer inputs that the graph needs beside its leaves: positions of labels that are known
        when data arrives.
    checks : list of (Variable, Check)
        Scalars that are true where a run was valid, and what asks for it.
    """

    def __init__(
        self,
        outputs: Sequence[Node],
        order: AxisOrder,
        leaf: Callable[[Node, Dims], Variable],
        lengths: dict[Dim, Variable] | None = None,
        check_shapes: bool = False,
        stop: Collection[Node] = (),
        annotate: bool = False,
        segments: bool = False,
    ):
        verify_graph(outputs)
        self.annotate = annotate
        self.segments = segments
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
        self.shared: dict[Any, Any] = {}  # what several nodes compute together
        self.hidden: dict[LabelPosition, Variable] = {}
        self.checks: list[tuple[Variable, Check]] = []

    def run(self) -> list[Variable]:
        """Lower everything; the variables of the outputs, axes in the plan's order."""
        quiet(self._run)  # PyTensor computes with lengths, of which some are 0
        if remembering.get():
            for node, variable in self.variables.items():
                remember(variable, node)
        return [self.variables[node] for node in self._outputs]

    def _run(self) -> None:
        for node in self._nodes:
            self.variables[node] = self._lower(node)

    def variable(self, output: Node) -> Variable:
        """The variable of a node that is made of nodes of the graph."""
        for node in toposort([output]):
            if node not in self.variables:
                self.variables[node] = self._lower(node)
        return self.variables[output]

    def makes(self, node: Node) -> bool:
        """Whether a node is there, or made of the leaves that are there."""
        below = toposort([node], self.variables)
        needed = {x for x in below if x.kind in (*LEAF_KINDS, "bound")}
        return needed.difference(self.variables).issubset(self._nodes)

    def axes(self, node: Node) -> Dims:
        """Dims of the axes of a node's variable."""
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
        if self.annotate:
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
        """A computed variable, checked to have the lengths of the dims that it is given."""
        for axis, dim in enumerate(node.attrs.dims):
            carrier = self._carriers.get(dim)
            known = dim.length is not None or (carrier is not None and carrier[0] is not node)
            if not known or variable.type.shape[axis] == dim.length is not None:
                continue
            variable = self.of_length(node, variable, axis, dim)
        return variable

    def of_length(self, node: Node, variable: Variable, axis: int, dim: Dim) -> Variable:
        """The variable of a node, checked to have the length of a dim along an axis.

        Code trusts lengths, so the check precedes every use; as a check of the program it is made
        on backends, too, that have no errors in their code.
        """
        fits = pt.eq(variable.shape[axis], self.length(dim))
        self.check(node, fits, dim)
        return CheckAndRaise(CheckError, Check(node, dim).message)(variable, fits)

    # -- lengths -------------------------------------------------------------------------------

    def _find_carriers(self) -> dict[Dim, tuple[Node, Dim]]:
        """A leaf with each dim, and the axis that tells its length."""
        carriers: dict[Dim, tuple[Node, Dim]] = {}
        # a computed variable tells lengths where nothing else does
        for leaf in sorted(leaves(self._outputs), key=_is_computed):
            for dim in leaf.dims:
                carriers.setdefault(dim, (leaf, dim))
                carriers.setdefault(dim._unrenamed, (leaf, dim))
        return carriers

    def _find_replaced(self) -> dict[Dim, dict[Dim, None]]:
        """The dims that take the places of others, which are as long."""
        replaced: dict[Dim, dict[Dim, None]] = {}
        for node in self._nodes:
            for old, new in node.attrs.pairs if node.kind == "relabel" else ():
                replaced.setdefault(new, {})[old] = None
                replaced.setdefault(old, {})[new] = None
        return replaced

    def length(self, dim: Dim) -> Any:
        """Length of a dim: an int where it is static, else a scalar variable of dtype int64.

        Raises
        ------
        GraphError
            If nothing in the graph tells.
        MemoryLimitError
            If it is more than 64-bit integers count.
        """
        if dim.length is not None:
            check_positions_of(dim, dim.length, ((each, each.length) for each in dim.parents))
            return dim.length
        known = self._lengths.get(dim)
        if known is None:
            if dim in self._sought:  # each of two dims takes the place of the other
                raise self._unknown_length(dim)
            self._sought.add(dim)
            try:
                known = self._lengths[dim] = self._find_length(dim)
            finally:
                self._sought.discard(dim)
        return known

    def _unknown_length(self, dim: Dim) -> GraphError:
        return GraphError(
            build_message(
                f"nothing in the expression tells the length of {dim!r}",
                [("inputs", ", ".join(map(describe, leaves(self._outputs))) or "none")],
                "give the dim a length or coords, or make the dim itself an input of dt.function",
            )
        )

    def set_length(self, dim: Dim, length: Any) -> None:
        """Tell the length of a dim that only a computation gives."""
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
            return dim.length_from([self.length(parent) for parent in dim.parents])
        raise self._unknown_length(dim)

    def _selected_length(self, dim: SelDim) -> Any:
        selection = dim.selection
        if isinstance(selection, Slice):
            return slice_length(selection, self.length(dim.parent))
        if isinstance(selection, Mask):
            if self.makes(selection.key):  # a mask need not have its turn yet, or any
                return pt.sum(self.variable(selection.key), dtype="int64")
        if isinstance(selection, LateSlice):
            return self.hidden_input(LabelPosition(dim.parent, selection.ends, "length"))
        raise GraphError(f"nothing in the expression tells the length of {dim!r}")

    def hidden_input(self, position: LabelPosition) -> Variable:
        """The integer input that stands for a label's position."""
        variable = self.hidden.get(position)
        if variable is None:
            shape = (len(position.labels),) if position.role == "many" else ()
            variable = pt.tensor(None, dtype="int64", shape=shape)
            self.hidden[position] = variable
        return variable

    def shape(self, dims: Iterable[Dim]) -> list[Any]:
        return [self.length(dim) for dim in dims]

    # -- positions -------------------------------------------------------------------------------

    def are_checked(self, indexer: Node) -> bool:
        """Whether all values of an indexer are checked before the graph runs."""
        leaves = source_leaves(indexer)
        return leaves is not None and all(map(self.is_checked, leaves))

    def is_checked(self, leaf: Node) -> bool:
        return leaf.kind != "bound"

    def is_late(self, dim: Dim) -> bool:
        """Whether code has to ask if a dim is long enough: the host does not know, or not when."""
        return depends_on_mask(dim) or (self.may_not_run and dim.length is None)

    # -- helpers for rules -----------------------------------------------------------------------

    def align(self, variable: Variable, dims: Dims, to: Dims) -> Variable:
        """Axes transposed to the order of `to`; axes of length 1 where `dims` lacks a dim."""
        if dims == to:
            return variable
        pattern = [dims.index(dim) if dim in dims else "x" for dim in to]
        return variable.dimshuffle(pattern)

    def broadcast(self, variable: Variable, dims: Dims, to: Dims) -> Variable:
        """Align axes, and broadcast along the dims that are lacking."""
        if set(dims) == set(to):
            return transpose(variable, dims, to)
        return alloc(self.align(variable, dims, to), *self.shape(to))

    def check(self, node: Node, condition: Variable, about: Dim | None = None) -> None:
        """Ask that a scalar be true whenever the graph runs.

        What is said where it is not, :func:`~dimtensor.graph.checking.checks.check_messages` knows.
        """
        self.checks.append((condition, Check(node, about)))


def transpose(variable: Variable, dims: Dims, to: Dims) -> Variable:
    """Axes in another order."""
    if dims == to:
        return variable
    return variable.dimshuffle([dims.index(dim) for dim in to])


def _is_computed(leaf: Node) -> bool:
    """Whether it is a positional variable that nobody gives: computed, or a constant."""
    if leaf.kind != "shaped":
        return False
    variable = leaf.attrs.variable
    return variable.owner is not None or isinstance(variable, Constant)


def slice_length(selection: Slice, length: Any) -> Any:
    """Length of a slice of a vector whose length is a scalar variable."""
    if isinstance(length, (int, np.integer)):
        return selection.length(int(length))
    start, stop, step = selection.start, selection.stop, selection.step
    if step < 0:  # it goes forward through the vector turned round
        start, stop = (None if end is None else -1 - end for end in (start, stop))
    # an end on the wrong side of the other one makes the distance negative
    first = 0 if start is None else start if start >= 0 else pt.maximum(length + start, 0)
    last = length if stop is None else length + stop if stop < 0 else pt.minimum(stop, length)
    distance = last if start is None else last - first
    return pt.maximum(distance if abs(step) == 1 else -(-distance // abs(step)), 0)
