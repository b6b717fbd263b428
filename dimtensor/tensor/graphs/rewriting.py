"""Rewriting of graphs by a user's function, and access to their nodes and data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from dimtensor.compile.function import Structure
from dimtensor.dims import dim_set, without
from dimtensor.errors import ArgumentError, DimError, DtypeError, OptionError
from dimtensor.graph import Node
from dimtensor.graph.infer import describe
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.tensor.evaluate import evaluate
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.values.data import title_of

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Expressions

Rewrite = Callable[["DimTensor"], "DimTensor | None"]


@overload
def rewrite(outputs: DimTensor, f: Rewrite) -> DimTensor: ...
@overload
def rewrite[S: Sequence[Any]](outputs: S, f: Rewrite) -> S: ...
@overload
def rewrite[K, T](outputs: Mapping[K, T], f: Rewrite) -> dict[K, T]: ...


def rewrite(outputs: Expressions, f: Rewrite) -> Any:
    """Replace parts of expressions by the results of a function, bottom up.

    Parameters
    ----------
    outputs : DimTensor, list or dict
    f : callable
        Called with every tensor of the graph, inputs and constants included, after its operands
        have been rewritten. Returns a replacement, or None to keep the tensor. It is called once
        per tensor, and not with its own results. In loop bodies and branches of conditionals, state
        and arguments are nodes of kind ``bound``.

    Returns
    -------
    DimTensor, list or dict
        As `outputs`.

    Raises
    ------
    DimError
        If a replacement lacks a dim of the tensor that it replaces.
    DtypeError
        If a replacement has another dtype.
    ArgumentError
        If a replacement is not a tensor.

    See Also
    --------
    substitute : Replace given parts.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> def stable(t):  # log(1 + x) as log1p(x)
    ...     if t.node.operation == "log" and t.node.inputs[0].operation == "add":
    ...         rest = [one for one in t.node.inputs[0].inputs if one.value != 1.0]
    ...         return dt.log1p(dt.from_node(rest[0])) if len(rest) == 1 else None
    >>> dt.rewrite(2 * dt.log(1.0 + x), stable) is 2 * dt.log1p(x)
    True
    """
    structure, many = Structure.of(outputs)
    replacing = _Replacing(f)
    results = [wrap(node) for node in rebuild([as_node(x) for x in many], {}, replacing)]
    return structure.rebuild(results)


class _Replacing:
    """Callable that replaces nodes by the results of a user's function, in loop bodies too.

    It is a class because a nested function that calls itself is a reference cycle, which would keep
    the graph alive.
    """

    def __init__(self, f: Callable[[DimTensor], Any]):
        self._f = f

    def __call__(self, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        kind = KINDS[node.kind]
        if kind.has_regions:
            made = kind.rebuilt(node, inputs, {}, self)[node.attrs.output]
        else:
            made = node if inputs == node.inputs else kind.with_inputs(node, inputs, {})
        instead = self._f(wrap(made))
        return made if instead is None else _fitting(instead, made)


def _fitting(instead: Any, node: Node) -> Node:
    """Return the node of a replacement, checked against the node that it replaces.

    Raises
    ------
    DimError, DtypeError, ArgumentError
        If it lacks dims, has another dtype, or is not a tensor.
    """
    if not isinstance(getattr(instead, "node", None), Node):
        raise ArgumentError(
            f"rewrite: the replacement of {describe(node)} is a tensor or None, "
            f"not {type(instead).__name__}"
        )
    new: Node = instead.node
    lost = without(node.dims, new.dims)
    if lost:
        raise DimError(
            f"rewrite: the replacement of {describe(node)} lacks dims",
            [("given", dim_set(new.dims)), ("lacking", dim_set(lost))],
            "expand it over them",
        )
    if new.dtype != node.dtype:
        raise DtypeError(
            f"rewrite: the replacement of {describe(node)} has another dtype",
            [("expected", node.dtype), ("given", new.dtype)],
            "use astype",
        )
    return new


def from_node(node: Node) -> DimTensor:
    """Return the tensor of a node.

    Parameters
    ----------
    node : Node
        From ``dt.walk`` or ``node.inputs``.

    Returns
    -------
    DimTensor

    Raises
    ------
    ArgumentError
        If it is not a node.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> dt.from_node(dt.exp(x).node.inputs[0]) is x
    True
    """
    if not isinstance(node, Node):
        raise ArgumentError(f"a node is expected, as dt.walk(x) gives them, not {node!r}")
    return wrap(node)


def data_of(x: DimTensor | Node) -> xr.DataArray:
    """Return the values of a data tensor or a constant.

    Parameters
    ----------
    x : DimTensor or Node
        Made by ``dt.data``, or a number in an expression.

    Returns
    -------
    DataArray
        With the labels of its dims. If the tensor has categories, its values are labels.

    Raises
    ------
    OptionError
        If it is an input or an expression: inputs get their values in a call, expressions are
        evaluated by ``eval``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> y = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
    >>> {n.operation: dt.data_of(n).values.tolist() for n in dt.walk(y * 3.0) if n.is_known}
    {'constant': 3.0, 'data': [1.0, 2.0]}
    """
    node = as_node(x)
    if not node.is_known:
        raise OptionError(
            f"{title_of(node)} is no data",
            [("kind", node.kind)],
            "dt.data and numbers have values of their own; others are evaluated: x.eval()",
        )
    found: xr.DataArray = evaluate(wrap(node))
    return found
