"""The error function and the normal distribution function, in arithmetic that LLVM vectorizes.

What they have in common is erfcx(a) = exp(a²) erfc(a) of positive numbers: (a + 1/2) erfcx(a) is
a polynomial of (a - c) / (a + c), which goes from -1 to 1 (M. M. Shepherd and J. G. Laframboise,
Chebyshev Approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞, Mathematics of Computation 36,
1981). Squares are taken with what they round away, so that exponentials lose nothing by them.
Errors are below four units in the last place (of ``erf`` two).
"""

from __future__ import annotations

import math

from dimtensor.kernels.native.functions.texts import Text, fma, polynomial

_NEAR = 0.65
# erf(x) / x - 1 by powers of x**2, for |x| < 0.65
_ERF = (
    0.12837916709551256, -0.3761263890318355, 0.11283791670939211, -0.026866170640301647,
    0.005223977550940325, -0.0008548320413496383, 0.00012054975230412003, -1.491362445242006e-05,
    1.6216123999750692e-06, -1.3532164374144134e-07,
)  # fmt: skip
# (a + 1/2) erfcx(a) by powers of (a - c) / (a + c)
_MIDDLE = 3.5
_ERFCX = (
    0.6211746224355772, -0.07000459006880985, -0.005277798166109116, 0.04875954757664404,
    -0.05754479908009719, 0.04399157691200523, -0.024411662913916082, 0.009549665476792844,
    -0.002107509954590162, -0.00015113397776147014, 0.00028219221702423724,
    -6.075605621747385e-05, -2.139117123328194e-05, 1.2130139426296931e-05,
    1.1643801779698434e-06, -1.9069873663635214e-06, -2.2677288487865988e-08,
    3.0072008459720137e-07, -3.123409399865405e-09, -4.818542816504154e-08,
    -4.5122461380429435e-10, 6.806317727818454e-09, 3.287024378128858e-10,
    -5.818092698358826e-10, -4.9735351319091544e-11,
)  # fmt: skip


def _scaled(size: str) -> list[str]:
    """``%g``, erfcx of a positive number."""
    return [
        # of infinity too; near 0 the quotient is more exact than (a - c) / (a + c)
        f"%is.large = fcmp ogt double {size}, <1e300>",
        f"%some = select i1 %is.large, double <1e300>, double {size}",
        f"%more = fadd double %some, <{_MIDDLE!r}>",
        "%part = fdiv double %some, %more",
        fma("%t", "%part", "<2.0>", "<-1.0>"),
        *polynomial("%h", "%t", _ERFCX),
        f"%divisor = fadd double {size}, <0.5>",
        "%g = fdiv double %h, %divisor",
    ]


def _bell(size: str, end: float, factor: float) -> list[str]:
    """``%bell``, exp(factor size²), and 0 beyond the end."""
    return [
        f"%is.inside = fcmp olt double {size}, <{end!r}>",
        f"%inside = select i1 %is.inside, double {size}, double <{end!r}>",
        "%square = fmul double %inside, %inside",
        "%minus.square = fneg double %square",
        fma("%square.lost", "%inside", "%inside", "%minus.square"),
        f"%power = fmul double %square, <{factor!r}>",
        f"%power.lost = fmul double %square.lost, <{factor!r}>",
        "%e = call double @dimtensor.exp(double %power)",
        fma("%bell", "%e", "%power.lost", "%e"),
    ]


_A = "%a = call double @llvm.fabs.f64(double %x)"
_BY_SERIES = [
    "%z = fmul double %x, %x",
    *polynomial("%p", "%z", _ERF),
    fma("%near", "%x", "%p", "%x"),
]
_ERFC_OF_SIZE = [*_scaled("%a"), *_bell("%a", 30.0, -1.0), "%tail = fmul double %g, %bell"]
_ERF_TEXT = [
    _A,
    *_BY_SERIES,
    *_ERFC_OF_SIZE,
    "%far = fsub double <1.0>, %tail",
    f"%is.near = fcmp olt double %a, <{_NEAR!r}>",
    "%size = select i1 %is.near, double %near, double %far",
    "%result = call double @llvm.copysign.f64(double %size, double %x)",
]
_ERFC_TEXT = [
    _A,
    *_BY_SERIES,
    *_ERFC_OF_SIZE,
    "%by.series = fsub double <1.0>, %near",
    "%left = fsub double <2.0>, %tail",
    "%is.left = fcmp olt double %x, <0.0>",
    "%far = select i1 %is.left, double %left, double %tail",
    f"%is.near = fcmp olt double %a, <{_NEAR!r}>",
    "%result = select i1 %is.near, double %by.series, double %far",
]
_ERFCX_TEXT = [
    _A,
    *_scaled("%a"),
    *_bell("%a", 26.64, 1.0),  # twice that is infinite
    "%twice = fadd double %bell, %bell",
    "%left = fsub double %twice, %g",
    "%is.left = fcmp olt double %x, <0.0>",
    "%result = select i1 %is.left, double %left, double %g",
]
# on the left the logarithm of exp(x²/2) ndtr(x), less x²/2; on the right log1p(-ndtr(-x))
_LOG_NDTR_TEXT = [
    _A,
    f"%b = fmul double %a, <{math.sqrt(0.5)!r}>",
    *_scaled("%b"),
    "%half.g = fmul double %g, <0.5>",
    *_bell("%a", 40.0, -0.5),
    "%q = fmul double %half.g, %bell",
    "%minus.q = fneg double %q",
    "%u = fsub double <1.0>, %q",
    "%kept = fsub double %u, <1.0>",
    "%lost = fsub double %minus.q, %kept",
    "%by.lost = fdiv double %lost, %u",
    "%is.right = fcmp ogt double %x, <0.0>",
    "%of = select i1 %is.right, double %u, double %half.g",
    "%log = call double @dimtensor.log(double %of)",
    "%right = fadd double %log, %by.lost",
    "%half.a = fmul double %a, <-0.5>",
    fma("%left", "%half.a", "%a", "%log"),
    # also where it is -0
    "%either = select i1 %is.right, double %right, double %left",
    "%size = call double @llvm.fabs.f64(double %either)",
    "%result = fneg double %size",
]
TEXTS = {
    name: Text(lines, is_long=True)
    for name, lines in (
        ("erf", _ERF_TEXT), ("erfc", _ERFC_TEXT), ("erfcx", _ERFCX_TEXT),
        ("log_ndtr", _LOG_NDTR_TEXT),
    )
}  # fmt: skip
