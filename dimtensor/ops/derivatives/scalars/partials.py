r"""Partial derivatives of elementwise operations.

Where a partial derivative is infinite or undefined though its operands are finite, a convention
holds: that of Stan at the ends of domains, so that what underflows to zero does not make a gradient
NaN. The derivatives of :math:`\sqrt x` and of :math:`x^a`, 0 < a < 1, count as zero where x is 0.

References
----------
B. Carpenter et al., "The Stan Math Library: reverse-mode automatic differentiation in C++", 2015,
arXiv:1509.07164.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytensor.scalar.basic as ps
import pytensor.scalar.math as psm
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.elemwise import Elemwise

from dimtensor.graph.dtypes import is_complex
from dimtensor.ops import special
from dimtensor.ops.constants import constant_of, number_of
from dimtensor.ops.derivatives.flow import both, number, times
from dimtensor.ops.derivatives.order import is_differentiated_again
from dimtensor.ops.derivatives.scalars.elementwise import Partial, partials, same
from dimtensor.ops.facts import STEPS
from dimtensor.ops.nodes import elementwise

Found = Sequence[Partial | None]
_LARGE = 2.0**30  # 1 is nothing beside its square


def _by(factor: Callable[[], Variable]) -> Callable[[Variable], Variable]:
    return lambda t: times(t, factor())


def _over(t: Variable, divisor: Variable) -> Variable:
    return elementwise(pt.true_div, t, divisor)


def _doubled(t: Variable, factor: float = 2.0) -> Variable:
    """Multiply a derivative by 2, folded into constants: ``-0.5 * x**2`` has ``-x``."""
    if isinstance(t, Constant) and np.size(t.data) == 1:
        return pt.constant(np.asarray(t.data * factor, dtype=t.type.dtype), dtype=t.type.dtype)
    node = t.owner
    kind = node.op.scalar_op if node is not None and isinstance(node.op, Elemwise) else None
    if isinstance(kind, ps.Neg):
        return pt.neg(_doubled(node.inputs[0], factor))
    if isinstance(kind, ps.Mul) and len(node.inputs) == 2:
        for known, rest in (node.inputs, node.inputs[::-1]):
            value = number_of(known)
            if value is not None and math.isfinite(value * factor) and rest.type == t.type:
                return _multiple(rest, value * factor)
    return _multiple(t, factor)


def _multiple(t: Variable, factor: float) -> Variable:
    if factor == -1:
        return pt.neg(t)
    return t if factor == 1 else elementwise(pt.mul, t, number(factor, t))


@partials(ps.Add)
def _add(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(same)] * len(xs)


@partials(ps.Sub)
def _sub(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(same), Partial(pt.neg)]


@partials(ps.Neg)
def _neg(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(pt.neg)]


@partials(ps.Mul)
def _mul(xs: Sequence[Variable], z: Variable) -> Found:
    def without(at: int) -> Variable:
        rest = [x for k, x in enumerate(xs) if k != at]
        return rest[0] if len(rest) == 1 else pt.mul(*rest)

    if len(xs) == 1:
        return [Partial(same)]
    return [Partial(_by(lambda at=at: without(at))) for at in range(len(xs))]  # type: ignore


@partials(ps.TrueDiv)
def _true_div(xs: Sequence[Variable], z: Variable) -> Found:
    y = xs[1]
    divisor = constant_of(y)
    singular = divisor is None or bool(np.any(divisor == 0))
    return [
        Partial(lambda t: _over(t, y), None, singular),
        Partial(lambda t: pt.neg(times(_over(t, y), z)), None, singular),
    ]


@partials(ps.Reciprocal)
def _reciprocal(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: pt.neg(pt.mul(times(t, z), z)), None, True)]


@partials(*STEPS)
def _steps(xs: Sequence[Variable], z: Variable) -> Found:
    return [None] * len(xs)


@partials(ps.Mod)
def _mod(xs: Sequence[Variable], z: Variable) -> Found:
    x, y = xs
    return [Partial(same), Partial(_by(lambda: pt.neg(pt.int_div(x, y))), None, True)]


@partials(ps.Pow)
def _pow(xs: Sequence[Variable], z: Variable) -> Found:
    """Derive x^y: y x^(y - 1) by the base (zero where y is zero), x^y log(x) by the exponent."""
    x, y = xs
    exponent = number_of(y)

    def by_base(t: Variable) -> Variable:
        if exponent == 1:
            return t
        if exponent == 2:
            return times(_doubled(t), x)
        less = pt.sub(y, number(1, y)) if exponent is None else number(exponent - 1, z)
        return times(t, pt.mul(y, pt.pow(x, less)))

    def by_exponent(t: Variable) -> Variable:
        # of the base zero the limit of z log(x), for positive exponents
        logarithm = pt.log(pt.switch(pt.eq(x, number(0, x)), number(1, x), x))
        return times(t, pt.mul(z, logarithm))

    mask = None
    singular = exponent is None or exponent < 1 or exponent % 1 != 0
    if exponent is None:
        low = pt.and_(pt.ge(y, number(0, y)), pt.lt(y, number(1, y)))
        mask = pt.invert(pt.and_(pt.eq(x, number(0, x)), low))
    elif 0 < exponent < 1:
        mask = pt.neq(x, number(0, x))
    first = None if exponent == 0 else Partial(by_base, mask, singular)
    return [first, Partial(by_exponent, None, True)]


@partials(ps.Second)
def _second(xs: Sequence[Variable], z: Variable) -> Found:
    return [None, Partial(same)]


@partials(special.Vanishing)
def _vanishing(xs: Sequence[Variable], z: Variable) -> Found:
    t, slope = xs
    by_slope = Partial(lambda c: special.vanishing(t, c)) if is_differentiated_again() else None
    return [Partial(_by(lambda: slope), None, True), by_slope]


@partials(ps.Identity, ps.Cast)
def _identity(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(same)]


@partials(ps.Abs)
def _abs(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.sign(xs[0])))]


@partials(ps.Sqr)
def _sqr(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: times(_doubled(t), xs[0]))]


@partials(ps.Sqrt)
def _sqrt(xs: Sequence[Variable], z: Variable) -> Found:
    half = number(0.5, z)
    return [Partial(lambda t: _over(times(t, half), z), pt.neq(z, number(0, z)), True)]


@partials(ps.Log)
def _log(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, xs[0]), None, True)]


@partials(ps.Log2)
def _log2(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, pt.mul(xs[0], number(math.log(2), z))), None, True)]


@partials(ps.Log10)
def _log10(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, pt.mul(xs[0], number(math.log(10), z))), None, True)]


@partials(ps.Log1p)
def _log1p(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, pt.add(number(1, z), xs[0])), None, True)]


@partials(ps.Exp)
def _exp(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: z), None, True)]


@partials(ps.Exp2)
def _exp2(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.mul(z, number(math.log(2), z))), None, True)]


@partials(ps.Expm1)
def _expm1(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.exp(xs[0])), None, True)]


@partials(ps.Sin)
def _sin(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.cos(xs[0])))]


@partials(ps.Cos)
def _cos(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: pt.neg(times(t, pt.sin(xs[0]))))]


@partials(ps.Tan)
def _tan(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.add(number(1, z), pt.sqr(z))))]


@partials(ps.ArcSin)
def _arcsin(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, pt.sqrt(_one_less_square(xs[0], z))), None, True)]


@partials(ps.ArcCos)
def _arccos(xs: Sequence[Variable], z: Variable) -> Found:
    root = pt.sqrt(_one_less_square(xs[0], z))
    return [Partial(lambda t: pt.neg(_over(t, root)), None, True)]


def _one_less_square(x: Variable, z: Variable) -> Variable:
    """``1 - x**2``, with all digits where x is nearly 1 or -1."""
    one = number(1, z)
    return pt.mul(pt.sub(one, x), pt.add(one, x))


@partials(ps.ArcTan)
def _arctan(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, pt.add(number(1, z), pt.sqr(xs[0]))))]


@partials(ps.ArcTan2)
def _arctan2(xs: Sequence[Variable], z: Variable) -> Found:
    y, x = xs
    square = pt.add(pt.sqr(x), pt.sqr(y))
    return [
        Partial(lambda t: _over(times(t, x), square), None, True),
        Partial(lambda t: pt.neg(_over(times(t, y), square)), None, True),
    ]


@partials(ps.Sinh)
def _sinh(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.cosh(xs[0])), None, True)]


@partials(ps.Cosh)
def _cosh(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.sinh(xs[0])), None, True)]


@partials(ps.Tanh)
def _tanh(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.sub(number(1, z), pt.sqr(z))))]


@partials(ps.ArcSinh)
def _arcsinh(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, _root_of_one_more(xs[0], z)))]


def _root_of_one_more(x: Variable, z: Variable) -> Variable:
    """``sqrt(1 + x**2)``, where the square is too large for a float as well."""
    if is_complex(z.type.dtype):
        return pt.sqrt(pt.add(pt.sqr(x), number(1, z)))
    size = pt.abs(x)
    is_large = pt.gt(size, number(_LARGE, size))
    square = pt.sqr(pt.switch(is_large, number(0, x), x))
    return pt.switch(is_large, size, pt.sqrt(pt.add(square, number(1, z))))


@partials(ps.ArcCosh)
def _arccosh(xs: Sequence[Variable], z: Variable) -> Found:
    one = number(1, z)
    root = pt.mul(pt.sqrt(pt.sub(xs[0], one)), pt.sqrt(pt.add(xs[0], one)))
    return [Partial(lambda t: _over(t, root), None, True)]


@partials(ps.ArcTanh)
def _arctanh(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: _over(t, _one_less_square(xs[0], z)), None, True)]


def _as_mask(condition: Variable) -> Variable:
    return condition if condition.type.dtype == "bool" else pt.neq(condition, 0)


@partials(ps.Switch)
def _switch(xs: Sequence[Variable], z: Variable) -> Found:
    taken = _as_mask(xs[0])
    return [None, Partial(same, taken), Partial(same, pt.invert(taken))]


@partials(ps.Maximum)
def _maximum(xs: Sequence[Variable], z: Variable) -> Found:
    """Derive the maximum; the first of two equal operands gets the whole derivative."""
    first = pt.ge(*xs)
    return [Partial(same, first), Partial(same, pt.invert(first))]


@partials(ps.Minimum)
def _minimum(xs: Sequence[Variable], z: Variable) -> Found:
    """Derive the minimum; the first of two equal operands gets the whole derivative."""
    first = pt.le(*xs)
    return [Partial(same, first), Partial(same, pt.invert(first))]


@partials(ps.Clip)
def _clip(xs: Sequence[Variable], z: Variable) -> Found:
    """Derive `clip`; if the bounds are in the wrong order, the lower one counts."""
    x, low, high = xs
    below, above = pt.lt(x, low), pt.gt(x, high)
    not_below = pt.invert(below)
    inside, over = both(not_below, pt.invert(above)), both(not_below, above)
    return [Partial(same, inside), Partial(same, below), Partial(same, over)]


@partials(psm.Sigmoid)
def _sigmoid(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.mul(z, pt.sub(number(1, z), z))))]


@partials(psm.Softplus)
def _softplus(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.sigmoid(xs[0])))]


@partials(psm.Log1mexp)
def _log1mexp(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: pt.neg(_over(t, pt.expm1(pt.neg(xs[0])))), None, True)]


@partials(psm.NdtriExp)
def _ndtri_exp(xs: Sequence[Variable], z: Variable) -> Found:
    """One over the slope of log_ndtr; ``exp(x + z**2 / 2)`` is a difference of large numbers."""
    half, root = number(math.sqrt(math.pi / 2), z), number(-math.sqrt(0.5), z)
    return [Partial(lambda t: times(t, pt.mul(half, pt.erfcx(pt.mul(root, z)))), None, True)]


@partials(psm.Erf)
def _erf(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: _bell(xs[0], z)))]


@partials(psm.Erfc)
def _erfc(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(lambda t: pt.neg(times(t, _bell(xs[0], z))))]


def _bell(x: Variable, z: Variable) -> Variable:
    return pt.mul(number(2 / math.sqrt(math.pi), z), pt.exp(pt.neg(pt.sqr(x))))


@partials(special.LogNdtr, special.I0e, special.I1e)
def _with_slope(xs: Sequence[Variable], z: Variable) -> Found:
    slope = z.owner.op.scalar_op.slope
    return [Partial(_by(lambda: slope(xs[0], z)))]


@partials(psm.GammaLn)
def _gammaln(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.psi(xs[0])), None, True)]


@partials(psm.Psi)
def _psi(xs: Sequence[Variable], z: Variable) -> Found:
    return [Partial(_by(lambda: pt.tri_gamma(xs[0])), None, True)]
