"""The Python blocks of the README and of the documentation run, page by page."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GALLERY = sorted(set((ROOT / "docs" / "gallery").glob("*.md")) - {ROOT / "docs/gallery/index.md"})
SKIP = "# not run"
# what pages need beside the package and JAX
NEEDED = {"export.md": "flatbuffers", "scaling.md": "dask"}
# several samplers and optimizers of JAX, or thousands of draws
LONG = {"from-jax.md", "scaling.md", "tutorial-time-series.md"}
LONG |= {page.name for page in PAGES if page.name.startswith("how-to-")}
_BLOCK = re.compile(
    r"^(?P<fence>`{3,})python(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=fence)[ \t]*$"
    r"|^<!-- check\s(?P<check>.*?)\s-->$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """Code of a page: what readers see, or a comment that says what it must give."""

    line: int
    code: str
    raises: str = ""
    is_check: bool = False


def blocks(text: str) -> list[Block]:
    """The blocks that are to run, and the checks between them."""
    found = []
    for match in _BLOCK.finditer(text):
        if match["check"]:
            line = text.count("\n", 0, match.start("check"))
            found.append(Block(line, match["check"], is_check=True))
        elif not match["code"].startswith(SKIP):
            raises = re.search(r"raises=(\w+)", match["info"])
            line = text.count("\n", 0, match.start("code"))
            found.append(Block(line, match["code"], raises[1] if raises else ""))
    return found


def run_page(text: str, filename: str) -> dict[str, object]:
    """Run a page's blocks in one namespace; tracebacks show the page's own line numbers.

    ``_`` is the value of a block's last expression, for the checks: a condition, or statements.
    Readers do not see checks, so blocks do not see what checks define; later checks do.
    """
    namespace: dict[str, object] = {"__name__": "__page__"}
    of_checks: dict[str, object] = {}
    for block in blocks(text):
        if block.is_check:
            known = {**of_checks, **namespace}
            check(block, filename, known)
            of_checks |= {k: v for k, v in known.items() if namespace.get(k) is not v}
        elif block.raises:
            with pytest.raises(Exception, match=r".") as failure:
                run(block, filename, namespace)
            assert block.raises in {each.__name__ for each in failure.type.__mro__}, filename
        else:
            namespace["_"] = run(block, filename, namespace)
    return namespace


def run(block: Block, filename: str, namespace: dict[str, object]) -> object:
    """Run a block, and give the value of its last expression."""
    tree = ast.parse("\n" * block.line + block.code, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), filename, "eval"), namespace)


def check(block: Block, filename: str, namespace: dict[str, object]) -> None:
    """A check fails at its line of the page."""
    code = "\n" * block.line + block.code
    try:
        holds = compile(f"{code}\n", filename, "eval")
    except SyntaxError:
        exec(compile(code, filename, "exec"), namespace)
    else:
        held = eval(holds, namespace)  # a call of `np.testing` gives None
        assert held is None or held, f"{filename}:{block.line + 1}: {block.code}"


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
            marks=[pytest.mark.slow] if page.name in LONG else [],
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
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        run_page(page.replace("{}['a']", "{}"), "page.md")


def test_a_failing_block_names_its_page_and_line():
    page = "one\n\n```python\nfine = 1\nraise KeyError('found')\n```\n"
    with pytest.raises(KeyError, match="found") as failure:
        run_page(page, "page.md")
    assert str(failure.traceback[-1].path) == "page.md"
    assert failure.traceback[-1].lineno == 4  # counted from 0
