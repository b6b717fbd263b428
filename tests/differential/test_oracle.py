"""The oracle itself: JAX differentiates the same programs, written without dimtensor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tests.differential.checks import CHECKS, compared, compared_closely
from tests.differential.generate import nested_program, op_program, random_program
from tests.differential.named import Named
from tests.differential.oracle import Loss, Oracle, single
from tests.differential.program import OPS, Program, run
from tests.random_programs.choosing import Seeded


def direction(like: Named) -> Named:
    data = np.cos(1.0 + np.arange(np.size(like.data)))
    return Named(like.dims, data.reshape(np.shape(like.data)))


def compare(program: Program) -> None:
    """Gradient and Hessian-vector products by JAX, and by steps."""
    import jax
    import jax.numpy as jnp

    from tests.differential.by_jax import JAX

    oracle = Oracle(program)
    loss = Loss(tuple(at for at in program.outputs if np.size(oracle.env[at].data))[-3:])
    keys = single([i.number for i in program.inputs])
    directions = {key: direction(oracle.value(key)) for key in keys}

    def total(arrays: list[Any]) -> Any:
        point = {
            min(key): Named(oracle.value(key).dims, a) for key, a in zip(keys, arrays, strict=True)
        }
        env = run(program, point, JAX())
        pairs = zip(loss.outputs, loss.factors(), strict=True)
        return sum((jnp.sin(env[at].data * c).sum() for at, c in pairs), jnp.float64(0.0))

    with jax.enable_x64(True):
        point = [jnp.asarray(oracle.value(key).data) for key in keys]
        tangents = [jnp.asarray(directions[key].data) for key in keys]
        value = total(point)
        first, second = jax.jvp(jax.grad(total), (point,), (tangents,))
    np.testing.assert_allclose(value, loss.array(oracle.env), rtol=1e-9, atol=1e-11)
    for key, theirs, curved in zip(keys, first, second, strict=True):
        own = oracle.gradient(loss, key).data
        if np.isnan(theirs).any() or np.isnan(curved).any():
            continue  # JAX's derivative of a selection has what is not selected, undefined or not
        np.testing.assert_allclose(own, theirs, rtol=1e-8, atol=1e-9)
        moved = oracle.along(
            lambda base, key=key: oracle.gradient(loss, key, base).data, directions
        )
        np.testing.assert_allclose(moved, curved, rtol=1e-5, atol=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_random_program(seed: int) -> None:
    compare(random_program(Seeded(seed)))


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", OPS)
def test_operation(name: str) -> None:
    compare(op_program(name))


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("number", range(0, 100, 4))
def test_pair(number: int) -> None:
    compare(nested_program(Seeded(number), number))


def test_what_is_steep_is_compared_again_by_shorter_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sin(2000 s): by the longer steps the slope is off by 2e-3."""

    case: Any = SimpleNamespace(oracle=Oracle(random_program(Seeded(0))))

    def steep(case: Any) -> list[tuple[None, Named]]:
        unit = {frozenset([0]): Named((), np.asarray(1.0))}
        slope = case.oracle.along(lambda s: np.sin(2000 * s[frozenset([0])].data), unit)
        return [(None, Named((), slope))]

    monkeypatch.setitem(CHECKS, "steep", (steep, 2e-5))
    case.y = case.oracle
    results = [xr.DataArray(2000.0)]
    assert compared("steep", results, steep(case)) is not None
    assert compared_closely(case, "steep", results) is None
    assert compared_closely(case, "steep", [xr.DataArray(2001.0)]) is not None
