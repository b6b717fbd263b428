"""Conversion of positional expressions of a PyMC model to tensors with dims.

A variable is read with a dim for each of its axes. Elementwise ops, indexing, reductions and
products are translated one by one; any other expression is lifted as one positional function of the
model variables that it depends on, whose dims are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.configdefaults import config
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.op import Op
from pytensor.graph.replace import clone_replace
from pytensor.scalar.basic import Cast, Identity, Second
from pytensor.tensor.basic import Alloc, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot, Max, Min, Prod, Sum
from pytensor.tensor.random.op import RNGConsumerOp
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.special import LogSoftmax, LogSumExp, Softmax
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor, indices_from_subtensor

from dimtensor.dims import Dim, Dims
from dimtensor.errors import DimtensorError, GraphError, ModelWarning, warn
from dimtensor.graph.optable import TABLE
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.interop.pymc.placeholders import lower_named_axes, positional, with_type_of
from dimtensor.tensor import elementwise
from dimtensor.tensor.constructors import length
from dimtensor.tensor.functions import log_softmax, softmax
from dimtensor.tensor.handle import constant, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.positional.apply import apply
from dimtensor.upstream.pytensor import xtensor_class

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# a dim per axis; None for a broadcastable one
Axes = tuple[Dim | None, ...]
Rule = Callable[["ExpressionReader", Any, Axes], Any]


class ExpressionReader:
    """Reader of positional expressions as tensors, given the tensors of model variables.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pytensor.tensor as pt
    >>> county = dt.Dim("county", length=3)
    >>> x, reader = pt.vector("x"), ExpressionReader()
    >>> reader.add(x, dt.tensor("x", dims=county), [county])
    >>> reader.read(2.0 * pt.exp(x), (county,)).eval({"x": [0.0, 0.0, 1.0]}).values.round(
    ...     2
    ... ).tolist()
    [2.0, 2.0, 5.44]
    """

    def __init__(self) -> None:
        self.known: dict[Variable, tuple[DimTensor, Dims]] = {}
        self._read: dict[tuple[Variable, Axes], DimTensor] = {}
        self._warned: set[tuple[str | None, Dim, Dim]] = set()

    def add(self, variable: Variable, tensor: DimTensor, axes: Sequence[Dim]) -> None:
        """Record the tensor of a variable, and the dims of its axes."""
        self.known[variable] = (tensor, tuple(axes))

    def read(self, variable: Variable, axes: Axes) -> DimTensor:
        """Return the tensor of a variable whose axes have given dims.

        Raises
        ------
        GraphError
            If it depends on random numbers that are not variables of the model.
        """
        key = (variable, axes)
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = self._new(variable, axes)
        return found

    def _new(self, variable: Any, axes: Axes) -> DimTensor:
        if variable in self.known:
            return self._known(variable, axes)
        if isinstance(variable, Constant):
            return _constant(np.asarray(variable.data), axes)
        if isinstance(variable, SharedVariable):
            self.add_shared(variable)
            return self._known(variable, axes)
        if variable.owner is not None and _is_passthrough(variable.owner.op):
            return self.read(variable.owner.inputs[0], axes)
        rule = None if variable.owner is None else _RULES.get(type(variable.owner.op))
        if rule is not None:
            try:
                found = rule(self, variable, axes)
            except DimtensorError:
                found = None  # PyTensor's op may accept it
            if found is not None and _has_dtype_of(found, variable):
                return found
        return self._lifted(variable, axes)

    def _known(self, variable: Variable, axes: Axes) -> DimTensor:
        """Return a model variable, renamed to the dims that its axes are aligned with."""
        tensor, own = self.known[variable]
        pairs = []
        for old, new in zip(own, axes, strict=True):
            # the model may know an axis of length 1 whose static shape is unknown
            if new is None or (old.length == 1 and new.length != 1):
                tensor = tensor.isel({old: 0})
            elif new is not old:
                pairs.append((old, new))
                self._warn(variable.name, old, new)
        return wrap(relabel_node(tensor.node, *pairs)) if pairs else tensor

    def _warn(self, name: str | None, old: Dim, new: Dim) -> None:
        key = (name, old, new)
        if old.coords is None or new.coords is None or key in self._warned:
            return
        if np.array_equal(old.coords, new.coords):
            return  # another dim with the same labels
        self._warned.add(key)
        warn(
            f"{name!r} has the dim {old._short} and is used along {new._short}, position by "
            "position: labels differ",
            ModelWarning,
            [(old._short, repr(old)), (new._short, repr(new))],
            hint="PyMC computes the same; if it is not meant, index by position where it is used",
        )

    def add_shared(self, variable: SharedVariable) -> None:
        """Record a shared variable with its current value."""
        values = np.asarray(variable.get_value())
        axes = tuple(Dim(length=n) for n in values.shape)
        self.add(variable, data(values, dims=axes), axes)

    # -- inference of dims -------------------------------------------------------------------------

    def axes_of(self, variable: Any) -> Axes:
        """Infer the dims of axes from model variables; None for an unknown one."""
        if variable in self.known:
            return self.known[variable][1]
        node, nothing = variable.owner, (None,) * variable.type.ndim
        if node is None:
            return nothing
        if isinstance(node.op, Elemwise):
            # broadcast operands do not determine a dim
            found = [_against(x, self.axes_of(x)) for x in node.inputs]
            return tuple(next(filter(None, each), None) for each in zip(*found, strict=True))
        if isinstance(node.op, DimShuffle):
            inner = self.axes_of(node.inputs[0])
            return tuple(None if at == "x" else inner[at] for at in node.op.new_order)
        if isinstance(node.op, Dot):
            x, y = node.inputs
            return (self.axes_of(x)[0], self.axes_of(y)[1])
        if _is_passthrough(node.op):
            inner = self.axes_of(node.inputs[0])
            return inner if len(inner) == len(nothing) else nothing
        return nothing

    def dims_of(self, variable: Any, taken: Sequence[Dim | None] = ()) -> list[Dim | None]:
        """Return a dim for each axis, new where it is unknown or already taken.

        None for a new dim of unknown length, which draws could not determine either.
        """
        found: list[Dim | None] = []
        lengths = variable.type.shape
        for dim, known in zip(self.axes_of(variable), lengths, strict=True):
            if dim is None:
                dim = None if known is None else Dim(length=known)
            elif dim in taken or dim in found:
                dim = dim.rename()
            found.append(dim)
        return found

    # -- expressions without a rule ----------------------------------------------------------------

    def sources(self, outputs: Sequence[Variable]) -> list[Variable]:
        """Return the model variables that outputs depend on, in order.

        Raises
        ------
        GraphError
            If an output depends on random numbers that are not variables of the model.
        """
        found: dict[Variable, None] = {}
        seen: set[Variable] = set()
        todo = list(outputs)
        while todo:
            variable = todo.pop()
            if variable in seen:
                continue
            seen.add(variable)
            if isinstance(variable, SharedVariable) and variable not in self.known:
                self.add_shared(variable)
            if variable in self.known:
                found[variable] = None
            elif variable.owner is not None:
                if isinstance(variable.owner.op, RNGConsumerOp):
                    raise GraphError(
                        "an expression of the PyMC model draws random numbers",
                        [("drawn by", str(variable.owner.op))],
                        "give the variable a name in the model: pm.Normal('x', ...)",
                    )
                todo += variable.owner.inputs
        return [v for v in self.known if v in found]

    def lifted_inputs(
        self, outputs: Sequence[Variable]
    ) -> tuple[list[Variable], Callable[..., list[Variable]]]:
        """Return the model variables of outputs, and a function from placeholders to outputs."""
        sources = self.sources(outputs)

        def function(*stand_ins: Variable) -> list[Variable]:
            replaced = {v: with_type_of(v, one) for v, one in zip(sources, stand_ins, strict=True)}
            return lower_named_axes(clone_replace(list(outputs), replaced, rebuild_strict=False))

        return sources, function

    def _lifted(self, variable: Any, axes: Axes) -> DimTensor:
        kept = [at for at, dim in enumerate(axes) if dim is not None]
        whole = positional(variable)
        squeezed = whole if len(kept) == len(axes) else whole.dimshuffle(kept)
        sources, function = self.lifted_inputs([squeezed])
        function.__name__ = _op_words(variable)
        tensors = [self.known[v][0] for v in sources]
        cores = [self.known[v][1] for v in sources]
        out = [dim for dim in axes if dim is not None]
        if not sources:
            values = np.asarray(function()[0].eval(mode=Mode("py", None)))
            alike = values.size and bool((values == values.flat[0]).all())
            return _constant(values.flat[0] if alike else values, () if alike else tuple(out))
        (found,) = apply(function, *tensors, input_core_dims=cores, output_core_dims=[out])
        return found


def _op_words(variable: Any) -> str:
    """Return the words of the op class of a variable, as a function name."""
    owner = unwrapped(variable).owner
    op = None if owner is None else owner.op
    words = re.findall(r"[A-Z]+[a-z0-9]*", type(getattr(op, "core_op", op)).__name__)
    return "_".join(words).lower() or "positional"


def _constant(values: np.ndarray, axes: Axes) -> DimTensor:
    if not values.ndim:
        return wrap(constant(values[()].item(), _exact(values.dtype)))
    kept = tuple(dim for dim in axes if dim is not None)
    alone = tuple(at for at, dim in enumerate(axes) if dim is None)
    values = values.squeeze(axis=alone)
    return data(values, dims=kept) if kept else _constant(values, ())


def _exact(dtype: np.dtype) -> str:
    """Widen the dtype of a constant to that of variables.

    PyTensor stores constants in as few bits as possible, and would compute log(10) in single
    precision.
    """
    if config.floatX != "float64" or dtype.kind not in "fiu":
        return str(dtype.name)
    return "float64" if dtype.kind == "f" else "int64"


def _has_dtype_of(found: DimTensor, variable: Any) -> bool:
    """Return whether a result has the dtype of a variable, or a wider one of its kind."""
    ours, theirs = np.dtype(found.dtype), np.dtype(variable.type.dtype)
    return ours == theirs or (ours.kind == theirs.kind and ours.itemsize > theirs.itemsize)


# -- rules -----------------------------------------------------------------------------------------


def is_scaled(op: Op) -> bool:
    """Return whether an op rescales the log density of its input for minibatches."""
    from pymc.variational.minibatch_rv import MinibatchRandomVariable

    return isinstance(op, MinibatchRandomVariable)


def read_by(outputs: Iterable[Variable]) -> set[Variable]:
    """Return the variables whose values, not just shapes, outputs depend on."""
    found: set[Variable] = set()
    todo = list(outputs)
    while todo:
        variable = todo.pop()
        if variable not in found:
            found.add(variable)
            node = variable.owner
            if node is not None and not isinstance(node.op, (Shape, Shape_i)):
                todo += node.inputs
    return found


def _is_passthrough(op: Op) -> bool:
    """Return whether an op returns the elements of its first input unchanged."""
    if is_scaled(op):
        return True
    names = ("TensorFromXTensor", "XTensorFromTensor")
    passing = (ViewOp, DeepCopyOp, SpecifyShape, TensorFromScalar, ScalarFromTensor)
    return isinstance(op, (*passing, *(xtensor_class("basic", name) for name in names)))


def unwrapped(variable: Any) -> Any:
    """Strip views and named axes off a variable."""
    while variable.owner is not None and _is_passthrough(variable.owner.op):
        variable = variable.owner.inputs[0]
    return variable


def _dimshuffle(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    (x,) = variable.owner.inputs
    inner: list[Dim | None] = [None] * x.type.ndim
    for dim, at in zip(axes, variable.owner.op.new_order, strict=True):
        if at != "x":
            inner[at] = dim
    return reader.read(x, tuple(inner))


def _alloc(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    x = variable.owner.inputs[0]
    return reader.read(x, _against(x, axes))


def _against(x: Any, axes: Axes) -> Axes:
    """Return the dims of an operand that is broadcast, aligned at the last axis."""
    alone = getattr(x.type, "broadcastable", ())  # a scalar type has no axes
    own = axes[len(axes) - len(alone) :]
    return tuple(None if one else dim for dim, one in zip(own, alone, strict=True))


def _operations() -> dict[Any, str]:
    found = {}
    for row in TABLE.values():
        op = getattr(pt, row.lowers_to or row.name, None)
        if isinstance(op, Elemwise):
            found[op.scalar_op] = row.name
    return found


_OPERATIONS = _operations()


def _elemwise(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    node = variable.owner
    operands = [reader.read(x, _against(x, axes)) for x in node.inputs]
    op = node.op.scalar_op
    if isinstance(op, Cast):
        return operands[0].astype(_exact(np.dtype(variable.type.dtype)))
    if isinstance(op, (Identity, Second)):
        return operands[-1]
    name = "where" if op == pt.switch.scalar_op else _OPERATIONS.get(op)
    if name is not None:
        function = getattr(elementwise, name)
        if name in ("add", "multiply", "bitwise_and", "bitwise_or") and len(operands) != 2:
            found = operands[0]
            for each in operands[1:]:
                found = function(found, each)
            return found
        return function(*operands)
    return apply(node.op, *operands)


def _look_up(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    x, *rest = variable.owner.inputs
    if x.owner is not None and isinstance(x.owner.op, Shape):
        return _length(reader, x.owner.inputs[0], rest)
    indices = indices_from_subtensor(rest, variable.owner.op.idx_list)
    indices = (*indices, *[slice(None)] * (x.type.ndim - len(indices)))
    places = [at for at, i in enumerate(indices) if not isinstance(i, slice)]
    if any(isinstance(i, slice) and i != slice(None) for i in indices):
        return None
    arrays = [indices[at] for at in places]
    if any(i.type.dtype == "bool" for i in arrays):
        return None
    ndim = max((getattr(i.type, "ndim", 0) for i in arrays), default=0)
    # as in NumPy: axes of index arrays replace the first indexed one, or come first if these are
    # not adjacent
    together = places == list(range(places[0], places[-1] + 1)) if places else True
    start = places[0] if together and places else 0
    given, others = axes[start : start + ndim], [*axes[:start], *axes[start + ndim :]]
    own = reader.dims_of(x, taken=axes)
    if any(own[at] is None for at in places):
        return None
    chosen = {own[at]: reader.read(indices[at], _against(indices[at], given)) for at in places}
    remaining = iter(others)
    inner = [own[at] if at in places else next(remaining) for at in range(x.type.ndim)]
    inner = [dim if at in places else _against(x, tuple(inner))[at] for at, dim in enumerate(inner)]
    return reader.read(x, tuple(inner)).isel(
        {dim: _plain(position) for dim, position in chosen.items()}
    )


def _length(reader: ExpressionReader, x: Any, indices: list[Any]) -> Any:
    """Return the length of an axis whose dim is known, else None."""
    if len(indices) != 1 or not isinstance(indices[0], Constant):
        return None
    dim = reader.axes_of(x)[int(indices[0].data)]
    return None if dim is None else length(dim)


def _plain(position: DimTensor) -> Any:
    node = position.node
    return int(node.attrs.value) if node.kind == "constant" else position


def _product(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    op = variable.owner.op
    if not isinstance(getattr(op, "core_op", op), Dot):
        return None
    x, y = variable.owner.inputs
    summed = reader.axes_of(x)[-1] or reader.axes_of(y)[-2]
    if summed is None:
        lengths = (x.type.shape[-1], y.type.shape[-2])
        known = next((n for n in lengths if n is not None), None)
        if known is None:
            return None
        summed = Dim(length=known)
    elif summed in axes:
        summed = summed.rename()
    *batch, row, col = axes
    left = reader.read(x, _against(x, (*batch, row, summed)))
    right = reader.read(y, _against(y, (*batch, summed, col)))
    if summed not in left.dims or summed not in right.dims:
        return None
    return dot(left, right, dim=summed)


_REDUCTIONS = {"Sum": "sum", "Prod": "prod", "Max": "max", "Min": "min", "LogSumExp": "logsumexp"}


def _reduce(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    op, (x,) = variable.owner.op, variable.owner.inputs
    gone = range(x.type.ndim) if op.axis is None else [at % x.type.ndim for at in op.axis]
    own, kept = reader.dims_of(x, taken=axes), iter(axes)
    if any(own[at] is None for at in gone):
        return None
    inner = _against(x, tuple(own[at] if at in gone else next(kept) for at in range(x.type.ndim)))
    found, dims = reader.read(x, inner), [dim for at in gone if (dim := inner[at]) is not None]
    if any(dim not in found.dims for dim in dims):
        return None
    return getattr(found, _REDUCTIONS[type(op).__name__])(dims) if dims else found


def _softmax(reader: ExpressionReader, variable: Any, axes: Axes) -> Any:
    op, (x,) = variable.owner.op, variable.owner.inputs
    asked = [axes[at] for at in (range(len(axes)) if op.axis is None else op.axis)]
    found = reader.read(x, _against(x, axes))
    dims = [dim for dim in asked if dim is not None and dim in found.dims]
    if len(dims) < len(asked):
        return None
    return (softmax if isinstance(op, Softmax) else log_softmax)(found, dims)


_RULES: dict[type[Op], Rule] = {
    DimShuffle: _dimshuffle,
    Alloc: _alloc,
    Elemwise: _elemwise,
    Subtensor: _look_up,
    AdvancedSubtensor: _look_up,
    Dot: _product,
    Blockwise: _product,
    Sum: _reduce,
    Prod: _reduce,
    Max: _reduce,
    Min: _reduce,
    LogSumExp: _reduce,
    Softmax: _softmax,
    LogSoftmax: _softmax,
}
