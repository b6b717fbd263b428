"""What the page prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor
from tests.golden.compare import check_golden

PAGE = Path(dimtensor.__file__).parent.parent / "docs" / "explain.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# a page in a process of its own: equal expressions of other tests have lines, and an order of
# operands, of theirs
RUN = """
import linecache, sys

code = sys.stdin.read()
linecache.cache["media_mix.py"] = (len(code), None, code.splitlines(True), "media_mix.py")
exec(compile(code, "media_mix.py", "exec"), {})
"""


@pytest.mark.skipif(not PAGE.is_file(), reason="this is an installed package")
def test_what_is_printed_is_what_was_printed():
    code = "\n".join(BLOCK.findall(PAGE.read_text()))
    run = subprocess.run(
        [sys.executable, "-c", RUN], input=code, capture_output=True, text=True, check=True
    )
    check_golden("explain_page.txt", run.stdout.rstrip("\n"))
