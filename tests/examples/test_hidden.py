"""The example of three data sets runs with few draws and finds what is published."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[str, Path]:
    """What the script prints, and the folder it writes into."""
    folder = tmp_path_factory.mktemp("hidden")
    options = ["--draws=150", "--tune=250", "--seed=3", "--output", folder / "out"]
    result = subprocess.run(
        [sys.executable, ROOT / "examples/hidden.py", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "default,ignore:the draws may not be"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Warning" not in result.stderr, result.stderr
    return result.stdout, folder / "out"


def means(text: str, title: str) -> dict[str, float]:
    """Posterior means by name, of the table below a title."""
    lines = text.split(title)[1].split("\n\n")[0].splitlines()
    rows = [re.split(r"\s{2,}", line) for line in lines]
    return {row[0]: float(row[1]) for row in rows if len(row) == 3}


# of earthquakes the maximum of the likelihood in Zucchini, MacDonald and Langrock 2016, of dippers
# in Lebreton et al. 1992; of eruptions found by some lines of the EM algorithm in NumPy
@pytest.mark.parametrize(
    ("title", "name", "expected", "tolerance"),
    [
        ("Old Faithful", "mean[short, duration]", 2.038, 0.05),
        ("Old Faithful", "mean[long, waiting]", 79.97, 0.9),
        ("Earthquakes", "rate[quiet]", 13.15, 0.8),
        ("Earthquakes", "rate[usual]", 19.72, 1.2),
        ("Earthquakes", "rate[busy]", 29.71, 1.5),
        ("Dippers", "survival[flood]", 0.469, 0.03),
        ("Dippers", "survival[usual]", 0.607, 0.03),
        ("Dippers", "sight", 0.9, 0.02),
    ],
)
def test_posterior_means_are_near_to_published_values(run, title, name, expected, tolerance):
    assert means(run[0], title)[name] == pytest.approx(expected, abs=tolerance)


def test_how_variables_are_summed_out_is_printed(run):
    assert "summed out: which: eruption × 2" in run[0]
    assert "summed out: time: a loop along year, year (107) × 3 × 3" in run[0]
    assert "summed out: bird: a loop along later, later (6) × release × 2 × 2" in run[0]


@pytest.mark.parametrize("name", ["eruptions", "earthquakes", "dippers"])
def test_pictures_are_drawn(run, name):
    picture = (run[1] / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
