"""Pages of the design notes: the files and names that they speak of are there, their code runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.test_docs_examples import ROOT, run_page

PAGES = sorted((ROOT / "docs" / "design").glob("*.md"))
_PATH = re.compile(r"`((?:dimtensor|tests|tools|docs|examples)/[\w./]*)`")
# a part of a path, as `ir/nodes.py`
_MODULE = re.compile(r"`(\w+(?:/\w+)+\.py)`")
# `path`: `name`, `name`
_NAMES = re.compile(r"`(dimtensor/[\w./]*\.py)`: ((?:`\w+`(?:, )?)+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    missing = [path for path in _PATH.findall(page.read_text()) if not (ROOT / path).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_a_page_names_exist(page: Path) -> None:
    for module in _MODULE.findall(page.read_text()):
        folder, name = module.rsplit("/", 1)
        found = [
            path
            for top in ("dimtensor", "docs", "tests", "tools")
            for path in (ROOT / top).rglob(name)
        ]
        assert any(path.parent.as_posix().endswith(f"/{folder}") for path in found), module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_a_page_says_a_file_has_are_there(page: Path) -> None:
    for path, names in _NAMES.findall(page.read_text()):
        tree = ast.parse((ROOT / path).read_text())
        defined = {getattr(node, "name", None) for node in ast.walk(tree)}
        assert set(re.findall(r"\w+", names)) <= defined, path


def test_the_tour_has_ten_stops_each_with_a_file() -> None:
    page = (ROOT / "docs" / "design" / "tour.md").read_text()
    stops = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert [stop.split(".")[0] for stop in stops] == [str(at) for at in range(1, 11)]
    assert all(_NAMES.search(stop) for stop in stops)


def test_the_tour_runs() -> None:
    page = ROOT / "docs" / "design" / "tour.md"
    assert "slope" in run_page(page.read_text(), str(page))
