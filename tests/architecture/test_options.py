"""An option that is a string and unknown is an OptionError everywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import dimtensor
from tests.architecture.imports import modules_of
from tests.architecture.sources import tree

PACKAGE = Path(dimtensor.__file__).parent

# below the public functions: their errors are caught, or say that the caller is wrong
INSIDE = ("dimtensor.ops.", "dimtensor.kernels.")


def refused_options(module: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines that refuse what is none of some strings, and the class that they raise."""
    for node in ast.walk(module):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)):
            continue
        against = node.test.comparators[0]
        strings = isinstance(against, ast.Tuple | ast.List | ast.Set) and all(
            isinstance(each, ast.Constant) and isinstance(each.value, str) for each in against.elts
        )
        if not strings or not isinstance(node.test.ops[0], ast.NotIn):
            continue
        for line in node.body:
            if isinstance(line, ast.Raise) and isinstance(line.exc, ast.Call):
                yield node.lineno, ast.unparse(line.exc.func)


def test_unknown_options_are_option_errors():
    found = [
        (name, *each)
        for name, path in modules_of(PACKAGE).items()
        if not name.startswith(INSIDE)
        for each in refused_options(tree(path.read_text()))
    ]
    assert len(found) > 5
    assert [each for each in found if each[2] not in ("OptionError", "unreadable")] == []
