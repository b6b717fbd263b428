"""Sums over all values of random models, written in NumPy, beside what the dims say."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import LONG_JAX_COMPILED
from tests.marginal.programs import THETA, Program, program, trees


def check(seed: int, backend: str = "python", **options: bool) -> None:
    check_program(program(seed), backend, **options)


def check_program(model: Program, backend: str = "python", **options: bool) -> None:
    theta = 0.7
    expected = model.enumerate(theta)
    logp = dt.marginalize(model.terms, *model.unknowns.values(), **options)
    value, slope = dt.evaluate([logp, dt.grad(logp, THETA)], {THETA: theta}, backend=backend)
    np.testing.assert_allclose(value, expected.logp, rtol=1e-10)
    np.testing.assert_allclose(slope, expected.slope, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_values_and_slopes_are_those_of_a_sum_over_everything(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(6))
def test_trees_with_classes(seed):
    check_program(trees(np.random.default_rng(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 300))
def test_values_and_slopes_of_many_more(seed):
    check(seed)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_values_and_slopes_on_compiled_backends(seed, backend):
    check(seed, backend)


@pytest.mark.parametrize("seed", [4, 9, 14, 19, 2, 22])
def test_products_of_pairs(seed):
    """Chains of twelve, six and three positions, some beside each other and with classes."""
    check(seed, associative_scan=True)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_products_of_pairs_on_compiled_backends(backend):
    check(4, backend, associative_scan=True)
