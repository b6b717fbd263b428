"""Conversion between dims-tensors and positional PyTensor variables.

``to_shaped`` lowers an expression immediately; ``from_shaped`` wraps a variable. An input lowers to
the same PyTensor variable in every expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytensor.tensor as pt
from pytensor.tensor.type import integer_dtypes

from dimtensor.arrays import array_of, is_masked
from dimtensor.backends.linkers import teach_linkers
from dimtensor.dims import Dim, Dims, as_dim_tuple, canonical_dims, in_order
from dimtensor.errors import ArgumentError, DimError, DtypeError, GraphError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ApplyAttrs, ShapedAttrs
from dimtensor.graph.beside import WeaklyBeside
from dimtensor.graph.dtypes import valid_dtype
from dimtensor.lower import AxisOrder, Lowering, transpose
from dimtensor.lower.border import named_variable, roots_of, stand_for, without_assertions
from dimtensor.lower.lifted import LiftedGraph
from dimtensor.ops.derivatives.closed import complex_parts_closed
from dimtensor.ops.derivatives.order import differentiated
from dimtensor.tensor.handle import TensorHandle, positional_operand, wrap
from dimtensor.tensor.inputs import require_dim
from dimtensor.upstream.pytensor import xtensor_class
from dimtensor.values.labeled import axis_names, is_dataarray, is_dataset, is_pandas

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# canonical, so that an input lowers to the same variable in every expression
_ORDER = AxisOrder.canonical()
_variables: WeaklyBeside[Any] = WeaklyBeside()


def input_variable(node: Node, axes: Dims) -> Any:
    """Return the positional variable that an input or data node lowers to."""
    variable = _variables.get(node)
    if variable is None:
        if node.kind == "data":
            values = node.attrs.values.transpose([node.attrs.dims.index(d) for d in axes])
            variable = pt.constant(values, name=node.name)
        else:
            shape = tuple(dim.length for dim in axes)
            variable = named_variable(node.name, node.dtype, shape)
            stand_for(variable, node)
        variable = _variables.add(node, variable)
    return variable


def to_shaped(node: Node, order: Dims) -> Any:
    """Lower a node to a positional variable with axes in the given order.

    Raises
    ------
    GraphError
        If a selection depends on labels that arrive with the data; only ``dt.function`` looks them
        up.
    """
    teach_linkers()
    lowering = Lowering([node], _ORDER, input_variable)
    (variable,) = differentiated(lowering.run)  # the caller may differentiate the variable
    if lowering.hidden:
        late = [f"{p.dim._short}: {p.labels}" for p in lowering.hidden]
        raise GraphError(
            "a positional graph cannot look up labels that arrive with the data",
            [("selected", ", ".join(late))],
            "give the dims their coords, or select by position",
        )
    variable = transpose(variable, _ORDER.sort(node.dims), order)
    if lowering.checks:
        from pytensor.raise_op import Assert

        for condition, check in lowering.checks:
            variable = Assert(check.message)(variable, condition)
    return complex_parts_closed(variable)


@positional_operand.provides()
def from_shaped(
    variable: Any,
    dims: Dim | Sequence[Dim] | None = None,
    categories: Dim | None = None,
) -> DimTensor:
    """Make a dims-tensor of a positional PyTensor variable.

    Parameters
    ----------
    variable : pytensor variable or array
        A variable of ``pytensor.xtensor`` (as in ``pymc.dims``), whose axes have names, works, too.
    dims : Dim or sequence of Dim
        One per axis, in order. An anonymous ``Dim()`` takes its length from the axis. If axes have
        names: the dims of these names, in any order; by default new dims.
    categories : Dim, optional
        The dim whose positions the elements are.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If the numbers of axes and dims differ, or a static length differs from that of its dim.
    ArgumentError
        If `variable` is something else, such as a dims-tensor or an array with labels.
    DtypeError
        If the elements are not numbers, or not integers although `categories` is given.

    Examples
    --------
    >>> import dimtensor as dt, pytensor.tensor as pt
    >>> x = pt.matrix("x", shape=(3, None))
    >>> k = dt.Dim("k", length=3)
    >>> dt.from_shaped(x, dims=[k, dt.Dim("obs")]).sum(k).sizes
    {'obs': None}
    """
    if isinstance(getattr(variable, "type", None), xtensor_class("type", "XTensorType")):
        variable, dims = _of_named_axes(variable, dims)
    variable = _positional(variable)
    require_dim(categories)
    if categories is not None and variable.type.dtype not in integer_dtypes:
        raise DtypeError(
            f"from_shaped: positions of labels of {categories._title} are integers, the variable "
            f"has elements of {variable.type.dtype}"
        )
    if dims is not None and not isinstance(dims, Dim):
        dims = in_order(dims, "the dims of from_shaped")
    given = as_dim_tuple(dims, "the dims of from_shaped")
    canonical_dims(given, "the dims of from_shaped")
    shape = variable.type.shape
    if len(shape) != len(given):
        raise DimError(
            f"the variable has {len(shape)} axes and is given {len(given)} dims",
            [("shape", shape), ("dims", ", ".join(dim._short for dim in given))],
        )
    for axis, (dim, static) in enumerate(zip(given, shape, strict=True)):
        if static is None:
            continue
        if dim.length is not None and dim.length != static:
            raise DimError(
                f"axis {axis} of the variable has length {static}, {dim._title} has "
                f"length {dim.length}",
                [("shape", shape), ("dims", ", ".join(d._short for d in given))],
            )
    roots = roots_of(variable)
    if any(roots.values()):
        return _of_inputs(variable, given, roots, categories)
    dtype = valid_dtype(variable.type.dtype)
    return wrap(make("shaped", (), ShapedAttrs(variable, given, dtype, categories)))


def _positional(value: Any) -> Any:
    """Convert a variable or an array to a positional variable.

    Raises
    ------
    ArgumentError, DtypeError
        If it is neither a positional variable nor an array of numbers.
    """
    if isinstance(value, TensorHandle):
        raise ArgumentError(
            "from_shaped takes a positional variable; this is a dims-tensor already"
        )
    cause: Exception | None = None
    # PyMC teaches PyTensor to take pandas objects, without their labels
    if not (is_dataarray(value) or is_pandas(value) or is_dataset(value)):
        try:
            if is_masked(value) or isinstance(value, (list, tuple)):
                value = array_of(value, "from_shaped")
            return pt.as_tensor_variable(value)
        except TypeError as error:
            raise DtypeError(f"from_shaped takes numbers: {error}") from None
        except Exception as error:  # no array, such as rows of two lengths
            cause = error
    raise ArgumentError(
        "from_shaped takes a positional variable or an array without labels, not "
        f"{type(value).__name__}",
        hint="dt.data(value, dims=...) takes arrays that have labels",
    ) from cause


def _of_named_axes(
    variable: Any, dims: Dim | Sequence[Dim] | None
) -> tuple[Any, Dim | Sequence[Dim]]:
    """Convert a variable with named axes to a positional one and the dims of its axes.

    Raises
    ------
    DimError
        If the given dims have other names than the axes.
    """
    from pytensor.xtensor.basic import tensor_from_xtensor

    names: tuple[str, ...] = variable.type.dims
    if dims is None:
        given = {n: Dim(n, length=k) for n, k in zip(names, variable.type.shape, strict=True)}
    else:
        given = {str(dim._short): dim for dim in as_dim_tuple(dims, "the dims of from_shaped")}
        if set(given) != set(names):
            raise DimError(
                "the axes of the variable have other names than the dims",
                [("axes", ", ".join(names) or "none"), ("dims", ", ".join(given) or "none")],
                "give the dims of these names, in any order, or rename the axes: x.rename(old=new)",
            )
    return tensor_from_xtensor(variable), [given[name] for name in names]


def to_xtensor(node: Node, order: Dims) -> Any:
    """Lower a node to a variable of ``pytensor.xtensor`` with axes named after the dims."""
    from pytensor.xtensor.basic import xtensor_from_tensor

    names = axis_names(order)
    return xtensor_from_tensor(to_shaped(node, order), dims=[names[dim] for dim in order])


def _of_inputs(
    variable: Any, dims: Dims, roots: Mapping[Any, Node | None], categories: Dim | None
) -> DimTensor:
    """Wrap a variable computed from results of ``to_shaped`` as a function of the original inputs.

    Assertions in the positional graph become checks again.
    """
    nodes = tuple(
        node or from_shaped(root, [Dim() for _ in range(root.type.ndim)]).node
        for root, node in roots.items()
    )
    inputs, output, asserted = without_assertions(list(roots), variable)
    attrs = ApplyAttrs(
        function=LiftedGraph(inputs, [output]),
        core_in=tuple(node.attrs.dims if node.kind == "shaped" else node.dims for node in nodes),
        core_out=dims,
        dtype=valid_dtype(variable.type.dtype),
        output=0,
        name="from_shaped",
    )
    result = make("apply", nodes, attrs)
    for condition, message in asserted:
        flag = attrs._replace(
            function=LiftedGraph(inputs, [condition]), core_out=(), dtype="bool", name="assert"
        )
        result = make("check", (result, make("apply", nodes, flag)), message)
    return wrap(result if categories is None else make("codes", (result,), categories))
