"""Derived dims with positions that carry no label: padded ones and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.dims.dim import Dim
from dimtensor.errors import DimError

if TYPE_CHECKING:
    from dimtensor.dims.binding import Binding


class PadDim(Dim):
    """A dim with unlabelled positions added before and after.

    Examples
    --------
    >>> PadDim(Dim("t", coords=[1, 2]), 1, 0).coords.tolist()
    [nan, 1.0, 2.0]
    """

    __slots__ = ("after", "before", "parent")

    parent: Dim
    before: int
    after: int

    def __new__(cls, parent: Dim, before: int, after: int) -> Any:
        if before < 0 or after < 0:
            raise DimError(f"{parent.title} cannot be padded by {before} and {after} positions")
        if before == after == 0:
            return parent
        length = None if parent.length is None else parent.length + before + after
        dim = cls._intern((parent, before, after), parent.name, length)
        dim.parent, dim.before, dim.after = parent, before, after
        return dim

    @property
    def bases(self) -> tuple[Dim, ...]:
        return self.parent.bases

    @property
    def parents(self) -> tuple[Dim, ...]:
        return (self.parent,)

    def _derive_labels(self) -> Coords | None:
        return self._padded(self.parent._labels())

    def _padded(self, labels: Coords | None) -> Coords | None:
        if labels is None:
            return None
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

    def bound_length(self, binding: Binding) -> int | None:
        known = self._length if self._length is not None else binding.length(self)
        if known is not None:
            return known
        length = self.parent.bound_length(binding)
        return None if length is None else length + self.before + self.after

    def bound_labels(self, binding: Binding) -> Coords | None:
        labels = self._labels()
        if labels is None:
            labels = binding.labels(self)
        return self._padded(self.parent.bound_labels(binding)) if labels is None else labels

    def __reduce__(self) -> tuple:
        return (PadDim, (self.parent, self.before, self.after))

    def __repr__(self) -> str:
        return f"PadDim({self.parent.short}, {self.before}, {self.after})"


class SortedDim(Dim):
    """Ranks along a parent dim: position 0 holds the smallest element. It has no labels.

    Examples
    --------
    >>> ranks = SortedDim(Dim("t", coords=["a", "b"]))
    >>> len(ranks), ranks.coords
    (2, None)
    """

    __slots__ = ("parent",)

    parent: Dim

    def __new__(cls, parent: Dim) -> Any:
        dim = cls._intern((parent,), parent.name, parent._length)
        dim.parent = parent
        return dim

    @property
    def length(self) -> int | None:
        return self.parent.length

    @property
    def bases(self) -> tuple[Dim, ...]:
        return self.parent.bases

    @property
    def parents(self) -> tuple[Dim, ...]:
        return (self.parent,)

    def bound_length(self, binding: Binding) -> int | None:
        known = binding.length(self)
        return self.parent.bound_length(binding) if known is None else known

    def __reduce__(self) -> tuple:
        return (SortedDim, (self.parent,))

    def __repr__(self) -> str:
        return f"SortedDim({self.parent.short})"
