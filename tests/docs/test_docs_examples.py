"""The Python blocks of the README and of the documentation run, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SKIP = "# not run"
# what pages need beside the package and JAX
NEEDED = {"export.md": "flatbuffers"}
_BLOCK = re.compile(
    r"^(?P<fence>`{3,})python[^\n]*\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)


def blocks(text: str) -> list[tuple[int, str]]:
    """Line number and code of the blocks that are to run."""
    return [
        (text.count("\n", 0, match.start("code")), match["code"])
        for match in _BLOCK.finditer(text)
        if not match["code"].startswith(SKIP)
    ]


def run_page(text: str, filename: str) -> dict[str, object]:
    """Run a page's blocks in one namespace; tracebacks show the page's own line numbers."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    for line, code in blocks(text):
        exec(compile("\n" * line + code, filename, "exec"), namespace)
    return namespace


@pytest.mark.compiled
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if page.exists() and blocks(page.read_text())
    ],
)
def test_page_runs(page, tmp_path, monkeypatch):
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name])
    # a page is read from the root of the repository, and writes nothing into it
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), str(page))


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
    assert [code for _, code in blocks(page)] == ["a = 1\n", "b = a\n"]
    assert run_page(page, "page.md")["b"] == 1


def test_a_failing_block_names_its_page_and_line():
    page = "one\n\n```python\nfine = 1\nraise KeyError('found')\n```\n"
    with pytest.raises(KeyError, match="found") as failure:
        run_page(page, "page.md")
    assert str(failure.traceback[-1].path) == "page.md"
    assert failure.traceback[-1].lineno == 4  # counted from 0
