"""Kronecker products; see :mod:`dimtensor.tensor.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, ProductDim, RenamedDim
from dimtensor.errors import DimError, OptionError
from dimtensor.graph import Node
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import as_node, renamed, wrap
from dimtensor.tensor.linalg.equations import solve
from dimtensor.tensor.linalg.matrices import DimPair, matrix

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def kron(*matrices: TensorLike, dims: Sequence[DimPair] | None = None) -> DimTensor:
    """Kronecker product, whose rows are all combinations of the rows of its factors.

    Parameters
    ----------
    *matrices : DimTensor
    dims : sequence of pairs of Dim or str, optional
        Row and column dim of each matrix.

    Returns
    -------
    DimTensor
        On the ProductDim of the row dims and that of the column dims; where every column dim is
        its row dim renamed, the latter is the former renamed. Dims that are neither are batch dims.

    Raises
    ------
    DimError
        If dims are not there, or two matrices share a row or column dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j = dt.Dim("i", length=2), dt.Dim("j", length=2)
    >>> a = dt.data([[1.0, 2.0], [3.0, 4.0]], dims=[i, i.rename()])
    >>> b = dt.data([[1.0, 0.0], [0.0, 1.0]], dims=[j, j.rename()])
    >>> dt.kron(a, b).sizes
    {'i_j': 4, "i_j'": 4}
    >>> dt.kron(a, b).eval().values.tolist()[0]
    [1.0, 0.0, 2.0, 0.0]
    """
    found = _factors(matrices, dims, "kron")
    rows = [row for _, row, _ in found]
    columns = [col for _, _, col in found]
    whole: Any = wrap(found[0][0])
    if len(found) == 1:
        return whole
    for node, _, _ in found[1:]:
        whole = whole * wrap(node)
    # the rows step aside, so that the columns can take their names
    product = ProductDim(rows)
    aside = RenamedDim(product, f"{product.name}, rows")
    by_row = renamed(whole.ravel(rows), {product: aside})
    result = renamed(_with_columns_merged(by_row, rows, columns), {aside: product})
    return say(result, "kron", *(node for node, _, _ in found))


def solve_kron(
    matrices: Sequence[Any], b: TensorLike, dims: Sequence[DimPair] | None = None
) -> DimTensor:
    """Solution of linear equations with a Kronecker product, which is never formed.

    It takes one :func:`solve` per factor (Golub and Van Loan, Matrix Computations, 4th edition,
    section 12.3.1).

    Parameters
    ----------
    matrices : sequence of DimTensor
        The factors.
    b : DimTensor
        With the row dims of all factors, or with their ProductDim.
    dims : sequence of pairs of Dim or str, optional
        Row and column dim of each matrix.

    Returns
    -------
    DimTensor
        With the column dims of the factors; where b has the ProductDim of the row dims, with the
        column dim of ``dt.kron(*matrices)``.

    Raises
    ------
    DimError
        If dims are not there, or two matrices share a row or column dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j = dt.Dim("i", length=2), dt.Dim("j", length=2)
    >>> a = dt.data([[1.0, 2.0], [3.0, 4.0]], dims=[i, i.rename()])
    >>> b = dt.data([[2.0, 0.0], [0.0, 2.0]], dims=[j, j.rename()])
    >>> x = dt.linalg.solve_kron([a, b], dt.ones([i, j]))
    >>> x.sizes, x.eval().round(6).values.tolist()
    ({"i'": 2, "j'": 2}, [[-0.5, -0.5], [0.5, 0.5]])
    """
    found = _factors(matrices, dims, "solve_kron")
    product = ProductDim([row for _, row, _ in found])
    right: Any = wrap(as_node(b, [found[0][0]], "the right-hand side of solve_kron"))
    merged = len(found) > 1 and product in right.dims
    solution = right.unravel(product) if merged else right
    for node, row, col in found:
        solution = solve(wrap(node), solution, (row, col))
    if not merged:
        return solution
    rows, columns = [row for _, row, _ in found], [col for _, _, col in found]
    return _with_columns_merged(solution, rows, columns)


def _with_columns_merged(x: Any, rows: Sequence[Dim], columns: Sequence[Dim]) -> DimTensor:
    """Column dims as one dim: the renamed product of the rows where each is its row renamed."""
    pairs = zip(rows, columns, strict=True)
    if not all(isinstance(c, RenamedDim) and c.parent is r for r, c in pairs):
        return x.ravel(columns)
    # under the names of the rows, the factors come in the order that they have in the rows
    product = ProductDim(rows)
    merged = renamed(x, dict(zip(columns, rows, strict=True))).ravel(rows)
    return renamed(merged, {product: RenamedDim(product)})


def _factors(
    matrices: Sequence[Any], dims: Sequence[DimPair] | None, operation: str
) -> list[tuple[Node, Dim, Dim]]:
    if not matrices:
        raise OptionError(f"{operation} takes at least one matrix")
    if dims is not None and len(dims) != len(matrices):
        raise DimError(
            f"{operation}: dims has a pair (row, column) per matrix",
            [("matrices", len(matrices)), ("pairs", len(dims))],
        )
    pairs = [None] * len(matrices) if dims is None else dims
    found = [matrix(x, d, operation, to_float=False) for x, d in zip(matrices, pairs, strict=True)]
    for at, (_, *own) in enumerate(found):
        for other, (node, _, _) in enumerate(found):
            shared = [dim for dim in own if dim in node.dims]
            if at != other and shared:
                pair = sorted((at, other))
                raise DimError(
                    f"{operation}: {shared[0]._title} is a dim of matrix {at + 1} and of "
                    f"matrix {other + 1}",
                    [(f"matrix {n + 1}", [d._short for d in found[n][0].dims]) for n in pair],
                    "rename it in one of them with rename_dim",
                )
    return found
