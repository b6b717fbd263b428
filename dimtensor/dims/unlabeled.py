"""Derived dims with positions that carry no label: padded ones and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.dims.derivation import ChildDim
from dimtensor.dims.dim import Dim
from dimtensor.errors import DimError, printable


class PadDim(ChildDim):
    """A dim with unlabeled positions added before and after.

    Parameters
    ----------
    parent : Dim
    before, after : int
        Numbers of positions that are added.

    Examples
    --------
    >>> PadDim(Dim("t", coords=[1, 2]), 1, 0).coords.tolist()
    [nan, 1.0, 2.0]
    """

    __slots__ = ("after", "before")

    _recipe = "pad"
    _named_as_parent = True

    before: int
    after: int

    def __new__(cls, parent: Dim, before: int, after: int) -> Any:
        if before < 0 or after < 0:
            raise DimError(f"{parent._title} cannot be padded by {before} and {after} positions")
        if before == after == 0:
            return parent
        key = (parent, before, after)
        return cls._intern(key, parent.name, parent=parent, before=before, after=after)

    @property
    def _options(self) -> tuple:
        return (self.before, self.after)

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        return lengths[0] + self.before + self.after

    def _is_longer_than(self, other: Dim) -> bool:  # as of any dim
        return other is self.parent

    def _text(self, parents: Sequence[str]) -> str:
        return f"PadDim({parents[0]}, {self.before}, {self.after})"

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        return None if labels[0] is None else self._padded(labels[0])

    def _padded(self, labels: Coords) -> Coords:
        values = labels.values
        missing: Any
        exact = values.dtype.kind not in "iu" or not ((values > 2**53) | (values < -(2**53))).any()
        if values.dtype.kind in "iuf" and exact:
            missing, dtype = np.nan, np.dtype(float)
        elif values.dtype.kind in "mM":
            missing, dtype = np.array("NaT", dtype=values.dtype), values.dtype
        else:
            missing, dtype = np.nan, np.dtype(object)
        if labels.extension is not None:
            import pandas as pd

            around = [*[missing] * self.before, *values, *[missing] * self.after]
            try:
                return Coords(pd.Index(around, dtype=labels.extension))
            except ValueError:  # intervals of integers hold no missing one, those of floats do
                return Coords(pd.Index(around))
        padded = np.full(len(values) + self.before + self.after, missing, dtype=dtype)
        padded[self.before : self.before + len(values)] = values
        return Coords(padded)

    @printable
    def __repr__(self) -> str:
        return f"PadDim({self.parent._short}, {self.before}, {self.after})"


class SortedDim(ChildDim):
    """Ranks along a parent dim: position 0 holds the smallest element. It has no labels.

    Parameters
    ----------
    parent : Dim

    Examples
    --------
    >>> ranks = SortedDim(Dim("t", coords=["a", "b"]))
    >>> len(ranks), ranks.coords
    (2, None)
    """

    __slots__ = ()

    _recipe = "sorted"
    _named_as_parent = True

    def __new__(cls, parent: Dim) -> Any:
        return cls._intern((parent,), parent.name, parent=parent)

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        return None

    def _text(self, parents: Sequence[str]) -> str:
        return f"SortedDim({parents[0]})"

    @printable
    def __repr__(self) -> str:
        return f"SortedDim({self.parent._short})"
