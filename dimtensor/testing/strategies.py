"""Hypothesis strategies for labels, dims, tensors, DataArrays and whole programs.

Examples
--------
>>> from hypothesis import given, settings
>>> from dimtensor.testing import strategies
>>> @settings(max_examples=5, database=None)
... @given(strategies.dims("country"))
... def test(country):
...     assert dt.ones(country).sum().dims == ()
>>> test()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dimtensor as dt
import dimtensor.testing.kinds
import dimtensor.testing.reshaping
import dimtensor.testing.selections
from dimtensor.testing.choosing import Choose
from dimtensor.testing.programs import (
    ANONYMOUS,
    KINDS,
    DimSpec,
    ProgramInput,
    ProgramStep,
    RandomProgram,
    Trial,
)

LABELS = ("strings", "integers", "dates", "floats")
_NAMES = ("b", "a", "t")


def _labels(choose: Choose, length: int, kind: str) -> np.ndarray:
    """Choose distinct labels, rarely in ascending order."""
    order = choose.shuffled(range(length))
    if kind == "strings":
        return np.array([f"{'pqrstuvw'[at % 8]}{at // 8 or ''}" for at in order], dtype="U3")
    if kind == "integers":
        return np.array([10 * at for at in order], dtype="int64")
    if kind == "floats":
        return np.array([at + 0.5 for at in order], dtype="float64")
    days = np.array(order, dtype="timedelta64[D]")
    return np.datetime64("2024-02-27", "ns") + days


@st.composite
def coords(draw: Any, length: int | None = None, kind: str | None = None) -> np.ndarray:
    """Draw distinct labels of a dim: strings, integers, dates or floats, in any order.

    Parameters
    ----------
    length : int, optional
        By default 0 to 4.
    kind : {"strings", "integers", "dates", "floats"}, optional
    """
    choose = Choose(draw)
    size = choose.integer(0, 4) if length is None else length
    return _labels(choose, size, choose.one(LABELS) if kind is None else kind)


@st.composite
def dims(
    draw: Any,
    name: str | None = "k",
    min_length: int = 0,
    max_length: int = 4,
    known: bool = True,
) -> dt.Dim:
    """Draw a dim with or without labels.

    Parameters
    ----------
    name : str, optional
        None for an anonymous dim.
    min_length, max_length : int
    known : bool
        The length is always known; otherwise it may come with the data.
    """
    return dim_spec(Choose(draw), name, min_length, max_length, known).dim


def dim_spec(
    choose: Choose, name: str | None, low: int = 0, high: int = 4, known: bool = False
) -> DimSpec:
    """Choose a dim with a length in a range, and with labels, without, or with late ones."""
    # lengths 0 and 1 find errors of shapes, but programs with only these test little else
    length = choose.one([n for n in (3, 2, 4, 1, 0) if low <= n <= high] or [low])
    late = [] if known else ["unknown", "late labels", "unknown with labels"]
    form = choose.one(["labels", "length", *late])
    if form == "length" or name is None:
        return DimSpec(dt.Dim(name, length=length), length, None)
    if form == "unknown":
        return DimSpec(dt.Dim(name), length, None)
    found = _labels(choose, length, choose.one(LABELS))
    if form == "labels":
        return DimSpec(dt.Dim(name, coords=found), length, found)
    return DimSpec(dt.Dim(name, length=length if form == "late labels" else None), length, found)


@st.composite
def data_arrays(
    draw: Any, dims: Sequence[dt.Dim], dtype: str | None = None, permute: bool = True
) -> Any:
    """Draw a DataArray on dims of known length.

    Parameters
    ----------
    dims : sequence of Dim
    dtype : {"float64", "int64", "bool"}, optional
    permute : bool
        Permute axes and labels.
    """
    choose = Choose(draw)
    specs = [DimSpec(dim, len(dim), dim.coords) for dim in dims]
    array = _array(choose, specs, dtype or choose.one(["float64", "int64", "bool"]))
    return _in_another_order(choose, array, specs) if permute else array


@st.composite
def tensors(draw: Any, dims: Sequence[dt.Dim], dtype: str | None = None) -> ProgramInput:
    """Draw a tensor on dims of known length, with values; see :class:`ProgramInput`."""
    choose = Choose(draw)
    specs = [DimSpec(dim, len(dim), dim.coords) for dim in dims]
    return _input(choose, specs, "x", dtype or choose.one(["float64", "int64", "bool"]))


def _array(choose: Choose, specs: Sequence[DimSpec], dtype: str) -> Any:
    import xarray as xr

    rng = np.random.default_rng(choose.integer(0, 10_000))
    shape = [spec.length for spec in specs]
    if dtype == "bool":
        values = rng.integers(0, 2, shape).astype(bool)
    elif dtype == "int64":
        values = rng.integers(-3, 4, shape)
    else:
        # sums of these are exact in any order, so that ties occur in both libraries
        values = rng.integers(-16, 17, shape) / 8
    labels = {spec.name: spec.labels for spec in specs if spec.labels is not None}
    return xr.DataArray(values, dims=[spec.name for spec in specs], coords=labels)


def _in_another_order(choose: Choose, array: Any, specs: Sequence[DimSpec]) -> Any:
    moved = {
        spec.name: choose.shuffled(range(spec.length))
        for spec in specs
        if spec.dim.coords is not None and choose.flag()
    }
    return array.isel(moved).transpose(*choose.shuffled(array.dims))


def _input(choose: Choose, specs: Sequence[DimSpec], name: str, dtype: str) -> ProgramInput:
    array = _array(choose, specs, dtype)
    given = _in_another_order(choose, array, specs)
    own = [spec.dim for spec in choose.shuffled(specs)]
    if ANONYMOUS not in array.dims and choose.flag(4):
        by_name = {dim.name: dim for dim in own}
        return ProgramInput(dt.data(given, dims=[by_name[n] for n in given.dims]), array, given)
    return ProgramInput(dt.tensor(name, dims=own, dtype=dtype), array, given)


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
        Kinds of steps, by default all; see :data:`dimtensor.testing.programs.KINDS`.
    max_steps : int
    dtypes : sequence of str
        Dtypes of the inputs; repeated ones are drawn more often.
    make_dim : callable
        ``make_dim(choose, name)`` gives a :class:`~dimtensor.testing.programs.DimSpec`.
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
    inputs = [_input(choose, list(env.values()), "x0", choose.one(dtypes))]
    named = [spec for name, spec in env.items() if name != ANONYMOUS]
    for number in range(1, choose.integer(1, 3)):
        own = choose.some(named)
        inputs.append(_input(choose, own, f"x{number}", choose.one(dtypes)))
    trial = Trial(env, inputs)
    for _ in range(attempts):
        kind = choose.one(kinds)
        drawn = KINDS[kind].draw(choose, trial)
        if drawn is not None:
            operands, params = drawn
            trial.attempt(ProgramStep(kind, operands, params))
    return trial.program()
