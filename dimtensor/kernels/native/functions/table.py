"""Functions of numbers in machine code, by their names in :mod:`dimtensor.ops.facts`.

Special functions are those of the C library, or SciPy's own (``scipy.special.cython_special``):
their addresses are looked up when code is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.functions.gamma import GAMMALN_OF_NUMBERS
from dimtensor.kernels.native.functions.library import declare, has_vectors, vectorizable
from dimtensor.kernels.native.functions.special import integer_power, polygamma, trigamma
from dimtensor.kernels.native.values import (
    BOOL,
    F64,
    SCALARS,
    Scalar,
    Value,
    constant,
    whole_number,
)
from dimtensor.ops.facts import Facts, facts_named
from dimtensor.tuning import ROOTED_POWER, SQUARED_POWER


def float_function(b: Builder, name: str, x: Value) -> Value:
    """Call a function of the C library or of LLVM, of one float."""
    if x.type.kind != "f":
        x = b.cast(x, F64)
    t = x.type.llvm
    facts = facts_named(name) or Facts()
    # functions that LLVM knows are those of single precision, too
    in_llvm = facts.intrinsic or name == "fabs"
    wide = x if in_llvm else b.cast(x, F64)
    if b.context.in_loop and wide.type.name == F64.name:
        inner = vectorizable(b, name)
        if inner is not None:
            return b.cast(b.call(inner, wide.type, [wide]), x.type)
    if in_llvm:
        called = b.module.function(f"llvm.{name}.{x.type.suffix}", t, [t])
        return b.call(called, x.type, [x])
    if not facts.function:
        raise NotNative(f"the function {name}")
    traits = " nounwind willreturn memory(none)"
    called = b.module.function(name, "double", ["double"], traits)
    return b.cast(b.call(called, F64, [wide]), x.type)


def named(b: Builder, name: str, operands: Sequence[Value]) -> Value:
    """Write an operation by name: ``min``, ``max``, ``abs``, ``isnan``, ``isfinite``, ``isinf``.

    Raises
    ------
    NotNative
        If there is no such operation.
    """
    if name in ("min", "max") and len(operands) > 1:
        if any(each.type.kind == "f" for each in operands):
            raise NotNative(f"{name} of floats")
        result = operands[0]
        for each in operands[1:]:
            result = b.extreme(name, result, each)
        return result
    if len(operands) == 1 and name == "abs":
        return _absolute(b, operands[0])
    if len(operands) == 1 and name in ("isnan", "isfinite", "isinf"):
        return _classify(b, name, operands[0])
    raise NotNative(f"the operation {name} of {len(operands)} operands")


def _absolute(b: Builder, x: Value) -> Value:
    if x.type.kind == "f":
        return float_function(b, "fabs", x)
    if x.type.kind == "i":
        return b.select(b.compare("<", x, constant(0, x.type)), b.negate(x), x)
    return x


def _classify(b: Builder, which: str, x: Value) -> Value:
    if x.type.kind != "f":
        return constant(which == "isfinite", BOOL)
    if which == "isnan":
        return b.compare("!=", x, x)
    size = float_function(b, "fabs", x)
    infinity = constant(float("inf"), x.type)
    if which == "isinf":
        return b.compare("==", size, infinity)
    return b.compare("<", size, infinity)


# -- functions -------------------------------------------------------------------------------------


def scalar_function(b: Builder, name: str, operands: Sequence[Value], out: Scalar) -> Value:
    """Write a function of operands of any types, with a result of a given type.

    Raises
    ------
    NotNative
        If it has no rule here, see :func:`is_native`.
    """
    facts, rule = facts_named(name) or Facts(), _RULES.get(name)
    if rule is not None:
        result = rule(b, list(operands), out)
    elif facts.kind in ("arithmetic", "logic"):
        result = operands[0] if len(operands) > 1 else b.cast(operands[0], out)
        for operand in operands[1:]:
            result = b.arithmetic(facts.sign, b.cast(result, out), b.cast(operand, out), out)
    elif facts.kind == "comparison":
        result = b.compare(facts.sign, *operands)
    elif facts.function:
        if out.kind != "f":  # a whole number is its own floor
            result = operands[0]
        else:
            result = float_function(b, facts.function, b.cast(operands[0], out))
    elif facts.scipy is not None:
        result = _special(b, *facts.scipy, operands)
    else:
        raise NotNative(f"the function {name}")
    return b.cast(result, out)


def _special(b: Builder, function: str, count: int, operands: Sequence[Value]) -> Value:
    if len(operands) != count:
        raise NotNative(f"{function} of {len(operands)} operands")
    if b.context.in_loop and count == 1:
        inner = vectorizable(b, function)
        if inner is not None:
            x = b.cast(operands[0], F64)
            return b.call(inner, x.type, [x])
    called = b.module.external(
        f"dimtensor.{function}", f"scipy.special:{function}:{count}", "double",
        [*["double"] * count, "i32"],
    )  # fmt: skip
    # SciPy's functions take a flag of Cython's at the end
    flag = Value("0", SCALARS["int32"])
    return b.call(called, F64, [*(b.cast(x, F64) for x in operands), flag])


def _extreme(operator: str) -> Callable[..., Value]:
    def rule(b: Builder, x: list[Value], out: Scalar) -> Value:
        first, second = (b.cast(v, out) for v in x)
        better = b.compare(operator, first, second)
        if out.kind == "f":  # nan of either operand goes through
            better = b.either("or", better, b.compare("!=", first, first))
        return b.select(better, first, second)

    return rule


def _sign(b: Builder, x: list[Value], out: Scalar) -> Value:
    (v,) = x
    zero = constant(0, v.type)
    positive = b.select(b.compare("==", v, zero), zero, v)
    positive = b.select(b.compare(">", v, zero), constant(1, v.type), positive)
    if v.type.kind in "ub":
        return positive
    return b.select(b.compare("<", v, zero), constant(-1, v.type), positive)


def _switch(b: Builder, x: list[Value], out: Scalar) -> Value:
    return b.select(b.cast(x[0], BOOL), b.cast(x[1], out), b.cast(x[2], out))


def _power(b: Builder, x: list[Value], out: Scalar) -> Value:
    exponent = whole_number(x[1])
    if exponent is not None and (out.kind != "f" or abs(exponent) <= SQUARED_POWER):
        return _squared(b, b.cast(x[0], out), exponent, out)
    if out.kind == "f" and (halves := _halves_of(x[1].known)) is not None:
        return _with_root(b, b.cast(x[0], out), halves, out)
    t = out.llvm
    if out.kind != "f":
        b.module.lines.setdefault(f"power.{t}", integer_power(t))
        return b.call(f"@dimtensor.power.{t}", out, [b.cast(v, out) for v in x])
    called = None
    if b.context.in_loop and out.name == F64.name:
        called = vectorizable(b, "pow")
    called = called or b.module.function(f"llvm.pow.f{out.bits}", t, [t, t])
    return b.call(called, out, [b.cast(v, out) for v in x])


def _halves_of(exponent: Any) -> int | None:
    """Twice an exponent for which a square root is faster than a power; None for others."""
    if exponent is None or abs(exponent) > ROOTED_POWER + 1:
        return None
    twice = 2.0 * float(exponent)
    return int(twice) if twice % 2 == 1 else None


def _with_root(b: Builder, x: Value, halves: int, out: Scalar) -> Value:
    """Write a half-integer power of x as a square root times an integer power.

    Powers of -inf and -0 are those of their absolute values, as in the C library.
    """
    infinite = b.compare("==", x, constant(-math.inf, out))
    x = b.select(infinite, constant(math.inf, out), b.arithmetic("+", x, constant(0, out), out))
    root = float_function(b, "sqrt", x)
    if halves < 0:
        root = b.arithmetic("/", constant(1, out), root, out)
    whole = (abs(halves) - 1) // 2 * (1 if halves > 0 else -1)
    return b.arithmetic("*", _squared(b, x, whole, out), root, out) if whole else root


def _squared(b: Builder, x: Value, exponent: int, out: Scalar) -> Value:
    """Write a power by squaring: the error is at most ``abs(exponent)`` units in the last place.

    Powers of the reciprocal are neither 0 nor infinite where the power is not.
    """
    if exponent < 0:
        if out.kind != "f":
            raise NotNative("negative powers of integers")  # lowering refuses them
        x, exponent = b.arithmetic("/", constant(1, out), x), -exponent
    result = None
    while exponent:
        if exponent % 2:
            result = x if result is None else b.arithmetic("*", result, x, out)
        exponent //= 2
        if exponent:
            x = b.arithmetic("*", x, x, out)
    return constant(1, out) if result is None else result


def _clip(b: Builder, x: list[Value], out: Scalar) -> Value:
    """Write `clip`; if the bounds are in the wrong order, the lower one counts."""
    v, low, high = (b.cast(each, out) for each in x)
    lowered = b.select(b.compare(">", v, high), high, v)
    return b.select(b.compare("<", v, low), low, lowered)


def _integer_division(b: Builder, x: list[Value], out: Scalar) -> Value:
    if out.kind == "f":
        return _float_divmod(b, x, out)[0]
    return b.floor_divide(b.cast(x[0], out), b.cast(x[1], out))[0]


def _remainder(b: Builder, x: list[Value], out: Scalar) -> Value:
    if out.kind == "f":
        return _float_divmod(b, x, out)[1]
    return b.floor_divide(b.cast(x[0], out), b.cast(x[1], out))[1]


def _float_divmod(b: Builder, x: list[Value], out: Scalar) -> tuple[Value, Value]:
    """Quotient rounded down and remainder, which has the sign of the divisor; as NumPy has them.

    The quotient is that of what the remainder leaves: ``1 // 0.1`` is 9.
    """
    v, w = (b.cast(each, out)._replace(factors=None) for each in x)
    t, zero, half = out.llvm, constant(0.0, out), constant(0.5, out)
    one = constant(1.0, out)
    copysign = b.module.function(f"llvm.copysign.f{out.bits}", t, [t, t])
    left = Value(b.let(f"frem {t} {v.text}, {w.text}"), out)
    apart = b.either("xor", b.compare("<", left, zero), b.compare("<", w, zero))
    some = b.compare("!=", left, zero)
    apart = b.either("and", apart, some)
    quotient = b.arithmetic("/", b.arithmetic("-", v, left), w)
    quotient = b.select(apart, b.arithmetic("-", quotient, one), quotient)
    rest = b.select(apart, b.arithmetic("+", left, w), left)
    rest = b.select(some, rest, b.call(copysign, out, [zero, w]))
    down = float_function(b, "floor", quotient)
    more = b.compare(">", b.arithmetic("-", quotient, down), half)
    down = b.select(more, b.arithmetic("+", down, one), down)
    plain = b.arithmetic("/", v, w)
    down = b.select(b.compare("!=", quotient, zero), down, b.call(copysign, out, [zero, plain]))
    return b.select(b.compare("==", w, zero), plain, down), rest


def _invert(b: Builder, x: list[Value], out: Scalar) -> Value:
    ones = constant(True if out.kind == "b" else -1, out).text
    return Value(b.let(f"xor {out.llvm} {b.cast(x[0], out).text}, {ones}"), out)


def _sigmoid(b: Builder, x: list[Value], out: Scalar) -> Value:
    """1 / (1 + exp(-x)), by exp(-|x|), which does not overflow."""
    v, _, size, inverse = _of_size(b, x[0], out)
    below = b.compare("<", v, constant(0.0, out))
    return b.select(below, b.arithmetic("*", size, inverse), inverse)


def _of_size(b: Builder, x: Value, out: Scalar) -> tuple[Value, Value, Value, Value]:
    """Return the shared parts of logistic functions: exp(-|x|), 1 + exp(-|x|) and its reciprocal.

    They are computed once where several are functions of the same number.
    """
    v, one = b.cast(x, out), constant(1.0, out)
    size = float_function(b, "exp", b.negate(float_function(b, "fabs", v)))
    more = b.arithmetic("+", one, size)
    return v, more, size, b.arithmetic("/", one, more)


def _softplus(b: Builder, x: list[Value], out: Scalar) -> Value:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), without overflow; nan goes through.

    What is lost in the sum is added to the logarithm.
    """
    v, more, size, inverse = _of_size(b, x[0], out)
    if b.context.in_loop and out.name == F64.name and has_vectors("log1p_unit"):
        log = float_function(b, "log1p_unit", size)
    else:
        lost = b.arithmetic("-", size, b.arithmetic("-", more, constant(1.0, out)))
        log = float_function(b, "log", more)
        log = b.arithmetic("+", log, b.arithmetic("*", lost, inverse))
    zero = constant(0.0, out)
    above = b.select(b.compare("<", v, zero), zero, v)
    return b.arithmetic("+", above, log)


