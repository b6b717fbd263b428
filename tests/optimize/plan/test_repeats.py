"""Chains of selections grow as long as they are, not exponentially."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.backends import compile_positional
from dimtensor.kernels.compiler import compile_kernel

X = pt.tensor("x", shape=(40,), dtype="float64")


def differences(x, order):
    for _ in range(order):
        x = x[1:] - x[:-1]
    return x


def symmetric(x, order):
    for _ in range(order):
        x = pt.sqrt(pt.abs(x)) + x[::-1] * 2
    return x


@pytest.mark.compiled
@pytest.mark.parametrize("chain", [differences, symmetric])
def test_the_source_grows_with_the_length_of_the_chain(chain, rng):
    lengths = [len(compile_kernel([X], [chain(X, n)]).source) for n in (5, 10, 20)]
    assert lengths[2] - lengths[1] < 3 * (lengths[1] - lengths[0])
    values = rng.normal(size=40)
    (found,) = compile_positional("numba", [X], [differences(X, 20)]).call(values)
    np.testing.assert_allclose(found, np.diff(values, n=20), rtol=1e-9)


def test_few_places_are_computed_where_they_are_read():
    y = X * 2
    source = compile_kernel([X], [y[2:] - 2 * y[1:-1] + y[:-2]]).source
    assert source.count("np.empty") == 1
