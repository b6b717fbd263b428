"""The logarithm of the gamma function and its derivative, in arithmetic that LLVM vectorizes.

Up to 8 numbers are taken back to those from 1 to 2 by the recurrence, as one product or one
quotient of polynomials; from there on there is Stirling's series. Both are computed for every
element, and one is selected. On the left of 0 the reflection formula is used, of one number after
the other.
Errors are below four units in the last place, also near the zeros on the right; on the left, near a
zero, digits cancel in the reflection formula.

M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 6.1.15, 6.1.41, 6.3.5, 6.3.7 and
6.3.18. The polynomials interpolate in Chebyshev nodes and leave less than 1e-17 of the result.
"""

from __future__ import annotations

from dimtensor.kernels.native.functions.special import BERNOULLI
from dimtensor.kernels.native.functions.texts import (
    CALLED,
    Text,
    declaration,
    fma,
    number,
    polynomial,
)

_FROM = 8.0
_STEPS = range(1, 7)  # from below 8 to below 2
# log(gamma(z)) / ((z - 1) (z - 2)) by powers of z - 1.5
_GAMMALN = (
    0.4831289505409809, -0.14595989591430594, 0.06291140107456485, -0.03130848750105327,
    0.01679709863121395, -0.009425622444829649, 0.005446457842219553, -0.0032120742206072908,
    0.0019229162321227923, -0.001164411377219605, 0.0007115202752051298, -0.00043803516132580534,
    0.00027130273545114005, -0.0001685717945035172, 0.00010541715222185904, -6.793733027397047e-05,
    4.281642862794779e-05, -2.148770252062576e-05, 1.3584275459130943e-05, -1.8527803997032962e-05,
    1.1820969445467145e-05,
)  # fmt: skip
# where psi is 0, in two parts, and psi(z) / (z - root) by powers of z - 1.5
_ROOT = 1.4616321449683622, 9.549995429965697e-17
_PSI = (
    0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884,
    0.09498872445494122, -0.061922133273064534, 0.04076083381242074, -0.02697579675613825,
    0.0179072524394512, -0.011908218001568644, 0.007926944646403797, -0.005279964873257405,
    0.003519006401502276, -0.002345267632540769, 0.0015566317474486838, -0.0010376374098418604,
    0.0007233266279287554, -0.0004821990530566789, 0.0002272331660987376, -0.00015148586836773365,
    0.00025968482126430747, -0.00017312261802727394,
)  # fmt: skip
_PSI_SERIES = [each / (2 * j) for j, each in enumerate(BERNOULLI, start=1)]
_GAMMALN_SERIES = [each / (2 * j * (2 * j - 1)) for j, each in enumerate(BERNOULLI[:-1], start=1)]

# z from 1 to 2, a whole number from x where x is below 8
_NEAR = [
    "%below = fcmp olt double %x, <1.0>",
    "%whole = call double @llvm.floor.f64(double %x)",
    "%turns = fsub double %whole, <1.0>",
    "%down = fsub double %x, %turns",
    "%up = fadd double %x, <1.0>",
    "%z = select i1 %below, double %up, double %down",
    "%w = fsub double %z, <1.5>",
]
_IS_FAR = f"%is.far = fcmp oge double %x, <{_FROM!r}>"

_GAMMALN_TEXT = [
    *_NEAR,
    *polynomial("%p", "%w", _GAMMALN),
    # of x itself, which has digits that x + 1 has not
    "%less = fsub double %x, <1.0>",
    "%z.less = fsub double %z, <1.0>",
    "%from.one = select i1 %below, double %x, double %z.less",
    "%z.less.two = fsub double %z, <2.0>",
    "%from.two = select i1 %below, double %less, double %z.less.two",
    "%both = fmul double %from.one, %from.two",
    "%of.z = fmul double %both, %p",
    # gamma(x) is gamma(z) times this, or divided by it
    "%f0 = select i1 %below, double %x, double <1.0>",
    *(
        line
        for k in _STEPS
        for line in (
            f"%t{k} = fsub double %x, <{float(k)!r}>",
            f"%is{k} = fcmp ogt double %t{k}, <1.0>",
            f"%some{k} = select i1 %is{k}, double %t{k}, double <1.0>",
            f"%f{k} = fmul double %f{k - 1}, %some{k}",
        )
    ),
    _IS_FAR,
    f"%of = select i1 %is.far, double %x, double %f{_STEPS[-1]}",
    "%log = call double @dimtensor.log(double %of)",
    "%minus = fneg double %log",
    "%by.factors = select i1 %below, double %minus, double %log",
    "%near = fadd double %of.z, %by.factors",
    "%inverse = fdiv double <1.0>, %x",
    "%square = fmul double %inverse, %inverse",
    *polynomial("%h", "%square", _GAMMALN_SERIES),
    fma("%tail", "%h", "%inverse", "<0.4189385332046727>"),  # (log(2 pi) - 1) / 2
    "%half.less = fsub double %x, <0.5>",
    "%log.less = fsub double %log, <1.0>",
    fma("%far", "%half.less", "%log.less", "%tail"),
    "%result = select i1 %is.far, double %far, double %near",
    "%rare = fcmp olt double %x, <0.0>",
]