def _log1p_unit(b: Builder, x: list[Value], out: Scalar) -> Value:
    here = b.context.in_loop and out.name == F64.name and has_vectors("log1p_unit")
    return float_function(b, "log1p_unit" if here else "log1p", b.cast(x[0], out))


def _log1mexp(b: Builder, x: list[Value], out: Scalar) -> Value:
    """log(1 - exp(x)) for x < 0, of functions that have vectors, to three units in the last place.

    Two formulas as in M. Mächler, Accurately Computing log(1 - exp(-|a|)), 2012, equation 7, with
    one logarithm: near to 0 of -expm1(x) = -tanh(x / 2) (1 + exp(x)), elsewhere of the difference,
    to which is added what is lost in it.
    """
    v, one = b.cast(x[0], out), constant(1.0, out)
    size = float_function(b, "exp", v)
    half = float_function(b, "tanh", b.arithmetic("*", v, constant(0.5, out)))
    near = b.negate(b.arithmetic("*", half, b.arithmetic("+", one, size)))
    # half of a denormal has fewer digits
    tiny = b.compare(">", v, constant(-1e-290 if out.bits == 64 else -1e-30, out))
    near = b.select(tiny, b.negate(v), near)
    less = b.arithmetic("-", one, size)
    lost = b.arithmetic("-", b.arithmetic("-", one, less), size)
    far = b.compare("<", v, constant(-0.6931471805599453, out))
    log = float_function(b, "log", b.select(far, less, near))
    lost = b.select(far, b.arithmetic("/", lost, less), constant(0.0, out))
    # of exp(-40) the difference has nothing; -0 at -infinity
    last = b.compare("<", v, constant(-40.0, out))
    return b.select(last, b.negate(size), b.arithmetic("+", log, lost))


