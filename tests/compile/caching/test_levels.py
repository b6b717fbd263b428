"""Code that is shared by description takes data in an order of its own, at every level."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.testing.comparing import assert_same
from tests.compile.caching.test_fingerprint import long_dim
from tests.random_programs.choosing import Seeded
from tests.random_programs.strategies import random_program

OBS = dt.Dim("obs")
HELD = [dt.data(np.arange(4.0) + 10.0**at, dims=OBS, name=f"held {at}") for at in range(3)]


@pytest.mark.compiled
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_data_reach_their_places_on_every_level(order: tuple[int, ...]) -> None:
    """Whatever was made first: operands of sums are in the order in which they were made."""
    x = dt.tensor("x", dims=OBS)
    scaled = [HELD[at] * (at + 2.0) for at in order]
    total = x * 3.0
    for one in scaled:
        total = one + total
    outputs = [total.sum(), (HELD[order[0]] - HELD[order[1]]) * x]
    f = dt.function([x], outputs)
    values = np.arange(4.0)
    held = [np.arange(4.0) + 10.0**at for at in range(3)]
    expected = values.sum() * 3 + sum(held[at].sum() * (at + 2.0) for at in range(3))
    difference = (held[order[0]] - held[order[1]]) * values
    other = dt.function([x], outputs, backend="python")
    numba = other.numba(values, *other.fixed)
    for found in (f(values), f.positional(values), f.jax(values), numba):
        np.testing.assert_allclose(float(found[0]), expected)
        np.testing.assert_allclose(np.asarray(found[1]), difference)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [41, 93, 107])
def test_lengths_that_code_does_not_know_follow_from_each_other(seed: int) -> None:
    """Values and gradients of programs with slices, joins and products of long dims."""
    program = random_program(Seeded(seed), attempts=8, make_dim=long_dim)
    values = program.tensors()
    loss = sum((v.sum() for v in values if v.dtype == "float64"), dt.zeros())
    wrt = [x for x in program.symbolic if x.dtype == "float64"]
    outputs = [*values, *(dt.grad(loss, wrt) if wrt else [])]
    found = dt.function(program.symbolic, outputs)(*program.given)
    for at, (one, other) in enumerate(zip(found, program.arrays(), strict=False)):
        assert_same(one, other, f"v{at}", rtol=1e-7)
    interpreted = dt.function(program.symbolic, outputs, backend="python")(*program.given)
    for one, other in zip(found, interpreted, strict=True):
        assert_same(one, other, "gradient", rtol=1e-7)
