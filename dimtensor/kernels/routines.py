"""LAPACK and BLAS for kernels that numba compiles: one typed call each, without a wrapper.

Imported only when numba is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding
from llvmlite import ir

from dimtensor.kernels.native.functions.fortran import ROUTINES
from dimtensor.kernels.native.linking.externals import address_of
from dimtensor.upstream.numba import cgutils, intrinsic, types

_NUMBERS = {"d": types.float64, "s": types.float32}


@cache
def routine(name: str) -> Any:
    """Return the function that numba calls for a subroutine; it returns its report, or 0.

    Integers and characters are passed by address as 32 bits, numbers in the precision of the
    subroutine, arrays as the address of their first element.

    Parameters
    ----------
    name : str
        Of :data:`dimtensor.kernels.native.functions.fortran.ROUTINES`.
    """
    library, reports = ROUTINES[name]
    symbol = f"dimtensor_{name}"
    llvmlite.binding.add_symbol(symbol, address_of(f"{library}:{name}:"))

    @intrinsic
    def call(typingctx, *kinds):  # type: ignore[no-untyped-def]
        kinds = tuple(types.unliteral(kind) for kind in kinds)  # type: ignore[attr-defined]

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            pointers = []
            values = cgutils.unpack_tuple(builder, args[0], len(kinds))
            for kind, value in zip(kinds, values, strict=True):
                if isinstance(kind, types.Array):
                    pointer = context.make_array(kind)(context, builder, value).data
                else:
                    passed = types.int32 if isinstance(kind, types.Integer) else _NUMBERS[name[0]]
                    cast = context.cast(builder, value, kind, passed)
                    pointer = cgutils.alloca_once_value(builder, cast)
                pointers.append(builder.bitcast(pointer, cgutils.voidptr_t))
            info = cgutils.alloca_once_value(builder, context.get_constant(types.int32, 0))
            if reports:
                pointers.append(builder.bitcast(info, cgutils.voidptr_t))
            function_type = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(pointers))
            function = cgutils.get_or_insert_function(builder.module, function_type, symbol)
            builder.call(function, pointers)
            return builder.load(info)

        return types.int32(types.StarArgTuple.from_types(kinds)), codegen  # type: ignore[attr-defined]

    return call