def _arctan2(b: Builder, x: list[Value], out: Scalar) -> Value:
    traits = " nounwind willreturn memory(none)"
    called = b.module.function("atan2", "double", ["double", "double"], traits)
    return b.call(called, F64, [b.cast(v, F64) for v in x])


def _sqr(b: Builder, x: list[Value], out: Scalar) -> Value:
    v = b.cast(x[0], out)
    return v if out.kind == "b" else b.arithmetic("*", v, v)


def _gammaln(b: Builder, x: list[Value], out: Scalar) -> Value:
    v = b.cast(x[0], F64)
    inner = vectorizable(b, "gammaln") if b.context.in_loop else None
    return b.call(inner or _gammaln_of_numbers(b), v.type, [v])


def _gammaln_of_numbers(b: Builder) -> str:
    for name, line in GAMMALN_OF_NUMBERS.items():
        b.module.lines.setdefault(name, line)
    return "@dimtensor.gammaln.any"


def _ours(name: str) -> Callable[[Builder, list[Value], Scalar], Value]:
    """Return the rule of a function that only we implement, of the last operand."""

    def rule(b: Builder, x: list[Value], out: Scalar) -> Value:
        v = b.cast(x[-1], F64)
        inner = vectorizable(b, name) if b.context.in_loop else None
        return b.call(inner or declare(b, name), v.type, [v])

    return rule


