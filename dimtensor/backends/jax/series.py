"""Fourier transforms and convolutions on JAX."""

from __future__ import annotations

from typing import Any


def register(jax_funcify: Any) -> None:
    """Teach PyTensor's dispatcher the ops of :mod:`dimtensor.ops.series`."""
    import jax.numpy as jnp

    from dimtensor.ops.series import DFT, Convolve, FromHalf, RealDFT

    @jax_funcify.register(DFT)
    def dft(op, **kwargs):
        def find(real, imaginary):
            if not real.size:
                return real, imaginary
            found = jnp.fft.fft(real + 1j * imaginary)
            return found.real.astype(real.dtype), found.imag.astype(real.dtype)

        return find

    @jax_funcify.register(RealDFT)
    def real_dft(op, **kwargs):
        def find(x):
            found = jnp.fft.rfft(x) if x.size else jnp.zeros(1, "complex128")
            return found.real.astype(x.dtype), found.imag.astype(x.dtype)

        return find

    @jax_funcify.register(FromHalf)
    def from_half(op, **kwargs):
        def find(a, b, like):
            if not like.size:
                return like
            return jnp.fft.fft((a - 1j * b)[: len(like)], len(like)).real.astype(a.dtype)

        return find

    @jax_funcify.register(Convolve)
    def convolve(op, **kwargs):
        def find(x, weights):
            n, k = len(x), len(weights)
            if not n or not k or (not op.full and n < k):
                return jnp.zeros(max(n + k - 1 if op.full else n - k + 1, 0), x.dtype)
            return jnp.convolve(x, weights, mode="full" if op.full else "valid")

        return find
