"""Hypothesis strategy for random programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

import tests.random_programs.kinds
import tests.random_programs.reshaping
import tests.random_programs.selections  # noqa: F401
from dimtensor.testing.comparing import ANONYMOUS
from dimtensor.testing.strategies import Choose, DimSpec, dim_spec, draw_tensor
from tests.random_programs.programs import KINDS, ProgramStep, RandomProgram, Trial

_NAMES = ("b", "a", "t")

DEFAULT_KINDS: tuple[str, ...] = tuple(KINDS)
DEFAULT_DTYPES = ("float64", "float64", "int64", "bool")


@st.composite
def programs(
    draw: Any,
    kinds: Sequence[str] = DEFAULT_KINDS,
    max_steps: int = 8,
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    make_dim: Callable[..., DimSpec] = dim_spec,
    anonymous: bool = True,
) -> RandomProgram:
    """Draw a random program, which runs in dimtensor and in xarray.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of steps, by default all; see :data:`tests.random_programs.programs.KINDS`.
    max_steps : int
    dtypes : sequence of str
        Dtypes of the inputs; repeated ones are drawn more often.
    make_dim : callable
        ``make_dim(choose, name)`` gives a :class:`~dimtensor.testing.strategies.DimSpec`.
    anonymous : bool
        Allow an anonymous dim.
    """
    choose = Choose(draw)
    return random_program(
        choose, kinds, choose.integer(1, max_steps), dtypes, make_dim, anonymous and choose.flag(8)
    )


def random_program(
    choose: Choose,
    kinds: Sequence[str] = DEFAULT_KINDS,
    attempts: int = 8,
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    make_dim: Callable[..., DimSpec] = dim_spec,
    anonymous: bool = False,
) -> RandomProgram:
    """Make a program by choices; see :func:`programs`."""
    names: list[str | None] = [*choose.some(_NAMES, 1), *([None] if anonymous else [])]
    env = {spec.name: spec for spec in (make_dim(choose, name) for name in names)}
    # the first input has every dim, and thereby all lengths
    inputs = [draw_tensor(choose, list(env.values()), "x0", choose.one(dtypes))]
    named = [spec for name, spec in env.items() if name != ANONYMOUS]
    for number in range(1, choose.integer(1, 3)):
        own = choose.some(named)
        inputs.append(draw_tensor(choose, own, f"x{number}", choose.one(dtypes)))
    trial = Trial(env, inputs)
    for _ in range(attempts):
        kind = choose.one(kinds)
        drawn = KINDS[kind].draw(choose, trial)
        if drawn is not None:
            operands, params = drawn
            trial.attempt(ProgramStep(kind, operands, params))
    return trial.program()
