"""Code that is shared by description takes data in an order of its own, at every level."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dimtensor as dt

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
