"""Exponential, logarithm and hyperbolic tangent in arithmetic that LLVM vectorizes.

Errors are below one unit in the last place (two for ``log1p``, ``tanh`` and ``expm1``), over all
numbers; infinities, nan, numbers that are not normal, and results that are not, are what they
should be.

The reductions are the usual ones, see J.-M. Muller, Elementary Functions, 3rd ed., 2016, chapter
11. The polynomials interpolate in Chebyshev nodes, and leave less than 1e-17 of the result.
"""

from __future__ import annotations

from dimtensor.kernels.native.functions.texts import Text, bits, fma, polynomial

LN2 = 0.6931471805599453, 2.3190468138462996e-17  # their sum is log(2) to 106 bits
LOG2E = 1.4426950408889634
# added to a small number and taken away again, it rounds the number to an integer, which is then in
# the last bits of the sum
ROUND = 6755399441055744.0
# (exp(r) - 1 - r) / r**2 for |r| < log(2) / 2
_EXP = (
    0.5, 0.16666666666666669, 0.04166666666662409, 0.008333333333330058, 0.0013888888917234206,
    0.00019841269863069374, 2.4801521264122017e-05, 2.755726843551756e-06, 2.762010358488696e-07,
    2.5100397137931663e-08,
)  # fmt: skip
# (log((1 + s) / (1 - s)) - 2 s) / s**3 by powers of s**2, for |s| < 0.1716
_LOG = (
    0.666666666666667, 0.3999999999989924, 0.2857142862609589, 0.2222221111514416,
    0.18182890556695602, 0.1533167403016786, 0.1461703754879165,
)  # fmt: skip
# the same, for |s| < 1 / 3
_LOG_FAR = (
    0.6666666666666666, 0.40000000000014585, 0.2857142856710876, 0.22222222717427864,
    0.18181789436132859, 0.15385570064958623, 0.13314144209654935, 0.12001072809590713,
    0.08800738486144674, 0.1616404561194353,
)  # fmt: skip
# (tanh(x) - x) / x**3 by powers of x**2, for |x| < 0.55
_TANH = (
    -0.3333333333333333, 0.1333333333333259, -0.053968253967286016, 0.021869488486976747,
    -0.008863234245056677, 0.00359210838463977, -0.0014556460483737097, 0.0005888590261823762,
    -0.00023440828540040936, 8.474558992699015e-05, -2.0349884445999367e-05,
)  # fmt: skip
_SQRT_HALF = bits(0.7071067811865476)
_ONE = bits(1.0)


def power_of_e(beside: str = "") -> list[str]:
    """Write ``%a`` as k log(2) + r, where exp(a) = 2**k (1 + r + q r**2).

    `beside` is an addend below the digits of ``%a``, which is added to r.
    """
    r = "%r.alone" if beside else "%r"
    return [
        fma("%sum", "%a", f"<{LOG2E!r}>", f"<{ROUND!r}>"),
        f"%k = fsub double %sum, <{ROUND!r}>",
        fma("%most", "%k", f"<{-LN2[0]!r}>", "%a"),
        fma(r, "%k", f"<{-LN2[1]!r}>", "%most"),
        *([f"%r = fadd double {r}, {beside}"] if beside else []),
        *polynomial("%q", "%r", _EXP),
        "%bits = bitcast double %sum to i64",
    ]


def mantissa(y: str) -> list[str]:
    """Split a positive normal number into 2**k m, with ``%m`` between the roots of 1/2 and 2."""
    return [
        f"%y.bits = bitcast double {y} to i64",
        f"%moved = add i64 %y.bits, <{_ONE - _SQRT_HALF}>",
        "%exponent = lshr i64 %moved, <52>",
        "%k.whole = sub i64 %exponent, <1023>",
        "%k.bits = shl i64 %k.whole, <52>",
        "%m.bits = sub i64 %y.bits, %k.bits",
        "%m = bitcast i64 %m.bits to double",
        f"%k.sum.bits = add i64 %k.whole, <{bits(ROUND)}>",
        "%k.sum = bitcast i64 %k.sum.bits to double",
        f"%k.all = fsub double %k.sum, <{ROUND!r}>",
    ]


# p 2**k in two factors, because 2**k may be beyond the range of numbers where the product is not
# (the low bits of the sum are k; bits above the lowest 12 are shifted out)
TIMES_POWER_OF_TWO = [
    "%half = lshr i64 %bits, <1>",
    "%left = sub i64 %bits, %half",
    "%half.shifted = shl i64 %half, <52>",
    "%left.shifted = shl i64 %left, <52>",
    f"%first.bits = add i64 %half.shifted, <{_ONE}>",
    f"%second.bits = add i64 %left.shifted, <{_ONE}>",
    "%first.factor = bitcast i64 %first.bits to double",
    "%second.factor = bitcast i64 %second.bits to double",
    "%scaled.once = fmul double %p, %first.factor",
    "%scaled = fmul double %scaled.once, %second.factor",
]
# 1 + r, its rounding error, and the remaining terms
ONE_AND_MORE = [
    "%s = fadd double %r, <1.0>",
    "%s.less = fsub double %s, <1.0>",
    "%lost = fsub double %r, %s.less",
    fma("%tail", "%q", "%q.square", "%lost"),
    "%p = fadd double %s, %tail",
]
_EXP_TEXT = [
    # beyond these the result is infinite or zero; zero is selected, because a product that
    # underflows takes processors a hundred cycles
    "%high = fcmp ogt double %x, <710.0>",
    "%below = select i1 %high, double <710.0>, double %x",
    "%low = fcmp ogt double <-746.0>, %below",
    "%a = select i1 %low, double <0.0>, double %below",
    *power_of_e(),
    *ONE_AND_MORE,
    *TIMES_POWER_OF_TWO,
    "%result = select i1 %low, double <0.0>, double %scaled",
]

