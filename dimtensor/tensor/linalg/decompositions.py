"""Decompositions of matrices; see :mod:`dimtensor.tensor.linalg`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from dimtensor.dims import Dim
from dimtensor.errors import DtypeError, OptionError
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.functions import BatchedFunction
from dimtensor.tensor.check import check as attach
from dimtensor.tensor.elementwise import isfinite
from dimtensor.tensor.linalg.equations import diagonal
from dimtensor.tensor.linalg.matrices import (
    DimPair,
    call,
    matrix,
    numbering,
    real,
    shorter,
    symmetric,
)

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


_MATRIX_FUNCTIONS = ("sqrt", "rsqrt", "log", "exp")


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors.

    Parameters
    ----------
    eigenvalues : DimTensor
    eigenvectors : DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> found = dt.linalg.eigh(dt.data([[2.0, 0.0], [0.0, 1.0]], dims=[k, k.rename()]))
    >>> found.eigenvalues.values.tolist()
    [1.0, 2.0]
    """

    eigenvalues: DimTensor
    eigenvectors: DimTensor


class SVDResult(NamedTuple):
    """Left singular vectors, singular values in descending order, right singular vectors.

    Parameters
    ----------
    U, S, Vh : DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> found = dt.linalg.svd(dt.data([[1.0, 0.0], [0.0, 2.0]], dims=[k, k.rename()]))
    >>> found.S.values.tolist()
    [2.0, 1.0]
    """

    U: DimTensor
    S: DimTensor
    Vh: DimTensor


class QRResult(NamedTuple):
    """Orthonormal factor Q and upper triangular factor R.

    Parameters
    ----------
    Q, R : DimTensor

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> found = dt.linalg.qr(dt.data([[2.0, 0.0], [0.0, 1.0]], dims=[k, k.rename()]))
    >>> float(abs(found.R).sum().item())
    3.0
    """

    Q: DimTensor
    R: DimTensor


def cholesky(x: TensorLike, dims: DimPair | None = None, *, check: bool = False) -> DimTensor:
    """Compute the Cholesky factor: the lower triangular L for which L L' is the matrix.

    Parameters
    ----------
    x : DimTensor
        Symmetric positive definite; only its lower triangle is read.
    dims : pair of Dim or str, optional
        Row and column dim.
    check : bool
        Whether a function raises :class:`dimtensor.CheckError` where the matrix is not positive
        definite. The error has the smallest eigenvalue, and what to add to the diagonal. A check
        of your own that depends on a factor has them, too.

    Returns
    -------
    DimTensor
        On the same dims. Where the matrix is not positive definite, its lower triangle is nan.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length and labels.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> cov = dt.data([[4.0, 2.0], [2.0, 5.0]], dims=[k, k.rename()])
    >>> dt.linalg.cholesky(cov).eval().values.tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    >>> almost = dt.data([[1.0, 0.0], [0.0, -1e-6]], dims=[k, k.rename()], name="almost")
    >>> dt.linalg.cholesky(almost, check=True).eval()
    Traceback (most recent call last):
    dimtensor.errors.CheckError: cholesky: the matrix is not positive definite
      matrix: almost
      smallest eigenvalue: -1e-06
      largest eigenvalue: 1
      jitter that would do: 1e-05
    hint: add it to the diagonal: almost + 1e-05 * dt.eye(k)
    """
    node, row, col = symmetric(x, dims, "cholesky")
    function = BatchedFunction("pytensor.tensor.linalg:cholesky")
    factor = call("cholesky", function, [node], [(row, col)], [((row, col), node.dtype)])[0]
    if not check:
        return factor
    inside = isfinite(diagonal(factor, [row, col])).all(row)
    return attach(inside, "cholesky: the matrix is not positive definite", factor)


def eigh(x: TensorLike, dims: DimPair | None = None, dim: Dim | str = "eigen") -> EighResult:
    """Compute the eigenvalues and eigenvectors of a symmetric matrix.

    Parameters
    ----------
    x : DimTensor
        Symmetric, not complex; only its lower triangle is read.
    dims : pair of Dim or str, optional
        Row and column dim.
    dim : str or Dim
        The dim that numbers the eigenvalues, or the name of a new one.

    Returns
    -------
    EighResult
        ``eigenvalues`` on the new dim, ascending; ``eigenvectors`` on the row dim and the new dim,
        with arbitrary signs. Their gradients are not finite where eigenvalues repeat; those of
        `funm` are.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length and labels.
    DtypeError
        If x is complex.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> values, vectors = dt.linalg.eigh(dt.data([[2.0, 1.0], [1.0, 2.0]], dims=[k, k.rename()]))
    >>> values.eval().round(6).values.tolist(), vectors.sizes
    ([1.0, 3.0], {'eigen': 2, 'k': 2})
    """
    node, row, col = symmetric(x, dims, "eigh")
    if is_complex(node.dtype):
        raise DtypeError(f"eigh takes real matrices, not {node.dtype}")
    new = numbering(node, dim, row, "eigh")
    return EighResult(
        *call(
            "eigh",
            BatchedFunction("dimtensor.ops.linalg:eigh"),
            [node],
            [(row, col)],
            [((new,), node.dtype), ((row, new), node.dtype)],
        )
    )


