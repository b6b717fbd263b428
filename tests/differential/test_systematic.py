"""Every operation, and every construct within every other, by all derivatives."""

from __future__ import annotations

import pytest

import tests.differential.generate  # noqa: F401 (fills the tables of operations)
from tests.backend_names import BACKENDS, COMPILED
from tests.differential.checks import CHECKS, Failure, failures
from tests.differential.generate import nested_program, op_program, pair_program
from tests.differential.program import CONSTRUCTS, OPS, Program, source
from tests.random_programs.choosing import Seeded

# What is known not to hold yet: taken out where it does, which strict marks make sure of.
KNOWN_OPS: dict[str, str] = {}
KNOWN_PAIRS: dict[tuple[str, str], str] = {}

PAIRS = [(outer, inner) for outer in CONSTRUCTS for inner in CONSTRUCTS]
FEW = ("value", "grad", "jvp", "derivatives of derivatives")
# What is done before a backend is asked is checked on all of them by random programs only.
LOWERED = tuple(name for name in CHECKS if name not in ("substitute", "vectorize"))


def report(program: Program, found: list[Failure]) -> str:
    lines = [source(program), f"# the loss is the sum of sin(c * v) of {program.outputs[-3:]}"]
    lines += [f"{f.check}: found {f.found}, expected {f.expected}" for f in found]
    return "\n".join(["", *lines])


def check(program: Program, backend: str = "python", names: tuple[str, ...] | None = None) -> None:
    found = failures(program, backend, names)
    assert not found, report(program, found)


def marked(table: dict, key: object) -> list[pytest.MarkDecorator]:
    if key not in table:
        return []
    return [pytest.mark.xfail(raises=AssertionError, strict=True, reason=table[key])]


@pytest.mark.parametrize("name", [pytest.param(n, marks=marked(KNOWN_OPS, n)) for n in OPS])
def test_operation(name: str) -> None:
    check(op_program(name))


def is_long(pair: tuple[str, str]) -> bool:
    """Whether the long tests alone have a pair: steps of Runge-Kutta methods take seconds."""
    return pair[0] == "ode" or PAIRS.index(pair) % 3 > 0


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        pytest.param(
            *pair,
            marks=[*marked(KNOWN_PAIRS, pair), *[pytest.mark.slow] * is_long(pair)],
            id=" of ".join(pair),
        )
        for pair in PAIRS
    ],
)
def test_pair(outer: str, inner: str) -> None:
    seed = PAIRS.index((outer, inner))
    check(pair_program(Seeded(seed), outer, inner, small=True), names=FEW)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("name", ["cumprod", "scatter", "logsumexp"])
def test_compiled_operation(name: str, backend: str) -> None:
    check(op_program(name), backend, FEW)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("name", OPS)
def test_every_compiled_operation(name: str, backend: str) -> None:
    check(op_program(name), backend, LOWERED)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.falls_back
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_every_pair(number: int, backend: str) -> None:
    check(nested_program(Seeded(number), number), backend, None if backend == "python" else LOWERED)
