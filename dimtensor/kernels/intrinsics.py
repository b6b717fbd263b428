"""What numba's typed Python cannot say briefly: views, memory on the stack, calls of LAPACK.

numba's own indexing, reshaping and linear algebra do the same; each use of them costs the compiler
a tenth of a second or more, and these a hundredth. Imported only when numba is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import get_cython_function_address, intrinsic, overload
from numba.np.arrayobj import populate_array

SCRATCH = 8  # rows and columns of an array on the stack

_LETTERS = {types.float32: "s", types.float64: "d"}
_ROUTINES = {
    "potrf": "lapack",
    "getrf": "lapack",
    "getrs": "lapack",
    "syevd": "lapack",
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


def _view(
    context: Any, builder: Any, result: Any, source: Any, data: Any, shape: Any, strides: Any
) -> Any:
    """An array over the memory of another one."""
    view = context.make_array(result)(context, builder)
    populate_array(
        view,
        data=data,
        shape=shape,
        strides=strides,
        itemsize=source.itemsize,
        meminfo=source.meminfo,
        parent=source.parent,
    )
    return impl_ret_borrowed(context, builder, result, view._getvalue())


def _opened(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, list, list]:
    source = context.make_array(kind)(context, builder, value)
    shape = cgutils.unpack_tuple(builder, source.shape, kind.ndim)
    return source, shape, cgutils.unpack_tuple(builder, source.strides, kind.ndim)


def _positions(context: Any, builder: Any, kind: Any, value: Any) -> list:
    values = cgutils.unpack_tuple(builder, value, len(kind))
    pairs = zip(values, kind, strict=True)
    return [context.cast(builder, v, k, types.intp) for v, k in pairs]


def _moved(builder: Any, data: Any, positions: list, strides: list) -> Any:
    offset = ir.Constant(ir.IntType(64), 0)
    for position, stride in zip(positions, strides, strict=True):
        offset = builder.add(offset, builder.mul(position, stride))
    return cgutils.pointer_add(builder, data, offset)


@intrinsic
def part(typingctx, x, at):
    """View of the trailing axes of `x`, at positions along the leading ones."""
    count = len(at)
    layout = "C" if x.layout == "C" else "A"
    result = x.copy(ndim=x.ndim - count, layout=layout)

    def codegen(context, builder, signature, args):
        source, shape, strides = _opened(context, builder, x, args[0])
        positions = _positions(context, builder, at, args[1])
        data = _moved(builder, source.data, positions, strides[:count])
        return _view(context, builder, result, source, data, shape[count:], strides[count:])

    return result(x, at), codegen


@intrinsic(prefer_literal=True)
def line(typingctx, x, axis, at):
    """View of `x` along one axis, at positions along the others."""
    along = axis.literal_value
    layout = "C" if x.layout == "C" and along == x.ndim - 1 else "A"
    result = x.copy(ndim=1, layout=layout)

    def codegen(context, builder, signature, args):
        source, shape, strides = _opened(context, builder, x, args[0])
        others = strides[:along] + strides[along + 1 :]
        positions = _positions(context, builder, at, args[2])
        data = _moved(builder, source.data, positions, others)
        return _view(context, builder, result, source, data, [shape[along]], [strides[along]])

    return result(x, axis, at), codegen


@intrinsic
def as_column(typingctx, x):
    """View of a vector as a matrix of one column."""
    result = x.copy(ndim=2)

    def codegen(context, builder, signature, args):
        source, shape, strides = _opened(context, builder, x, args[0])
        one = context.get_constant(types.intp, 1)
        size = source.itemsize
        return _view(
            context, builder, result, source, source.data, [shape[0], one], [strides[0], size]
        )

    return result(x), codegen


@intrinsic
def _reshaped(typingctx, x, shape):
    result = x.copy(ndim=len(shape))

    def codegen(context, builder, signature, args):
        source = context.make_array(x)(context, builder, args[0])
        lengths = _positions(context, builder, shape, args[1])
        strides, step = [], source.itemsize
        for length in reversed(lengths):
            strides.insert(0, step)
            step = builder.mul(step, length)
        return _view(context, builder, result, source, source.data, lengths, strides)

    return result(x, shape), codegen


def contiguous(x):
    """The array, or a copy of it whose elements lie in order."""


@overload(contiguous)
def _contiguous(x):
    import numpy as np

    if x.layout == "C":
        return lambda x: x
    return lambda x: np.ascontiguousarray(x)


def reshaped(x, shape):
    """The elements of an array in another shape, without a copy if they lie in order."""


@overload(reshaped)
def _reshaped_array(x, shape):
    return lambda x, shape: _reshaped(contiguous(x), shape)


@intrinsic
def scratch(typingctx, x):
    """A small square matrix of the dtype of `x` on the stack."""
    result = types.Array(x.dtype, 2, "C")

    def codegen(context, builder, signature, args):
        kind = context.get_data_type(x.dtype)
        data = cgutils.alloca_once(builder, kind, size=SCRATCH * SCRATCH)
        size = context.get_abi_sizeof(kind)
        n, width, step = (
            context.get_constant(types.intp, v) for v in (SCRATCH, SCRATCH * size, size)
        )
        view = context.make_array(result)(context, builder)
        populate_array(
            view, data=data, shape=[n, n], strides=[width, step], itemsize=step, meminfo=None
        )
        return view._getvalue()

    return result(x), codegen


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
def trsm(typingctx, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
    """Solution by a triangle, in place of `b`."""
    return _routine("trsm", (side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb), False)


@intrinsic
def gemm(typingctx, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    """Product of matrices."""
    arguments = (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    return _routine("gemm", arguments, False)