_psi = _ours("psi")


def _trigamma(b: Builder, x: list[Value], out: Scalar) -> Value:
    return b.call(trigamma(b), F64, [b.cast(x[-1], F64)])


def _polygamma(b: Builder, x: list[Value], out: Scalar) -> Value:
    """Write a derivative of psi, or psi itself for order 0."""
    order = whole_number(x[0])
    if order == 0:
        return _psi(b, x, out)
    if order == 1:
        return _trigamma(b, x, out)
    n, v = (b.cast(each, F64) for each in x)
    higher = b.call(polygamma(b), F64, [n, v])
    if order is not None:
        return higher
    return b.select(b.compare("==", n, constant(0.0, F64)), _psi(b, [v], out), higher)


def _round_away(b: Builder, x: list[Value], out: Scalar) -> Value:
    if out.kind != "f":
        return x[0]
    called = b.module.function(f"llvm.round.f{out.bits}", out.llvm, [out.llvm])
    return b.call(called, out, [b.cast(x[0], out)])


_RULES: dict[str, Callable[[Builder, list[Value], Scalar], Value]] = {
    "absolute": lambda b, x, out: _absolute(b, x[0]),
    "atan2": _arctan2,
    "cast": lambda b, x, out: b.cast(x[0], out),
    "clip": _clip,
    "gammaln": _gammaln,
    "identity": lambda b, x, out: x[0],
    "vanishing": lambda b, x, out: constant(0, out),
    "floor_divide": _integer_division,
    "invert": _invert,
    "isinf": lambda b, x, out: _classify(b, "isinf", x[0]),
    "isnan": lambda b, x, out: _classify(b, "isnan", x[0]),
    "log1mexp": _log1mexp,
    "log_ndtr": _ours("log_ndtr"),
    "maximum": _extreme(">"),
    "minimum": _extreme("<"),
    "remainder": _remainder,
    "negative": lambda b, x, out: b.negate(b.cast(x[0], out)),
    "polygamma": _polygamma,
    "psi": _psi,
    "power": _power,
    "reciprocal": lambda b, x, out: b.arithmetic("/", constant(1, out), b.cast(x[0], out)),
    "round": _round_away,
    "second": lambda b, x, out: x[1],
    "sigmoid": _sigmoid,
    "sign": _sign,
    "softplus": _softplus,
    "log1p_unit": _log1p_unit,
    "square": _sqr,
    "where": _switch,
    "trigamma": _trigamma,
}


def is_native(name: str) -> bool:
    """Return whether a function has a rule."""
    facts = facts_named(name)
    return name in _RULES or (facts is not None and bool(facts.sign or facts.library))
