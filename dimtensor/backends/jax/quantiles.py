"""Inverses of the incomplete gamma and beta functions for JAX, which has none, and of log_ndtr.

Where the probability is up to a half, the logarithm of the incomplete function is solved for, in
the logarithm of x of the gamma function and in the log odds of x of the beta function; else that of
its complement. These logarithms are concave, as the densities in these variables are log-concave
(M. Bagnoli and T. Bergstrom, Economic Theory 26, 445-469, 2005), so that Newton's method converges
from everywhere, after its first step from one side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dimtensor.tuning import FRACTION_TERMS, NEWTON_STEPS


def _newton(
    start: Any,
    settled: Any,
    ends: tuple[Any, Any],
    residual: Callable[[Any], tuple[Any, Any, Any]],
) -> Any:
    """Find the root of a concave or convex function by Halley's method.

    Parameters
    ----------
    start, settled : array
        Where to start, and whether that is the root.
    ends : tuple of array
        Between which the root is.
    residual : callable
        Of a place: the function, its first derivative and its second one.
    """
    import jax
    import jax.numpy as jnp

    eps = jnp.finfo(start.dtype).eps

    def advance(state: Any) -> Any:
        at, y, done, before = state
        value, slope, curve = residual(y)
        newton = -value / slope
        # at most twice the step of Newton's method, and at least a half of it
        step = newton / jnp.clip(1 + 0.5 * newton * curve / slope, 0.5, 2.0)
        step = jnp.where(done | ~jnp.isfinite(step), 0.0, step)
        small = jnp.abs(step) <= 4 * eps * jnp.maximum(jnp.abs(y), 1)
        # near the root each step is far shorter than the last one, up to rounding
        noise = (jnp.abs(step) < 1e-8) & (jnp.abs(step) >= 0.5 * before)
        new = jnp.where(done, y, jnp.clip(y + step, *ends))
        return at + 1, new, done | small | noise, jnp.abs(step)

    def unfinished(state: Any) -> Any:
        return (state[0] < NEWTON_STEPS) & ~jnp.all(state[2])

    settled = settled | ~jnp.isfinite(start)
    state = (0, start, settled, jnp.full_like(start, jnp.inf))
    return jax.lax.while_loop(unfinished, advance, state)[1]


def _log_tails(k: Any, y: Any) -> tuple[Any, Any]:
    """Logarithms of gammainc and gammaincc at exp(y).

    By the series or the continued fraction (NIST Digital Library of Mathematical Functions, 8.7.1
    and 8.9.2).
    """
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    x = jnp.exp(y)
    eps = jnp.finfo(x.dtype).eps
    below = x < k + 1
    left, right = jnp.where(below, x, 0.0), jnp.where(below, 2 * k + 2, x)

    def more(state: Any) -> Any:
        n, term, total = state
        term = term * left / (k + n)
        return n + 1, term, total + term

    one = jnp.ones_like(x)
    _, _, series = jax.lax.while_loop(
        lambda state: (state[0] < FRACTION_TERMS) & jnp.any(state[1] > eps * state[2]),
        more, (1.0, one, one),
    )  # fmt: skip

    def deeper(state: Any) -> Any:
        n, b, c, d, value, _ = state
        a = -n * (n - k)
        b = b + 2
        d, c = 1 / (a * d + b), b + a / c
        return n + 1, b, c, d, value * c * d, jnp.abs(c * d - 1) <= eps

    b = right + 1 - k
    first = (1.0, b, jnp.full_like(x, 1e30), 1 / b, 1 / b, ~(right > 0))
    fraction = jax.lax.while_loop(
        lambda state: (state[0] < FRACTION_TERMS) & ~jnp.all(state[5]), deeper, first
    )[4]
    common = k * y - x - gammaln(k + 1)
    log_part = common + jnp.where(below, jnp.log(series), jnp.log(fraction) + jnp.log(k))
    log_part = jnp.minimum(log_part, -eps)
    log_other = jnp.log(-jnp.expm1(log_part))
    return jnp.where(below, log_part, log_other), jnp.where(below, log_other, log_part)


def _gamma_root(k: Any, p: Any, q: Any, lower: Any) -> Any:
    """Return x with a share p of the gamma distribution below it, and q = 1 - p above."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln, ndtri

    log_p, log_q = jnp.log(p), jnp.log(q)
    z = jnp.where(p < q, ndtri(jnp.where(p < q, p, 0.5)), -ndtri(jnp.where(p < q, 0.5, q)))
    root = 1 - 1 / (9 * k) + z / (3 * jnp.sqrt(k))  # E. B. Wilson and M. M. Hilferty (1931)
    least = (log_p + gammaln(k + 1)) / k  # by the first term of the series: x is not below
    start = jnp.where(root > 0.1, jnp.log(k) + 3 * jnp.log(jnp.maximum(root, 0.1)), least)
    most = jnp.log(k + jnp.sqrt(-2 * k * log_q) - log_q)  # Chernoff's bound: x is not above
    start = jnp.clip(start, least, most)
    constant = gammaln(k + 1)

    def residual(y: Any) -> tuple[Any, Any, Any]:
        x = jnp.exp(y)
        of_p, of_q = _log_tails(k, y)
        value = jnp.where(lower, of_p - log_p, of_q - log_q)
        slope = k * jnp.exp(k * y - x - constant - jnp.where(lower, of_p, of_q))
        slope = jnp.where(lower, slope, -slope)
        return value, slope, slope * (k - x - slope)

    # where the second term of the series is nothing
    settled = least < jnp.log(jnp.finfo(least.dtype).eps / 4)
    start = jnp.where(settled, least, start)
    return jnp.exp(_newton(start, settled, (least, most), residual))


