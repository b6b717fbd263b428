"""What one part of the kernel compiler tells another is in fields, not in the spelling of text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dimtensor
from tests.architecture.imports import modules_of
from tests.architecture.sources import nodes, tree

PACKAGE = Path(dimtensor.__file__).parent
KERNELS = "dimtensor.kernels"
# modules that read text, and the text that they read
READERS = {
    "re": {
        "dimtensor.kernels.native.functions.library": "functions written in LLVM by hand",
        "dimtensor.kernels.native.functions.texts": "the same",
    },
    "ast": {
        "dimtensor.kernels.ir.parse": "algorithms written in Python by hand",
        "dimtensor.kernels.rules.templates": "the library of these",
    },
}
# questions that are asked of text where a field was forgotten
_ASKED = frozenset({"isdigit", "isidentifier", "isnumeric", "isdecimal"})


def kernel_modules():
    return {n: p.read_text() for n, p in modules_of(PACKAGE).items() if n.startswith(KERNELS)}


def readers(name, text):
    """Modules of regular expressions and of syntax trees that a module imports unasked."""
    found = []
    for node in nodes(text, ast.Import, ast.ImportFrom):
        names = [each.name for each in node.names]
        names.append(getattr(node, "module", None) or "")
        found += [f"{name} imports {r}" for r in READERS if r in names and name not in READERS[r]]
    return found


# each imports from those before it when it is imported; rules ask the emitter that is given to them
ORDER = ("ir", "native", "passes", "rules", "emit", "compiler")


def upward(name, text):
    """Imports of a part of the kernel compiler that comes later."""
    own = name.removeprefix(KERNELS + ".").split(".")[0]
    if own not in ORDER:
        return []
    found = []
    for node in tree(text).body:
        module = getattr(node, "module", None) or ""
        other = module.removeprefix(KERNELS + ".").split(".")[0] if KERNELS in module else own
        if other in ORDER and ORDER.index(other) > ORDER.index(own):
            found.append(f"{name} imports {module}")
    return found


def questions(name, text):
    """Calls that ask text what kind of thing it stands for."""
    attributes = [each.attr for each in nodes(text, ast.Attribute)]
    return [f"{name} asks {each}" for each in attributes if each in _ASKED]


# parts that know expressions and statements alone
WITHOUT_GRAPHS = tuple(f"{KERNELS}.{part}." for part in ("ir", "passes", "native"))


def graph_libraries(name, text):
    """Imports of PyTensor where operations are those of the loops."""
    if not name.startswith(WITHOUT_GRAPHS):
        return []
    found = [getattr(node, "module", None) or "" for node in nodes(text, ast.ImportFrom)]
    found += [each.name for node in nodes(text, ast.Import) for each in node.names]
    return [f"{name} imports {each}" for each in found if each.split(".")[0] == "pytensor"]


@pytest.mark.parametrize("look", [readers, questions, upward, graph_libraries])
def test_parts_of_kernels(look):
    found = [line for name, text in kernel_modules().items() for line in look(name, text)]
    assert not found, "\n".join(found)


def test_what_reads_text_is_found():
    assert readers("m", "import re") == ["m imports re"]
    assert readers("m", "def f():\n    from re import sub") == ["m imports re"]
    assert readers("dimtensor.kernels.ir.parse", "import ast") == []
    assert questions("m", "'1'.isdigit()") == ["m asks isdigit"]


def test_imports_of_graph_libraries_are_found():
    line = "from pytensor.scalar import basic"
    name = "dimtensor.kernels.native.vector_hints"
    assert graph_libraries(name, line) == [f"{name} imports pytensor.scalar"]
    assert graph_libraries(name, "import pytensor.tensor") == [f"{name} imports pytensor.tensor"]
    assert graph_libraries("dimtensor.kernels.rules.scalars", line) == []


def test_what_imports_upward_is_found():
    line = "from dimtensor.kernels.emit.nest import Nest"
    assert upward("dimtensor.kernels.rules.loops", line) == [
        "dimtensor.kernels.rules.loops imports dimtensor.kernels.emit.nest"
    ]
    assert upward("dimtensor.kernels.compiler", line) == []
    assert upward("dimtensor.kernels.rules.loops", f"def f():\n    {line}") == []


def test_what_may_read_text_does():
    """Names of modules that are gone leave the list."""
    sources = kernel_modules()
    for reader, allowed in READERS.items():
        for name in allowed:
            assert readers("m", sources[name]) == [f"m imports {reader}"]
