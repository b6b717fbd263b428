"""The Python blocks of the README and of the documentation run, page by page."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

import pytest

from docs._ext.checked import Checks, blocks, check_raised, run_block

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GALLERY = sorted(set((ROOT / "docs" / "gallery").glob("*.md")) - {ROOT / "docs/gallery/index.md"})
# what pages need beside the package and JAX
NEEDED = {"export.md": "flatbuffers", "scaling.md": "dask"}
# several samplers and optimizers of JAX, or thousands of draws
LONG = {"from-jax.md", "scaling.md", "tutorial-time-series.md"}
LONG |= {page.name for page in PAGES if page.name.startswith("how-to-")}


def run_page(text: str, filename: str) -> dict[str, object]:
    """Run a page's blocks in one namespace; tracebacks show the page's own line numbers."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    checks = Checks()
    for block in blocks(text):
        if block.is_check:
            checks.run(block, filename, namespace)
        elif block.raises:
            error = None
            try:
                run_block(block, filename, namespace)
            except Exception as raised:
                error = raised
            check_raised(block, filename, error)
        else:
            namespace["_"] = run_block(block, filename, namespace)
    return namespace


def run_in(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is read from the root of the repository, writes nothing into it, and shows nothing."""
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a page may add a folder
    monkeypatch.delitem(sys.modules, "library", raising=False)
    if "pyplot" not in page.read_text():
        run_page(page.read_text(), str(page))
        return
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    pyplot.close("all")  # those of other tests
    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    run_page(page.read_text(), str(page))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=[pytest.mark.slow] * (page.name in LONG)
            + [pytest.mark.built] * (page.name != "README.md"),
        )
        for page in PAGES
        if page.exists() and blocks(page.read_text())
    ],
)
def test_page_runs(page, tmp_path, monkeypatch):
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name])
    run_in(page, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.built
@pytest.mark.parametrize("page", GALLERY, ids=lambda page: page.stem)
def test_an_analysis_of_the_gallery_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("nutpie")
    run_in(page, tmp_path, monkeypatch)


def test_the_analyses_of_the_gallery_have_the_same_parts():
    assert len(GALLERY) >= 10
    for page in GALLERY:
        text = page.read_text()
        titles = re.findall(r"^## (.*)$", text, re.M)
        assert titles[:2] == ["The data", "The model"], page.name
        assert {"The posterior", "Does the model fit?", "A prediction"} <= {*titles}, page.name
        assert re.search(r"^fit$", text, re.M), f"{page.name} does not show its model"
        assert "<!-- check" in text, page.name
        assert f":link: {page.stem}\n" in (page.parent / "index.md").read_text()


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=lambda page: page.stem)
def test_a_page_shows_values_and_does_not_assert_them(page):
    shown = [block for block in blocks(page.read_text()) if not block.is_check]
    for block in shown:
        tree = ast.parse(block.code)
        assert not any(isinstance(each, ast.Assert) for each in ast.walk(tree)), block.line


def test_pages_are_found():
    names = {page.name for page in PAGES if blocks(page.read_text())}
    assert {"README.md", "getting-started.md", "dims.md"} <= names


def test_blocks_share_a_namespace_and_marked_ones_are_skipped():
    fence = "```"
    page = f"""
{fence}python
a = 1
{fence}
text
{fence}python
# not run
a = 2
{fence}
{fence}sh
exit
{fence}
{fence}python
b = a
{fence}
"""
    assert [block.code for block in blocks(page)] == ["a = 1\n", "b = a\n"]
    assert run_page(page, "page.md")["b"] == 1


def test_checks_see_what_a_block_gave():
    page = "```python\na = 1\na + 1\n```\n\n<!-- check _ == 2 -->\n"
    assert run_page(page, "page.md")["_"] == 2
    with pytest.raises(AssertionError, match=r"page\.md:6: _ == 3"):
        run_page(page.replace("== 2", "== 3"), "page.md")
    with pytest.raises(AssertionError, match="not there"):
        run_page(page.replace("_ == 2", "assert _ == 3, 'not there'"), "page.md")


def test_errors_that_are_shown_are_raised():
    page = "```python raises=LookupError\n{}['a']\n```\n"
    run_page(page, "page.md")
    with pytest.raises(AssertionError, match=r"page\.md"):
        run_page(page.replace("Lookup", "Type"), "page.md")
    with pytest.raises(AssertionError, match=r"page\.md:2: did not raise LookupError"):
        run_page(page.replace("{}['a']", "{}"), "page.md")


def test_a_failing_block_names_its_page_and_line():
    page = "one\n\n```python\nfine = 1\nraise KeyError('found')\n```\n"
    with pytest.raises(KeyError, match="found") as failure:
        run_page(page, "page.md")
    assert str(failure.traceback[-1].path) == "page.md"
    assert failure.traceback[-1].lineno == 4  # counted from 0


@pytest.fixture
def extensions(monkeypatch):
    """Return the extension that makes cells of blocks; it is in no package."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    yield __import__("executed")
    for name in ("executed", "checked"):
        sys.modules.pop(name, None)


@pytest.fixture
def in_kernel(monkeypatch, extensions):
    """Return what each cell of a page gives in the kernel that builds it, errors as their text."""
    for name in ("myst_nb", "nbclient"):
        pytest.importorskip(name)
    for name in ("IPYTHONDIR", "MATPLOTLIBRC", *extensions.AS_IN_TESTS):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    extensions.configure()

    def run(text: str, folder: Path) -> list[str]:
        from myst_nb.core.read import read_myst_markdown_notebook
        from nbclient import NotebookClient

        made = extensions.cells(text, "page.md")
        book = read_myst_markdown_notebook(made)
        where = {"metadata": {"path": str(folder)}}
        NotebookClient(book, allow_errors=True, resources=where).execute()
        outputs = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
        texts = [
            [each.get("evalue") or each.get("text") or str(each.get("data")) for each in found]
            for found in outputs
        ]
        return ["".join(found) for found in texts]

    return run


@pytest.mark.parametrize("page", [*PAGES[1:], *GALLERY], ids=lambda page: page.stem)
def test_a_page_is_built_with_all_its_blocks_and_checks(page, extensions):
    read = pytest.importorskip("myst_nb.core.read").read_myst_markdown_notebook
    expected = blocks(page.read_text())
    made = extensions.cells(page.read_text(), page.name)
    assert (made == page.read_text()) == (expected == [])
    if not expected:
        return
    found = [cell.source.rstrip() for cell in read(made).cells if cell.cell_type == "code"]
    cells = []
    for line, code, raises, is_check in expected:
        place = f"{page.name}:{line + 1}"
        cells.append((f"%%check {place}\n" if is_check else "") + code.rstrip())
        cells += [f"%raised {place} {raises}"] if raises else []
    assert found == cells


@pytest.mark.slow
def test_checks_and_errors_of_a_page_stop_its_build(in_kernel, tmp_path):
    """The same blocks as above, all in one kernel: each cell that fails is one that stops it."""
    fence = "```"
    page = f"""# Title

{fence}python
a = 1
a + 1
{fence}

<!-- check _ == 2 -->
<!-- check _ == 3 -->
<!-- check
seen = a
assert seen == 1
assert _ == 4, "not there"
-->
<!-- check
seen = a
-->
<!-- check seen == 1 -->

{fence}python
seen
{fence}

{fence}python raises=LookupError
{{}}["a"]
{fence}

<!-- check _ == 2 -->

{fence}python raises=LookupError
1 / 0
{fence}

{fence}python raises=LookupError
b = 1
{fence}

{fence}python
import warnings

warnings.warn("said", DeprecationWarning)
{fence}

{fence}python
(os.path, xarray)
{fence}
"""
    found = in_kernel(page, tmp_path)
    assert found[:2] == ["{'text/plain': '2'}", ""]
    assert "page.md:9: " in found[2]
    assert "_ == 3" in found[2]
    assert "page.md:13: " in found[3]
    assert "not there" in found[3]
    assert found[4:6] == ["", ""]
    assert found[6] == "name 'seen' is not defined"
    assert found[7:10] == ["'a'", "", ""]
    assert found[10] == "division by zero"
    assert "page.md:31: raised ZeroDivisionError" in found[11]
    assert found[12] == ""
    assert "page.md:35: did not raise LookupError" in found[13]
    assert found[14] == "said"
    assert found[15] == "name 'os' is not defined"
    assert len(found) == 16
