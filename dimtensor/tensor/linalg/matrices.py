"""Row and column dims of matrix arguments, and checks of their lengths and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, RenamedDim, SortedDim, dim_labels, find_dims, in_order
from dimtensor.errors import DimError, DtypeError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ApplyAttrs
from dimtensor.graph.functions import BatchedFunction
from dimtensor.tensor.handle import as_node, require_float, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

DimPair = Sequence[Dim | str]


def require_numbers(node: Node, operation: str) -> None:
    """Raise DtypeError for a tensor of labels."""
    if node.categories is not None:
        raise DtypeError(
            f"{operation} is not defined for labels of {node.categories._title}; "
            ".codes gives their positions as integers"
        )


def matrix(
    x: Any, dims: DimPair | None, operation: str, to_float: bool = True
) -> tuple[Node, Dim, Dim]:
    """Return the node of a matrix argument, its row dim and its column dim."""
    node = as_node(x, (), f"the matrix of {operation}")
    require_numbers(node, operation)
    if to_float:
        node = require_float(node)
    if dims is None:
        return (node, *_renamed_pair(node.dims, operation))
    if not isinstance(dims, (Dim, str)):
        dims = in_order(dims, f"the dims of {operation}")
    found = find_dims(node.dims, dims, operation)
    if len(found) != 2:
        raise DimError(
            f"{operation}: dims are the row dim and the column dim, not {len(found)} dims",
            [("dims", [dim._short for dim in found])],
        )
    return node, *found


def _renamed_pair(dims: Dims, operation: str) -> tuple[Dim, Dim]:
    pairs = [(d.parent, d) for d in dims if isinstance(d, RenamedDim) and d.parent in dims]
    if len(pairs) != 1:
        what = (
            "no dim occurs together with a renamed copy of it"
            if not pairs
            else "several dims occur together with renamed copies of them"
        )
        raise DimError(
            f"{operation}: which dims are rows and columns is not known: {what}",
            [("dims", ", ".join(map(repr, dims)) or "none (a scalar)")],
            _pair_hint(dims, operation),
        )
    return pairs[0]


def _pair_hint(dims: Dims, operation: str) -> str:
    """Suggest a way to tell rows from columns; distributions do not take `dims=`."""
    names = [dim._short for dim in dims if dim._short.isidentifier()]
    if operation[0].islower() and len(dims) > 1:
        row, column = names[:2] if len(names) > 1 else ("row", "column")
        return f"pass dims=({row}, {column}), rows first, or dims=({column}, {row})"
    row = names[0] if names else "k"
    return (
        f"columns are along the dim of the rows, renamed: dt.data(values, dims=[{row}, "
        f"{row}.rename()])"
    )


def square(
    x: Any, dims: DimPair | None, operation: str, to_float: bool = True
) -> tuple[Node, Dim, Dim]:
    """Return the node and the dims of a matrix that is known to be square."""
    node, row, col = matrix(x, dims, operation, to_float)
    if None not in (row.length, col.length):
        same = row.length == col.length
    else:
        same = measured(row) is measured(col)
    if not same:
        raise DimError(
            f"{operation} takes a square matrix; {row._title} and {col._title} are not known "
            "to have the same length",
            [("rows", _with_length(row)), ("columns", _with_length(col))],
            "give both a length, or make one of them by renaming the other",
        )
    return node, row, col


def symmetric(
    x: Any, dims: DimPair | None, operation: str, to_float: bool = True
) -> tuple[Node, Dim, Dim]:
    """Return the node and the dims of a square matrix, unless rows and columns differ in labels."""
    node, row, col = square(x, dims, operation, to_float)
    mine, theirs = dim_labels(row), dim_labels(col)
    if mine is not None and theirs is not None and not mine.same_labels(theirs):
        raise DimError(
            f"{operation} takes a matrix whose rows and columns have the same labels",
            [("rows", repr(row)), ("columns", repr(col))],
            "bring the columns into the order of the rows with sel",
        )
    return node, row, col


def original(dim: Dim) -> Dim:
    """Return the dim that a renamed dim was made from, or the dim itself."""
    return dim.parent if isinstance(dim, RenamedDim) else dim


def measured(dim: Dim) -> Dim:
    """Return the dim that determines the length of a renamed or sorted dim."""
    while isinstance(dim, (RenamedDim, SortedDim)):
        (dim,) = dim.parents
    return dim


def _with_length(dim: Dim) -> str:
    return f"{dim!r}, length {'unknown' if dim.length is None else dim.length}"


def real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def numbering(x: Node, dim: Dim | str, like: Dim, operation: str) -> Dim:
    """Return the new dim of a decomposition: as long as another dim, without its labels."""
    if isinstance(dim, str):
        new: Dim = RenamedDim(SortedDim(original(like)), dim)
    else:
        new = dim
        if None not in (new.length, like.length) and new.length != like.length:
            raise DimError(
                f"{operation}: {new._title} has length {new.length}, the result has length "
                f"{like.length}",
                [("dim", repr(new))],
            )
    for other in x.dims:
        if other is new or (other.name is not None and other.name == new.name):
            raise DimError(
                f"{operation}: the matrix has a dim named {new._short!r} already",
                [("dims", [d._short for d in x.dims])],
                "pass another name as dim=",
            )
    return new


def shorter(x: Node, dim: Dim | str, row: Dim, col: Dim, operation: str) -> tuple[Dim, bool, bool]:
    """Return the new dim of a thin decomposition, as long as the shorter of the matrix's two dims.

    Returns
    -------
    dim : Dim
    wide : bool
        Whether the row dim is the shorter one.
    promised : bool
        Whether this is the user's claim, made by passing a Dim as long as one of two whose lengths
        are unknown; it is checked when the function runs.
    """
    promised = False
    if None not in (row.length, col.length):
        wide = len(row) < len(col)
    elif measured(row) is measured(col):
        wide = False
    elif isinstance(dim, Dim) and (_as_long(dim, col) or _as_long(dim, row)):
        wide, promised = not _as_long(dim, col), True
    else:
        raise DimError(
            f"{operation}: which of {row._title} and {col._title} is shorter is not known",
            [("rows", _with_length(row)), ("columns", _with_length(col))],
            "give both a length, or pass dim=, a Dim that is as long as the shorter one",
        )
    return numbering(x, dim, row if wide else col, operation), wide, promised


def _as_long(dim: Dim, other: Dim) -> bool:
    if other.length is not None:
        return dim.length == other.length
    return isinstance(dim, RenamedDim) and original(dim) in (
        original(other),
        SortedDim(original(other)),
    )


def call(
    name: str,
    function: BatchedFunction,
    nodes: Sequence[Node],
    cores: Sequence[Dims],
    outputs: Sequence[tuple[Dims, str]],
) -> list[DimTensor]:
    attrs = [
        ApplyAttrs(function, tuple(cores), dims, dtype, at, name)
        for at, (dims, dtype) in enumerate(outputs)
    ]
    return [wrap(make("apply", tuple(nodes), a)) for a in attrs]
