"""Linear equations, inverses, determinants and diagonals; see :mod:`dimtensor.tensor.linalg`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import find_dim, without
from dimtensor.errors import DimError, OptionError
from dimtensor.graph.dtypes import promote
from dimtensor.graph.functions import BatchedFunction
from dimtensor.graph.infer import describe
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import as_node, cast, require_float
from dimtensor.tensor.linalg.matrices import DimPair, call, real, require_numbers, square, symmetric

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant.

    Parameters
    ----------
    sign, logabsdet : DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> found = dt.linalg.slogdet(dt.data([[1.0, 0.0], [0.0, -1.0]], dims=[k, k.rename()]))
    >>> found.sign.item(), found.logabsdet.item()
    (-1.0, 0.0)
    """

    sign: DimTensor
    logabsdet: DimTensor


def solve(
    a: TensorLike, b: TensorLike, dims: DimPair | None = None, assume_a: str = "gen"
) -> DimTensor:
    """Solve the linear equations ``dt.dot(a, x, dim=column) = b`` for x.

    Parameters
    ----------
    a : DimTensor
        Square.
    b : DimTensor
        Has the row dim. Dims that `a` lacks are solved for together, with one factorization.
    dims : pair of Dim or str, optional
        Row and column dim of `a`.
    assume_a : {"gen", "sym", "pos"}
        Structure of `a`: general, symmetric, or positive definite.

    Returns
    -------
    DimTensor
        Dims of b, with the column dim in place of the row dim: its labels name the unknowns.

    Raises
    ------
    DimError
        If the dims are not there, are not known to have the same length, or b has the column dim.
    OptionError
        If `assume_a` is none of the three.

    Examples
    --------
    >>> import dimtensor as dt
    >>> eq, unknown = dt.Dim("eq", length=2), dt.Dim("unknown", coords=["x", "y"])
    >>> a = dt.data([[1.0, 1.0], [1.0, -1.0]], dims=[eq, unknown])
    >>> dt.linalg.solve(
    ...     a, dt.data([3.0, 1.0], dims=eq), ["eq", "unknown"]
    ... ).eval().to_series().to_dict()
    {'x': 2.0, 'y': 1.0}
    """
    if assume_a not in ("gen", "sym", "pos"):
        raise OptionError(f"solve: assume_a is 'gen', 'sym' or 'pos', not {assume_a!r}")
    return _solve("solve", a, b, dims, {"assume_a": assume_a})


def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    dims: DimPair | None = None,
    lower: bool = True,
    unit_diagonal: bool = False,
) -> DimTensor:
    """Solve linear equations with a triangular matrix; see :func:`solve`.

    Parameters
    ----------
    a : DimTensor
        Square; only one triangle is read.
    b : DimTensor
        Has the row dim.
    dims : pair of Dim or str, optional
        Row and column dim of `a`. Swapping them, and `lower`, solves with the transpose.
    lower : bool
        Whether the lower triangle is read.
    unit_diagonal : bool
        Whether the diagonal is assumed to be 1 and not read.

    Returns
    -------
    DimTensor
        Dims of b, with the column dim in place of the row dim.

    Raises
    ------
    DimError
        If the dims are not there, are not known to have the same length, or b has the column dim.

    Examples
    --------
    Solving with a positive definite matrix through its Cholesky factor:

    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> L = dt.linalg.cholesky(dt.data([[4.0, 2.0], [2.0, 5.0]], dims=[k, k.rename()]))
    >>> half = dt.linalg.solve_triangular(L, dt.data([8.0, 8.0], dims=k))
    >>> half.eval().values.tolist(), half.sizes
    ([4.0, 2.0], {"k'": 2})
    >>> whole = dt.linalg.solve_triangular(L, half, dims=["k'", "k"], lower=False)
    >>> whole.eval().values.tolist(), whole.sizes
    ([1.5, 1.0], {'k': 2})
    """
    options = {"lower": bool(lower), "unit_diagonal": bool(unit_diagonal)}
    return _solve("solve_triangular", a, b, dims, options)


def inv(x: TensorLike, dims: DimPair | None = None) -> DimTensor:
    """Invert a square matrix; prefer :func:`solve`, which is faster and more accurate.

    Parameters
    ----------
    x : DimTensor
    dims : pair of Dim or str, optional
        Row and column dim.

    Returns
    -------
    DimTensor
        On the same two dims with swapped roles: the column dim of x is the row dim of the inverse,
        so ``dt.dot(dt.linalg.inv(a, dims), b, dim=row)`` equals ``dt.linalg.solve(a, b, dims)``.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j = dt.Dim("i", length=2), dt.Dim("j", length=2)
    >>> x = dt.data([[1.0, 2.0], [0.0, 1.0]], dims=[i, j])
    >>> dt.linalg.inv(x, ["i", "j"]).eval().transpose("j", "i").values.tolist()
    [[1.0, -2.0], [0.0, 1.0]]
    """
    node, row, col = square(x, dims, "inv")
    function = BatchedFunction("dimtensor.ops.linalg:inverse")
    return call("inv", function, [node], [(row, col)], [((col, row), node.dtype)])[0]


