r"""Partial derivatives of special functions by their parameters.

Those of a series are the derivative of the series; those of an inverse follow from the function
that it inverts: where :math:`f(a, x) = p`, :math:`dx/da = -f_a / f_x`.

References
----------
NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov: 15.2.1, 15.5.1, 15.8.1 (the
hypergeometric function), 8.2.1 and 8.17 (incomplete gamma and beta functions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytensor.scalar.basic as ps
import pytensor.scalar.math as psm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.elemwise import Elemwise

from dimtensor.ops.derivatives.driver import push
from dimtensor.ops.derivatives.flow import number, times
from dimtensor.ops.derivatives.scalars.elementwise import Partial, partials
from dimtensor.tuning import SERIES_TERMS
from dimtensor.upstream.pytensor import batch_derivatives

Found = Sequence[Partial | None]


@partials(psm.Hyp2F1)
def _hyp2f1(xs: Sequence[Variable], z: Variable) -> Found:
    a, b, c, x = (pt.cast(v, z.type.dtype) for v in xs)

    def by(parameter: Variable) -> Variable:
        (slope,) = push([_gauss(a, b, c, x)], [parameter], [pt.ones_like(parameter)])
        return slope

    one = number(1, z)
    raised = [pt.add(v, one) for v in (a, b, c)]
    return [
        *(Partial(lambda t, v=v: times(t, by(v)), None, True) for v in (a, b, c)),  # type: ignore
        Partial(lambda t: times(t, pt.mul(pt.true_div(pt.mul(a, b), c), pt.hyp2f1(*raised, x)))),
    ]


def _gauss(a: Variable, b: Variable, c: Variable, x: Variable) -> Variable:
    """Evaluate the hypergeometric function at x < 1 by its series.

    Of a negative x it is that of x / (x - 1), which is between 0 and 1.
    """
    one = number(1, x)
    negative = pt.lt(x, number(0, x))
    at = pt.switch(negative, pt.true_div(x, pt.sub(x, one)), x)
    other = pt.switch(negative, pt.sub(c, b), b)
    factor = pt.switch(negative, pt.exp(pt.neg(pt.mul(a, pt.log1p(pt.neg(x))))), one)
    converges = pt.le(at, one)
    steps = pt.switch(converges, np.int32(SERIES_TERMS), np.int32(0))
    start = [one, one, number(0, x)]
    total, *_ = Elemwise(_terms(x.type.dtype))(steps, *start, a, other, c, at, return_list=True)
    return pt.switch(converges, pt.mul(factor, total), number(np.nan, x))


def _terms(dtype: str) -> ScalarLoop:
    """Sum the series term by term; the results are the sum, the last term and their number."""
    scalar = ps.get_scalar_type(dtype)
    total, term, k, a, b, c, x = (scalar(name) for name in ("total", "term", "k", *"abcx"))
    one = np.asarray(1, dtype=dtype)
    ratio = (a + k) * (b + k) / ((c + k) * (k + one)) * x
    new = term * ratio
    moved = total + new
    # early terms may be small because they are about to change their sign
    settled = abs(new) <= np.asarray(np.finfo(dtype).eps, dtype=dtype) * abs(moved)
    until = settled & (k > abs(a) + abs(b) + abs(c))
    ends = [moved, new, k + one]
    return ScalarLoop(
        init=[total, term, k], constant=[a, b, c, x], update=ends,
        until=until | ps.eq(ratio, np.asarray(0, dtype=dtype)), name="hypergeometric",
    )  # fmt: skip


@partials(psm.BetaInc)
def _betainc(xs: Sequence[Variable], z: Variable) -> Found:
    a, b, x = (pt.cast(v, z.type.dtype) for v in xs)
    return [_singular(partial(_beta_slope, a, b, x, at)) for at in range(3)]


def _singular(slope: Callable[[], Variable]) -> Partial:
    """Make a partial derivative that may be infinite."""
    return Partial(lambda t: times(t, slope()), None, True)


def _beta_slope(a: Variable, b: Variable, x: Variable, at: int) -> Variable:
    """Derive betainc as PyTensor does, at parameters for which its fractions converge.

    It has continued fractions of x and of 1 - x, and takes the second one from a / (a + b) on; from
    there to (a + 1) / (a + b + 2) that hardly converges, and gives NaN. The recurrence in a,
    8.17.20, leads to where the first one is taken, and for the mirror image that in b, 8.17.21.
    """
    if at == 2:
        one = number(1, x)
        logs = _log_where(x, a), _log_where(pt.sub(one, x), b, pt.log1p(pt.neg(x)))
        powers = pt.add(*(pt.mul(pt.sub(v, one), log) for v, log in zip((a, b), logs, strict=True)))
        scale = pt.sub(pt.gammaln(pt.add(a, b)), pt.add(pt.gammaln(a), pt.gammaln(b)))
        return pt.exp(pt.add(powers, scale))
    zero, one, total = number(0, x), number(1, x), pt.add(a, b)
    mean = pt.true_div(a, total)
    turn = pt.true_div(pt.add(a, one), pt.add(total, number(2, x)))
    in_a = pt.and_(pt.gt(x, mean), pt.lt(x, turn))
    in_b = pt.and_(pt.lt(x, mean), pt.gt(x, turn))
    raised = (pt.switch(in_a, pt.add(a, one), a), pt.switch(in_b, pt.add(b, one), b))
    moved = pt.or_(in_a, in_b)
    inside = pt.switch(moved, x, number(0.5, x))
    logs = (pt.log(inside), pt.log1p(pt.neg(inside)))
    powers = pt.add(pt.mul(a, logs[0]), pt.mul(b, logs[1]))
    scale = pt.sub(pt.gammaln(total), pt.add(*map(pt.gammaln, raised)))
    step = pt.exp(pt.add(powers, scale))
    change = pt.sub(pt.add(logs[at], pt.psi(total)), pt.psi(raised[at]))
    change = pt.mul(pt.switch(in_b, pt.neg(step), step), change)
    slope = _slope(pt.betainc(*raised, x), at)
    return pt.add(slope, pt.switch(moved, change, zero))


def _log_where(x: Variable, shape: Variable, log: Variable | None = None) -> Variable:
    """Return a logarithm that is multiplied by a shape less 1, finite where that is 0."""
    at_an_end = pt.and_(pt.eq(x, number(0, x)), pt.eq(shape, number(1, x)))
    return pt.switch(at_an_end, number(0, x), pt.log(x) if log is None else log)


@partials(psm.GammaInc, psm.GammaIncC)
def _gammainc(xs: Sequence[Variable], z: Variable) -> Found:
    k, x = (pt.cast(v, z.type.dtype) for v in xs)

    def by_x() -> Variable:
        power = pt.mul(pt.sub(k, number(1, x)), _log_where(x, k))
        density = pt.exp(pt.sub(pt.sub(power, x), pt.gammaln(k)))
        return density if isinstance(z.owner.op.scalar_op, psm.GammaInc) else pt.neg(density)

    return [_singular(lambda: _slope(z, 0)), _singular(by_x)]


@partials(psm.GammaIncInv)
def _gammaincinv(xs: Sequence[Variable], z: Variable) -> Found:
    value = pt.gammainc(xs[0], z)
    return _inverse(lambda at: _slope(value, at), 1)


@partials(psm.GammaIncCInv)
def _gammainccinv(xs: Sequence[Variable], z: Variable) -> Found:
    value = pt.gammaincc(xs[0], z)
    return _inverse(lambda at: _slope(value, at), 1)


@partials(psm.BetaIncInv)
def _betaincinv(xs: Sequence[Variable], z: Variable) -> Found:
    a, b = (pt.cast(v, z.type.dtype) for v in xs[:2])
    return _inverse(lambda at: _beta_slope(a, b, z, at), 2)


def _slope(value: Variable, at: int) -> Variable:
    """Return the partial derivative of a function by an operand, as PyTensor defines it."""
    node = value.owner
    inputs, outputs = list(node.inputs), list(node.outputs)
    return batch_derivatives(node.op, inputs, outputs, [pt.ones_like(value)])[at]


def _inverse(slope: Callable[[int], Variable], last: int) -> Found:
    """Partial derivatives of the inverse of a function in its last operand, from the function's."""

    def against(at: int) -> Variable:
        return pt.neg(pt.true_div(slope(at), slope(last)))

    found = [_singular(partial(against, at)) for at in range(last)]
    return [*found, Partial(lambda t: pt.true_div(t, slope(last)), None, True)]
