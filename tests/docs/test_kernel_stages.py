"""The page on how a kernel is made shows what is made."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import dimtensor as dt
from dimtensor.kernels.compiler import rewritten
from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.kernels.ir.python import Printer, printed
from dimtensor.kernels.native.code import translated
from dimtensor.kernels.native.translate import ArgumentType
from dimtensor.kernels.passes import strip_mining
from dimtensor.optimize.plan.plan import Plan

PAGE = Path(__file__).parents[2] / "docs" / "design" / "kernel-stages.md"


def example():
    """The graph of the page's first block."""
    group, obs = dt.Dim("group", length=3), dt.Dim("obs")
    effect = dt.tensor("effect", dims=group)
    data, of = dt.tensor("data", dims=obs), dt.tensor("of", dims=obs, categories=group)
    loss = (0.5 * (data - effect.sel(group=of)) ** 2).sum()
    inputs = [each.to_shaped() for each in (effect, data, of)]
    return rewritten(inputs, [loss.to_shaped(), dt.grad(loss, effect).to_shaped()])


def stages_of(lines):
    """One line for each statement of the loop that is cut: its stage, text, and what is known."""
    table, printer = [], Printer(anew=True)
    for at in range(3):  # arguments come first
        printer.name(f"x{at}")
    for line, stage in zip(lines, strip_mining.stages(lines), strict=True):
        (text,) = printer.lines([line.statement])
        kind = "serial" if line.is_serial else "load" if line.is_load else ""
        table.append(f"{stage:2}  {text:24}{kind}".rstrip())
    return "\n".join(table)


@pytest.fixture
def made(monkeypatch):
    graph, seen, write = example(), [], strip_mining.write

    def spy(lines, *rest):
        seen.append(stages_of(lines))
        return write(lines, *rest)

    monkeypatch.setattr(strip_mining, "write", spy)
    loops = Emitter(Plan(graph)).function()
    types = [ArgumentType(v.type.dtype, v.type.shape) for v in graph.inputs]
    llvm = translated(loops, types).text.splitlines()
    starts = [at for at, line in enumerate(llvm) if re.match(r"loop\d+:", line)]
    end = next(at for at in range(starts[2], len(llvm)) if llvm[at].startswith("next"))
    return {
        "stages": seen[0],
        "python": printed(loops).rstrip("\n"),
        "llvm": "\n".join(llvm[starts[2] : end]),
    }


@pytest.mark.parametrize("name", ["stages", "python", "llvm"])
def test_the_page_shows_what_is_made(name, made):
    text = PAGE.read_text()
    block = re.compile(rf"(?<=<!-- {name} -->\n```\n).*?(?=\n```\n)", re.DOTALL)
    if os.environ.get("DIMTENSOR_GOLDEN") == "write":
        PAGE.write_text(block.sub(lambda _: made[name], text))
        text = PAGE.read_text()
    (shown,) = block.findall(text)
    assert shown == made[name]