def _beta_root(a: Any, b: Any, p: Any) -> Any:
    """Return the log odds of x with a share p, at most a half, of the beta function below it."""
    import jax.numpy as jnp
    from jax.nn import log_sigmoid, sigmoid
    from jax.scipy.special import betainc, betaln, digamma, ndtri, polygamma

    log_p, constant = jnp.log(p), betaln(a, b)
    first = (log_p + jnp.log(a) + constant) / a  # by the first term of the series
    normal = digamma(a) - digamma(b) + ndtri(p) * jnp.sqrt(polygamma(1, a) + polygamma(1, b))
    last = -(jnp.log1p(-p) + jnp.log(b) + constant) / b  # the same from the other side
    outer = jnp.where((a > b) & (last > 0), last, jnp.minimum(first, 0.0))
    start = jnp.where((a > 1) & (b > 1), normal, outer)

    def residual(y: Any) -> tuple[Any, Any, Any]:
        log_slope = a * log_sigmoid(y) + b * log_sigmoid(-y) - constant
        # far on the right x rounds to 1, and 1 - x does not
        right = y > jnp.maximum(jnp.log(a) - jnp.log(b), 0.0)
        one, other = jnp.where(right, b, a), jnp.where(right, a, b)
        info, share = jnp.finfo(y.dtype), sigmoid(y)
        small = betainc(one, other, sigmoid(jnp.where(right, -y, y)))
        rest = jnp.where(right, 1 - small, small)
        # where that vanishes, it is a tail that falls like a power
        tail = log_slope - jnp.log(jnp.maximum(a - (a + b) * share, jnp.minimum(a, 1.0)))
        known = jnp.where(right, rest > 1e3 * info.eps, small > 1e3 * info.tiny)
        log_part = jnp.where(known, jnp.log(jnp.where(known, rest, 0.5)), tail)
        slope = jnp.exp(log_slope - log_part)
        return log_part - log_p, slope, slope * (a - (a + b) * share - slope)

    settled = first < jnp.log(jnp.finfo(first.dtype).eps / 4) - jnp.log1p(b)
    ends = (-jnp.inf, jnp.inf)
    return _newton(jnp.where(settled, first, start), settled, ends, residual)


def _floats(*operands: Any) -> list[Any]:
    import jax.numpy as jnp

    dtype = jnp.result_type(*operands, jnp.float32)
    return [x.astype(dtype) for x in jnp.broadcast_arrays(*operands)]


