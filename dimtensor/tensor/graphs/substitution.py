"""Substitution of tensors and dims in expressions, and batching by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from dimtensor.compile.code import with_dims
from dimtensor.compile.function import Structure
from dimtensor.dims import Dim, as_dim_tuple
from dimtensor.errors import (
    DimError,
    GraphError,
    LabelError,
    UnknownDimError,
    did_you_mean,
    listing,
)
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.exchange import substitute as substitute_nodes
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.values.data import as_mapping

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Expressions


@overload
def substitute(
    outputs: DimTensor,
    replacements: Mapping[Any, Any] | None = None,
    *,
    dims: Mapping[Dim | str, Dim] | None = None,
) -> DimTensor: ...
@overload
def substitute[S: Sequence[Any]](
    outputs: S,
    replacements: Mapping[Any, Any] | None = None,
    *,
    dims: Mapping[Dim | str, Dim] | None = None,
) -> S: ...
@overload
def substitute[K, T](
    outputs: Mapping[K, T],
    replacements: Mapping[Any, Any] | None = None,
    *,
    dims: Mapping[Dim | str, Dim] | None = None,
) -> dict[K, T]: ...


def substitute(
    outputs: Expressions,
    replacements: Mapping[Any, Any] | None = None,
    *,
    dims: Mapping[Dim | str, Dim] | None = None,
) -> Any:
    """Replace tensors or dims in expressions.

    Parameters
    ----------
    outputs : DimTensor, list or dict
    replacements : mapping of DimTensor (or the name of one) to DimTensor, optional
        Maps inputs or intermediate results to their replacements. A replacement may have more dims:
        everything that depends on it is then batched over them. Names are those of inputs, data and
        named expressions. Keys may be dims, too.
    dims : mapping of Dim (or the name of one) to Dim, optional
        Replaces dims in all inputs; selections select the same labels in the new dims.

    Returns
    -------
    DimTensor, list or dict
        As `outputs`.

    Raises
    ------
    DimError
        If a replacement lacks a dim of the tensor that it replaces, or data that are not replaced
        have a replaced dim.
    LabelError
        If a selected label is not in the new dim.
    LabelError
        If no tensor, or more than one, has a given name.

    Notes
    -----
    The variable of a derivative is bound: replacing x in ``dt.grad(f, x)`` sets the point at which
    the gradient is taken; the function that is differentiated stays the same.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, y = dt.scalar("x"), dt.scalar("y")
    >>> dt.substitute(x + 1, {x: y}) is dt.substitute(x + 1, {"x": y}) is y + 1
    True
    """
    mapping = {}
    exchanged: dict[Dim, Dim] = {}
    structure, given_outputs = Structure.of(outputs)
    many = [as_node(x) for x in given_outputs]
    given = dict(as_mapping(replacements, "replacements"))
    for old, new in as_mapping(dims, "dims").items():
        given[_dim_of_name(many, old) if isinstance(old, str) else old] = new
    for old, new in given.items():
        if isinstance(old, Dim):
            if not isinstance(new, Dim):
                raise DimError(
                    f"substitute: {old._title} is replaced by a dim, not {type(new).__name__}"
                )
            exchanged[old] = new
            continue
        old_node = _of_name(many, old) if isinstance(old, str) else as_node(old)
        mapping[old_node] = as_node(new, [old_node])
        if mapping[old_node].dtype != old_node.dtype:
            raise GraphError(
                f"{old_node} has dtype {old_node.dtype}, its replacement "
                f"{mapping[old_node].dtype}; use astype"
            )
    results = [wrap(n) for n in substitute_nodes(many, mapping, exchanged)]
    return structure.rebuild(results)


def _dim_of_name(outputs: Sequence[Node], name: str) -> Dim:
    """Find the dim with a name in a graph.

    Raises
    ------
    UnknownDimError
        If there is no such dim, or more than one.
    """
    dims = dict.fromkeys(dim for node in toposort(outputs) for dim in node.dims)
    found = [dim for dim in dims if dim.name == name]
    if len(found) == 1:
        return found[0]
    names = [dim.name for dim in dims if dim.name is not None]
    what = f"there is no dim {name!r}{did_you_mean(name, names)}"
    if found:
        what = f"{len(found)} dims are named {name!r}; pass the Dim instead of its name"
    raise UnknownDimError(f"substitute: {what}", [("dims", listing(names))])


def _of_name(outputs: Sequence[Node], name: str) -> Node:
    """Find the node with a name in a graph.

    Raises
    ------
    LabelError
        If there is no such node, or more than one.
    """
    found = [node for node in toposort(outputs) if node.name == name]
    if len(found) == 1:
        return found[0]
    names = list(dict.fromkeys(n.name for n in toposort(outputs) if n.name is not None))
    what = f"no tensor is named {name!r}{did_you_mean(name, names)}"
    if found:
        what = f"{len(found)} tensors are named {name!r}; pass the tensor instead of its name"
    raise LabelError(f"substitute: {what}", [("names", listing(names))])


@overload
def vectorize(outputs: DimTensor, replacements: Mapping[DimTensor, Any]) -> DimTensor: ...
@overload
def vectorize[S: Sequence[Any]](outputs: S, replacements: Mapping[DimTensor, Any]) -> S: ...
@overload
def vectorize[K, T](
    outputs: Mapping[K, T], replacements: Mapping[DimTensor, Any]
) -> dict[K, T]: ...


def vectorize(outputs: Expressions, replacements: Mapping[DimTensor, Any]) -> Any:
    """Batch an expression over dims that replacements add to its inputs.

    Parameters
    ----------
    outputs : DimTensor, list or dict
    replacements : mapping of DimTensor to DimTensor or Dim
        For each input a tensor with more dims, or the dims to add: this makes a new input of the
        same name.

    Returns
    -------
    DimTensor, list or dict
        As `outputs`. Gradients, linear algebra and selections are batched, too.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, draw = dt.scalar("x"), dt.Dim("draw", length=4)
    >>> dt.vectorize(dt.exp(x), {x: draw}).sizes
    {'draw': 4}
    """
    grown = {}
    for old, new in as_mapping(replacements, "replacements").items():
        dims = isinstance(new, Dim) or (
            isinstance(new, (list, tuple)) and all(isinstance(d, Dim) for d in new)
        )
        if dims:
            new = wrap(with_dims(as_node(old), as_dim_tuple(new, "the dims to add")))
        grown[old] = new
    return substitute(outputs, grown)