def funm(
    x: TensorLike,
    function: Literal["sqrt", "rsqrt", "log", "exp"],
    dims: DimPair | None = None,
) -> DimTensor:
    """Apply a function to a symmetric matrix: to its eigenvalues, in the basis of eigenvectors.

    Derivatives of all orders are finite and right where eigenvalues repeat or nearly do, unlike
    those of an expression of `eigh`: they are sums of divided differences (N. J. Higham, Functions
    of Matrices, 2008, theorem 3.11).

    Parameters
    ----------
    x : DimTensor
        Symmetric, not complex; only its lower triangle is read.
    function : {"sqrt", "rsqrt", "log", "exp"}
        Square root, inverse square root, logarithm or exponential function.
    dims : pair of Dim or str, optional
        Row and column dim.

    Returns
    -------
    DimTensor
        On the same dims, symmetric. It is not finite where an eigenvalue is outside of the
        function's domain, and its derivatives are not finite on the border of the domain: a square
        root takes a matrix that is positive definite.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length and labels.
    DtypeError
        If x is complex.
    OptionError
        If the function is none of these.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> cov = dt.data([[5.0, 4.0], [4.0, 5.0]], dims=[k, k.rename()])
    >>> dt.linalg.funm(cov, "sqrt").eval().round(6).values.tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    if function not in _MATRIX_FUNCTIONS:
        known = ", ".join(map(repr, _MATRIX_FUNCTIONS))
        raise OptionError(f"funm: function is one of {known}, not {function!r}")
    node, row, col = symmetric(x, dims, "funm")
    if is_complex(node.dtype):
        raise DtypeError(f"funm takes real matrices, not {node.dtype}")
    apply = BatchedFunction("dimtensor.ops.derivatives.matrix_functions:funm", function=function)
    return call("funm", apply, [node], [(row, col)], [((row, col), node.dtype)])[0]


def svd(x: TensorLike, dims: DimPair | None = None, dim: Dim | str = "rank") -> SVDResult:
    """Compute the thin singular value decomposition, whose product over the new dim is the matrix.

    Parameters
    ----------
    x : DimTensor
        Of any two lengths.
    dims : pair of Dim or str, optional
        Row and column dim.
    dim : str or Dim
        The dim that numbers the singular values, as long as the shorter of the two; or the name
        of a new one. If it is not known which of the two is shorter, pass a Dim that is as long as
        one of them; calls then check that the other is at least as long.

    Returns
    -------
    SVDResult
        ``U`` on the row dim and the new dim, ``S`` on the new dim, descending, ``Vh`` on the new
        dim and the column dim: ``dt.dot(U, S, Vh, dim="rank")`` is x. Signs are arbitrary.
        Gradients are not finite or wrong where singular values repeat.

    Raises
    ------
    DimError
        If the dims are not there, or which of them is shorter is not known.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a, b = dt.Dim("a", length=3), dt.Dim("b", length=2)
    >>> U, S, Vh = dt.linalg.svd(
    ...     dt.data([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]], dims=[a, b]), ["a", "b"]
    ... )
    >>> S.eval().values.tolist(), U.sizes
    ([3.0, 2.0], {'a': 3, 'rank': 2})
    """
    node, row, col = matrix(x, dims, "svd")
    new, _, promised = shorter(node, dim, row, col, "svd")
    return SVDResult(
        *call(
            "svd",
            BatchedFunction("dimtensor.ops.linalg:svd", checked_lengths=promised),
            [node],
            [(row, col)],
            [
                ((row, new), node.dtype),
                ((new,), real(node.dtype)),
                ((new, col), node.dtype),
            ],
        )
    )


def qr(x: TensorLike, dims: DimPair | None = None, dim: Dim | str = "rank") -> QRResult:
    """Compute the thin QR decomposition: orthonormal columns times an upper triangular matrix.

    Parameters
    ----------
    x : DimTensor
        Of any two lengths.
    dims : pair of Dim or str, optional
        Row and column dim.
    dim : str or Dim
        The dim that numbers the columns of Q, as long as the shorter of the two; or the name of
        a new one. If it is not known which of the two is shorter, pass a Dim that is as long as
        one of them; calls then check that the other is at least as long.

    Returns
    -------
    QRResult
        ``Q`` on the row dim and the new dim, ``R`` on the new dim and the column dim:
        ``dt.dot(Q, R)`` is x.

    Raises
    ------
    DimError
        If the dims are not there, or which of them is shorter is not known.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs, k = dt.Dim("obs", length=3), dt.Dim("k", length=2)
    >>> x = dt.data([[1.0, 2.0], [0.0, 1.0], [1.0, 3.0]], dims=[obs, k])
    >>> Q, R = dt.linalg.qr(x, ["obs", "k"])
    >>> dt.dot(Q, R).eval().round(6).values.tolist()
    [[1.0, 0.0, 1.0], [2.0, 1.0, 3.0]]
    """
    node, row, col = matrix(x, dims, "qr")
    new, wide, promised = shorter(node, dim, row, col, "qr")
    function = BatchedFunction("dimtensor.ops.linalg:qr", checked_lengths=promised, wide=wide)
    out = [((row, new), node.dtype), ((new, col), node.dtype)]
    return QRResult(*call("qr", function, [node], [(row, col)], out))
