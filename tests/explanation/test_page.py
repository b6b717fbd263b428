"""The page shows what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor

PAGE = Path(dimtensor.__file__).parent.parent / "docs" / "explain.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# a page in a process of its own: equal expressions of other tests have lines, and an order of
# operands, of theirs
RUN = """
import linecache, sys

code = sys.stdin.read()
linecache.cache["media_mix.py"] = (len(code), None, code.splitlines(True), "media_mix.py")
exec(compile(code, "media_mix.py", "exec"), {})
"""


@pytest.mark.skipif(not PAGE.is_file(), reason="this is an installed package")
def test_what_is_shown_is_what_is_printed():
    blocks = BLOCK.findall(PAGE.read_text())
    code = "\n".join(text for kind, text in blocks if kind == "python")
    shown = [text for kind, text in blocks if kind == "text"]
    assert len(shown) == 3
    run = subprocess.run(
        [sys.executable, "-c", RUN], input=code, capture_output=True, text=True, check=True
    )
    assert run.stdout == "".join(shown)
