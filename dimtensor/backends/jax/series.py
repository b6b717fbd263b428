"""Fourier transforms and convolutions on JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytensor.graph.op import Op


def register(jax_funcify: Any) -> None:
    """Teach PyTensor's dispatcher the ops of :mod:`dimtensor.ops.series`."""
    import jax.numpy as jnp

    from dimtensor.ops.series import DFT, Convolve, FromHalf, RealDFT

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
            return jnp.convolve(x, weights, mode="full" if op.full else "valid")

        return find
