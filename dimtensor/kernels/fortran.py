"""LAPACK and BLAS for kernels that numba compiles: one typed call each, without a wrapper.

Imported only when numba is.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import get_cython_function_address, intrinsic

_LETTERS = {types.float32: "s", types.float64: "d"}
_ROUTINES = {
    "potrf": "lapack",
    "getrf": "lapack",
    "getrs": "lapack",
    "syevd": "lapack",
    "gesdd": "lapack",
    "geqrf": "lapack",
    "orgqr": "lapack",
    "trsm": "blas",
    "gemm": "blas",
}


@cache
def register_symbols() -> None:
    """Give LLVM the addresses of SciPy's LAPACK and BLAS by name.

    Compiled code has the names only, so that it can be kept on disk; a process that loads such code
    has to call this first.
    """
    for routine, library in _ROUTINES.items():
        for letter in _LETTERS.values():
            address = get_cython_function_address(
                f"scipy.linalg.cython_{library}", letter + routine
            )
            llvmlite.binding.add_symbol(_symbol(letter + routine), address)


def _symbol(routine: str) -> str:
    return f"dimtensor_{routine}"


def _routine(name: str, kinds: tuple, reports: bool) -> tuple:
    """Signature and code of a call of a Fortran routine.

    Integers and characters are passed by address as 32 bits, numbers as the dtype of the arrays,
    arrays as the address of their first element.
    """
    register_symbols()
    dtype = next(k.dtype for k in kinds if isinstance(k, types.Array))
    kinds = tuple(types.unliteral(k) for k in kinds)
    signature = types.int32(*kinds)

    def codegen(context, builder, signature, args):
        pointers = []
        for kind, value in zip(kinds, args, strict=True):
            if isinstance(kind, types.Array):
                pointer = context.make_array(kind)(context, builder, value).data
            else:
                passed = types.int32 if isinstance(kind, types.Integer) else dtype
                cast = context.cast(builder, value, kind, passed)
                pointer = cgutils.alloca_once_value(builder, cast)
            pointers.append(builder.bitcast(pointer, cgutils.voidptr_t))
        info = cgutils.alloca_once_value(builder, context.get_constant(types.int32, 0))
        if reports:
            pointers.append(builder.bitcast(info, cgutils.voidptr_t))
        function_type = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(pointers))
        symbol = _symbol(_LETTERS[dtype] + name)
        function = cgutils.get_or_insert_function(builder.module, function_type, symbol)
        builder.call(function, pointers)
        return builder.load(info)

    return signature, codegen


@intrinsic
def potrf(typingctx, uplo, n, a, lda):
    """Cholesky factor of `a`, in place; 0 if there is one."""
    return _routine("potrf", (uplo, n, a, lda), True)


@intrinsic
def getrf(typingctx, m, n, a, lda, pivots):
    """LU factors of `a`, in place; 0 if no pivot is 0."""
    return _routine("getrf", (m, n, a, lda, pivots), True)


@intrinsic
def getrs(typingctx, trans, n, columns, a, lda, pivots, b, ldb):
    """Solution by LU factors, in place of `b`."""
    return _routine("getrs", (trans, n, columns, a, lda, pivots, b, ldb), True)


@intrinsic
def syevd(typingctx, jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork):
    """Eigenvalues of `a` and, in its place, eigenvectors."""
    return _routine("syevd", (jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork), True)


@intrinsic
def gesdd(typingctx, jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork):
    """Singular values of `a`, and singular vectors."""
    arguments = (jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork)
    return _routine("gesdd", arguments, True)


@intrinsic
def geqrf(typingctx, m, n, a, lda, tau, work, lwork):
    """QR factors of `a`, in place: R, and reflections that Q is made of."""
    return _routine("geqrf", (m, n, a, lda, tau, work, lwork), True)


@intrinsic
def orgqr(typingctx, m, n, k, a, lda, tau, work, lwork):
    """Q of reflections, in place."""
    return _routine("orgqr", (m, n, k, a, lda, tau, work, lwork), True)


@intrinsic
def trsm(typingctx, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
    """Solution by a triangle, in place of `b`."""
    return _routine("trsm", (side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb), False)


@intrinsic
def gemm(typingctx, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    """Product of matrices."""
    arguments = (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    return _routine("gemm", arguments, False)