def gamma_inverse(upper: bool) -> Callable[..., Any]:
    """Return the inverse of gammainc or gammaincc in x, with its derivatives."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import gammainc, gammaln

    @jax.custom_jvp
    def inverse(k: Any, p: Any) -> Any:
        k, p = _floats(k, p)
        inside = (p > 0) & (p < 1) & (k > 0) & jnp.isfinite(k)
        at_an_end = (k >= 0) & ((p == 0) | (p == 1))
        k, given = jnp.where(inside, k, 1.0), jnp.where(inside, p, 0.5)
        lower = given >= 0.1 if upper else given <= 0.9
        # a difference from 1 is exact where it is used
        below, above = (1 - given, given) if upper else (given, 1 - given)
        x = _gamma_root(k, below, above, lower)
        ends = jnp.where(p == (1.0 if upper else 0.0), 0.0, jnp.inf)
        return jnp.where(inside, x, jnp.where(at_an_end, ends, jnp.nan))

    @inverse.defjvp
    def jvp(primals: Any, tangents: Any) -> Any:
        (k, p), (dk, dp) = (_floats(*each) for each in (primals, tangents))
        x = inverse(k, p)
        slope = jnp.exp((k - 1) * jnp.log(x) - x - gammaln(k))
        _, by_k = jax.jvp(lambda k: gammainc(k, x), (k,), (dk,))
        return x, ((-dp if upper else dp) - by_k) / slope

    return inverse


def beta_inverse() -> Callable[..., Any]:
    """Return the inverse of betainc in x, with its derivative by the probability."""
    import jax
    import jax.numpy as jnp
    from jax.custom_derivatives import SymbolicZero
    from jax.nn import sigmoid
    from jax.scipy.special import betaln

    from dimtensor.errors import GraphError

    @jax.custom_jvp
    def inverse(a: Any, b: Any, p: Any) -> Any:
        a, b, p = _floats(a, b, p)
        valid = (a > 0) & (b > 0) & jnp.isfinite(a) & jnp.isfinite(b)
        inside = (p > 0) & (p < 1) & valid
        a, b, given = (jnp.where(inside, v, w) for v, w in ((a, 1.0), (b, 1.0), (p, 0.5)))
        turned = given > 0.5
        first, second = jnp.where(turned, b, a), jnp.where(turned, a, b)
        y = _beta_root(first, second, jnp.where(turned, 1 - given, given))
        x = sigmoid(jnp.where(turned, -y, y))
        return jnp.where(inside, x, jnp.where(valid & ((p == 0) | (p == 1)), p, jnp.nan))

    def jvp(primals: Any, tangents: Any) -> Any:
        if not all(isinstance(t, SymbolicZero) for t in tangents[:2]):
            raise GraphError("betaincinv is differentiable in its last operand only")
        a, b, p = _floats(*primals)
        x = inverse(a, b, p)
        if isinstance(tangents[2], SymbolicZero):
            return x, jnp.zeros_like(x)
        log_slope = (a - 1) * jnp.log(x) + (b - 1) * jnp.log1p(-x) - betaln(a, b)
        return x, tangents[2] * jnp.exp(-log_slope)

    inverse.defjvp(jvp, symbolic_zeros=True)
    return inverse


def ndtri_exp() -> Callable[..., Any]:
    """Return the inverse of log_ndtr, also where its exponential underflows or rounds to 1."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.scipy.special import ndtri

    scaled, root = erfcx(), float(np.sqrt(0.5))

    def hazard(x: Any) -> Any:
        return 2 * root / float(np.sqrt(np.pi)) / scaled(-x * root)

    def residual_of(y: Any) -> Callable[[Any], tuple[Any, Any, Any]]:
        def residual(x: Any) -> tuple[Any, Any, Any]:
            slope = hazard(x)
            return jnp.log(scaled(-x * root) / 2) - x * x / 2 - y, slope, -slope * (x + slope)

        return residual

    @jax.custom_jvp
    def inverse(y: Any) -> Any:
        (y,) = _floats(y)
        tail = y < -2
        given = jnp.where(tail, y, -2.0)
        start = -jnp.sqrt(-given) / root  # exp(-x²/2) alone: the root is not on the left
        found = _newton(start, ~tail, (-jnp.inf, 0.0), residual_of(given))
        middle = jnp.where(tail, -1.0, y)
        upper = middle > -0.5
        share = ndtri(jnp.where(upper, -jnp.expm1(middle), jnp.exp(middle)))
        return jnp.where(tail, found, jnp.where(upper, -share, share))

    @inverse.defjvp
    def jvp(primals: Any, tangents: Any) -> Any:
        (y,), (t,) = (_floats(*each) for each in (primals, tangents))
        x = inverse(y)
        return x, t / hazard(x)

    return inverse


def erfcx() -> Callable[..., Any]:
    """exp(x²) erfc(x), which JAX has from version 0.11 on.

    (1 + 2x) of it is a smooth function of (x - c) / (x + c) for positive x, here a polynomial
    (M. M. Shepherd and J. G. Laframboise, Mathematics of Computation 36, 249-253, 1981).
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from numpy.polynomial import chebyshev

    known = getattr(jax.scipy.special, "erfcx", None)
    if known is not None:
        return known
    import scipy.special

    center = 3.75

    def smooth(t: Any) -> Any:
        x = center * (1 + t) / np.maximum(1 - t, 1e-16)
        return (1 + 2 * x) * scipy.special.erfcx(x)

    coefficients = chebyshev.chebinterpolate(smooth, 44)

    @jax.custom_jvp
    def function(x: Any) -> Any:
        (x,) = _floats(x)
        size = jnp.abs(x)
        t = 1 - 2 * center / (size + center)
        last, total = jnp.zeros_like(t), jnp.zeros_like(t)
        for coefficient in coefficients[:0:-1]:  # Clenshaw's recurrence
            last, total = total, 2 * t * total - last + coefficient
        right = (t * total - last + coefficients[0]) / (1 + 2 * size)
        return jnp.where(x < 0, 2 * jnp.exp(x * x) - right, right)

    @function.defjvp
    def jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        value = function(x)
        return value, t * (2 * x * value - 2 / np.sqrt(np.pi)).astype(value.dtype)

    return function
