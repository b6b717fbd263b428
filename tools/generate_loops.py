"""Write dimtensor/tensor/control/loops.pyi: the overloads of loops, one for each kind of state.

To a type checker numbers that states start from are tensors within the loop and after it: a number,
numbers in a tuple of up to four, or in a dict. Any other tree is of tensors, and keeps its type.
Run it after a change of a signature: ``python tools/generate_loops.py``. A test compares.
"""

from __future__ import annotations

from pathlib import Path

TARGET = Path(__file__).parent.parent / "dimtensor" / "tensor" / "control" / "loops.pyi"

HEADER = '''"""Signatures of loops for type checkers, written by tools/generate_loops.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Unpack, overload

import xarray as xr

from dimtensor.dims import Dim
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.tensor.control.types import LoopKeywords, Tree
from dimtensor.tensor.core import DimTensor
from dimtensor.tensor.handle import Leaf

type Two = tuple[DimTensor, DimTensor]
type TwoLeaves = tuple[Leaf, Leaf]
type Three = tuple[DimTensor, DimTensor, DimTensor]
type ThreeLeaves = tuple[Leaf, Leaf, Leaf]
type Four = tuple[DimTensor, DimTensor, DimTensor, DimTensor]
type FourLeaves = tuple[Leaf, Leaf, Leaf, Leaf]
'''

# type of the state in a loop, and of what it starts from and of what a step returns
STATES = [
    ("DimTensor", "Leaf"),
    ("Two", "TwoLeaves"),
    ("Three", "ThreeLeaves"),
    ("Four", "FourLeaves"),
    ("dict[str, DimTensor]", "Mapping[str, Leaf]"),
    ("S", "S"),
]
NOTHING = ("None", "None")

# name, type variables beside that of the state, parameters, result
ALONG = [
    "init: {leaf}",
    "xs: X = ...",
    "dim: Dim | str | None = None",
    "**options: Unpack[LoopKeywords]",
]
CHECKPOINT = "checkpoint: Checkpoints | Sequence[int] | None = None"
WHILE = [
    "cond: Callable[[{state}], DimTensor]",
    "body: Callable[[{state}], {leaf}]",
    "init: {leaf}",
    "max_steps: int | DimTensor | None = None",
    "*",
    "return_finished: {finished}",
    "inverse: Callable[[{state}], {leaf}] | None = None",
    "truncate: int | None = None",
]
FUNCTIONS = [
    ("scan", ["X", "Y"], ["step: Callable[[{state}, X], tuple[{leaf}, Y]]", *ALONG],
     "tuple[{state}, Y]"),
    ("cumulate", ["X"], ["step: Callable[[{state}, X], {leaf}]", *ALONG], "{state}"),
    ("reduce", ["X"], ["step: Callable[[{state}, X], {leaf}]", *ALONG], "{state}"),
    ("while_loop", [], WHILE, "{result}"),
    ("fori_loop", [], [
        "start: int | DimTensor",
        "stop: int | DimTensor",
        "body: Callable[[DimTensor, {state}], {leaf}]",
        "init: {leaf}",
        "*",
        "inverse: Callable[[DimTensor, {state}], {leaf}] | None = None",
        CHECKPOINT,
        "truncate: int | None = None",
    ], "{state}"),
    ("ode", [], [
        "rhs: Callable[[DimTensor, {state}], {leaf}]",
        "y0: {leaf}",
        "t: DimTensor | xr.DataArray",
        'method: Literal["dopri5", "rk4"] = "dopri5"',
        "*",
        "steps: int = 1",
        "rtol: float = 1e-6",
        "atol: float = 1e-9",
        "max_steps: int = 1000",
    ], "{state}"),
]  # fmt: skip


def render() -> str:
    """Return the source of the stub."""
    source = f"{HEADER}\n"
    for name, variables, parameters, result in FUNCTIONS:
        for state, leaf in [*STATES[:-1], *([NOTHING] if name == "scan" else []), STATES[-1]]:
            own = ["S: Tree"] if state == "S" else []
            for finished, given in _results(state, parameters):
                words = {"state": state, "leaf": leaf, "finished": finished, "result": given}
                lines = "".join(f"    {each.format(**words)},\n" for each in parameters)
                types = f"[{', '.join([*own, *variables])}]" if own or variables else ""
                returned = result.format(**words)
                source += f"@overload\ndef {name}{types}(\n{lines}) -> {returned}: ...\n"
    return source


def _results(state: str, parameters: list[str]) -> list[tuple[str, str]]:
    """Types of ``return_finished`` and of the result."""
    if parameters is not WHILE:
        return [("", "")]
    return [("Literal[False] = False", state), ("Literal[True]", f"tuple[{state}, DimTensor]")]


if __name__ == "__main__":
    TARGET.write_text(render())
