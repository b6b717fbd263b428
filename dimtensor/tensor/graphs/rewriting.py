"""Rewriting by a function of the user's, and the values that expressions hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

from dimtensor.dims import dim_set, without
from dimtensor.errors import DimError, DtypeError, InputError, build_message
from dimtensor.graph import Node
from dimtensor.graph.infer import describe
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.values.data import title_of

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor

Rewrite = Callable[["DimTensor"], "DimTensor | None"]


@overload
def rewrite(outputs: DimTensor, f: Rewrite) -> DimTensor: ...
@overload
def rewrite[T](outputs: list[T], f: Rewrite) -> list[T]: ...
@overload
def rewrite[K, T](outputs: Mapping[K, T], f: Rewrite) -> dict[K, T]: ...


def rewrite(outputs: Any, f: Rewrite) -> Any:
    """Expressions with parts exchanged by a function, bottom up.

    Parameters
    ----------
    outputs : DimTensor, list or dict
    f : callable
        Gets every tensor of the graph, its operands rewritten already, inputs and numbers as well,
        and returns what takes its place, or None to leave it. In bodies of loops and arms of
        conditionals it gets what they compute; their states and arguments are nodes of the kind
        ``bound``. It is asked once for each tensor, and not of what it returned.

    Returns
    -------
    DimTensor, list or dict
        As `outputs`.

    Raises
    ------
    DimError
        If what takes a tensor's place lacks one of its dims.
    DtypeError
        If it is of another dtype.
    InputError
        If it is no tensor.

    See Also
    --------
    substitute : Exchange parts that are known.

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
    many = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
    many = list(many) if isinstance(many, (list, tuple)) else [many]
    replacing = _Replacing(f)
    results = [wrap(node) for node in rebuild([as_node(x) for x in many], {}, replacing)]
    if isinstance(outputs, Mapping):
        return dict(zip(outputs, results, strict=True))
    return results if isinstance(outputs, (list, tuple)) else results[0]


class _Replacing:
    """Replaces nodes by what a function of their tensors returns, in bodies of loops too.

    A function within another one that calls itself would be a cycle, which keeps what it reads.
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
    """The node that takes the place of another.

    Raises
    ------
    DimError, DtypeError, InputError
        If it does not fit there.
    """
    if not isinstance(getattr(instead, "node", None), Node):
        raise InputError(
            f"rewrite: a tensor or None takes the place of {describe(node)}, "
            f"not {type(instead).__name__}"
        )
    new: Node = instead.node
    lost = without(node.dims, new.dims)
    if lost:
        raise DimError(
            build_message(
                f"rewrite: what takes the place of {describe(node)} lacks dims",
                [("given", dim_set(new.dims)), ("lacking", dim_set(lost))],
                "expand it over them",
            )
        )
    if new.dtype != node.dtype:
        raise DtypeError(
            build_message(
                f"rewrite: what takes the place of {describe(node)} has another dtype",
                [("expected", node.dtype), ("given", new.dtype)],
                "use astype",
            )
        )
    return new


def from_node(node: Node) -> DimTensor:
    """The tensor of a node.

    Parameters
    ----------
    node : Node
        As ``dt.walk`` and ``node.inputs`` give them.

    Returns
    -------
    DimTensor

    Raises
    ------
    InputError
        If it is no node.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> dt.from_node(dt.exp(x).node.inputs[0]) is x
    True
    """
    if not isinstance(node, Node):
        raise InputError(f"a node is expected, as dt.walk(x) gives them, not {node!r}")
    return wrap(node)


def data_of(x: DimTensor | Node) -> xr.DataArray:
    """The values of data or of a number.

    Parameters
    ----------
    x : DimTensor or Node
        Made by ``dt.data``, or a number in an expression.

    Returns
    -------
    DataArray
        With the labels of its dims, and labels for values where it has categories.

    Raises
    ------
    InputError
        If it is no data: values of inputs come with a call, those of expressions with ``eval``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> y = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
    >>> {n.operation: dt.data_of(n).values.tolist() for n in dt.walk(y * 3.0) if n.is_known}
    {'constant': 3.0, 'data': [1.0, 2.0]}
    """
    node = as_node(x)
    if not node.is_known:
        raise InputError(
            build_message(
                f"{title_of(node)} is no data",
                [("kind", node.kind)],
                "dt.data and numbers have values of their own; others are evaluated: x.eval()",
            )
        )
    from dimtensor.tensor.evaluate import evaluate

    found: xr.DataArray = evaluate(wrap(node))
    return found
