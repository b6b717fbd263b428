"""Functions of the module, in LLVM: powers of integers, and what C and SciPy have no address of."""

from __future__ import annotations

import math

from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.functions.texts import number


def integer_power(t: str) -> str:
    """Return the text of an integer power by squaring, with overflow as in multiplication.

    D. E. Knuth, The Art of Computer Programming 2, 4.6.3, algorithm A.
    """
    return f"""define internal {t} @dimtensor.power.{t}({t} %base, {t} %exponent) nounwind {{
entry:
  br label %loop
loop:
  %n = phi {t} [ %exponent, %entry ], [ %half, %next ]
  %x = phi {t} [ %base, %entry ], [ %square, %next ]
  %power = phi {t} [ 1, %entry ], [ %taken, %next ]
  %done = icmp eq {t} %n, 0
  br i1 %done, label %leave, label %next
next:
  %bit = and {t} %n, 1
  %odd = icmp ne {t} %bit, 0
  %more = mul {t} %power, %x
  %taken = select i1 %odd, {t} %more, {t} %power
  %square = mul {t} %x, %x
  %half = lshr {t} %n, 1
  br label %loop
leave:
  ret {t} %power
}}"""


# coefficients of the asymptotic series by odd powers of 1 / y, from the third on: Bernoulli numbers
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
_TRIGAMMA_SERIES = BERNOULLI[:8]
_FROM = 12.0  # where what the series leaves out is below the last place


def trigamma(b: Builder) -> str:
    """Declare the derivative of psi as a function of the module, and return its name.

    M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 6.4.6, 6.4.7 and 6.4.12.
    """
    for name in ("floor", "rint", "sin"):
        b.module.function(f"llvm.{name}.f64", "double", ["double"])
    b.module.lines.setdefault("trigamma", _TRIGAMMA)
    return "@dimtensor.trigamma"


def _series() -> str:
    """Return the text of the later terms, by Horner's rule."""
    lines, value = [], number(_TRIGAMMA_SERIES[-1])
    for at, coefficient in enumerate(_TRIGAMMA_SERIES[-2::-1]):
        lines.append(f"  %h{at} = fmul double {value}, %square")
        lines.append(f"  %g{at} = fadd double %h{at}, {number(coefficient)}")
        value = f"%g{at}"
    return "\n".join([*lines, f"  %tail = fmul double {value}, %square"])


_TRIGAMMA = f"""define internal double @dimtensor.trigamma(double %x) nounwind {{
entry:
  %left = fcmp ole double %x, {number(0.0)}
  %reflected = fsub double {number(1.0)}, %x
  %start = select i1 %left, double %reflected, double %x
  br label %check
check:
  %y = phi double [ %start, %entry ], [ %next, %more ]
  %sum = phi double [ {number(0.0)}, %entry ], [ %longer, %more ]
  %small = fcmp olt double %y, {number(_FROM)}
  br i1 %small, label %more, label %far
more:
  %yy = fmul double %y, %y
  %term = fdiv double {number(1.0)}, %yy
  %longer = fadd double %sum, %term
  %next = fadd double %y, {number(1.0)}
  br label %check
far:
  %inverse = fdiv double {number(1.0)}, %y
  %square = fmul double %inverse, %inverse
{_series()}
  %half = fmul double %square, {number(0.5)}
  %scaled = fmul double %tail, %inverse
  %rest = fadd double %half, %scaled
  %series = fadd double %inverse, %rest
  %right = fadd double %sum, %series
  br i1 %left, label %reflect, label %done
reflect:
  %whole = call double @llvm.floor.f64(double %x)
  %pole = fcmp oeq double %whole, %x
  %nearest = call double @llvm.rint.f64(double %x)
  %apart = fsub double %x, %nearest
  %angle = fmul double %apart, {number(3.141592653589793)}
  %sine = call double @llvm.sin.f64(double %angle)
  %ratio = fdiv double {number(3.141592653589793)}, %sine
  %both = fmul double %ratio, %ratio
  %other = fsub double %both, %right
  %turned = select i1 %pole, double {number(float("inf"))}, double %other
  br label %done
done:
  %result = phi double [ %right, %far ], [ %turned, %reflect ]
  ret double %result
}}"""


# Bernoulli numbers B(2j) / (2j)! of the rest of Euler and Maclaurin's sum
_EULER_MACLAURIN = tuple(each / math.factorial(2 * j) for j, each in enumerate(BERNOULLI, start=1))


