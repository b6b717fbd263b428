"""Runs the Python blocks of pages, and shows below each what it gives.

Pages are plain Markdown, which any viewer shows and whose blocks tests can run. When Sphinx reads
one, its ``python`` blocks become code cells of MyST-NB, which executes them in one kernel for each
page. A block whose first line is ``# not run`` stays as it is. Words after ``python`` say more:

- ``raises=DimError``: the block ends with this error, which is shown;
- ``hidden``: neither code nor output is shown;
- ``folded``: the code is behind a button, the output is shown.

Comments that check what a block gave are cells as well, which are not shown: a check that fails,
and a block without its error, stop the build.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import tempfile
from pathlib import Path

from checked import BLOCK, ROOT, block_of
from sphinx.application import Sphinx

HEAD = """---
file_format: mystnb
kernelspec:
  name: python3
---

"""
# As in tests: every graph is verified, and an error of a rewrite or a compiler is one of the page.
AS_IN_TESTS = {
    "PYTENSOR_FLAGS": "on_opt_error=raise",
    "DIMTENSOR_VERIFY": "1",
    "DIMTENSOR_NATIVE": "strict",
    "DIMTENSOR_STRICT_KERNELS": "1",
    "JAX_PLATFORMS": "cpu",
    # kernels of two pages run at once, and threads of BLAS wait for each other in busy loops
    "OPENBLAS_NUM_THREADS": "1",
}
_MIXED = 8
# longer than those of blocks, which a check may contain
_FENCE = "`" * 8
_TAGS = {"raises": "raises-exception", "hidden": "remove-cell", "folded": "hide-input"}


def cells(text: str, filename: str, line: int = 0) -> str:
    """A page with cells in place of its blocks; one without blocks stays as it is.

    The text starts at a line of its file, which errors of checks name.
    """
    if not any(runs(block) for block in BLOCK.finditer(text)):
        return text
    text = BLOCK.sub(lambda match: _cell(match, filename, line), text)
    title, rest = text.split("\n", 1) if text.startswith("# ") else ("", text)
    return f"{HEAD}{title}\n\n{rest}"


def runs(match: re.Match[str]) -> bool:
    """Return whether a match of BLOCK is a block that readers see executed."""
    block = block_of(match)
    return block is not None and not block.is_check


def tags_of(block: re.Match[str]) -> list[str]:
    """Return the tags of the cell of a block."""
    return [_TAGS[word.split("=")[0]] for word in block["info"].split()]


def _cell(match: re.Match[str], filename: str, first: int) -> str:
    block = block_of(match)
    if block is None:
        return match[0]
    place = f"{filename}:{first + block.line + 1}"
    if block.is_check:
        return _fenced(_FENCE, f"%%check {place}\n{block.code}", ["remove-cell"])
    cell = _fenced(match["fence"], block.code, tags_of(match))
    if not block.raises:
        return cell
    raised = f"%raised {place} {block.raises}"
    return f"{cell}\n\n{_fenced(_FENCE, raised, ['remove-cell'])}"


def _fenced(fence: str, code: str, tags: list[str]) -> str:
    options = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    return f"{fence}{{code-cell}} python\n{options}{code.rstrip()}\n{fence}"


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make cells of the blocks of a user's page; design notes stay as they are."""
    if not docname.startswith("design/"):
        page = Path(app.env.doc2path(docname))
        added = source[0].count("\n") - page.read_text(encoding="utf-8").count("\n")
        source[0] = cells(source[0], str(page.relative_to(ROOT)), -added)


def mix(app: Sphinx, env: object, docnames: list[str]) -> None:
    """Order pages so that each process gets some of the long ones, which have names alike."""
    docnames[:] = [name for first in range(_MIXED) for name in docnames[first::_MIXED]]


def configure() -> None:
    """Give kernels settings of their own, and not those of who builds; they say errors alone."""
    folder = Path(tempfile.mkdtemp(prefix="dimtensor-docs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "profile_default").mkdir()
    (folder / "profile_default" / "ipython_kernel_config.py").write_text(
        "c.IPKernelApp.log_level = 'ERROR'\n"
        "c.HistoryManager.enabled = False\n"
        "c.InlineBackend.figure_formats = {'retina'}\n"
        "c.InteractiveShellApp.extensions = ['checked']\n"
        f"__import__('sys').path.append({str(Path(__file__).parent)!r})\n"
    )
    os.environ["IPYTHONDIR"] = str(folder)
    os.environ["DIMTENSOR_PROGRESS"] = "0"
    for name, value in AS_IN_TESTS.items():
        os.environ.setdefault(name, value)
    os.environ["MATPLOTLIBRC"] = str(Path(__file__).with_name("matplotlibrc"))
    logging.getLogger("traitlets").setLevel(logging.WARNING)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    configure()
    app.connect("source-read", read)
    app.connect("env-before-read-docs", mix)
    return {"parallel_read_safe": True}
