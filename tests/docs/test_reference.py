"""The API reference: every public name has one section, on the page of its topic."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections import Counter
from types import ModuleType

import pytest

import dimtensor as dt
from dimtensor.graph.optable import rows
from tests.docs.test_docs_examples import ROOT

PAGES = ROOT / "docs" / "api"
_SECTION = re.compile(r"^\.\. auto\w+:: dimtensor\.(\S+)$", re.M)
_ROW = re.compile(r"^\| \{py:obj\}`\w+ <dimtensor\.(\S+)>` \| (.*) \|$", re.M)


def load(name: str) -> ModuleType:
    """A module of the documentation's extensions, which are in no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = load("reference")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {topic: reference.reference(topic) for topic in reference.TOPICS}


def test_every_public_name_has_one_section(pages):
    sections = Counter(path for text in pages.values() for path in _SECTION.findall(text))
    assert [path for path, times in sections.items() if times > 1] == []
    names = {name for name in dir(dt) if not inspect.ismodule(getattr(dt, name))}
    # other names of a function, as `absolute` of `abs`, have sections as well
    assert names - set(sections) == set()
    methods = {
        f"DimTensor.{name}"
        for name in dir(dt.DimTensor)
        if name[0] != "_" and inspect.getdoc(getattr(dt.DimTensor, name))
    }
    assert len(methods) > 80
    assert methods - set(sections) == set()
    linear = {
        name
        for name, value in vars(dt.linalg).items()
        if name[0] != "_" and inspect.isfunction(value)
    }
    assert {n for n in linear if n not in sections and f"linalg.{n}" not in sections} == set()


def test_every_section_has_a_line_in_a_table_with_words(pages):
    for topic, text in pages.items():
        rows = dict(_ROW.findall(text))
        assert set(_SECTION.findall(text)) <= set(rows), topic
        assert [path for path, words in rows.items() if not words] == [], topic


def test_every_name_has_an_example():
    """Of a class it may be one for all methods; those of models have their own."""
    lacking = []
    for entry in reference.entries():
        own = reference._members(entry) if entry.path in ("Model", "LogDensity") else []
        for path, value, _ in (entry, *own):
            error = inspect.isclass(value) and issubclass(value, BaseException)
            told = callable(value) and not error and not path.startswith("testing.")
            if told and ">>>" not in inspect.getdoc(value):
                lacking.append(path)
    assert lacking == []


def test_docstrings_name_their_sources_and_do_not_number_them():
    """Sphinx finds no target of a number that stands in another section, and does not build."""
    numbered = [
        e.path for e in reference.entries() if re.search(r"\[\w+\]_", e.value.__doc__ or "")
    ]
    assert numbered == []


def test_members_of_classes_are_in_tables(pages):
    rows = dict(_ROW.findall(pages["models"]))
    assert {"Model.sample", "Model.observe", "LogDensity.logp_and_grad"} <= set(rows)
    assert "compile.function.CompiledFunction.with_data" in dict(_ROW.findall(pages["compiling"]))
    # what only the package asks of a dim is none of a reader's business
    assert not re.search(r"labels_from|sort_key", pages["dims"])


def test_every_topic_has_a_page_that_the_index_names():
    index = (PAGES / "index.md").read_text()
    assert {page.stem for page in PAGES.glob("*.md")} == {*reference.TOPICS, "index"}
    for topic in reference.TOPICS:
        lines = (PAGES / f"{topic}.md").read_text().splitlines()
        assert lines[0].startswith("# ")
        assert reference.MARKER in lines
        assert f"]({topic}.md) |" in index
        assert f"\n{topic}\n" in index


def test_a_module_without_a_topic_is_an_error():
    with pytest.raises(ValueError, match=r"planted of dimtensor\.elsewhere is in no topic"):
        reference.topic_of("dimtensor.elsewhere", "planted")


def test_summaries_are_markdown():
    def told():
        """A sum over ``dims``, see :func:`dimtensor.sum`: a*b | c

        More.
        """

    assert reference.summary(told) == r"A sum over `dims`, see `dimtensor.sum`: a\*b \| c"


K = dt.Dim("k", coords=["a", "b"])
LABELS = dt.data(["a", "b"], dims=dt.Dim("row"), categories=K)


FUNCTIONS = [row for row in rows("elemwise") if row.name not in ("real", "imag")]  # methods


@pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row.name)
def test_elementwise_functions_refuse_labels_as_their_sections_say(row):
    function = getattr(dt, row.name, None) or getattr(dt.special, row.name)
    says = re.search(r"DtypeError\n    For labels\b", inspect.getdoc(function) or "")
    operands = [LABELS] * row.arity
    if row.name == "where":
        operands[0] = LABELS == LABELS
    if says:
        with pytest.raises(dt.DtypeError, match="labels"):
            function(*operands)
    else:
        assert function(*operands).dims == LABELS.dims


def test_functions_with_parameters_say_what_they_raise():
    """Of the functions of the namespace and of its tensors; a call may raise what it is given."""
    lacking = []
    for entry in reference.entries():
        text = inspect.getdoc(entry.value) or ""
        plain = entry.path.count(".") == 0 or entry.path.startswith("DimTensor.")
        if plain and inspect.isfunction(entry.value) and "\nParameters\n" in text:
            lacking += [entry.path] * ("\nRaises\n" not in text)
    dtypes = {"bool", "int32", "int64", "float32", "float64", "complex128"}
    selections = {f"DimTensor.{name}" for name in ("as_labels", "head", "inc", "tail", "thin")}
    others = {"stop_gradient", "inputs_of", "map", "vectorize", "walk"}
    assert set(lacking) <= dtypes | selections | others
