"""Functions of whole vectors and matrices: Fourier transforms, convolutions, determinants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.tuning import JAX_UNROLLED_ROWS

if TYPE_CHECKING:
    from pytensor.graph.op import Op


def register(jax_funcify: Any) -> None:
    """Teach PyTensor's dispatcher the ops of :mod:`dimtensor.ops.along`."""
    import jax.numpy as jnp

    from dimtensor.ops.along import DFT, Convolve, FromHalf, RealDFT

    @jax_funcify.register(DFT)
    def dft(op: Op, **kwargs: Any) -> Callable[..., Any]:
        def find(real: Any, imaginary: Any) -> Any:
            if not real.size:
                return real, imaginary
            found = jnp.fft.fft(real + 1j * imaginary)
            return found.real.astype(real.dtype), found.imag.astype(real.dtype)

        return find

    @jax_funcify.register(RealDFT)
    def real_dft(op: Op, **kwargs: Any) -> Callable[..., Any]:
        def find(x: Any) -> Any:
            found = jnp.fft.rfft(x) if x.size else jnp.zeros(1, "complex128")
            return found.real.astype(x.dtype), found.imag.astype(x.dtype)

        return find

    @jax_funcify.register(FromHalf)
    def from_half(op: Op, **kwargs: Any) -> Callable[..., Any]:
        def find(a: Any, b: Any, like: Any) -> Any:
            if not like.size:
                return like
            return jnp.fft.fft((a - 1j * b)[: len(like)], len(like)).real.astype(a.dtype)

        return find

    @jax_funcify.register(Convolve)
    def convolve(op: Op, **kwargs: Any) -> Callable[..., Any]:
        def find(x: Any, weights: Any) -> Any:
            n, k = len(x), len(weights)
            if not n or not k or (not op.full and n < k):
                return jnp.zeros(max(n + k - 1 if op.full else n - k + 1, 0), x.dtype)
            if op.full and n < k:
                x, weights = weights, x
            return _convolve(x, weights, op.full)

        return find


def _convolve(x: Any, weights: Any, full: bool) -> Any:
    """Sum shifted multiples of a vector.

    ``jnp.convolve`` of a batch of vectors by a batch of weights is, on a CPU, one by a matrix with
    zeros: by these a NaN in one would reach all of them.
    """
    import jax.numpy as jnp
    from jax import lax

    n, k = len(x), len(weights)

    def add(total: Any, term: Any) -> tuple[Any, None]:
        at, weight = term
        if not full:
            return total + weight * lax.dynamic_slice(x, (k - 1 - at,), (n - k + 1,)), None
        there = lax.dynamic_slice(total, (at,), (n,))
        return lax.dynamic_update_slice(total, there + weight * x, (at,)), None

    start = jnp.zeros(n + k - 1 if full else n - k + 1, jnp.result_type(x, weights))
    return lax.scan(add, start, (jnp.arange(k), weights), unroll=8)[0]


def own_translation(node: Any) -> Callable[..., Any] | None:
    """Return the JAX function of a determinant, None for other nodes.

    By elimination with pivots: JAX has formulas for small matrices, whose products vanish or are
    infinite where a logarithm is not.

    Parameters
    ----------
    node : Apply
    """
    from pytensor.tensor.blockwise import Blockwise
    from pytensor.tensor.linalg import Det, SLogDet

    core = node.op.core_op if isinstance(node.op, Blockwise) else node.op
    if isinstance(core, Det):
        return _det
    return _slogdet if isinstance(core, SLogDet) else None


def _det(x: Any) -> Any:
    import jax.numpy as jnp

    if not _is_small(x):
        return jnp.linalg.det(x)
    sign, diagonal = _eliminated(x)
    product = sign
    for pivot in diagonal:
        product = product * pivot
    return jnp.where(sign == 0, 0.0, product)


def _slogdet(x: Any) -> tuple[Any, Any]:
    import jax.numpy as jnp

    if not _is_small(x):
        sign, log = jnp.linalg.slogdet(x)
        return sign, log
    sign, diagonal = _eliminated(x)
    singular = sign == 0
    log = jnp.zeros_like(sign)
    for pivot in diagonal:
        sign = jnp.where(pivot < 0, -sign, sign)
        log = log + jnp.log(jnp.where(singular, 1.0, jnp.abs(pivot)))
    log = jnp.where(singular, -jnp.inf, log)
    return jnp.where(jnp.isnan(log), log, sign), log


def _is_small(x: Any) -> bool:
    n = x.shape[-1]
    return isinstance(n, int) and 0 < n <= JAX_UNROLLED_ROWS and x.dtype.kind == "f"


def _eliminated(x: Any) -> tuple[Any, list[Any]]:
    """Return the sign of the row swaps (0 for a singular matrix), and the pivots."""
    import jax.numpy as jnp

    n = x.shape[-1]
    rows = [x[..., i, :] for i in range(n)]
    sign, pivots = jnp.ones_like(x[..., 0, 0]), []
    for k in range(n):
        which: Any = k
        size = jnp.abs(rows[k][..., k])
        for i in range(k + 1, n):
            other = jnp.abs(rows[i][..., k])
            larger = other > size
            size, which = jnp.where(larger, other, size), jnp.where(larger, i, which)
        chosen = rows[k]
        for i in range(k + 1, n):
            here = (which == i)[..., None]
            chosen, rows[i] = jnp.where(here, rows[i], chosen), jnp.where(here, rows[k], rows[i])
        sign = jnp.where(size == 0, 0.0, jnp.where(which == k, sign, -sign))
        pivot = chosen[..., k]
        pivots.append(pivot)
        for i in range(k + 1, n):
            # beside an infinite pivot even another infinity is nothing, as to LAPACK
            factor = jnp.where(jnp.isinf(pivot), 0.0, rows[i][..., k] / pivot)
            rows[i] = rows[i] - factor[..., None] * chosen
    return sign, pivots
