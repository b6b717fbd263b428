"""Exponential, logarithm and hyperbolic tangent in arithmetic that LLVM vectorises.

A call of the C library is made for one number after the other, and keeps what is around it from
being vectorised. These are a few dozen instructions each, of numbers and of vectors. LLVM puts them
into the loop, unless there are so many calls that compiling all copies would take long. Errors are
below one unit in the last place (two for ``log1p`` and ``tanh``), over all numbers; infinities,
nan, numbers that are not normal, and results that are not, are what they should be.

The reductions are the usual ones, see J.-M. Muller, Elementary Functions, 3rd ed., 2016, chapter
11. The polynomials interpolate in Chebyshev nodes, and leave less than 1e-17 of the result.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from functools import cache

from dimtensor.caches import bounded
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.functions import bessel
from dimtensor.kernels.native.machine import host_features
from dimtensor.kernels.native.values import BOOL, F64, I64, Scalar, Value, constant

_LN2 = 0.6931471805599453, 2.3190468138462996e-17  # their sum is log(2) to 106 bits
_LOG2E = 1.4426950408889634
# added to a small number and taken away again, it rounds the number to an integer, which is then in
# the last bits of the sum
_ROUND = 6755399441055744.0
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
_NAMES = {
    "exp": ("exp",), "log": ("log",), "log1p": ("log", "log1p"), "tanh": ("exp", "tanh"),
    "i0e": ("i0e",), "i1e": ("i1e",), "log1p_unit": ("log1p_unit",),
}  # fmt: skip
# A module with more calls than these has one copy of each function, which they call: compiling it
# takes a fraction, running it up to a quarter more. Calls of numbers count twice, since LLVM writes
# their loops several times.
_MOST_COPIES = 64
_COPIED, _CALLED = "alwaysinline", "noinline memory(none) willreturn"


def vectorisable(b: Builder, name: str, lanes: int = 1) -> str | None:
    """The function to call in a loop, of numbers or vectors; None where C's is as good."""
    if not has_vectors(name):
        return None
    # a loop of numbers becomes one of vectors, in LLVM's hands
    for count in _widths() if lanes == 1 else (lanes,):
        t = F64.wide(count)
        for intrinsic, number in (("fabs", 1), ("sqrt", 1), ("copysign", 2), ("fma", 3)):
            b.declarations.function(f"llvm.{intrinsic}.{t.suffix}", t.llvm, [t.llvm] * number)
        for part in _NAMES[name]:
            b.declarations.lines.setdefault(_symbol(part, count), _function(part, count))
    return f"@{_symbol(name, lanes)}"


def has_vectors(name: str) -> bool:
    """Whether there is a function of vectors, for this processor."""
    return name in _NAMES and _has_fma()


def with_calls_or_copies(text: str) -> str:
    """A module whose functions from here are copied to where they are called, or called."""
    if sum(1 + (of == "(") for _, of in _CALLS.findall(text)) <= _MOST_COPIES:
        return text
    kept = []
    for name, of_numbers in _DEFINED.findall(f"\n{text}"):
        if of_numbers == "(":
            symbol = _symbol(name)
            variants = [(count, _symbol(name, count)) for count in _widths()[1:]]
            mapped = ",".join(f"_ZGV_LLVM_N{count}v_{symbol}({each})" for count, each in variants)
            before = f"@{symbol}(double %x) {_COPIED}"
            text = text.replace(before, f'{before} "vector-function-abi-variant"="{mapped}"')
            kept += [f"ptr @{each}" for _, each in variants]
    if kept:  # until LLVM's vectoriser has seen the calls
        used = f"[{len(kept)} x ptr] [{', '.join(kept)}]"
        text += f'@llvm.compiler.used = appending global {used}, section "llvm.metadata"\n'
    return _COPIES.sub(rf"\1{_CALLED}", text)


_OURS = r"[^@\n]*@dimtensor\.(exp|log|log1p|log1p_unit|tanh|i0e|i1e)([.(])"
_CALLS, _DEFINED = re.compile(" = call " + _OURS), re.compile("\ndefine internal " + _OURS)
# other functions of the module, which write into memory, stay what they are
_COPIES = re.compile(rf"(define internal {_OURS}[^\n]*){_COPIED}")


