"""The demo runs as a user runs it, with fewer draws, and leaves tables and pictures behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor as dt

pytestmark = pytest.mark.compiled

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[str, Path]:
    """What the script prints, and the folder it writes into."""
    folder = tmp_path_factory.mktemp("radon")
    options = ["--draws=200", "--tune=300", "--chains=2", "--seed=3", "--output", folder / "out"]
    # From another folder: the script finds its data by itself.
    result = subprocess.run(
        [sys.executable, ROOT / "examples/radon.py", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "default,ignore:the draws may not be"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Warning" not in result.stderr, result.stderr
    return result.stdout, folder / "out"


def _rows(text: str, title: str) -> list[list[str]]:
    """Cells of the table below a title; names of counties have single spaces, columns two."""
    lines = text.split(title)[1].strip("\n").split("\n\n")[0].splitlines()[1:]
    return [re.split(r"\s{2,}|(?<=\d)\s(?=-?\d)", line.strip()) for line in lines]


def test_population_by_name(run):
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in _rows(run[0], "Population")}
    assert list(rows) == ["mu_alpha", "sigma_alpha", "sigma_y", "beta[log_uranium]", "beta[floor]"]
    # Posterior means of posteriordb's Stan run, to two standard deviations of this short one
    for name, expected in {"mu_alpha": 1.41, "sigma_y": 0.73, "beta[floor]": -0.64}.items():
        mean, _, mcse, ess, r_hat = rows[name]
        assert mean == pytest.approx(expected, abs=0.05)
        assert 0 <= mcse < 0.05
        assert ess > 50
        assert r_hat < 1.1


def test_highest_counties_by_name(run):
    rows = _rows(run[0], "The ten counties with the highest effect (alpha)")
    assert len(rows) == 10
    assert {row[0] for row in rows} <= set(dt.datasets.load("radon")["county"])
    means = [float(row[2]) for row in rows]
    assert means == sorted(means, reverse=True)
    # Lac qui Parle has two houses, St Louis the most and one of the lowest levels (Gelman & Hill)
    assert "ST LOUIS" not in {row[0] for row in rows}
    houses = {row[0]: int(row[1]) for row in rows}
    assert houses.get("LAC QUI PARLE", 2) == 2


def test_comparison_with_the_reference(run):
    pattern = r"means of 90 parameters (agree with|DIFFER from) .* distance is ([\d.]+) Monte Carlo"
    (verdict, distance), *others = re.findall(pattern, run[0])
    assert not others
    assert (float(distance) < 4) == (verdict == "agree with")
    # Ninety means, and errors estimated from 400 draws: wider than the 4 of the full run
    assert float(distance) < 6


def test_pictures(run):
    folder = run[1]
    assert (folder / "forest.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "forest.png").stat().st_size > 50_000
    svg = (folder / "graph.svg").read_text()
    assert "<svg" in svg
    for name in ("alpha_raw", "county_of", "sigma_y"):
        assert name in svg


def test_time_is_accounted_for(run):
    line = run[0].rstrip().splitlines()[-1]
    steps = dict(re.findall(r"([a-z ]+) ([\d.]+)[,;]", line.removeprefix("Seconds:")))
    named = [step.strip() for step in steps]
    assert named == ["import", "read", "build", "compile", "sample", "summary", "pictures"]
    total = float(re.search(r"in all ([\d.]+)", line).group(1))
    assert total == pytest.approx(sum(map(float, steps.values())), abs=0.1)