_PSI_TEXT = [
    *_NEAR,
    *polynomial("%p", "%w", _PSI),
    f"%from.root = fsub double %z, <{_ROOT[0]!r}>",
    f"%from.exact = fsub double %from.root, <{_ROOT[1]!r}>",
    # psi(x) is psi(z) and the sum of the inverses of some of x - 1, x - 2 and so on, or less 1 / x
    "%a0 = select i1 %below, double <-1.0>, double <0.0>",
    "%b0 = select i1 %below, double %x, double <1.0>",
    *(
        line
        for k in _STEPS
        for line in (
            f"%t{k} = fsub double %x, <{float(k)!r}>",
            f"%is{k} = fcmp oge double %t{k}, <1.0>",
            fma(f"%sum{k}", f"%a{k - 1}", f"%t{k}", f"%b{k - 1}"),
            f"%times{k} = fmul double %b{k - 1}, %t{k}",
            f"%a{k} = select i1 %is{k}, double %sum{k}, double %a{k - 1}",
            f"%b{k} = select i1 %is{k}, double %times{k}, double %b{k - 1}",
        )
    ),
    f"%by.steps = fdiv double %a{_STEPS[-1]}, %b{_STEPS[-1]}",
    fma("%near", "%from.exact", "%p", "%by.steps"),
    "%inverse = fdiv double <1.0>, %x",
    "%square = fmul double %inverse, %inverse",
    *polynomial("%h", "%square", _PSI_SERIES),
    "%half = fmul double %inverse, <0.5>",
    fma("%less", "%h", "%square", "%half"),
    "%log = call double @dimtensor.log(double %x)",
    "%far = fsub double %log, %less",
    _IS_FAR,
    "%result = select i1 %is.far, double %far, double %near",
    "%rare = fcmp ole double %x, <0.0>",
]


_MINUS_INFINITY = number(float("-inf"))
# the C library's, of -inf as SciPy has it: to load SciPy's takes longer than all else
_GAMMALN_ANY = f"""define internal double @dimtensor.gammaln.any(double %x) {CALLED} nounwind {{
  %finite = call double @lgamma(double %x)
  %ends = fcmp oeq double %x, {_MINUS_INFINITY}
  %result = select i1 %ends, double %x, double %finite
  ret double %result
}}"""

GAMMALN_OF_NUMBERS = {"gammaln.any": _GAMMALN_ANY, **declaration("lgamma")}

_PSI_ON_THE_LEFT = f"""define internal double @dimtensor.psi.left(double %x) {CALLED} nounwind {{
entry:
  %ends = fcmp oeq double %x, {number(0.0)}
  br i1 %ends, label %pole, label %check
pole:
  %infinite = fdiv double {number(-1.0)}, %x
  ret double %infinite
check:
  %whole = call double @llvm.floor.f64(double %x)
  %is.pole = fcmp oeq double %whole, %x
  br i1 %is.pole, label %none, label %reflect
none:
  ret double {number(float("nan"))}
reflect:
  %reflected = fsub double {number(1.0)}, %x
  %right = call double @dimtensor.psi(double %reflected)
  %nearest = call double @llvm.rint.f64(double %x)
  %apart = fsub double %x, %nearest
  %angle = fmul double %apart, {number(3.141592653589793)}
  %sine = call double @sin(double %angle)
  %cosine = call double @cos(double %angle)
  %cotangent = fdiv double %cosine, %sine
  %turn = fmul double %cotangent, {number(3.141592653589793)}
  %result = fsub double %right, %turn
  ret double %result
}}"""

TEXTS = {
    "gammaln": Text(
        _GAMMALN_TEXT,
        rarely="dimtensor.gammaln.any",
        declared=GAMMALN_OF_NUMBERS,
        is_long=True,
    ),
    "psi": Text(
        _PSI_TEXT,
        rarely="dimtensor.psi.left",
        declared={
            "psi.left": _PSI_ON_THE_LEFT, **declaration("sin"), **declaration("cos"),
            **declaration("llvm.floor.f64"), **declaration("llvm.rint.f64"),
        },
        is_long=True,
    ),
}  # fmt: skip
