"""Functions of labelled values, and values for exploring."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import CompiledFunction, free_inputs
from dimtensor.compile.function import function as _function
from dimtensor.errors import GraphError, InputError, build_message, listing
from dimtensor.graph import Node
from dimtensor.tensor.shell import TensorShell, as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_explored: weakref.WeakKeyDictionary[Node, dict[str, CompiledFunction]] = (
    weakref.WeakKeyDictionary()
)


def function(inputs: Any, outputs: Any, backend: str = "numba") -> CompiledFunction:
    """Compile outputs to a function of inputs.

    Parameters
    ----------
    inputs : DimTensor, Dim or list of them
        Symbolic inputs. A Dim among them is given as a length or as labels; that is needed only
        where no tensor tells its length.
    outputs : DimTensor, list of DimTensor, or dict of str to DimTensor
        What the function returns, in the same structure.
    backend : {"numba", "jax", "python"}
        ``python`` interprets the graph and compiles nothing: for exploring and testing.

    Returns
    -------
    CompiledFunction
        Called with positional or keyword arguments: DataArrays (dims and labels in any order),
        Series, ndarrays of up to one dimension, pairs ``(dims, ndarray)``, numbers. Results are
        DataArrays. An input with additional dims batches the call over them.

    Raises
    ------
    GraphError
        If the outputs depend on inputs that are not given, or on a length that nothing tells.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> k = dt.Dim("k", coords=["a", "b"])
    >>> x = dt.tensor("x", dims=k)
    >>> f = dt.function([x], x * 2, backend="python")
    >>> f(np.array([1.0, 2.0])).sel(k="b").item()
    4.0
    """
    return _function(inputs, outputs, backend)


def evaluate(x: Any, values: Mapping[Any, Any] | None = None, backend: str = "python") -> Any:
    """Value of an expression, or of several in a list or dict.

    Parameters
    ----------
    x : DimTensor, list or dict
    values : mapping, optional
        Values of the inputs, by tensor or by name.
    backend : {"python", "numba", "jax"}

    Returns
    -------
    DataArray, or a list or dict of them

    Raises
    ------
    InputError
        If the value of an input is missing, or one is given that the expression has not.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a = dt.scalar("a")
    >>> float(dt.evaluate(a + 1, {a: 2.0}))
    3.0
    """
    outputs = list(x.values()) if isinstance(x, Mapping) else x
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    nodes = [as_node(output) for output in outputs]
    known = free_inputs(nodes)
    by_name = {node.name: node for node in known if node.name is not None}
    given: dict[Node, Any] = {}
    for key, value in (values or {}).items():
        node = by_name.get(key) if isinstance(key, str) else as_node(key)
        if node not in known:
            raise InputError(
                build_message(
                    f"the expression has no input {key!r}", [("inputs", listing(list(by_name)))]
                )
            )
        given[node] = value  # type: ignore[index]
    single = len(nodes) == 1 and not isinstance(x, (list, tuple, Mapping))
    if single:
        cached = _explored.setdefault(nodes[0], {})
        compiled = cached.get(backend)
        if compiled is None:
            compiled = cached[backend] = _function([wrap(n) for n in known], x, backend)
    else:
        compiled = _function([wrap(n) for n in known], x, backend)
    missing = [node.name or repr(node) for node in known if node not in given]
    if missing:
        raise InputError(
            build_message(
                f"the value depends on inputs that are not given: {', '.join(missing)}",
                hint="x.eval({tensor: value, ...})",
            )
        )
    return compiled(*[given[node] for node in known])


class EvaluationMixin(TensorShell):
    """Values of expressions."""

    __slots__ = ()

    def eval(self, values: Mapping[Any, Any] | None = None, backend: str = "python") -> Any:
        """Value of this expression as a DataArray; see :func:`dimtensor.evaluate`."""
        return evaluate(self, values, backend)


def substitute(outputs: Any, replacements: Mapping[DimTensor, Any]) -> Any:
    """Outputs with parts of their graphs replaced.

    Parameters
    ----------
    outputs : DimTensor, list or dict
    replacements : mapping of DimTensor to DimTensor
        Inputs or intermediates and what takes their place. A replacement may have more dims:
        everything that depends on it is then computed for each position along them.

    Raises
    ------
    DimError
        If a replacement lacks a dim of what it replaces.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, y = dt.scalar("x"), dt.scalar("y")
    >>> dt.substitute(x + 1, {x: y}) is y + 1
    True
    """
    from dimtensor.graph.substitute import substitute as substitute_nodes

    mapping = {}
    for old, new in replacements.items():
        old_node = as_node(old)
        mapping[old_node] = as_node(new, [old_node])
        if mapping[old_node].dtype != old_node.dtype:
            raise GraphError(
                f"{old_node} has dtype {old_node.dtype}, its replacement "
                f"{mapping[old_node].dtype}; use astype"
            )
    many = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
    many = list(many) if isinstance(many, (list, tuple)) else [many]
    results = [wrap(n) for n in substitute_nodes([as_node(o) for o in many], mapping)]
    if isinstance(outputs, Mapping):
        return dict(zip(outputs, results, strict=True))
    return results if isinstance(outputs, (list, tuple)) else results[0]


def vectorize(outputs: Any, replacements: Mapping[DimTensor, Any]) -> Any:
    """A finished expression batched over the dims that replacements add to its inputs.

    Parameters
    ----------
    outputs : DimTensor, list or dict
    replacements : mapping of DimTensor to DimTensor or Dim
        For each input a tensor with more dims, or the dims to add to it: the new input then has
        the name of the old one.

    Returns
    -------
    DimTensor, list or dict
        Gradients, linear algebra and selections in the expression are batched like the rest.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, draw = dt.scalar("x"), dt.Dim("draw", length=4)
    >>> dt.vectorize(dt.exp(x), {x: draw}).sizes
    {'draw': 4}
    """
    from dimtensor.compile.function import _with_dims
    from dimtensor.dims import Dim, as_dim_tuple

    grown = {}
    for old, new in replacements.items():
        dims = isinstance(new, Dim) or (
            isinstance(new, (list, tuple)) and all(isinstance(d, Dim) for d in new)
        )
        if dims:
            new = wrap(_with_dims(as_node(old), as_dim_tuple(new, "the dims to add")))
        grown[old] = new
    return substitute(outputs, grown)


def inputs_of(outputs: Any) -> list[DimTensor]:
    """The symbolic inputs that expressions depend on, in the order in which they were made.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, y = dt.scalar("x"), dt.scalar("y")
    >>> [tensor.name for tensor in dt.inputs_of(x * y)]
    ['x', 'y']
    """
    many = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [wrap(node) for node in free_inputs([as_node(o) for o in many])]


def walk(outputs: Any) -> list[Node]:
    """The nodes that expressions are made of, every node after its inputs.

    Examples
    --------
    >>> import dimtensor as dt
    >>> [node.kind for node in dt.walk(dt.exp(dt.scalar("x")))]
    ['input', 'elemwise']
    """
    from dimtensor.graph import toposort

    many = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return toposort([as_node(o) for o in many])
