"""Guarantees of `docs/promises.md`: each names tests that exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.test_docs_examples import ROOT

_PAGE = (ROOT / "docs" / "promises.md").read_text()
_GUARANTEES, _heading, _ = _PAGE.partition("## Not guaranteed")
assert _heading, "the page separates guarantees from what is not guaranteed"
GUARANTEES = [" ".join(each.split()) for each in re.split(r"\n(?=- )", _GUARANTEES)[1:]]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_guarantee_names_tests_that_exist(guarantee):
    guarantee = re.sub(r" ##.*", "", guarantee)
    _, found, tests = guarantee.partition("Tests: ")
    assert found, "a guarantee ends with `Tests: ` and their names"
    names = re.findall(r"`([\w/]+\.py)::(\w+)`", tests)
    assert names
    for file, name in names:
        tree = ast.parse((ROOT / "tests" / file).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
