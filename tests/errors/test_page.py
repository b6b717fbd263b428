"""The page of errors: a section for each class, and texts that errors have."""

from __future__ import annotations

import copy
import pickle
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
            for base in cls.__bases__:
                named = f"`{base.__name__}`" in SECTIONS[name].strip().split(":")[0]
                assert named or base is errors.DimtensorError


def test_the_page_is_in_the_documentation():
    assert "\nerrors\n" in (ROOT / "docs" / "index.md").read_text()


@pytest.mark.parametrize(("name", "text"), ROWS)
def test_texts_of_the_page_are_those_of_errors(name, text):
    assert text.strip("…")
    pattern = "^" + re.escape(f"{name}: {text}").replace("…", ".*")
    assert any(re.search(pattern, each) for each in TEXTS), pattern


def test_the_table_of_classes_is_true():
    rows = re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\) \| (.*?) \|", PAGE, re.MULTILINE)
    assert len(rows) == 10
    for name, anchor, bases in rows:
        assert anchor == name.lower()
        found = {base.__name__ for base in CLASSES[name].__bases__} - {"DimtensorError"}
        assert set(re.findall(r"`(\w+)`", bases)) == found


def test_errors_are_those_that_users_of_numpy_and_xarray_catch():
    for cls in CLASSES.values():
        assert str(cls("it's a text")) == "it's a text"  # and no repr, as of a KeyError
    assert issubclass(errors.LabelError, KeyError)
    assert issubclass(errors.UnknownDimError, KeyError)
    assert not issubclass(errors.DimError, KeyError)


def test_names_with_line_ends_forge_no_hint():
    for error in (errors.DimError("a\nhint: b"), errors.DimError("a", [("c", "\nhint: b")], "d")):
        assert not re.search("^hint: b", str(error), re.MULTILINE)
        assert str(pickle.loads(pickle.dumps(error))) == str(copy.copy(error)) == str(error)


def test_a_prefix_leaves_details_and_hint_as_they_are():
    error = errors.LabelError("a", [("b", 1)], "c")
    found = str(errors.LabelError(errors.prefixed("dim\nhint: d: ", error)))
    assert found == "dim\n    hint: d: a\n  b: 1\nhint: c"
