"""Hypothesis strategies for labels, dims, tensors and DataArrays.

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
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.caches import bounded
from dimtensor.testing.comparing import ANONYMOUS

T = TypeVar("T")

LABELS = ("strings", "integers", "dates", "floats")


@dataclass(frozen=True)
class DimSpec:
    """A dim with its length and labels, which may come with the data."""

    dim: dt.Dim
    length: int
    labels: np.ndarray | None

    @property
    def name(self) -> str:
        return self.dim.name or ANONYMOUS


@dataclass(frozen=True)
class DrawnTensor:
    """An input or data tensor, and its values.

    ``array`` has labels in the order of the dims; ``given`` is the argument of the call: the same
    values with axes and labels in another order.
    """

    tensor: dt.DimTensor
    array: Any
    given: Any

    @property
    def symbolic(self) -> bool:
        return self.tensor.node.kind == "input"


@bounded(1024)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


class Choose:
    """Choices that shrink towards the first option."""

    def __init__(self, draw: Callable[[st.SearchStrategy], Any]):
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(_integers(low, high))

    def one(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def flag(self, one_in: int = 2) -> bool:
        """Return True with a probability of 1 / `one_in`."""
        return self.integer(1, one_in) == one_in

    def some(self, options: Sequence[T], at_least: int = 0, at_most: int | None = None) -> list[T]:
        """Choose some of the options, in any order."""
        remaining = list(options)
        high = len(remaining) if at_most is None else min(at_most, len(remaining))
        count = self.integer(min(at_least, high), high)
        return [remaining.pop(self.integer(0, len(remaining) - 1)) for _ in range(count)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self.some(options, at_least=len(options))

    def integers(self, low: int, high: int, count: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]


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
def tensors(draw: Any, dims: Sequence[dt.Dim], dtype: str | None = None) -> DrawnTensor:
    """Draw a tensor on dims of known length, with values; see :class:`DrawnTensor`."""
    choose = Choose(draw)
    specs = [DimSpec(dim, len(dim), dim.coords) for dim in dims]
    return draw_tensor(choose, specs, "x", dtype or choose.one(["float64", "int64", "bool"]))


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


def draw_tensor(choose: Choose, specs: Sequence[DimSpec], name: str, dtype: str) -> DrawnTensor:
    """Choose values of a tensor on dims, which is an input or, at times, data."""
    array = _array(choose, specs, dtype)
    given = _in_another_order(choose, array, specs)
    own = [spec.dim for spec in choose.shuffled(specs)]
    if ANONYMOUS not in array.dims and choose.flag(4):
        by_name = {dim.name: dim for dim in own}
        return DrawnTensor(dt.data(given, dims=[by_name[n] for n in given.dims]), array, given)
    return DrawnTensor(dt.tensor(name, dims=own, dtype=dtype), array, given)
