"""Blocks of consecutive positions of a dim, as the positions of a derived dim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.dims.derivation import ChildDim
from dimtensor.dims.dim import Dim
from dimtensor.errors import DimError, printable


class BlockDim(ChildDim):
    """Dim of the blocks of a fixed number of consecutive positions.

    The label of a block is the mean of its numbers, dates or durations, and the first of its labels
    of other kinds.

    Parameters
    ----------
    parent : Dim
    size : int
        Positions of a block.
    boundary : {"exact", "trim", "pad"}
        What to do with positions that do not fill a block: raise, drop them, or add a shorter
        block.
    side : {"left", "right"}
        Whether the first block begins at the first position, or the last one ends at the last.

    Raises
    ------
    DimError
        If `boundary` is "exact" and the length is not a multiple of `size`; a length that comes
        with the data is checked at the call.

    Examples
    --------
    >>> BlockDim(Dim("day", coords=[1, 2, 3, 4, 5]), 2, "trim", "left").coords.tolist()
    [1.5, 3.5]
    """

    __slots__ = ("boundary", "side", "size")

    _recipe = "blocks"
    _mixes = "cutting into blocks"
    _named_as_parent = True

    size: int
    boundary: str
    side: str

    def __new__(cls, parent: Dim, size: int, boundary: str = "exact", side: str = "left") -> Any:
        key = (parent, size, boundary, side)
        return cls._intern(key, parent.name, parent=parent, size=size, boundary=boundary, side=side)

    @property
    def _options(self) -> tuple:
        return (self.size, self.boundary, self.side)

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        length = lengths[0]
        if self.boundary == "pad":
            return (length + self.size - 1) // self.size
        if self.boundary == "exact" and isinstance(length, int) and length % self.size:
            raise DimError(
                f"{self.parent._title} has {length} positions, which are no multiple of blocks "
                f"of {self.size}",
                [("dim", repr(self.parent))],
                "boundary='trim' leaves out what fills no block, boundary='pad' fills it up",
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
            centers = [_whole_mean(known[first:last]) for first, last in ends]
            return Coords(np.array(centers, dtype="i8").view(f"{kind}8[ns]"))
        return Coords(np.array([_mean(values[first:last]) for first, last in ends], dtype=float))

    def ends(self, length: int) -> list[tuple[int, int]]:
        """Return the first position of each block, and the position after its last.

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

    @printable
    def __repr__(self) -> str:
        return f"BlockDim({self.parent._short}, {self.size})"


def _mean(values: np.ndarray) -> float:
    """Return the mean of the numbers that are not NaN; NaN if there are none."""
    known = values[values == values]
    return float(np.mean(known)) if len(known) else math.nan


def _whole_mean(values: np.ndarray) -> int:
    """Return the mean of the times that are not NaT as an integer; NaT if there are none."""
    known = values[~np.isnat(values)].view("i8")
    if not len(known):
        return int(values[:1].view("i8")[0])
    first = int(known[0])
    return first + int(np.sum(known - first)) // len(known)
