"""Runs the Python blocks of pages, and shows below each what it gives.

Pages are plain Markdown, which any viewer shows and whose blocks the tests run. When Sphinx reads
one, its ``python`` blocks become code cells of MyST-NB, which executes them in one kernel for each
page. A block whose first line is ``# not run`` stays as it is. Words after ``python`` say more:

- ``raises=DimError``: the block ends with this error, which is shown;
- ``hidden``: neither code nor output is shown;
- ``folded``: the code is behind a button, the output is shown.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

NOT_RUN = "# not run"
HEAD = """---
file_format: mystnb
kernelspec:
  name: python3
---

"""
# Results of xarray are shown as text: its HTML hides values, and knows no dark mode of Furo's.
# Progress bars ask for widgets where there are none.
SETUP = """%xmode Minimal
import os
import warnings
import xarray
os.symlink({examples!r}, "examples")
xarray.set_options(display_style="text")
warnings.filterwarnings("ignore", "IProgress not found")
"""
BLOCK = re.compile(
    r"^(?P<fence>`{3,})python(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
# what the tests check of the block before it
CHECK = re.compile(r"^<!-- check\s.*?\s-->\n", re.M | re.S)
_TAGS = {"raises": "raises-exception", "hidden": "remove-cell", "folded": "hide-input"}


def cells(text: str, setup: str) -> str:
    """A page with cells in place of its blocks; one without blocks stays as it is."""
    if not any(runs(block) for block in BLOCK.finditer(text)):
        return text
    text = BLOCK.sub(lambda block: _cell(block) if runs(block) else block[0], text)
    text = CHECK.sub("", text)
    title, rest = text.split("\n", 1) if text.startswith("# ") else ("", text)
    return f"{HEAD}{title}\n\n{_fenced('```', setup, ['remove-cell'])}\n{rest}"


def runs(block: re.Match[str]) -> bool:
    """Return whether a block is executed."""
    return not block["code"].startswith(NOT_RUN)


def tags_of(block: re.Match[str]) -> list[str]:
    """Return the tags of the cell of a block."""
    return [_TAGS[word.split("=")[0]] for word in block["info"].split()]


def _cell(block: re.Match[str]) -> str:
    return _fenced(block["fence"], block["code"], tags_of(block))


def _fenced(fence: str, code: str, tags: list[str]) -> str:
    options = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    return f"{fence}{{code-cell}} python\n{options}{code.rstrip()}\n{fence}"


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make cells of the blocks of a user's page; design notes stay as they are."""
    if not docname.startswith("design/"):
        examples = Path(app.srcdir).parent / "examples"
        source[0] = cells(source[0], SETUP.format(examples=str(examples)))


def configure() -> None:
    """Give kernels settings of their own, and not those of who builds; they say errors alone."""
    folder = Path(tempfile.mkdtemp(prefix="dimtensor-docs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "profile_default").mkdir()
    (folder / "profile_default" / "ipython_kernel_config.py").write_text(
        "c.IPKernelApp.log_level = 'ERROR'\n"
        "c.HistoryManager.enabled = False\n"
        "c.InlineBackend.figure_formats = {'retina'}\n"
    )
    os.environ["IPYTHONDIR"] = str(folder)
    os.environ["DIMTENSOR_PROGRESS"] = "0"
    os.environ["MATPLOTLIBRC"] = str(Path(__file__).with_name("matplotlibrc"))
    logging.getLogger("traitlets").setLevel(logging.WARNING)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    configure()
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
