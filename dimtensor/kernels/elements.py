"""Elements: how one element of each kind of operation is computed from elements of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import ScalarOp
from pytensor.tensor.basic import Alloc, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from dimtensor.kernels.extents import constant_int, gather_layout
from dimtensor.kernels.plan import UnsupportedGraph

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter
    from dimtensor.kernels.scopes import Scope


class Term:
    """Source text of a scalar, and the loops that it depends on; of a constant its value too."""

    __slots__ = ("loops", "text", "value")

    def __init__(self, text: str, loops: frozenset = frozenset(), value: Any = None):
        self.text = text
        self.loops = loops
        self.value = value


ZERO = Term("0")


class Place:
    """Where an array lies: a name, and the leading positions at which it starts.

    Attributes
    ----------
    name : str
        An array of the function.
    leading : tuple of str
        Positions along its first axes; the array that is meant has the remaining axes.
    early : bool
        Whether the name is defined before the loop that the block stands in, if it stands in one.
    """

    __slots__ = ("early", "leading", "name")

    def __init__(self, name: str, leading: tuple[str, ...] = (), early: bool = True):
        self.name = name
        self.leading = leading
        self.early = early

    def at(self, index: Sequence[Term]) -> str:
        """Source of one element."""
        return f"{self.name}[{', '.join([*self.leading, *(term.text for term in index)])}]"

    def length(self, axis: int) -> str:
        return f"{self.name}.shape[{axis + len(self.leading)}]"

    @property
    def whole(self) -> str:
        """Source of the array itself."""
        return f"{self.name}[{', '.join(self.leading)}]" if self.leading else self.name

    @property
    def everything(self) -> str:
        """Source to assign to, for all of its elements."""
        return f"{self.name}[{', '.join([*self.leading, '...'])}]"


def new_array(shape: str, dtype: str, start: str | Place | None) -> str:
    """Source of a new array: empty, full of a number, or a copy."""
    if isinstance(start, Place):
        return f"{start.whole}.copy()"
    numpy = "np.bool_" if dtype == "bool" else f"np.{dtype}"
    if start is None:
        return f"np.empty({shape}, dtype={numpy})"
    if start in ("0.0", "0", "False"):
        return f"np.zeros({shape}, dtype={numpy})"
    return f"np.full({shape}, {start}, dtype={numpy})"


def loops_of(terms: Sequence[Term]) -> frozenset:
    return frozenset().union(*(term.loops for term in terms)) if terms else frozenset()


def restrict(variable: Variable, index: Sequence[Term]) -> tuple[Term, ...]:
    """An index with 0 where the variable has length 1."""
    return tuple(
        ZERO if length == 1 else term
        for term, length in zip(index, variable.type.shape, strict=True)
    )


Rule = Callable[..., Term]


def _elemwise(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    operands = [e.element(v, restrict(v, index), scope) for v in node.inputs]
    return e.scalar_call(node, operands, scope)


def _scalar_op(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    return e.scalar_call(node, [e.element(v, (), scope) for v in node.inputs], scope)


def _dimshuffle(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    order = node.op.new_order
    x = node.inputs[0]
    inner = [index[order.index(axis)] if axis in order else ZERO for axis in range(x.type.ndim)]
    return e.element(x, restrict(x, inner), scope)


def _alloc(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    value = node.inputs[0]
    return e.element(value, restrict(value, index[len(index) - value.type.ndim :]), scope)


def _same(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    return e.element(node.inputs[0], index, scope)


def _selection(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    return e.element(node.inputs[0], e.source_index(node, index, scope), scope)


def _shape_i(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    return Term(e.length(node.inputs[0], node.op.i))


def _shape(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    x = node.inputs[0]
    if index[0].text.isdigit():
        return Term(e.length(x, int(index[0].text)))
    lengths = [e.length(x, axis) for axis in range(x.type.ndim)]
    if not lengths:  # nobody reads an element of an empty vector, but a loop over none is written
        return ZERO
    return scope.temporary(f"({', '.join(lengths)},)[{index[0].text}]", index[0].loops, "int64")


def _make_vector(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> Term:
    if index[0].text.isdigit():
        return e.element(node.inputs[int(index[0].text)], (), scope)
    dtype = node.outputs[0].type.dtype
    items = [f"np.{dtype}({e.element(v, (), scope).text})" for v in node.inputs]
    if not items:
        return ZERO
    return scope.temporary(f"({', '.join(items)},)[{index[0].text}]", index[0].loops, dtype)


def entries_of(op: Any, ndim: int) -> list:
    return [*op.idx_list, *[slice(None)] * (ndim - len(op.idx_list))]


def slice_ends(node: Apply, entry: slice, first: int) -> tuple[int | None, int | None, int | None]:
    start, stop, step = (
        None if end is None else constant_int(node.inputs[first + end])
        for end in (entry.start, entry.stop, entry.step)
    )
    return start, stop, step


def _clipped(end: int, length: str) -> str:
    """A slice's end as a position between 0 and the length."""
    if length.isdigit():
        n = int(length)
        return str(max(0, min(n, end if end >= 0 else n + end)))
    if end == 0:
        return "0"
    return f"min({end}, {length})" if end > 0 else f"max({length} - {-end}, 0)"