def polygamma(b: Builder) -> str:
    """Declare the derivatives of psi of positive orders, and return the function's name.

    It is (-1)^(n + 1) n! times Hurwitz' zeta function of n + 1. Of that, terms are added up to one
    of a number larger than the order; Euler and Maclaurin's formula has the rest. A sum that starts
    on the left of 0 is one from there to the right and the difference of two to the left.

    NIST Digital Library of Mathematical Functions, 5.15.1, 25.11.4 and 25.11.5.
    """
    b.module.function("llvm.floor.f64", "double", ["double"])
    b.module.function("llvm.pow.f64", "double", ["double", "double"])
    b.module.function("tgamma", "double", ["double"], " nounwind willreturn memory(none)")
    b.module.lines.setdefault("zeta", _ZETA)
    b.module.lines.setdefault("polygamma", _POLYGAMMA)
    return "@dimtensor.polygamma"


def _euler_maclaurin() -> str:
    """Return the terms of the remainder; each has two more factors of a rising factorial."""
    lines = [
        "  %q0 = fmul double %s, %scaled",
        f"  %e0 = fmul double %q0, {number(_EULER_MACLAURIN[0])}",
        "  %r0 = fadd double %start, %e0",
    ]
    for j, coefficient in enumerate(_EULER_MACLAURIN[1:], start=1):
        lines += [
            f"  %u{j} = fadd double %s, {number(2.0 * j - 1)}",
            f"  %v{j} = fadd double %s, {number(2.0 * j)}",
            f"  %a{j} = fmul double %u{j}, %inverse",
            f"  %b{j} = fmul double %v{j}, %inverse",
            f"  %c{j} = fmul double %a{j}, %b{j}",
            f"  %q{j} = fmul double %q{j - 1}, %c{j}",
            f"  %e{j} = fmul double %q{j}, {number(coefficient)}",
            f"  %r{j} = fadd double %r{j - 1}, %e{j}",
        ]
    return "\n".join(lines)


# of s = n + 1 and a positive x
_ZETA = f"""define internal double @dimtensor.zeta(double %n, double %x) nounwind {{
entry:
  %s = fadd double %n, {number(1.0)}
  %minus.n = fneg double %n
  %minus.s = fneg double %s
  %from = fadd double %s, {number(_FROM)}
  br label %check
check:
  %y = phi double [ %x, %entry ], [ %next, %more ]
  %sum = phi double [ {number(0.0)}, %entry ], [ %longer, %more ]
  %small = fcmp olt double %y, %from
  br i1 %small, label %more, label %far
more:
  %term = call double @llvm.pow.f64(double %y, double %minus.s)
  %longer = fadd double %sum, %term
  %next = fadd double %y, {number(1.0)}
  br label %check
far:
  %inverse = fdiv double {number(1.0)}, %y
  %power = call double @llvm.pow.f64(double %y, double %minus.n)
  %integral = fdiv double %power, %n
  %first = fmul double %power, %inverse
  %scaled = fmul double %first, %inverse
  %half = fmul double %first, {number(0.5)}
  %both = fadd double %integral, %half
  %start = fadd double %sum, %both
{_euler_maclaurin()}
  ret double %r{len(_EULER_MACLAURIN) - 1}
}}"""

_POLYGAMMA = f"""define internal double @dimtensor.polygamma(double %n, double %x) nounwind {{
entry:
  %s = fadd double %n, {number(1.0)}
  %positive = fcmp oge double %n, {number(1.0)}
  br i1 %positive, label %known, label %unknown
known:
  %half = fmul double %n, {number(0.5)}
  %half.whole = call double @llvm.floor.f64(double %half)
  %even = fcmp oeq double %half, %half.whole
  %sign = select i1 %even, double {number(-1.0)}, double {number(1.0)}
  %factorial = call double @tgamma(double %s)
  %factor = fmul double %sign, %factorial
  %left = fcmp ole double %x, {number(0.0)}
  br i1 %left, label %reflect, label %right
right:
  %plain = call double @dimtensor.zeta(double %n, double %x)
  br label %done
reflect:
  %whole = call double @llvm.floor.f64(double %x)
  %rest = fsub double %x, %whole
  %pole = fcmp oeq double %whole, %x
  br i1 %pole, label %done, label %between
between:
  %other = fsub double {number(1.0)}, %rest
  %behind = fsub double {number(1.0)}, %x
  %above = call double @dimtensor.zeta(double %n, double %rest)
  %all.below = call double @dimtensor.zeta(double %n, double %other)
  %too.far = call double @dimtensor.zeta(double %n, double %behind)
  %below = fmul double %all.below, %sign
  %near = fadd double %above, %below
  %beyond = fmul double %too.far, %sign
  %sum = fsub double %near, %beyond
  br label %done
done:
  %zeta = phi double [ %plain, %right ], [ %sum, %between ], [ {number(float("inf"))}, %reflect ]
  %result = fmul double %factor, %zeta
  ret double %result
unknown:
  ret double {number(float("nan"))}
}}"""
