"""Elements: how one element of each kind of operation is computed from elements of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import Add, ScalarOp
from pytensor.tensor.basic import Alloc, ARange, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from dimtensor.kernels.ir.make import ZERO, call, cast, known, op
from dimtensor.kernels.ir.nodes import NOTHING, Array, Expression, Length, Load, Names, Part, Var
from dimtensor.kernels.rules.slices import from_the_start, position_of, walk_of
from dimtensor.ops.slices import along_axes
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.axis_lengths import gather_layout
from dimtensor.tuning import STATEMENT_TERMS

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter
    from dimtensor.kernels.emit.scopes import Scope


Index = tuple[Expression, ...]


class Place:
    """Location of an array: an array of the function, or a part of one at leading positions.

    Attributes
    ----------
    array : Array
    leading : tuple of Expression
        Positions along its first axes; the array that is meant has the remaining axes.
    early : bool
        Whether the name is defined before the loop that contains the block, if any.
    """

    __slots__ = ("array", "early", "leading")

    def __init__(self, array: Array, leading: tuple[Expression, ...] = (), early: bool = True):
        self.array = array
        self.leading = leading
        self.early = early

    @property
    def name(self) -> str:
        return self.array.name

    def at(self, index: Sequence[Expression]) -> Load:
        """One element."""
        return Load(self.array, (*self.leading, *index))

    def length(self, axis: int) -> Length:
        return Length(self.array, axis + len(self.leading))

    @property
    def whole(self) -> Array | Part:
        """The array itself."""
        return Part(self.array, self.leading) if self.leading else self.array


class _OfRows(Place):
    """Rows of an array that belong to something else, too: elements are read and written."""

    __slots__ = ()

    def __init__(self, array: Array):
        self.array = array
        self.early = False

    @property
    def leading(self) -> tuple[Expression, ...]:  # type: ignore[override]
        raise UnsupportedGraph("rows that are kept, as an array")

    def length(self, axis: int) -> Length:
        raise UnsupportedGraph("the number of rows that are kept")


class Rows(_OfRows):
    """Rows of an array from one on.

    Attributes
    ----------
    first : Expression
        The row.
    """

    __slots__ = ("first",)

    def __init__(self, array: Array, first: Expression):
        super().__init__(array)
        self.first = first

    def at(self, index: Sequence[Expression]) -> Load:
        return Load(self.array, (op("+", self.first, index[0]), *index[1:]))


class Kept(_OfRows):
    """Traces that loops in the steps of a loop have made, one after the other in one array.

    Attributes
    ----------
    starts : Array
        The first row of each step.
    """

    __slots__ = ("starts",)

    def __init__(self, array: Array, starts: Array):
        super().__init__(array)
        self.starts = starts

    def at(self, index: Sequence[Expression]) -> Load:
        step, row, *others = index
        return Load(self.array, (op("+", Load(self.starts, (step,)), row), *others))

    def length(self, axis: int) -> Length:
        return super().length(axis) if axis else Length(self.starts, 0)


def counter(name: str) -> Var:
    """Return the counter of a loop, as seen inside of the loop."""
    return Var(name, "int64", frozenset((name,)))


def loops_of(expressions: Sequence[Expression]) -> Names:
    return NOTHING.union(*(each.loops for each in expressions))


def restrict(variable: Variable, index: Sequence[Expression]) -> Index:
    """Return an index with 0 along axes of length 1."""
    return tuple(
        ZERO if length == 1 else term
        for term, length in zip(index, variable.type.shape, strict=True)
    )


Rule = Callable[..., Expression]


def _elemwise(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    if len(node.inputs) > STATEMENT_TERMS and type(node.op.scalar_op) is Add:
        dtype = node.outputs[0].type.dtype
        if dtype == "float64" and all(v.type.dtype == dtype for v in node.inputs):
            return _long_sum(e, node, index, scope)
    operands = [e.element(v, restrict(v, index), scope) for v in node.inputs]
    return e.scalar_call(node, operands, scope)


def _long_sum(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    """Write a sum of many terms that are accumulated as they become known."""
    first = node.inputs[0]
    total = e.element(first, restrict(first, index), scope)
    for v in node.inputs[1:]:
        term = e.element(v, restrict(v, index), scope)
        total = scope.temporary(op("+", total, term), loops_of([total, term]))
    return total


def _scalar_op(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    return e.scalar_call(node, [e.element(v, (), scope) for v in node.inputs], scope)


def _dimshuffle(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    order = node.op.new_order
    x = node.inputs[0]
    inner = [index[order.index(axis)] if axis in order else ZERO for axis in range(x.type.ndim)]
    return e.element(x, restrict(x, inner), scope)


def _alloc(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    value = node.inputs[0]
    return e.element(value, restrict(value, index[len(index) - value.type.ndim :]), scope)


def _arange(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    start, _, step = (e.element(v, (), e.top) for v in node.inputs)
    reached = op("+", start, op("*", index[0], step))
    dtype = node.outputs[0].type.dtype
    value = reached if reached.dtype == dtype else cast(reached, dtype)
    return value if value == index[0] else scope.temporary(value, value.loops)


def length_of_range(e: Emitter, node: Apply) -> Expression:
    """Return the length of an ARange node."""
    start, stop, step = (e.element(v, (), e.top) for v in node.inputs)
    count = op("-", stop, start)
    if known(step) != 1 or count.dtype.startswith("float"):
        count = call("ceil", op("/", count, step))
    return op("max", count if count.dtype == "int64" else cast(count, "int64"), ZERO)


def _same(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    return e.element(node.inputs[0], index, scope)


def _selection(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    return e.element(node.inputs[0], e.source_index(node, index, scope), scope)


def _shape_i(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    return e.length(node.inputs[0], node.op.i)


def _shape(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    x = node.inputs[0]
    at = known(index[0])
    if at is not None:
        return e.length(x, at)
    lengths = [e.length(x, axis) for axis in range(x.type.ndim)]
    if not lengths:  # nobody reads an element of an empty vector, but a loop over none is written
        return ZERO
    return scope.temporary(op("choice", index[0], *lengths), index[0].loops)


def _make_vector(e: Emitter, node: Apply, index: Index, scope: Scope) -> Expression:
    at = known(index[0])
    if at is not None:
        return e.element(node.inputs[at], (), scope)
    dtype = node.outputs[0].type.dtype
    items = [cast(e.element(v, (), scope), dtype) for v in node.inputs]
    if not items:
        return ZERO
    return scope.temporary(op("choice", index[0], *items), index[0].loops)


def length_of_slice(e: Emitter, node: Apply, axis: int) -> Expression:
    """Return the length of an axis of the result of slices with constant ends."""
    entries = along_axes(node.op.idx_list, node.inputs[0].type.ndim)
    kept = [(at, entry) for at, entry in enumerate(entries) if isinstance(entry, slice)]
    return walk_of(e, node, *kept[axis]).number


def basic_index(e: Emitter, node: Apply, index: Index, scope: Scope) -> Index:
    """Return the position in the source of an element of slices with constant ends."""
    remaining = iter(index)
    found: list[Expression] = []
    for axis, entry in enumerate(along_axes(node.op.idx_list, node.inputs[0].type.ndim)):
        if not isinstance(entry, slice):
            found.append(position_of(e, node, axis, entry))
        elif entry == slice(None):
            found.append(next(remaining))
        else:
            found.append(walk_of(e, node, axis, entry).at(next(remaining)))
    return tuple(found)


def gather_index(e: Emitter, node: Apply, index: Index, scope: Scope) -> Index:
    x, *indices = node.inputs
    layout = gather_layout(node)
    assert layout is not None
    by_full = {source: index[at] for at, (kind, source) in enumerate(layout) if kind == "full"}
    by_index = {source: index[at] for at, (kind, source) in enumerate(layout) if kind == "index"}
    ndim = len(by_index)
    result = []
    for axis, entry in enumerate(along_axes(node.op.idx_list, x.type.ndim)):
        if isinstance(entry, slice):
            result.append(by_full[axis])
            continue
        variable = indices[entry]
        gap = ndim - variable.type.ndim
        own = tuple(by_index[gap + k] for k in range(variable.type.ndim))
        position = e.element(variable, restrict(variable, own), scope)
        if _is_part(e, x) and known(position) is None:
            # of an array, but not of a part of one, negative positions count from the right end
            moved = from_the_start(position, e.length(x, axis))
            position = scope.temporary(moved, position.loops)
        result.append(position)
    return tuple(result)


def _is_part(e: Emitter, variable: Variable) -> bool:
    """Return whether elements of a variable are read from a larger array."""
    while variable not in e.places and variable.owner is not None:
        if isinstance(variable.owner.op, Subtensor):
            return True
        if not isinstance(variable.owner.op, (DimShuffle, SpecifyShape)):
            return False
        variable = variable.owner.inputs[0]
    return False


_RULES: list[tuple[Any, Rule]] = [
    (Elemwise, _elemwise),
    (DimShuffle, _dimshuffle),
    (Alloc, _alloc),
    (ARange, _arange),
    ((SpecifyShape, ScalarFromTensor, TensorFromScalar), _same),
    ((Subtensor, AdvancedSubtensor), _selection),
    (Shape_i, _shape_i),
    (Shape, _shape),
    (MakeVector, _make_vector),
]


def rule_of(op: Any) -> Rule:
    for kinds, rule in _RULES:
        if isinstance(op, kinds):
            return rule
    if isinstance(op, ScalarOp):
        return _scalar_op
    raise UnsupportedGraph(f"no rule for the elements of {op}")