def slice_walk(
    ends: tuple[int | None, int | None, int | None], length: str
) -> tuple[str, int, str]:
    """First position, step and number of positions of a slice of a dim of some length."""
    start, stop, step = ends[0], ends[1], 1 if ends[2] is None else ends[2]
    if length.isdigit():
        taken = range(*slice(start, stop, step).indices(int(length)))
        return (str(taken[0]) if len(taken) else "0"), step, str(len(taken))
    if step < 0:  # of unknown length only the whole is turned round, see plan.has_rule
        count = length if step == -1 else f"({length} + {-step - 1}) // {-step}"
        return f"({length} - 1)", step, count
    low = _clipped(start or 0, length)
    high = length if stop is None else _clipped(stop, length)
    count = high if low == "0" else f"max({high} - {low}, 0)"
    return low, step, count if step == 1 else f"({count} + {step - 1}) // {step}"


def _affine(low: str, step: int, term: Term) -> Term:
    """The position ``low + step * term``."""
    if term.text.isdigit() and low.isdigit():
        return Term(str(int(low) + step * int(term.text)))
    walked = term.text if abs(step) == 1 else f"{abs(step)} * {term.text}"
    if step < 0:
        return Term(f"({low} - {walked})", term.loops)
    return Term(walked if low == "0" and step == 1 else f"({low} + {walked})", term.loops)


def basic_index(e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope) -> tuple[Term, ...]:
    x = node.inputs[0]
    remaining = iter(index)
    result = []
    for axis, entry in enumerate(entries_of(node.op, x.type.ndim)):
        if isinstance(entry, slice):
            term = next(remaining)
            if entry == slice(None):
                result.append(term)
                continue
            low, step, _ = slice_walk(slice_ends(node, entry, 1), e.length(x, axis))
            result.append(_affine(low, step, term))
        else:
            result.append(_integer(e, node.inputs[1 + entry], x, axis))
    return tuple(result)


def _integer(e: Emitter, variable: Variable, x: Variable, axis: int) -> Term:
    """A single position, counted from the end where it is negative."""
    value = constant_int(variable)
    if value is None:
        term = e.element(variable, (), e.top)
        length = e.length(x, axis)
        return Term(f"({term.text} if {term.text} >= 0 else {term.text} + {length})")
    if value >= 0:
        return Term(str(value))
    length = e.length(x, axis)
    return Term(str(int(length) + value) if length.isdigit() else f"({length} - {-value})")


def gather_index(
    e: Emitter, node: Apply, index: tuple[Term, ...], scope: Scope
) -> tuple[Term, ...]:
    x, *indices = node.inputs
    layout = gather_layout(node)
    assert layout is not None
    by_full = {source: index[at] for at, (kind, source) in enumerate(layout) if kind == "full"}
    by_index = {source: index[at] for at, (kind, source) in enumerate(layout) if kind == "index"}
    ndim = len(by_index)
    result = []
    for axis, entry in enumerate(entries_of(node.op, x.type.ndim)):
        if isinstance(entry, slice):
            result.append(by_full[axis])
            continue
        variable = indices[entry]
        gap = ndim - variable.type.ndim
        own = tuple(by_index[gap + k] for k in range(variable.type.ndim))
        position = e.element(variable, restrict(variable, own), scope)
        if _is_part(e, x) and not position.text.isdigit():
            # of an array, but not of a part of one, negative positions count from the right end
            length = e.length(x, axis)
            moved = f"({position.text} if {position.text} >= 0 else {position.text} + {length})"
            position = scope.temporary(moved, position.loops, "int64")
        result.append(position)
    return tuple(result)


def _is_part(e: Emitter, variable: Variable) -> bool:
    """Whether elements of a variable are read from a larger array."""
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
