"""Environment variables are read in one module, and are documented in one table."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

import dimtensor
from dimtensor.settings import VARIABLES, Settings, settings
from tests.architecture.imports import modules_of
from tests.architecture.sources import nodes

PACKAGE = Path(dimtensor.__file__).parent
# what the platform says of its folders is no setting of ours
PLATFORM = {"LOCALAPPDATA", "XDG_CACHE_HOME"}


def read_from_the_environment(text):
    """What the source of a module reads from the environment."""
    found = [
        f"line {node.lineno}"
        for node in nodes(text, ast.Attribute)
        if node.attr in ("environ", "getenv", "environb")
    ]
    for node in nodes(text, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        if node.module == "os" and names & {"environ", "getenv"}:
            found.append(f"line {node.lineno}")
    allowed = [
        node.args[0].value
        for node in nodes(text, ast.Call)
        if node.args
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value in PLATFORM
        and ast.unparse(node.func) == "os.environ.get"
    ]
    return found[len(allowed) :]


def test_nothing_else_reads_the_environment():
    readers = {
        name: lines
        for name, path in modules_of(PACKAGE).items()
        if (lines := read_from_the_environment(path.read_text()))
    }
    assert set(readers) == {"dimtensor.settings"}


def test_the_reader_is_seen():
    assert read_from_the_environment("import os\nx = os.environ.get('DIMTENSOR_X')\n")
    assert read_from_the_environment("from os import environ\n")
    assert not read_from_the_environment("import os\nx = os.environ.get('XDG_CACHE_HOME')\n")


def test_the_table_has_all_of_them():
    page = PACKAGE.parent / "docs" / "settings.md"
    rows = re.findall(r"^\| `(DIMTENSOR_\w+)`", page.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(VARIABLES)


def test_an_empty_environment():
    assert Settings.of({}) == Settings(
        cache=True,
        cache_folder="",
        cache_limit=128 * 2**20,
        native="on",
        strict_kernels=False,
        keep_memory=False,
        blas_threads=False,
        verify=False,
        passes_off=frozenset(),
        progress=None,
        completion=True,
        full_traceback=False,
    )


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CACHE", "0", "cache", False),
        ("CACHE", " 0 ", "cache", False),
        ("CACHE", "no", "cache", True),
        ("CACHE_DIR", "~/there", "cache_folder", "~/there"),
        ("CACHE_LIMIT", "0.5", "cache_limit", 2**19),
        ("CACHE_LIMIT", "many", "cache_limit", 128 * 2**20),
        ("CACHE_LIMIT", "inf", "cache_limit", 128 * 2**20),
        ("NATIVE", "0", "native", "off"),
        ("NATIVE", "strict", "native", "strict"),
        ("NATIVE", "1", "native", "on"),
        ("STRICT_KERNELS", "1", "strict_kernels", True),
        ("STRICT_KERNELS", "0", "strict_kernels", False),
        ("KEEP_MEMORY", "0", "keep_memory", False),
        ("KEEP_MEMORY", "1", "keep_memory", True),
        ("VERIFY", "1", "verify", True),
        ("PASSES", "-totals, -unswitching", "passes_off", frozenset({"totals", "unswitching"})),
        ("PASSES", "totals", "passes_off", frozenset()),
        ("PROGRESS", "0", "progress", False),
        ("PROGRESS", "1", "progress", True),
        ("PROGRESS", "2", "progress", None),
        ("COMPLETION", "0", "completion", False),
        ("TRACEBACK", "full", "full_traceback", True),
    ],
)
def test_values(variable, text, name, value):
    found = Settings.of({f"DIMTENSOR_{variable}": text})
    assert found == dataclasses.replace(Settings.of({}), **{name: value})


def test_settings_follow_the_environment(monkeypatch):
    monkeypatch.setenv("DIMTENSOR_CACHE_LIMIT", "3")
    assert settings().cache_limit == 3 * 2**20
    monkeypatch.delenv("DIMTENSOR_CACHE_LIMIT")
    assert settings().cache_limit == 128 * 2**20
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'cache'"):
        settings().cache = False
