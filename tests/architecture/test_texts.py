"""Representations of objects that users see have no control characters, whatever is in names."""

from __future__ import annotations

import ast
from pathlib import Path

import dimtensor

PACKAGE = Path(dimtensor.__file__).parent
FOLDERS = (
    *("compile", "dims", "display", "dist", "explanation", "model", "plugins/pictures"),
    *("random", "tensor"),
)
# texts without names of users or with reprs of them, and texts within other texts
WITHOUT_NAMES = {"Bars", "Dim", "DistributionSpec", "Missing", "Picture", "TreeDef"}


def test_representations_are_printable():
    lacking = set()
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            for class_ in ast.walk(ast.parse(path.read_text())):
                if not isinstance(class_, ast.ClassDef):
                    continue
                for function in class_.body:
                    if isinstance(function, ast.FunctionDef) and function.name in (
                        "__repr__",
                        "__str__",
                    ):
                        decorators = {ast.unparse(each) for each in function.decorator_list}
                        if "printable" not in decorators:
                            lacking.add(class_.name)
    assert lacking - WITHOUT_NAMES == set()
    assert WITHOUT_NAMES - lacking <= {"Picture"}  # of a plug-in, whose folder may be missing
