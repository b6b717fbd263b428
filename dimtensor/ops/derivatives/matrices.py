r"""Derivatives of linear algebra: forward rules, which reverse mode transposes.

Notes
-----
With :math:`\dot A` the tangent of the matrix and :math:`\Phi(M)` the lower triangle of M with half
of its diagonal:

- inverse X: :math:`-X \dot A X`
- solution x of A x = b: :math:`A^{-1}(\dot b - \dot A x)`
- determinant d: :math:`d \, \mathrm{tr}(X \dot A)`; its logarithm: :math:`\mathrm{tr}(X \dot A)`
- Cholesky factor L: :math:`L \, \Phi(L^{-1} \dot A L^{-T})`
- eigenvalues w, eigenvectors V: with :math:`P = V^T \dot A V`, the diagonal of P, and
  :math:`V (F \circ P)` with :math:`F_{ij} = 1 / (w_j - w_i)`, 0 on the diagonal
- thin QR: with :math:`C = Q^T \dot A R^{-1}` and Ω its strictly lower triangle minus the transpose,
  :math:`\dot Q = (\dot A R^{-1} - Q C) + Q Ω` and :math:`\dot R = (C - Ω) R`
- thin SVD: see `_svd`
- exponential: a block of the exponential of :math:`[[A, \dot A], [0, A]]`

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008.

I. Murray, "Differentiation of the Cholesky decomposition", 2016, arXiv:1602.07527.

J. Townsend, "Differentiating the singular value decomposition", 2016.

R. Mathias, "A chain rule for matrix functions and applications", SIAM Journal on Matrix Analysis
and Applications 17, 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.linalg import (
    SVD,
    Cholesky,
    CholeskySolve,
    Det,
    Eigh,
    Expm,
    MatrixInverse,
    SLogDet,
    SolveTriangular,
)
from pytensor.tensor.linalg.solvers.core import SolveBase

from dimtensor.ops.derivatives.driver import pulled_by_op, pushed_by_pulling, transposed
from dimtensor.ops.derivatives.flow import Undefined, number, shuffled
from dimtensor.ops.derivatives.rules import Tangents, forward_rule, reverse_rule
from dimtensor.ops.linalg import CholeskyGradient, Inverse, TallQR
from dimtensor.upstream.pytensor import props


def _t(x: Variable) -> Variable:
    return shuffled(x, [1, 0])


def _diagonal(x: Variable) -> Variable:
    """Return the diagonal of a square matrix, by a mask, which has a simple batched form."""
    n = x.shape[0] if x.type.shape[0] is None else x.type.shape[0]
    return pt.switch(_is_diagonal(n), x, number(0, x)).sum(axis=1)


def _triangle(x: Variable, lower: bool, offset: int = 0) -> Variable:
    """One triangle, zeros elsewhere, whatever stands there."""
    n, m = (x.shape[i] if k is None else k for i, k in enumerate(x.type.shape))
    rows, columns = pt.arange(n)[:, None], pt.arange(m)[None, :]
    inside = pt.le(columns, rows + offset) if lower else pt.ge(columns, rows + offset)
    return pt.switch(inside, x, number(0, x))


def _is_diagonal(n: Any) -> Variable:
    return pt.eq(pt.arange(n)[:, None], pt.arange(n)[None, :])


def _halved(x: Variable) -> Variable:
    """Return the lower triangle with half of the diagonal."""
    n = x.shape[0] if x.type.shape[0] is None else x.type.shape[0]
    lower = _triangle(x, True)
    return pt.switch(_is_diagonal(n), lower * number(0.5, x), lower)


def _read(t: Variable, lower: bool) -> Variable:
    """Return the symmetric matrix of which an operation reads one triangle."""
    if lower:
        return _triangle(t, True) + _t(_triangle(t, True, -1))
    return _triangle(t, False) + _t(_triangle(t, False, 1))


def _solve_triangular(a: Variable, b: Variable, lower: bool) -> Variable:
    return SolveTriangular(lower=lower, b_ndim=2)(a, b)


@forward_rule(MatrixInverse)
def _inverse(node: Any, tangents: Tangents) -> list[Any]:
    (out,) = node.outputs
    return [-pt.dot(pt.dot(out, tangents[0]), out)]


@reverse_rule(MatrixInverse)
def _inverse_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    back = _t(node.outputs[0])
    return [-pt.dot(pt.dot(back, cotangents[0]), back)]


@forward_rule(Det)
def _det(node: Any, tangents: Tangents) -> list[Any]:
    (x,), (out,) = node.inputs, node.outputs
    return [out * pt.sum(_t(Inverse()(x)) * tangents[0])]


@forward_rule(SLogDet)
def _slogdet(node: Any, tangents: Tangents) -> list[Any]:
    """Push a tangent to the logarithm; the sign is piecewise constant."""
    return [None, pt.sum(_t(Inverse()(node.inputs[0])) * tangents[0])]


@forward_rule(SolveBase)
def _solve(node: Any, tangents: Tangents) -> list[Any]:
    (a, _), (x,), (ta, tb) = node.inputs, node.outputs, tangents
    moved = tb
    if ta is not None:
        if isinstance(node.op, SolveTriangular):
            ta = _triangle(ta, node.op.lower)
            if node.op.unit_diagonal:
                ta = _triangle(ta, node.op.lower, -1 if node.op.lower else 1)
        product = pt.dot(ta, x) if x.type.ndim == 2 else pt.sum(ta * x[None, :], axis=1)
        moved = -product if tb is None else tb - product
    return [node.op(a, moved)]


@reverse_rule(SolveBase)
def _solve_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    """With u the solution of A' u = c: u for b, and -u x' for A."""
    (a, _), (x,), op = node.inputs, node.outputs, node.op
    u = type(op)(**{**props(op), "lower": not op.lower})(_t(a), cotangents[0])
    if not wanted[0]:
        return [None, u]
    outer = pt.dot(u, _t(x)) if x.type.ndim == 2 else u[:, None] * x[None, :]
    if isinstance(op, CholeskySolve):
        c = node.inputs[0]
        both = outer + _t(outer)
        outer = pt.dot(both, c) if op.lower else pt.dot(c, both)
    if isinstance(op, (SolveTriangular, CholeskySolve)):
        unit = getattr(op, "unit_diagonal", False)
        outer = _triangle(outer, op.lower, (-1 if op.lower else 1) if unit else 0)
    return [-outer, u if wanted[1] else None]


@forward_rule(CholeskySolve)
def _cholesky_solve(node: Any, tangents: Tangents) -> list[Any]:
    """Push tangents through a solve with C C', or C' C for an upper triangle."""
    (c, _), (x,), (tc, tb) = node.inputs, node.outputs, tangents
    moved = tb
    if tc is not None:
        lower = node.op.lower
        c, tc = _triangle(c, lower), _triangle(tc, lower)
        column = x if x.type.ndim == 2 else x[:, None]
        one, other = (c, tc) if lower else (_t(c), _t(tc))
        product = pt.dot(one, pt.dot(_t(other), column)) + pt.dot(other, pt.dot(_t(one), column))
        product = product if x.type.ndim == 2 else product[:, 0]
        moved = -product if tb is None else tb - product
    return [node.op(node.inputs[0], moved)]


@forward_rule(Cholesky)
def _cholesky(node: Any, tangents: Tangents) -> list[Any]:
    (out,), lower = node.outputs, node.op.lower
    factor = out if lower else _t(out)
    t = _read(tangents[0], lower)
    half = _solve_triangular(factor, t, True)
    inside = _solve_triangular(factor, _t(half), True)
    result = pt.dot(factor, _halved(inside))
    return [result if lower else _t(result)]


@reverse_rule(Cholesky)
def _cholesky_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    """Into the triangle that is read."""
    (out,), (c,) = node.outputs, cotangents
    if node.op.lower:
        return [CholeskyGradient()(out, c)]
    return [_t(CholeskyGradient()(_t(out), _t(c)))]


@forward_rule(CholeskyGradient)
def _cholesky_gradient(node: Any, tangents: Tangents) -> list[Any]:
    """With S the symmetric matrix, whose lower triangle with half of its diagonal is the output."""
    (factor, c), (out,), (tf, tc) = node.inputs, node.outputs, tangents
    inside = None
    if tc is not None:
        inside = _read(pt.dot(_t(factor), _triangle(tc, True)), True)
    if tf is not None:
        tf = _triangle(tf, True)
        product = pt.dot(_t(factor), pt.dot(out + _t(out), tf))
        moved = _read(pt.dot(_t(tf), _triangle(c, True)), True) - product - _t(product)
        inside = moved if inside is None else inside + moved
    half = _solve_triangular(_t(factor), inside, False)
    return [_halved(_solve_triangular(_t(factor), _t(half), False))]


@forward_rule(Eigh)
def _eigh(node: Any, tangents: Tangents) -> list[Any]:
    if len(node.inputs) == 2:  # of two matrices: PyTensor's own rule
        return pushed_by_pulling(node, tangents)
    (w, v), op = node.outputs, node.op
    n = v.shape[0] if v.type.shape[0] is None else v.type.shape[0]
    same = _is_diagonal(n)
    # differences of eigenvalues, of which those on the diagonal are not asked for
    apart = pt.switch(same, number(1, v), w[None, :] - w[:, None])
    ta = _read(tangents[0], op.lower)
    moved = pt.dot(pt.dot(_t(v), ta), v)
    inside = pt.switch(same, number(0, v), moved / apart)
    return [_diagonal(moved), pt.dot(v, inside)]


@reverse_rule(Eigh)
def _eigh_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    if len(node.inputs) == 2:
        return pulled_by_op(node, cotangents, wanted)
    return transposed(_eigh, node, cotangents, wanted)


@forward_rule(SVD)
def _svd(node: Any, tangents: Tangents) -> list[Any]:
    r"""Thin decomposition :math:`A = U S V^T`.

    With :math:`P = U^T \dot A V` and :math:`F_{ij} = 1 / (s_j^2 - s_i^2)`, 0 on the diagonal:
    :math:`\dot s` is the diagonal of P,
    :math:`\dot U = U (F \circ (P S + S P^T)) + (I - U U^T) \dot A V S^{-1}` and
    :math:`\dot V = V (F \circ (S P + P^T S)) + (I - V V^T) \dot A^T U S^{-1}`.
    """
    (x,), op, t = node.inputs, node.op, tangents[0]
    if op.full_matrices and op.compute_uv:
        reason = "that of a singular value decomposition is known without full_matrices"
        return [Undefined(reason)] * len(node.outputs)
    if not op.compute_uv:
        u, _, vt = type(op)(full_matrices=False, compute_uv=True)(x)
        return [_diagonal(pt.dot(pt.dot(_t(u), t), _t(vt)))]
    u, s, vt = node.outputs
    v = _t(vt)
    k = s.shape[0]
    same = _is_diagonal(k)
    rows, columns = s[:, None], s[None, :]
    # as a product, which keeps the digits of a small difference
    apart = pt.switch(same, number(1, u), (columns - rows) * (columns + rows))
    tv, tu = pt.dot(t, v), pt.dot(_t(t), u)
    p = pt.dot(_t(u), tv)

    def turned(m: Variable) -> Variable:
        return pt.switch(same, number(0, m), m / apart)

    du = pt.dot(u, turned(p * columns + rows * _t(p))) + (tv - pt.dot(u, p)) / columns
    dv = pt.dot(v, turned(rows * p + _t(p) * columns)) + (tu - pt.dot(v, _t(p))) / columns
    return [du, _diagonal(p), _t(dv)]


@forward_rule(TallQR)
def _qr(node: Any, tangents: Tangents) -> list[Any]:
    """Thin decomposition of a matrix that has no more columns than rows."""
    q, r = node.outputs
    moved = _t(_solve_triangular(_t(r), _t(tangents[0]), True))
    c = pt.dot(_t(q), moved)
    low = _triangle(c, True, -1)
    skew = low - _t(low)
    return [moved - pt.dot(q, c) + pt.dot(q, skew), pt.dot(_triangle(c - skew, False), r)]


def _block(a: Variable, t: Variable) -> Variable:
    n = a.shape[0] if a.type.shape[0] is None else a.type.shape[0]
    nothing = pt.alloc(number(0, a), n, n)
    whole = pt.join(0, pt.join(1, a, t), pt.join(1, nothing, a))
    return Expm()(whole)[:n, n:]


@forward_rule(Expm)
def _expm(node: Any, tangents: Tangents) -> list[Any]:
    return [_block(node.inputs[0], tangents[0])]


@reverse_rule(Expm)
def _expm_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
    return [_block(_t(node.inputs[0]), cotangents[0])]
