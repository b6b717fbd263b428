"""Linear algebra on trailing axes: PyTensor's ops, failing in the same way on every backend.

A matrix that has no Cholesky factor, no inverse or no converging decomposition gives values that
are not finite. PyTensor's interpreter and numba raise for some of them where JAX goes on; a sampler
that proposes such a matrix is to reject it, not to stop.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg import QR as PytensorQR  # noqa: N811
from pytensor.tensor.linalg import SVD as PytensorSVD  # noqa: N811
from pytensor.tensor.linalg import Det as PytensorDet
from pytensor.tensor.linalg import Eigh as PytensorEigh
from pytensor.tensor.linalg import MatrixInverse, SolveTriangular
from pytensor.tensor.linalg import SLogDet as PytensorSLogDet
from pytensor.tensor.linalg import Solve as PytensorSolve

from dimtensor.ops.differentiable import WithRules
from dimtensor.ops.nodes import lengths


def _or_nan(perform: Callable[[], None], outputs: Sequence[list], shapes: Sequence[tuple],
            dtypes: Sequence[str]) -> None:  # fmt: skip
    """Run a factorization; fill its outputs with nan where LAPACK finds that there is none."""
    with warnings.catch_warnings():
        # ill-conditioned is no error, and the compiled backends do not warn of it
        warnings.simplefilter("ignore")
        try:
            perform()
        except (np.linalg.LinAlgError, ValueError):
            for cell, shape, dtype in zip(outputs, shapes, dtypes, strict=True):
                cell[0] = np.full(shape, np.nan, dtype=dtype)


class Solve(WithRules, PytensorSolve):
    """Solution of ``a @ x = b`` for shapes (n, n) and (n,) or (n, k); nan for a singular `a`."""

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        shape, dtype = inputs[1].shape, node.outputs[0].type.dtype

        def solve() -> None:
            if self.assume_a == "gen" and not np.isfinite(inputs[0]).all():
                # SciPy gives `b` back where a matrix has infinities
                outputs[0][0] = np.linalg.solve(*inputs).astype(dtype, copy=False)
            else:
                super(Solve, self).perform(node, inputs, outputs)

        _or_nan(solve, outputs, [shape], [dtype])
        if outputs[0][0].shape != shape:  # what PyTensor gives for a singular matrix
            outputs[0][0] = np.full(shape, np.nan, dtype=dtype)


class Inverse(WithRules, MatrixInverse):
    """Inverse of a square matrix; nan for a singular one."""

    gufunc_spec = None  # numpy.linalg.inv raises for a whole batch

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        shape, dtype = inputs[0].shape, node.outputs[0].type.dtype
        _or_nan(
            lambda: super(Inverse, self).perform(node, inputs, outputs), outputs, [shape], [dtype]
        )


class Det(WithRules, PytensorDet):
    """Determinant of a square matrix."""


class SLogDet(WithRules, PytensorSLogDet):
    """Sign and logarithm of the absolute determinant of a square matrix.

    PyTensor writes them as functions of the determinant, which over- and underflows unless a
    rewrite comes to its help, and has no gradient for this op.
    """


class Eigh(WithRules, PytensorEigh):
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix; nan where it has nan."""

    gufunc_signature = "(m,m)->(m),(m,m)"

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        n = inputs[0].shape[0]
        dtypes = [o.type.dtype for o in node.outputs]
        _or_nan(
            lambda: super(Eigh, self).perform(node, inputs, outputs),
            outputs,
            [(n,), (n, n)],
            dtypes,
        )


class SVD(WithRules, PytensorSVD):
    """Thin singular value decomposition; nan where the matrix has nan."""

    def __init__(self, full_matrices: bool = False, compute_uv: bool = True,
                 overwrite_a: bool = False):  # fmt: skip
        super().__init__(full_matrices, compute_uv, overwrite_a)

    def make_node(self, x: Any) -> Apply:
        """Make a node whose outputs have static lengths, which JAX needs in later operations."""
        node = super().make_node(x)
        m, n = node.inputs[0].type.shape
        if m is None or n is None or self.full_matrices:
            return node
        k = min(m, n)
        shapes = [(m, k), (k,), (k, n)] if self.compute_uv else [(k,)]
        outputs = [
            pt.tensor(dtype=v.type.dtype, shape=shape)
            for v, shape in zip(node.outputs, shapes, strict=True)
        ]
        return Apply(self, node.inputs, outputs)

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        m, n = inputs[0].shape
        k = min(m, n)
        dtypes = [o.type.dtype for o in node.outputs]
        shapes = [(m, k), (k,), (k, n)] if self.compute_uv else [(k,)]
        _or_nan(lambda: super(SVD, self).perform(node, inputs, outputs), outputs, shapes, dtypes)


