"""Sine and cosine, in arithmetic that LLVM vectorizes.

Multiples of half of pi are taken away in three parts, of which fused multiply-add takes the first
without an error (J.-M. Muller, Elementary Functions, 3rd ed., 2016, chapter 11). Numbers from 2^30
on are left to the C library. Errors are below two units in the last place.
"""

from __future__ import annotations

from dimtensor.kernels.native.functions.elementary import ROUND
from dimtensor.kernels.native.functions.texts import Text, bits, declaration, fma, polynomial

_HALF_PI = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33
_FAR = 2.0**30
# (sin(r) - r) / r**3 and (cos(r) - 1 + r**2 / 2) / r**4 by powers of r**2, for |r| < pi / 4
_SIN = (
    -0.16666666666666666, 0.008333333333333331, -0.0001984126984126506, 2.7557319219335453e-06,
    -2.5052106231157904e-08, 1.605853141458901e-10, -7.586685070091267e-13,
)  # fmt: skip
_COS = (
    0.041666666666666664, -0.0013888888888887395, 2.4801587298763433e-05, -2.7557317270560326e-07,
    2.0876146024689747e-09, -1.1382614868556325e-11,
)  # fmt: skip


def _text(quarter: int) -> list[str]:
    """Return the text of the sine, advanced by some quarters of a turn."""
    return [
        fma("%sum", "%x", "<0.6366197723675814>", f"<{ROUND!r}>"),
        f"%n = fsub double %sum, <{ROUND!r}>",
        "%minus = fneg double %n",
        fma("%first", "%minus", f"<{_HALF_PI[0]!r}>", "%x"),
        fma("%second", "%minus", f"<{_HALF_PI[1]!r}>", "%first"),
        fma("%r", "%minus", f"<{_HALF_PI[2]!r}>", "%second"),
        "%z = fmul double %r, %r",
        *polynomial("%s", "%z", _SIN),
        "%cube = fmul double %z, %r",
        fma("%sine", "%cube", "%s", "%r"),
        *polynomial("%c", "%z", _COS),
        "%half = fmul double %z, <0.5>",
        "%less = fsub double <1.0>, %half",
        "%kept = fsub double <1.0>, %less",
        "%lost = fsub double %kept, %half",
        "%fourth = fmul double %z, %z",
        fma("%rest", "%fourth", "%c", "%lost"),
        "%cosine = fadd double %less, %rest",
        "%bits = bitcast double %sum to i64",
        f"%turns = sub i64 %bits, <{bits(ROUND) - quarter}>",
        "%odd.bit = and i64 %turns, <1>",
        "%odd = icmp ne i64 %odd.bit, <0>",
        "%size = select i1 %odd, double %cosine, double %sine",
        # the second half of a turn changes the sign
        "%half.turn = shl i64 %turns, <62>",
        f"%sign = and i64 %half.turn, <{-(2**63)}>",
        "%size.bits = bitcast double %size to i64",
        "%signed = xor i64 %size.bits, %sign",
        "%usual = bitcast i64 %signed to double",
        # the sign of 0 is kept
        "%nothing = fcmp oeq double %x, <0.0>",
        f"%result = select i1 %nothing, double {'<1.0>' if quarter else '%x'}, double %usual",
        "%a = call double @llvm.fabs.f64(double %x)",
        f"%rare = fcmp uge double %a, <{_FAR!r}>",
    ]


TEXTS = {
    name: Text(_text(quarter), rarely=name, declared=declaration(name), is_long=True)
    for quarter, name in enumerate(("sin", "cos"))
}
