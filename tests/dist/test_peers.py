"""Every distribution of PyMC that has a density is there, or the documentation says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dimtensor import dist

PAGE = Path(__file__).parents[2] / "docs" / "distributions.md"
# names that are no distributions
MACHINERY = {"Continuous", "Discrete", "Distribution", "SymbolicRandomVariable"}


def test_distributions_of_pymc():
    peers = pytest.importorskip("pymc.distributions")
    text = PAGE.read_text()
    table = text[text.index("## Coming from PyMC") : text.index("## The table")]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"\w+", row[1])}
    zeros = {n for n in peers.__all__ if n.startswith(("Hurdle", "ZeroInflated"))}
    missing = set(peers.__all__) - set(vars(dist)) - told - zeros - MACHINERY
    assert not missing
    # what the table names on the other side is there
    ours = {name for row in rows for name in re.findall(r"`(\w+)\(", row[2])}
    assert len(ours) > 10
    assert ours <= set(vars(dist))
