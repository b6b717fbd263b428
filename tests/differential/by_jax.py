"""The functions of :mod:`tests.differential.named` by JAX, whose derivatives are its own.

All of it runs inside ``jax.enable_x64(True)``.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.named import Named, elementwise, expanded, union

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = pytest.importorskip("jax.lax")
pytest.importorskip("jax.scipy.special")


class JAX:
    """The same functions on JAX's arrays."""

    xp = jnp
    muted = False
    erf = staticmethod(jax.scipy.special.erf)
    gammaln = staticmethod(jax.scipy.special.gammaln)
    digamma = staticmethod(jax.scipy.special.digamma)
    cholesky = staticmethod(jnp.linalg.cholesky)

    @staticmethod
    def re(x: Any) -> Any:
        return x

    @staticmethod
    def above(difference: Any) -> Any:
        return difference > 0

    @staticmethod
    def decide(what: Any, margins: Any) -> None:
        """Nothing is recorded."""

    @staticmethod
    def order(data: Any) -> Any:
        return jnp.argsort(lax.stop_gradient(data), axis=-1)

    @staticmethod
    def put(data: Any, index: Any, value: Any, accumulate: bool) -> Any:
        at = jnp.asarray(data).at[index]
        return at.add(value) if accumulate else at.set(value)

    @staticmethod
    def eigvalsh(matrix: Any) -> Any:
        return jnp.linalg.eigh(matrix)[0]

    @staticmethod
    def svdvals(matrix: Any) -> Any:
        return jnp.linalg.svd(matrix)[1]

    @staticmethod
    def logdet(matrix: Any) -> Any:
        return jnp.linalg.slogdet(matrix)[1]

    def scan(self, body: Any, states: list, xs: list, dim: str, n: int, reverse: bool) -> Any:
        sizes = [state.sizes for state in states]
        rests = [tuple(d for d in x.dims if d != dim) for x in xs]
        dims: list[tuple[str, ...]] = []

        def step(carry: Any, elements: Any) -> Any:
            now = [Named(tuple(size), data) for size, data in zip(sizes, carry, strict=True)]
            given = [Named(rest, data) for rest, data in zip(rests, elements, strict=True)]
            after, ys = body(now, given)
            dims[:] = [y.dims for y in ys]
            full = [expanded(self, s, size) for s, size in zip(after, sizes, strict=True)]
            return [s.data for s in full], [y.data for y in ys]

        leading = [jnp.moveaxis(x.data, x.dims.index(dim), 0) for x in xs]
        start = [jnp.asarray(state.data) for state in states]
        carry, ys = lax.scan(step, start, leading, length=n, reverse=reverse)
        final = [Named(tuple(size), data) for size, data in zip(sizes, carry, strict=True)]
        return final, [Named((dim, *own), y) for own, y in zip(dims, ys, strict=True)]

    def loop(self, condition: Any, body: Any, states: list, most: int) -> list:
        sizes = [state.sizes for state in states]

        def named(carry: Any) -> list[Named]:
            return [Named(tuple(size), data) for size, data in zip(sizes, carry, strict=True)]

        def moved(carry: Any) -> Any:
            after = [
                expanded(self, new, size)
                for new, size in zip(body(named(carry)), sizes, strict=True)
            ]
            return [new.data for new in after]

        def step(carry: Any, _: Any) -> Any:
            running, carry = carry
            go = condition(named(carry))
            running = jnp.logical_and(running, go.data)
            if not go.dims:
                return (running, lax.cond(running, moved, lambda c: c, carry)), None
            mask = Named(go.dims, running)
            pairs = zip(named(moved(carry)), named(carry), sizes, strict=True)
            after = [
                expanded(self, elementwise(self, jnp.where, mask, new, old), size)
                for new, old, size in pairs
            ]
            return (running, [state.data for state in after]), None

        start = [jnp.asarray(state.data) for state in states]
        first = condition(named(start)).data
        (_, final), _ = lax.scan(step, (jnp.ones_like(first, bool), start), None, length=most)
        return named(final)

    def branch(self, condition: Named, one: Any, other: Any) -> list:
        if condition.dims:
            pairs = zip(one(), other(), strict=True)
            return [elementwise(self, jnp.where, condition, u, v) for u, v in pairs]
        sizes = [union(u, v) for u, v in zip(one(), other(), strict=True)]
        results = lax.cond(
            condition.data,
            lambda: [expanded(self, u, s).data for u, s in zip(one(), sizes, strict=True)],
            lambda: [expanded(self, u, s).data for u, s in zip(other(), sizes, strict=True)],
        )
        return [Named(tuple(s), data) for s, data in zip(sizes, results, strict=True)]