@cache
def _widths() -> tuple[int, ...]:
    """The lanes of functions that loops of numbers may become loops of."""
    return (1, lanes() // 4, lanes() // 2)


@cache
def lanes() -> int:
    """How many numbers the loops that are written in vectors compute at once.

    These are two vectors of the processor, one of which need not wait for the other.
    """
    return 16 if "+avx512f" in host_features().split(",") else 8


@cache
def _has_fma() -> bool:
    """Whether the processor multiplies and adds at once; without, it would be a call."""
    features = host_features().split(",")
    return any(feature in features for feature in ("+fma", "+neon", "+fp-armv8"))


def _symbol(name: str, lanes: int = 1) -> str:
    return f"dimtensor.{name}" if lanes == 1 else f"dimtensor.{name}.v{lanes}"


def _bits(value: float) -> int:
    return struct.unpack("<q", struct.pack("<d", value))[0]


def _constant(text: str, types: Mapping[str, Scalar]) -> Value:
    try:
        return constant(int(text), types["i64"])
    except ValueError:
        return constant(float(text), types["double"])


@bounded(64)
def _function(name: str, lanes: int) -> str:
    """The text of a function, of numbers or of vectors."""
    types = {"double": F64.wide(lanes), "i64": I64.wide(lanes), "i1": BOOL.wide(lanes)}

    def word(found: re.Match[str]) -> str:
        number, symbol, intrinsic, type_ = found.groups()
        if number is not None:  # they stand between < and >
            return _constant(number, types).text
        if symbol is not None:
            return f"@{_symbol(symbol, lanes)}("
        if intrinsic is not None:
            return f"@llvm.{intrinsic}.{types['double'].suffix}("
        return types[type_].llvm

    text = "\n".join(f"  {line}" for line in _TEXTS[name])
    body = _WORDS.sub(word, text)
    t = types["double"].llvm
    return f"define internal {t} @{_symbol(name, lanes)}({t} %x) {_COPIED} nounwind {{\n{body}\n}}"


_WORDS = re.compile(
    r"<([^>]+)>|@dimtensor\.(\w+)\(|@llvm\.(\w+)\.f64\(|(?<![\w.%])(double|i64|i1)(?![\w.])"
)


def _fma(result: str, a: str, b: str, c: str) -> str:
    return f"{result} = call double @llvm.fma.f64(double {a}, double {b}, double {c})"


def _polynomial(result: str, at: str, coefficients: Sequence[float]) -> list[str]:
    """Even and odd powers side by side, so that one need not wait for the other."""
    square = f"{result}.square"
    lines = [f"{square} = fmul double {at}, {at}"]
    even, odd = (
        _horner(f"{result}.{part}", square, coefficients[start::2], lines)
        for start, part in enumerate(("even", "odd"))
    )
    return [*lines, _fma(result, odd, at, even)]


def _horner(result: str, at: str, coefficients: Sequence[float], lines: list[str]) -> str:
    value = f"<{coefficients[-1]!r}>"
    for number, coefficient in enumerate(coefficients[-2::-1]):
        lines.append(_fma(f"{result}{number}", value, at, f"<{coefficient!r}>"))
        value = f"{result}{number}"
    return value


_EXP_TEXT = [
    # beyond these the result is infinite or zero
    "%high = fcmp ogt double %x, <710.0>",
    "%below = select i1 %high, double <710.0>, double %x",
    "%low = fcmp ogt double <-750.0>, %below",
    "%a = select i1 %low, double <-750.0>, double %below",
    # x = k log(2) + r
    _fma("%sum", "%a", f"<{_LOG2E!r}>", f"<{_ROUND!r}>"),
    f"%k = fsub double %sum, <{_ROUND!r}>",
    _fma("%most", "%k", f"<{-_LN2[0]!r}>", "%a"),
    _fma("%r", "%k", f"<{-_LN2[1]!r}>", "%most"),
    *_polynomial("%q", "%r", _EXP),
    # 1 + r, and what is lost in it
    "%s = fadd double %r, <1.0>",
    "%s.less = fsub double %s, <1.0>",
    "%lost = fsub double %r, %s.less",
    _fma("%tail", "%q", "%q.square", "%lost"),
    "%p = fadd double %s, %tail",
    # 2**k in two factors, because it may be beyond the range of numbers where the result is not
    "%bits = bitcast double %sum to i64",
    f"%n = sub i64 %bits, <{_bits(_ROUND)}>",
    "%positive = add i64 %n, <2048>",
    "%half = lshr i64 %positive, <1>",
    "%first = sub i64 %half, <1>",  # half of n, plus 1023
    "%left = sub i64 %n, %half",
    "%second = add i64 %left, <2047>",  # the other half, plus 1023
    "%first.bits = shl i64 %first, <52>",
    "%second.bits = shl i64 %second, <52>",
    "%first.factor = bitcast i64 %first.bits to double",
    "%second.factor = bitcast i64 %second.bits to double",
    "%scaled = fmul double %p, %first.factor",
    "%result = fmul double %scaled, %second.factor",
    "ret double %result",
]

_SQRT_HALF = _bits(0.7071067811865476)
_ONE = _bits(1.0)
_LOG_TEXT = [
    "%small = fcmp ogt double <2.2250738585072014e-308>, %x",
    "%scaled = fmul double %x, <18014398509481984.0>",  # 2**54
    "%y = select i1 %small, double %scaled, double %x",
    # y = 2**k m, with m between the roots of 1/2 and 2
    "%bits = bitcast double %y to i64",
    f"%moved = add i64 %bits, <{_ONE - _SQRT_HALF}>",
    "%exponent = lshr i64 %moved, <52>",
    "%k = sub i64 %exponent, <1023>",
    "%k.bits = shl i64 %k, <52>",
    "%m.bits = sub i64 %bits, %k.bits",
    "%m = bitcast i64 %m.bits to double",
    f"%k.sum.bits = add i64 %k, <{_bits(_ROUND)}>",
    "%k.sum = bitcast i64 %k.sum.bits to double",
    f"%k.all = fsub double %k.sum, <{_ROUND!r}>",
    "%k.less = fsub double %k.all, <54.0>",
    "%n = select i1 %small, double %k.less, double %k.all",
    # log(1 + f) = f - f**2/2 + s (f**2/2 + s**2 h(s**2)), s = f / (2 + f)
    "%f = fsub double %m, <1.0>",
    "%two = fadd double %f, <2.0>",
    "%s = fdiv double %f, %two",
    "%z = fmul double %s, %s",
    *_polynomial("%h", "%z", _LOG),
    "%half.f = fmul double %f, <0.5>",
    "%half = fmul double %half.f, %f",
    _fma("%inner", "%z", "%h", "%half"),
    f"%rest = fmul double %n, <{_LN2[1]!r}>",
    _fma("%more", "%s", "%inner", "%rest"),
    "%less = fsub double %half, %more",
    "%near = fsub double %f, %less",
    _fma("%usual", "%n", f"<{_LN2[0]!r}>", "%near"),
    "%infinite = fcmp oeq double %x, <inf>",
    "%finite = select i1 %infinite, double %x, double %usual",
    "%zero = fcmp oeq double %x, <0.0>",
    "%other = select i1 %zero, double <-inf>, double <nan>",
    "%defined = fcmp ogt double %x, <0.0>",
    "%result = select i1 %defined, double %finite, double %other",
    "ret double %result",
]

_LOG1P_TEXT = [
    "%u = fadd double %x, <1.0>",
    f"%log = call double @{_symbol('log')}(double %u)",
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
    "ret double %result",
]

# of numbers from 0 to 1, without a power of 2 to be taken out and put back; nan goes through
_LOG1P_UNIT_TEXT = [
    # squares of small numbers are nothing beside them, and take long where they are not normal
    "%counts = fcmp ogt double %x, <1e-20>",
    "%y = select i1 %counts, double %x, double <0.0>",
    "%two = fadd double %y, <2.0>",
    "%s = fdiv double %y, %two",
    "%z = fmul double %s, %s",
    *_polynomial("%h", "%z", _LOG_FAR),
    "%half.y = fmul double %y, <0.5>",
    "%half = fmul double %half.y, %y",
    _fma("%inner", "%z", "%h", "%half"),
    "%minus = fneg double %s",
    _fma("%less", "%minus", "%inner", "%half"),
    "%result = fsub double %x, %less",
    "ret double %result",
]

_TANH_TEXT = [
    "%a = call double @llvm.fabs.f64(double %x)",
    # 1 - 2 / (exp(2 a) + 1), which loses digits where it is small
    "%twice = fadd double %a, %a",
    f"%grown = call double @{_symbol('exp')}(double %twice)",
    "%more = fadd double %grown, <1.0>",
    "%part = fdiv double <2.0>, %more",
    "%far = fsub double <1.0>, %part",
    "%z = fmul double %x, %x",
    *_polynomial("%p", "%z", _TANH),
    "%cube = fmul double %z, %x",
    _fma("%near", "%cube", "%p", "%x"),
    "%small = fcmp olt double %a, <0.55>",
    "%chosen = select i1 %small, double %near, double %far",
    "%result = call double @llvm.copysign.f64(double %chosen, double %x)",
    "ret double %result",
]

_TEXTS = {
    "tanh": _TANH_TEXT, "exp": _EXP_TEXT, "log": _LOG_TEXT, "log1p": _LOG1P_TEXT,
    "log1p_unit": _LOG1P_UNIT_TEXT,
    **bessel.texts(_polynomial),
}  # fmt: skip
