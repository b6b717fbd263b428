"""Blocks of pages, and the comments that check them: in tests, and in kernels that build pages.

A comment ``<!-- check EXPR -->`` after a block is a condition, or statements, about the values of
the page. ``_`` is the value of the block's last expression. Readers do not see checks, so blocks do
not see the names that checks define; later checks do.

As an extension of IPython this module prepares a kernel for a page. The cells that
``executed`` makes of checks are ``%%check`` and ``%raised``: an error in one stops the build.
"""

from __future__ import annotations

import ast
import os
import random
import re
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
NOT_RUN = "# not run"
BLOCK = re.compile(
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


def block_of(match: re.Match[str]) -> Block | None:
    """Return the block of a match of BLOCK, or None if it is not run."""
    if match["check"]:
        line = match.string.count("\n", 0, match.start("check"))
        return Block(line, match["check"], is_check=True)
    if match["code"].startswith(NOT_RUN):
        return None
    raises = re.search(r"raises=(\w+)", match["info"])
    line = match.string.count("\n", 0, match.start("code"))
    return Block(line, match["code"], raises[1] if raises else "")


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page that are run, and the checks between them."""
    return [block for match in BLOCK.finditer(text) if (block := block_of(match))]


class Checks:
    """Checks of a page, and the names that they define."""

    def __init__(self) -> None:
        self._names: dict[str, object] = {}

    def run(self, block: Block, filename: str, names: dict[str, object]) -> None:
        """Run a check with the names of the page; it fails at its line of the page."""
        known = {**self._names, **names}
        code = "\n" * block.line + block.code
        try:
            holds = compile(f"{code}\n", filename, "eval")
        except SyntaxError:
            exec(compile(code, filename, "exec"), known)
        else:
            held = eval(holds, known)  # a call of `np.testing` gives None
            assert held is None or held, f"{filename}:{block.line + 1}: {block.code}"
        self._names |= {k: v for k, v in known.items() if names.get(k) is not v}


def check_raised(block: Block, filename: str, error: BaseException | None) -> None:
    """Check that a block ended with the error that the page shows."""
    place = f"{filename}:{block.line + 1}"
    assert error is not None, f"{place}: did not raise {block.raises}"
    raised = {each.__name__ for each in type(error).__mro__}
    assert block.raises in raised, f"{place}: raised {error!r}, not {block.raises}"
    assert str(error), f"{place}: the error has no text"


def run_block(block: Block, filename: str, names: dict[str, object]) -> object:
    """Run a block, and return the value of its last expression."""
    tree = ast.parse("\n" * block.line + block.code, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), filename, "eval"), names)


class KernelChecks:
    """Magics for the checks of the page that a kernel runs."""

    def __init__(self, shell: Any) -> None:
        self._shell, self._checks = shell, Checks()
        self._value: object = None
        self._error: BaseException | None = None
        shell.events.register("post_run_cell", self._note)
        shell.register_magic_function(self.check, "cell", "check")
        shell.register_magic_function(self.raised, "line", "raised")

    def _note(self, result: Any) -> None:
        """Remember what the last block gave; checks are no blocks."""
        if result.info is None or result.info.raw_cell.startswith("%"):
            return
        self._error = result.error_in_exec or result.error_before_exec
        if self._error is None:
            self._value = result.result

    def check(self, place: str, code: str) -> None:
        """Run a check that stands at a place of a page."""
        filename, _, line = place.rpartition(":")
        block = Block(int(line) - 1, code.rstrip("\n"), is_check=True)
        names = {**self._shell.user_ns, "_": self._value}
        try:
            self._checks.run(block, filename, names)
        except Exception as error:
            lines = [
                frame.lineno
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == filename
            ]
            place = f"{filename}:{lines[-1] if lines else line}"
            raise AssertionError(f"{place}: {error!r}") from None

    def raised(self, line: str) -> None:
        """Check that the last block ended with an error: ``%raised PAGE:LINE ERROR``."""
        place, raises = line.split()
        filename, _, number = place.rpartition(":")
        block = Block(int(number) - 1, "", raises)
        check_raised(block, filename, self._error)


def load_ipython_extension(shell: Any) -> None:
    """Prepare a kernel, in the folder of its own that it starts in, without names in its pages."""
    import numpy as np
    import xarray

    # what third parties draw from
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    shell.InteractiveTB.set_mode("Minimal")
    os.symlink(ROOT / "examples", "examples")
    # its HTML hides values, and knows no dark mode of Furo's
    xarray.set_options(display_style="text")
    # as in tests; other warnings are written where Sphinx finds them, but not those of deprecation
    warnings.filterwarnings("error", category=DeprecationWarning, module=r"(dimtensor|__main__)\b")
    warnings.filterwarnings("error", category=PendingDeprecationWarning, module=r"dimtensor\b")
    # progress bars ask for widgets where there are none
    warnings.filterwarnings("ignore", "IProgress not found")
    KernelChecks(shell)
