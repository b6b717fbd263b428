"""Predicted memory is that which a process grows by."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor as dt
from tests.explanation import models

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the system tells no high-water mark"),
]
ROOT = Path(__file__).parent.parent.parent


def measured(*arguments):
    """What a process grows by during a call, by ``value`` and ``gradient``."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.explanation.measure", *arguments],
        capture_output=True, text=True, timeout=300, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("model", models.MODELS, ids=lambda model: model.__name__)
def test_the_peak_is_predicted(model):
    found = dt.explain(*model())
    peaks = measured(model.__name__)
    assert found.peak == pytest.approx(peaks["value"], rel=0.1)
    assert found.gradient_peak == pytest.approx(peaks["gradient"], rel=0.1)


def test_a_call_of_a_density_makes_what_is_predicted():
    found = dt.explain(models.posterior(1_000_000))
    grown = measured("posterior")
    for what, each in found.schedules.items():
        made = found.number(each.temporaries) + found.number(each.results)
        # no array is made: what is left is noise
        assert made == pytest.approx(grown[what], abs=1_000_000)


def test_on_jax_it_is_what_xla_says():
    pytest.importorskip("jax")
    found = dt.explain(*models.logistic(), backend="jax")
    peaks = measured("logistic", "jax")
    for what, each in found.schedules.items():
        said = found.xla[what]
        assert said.arguments == found.number(each.given)
        # XLA counts the addresses of results, too
        assert said.results == pytest.approx(found.number(each.results), abs=100)
        # arrays of NumPy are copied for XLA
        assert said.peak + said.arguments == pytest.approx(peaks[what], rel=0.1)
