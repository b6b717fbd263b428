"""Arrays of a call, and the slices of them that devices have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dimtensor.compile.devices.mesh import DeviceShares
from dimtensor.compile.program import Program
from dimtensor.dims import Dim, Dims, ProductDim
from dimtensor.errors import GraphError


class SliceAxes(NamedTuple):
    """Axes of an array of the whole, and of the same in the code of a slice.

    Attributes
    ----------
    groups : list of list of (int or None)
        For each axis of the whole the lengths of its factors, more than one for a product dim. None
        is the dim that is cut.
    order : tuple of int
        Factors in the order of the slice.
    at : int or None
        The axis that is cut, in the order of the slice.
    """

    groups: list[list[int | None]]
    order: tuple[int, ...]
    at: int | None

    def enter(self, x: Any) -> Any:
        """Arrange an array of the whole."""
        shape: list[int] = []
        for group, size in zip(self.groups, x.shape, strict=True):
            others = math.prod(n for n in group if n is not None)
            rest = size // others if others else 0
            shape += [size] if len(group) == 1 else [rest if n is None else n for n in group]
        return x.reshape(shape).transpose(self.order)

    def leave(self, x: Any) -> Any:
        """Arrange a slice like the whole, with the factors of product dims apart."""
        return x.transpose(tuple(int(at) for at in np.argsort(self.order)))

    def merge(self, x: Any) -> Any:
        """Merge the factors of product dims."""
        sizes = iter(x.shape)
        return x.reshape([math.prod(next(sizes) for _ in group) for group in self.groups])


class WholeArrays:
    """The arrays of a call, and the lengths of dims.

    Attributes
    ----------
    length : int
        Length of the dim that is cut.
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
        self.length = self._find_length()
        self.sources = [slot.source for slot in program.slots]
        self.inputs: list[Any] = self.sources[:n_inputs]

    def _find_length(self) -> int:
        shares = self.shares
        for dim in sorted(shares.cut, key=lambda one: isinstance(one, ProductDim)):
            length = self.length_of(dim)
            if length is not None:
                for factor in shares.factors((dim,)):
                    if factor not in shares.cut:
                        length //= max(self.length_of(factor) or 1, 1)
                return length
        raise GraphError(
            f"the length of {shares.dim._title} comes with no input, and devices need it"
        )

    def length_of(self, dim: Dim) -> int | None:
        """Return the length of a dim, if it is known."""
        return dim.length if dim.length is not None else self.lengths.get(dim)

    def axes(self, dims: Dims, local: Dims) -> SliceAxes:
        """Return how an array with dims of the whole is arranged along the dims of a slice."""
        shares = self.shares
        groups = [
            [None if x in shares.cut else self.length_of(x) or 0 for x in shares.factors((dim,))]
            for dim in dims
        ]
        factors = shares.factors(dims)
        replaced = [shares.local(dim) for dim in factors]
        order = tuple(replaced.index(dim) for dim in local)
        cut = [at for at, axis in enumerate(order) if factors[axis] in shares.cut]
        return SliceAxes(groups, order, cut[0] if cut else None)


class DeviceArray(NamedTuple):
    """Array, and its axis that is cut into slices of equal length, one for each device.

    If it is stacked, the axis counts devices, and their code does not have it.
    """

    array: Any
    at: int | None
    is_stacked: bool = False

    def of_device(self, number: int, count: int) -> np.ndarray:
        """Return the slice of a device."""
        if self.at is None:
            return np.asarray(self.array)
        if self.is_stacked:
            return np.asarray(self.array[number])
        length = self.array.shape[self.at] // count
        taken = slice(number * length, (number + 1) * length)
        return np.ascontiguousarray(self.array[(*[slice(None)] * self.at, taken)])
