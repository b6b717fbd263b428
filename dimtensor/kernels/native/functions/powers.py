"""Powers of positive numbers, in arithmetic that LLVM vectorizes.

The logarithm is that of two factors, a power of 2 and a number near 1, as the sum of two floats:
to more bits than count when it is multiplied and its exponential is taken (J.-M. Muller, Elementary
Functions, 3rd ed., 2016, chapters 4 and 11). Powers of numbers that are not positive, normal and
finite are left to the C library. Errors are below two units in the last place.
"""

from __future__ import annotations

from dimtensor.kernels.native.functions.elementary import (
    LN2,
    ONE_AND_MORE,
    TIMES_POWER_OF_TWO,
    mantissa,
    power_of_e,
)
from dimtensor.kernels.native.functions.texts import Text, declaration, fma, polynomial

_TWO_THIRDS = 0.6666666666666666, 3.700743415417188e-17
# (log((1 + s) / (1 - s)) - 2 s - 2 s**3 / 3) / s**5 by powers of s**2, for |s| < 0.1716
_LOG = (
    0.4, 0.28571428571429364, 0.22222222221655943, 0.18181818335379513, 0.153845949639382,
    0.1333480461663011, 0.11706238407260777, 0.11723157001190189,
)  # fmt: skip
_SMALLEST = 2.2250738585072014e-308

_LOGARITHM = [
    *mantissa("%x"),
    # s = (m - 1) / (m + 1), and its remainder
    "%f = fsub double %m, <1.0>",
    "%d = fadd double %m, <1.0>",
    "%d.kept = fsub double %d, <1.0>",
    "%d.lost = fsub double %m, %d.kept",
    "%inverse = fdiv double <1.0>, %d",
    "%s0 = fmul double %f, %inverse",
    "%minus.s = fneg double %s0",
    fma("%remainder", "%minus.s", "%d", "%f"),
    fma("%all.of.it", "%minus.s", "%d.lost", "%remainder"),
    "%s.lost = fmul double %all.of.it, %inverse",
    "%z = fmul double %s0, %s0",
    "%minus.z = fneg double %z",
    fma("%z.lost.once", "%s0", "%s0", "%minus.z"),
    "%twice.s = fadd double %s0, %s0",
    fma("%z.lost", "%twice.s", "%s.lost", "%z.lost.once"),
    "%u = fmul double %z, %s0",
    "%minus.u = fneg double %u",
    fma("%u.lost.once", "%z", "%s0", "%minus.u"),
    fma("%u.lost.twice", "%z.lost", "%s0", "%u.lost.once"),
    fma("%u.lost", "%z", "%s.lost", "%u.lost.twice"),
    f"%third = fmul double %u, <{_TWO_THIRDS[0]!r}>",
    "%minus.third = fneg double %third",
    fma("%third.lost.once", "%u", f"<{_TWO_THIRDS[0]!r}>", "%minus.third"),
    fma("%third.lost.twice", "%u", f"<{_TWO_THIRDS[1]!r}>", "%third.lost.once"),
    fma("%third.lost", "%u.lost", f"<{_TWO_THIRDS[0]!r}>", "%third.lost.twice"),
    *polynomial("%h", "%z", _LOG),
    "%fifth = fmul double %u, %z",
    fma("%small", "%fifth", "%h", "%third.lost"),
    # with k log(2)
    f"%k2 = fmul double %k.all, <{LN2[0]!r}>",
    "%minus.k2 = fneg double %k2",
    fma("%k2.lost.once", "%k.all", f"<{LN2[0]!r}>", "%minus.k2"),
    fma("%k2.lost", "%k.all", f"<{LN2[1]!r}>", "%k2.lost.once"),
    "%l0 = fadd double %k2, %twice.s",
    "%l0.kept = fsub double %l0, %k2",
    "%l0.lost = fsub double %twice.s, %l0.kept",
    "%log = fadd double %l0, %third",
    "%log.kept = fsub double %log, %l0",
    "%log.lost.once = fsub double %third, %log.kept",
    "%twice.lost = fadd double %s.lost, %s.lost",
    "%lost.a = fadd double %l0.lost, %log.lost.once",
    "%lost.b = fadd double %k2.lost, %twice.lost",
    "%lost.c = fadd double %lost.b, %small",
    "%log.lost = fadd double %lost.a, %lost.c",
]
_POW_TEXT = [
    *_LOGARITHM,
    "%e = fmul double %y, %log",
    "%minus.e = fneg double %e",
    fma("%e.lost.once", "%y", "%log", "%minus.e"),
    fma("%e.lost", "%y", "%log.lost", "%e.lost.once"),
    # beyond these the result is infinite or zero
    "%high = fcmp ogt double %e, <710.0>",
    "%under = select i1 %high, double <710.0>, double %e",
    "%low = fcmp ogt double <-750.0>, %under",
    "%a = select i1 %low, double <-750.0>, double %under",
    "%outside = or i1 %high, %low",
    "%beside = select i1 %outside, double <0.0>, double %e.lost",
    *power_of_e("%beside"),
    *ONE_AND_MORE,
    *TIMES_POWER_OF_TWO,
    f"%tiny = fcmp ult double %x, <{_SMALLEST!r}>",
    "%infinite = fcmp oeq double %x, <inf>",
    "%y.size = call double @llvm.fabs.f64(double %y)",
    "%y.unusual = fcmp uge double %y.size, <inf>",
    "%x.unusual = or i1 %tiny, %infinite",
    "%rare = or i1 %x.unusual, %y.unusual",
]
TEXTS = {
    "pow": Text(
        _POW_TEXT,
        result="%scaled",
        operands=("%x", "%y"),
        rarely="pow",
        declared=declaration("pow", 2),
        is_long=True,
    )
}