def _solve(name: str, a: Any, b: Any, dims: DimPair | None, options: dict[str, Any]) -> DimTensor:
    matrix, row, col = square(a, dims, name)
    right = as_node(b, [matrix], f"the right-hand side of {name}")
    require_numbers(right, name)
    right = require_float(right)
    find_dim(right.dims, row, f"{name}, right-hand side")
    if col in right.dims:
        raise DimError(
            f"{name}: the right-hand side has {col._title}, which is the dim of the solution",
            [("matrix", describe(matrix)), ("right-hand side", describe(right))],
            "rename it: b.rename_dim(dim)",
        )
    dtype = promote((matrix.dtype, right.dtype))
    matrix, right = (cast(x, dtype) for x in (matrix, right))
    columns = without(right.dims, matrix.dims)
    function = BatchedFunction(f"dimtensor.ops.linalg:{name}", b_ndim=1 + len(columns), **options)
    cores = [(row, col), (row, *columns)]
    return call(name, function, [matrix, right], cores, [((col, *columns), dtype)])[0]


def det(x: TensorLike, dims: DimPair | None = None) -> DimTensor:
    """Compute the determinant of a square matrix.

    Parameters
    ----------
    x : DimTensor
    dims : pair of Dim or str, optional
        Row and column dim.

    Returns
    -------
    DimTensor
        On the batch dims. Its gradient is not finite where the matrix is singular.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j = dt.Dim("i", length=2), dt.Dim("j", length=2)
    >>> float(dt.linalg.det(dt.data([[3.0, 2.0], [0.0, 2.0]], dims=[i, j]), ["i", "j"]).eval())
    6.0
    """
    node, row, col = square(x, dims, "det")
    function = BatchedFunction("dimtensor.ops.linalg:det")
    return call("det", function, [node], [(row, col)], [((), node.dtype)])[0]


def slogdet(x: TensorLike, dims: DimPair | None = None) -> SlogdetResult:
    """Compute the sign and the log absolute value of the determinant, which cannot overflow.

    Parameters
    ----------
    x : DimTensor
    dims : pair of Dim or str, optional
        Row and column dim.

    Returns
    -------
    SlogdetResult
        ``sign`` and ``logabsdet``; of a singular matrix 0 and minus infinity.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=400)
    >>> sign, logabsdet = dt.linalg.slogdet(dt.eye(k) * 10.0)
    >>> float(sign.eval()), round(float(logabsdet.eval()), 6)
    (1.0, 921.034037)
    """
    node, row, col = square(x, dims, "slogdet")
    function = BatchedFunction("dimtensor.ops.linalg:slogdet")
    out = [((), node.dtype), ((), real(node.dtype))]
    return SlogdetResult(*call("slogdet", function, [node], [(row, col)], out))


def diagonal(x: TensorLike, dims: DimPair | None = None) -> DimTensor:
    """Extract the diagonal of a square matrix whose rows and columns have the same labels.

    Parameters
    ----------
    x : DimTensor
    dims : pair of Dim or str, optional
        Row and column dim.

    Returns
    -------
    DimTensor
        On the row dim.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length and labels.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", coords=["a", "b"])
    >>> cov = dt.data([[4.0, 2.0], [2.0, 5.0]], dims=[k, k.rename()])
    >>> dt.diagonal(cov).eval().to_series().to_dict()
    {'a': 4.0, 'b': 5.0}
    """
    node, row, col = symmetric(x, dims, "diagonal", to_float=False)
    function = BatchedFunction("dimtensor.ops.linalg:diagonal")
    return call("diagonal", function, [node], [(row, col)], [((row,), node.dtype)])[0]


def trace(x: TensorLike, dims: DimPair | None = None) -> DimTensor:
    """Sum the diagonal of a square matrix; see :func:`diagonal`.

    Parameters
    ----------
    x : DimTensor
    dims : (row, column), optional

    Returns
    -------
    DimTensor
        Without the two dims.

    Raises
    ------
    DimError
        If the dims of rows and columns are not known, or are not of the same length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> float(dt.trace(dt.data([[4.0, 2.0], [2.0, 5.0]], dims=[k, k.rename()])).eval())
    9.0
    """
    _, row, _ = symmetric(x, dims, "trace", to_float=False)
    return say(diagonal(x, dims).sum(row), "trace", x)
