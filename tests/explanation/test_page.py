"""The page shows what is printed."""

from __future__ import annotations

import gc
import linecache
import re
from pathlib import Path

import pytest

import dimtensor

PAGE = Path(dimtensor.__file__).parent.parent / "docs" / "explain.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not PAGE.is_file(), reason="this is an installed package")
def test_what_is_shown_is_what_is_printed(capsys):
    blocks = BLOCK.findall(PAGE.read_text())
    code = "\n".join(text for kind, text in blocks if kind == "python")
    shown = [text for kind, text in blocks if kind == "text"]
    linecache.cache["media_mix.py"] = (len(code), None, code.splitlines(True), "media_mix.py")
    gc.collect()  # equal expressions of other tests have lines of theirs
    exec(compile(code, "media_mix.py", "exec"), {})
    assert len(shown) == 3
    assert capsys.readouterr().out == "".join(shown)
