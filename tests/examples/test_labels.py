"""The example of mislabeling cases prints the right labels, and an error where one is due."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """What the script prints below each line of code."""
    run = subprocess.run(
        [sys.executable, "examples/labels.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stderr == ""
    parts = run.stdout.split("\n\n")
    assert parts[0].strip() == "effect: Italy 1, Kenya 2, USA 4"
    return {code.strip(): text for _, code, text in (p.split("\n", 2) for p in parts[1:])}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("effect[1:]", "Kenya 2, USA 4"),
        ("effect[::-1]", "USA 4, Kenya 2, Italy 1"),
        ("dt.data(observed, dims=country) / effect", "Italy 10, Kenya 10, USA 10"),
        ("function([x], x[1:] - x.mean())(draws)", "Kenya -0.666667, USA 23.3333"),
    ],
)
def test_labels_come_out_right(sections, code, expected):
    assert sections[code].strip() == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("effect[1:] + effect[:-1]", r"DimError: .*'country'.*'Kenya', 'USA'.*'Italy', 'Kenya'"),
        ("dt.data(observed, dims=country)", r"LabelError: .*missing: 'Kenya'.*unknown: 'Kenia'"),
        ("effect.sum('contry')", r"DimError: .*no dim 'contry'.*'country'"),
        ("(effect * weight).sum(country).sel(country='USA')", r"DimError: .*no dim 'country'"),
    ],
)
def test_mistakes_are_errors_that_show_both_sides(sections, code, expected):
    assert re.search(expected, sections[code], re.DOTALL)


def test_every_case_is_tested(sections):
    assert len(sections) == 8
