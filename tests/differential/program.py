"""Programs: a list of steps that is run on arrays, and written as dimtensor code.

Values have numbers. A step reads values and gives one or more; those of control flow have regions,
which are steps with parameters of their own and read the values around them as they like.
:func:`run` computes all values with NumPy or JAX, :func:`source` writes the Python code that
builds the same with dimtensor, which is what fails and what is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.differential.named import Named


@dataclass(frozen=True)
class Region:
    """Steps of a body: parameters come in, outputs go out, other values are those around it."""

    params: tuple[int, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """An operation: the values it reads and gives, everything else, and its bodies."""

    op: str
    operands: tuple[int, ...]
    params: dict[str, Any]
    results: tuple[int, ...]
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Op:
    """What an operation is to NumPy and JAX, and how it is written with dimtensor.

    Parameters
    ----------
    name, family : str
    code : callable
        ``code(*operands, **params)`` gives an expression, of the names of the operands.
    array : callable
        ``array(lib, *operands, **params)`` gives a :class:`Named`.
    draw : callable, optional
        ``draw(choose, scope)`` gives operands and parameters that make sense, or None.
    """

    name: str
    family: str
    code: Callable[..., str]
    array: Callable[..., Named]
    draw: Callable[..., Any]


@dataclass(frozen=True)
class Construct:
    """An operation with regions: see :mod:`tests.differential.control`."""

    name: str
    lines: Callable[..., list[str]]
    array: Callable[..., list[Named]]
    draw: Callable[..., Any]


OPS: dict[str, Op] = {}
CONSTRUCTS: dict[str, Construct] = {}


@dataclass(frozen=True)
class DimOf:
    """A dim of a program; a late one gets its length with the data."""

    length: int
    late: bool = False


@dataclass(frozen=True)
class Input:
    """An input, by its number, and the values it has, which are floats for the oracle."""

    number: int
    value: Named
    dtype: str = "float64"

    @property
    def array(self) -> np.ndarray:
        return np.asarray(self.value.data).astype(self.dtype)

    @property
    def is_float(self) -> bool:
        """Whether there are derivatives by it."""
        return self.dtype == "float64"


@dataclass(frozen=True)
class Program:
    """Dims, inputs, steps, and the numbers of the values that count."""

    dims: dict[str, DimOf]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    note: str = field(default="", compare=False)

    @property
    def point(self) -> dict[int, Named]:
        return {i.number: i.value for i in self.inputs}


Env = dict[int, Named]


def run_step(step: Step, env: Env, lib: Any) -> list[Named]:
    """What a step gives."""
    operands = [env[at] for at in step.operands]
    if step.op in CONSTRUCTS:

        def call(region: Region, arguments: Sequence[Named]) -> list[Named]:
            inner = dict(env)
            inner.update(zip(region.params, arguments, strict=True))
            run_steps(region.steps, inner, lib)
            return [inner[at] for at in region.outputs]

        return CONSTRUCTS[step.op].array(lib, call, step, operands)
    return [OPS[step.op].array(lib, *operands, **step.params)]


Override = Callable[[int, Named], Named]


def run_steps(steps: Sequence[Step], env: Env, lib: Any) -> None:
    override: Override | None = getattr(lib, "override", None)
    for step in steps:
        for at, value in zip(step.results, run_step(step, env, lib), strict=True):
            env[at] = value if override is None else override(at, value)


def run(program: Program, point: Env, lib: Any) -> Env:
    """All values of a program at a point."""
    env = dict(point)
    with np.errstate(all="ignore"):
        run_steps(program.steps, env, lib)
    return env


# -- dimtensor code --------------------------------------------------------------------------------


def dim_lines(program: Program) -> list[str]:
    return [
        f'{name} = dt.Dim("{name}")' if d.late else f'{name} = dt.Dim("{name}", length={d.length})'
        for name, d in program.dims.items()
    ]


def input_lines(program: Program) -> list[str]:
    return [
        f'v{i.number} = dt.tensor("v{i.number}", dims=[{", ".join(i.value.dims)}]'
        f"{'' if i.is_float else f', dtype={i.dtype!r}'})"
        for i in program.inputs
    ]


def step_lines(step: Step, record: bool) -> list[str]:
    """The lines of a step; with record every value is noted by ``_note(number, value)``."""
    if step.op in CONSTRUCTS:

        def body(region: Region) -> list[str]:
            return [line for inner in region.steps for line in step_lines(inner, record)]

        lines = CONSTRUCTS[step.op].lines(step, body)
    else:
        text = OPS[step.op].code(*names(step.operands), **step.params)
        lines = [f"v{step.results[0]} = {text}"]
    if record:
        lines += [f"_note({at}, v{at})" for at in step.results]
    return lines


def names(numbers: Sequence[int]) -> list[str]:
    return [f"v{at}" for at in numbers]


def packed(numbers: Sequence[int]) -> str:
    """Names as a tuple, to give or to take."""
    return f"({', '.join(names(numbers))}{',' if len(numbers) == 1 else ''})"


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def body_lines(program: Program, record: bool = False) -> list[str]:
    return [line for step in program.steps for line in step_lines(step, record)]


def source(program: Program) -> str:
    """The whole program as dimtensor code, its inputs' values in ``point``."""
    lines = ["import numpy as np", "", "import dimtensor as dt", ""]
    lines += [*dim_lines(program), *input_lines(program), *body_lines(program)]
    for i in program.inputs:
        empty = "" if i.array.size else f".reshape({i.array.shape})"
        lines.append(f"p{i.number} = np.array({i.array.tolist()!r}){empty}")
    pairs = ", ".join(f"v{i.number}: ({i.value.dims!r}, p{i.number})" for i in program.inputs)
    return "\n".join([*lines, f"point = {{{pairs}}}"])


@dataclass
class Built:
    """The tensors of a program: all values by number, those in bodies too."""

    dims: dict[str, Any]
    inputs: list[Any]
    values: dict[int, Any]


def build(program: Program, inputs: Sequence[Any] | None = None) -> Built:
    """Run the dimtensor code, on its own inputs or on tensors in their place."""
    import dimtensor as dt

    values: dict[int, Any] = {}
    scope: dict[str, Any] = {"dt": dt, "np": np, "_note": values.__setitem__}
    exec("\n".join(dim_lines(program)), scope)
    if inputs is None:
        exec("\n".join(input_lines(program)), scope)
    else:
        for i, tensor in zip(program.inputs, inputs, strict=True):
            scope[f"v{i.number}"] = tensor
    given = [scope[f"v{i.number}"] for i in program.inputs]
    exec("\n".join(body_lines(program, record=True)), scope)
    values.update((i.number, x) for i, x in zip(program.inputs, given, strict=True))
    return Built({name: scope[name] for name in program.dims}, given, values)


def all_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps and those in their regions."""
    for step in steps:
        yield step
        for region in step.regions:
            yield from all_steps(region.steps)
