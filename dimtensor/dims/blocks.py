"""Blocks of neighbouring positions of a dim, as positions of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.dims.derivation import DerivedDim
from dimtensor.dims.dim import Dim
from dimtensor.errors import DimError, build_message, printable


class BlockDim(DerivedDim):
    """Blocks of a number of positions of a dim.

    Its labels are the means of the labels of each block where these are numbers, dates or
    durations, and else the first one of each.

    Parameters
    ----------
    parent : Dim
    size : int
        Positions of a block.
    boundary : {"exact", "trim", "pad"}
        What becomes of positions that fill no block: there must be none, they are left out, or
        they make a block that is not full.
    side : {"left", "right"}
        Whether the first block begins at the first position, or the last one ends at the last.

    Raises
    ------
    DimError
        If the length is no multiple of `size` and has to be; where the length comes with the data,
        when it does.

    Examples
    --------
    >>> BlockDim(Dim("day", coords=[1, 2, 3, 4, 5]), 2, "trim", "left").coords.tolist()
    [1.5, 3.5]
    """

    __slots__ = ("boundary", "parent", "side", "size")

    _recipe = "blocks"
    _named_as_parent = True

    parent: Dim
    size: int
    boundary: str
    side: str

    def __new__(cls, parent: Dim, size: int, boundary: str = "exact", side: str = "left") -> Any:
        key = (parent, size, boundary, side)
        return cls._intern(key, parent.name, parent=parent, size=size, boundary=boundary, side=side)

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        return cls(parents[0], *options)

    @property
    def parents(self) -> tuple[Dim, ...]:
        return (self.parent,)

    @property
    def _options(self) -> tuple:
        return (self.size, self.boundary, self.side)

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        length = lengths[0]
        if self.boundary == "pad":
            return (length + self.size - 1) // self.size
        if self.boundary == "exact" and isinstance(length, int) and length % self.size:
            raise DimError(
                build_message(
                    f"{self.parent._title} has {length} positions, which are no multiple of blocks "
                    f"of {self.size}",
                    [("dim", repr(self.parent))],
                    "boundary='trim' leaves out what fills no block, boundary='pad' fills it up",
                )
            )
        return length // self.size

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        if labels[0] is None:
            return None
        ends = self.ends(len(labels[0]))
        values = labels[0].values
        kind = values.dtype.kind
        if labels[0].extension is not None or kind not in "iufmM":
            return labels[0].take(np.array([first for first, _ in ends], dtype=np.int64))
        if kind in "mM":
            known = values.astype(f"{kind}8[ns]")
            centres = [_whole_mean(known[first:last]) for first, last in ends]
            return Coords(np.array(centres, dtype="i8").view(f"{kind}8[ns]"))
        return Coords(np.array([_mean(values[first:last]) for first, last in ends], dtype=float))

    def ends(self, length: int) -> list[tuple[int, int]]:
        """First position of each block of a dim of a length, and the one after its last.

        Parameters
        ----------
        length : int

        Returns
        -------
        list of (int, int)

        Examples
        --------
        >>> BlockDim(Dim("day"), 2, "pad", "right").ends(3)
        [(0, 1), (1, 3)]
        """
        blocks = int(self._length_of_parents([length]))
        start = 0 if self.side == "left" else length - blocks * self.size
        return [
            (max(at, 0), min(at + self.size, length))
            for at in range(start, start + blocks * self.size, self.size)
        ]

    def _text(self, parents: Sequence[str]) -> str:
        return f"BlockDim({parents[0]}, {self.size}, {self.boundary!r}, {self.side!r})"

    def __reduce__(self) -> tuple:
        return (BlockDim, (self.parent, *self._options))

    @printable
    def __repr__(self) -> str:
        return f"BlockDim({self.parent._short}, {self.size})"


def _mean(values: np.ndarray) -> float:
    """The mean of numbers that are not NaN; NaN of none."""
    known = values[values == values]
    return float(np.mean(known)) if len(known) else math.nan


def _whole_mean(values: np.ndarray) -> int:
    """The mean of times that are not NaT, as an integer, without overflow; NaT of none."""
    known = values[~np.isnat(values)].view("i8")
    if not len(known):
        return int(values[:1].view("i8")[0])
    first = int(known[0])
    return first + int(np.sum(known - first)) // len(known)