class CholeskyGradient(WithRules, Op):
    r"""Cotangent of a symmetric matrix, from the cotangent of its lower Cholesky factor.

    Inputs are the factor L and its cotangent C, of both of which the lower triangles are read. With
    M the symmetric matrix whose lower triangle is that of :math:`L^T C`, the output is the lower
    triangle of :math:`L^{-T} M L^{-1}` with half of its diagonal.

    References
    ----------
    I. Murray, "Differentiation of the Cholesky decomposition", 2016, arXiv:1602.07527.
    """

    __props__ = ()
    gufunc_signature = "(m,m),(m,m)->(m,m)"

    def make_node(self, factor: Any, cotangent: Any) -> Apply:
        factor, cotangent = (pt.as_tensor_variable(v) for v in (factor, cotangent))
        if not factor.type.ndim == cotangent.type.ndim == 2:
            raise TypeError("CholeskyGradient takes two matrices")
        return Apply(self, [factor, cotangent], [factor.type()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        factor, cotangent = inputs
        shape, dtype = factor.shape, node.outputs[0].type.dtype
        _or_nan(
            lambda: outputs[0].__setitem__(0, _cholesky_gradient(factor, cotangent).astype(dtype)),
            outputs,
            [shape],
            [dtype],
        )

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


def _cholesky_gradient(factor: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    from scipy.linalg import solve_triangular as solve_by_triangle

    if not factor.size:
        return np.zeros(factor.shape)
    low = np.tril(factor.T @ np.tril(cotangent))
    found = low + np.tril(low, -1).T
    for _ in range(2):  # with the transpose of a symmetric matrix in between
        found = solve_by_triangle(factor, found.T, trans="T", lower=True, check_finite=False)
    result: np.ndarray = np.tril(found)
    result[np.diag_indices(len(result))] /= 2
    return result


class TallQR(WithRules, PytensorQR):
    """Thin QR decomposition of a matrix that has no more columns than rows."""

    def __init__(self, mode: str = "economic", overwrite_a: bool = False, pivoting: bool = False):
        super().__init__(mode, overwrite_a, pivoting)


inverse = Blockwise(Inverse())
det = Blockwise(Det())
slogdet = Blockwise(SLogDet())
eigh = Blockwise(Eigh())
svd = Blockwise(SVD())


def qr(x: Variable, wide: bool) -> list[Variable]:
    """Thin QR decomposition; `wide` says whether there are more columns than rows."""
    decompose = Blockwise(TallQR())
    if not wide:
        return decompose(x)
    m = lengths(x)[-2]
    # the columns beyond the first m have no part in Q
    Q, R = decompose(x[..., :m])
    return [Q, pt.concatenate([R, Q.mT @ x[..., m:]], axis=-1)]


def solve(a: Variable, b: Variable, b_ndim: int, assume_a: str = "gen") -> Variable:
    """Solution of ``a @ x = b``.

    Parameters
    ----------
    a : variable of shape (..., n, n)
    b : variable of shape (..., n, *columns)
    b_ndim : int
        One more than the number of axes of columns.
    assume_a : {"gen", "sym", "pos"}
    """
    return _solve_columns(
        lambda core: Blockwise(Solve(b_ndim=core, assume_a=assume_a)), a, b, b_ndim
    )


def solve_triangular(
    a: Variable, b: Variable, b_ndim: int, lower: bool, unit_diagonal: bool
) -> Variable:
    """Solve as :func:`solve` does, reading one triangle of `a`."""
    return _solve_columns(
        lambda core: Blockwise(
            SolveTriangular(b_ndim=core, lower=lower, unit_diagonal=unit_diagonal)
        ),
        a,
        b,
        b_ndim,
    )


def _solve_columns(
    solver: Callable[[int], Callable[..., Variable]], a: Variable, b: Variable, b_ndim: int
) -> Variable:
    """All columns go through one factorization, as the axes of one matrix."""
    if b_ndim <= 2:
        return solver(b_ndim)(a, b)
    shape = lengths(b)
    n_batch = b.type.ndim - b_ndim
    columns: Any = 1
    for length in shape[n_batch + 1 :]:
        columns = columns * length
    matrix = b.reshape([*shape[: n_batch + 1], columns], ndim=n_batch + 2)
    solution = solver(2)(a, matrix)
    batch = lengths(solution)[:-2]  # `a` may have more batches than `b`
    return solution.reshape([*batch, *shape[n_batch:]], ndim=len(batch) + b_ndim)


def diagonal(x: Variable) -> Variable:
    """Diagonals of matrices of shape (..., n, n)."""
    return pt.diagonal(x, axis1=-2, axis2=-1)
