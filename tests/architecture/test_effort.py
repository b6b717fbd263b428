"""How many examples a property gets is said once, in the profiles of tests/effort.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import effort
from tests.architecture.sources import nodes

TESTS = Path(__file__).parents[1]


def own_numbers(text):
    """Lines that ask hypothesis for settings, whose profiles and numbers are elsewhere."""
    return [
        node.lineno
        for node in nodes(text, ast.keyword, ast.ImportFrom, ast.Import)
        if (isinstance(node, ast.keyword) and node.arg == "max_examples")
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "hypothesis"
            and {"settings", "HealthCheck"} & {name.name for name in node.names}
        )
        or (isinstance(node, ast.Import) and "hypothesis" in {name.name for name in node.names})
    ]


def test_no_test_has_its_own_number_of_examples():
    found = {
        str(path.relative_to(TESTS)): lines
        for path in TESTS.rglob("*.py")
        if path != Path(effort.__file__) and (lines := own_numbers(path.read_text()))
    }
    assert not found, f"name a share of the profile's examples, in tests/effort.py: {found}"


@pytest.mark.parametrize(
    "line",
    ["f(max_examples=3)", "from hypothesis import given, settings", "import hypothesis"],
)
def test_numbers_are_found(line):
    assert own_numbers(line) == [1]
    assert not own_numbers("from hypothesis import given")


def test_the_table_says_what_profiles_have():
    rows = [row.split() for row in effort.__doc__.splitlines() if row[:1].isalpha()]
    said = {row[0]: [int(n) for n in row[1:]] for row in rows if row[-1].isdecimal()}
    assert list(said) == ["dev", "ci", "thorough"]
    for name, numbers in said.items():
        whole = effort.PROFILES[name]
        assert numbers == [round(whole / part) for part in (1, 3, 10, 20, 50)]
