"""Arrays of a call, and the slices of them that devices have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.compile.devices.shares import DeviceShares, DimCut
from dimtensor.compile.program import Program
from dimtensor.dims import Dim, Dims, ProductDim
from dimtensor.errors import GraphError


class SliceAxes(NamedTuple):
    """Axes of an array of the whole, and of the same in the code of a slice.

    Attributes
    ----------
    groups : list of list of int
        For each axis of the whole the lengths of its factors, more than one for a product dim.
    order : tuple of int
        Factors in the order of the slice.
    at : tuple of (int or None)
        For each cut the axis that is cut, in the order of the slice.
    """

    groups: list[list[int]]
    order: tuple[int, ...]
    at: tuple[int | None, ...]

    def enter(self, x: Any) -> Any:
        """Arrange an array of the whole."""
        shape = [
            n
            for group, size in zip(self.groups, x.shape, strict=True)
            for n in (group if len(group) > 1 else [size])
        ]
        return x.reshape(shape).transpose(self.order)

    def leave(self, x: Any) -> Any:
        """Arrange a slice like the whole, with the factors of product dims apart."""
        return x.transpose(tuple(int(at) for at in np.argsort(self.order)))

    def merge(self, x: Any) -> Any:
        """Merge the factors of product dims."""
        sizes = iter(x.shape)
        return x.reshape([math.prod(next(sizes) for _ in group) for group in self.groups])


class Segment(NamedTuple):
    """Rows of a cut dim, in slices of equal length for some devices.

    Attributes
    ----------
    first : int
        Position of the first slice.
    length : int
        Of a slice.
    holders : int
        Number of devices that have one.
    devices : int
        Number of all devices along the cut.
    """

    first: int
    length: int
    holders: int
    devices: int

    @property
    def is_full(self) -> bool:
        return self.holders == self.devices

    def rows(self, array: Any, at: int) -> Any:
        """Return the slices of all devices along an axis; those without one copy the last row."""
        rows = array[_along(at, self.first, self.first + self.holders * self.length)]
        if self.is_full:
            return rows
        return rows.take(np.minimum(np.arange(self.devices), self.holders - 1), axis=at)

    def held(self, array: Any, at: int) -> Any:
        """Return the rows among those of all devices that are no copies."""
        return array[_along(at, 0, self.holders * self.length)]


def segments(length: int, devices: int) -> list[Segment]:
    """Divide rows into equal slices, one for each device, and a remainder of single rows."""
    each, more = divmod(length, devices)
    found = [Segment(0, each, devices, devices)] if each or not more else []
    return [*found, Segment(each * devices, 1, more, devices)] if more else found


class WholeArrays:
    """The arrays of a call, and the lengths of dims.

    Attributes
    ----------
    lengths_cut : list of int
        Length of the dim of each cut.
    sources : list of Node, Dim or others
        What the arrays are: inputs, data, positions of labels.
    """

    def __init__(
        self, program: Program, n_inputs: int, shares: DeviceShares, lengths: Mapping[Dim, int]
    ):
        self.program = program
        self.n_inputs = n_inputs
        self.shares = shares
        self.lengths = dict(lengths)
        self.lengths_cut = [self._find_length(cut) for cut in shares.cuts]
        self.sources = [slot.source for slot in program.slots]
        self.inputs: list[Any] = self.sources[:n_inputs]

    def _find_length(self, cut: DimCut) -> int:
        for dim in sorted(cut.dims, key=lambda one: isinstance(one, ProductDim)):
            length = self.length_of(dim)
            if length is not None:
                for factor in self.shares.factors((dim,)):
                    if factor not in cut.dims:
                        length //= max(self.length_of(factor) or 1, 1)
                return length
        raise GraphError(f"the length of {cut.dim._title} comes with no input, and devices need it")

    def length_of(self, dim: Dim) -> int | None:
        """Return the length of a dim, if it is known."""
        return dim.length if dim.length is not None else self.lengths.get(dim)

    def _length(self, factor: Dim) -> int:
        number = self.shares.number_of(factor)
        return (self.length_of(factor) or 0) if number is None else self.lengths_cut[number]

    def axes(self, dims: Dims, local: Dims) -> SliceAxes:
        """Return how an array with dims of the whole is arranged along the dims of a slice."""
        shares = self.shares
        groups = [[*map(self._length, shares.factors((dim,)))] for dim in dims]
        factors = shares.factors(dims)
        replaced = [shares.local(dim) for dim in factors]
        order = tuple(replaced.index(dim) for dim in local)
        numbers = [shares.number_of(factors[axis]) for axis in order]
        cuts = range(len(shares.cuts))
        return SliceAxes(
            groups, order, tuple(numbers.index(at) if at in numbers else None for at in cuts)
        )


class DeviceArray(NamedTuple):
    """Array, and its axes that are cut into slices of equal length, one for each device.

    If it is stacked, these axes count devices, and come first; the code of a device does not have
    them.

    Attributes
    ----------
    array : array
    at : tuple of (int or None)
        For each cut the axis.
    is_stacked : bool
    """

    array: Any
    at: tuple[int | None, ...]
    is_stacked: bool = False

    def of_device(self, numbers: Sequence[int], counts: Sequence[int]) -> np.ndarray:
        """Return the slice of a device, by its number along each cut."""
        array = np.asarray(self.array)
        if self.is_stacked:
            pairs = zip(self.at, numbers, strict=True)
            return np.asarray(array[tuple(number for at, number in pairs if at is not None)])
        for at, number, count in zip(self.at, numbers, counts, strict=True):
            if at is not None:
                length = array.shape[at] // count
                array = array[_along(at, number * length, (number + 1) * length)]
        return np.ascontiguousarray(array).reshape(array.shape)


def _along(at: int, start: int, stop: int) -> tuple[slice, ...]:
    """Return the index of a slice along an axis."""
    return (*[slice(None)] * at, slice(start, stop))


def joined(
    blocks: Sequence[Any], parts: dict[int, list[Segment]], at: Mapping[int, int], xp: Any
) -> Any:
    """Join the blocks of an array, without copies of rows.

    Parameters
    ----------
    blocks : sequence of array
        For each combination of segments, those of the last cut first.
    parts : dict of int to list of Segment
        By cut.
    at : mapping of int to int
        Axes by cut.
    xp : module
        ``numpy`` or ``jax.numpy``.
    """
    found = [
        _held(block, zip(chosen, (at[cut] for cut in parts), strict=True))
        for block, chosen in zip(blocks, itertools.product(*parts.values()), strict=True)
    ]
    for cut, each in reversed(parts.items()):
        n = len(each)
        rows = [found[first : first + n] for first in range(0, len(found), n)]
        found = [one[0] if n == 1 else xp.concatenate(one, at[cut]) for one in rows]
    (whole,) = found
    return whole


def _held(block: Any, chosen: Any) -> Any:
    for segment, axis in chosen:
        if not segment.is_full:
            block = segment.held(block, axis)
    return block
