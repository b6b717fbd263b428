"""Seeds, and the profile of hypothesis; the environment itself is set in the root's conftest.py."""

from __future__ import annotations

import os
import random
import zlib

import numpy as np
import pytest

import tests.effort  # noqa: F401 (loads the profile)
from tests.hostile import tally

# Every graph that a test lowers is verified in full.
os.environ.setdefault("DIMTENSOR_VERIFY", "1")


def _seed_of(request: pytest.FixtureRequest) -> int:
    """A seed of the test's own, the same in every run and in every order of the tests."""
    return zlib.crc32(request.node.nodeid.encode())


@pytest.fixture(autouse=True)
def _fixed_seeds(request: pytest.FixtureRequest) -> None:
    """Seed the global generators, and those that the test's module has.

    Which numbers a test draws would depend on the tests that ran before it in the same worker.
    """
    seed = _seed_of(request)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the global state is what third parties draw from)
    for each in vars(getattr(request.node, "module", None) or random).values():
        if isinstance(each, np.random.Generator):
            each.bit_generator.state = np.random.PCG64(seed).state


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator seeded by the test's name."""
    return np.random.default_rng(_seed_of(request))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many faults were tried and held against, by group, where hostile tests ran."""
    reports = [
        report
        for found in terminalreporter.stats.values()
        for report in found
        if isinstance(report, pytest.TestReport)
    ]
    order = {"setup": 0, "call": 1, "teardown": 2}
    if lines := tally.summary(sorted(reports, key=lambda report: order[report.when or "call"])):
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.write_line(line)
