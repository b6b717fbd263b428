"""Pages use the field's terms instead of a list of phrases, and the terms of the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_docs_examples import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
# phrase: the field's term
AVOIDED = {
    r"\bwhat nobody\b": "unused, dead",
    r"\bwhat (is|was) (left|known|said|there)\b": "the rest, the epilogue; conditional on",
    r"\bwhat (goes round|waits)\b": "loop carry, loop-carried",
    r"\bseveral rounds\b": "unroll",
    r"\b(a|the) way back\b": "reverse pass",
    r"\b(is|are) told by\b": "is determined by",
    r"\bthose that\b": "a noun and a relative clause",
    r"\b(stays?|reads?|read|is|are) as (it is|they are)\b": "unchanged",
    r"\b0\.\d+ (to 0\.\d+ )?of the time\b": "N times faster",
    r"\bbeside (it|them|what)\b": "next to it, in addition",
    r"\bloops (taken apart|put together)\b": "fission, fusion",
}


def _found(page: Path) -> list[str]:
    text = re.sub(r"\s+", " ", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    return [
        f"{match.group(0)!r} (say {term}): …{text[max(0, match.start() - 40) : match.end() + 40]}…"
        for phrase, term in AVOIDED.items()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_pages_use_the_terms_of_the_field(page: Path) -> None:
    found = _found(page)
    assert not found, "\n".join(found)


def test_phrases_are_found_across_lines_and_not_in_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Rows and those\nthat follow.\n```python\n# those that follow\n```\n")
    assert len(_found(page)) == 1


def test_terms_of_the_glossary_are_in_order_and_used() -> None:
    glossary = ROOT / "docs" / "glossary.md"
    terms = re.findall(r"^(\w[\w ]*)$", glossary.read_text().split("{glossary}")[1], re.MULTILINE)
    assert len(terms) > 10
    assert terms == sorted(terms, key=str.lower)
    pages = re.sub(r"\s+", " ", " ".join(p.read_text() for p in PAGES if p != glossary)).lower()
    unused = [term for term in terms if term.lower().removesuffix("s") not in pages]
    assert not unused
