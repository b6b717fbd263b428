"""Handles of nodes, which tensors are, and the conversion of Python values to operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import numpy as np

from dimtensor.arrays import array_of, has, is_array_like, ndim_of
from dimtensor.dims import AnonymousDim, Dim, Dims, DimTuple
from dimtensor.dims.labels import Labels
from dimtensor.errors import ArgumentError, DtypeError, InputError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.dtypes import accumulator, is_complex, is_inexact, scalar_dtype
from dimtensor.graph.infer import constant_attrs, require_label_op
from dimtensor.graph.node import tensor_of
from dimtensor.graph.optable import TABLE
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.graph.walk import toposort
from dimtensor.hooks import Hook
from dimtensor.interning import first_alive, remove_if_dead
from dimtensor.lower.lifted import LiftedGraph
from dimtensor.typing import TensorLike as TensorLike
from dimtensor.values.labeled import is_dataarray, is_pandas

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor

T = TypeVar("T", bound="TensorHandle")

# A leaf of a tree, as far as a type checker can tell leaves from trees.
type Leaf = DimTensor | complex | np.generic | xr.DataArray


labeled_operand = Hook("the data of a labeled operand")
positional_operand = Hook("the dims-tensor of a positional variable")
function_of_parts = Hook("a function of the parts of a complex expression")


class TensorHandle:
    """Base of :class:`DimTensor` and its mixins: a reference to a node, and nothing else.

    There is one handle per node, so two expressions that are structurally equal are one object.
    """

    __slots__ = ("__weakref__", "node")

    node: Node
    _class: type[DimTensor]

    @property
    def dims(self) -> DimTuple:
        """Dims, in canonical order; they have no other. ``"time" in x.dims`` asks by name."""
        return DimTuple(self.node.dims)

    @property
    def dtype(self) -> str:
        """Name of the dtype of the elements."""
        return self.node.dtype

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.node.dims)

    @property
    def sizes(self) -> dict[str, int | None]:
        """Length by name of dim; None where the length comes with the data.

        An anonymous dim without a length has that of the arrays it was given to.
        """
        known: dict[Dim, int | None] = {dim: dim.length for dim in self.node.dims}
        open_dims = {d for d in known if isinstance(d, AnonymousDim) and d.length is None}
        if open_dims:
            known.update(_told_lengths(self.node, open_dims))
        return {dim._short: length for dim, length in known.items()}

    @property
    def name(self) -> str | None:
        """Name of an input or of data; None for a computed tensor."""
        return self.node.name

    @property
    def categories(self) -> Dim | None:
        """The dim whose labels the elements are; None for numbers."""
        return self.node.categories

    def __hash__(self) -> int:
        return hash(self.node)

    def __reduce__(self) -> tuple:
        return (wrap, (self.node,))

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: Any) -> T:
        return self


@tensor_of.provides()
def wrap(node: Node) -> DimTensor:
    """Return the tensor of a node."""
    beside = node._beside
    found = beside.get(_HANDLE)
    if found is not None:
        handle = found()
        if handle is not None:
            return handle
        remove_if_dead(beside, _HANDLE)
    handle = object.__new__(TensorHandle._class)
    handle.node = node
    own = ref(handle)
    found = beside.setdefault(_HANDLE, own)
    return handle if found is own else first_alive(beside, _HANDLE, own, handle)


# the key of the weak reference from a node to its tensor, which holds the node
_HANDLE = "handle"


def constant(value: Any, dtype: str | None = None) -> Node:
    """Return the node of a number."""
    dtype = dtype or scalar_dtype(value, ())
    return make("constant", (), constant_attrs(value, dtype))


def cast(node: Node, dtype: str) -> Node:
    """Convert a node to a dtype; a constant is made anew."""
    if node.dtype == dtype:
        return node
    if node.kind == "constant":
        return constant(node.attrs.value, dtype)
    return make("cast", (node,), dtype)


def as_node(value: Any, beside: Sequence[Node] = (), what: str = "operand") -> Node:
    """Convert an operand to a node: a tensor, a number, a label or a labeled array.

    Parameters
    ----------
    value : DimTensor, number, str, DataArray, Series or scalar PyTensor variable
    beside : sequence of Node
        The tensors it is combined with: numbers take their dtype, labels their categories and
        labeled arrays their dims.

    Raises
    ------
    InputError
        For plain arrays of one dimension or more: nothing says which dims their axes are.
    ArgumentError
        For lists of tensors.
    """
    if isinstance(value, TensorHandle):
        return value.node
    if isinstance(value, Node):
        return value
    categories = next((x.categories for x in beside if x.categories is not None), None)
    if categories is not None and _is_one(value):
        return _label(value, categories)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = array_of(value, what)[()]
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return constant(value, scalar_dtype(value, tuple(x.dtype for x in beside)))
    if is_dataarray(value) or is_pandas(value):
        return labeled_operand(value, list(beside), what=what).node
    if has(value, "owner", "type"):
        return _positional(value, what)
    if isinstance(value, str):
        raise DtypeError(f"{what}: {value!r} is a string; only labels compare with strings")
    kind = type(value).__name__
    if has(value, "event_dims"):
        text = f"{what}: a distribution has no value; a random variable of it has"
        raise DtypeError(text, hint=f"dt.rv('x', dist.{value!r})")
    if isinstance(value, (list, tuple)) and any(isinstance(x, TensorHandle) for x in value):
        raise ArgumentError(
            f"{what}: a {kind} of {len(value)}, tensors among them, is not one tensor",
            hint="dt.stack(tensors, dim) makes one of them, along a new dim",
        )
    if not is_array_like(value) and not isinstance(value, (list, tuple)):
        hint = _labels_as_numbers(value) if isinstance(value, Dim) else None
        raise DtypeError(f"{what}: {kind} is neither a tensor nor a number", hint=hint)
    raise InputError(
        f"{what}: nothing says which dims the axes of this {kind} are",
        [("shape", array_of(value, what).shape)],
        f"wrap it with dt.data(array, dims={_dims_meant(value, beside)}); of an xarray object "
        "and a tensor the tensor comes first: tensor + object",
    )


def _dims_meant(value: Any, beside: Sequence[Node]) -> str:
    """Return the code for the dims of an array beside one tensor, for a hint."""
    same = [x for x in beside if x.name and x.name.isidentifier() and len(x.dims) == 1]
    return f"{same[0].name}.dims" if ndim_of(value) == len(same) == len(beside) == 1 else "..."


def _labels_as_numbers(dim: Dim) -> str | None:
    """Return the expression of a tensor with the labels of a dim as numbers, None if they are not.

    Dates are days since the first one, durations are days.
    """
    kind = "" if dim.coords is None else np.asarray(dim.coords).dtype.kind
    name = dim._short if dim._short.isidentifier() else "dim"
    day = "np.timedelta64(1, 'D')"
    if kind == "M":
        values = f"({name}.coords - {name}.coords[0]) / {day}"
        return f"days since the first label: dt.data({values}, dims={name})"
    if kind == "m":
        return f"labels in days: dt.data({name}.coords / {day}, dims={name})"
    if kind in ("i", "u", "f"):
        return f"labels as numbers: dt.data({name}.coords, dims={name})"
    return None


def _is_one(value: Any) -> bool:
    """Return whether a value is one label; a label of a product dim is a tuple."""
    if isinstance(value, (tuple, list)) or is_array_like(value):
        return isinstance(value, tuple) or (has(value, "ndim") and value.ndim == 0)
    return not has(value, "owner")


def _positional(variable: Any, what: str) -> Node:
    if variable.type.ndim == 0:
        return positional_operand(variable, ()).node
    raise InputError(
        f"{what}: a positional variable of {variable.type.ndim} axes has no dims; "
        "wrap it with dt.from_shaped(variable, dims=...)"
    )


def _label(value: Any, categories: Dim) -> Node:
    """Convert a label to its position, which is looked up at the call if labels come with it."""
    if categories.coords is not None:
        code = constant(categories.position(value), "int64")
    else:
        code = make("label_position", (), LabelPosition(categories, Labels([value]), "one"))
    return make("codes", (code,), categories)


def renamed(x: TensorHandle, dims: Mapping[Dim, Dim]) -> DimTensor:
    """Replace dims by others, position by position."""
    return wrap(relabel_node(x.node, *((dim, dims[dim]) for dim in x.dims if dim in dims)))


def elemwise(name: str, *operands: Any) -> DimTensor:
    """Apply a row of the op table, broadcasting by dims."""
    tensors = [x.node for x in operands if isinstance(x, TensorHandle)]
    require_label_op(name, tensors)
    if len(tensors) == len(operands):
        nodes = tuple(tensors)
    else:
        beside = _neighbors(name, operands, tensors)
        alone = TABLE[name].dtype == "order"  # of a Bessel function: an integer
        nodes = tuple(
            as_node(x, [] if alone and at == 0 else beside, f"operand {at + 1} of {name}")
            for at, x in enumerate(operands)
        )
    if name in _OF_PARTS and is_complex(nodes[0].dtype):
        taken_apart = function_of_parts(name, nodes[0])
        if taken_apart is not None:
            return taken_apart
    return wrap(make("elemwise", nodes, name))


_OF_PARTS = frozenset({"real", "imag", "abs", "angle"})


def _neighbors(name: str, operands: Sequence[Any], tensors: list[Node]) -> list[Node]:
    """Return the tensors whose dtype the numbers among the operands take."""
    if name != "where":
        return tensors
    condition = isinstance(operands[0], TensorHandle)
    return tensors[condition:] or _numbers_beside(operands[1:])


def _numbers_beside(values: Sequence[Any]) -> list[Node]:
    """Convert numbers to nodes of one dtype, by the type promotion of NumPy."""
    numbers = [x for x in values if isinstance(x, (bool, int, float, complex, np.generic))]
    if len(numbers) < len(values):
        return []
    return [constant(np.zeros((), dtype=np.result_type(*numbers)).item())]


def require_float(node: Node) -> Node:
    """Cast a node to float64 if it holds integers or bools.

    Raises
    ------
    DtypeError
        If it holds labels: arithmetic with their positions has to be asked for.
    """
    if node.categories is not None:
        dim, numbers = node.categories, _labels_as_numbers(node.categories)
        title = f"labels of {dim._title} are no numbers; .codes gives their positions as integers"
        raise DtypeError(title, hint=numbers)
    if is_inexact(node.dtype):
        return node
    return make("cast", (node,), "float64")


def widened(x: TensorHandle) -> DimTensor:
    """Cast a tensor to the dtype in which loops accumulate; see `accumulator`."""
    return wrap(cast(x.node, accumulator(x.node.dtype)))


def _told_lengths(node: Node, dims: Set[Dim]) -> dict[Dim, int]:
    """Return the lengths of dims that are known from data and from positional variables."""
    found: dict[Dim, int] = {}
    for below in toposort([node]):
        shape: Sequence[int | None] = ()
        axes: Dims = ()
        if below.kind == "data":
            axes, shape = below.attrs.dims, below.attrs.values.shape
        elif below.kind == "shaped":
            axes, shape = below.attrs.dims, below.attrs.variable.type.shape
        elif below.kind == "apply" and isinstance(below.attrs.function, LiftedGraph):
            axes = below.attrs.core_out
            shape = below.attrs.function.static_shape(below.attrs.output)
        for dim, length in zip(axes, shape, strict=True):
            if dim in dims and length is not None:
                found.setdefault(dim, length)
    return found
