"""The page of errors: a section for each class, and texts that errors have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dimtensor.errors as errors
from tests.golden.compare import FOLDER

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / errors.PAGE).read_text()
BASES = {"DimtensorError", "DimtensorWarning"}
CLASSES = {
    name: cls
    for name, cls in vars(errors).items()
    if isinstance(cls, type) and issubclass(cls, Exception | Warning) and name not in BASES
}
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
TEXTS = [path.read_text() for path in sorted(Path(FOLDER, "errors").glob("*.txt"))]
ROWS = [
    (name, found)
    for name, section in SECTIONS.items()
    for found in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
]


def test_each_class_has_a_section_which_its_docstring_names():
    assert set(SECTIONS) == set(CLASSES)
    for name, cls in CLASSES.items():
        assert f"{errors.PAGE}#{name.lower()}" in (cls.__doc__ or "")
        assert cls("a text").page == f"{errors.PAGE}#{name.lower()}"
        if issubclass(cls, errors.DimtensorError):
            assert f"`{cls.__mro__[2].__name__}`" in SECTIONS[name].strip().split(":")[0]


def test_the_page_is_in_the_documentation():
    assert "\nerrors\n" in (ROOT / "docs" / "index.md").read_text()


@pytest.mark.parametrize(("name", "text"), ROWS)
def test_texts_of_the_page_are_those_of_errors(name, text):
    assert text.strip("…")
    pattern = "^" + re.escape(f"{name}: {text}").replace("…", ".*")
    assert any(re.search(pattern, each) for each in TEXTS), pattern
