"""Functions of the module, in LLVM: powers of integers, and what neither C nor SciPy has."""

from __future__ import annotations

from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.values import F64, constant


def integer_power(t: str) -> str:
    """A power of integers by squaring, with overflow as in multiplication.

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
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_FROM = 12.0  # where what the series leaves out is below the last place


def trigamma(b: Builder) -> str:
    """The derivative of psi, in a function of the module; gives its name.

    M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 6.4.6, 6.4.7 and 6.4.12.
    """
    for name in ("floor", "rint", "sin"):
        b.declarations.function(f"llvm.{name}.f64", "double", ["double"])
    b.declarations.lines.setdefault("trigamma", _TRIGAMMA)
    return "@dimtensor.trigamma"


def _number(value: float) -> str:
    return constant(value, F64).text


def _series() -> str:
    """What follows the first two terms, by Horner's rule."""
    lines, value = [], _number(_BERNOULLI[-1])
    for at, coefficient in enumerate(_BERNOULLI[-2::-1]):
        lines.append(f"  %h{at} = fmul double {value}, %square")
        lines.append(f"  %g{at} = fadd double %h{at}, {_number(coefficient)}")
        value = f"%g{at}"
    return "\n".join([*lines, f"  %tail = fmul double {value}, %square"])


_TRIGAMMA = f"""define internal double @dimtensor.trigamma(double %x) nounwind {{
entry:
  %left = fcmp ole double %x, {_number(0.0)}
  %reflected = fsub double {_number(1.0)}, %x
  %start = select i1 %left, double %reflected, double %x
  br label %check
check:
  %y = phi double [ %start, %entry ], [ %next, %more ]
  %sum = phi double [ {_number(0.0)}, %entry ], [ %longer, %more ]
  %small = fcmp olt double %y, {_number(_FROM)}
  br i1 %small, label %more, label %far
more:
  %yy = fmul double %y, %y
  %term = fdiv double {_number(1.0)}, %yy
  %longer = fadd double %sum, %term
  %next = fadd double %y, {_number(1.0)}
  br label %check
far:
  %inverse = fdiv double {_number(1.0)}, %y
  %square = fmul double %inverse, %inverse
{_series()}
  %half = fmul double %square, {_number(0.5)}
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
  %angle = fmul double %apart, {_number(3.141592653589793)}
  %sine = call double @llvm.sin.f64(double %angle)
  %ratio = fdiv double {_number(3.141592653589793)}, %sine
  %both = fmul double %ratio, %ratio
  %other = fsub double %both, %right
  %turned = select i1 %pole, double {_number(float("inf"))}, double %other
  br label %done
done:
  %result = phi double [ %right, %far ], [ %turned, %reflect ]
  ret double %result
}}"""
