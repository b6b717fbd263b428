"""What a hand-written loop needs to vectorize functions of the C library: exp as a polynomial.

LLVM does not vectorize a call of the library's exp. A polynomial after the reduction to
[-ln 2 / 2, ln 2 / 2] is as exact (some 1e-16 of the value) and runs in all lanes.
"""

import math

import numba
from numba.core import types
from numba.extending import intrinsic


@intrinsic
def _bits(typing, x):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing, x):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


# added to a small number, it leaves the nearest integer in the low bits
SHIFTER = 1.5 * 2.0**52
LOG2_E = 1.0 / math.log(2.0)
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
C2, C3, C4, C5, C6, C7 = (1.0 / math.factorial(k) for k in range(2, 8))
C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(k) for k in range(8, 14))


# no reassociation here: it would cancel the shifter
@numba.njit(fastmath={"contract"}, inline="never")
def exp(x):
    """e**x for |x| < 700; beyond that it is clipped."""
    x = min(max(x, -700.0), 700.0)
    shifted = x * LOG2_E + SHIFTER
    k = shifted - SHIFTER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (C2 + C3 * r)
    middle = (C4 + C5 * r) + r2 * (C6 + C7 * r)
    high = (C8 + C9 * r) + r2 * (C10 + C11 * r) + r4 * (C12 + C13 * r)
    return (low + r4 * (middle + r4 * high)) * _from_bits((_bits(shifted) + 1023) << 52)
