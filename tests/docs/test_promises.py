"""The page of promises: each names tests that exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.test_docs_examples import ROOT

_PAGE = (ROOT / "docs" / "promises.md").read_text()
_PROMISES, _, _ = _PAGE.partition("## Not promised")
PROMISES = [" ".join(each.split()) for each in re.split(r"\n(?=- )", _PROMISES)[1:]]


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_names_tests_that_exist(promise):
    promise = re.sub(r" ##.*", "", promise)
    _, found, tests = promise.partition("Tests: ")
    assert found, "a promise ends with `Tests: ` and their names"
    names = re.findall(r"`([\w/]+\.py)::(\w+)`", tests)
    assert names
    for file, name in names:
        tree = ast.parse((ROOT / "tests" / file).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
