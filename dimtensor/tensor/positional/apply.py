"""``apply``: positional PyTensor functions lifted over named dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, canonical_dims, find_dim, find_dims, in_order
from dimtensor.errors import ArgumentError, DimError, DtypeError, GraphError, OptionError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ApplyAttrs
from dimtensor.graph.dtypes import valid_dtype
from dimtensor.lower.lifted import LiftedGraph
from dimtensor.spellings import spelled
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.linalg.matrices import require_numbers

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

DimKeys = Dim | str | Sequence[Dim | str] | None


@spelled("function")
def apply(
    function: Callable[..., Any],
    *tensors: TensorLike,
    input_core_dims: Sequence[DimKeys] | None = None,
    output_core_dims: Any = (),
) -> DimTensor | tuple[DimTensor, ...]:
    """Call a positional PyTensor function or Op on some dims, batched over all others.

    Parameters
    ----------
    function : callable
        Takes one PyTensor variable per tensor, whose axes are the core dims in the given order, and
        returns a variable, or a list or tuple of variables. It is called once, to trace its graph,
        which must depend on no other variables.
    *tensors : DimTensor, number or labeled array
    input_core_dims : sequence, optional
        For each tensor its core dims in order: a Dim or name, a sequence of them, or None. By
        default there are none, and the function gets scalars.
    output_core_dims : Dim or str, or a sequence of them; for several outputs, a sequence of such
        The dims of the output's axes, in order. Names refer to core dims of the inputs; new dims
        are given as Dim objects. Lengths are checked when the expression is built, or, if they are
        not known then, when it runs. An anonymous ``Dim()`` takes its length from the output.

    Returns
    -------
    DimTensor or tuple of DimTensor
        A tuple if the function returns a list or tuple. The dims are the output's core dims and the
        batch dims of all inputs.

    Raises
    ------
    DimError
        If a tensor lacks a core dim, the function rejects the shapes of its inputs, the axes of an
        output do not match its dims in number or length, or a core dim of one tensor is a batch dim
        of another.
    DtypeError
        If an input holds labels, or an output is not a tensor of numbers.
    GraphError
        If the function uses a variable that is not among its inputs.

    Examples
    --------
    >>> import dimtensor as dt, pytensor.tensor as pt
    >>> group, t = dt.Dim("group", length=2), dt.Dim("t", length=3)
    >>> x = dt.data([[1.0, 2.0, 3.0], [3.0, 2.0, 0.0]], dims=[group, t])
    >>> dt.apply(pt.linalg.norm, x, input_core_dims=[t]).eval().round(2).values.tolist()
    [3.74, 3.61]
    >>> lag = dt.Dim("lag", length=5)
    >>> full = dt.apply(pt.signal.convolve1d, x, x, input_core_dims=[t, t], output_core_dims=lag)
    >>> full.sizes, full.eval().values[0].tolist()
    ({'group': 2, 'lag': 5}, [1.0, 4.0, 10.0, 12.0, 9.0])
    """
    if not callable(function):
        raise ArgumentError(f"apply takes a function or an Op, not {function!r}")
    if not tensors:
        raise OptionError("apply takes at least one tensor")
    name = _name_of(function)
    beside = [x.node for x in tensors if isinstance(x, TensorHandle)]
    nodes = tuple(as_node(x, beside, f"input {at + 1} of {name}") for at, x in enumerate(tensors))
    for node in nodes:
        require_numbers(node, name)
    cores = _core_dims(nodes, input_core_dims, name)
    inputs, outputs, several = _trace(function, nodes, cores, name)
    known = tuple(dict.fromkeys(dim for core in cores for dim in core))
    out = _out_dims(outputs, output_core_dims, several, known, name)
    lifted = LiftedGraph(inputs, outputs)
    results = [
        wrap(make("apply", nodes, ApplyAttrs(lifted, cores, dims, v.type.dtype, at, name)))
        for at, (v, dims) in enumerate(zip(outputs, out, strict=True))
    ]
    return tuple(results) if several else results[0]


def _name_of(function: Any) -> str:
    function = getattr(function, "func", function)  # of a partial
    inner = getattr(function, "core_op", None) or getattr(function, "scalar_op", None) or function
    name = (
        getattr(function, "__name__", None) or getattr(inner, "name", None) or type(inner).__name__
    )
    return name if name.isidentifier() else "apply"  # a lambda has no name


def _core_dims(nodes: Sequence[Node], given: Any, name: str) -> tuple[Dims, ...]:
    if given is None:
        return ((),) * len(nodes)
    if isinstance(given, (Dim, str)) or len(given) != len(nodes):
        count = "one" if isinstance(given, (Dim, str)) else len(given)
        raise DimError(
            f"{name}: input_core_dims has one entry per input",
            [("inputs", len(nodes)), ("entries", count), ("input_core_dims", given)],
            "of one input with two core dims, input_core_dims=[[row, column]]",
        )
    return tuple(
        ()
        if keys is None
        else find_dims(node.dims, _ordered(keys, name), f"{name}, input {at + 1}")
        for at, (node, keys) in enumerate(zip(nodes, given, strict=True))
    )


def _ordered(keys: Any, name: str) -> Any:
    single = isinstance(keys, (Dim, str)) or keys is Ellipsis
    return keys if single else in_order(keys, f"the core dims of {name}")


def _trace(
    function: Callable[..., Any], nodes: Sequence[Node], cores: Sequence[Dims], name: str
) -> tuple[list[Any], list[Any], bool]:
    """Call the function with variables of core shape.

    Returns
    -------
    inputs, outputs : list of pytensor variable
    several : bool
        Whether the function returned a list or tuple.
    """
    import pytensor.tensor as pt
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import graph_inputs

    inputs = [
        pt.tensor(dtype=node.dtype, shape=tuple(dim.length for dim in core))
        for node, core in zip(nodes, cores, strict=True)
    ]
    try:
        result = function(*inputs)
    except (ValueError, TypeError, IndexError, AssertionError) as error:
        raise DimError(
            f"{name} does not take inputs with these core dims: {error}",
            [(f"input {at + 1}", _core_text(core)) for at, core in enumerate(cores)],
            "the function sees the core dims as its axes, in the order of input_core_dims",
        ) from error
    several = isinstance(result, (list, tuple))
    outputs = []
    for value in result if several else [result]:
        try:
            variable = pt.as_tensor_variable(value)
            valid_dtype(variable.type.dtype)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise DtypeError(f"{name} returns {value!r}, which is no tensor of numbers") from error
        outputs.append(variable)
    foreign = [v for v in graph_inputs(outputs) if not isinstance(v, Constant) and v not in inputs]
    if foreign:
        raise GraphError(
            f"{name} uses variables that it does not get as inputs",
            [("variables", ", ".join(map(str, foreign)))],
            "pass them to apply, wrapped by dt.from_shaped(variable, dims=...)",
        )
    return inputs, outputs, several


def _core_text(core: Dims) -> str:
    lengths = ["length unknown" if d.length is None else str(d.length) for d in core]
    return ", ".join(f"{d._short} ({n})" for d, n in zip(core, lengths, strict=True)) or "a scalar"


def _out_dims(
    outputs: Sequence[Any], given: Any, several: bool, known: Dims, name: str
) -> list[Dims]:
    if not several:
        nested = (
            isinstance(given, (list, tuple))
            and len(given) == 1
            and isinstance(given[0], (list, tuple))
        )
        return [_dims_of_output(outputs[0], given[0] if nested else given, known, name, "output")]
    if given is None or (isinstance(given, (list, tuple)) and not given):
        given = [()] * len(outputs)
    if isinstance(given, (Dim, str)) or len(given) != len(outputs):
        raise DimError(
            f"{name} returns {len(outputs)} outputs; output_core_dims has one entry for each",
            [("output_core_dims", given)],
        )
    return [
        _dims_of_output(variable, keys, known, name, f"output {at + 1}")
        for at, (variable, keys) in enumerate(zip(outputs, given, strict=True))
    ]


def _dims_of_output(variable: Any, keys: DimKeys, known: Dims, name: str, what: str) -> Dims:
    keys = () if keys is None else (keys,) if isinstance(keys, (Dim, str)) else tuple(keys)
    dims = tuple(
        find_dim(known, key, f"{name}, {what}") if isinstance(key, str) else key for key in keys
    )
    canonical_dims(dims, f"{name}: the dims of the {what}")
    shape = variable.type.shape
    if len(shape) != len(dims):
        raise DimError(
            f"{name}: the {what} has {len(shape)} axes and is given {len(dims)} dims",
            [("shape", shape), ("output_core_dims", [dim._short for dim in dims])],
            "output_core_dims names the axes that the function returns, without batch dims",
        )
    for axis, (dim, static) in enumerate(zip(dims, shape, strict=True)):
        if static is None:
            continue
        if dim.length is not None and dim.length != static:
            raise DimError(
                f"{name}: axis {axis} of the {what} has length {static}, {dim._title} has "
                f"length {dim.length}",
                [("shape", shape), ("output_core_dims", [d._short for d in dims])],
                "a result of another length needs a dim of its own",
            )
    return dims
