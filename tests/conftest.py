"""Seeds and the hypothesis profiles; the environment itself is set in the root's conftest.py."""

from __future__ import annotations

import os
import random
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Compilation makes single examples slow and uneven: a deadline would only find the compiler.
settings.register_profile("dev", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, print_blob=True)
# What .ci/run judges a change by is the same programs every time; "search" looks for new ones.
for name, repeatable in (("thorough", True), ("search", False)):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=2000,
        derandomize=repeatable,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
# Every graph that a test lowers is verified in full.
os.environ.setdefault("DIMTENSOR_VERIFY", "1")


def _seed_of(request: pytest.FixtureRequest) -> int:
    """A seed of the test's own, the same in every run and in every order of the tests."""
    return zlib.crc32(request.node.nodeid.encode())


@pytest.fixture(autouse=True)
def _fixed_seeds(request: pytest.FixtureRequest) -> None:
    seed = _seed_of(request)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the global state is what third parties draw from)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator seeded by the test's name."""
    return np.random.default_rng(_seed_of(request))
