"""What one part of the kernel compiler tells another is in fields, not in the spelling of text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dimtensor
from tests.architecture.imports import modules_of

PACKAGE = Path(dimtensor.__file__).parent
KERNELS = "dimtensor.kernels"
# modules that read text, and the text that they read
READERS = {
    "re": {"dimtensor.kernels.native.elementary": "functions written in LLVM by hand"},
    "ast": {
        "dimtensor.kernels.ir.parse": "algorithms written in Python by hand",
        "dimtensor.kernels.templates": "the library of these",
    },
}
# questions that are asked of text where a field was forgotten
_ASKED = frozenset({"isdigit", "isidentifier", "isnumeric", "isdecimal"})


def kernel_modules():
    return {n: p.read_text() for n, p in modules_of(PACKAGE).items() if n.startswith(KERNELS)}


def readers(name, text):
    """Modules of regular expressions and of syntax trees that a module imports unasked."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [each.name for each in node.names]
            names.append(getattr(node, "module", None) or "")
            found += [
                f"{name} imports {r}" for r in READERS if r in names and name not in READERS[r]
            ]
    return found


def questions(name, text):
    """Calls that ask text what kind of thing it stands for."""
    attributes = [n.attr for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute)]
    return [f"{name} asks {each}" for each in attributes if each in _ASKED]


@pytest.mark.parametrize("look", [readers, questions])
def test_kernels_are_no_text(look):
    found = [line for name, text in kernel_modules().items() for line in look(name, text)]
    assert not found, "\n".join(found)


def test_what_reads_text_is_found():
    assert readers("m", "import re") == ["m imports re"]
    assert readers("m", "def f():\n    from re import sub") == ["m imports re"]
    assert readers("dimtensor.kernels.ir.parse", "import ast") == []
    assert questions("m", "'1'.isdigit()") == ["m asks isdigit"]


def test_what_may_read_text_does():
    """Names of modules that are gone leave the list."""
    sources = kernel_modules()
    for reader, allowed in READERS.items():
        for name in allowed:
            assert readers("m", sources[name]) == [f"m imports {reader}"]