# 2**k (1 - 2**-k + expm1(r)): the difference is exact, or so large that 1 does not count
_EXPM1_TEXT = [
    "%high = fcmp ogt double %x, <710.0>",
    "%below = select i1 %high, double <710.0>, double %x",
    "%low = fcmp ogt double <-50.0>, %below",
    "%a = select i1 %low, double <-50.0>, double %below",
    *power_of_e(),
    f"%n = sub i64 %bits, <{bits(ROUND)}>",
    "%many = icmp sgt i64 %n, <60>",
    "%few = select i1 %many, i64 <60>, i64 %n",
    "%inverse.exponent = sub i64 <1023>, %few",
    "%inverse.bits = shl i64 %inverse.exponent, <52>",
    "%inverse = bitcast i64 %inverse.bits to double",
    "%t = fsub double <1.0>, %inverse",
    "%s = fadd double %t, %r",
    "%s.less = fsub double %s, %t",
    "%lost = fsub double %r, %s.less",
    fma("%tail", "%q", "%q.square", "%lost"),
    "%p = fadd double %s, %tail",
    *TIMES_POWER_OF_TWO,
    # the sign of x, also of -0
    "%result = call double @llvm.copysign.f64(double %scaled, double %x)",
]

_LOG_TEXT = [
    "%small = fcmp ogt double <2.2250738585072014e-308>, %x",
    "%scaled = fmul double %x, <18014398509481984.0>",  # 2**54
    "%y = select i1 %small, double %scaled, double %x",
    *mantissa("%y"),
    "%k.less = fsub double %k.all, <54.0>",
    "%n = select i1 %small, double %k.less, double %k.all",
    # log(1 + f) = f - f**2/2 + s (f**2/2 + s**2 h(s**2)), s = f / (2 + f)
    "%f = fsub double %m, <1.0>",
    "%two = fadd double %f, <2.0>",
    "%s = fdiv double %f, %two",
    "%z = fmul double %s, %s",
    *polynomial("%h", "%z", _LOG),
    "%half.f = fmul double %f, <0.5>",
    "%half = fmul double %half.f, %f",
    fma("%inner", "%z", "%h", "%half"),
    f"%rest = fmul double %n, <{LN2[1]!r}>",
    fma("%more", "%s", "%inner", "%rest"),
    "%less = fsub double %half, %more",
    "%near = fsub double %f, %less",
    fma("%usual", "%n", f"<{LN2[0]!r}>", "%near"),
    "%infinite = fcmp oeq double %x, <inf>",
    "%finite = select i1 %infinite, double %x, double %usual",
    "%zero = fcmp oeq double %x, <0.0>",
    "%other = select i1 %zero, double <-inf>, double <nan>",
    "%defined = fcmp ogt double %x, <0.0>",
    "%result = select i1 %defined, double %finite, double %other",
]

_LOG1P_TEXT = [
    "%u = fadd double %x, <1.0>",
    "%log = call double @dimtensor.log(double %u)",
    # what the sum has lost
    "%kept = fsub double %u, <1.0>",
    "%lost = fsub double %x, %kept",
    "%correction = fdiv double %lost, %u",
    "%corrected = fadd double %log, %correction",
    "%above = fcmp ogt double %u, <0.0>",
    "%finite = fcmp ogt double <inf>, %u",
    "%usual = and i1 %above, %finite",
    "%chosen = select i1 %usual, double %corrected, double %log",
    # the sign of x, also of -0
    "%result = call double @llvm.copysign.f64(double %chosen, double %x)",
]

# of numbers from 0 to 1, without a power of 2 to be taken out and put back; nan goes through
_LOG1P_UNIT_TEXT = [
    # squares of small numbers are negligible, and slow where they are subnormal
    "%counts = fcmp ogt double %x, <1e-20>",
    "%y = select i1 %counts, double %x, double <0.0>",
    "%two = fadd double %y, <2.0>",
    "%s = fdiv double %y, %two",
    "%z = fmul double %s, %s",
    *polynomial("%h", "%z", _LOG_FAR),
    "%half.y = fmul double %y, <0.5>",
    "%half = fmul double %half.y, %y",
    fma("%inner", "%z", "%h", "%half"),
    "%minus = fneg double %s",
    fma("%less", "%minus", "%inner", "%half"),
    "%result = fsub double %x, %less",
]

_TANH_TEXT = [
    "%a = call double @llvm.fabs.f64(double %x)",
    # 1 - 2 / (exp(2 a) + 1), which loses digits where it is small
    "%twice = fadd double %a, %a",
    "%grown = call double @dimtensor.exp(double %twice)",
    "%more = fadd double %grown, <1.0>",
    "%part = fdiv double <2.0>, %more",
    "%far = fsub double <1.0>, %part",
    "%z = fmul double %x, %x",
    *polynomial("%p", "%z", _TANH),
    "%cube = fmul double %z, %x",
    fma("%near", "%cube", "%p", "%x"),
    "%small = fcmp olt double %a, <0.55>",
    "%chosen = select i1 %small, double %near, double %far",
    "%result = call double @llvm.copysign.f64(double %chosen, double %x)",
]

TEXTS = {
    "exp": Text(_EXP_TEXT),
    "expm1": Text(_EXPM1_TEXT),
    "log": Text(_LOG_TEXT),
    "log1p": Text(_LOG1P_TEXT),
    "log1p_unit": Text(_LOG1P_UNIT_TEXT),
    "tanh": Text(_TANH_TEXT),
}
