"""A few random programs on numba and JAX: every value of a program out of one function."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import BACKENDS, COMPILED
from tests.properties.checks import check_values
from tests.properties.test_gradients import SMOOTH, check_gradient
from tests.random_programs.choosing import Seeded
from tests.random_programs.strategies import random_program


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("seed", range(100, 106))
def test_values(backend: str, seed: int) -> None:
    program = random_program(Seeded(seed), attempts=9, anonymous=seed % 4 == 0)
    check_values(program, backend, rtol=1e-7)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("seed", [200])
def test_gradients(backend: str, seed: int) -> None:
    check_gradient(random_program(Seeded(seed), SMOOTH, 6, ["float64"]), backend)


@pytest.mark.fuzz
@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_values_of_many(backend: str, seed: int) -> None:
    check_values(random_program(Seeded(seed), attempts=10), backend, rtol=1e-7)


@pytest.mark.fuzz
@pytest.mark.compiled
# 2040 is the gap of test_the_sum_of_nan_taken_no_times
@pytest.mark.parametrize("seed", sorted({*range(2000, 2081)} - {2040}))
def test_gradients_of_many(seed: int) -> None:
    """Values and gradients of a program share loops and memory in one kernel."""
    check_gradient(random_program(Seeded(seed), SMOOTH, 6, ["float64"]), "numba")


@pytest.mark.compiled
@pytest.mark.parametrize("backend", BACKENDS)
def test_quotients_by_nothing_stay_undefined(backend: str) -> None:
    """PyTensor's rewrites take a zero divided by a zero for a zero, where they see it."""
    none, one = dt.Dim("none", length=0), dt.Dim("one", length=1)
    group = dt.Dim("group", coords=["u", "v"])
    x = dt.tensor("x", dims=one)
    grouped = x.groupby(dt.data(["u"], dims=one, categories=group))
    outputs = {
        "mean": dt.zeros(none).mean(),
        "var": dt.zeros(none).var(),
        "var of one": x.var(ddof=1),
        "of counts": (x > 0).mean() + dt.zeros(none, "int64").mean(),
        "group mean": grouped.mean().sel(group="v"),
        "group std": grouped.std().sel(group="v"),
    }
    found = dt.function([x], outputs, backend=backend)(np.array([2.0]))
    assert {name: value.item() for name, value in found.items() if not np.isnan(value)} == {}
    assert dt.function([x], grouped.std(), backend=backend)(np.array([2.0])).values[0] == 0.0


@pytest.mark.compiled
def test_the_sum_of_nan_taken_no_times() -> None:
    """It is no element, so it is 0: also where n times the factor is taken for the sum."""
    none = dt.Dim("none")
    x = dt.tensor("x", dims=none)
    total = (dt.zeros_like(x) + np.nan).sum()
    assert dt.function([x], total)(np.zeros(0)).item() == 0.0
