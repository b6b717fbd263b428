"""Bindings: the lengths, labels and masks of dims in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dimtensor.dims.coords import Coords
from dimtensor.dims.dim import Dim, dim_labels
from dimtensor.errors import LISTED, DimError, LabelError, listing, plain_repr


class RowNumbers(Coords):
    """Default index of a table, 0 to n - 1: labels only if other inputs have labels of its dim.

    Parameters
    ----------
    n : int
        Number of rows.
    """

    def __init__(self, n: int):
        super().__init__(np.arange(n))

    @cached_property
    def key(self) -> tuple:
        return ("rows", len(self))

    def __reduce__(self) -> tuple:
        return (RowNumbers, (len(self),))


# how data without a name begin in the sources of a binding
UNNAMED_DATA = "an unnamed data tensor"


class Binding:
    """Lengths and labels of dims, collected from the inputs of one call.

    Every entry has its source, so that an error of a disagreement names both inputs. Entries of a
    renamed dim are those of the dim that it renames.
    """

    def __init__(self, masks: Mapping[Any, np.ndarray] | None = None):
        self._lengths: dict[Dim, tuple[int, str]] = {}
        self._labels: dict[Dim, tuple[Coords, str]] = {}
        self._numbers_count = False  # whether row numbers are used as labels
        self.masks: dict[Any, np.ndarray] = dict(masks or {})

    def length(self, dim: Dim) -> int | None:
        entry = self._lengths.get(dim._unrenamed)
        return None if entry is None else entry[0]

    def labels(self, dim: Dim) -> Coords | None:
        said = self.said(dim)
        return said if self._numbers_count or not isinstance(said, RowNumbers) else None

    def said(self, dim: Dim) -> Coords | None:
        """Return the labels of a dim, including row numbers, which are only compared."""
        entry = self._labels.get(dim._unrenamed)
        return None if entry is None else entry[0]

    def copy(self) -> Binding:
        other = Binding(self.masks)
        other._lengths = dict(self._lengths)
        other._labels = dict(self._labels)
        return other

    def add_length(self, dim: Dim, length: int, source: str) -> None:
        """Record the length that an input has along a dim.

        Raises
        ------
        DimError
            If the dim, or another input, has another length.
        """
        known = self._lengths.get(dim._unrenamed)
        if known is None:
            if dim.length is not None and dim.length != length:
                raise DimError(
                    f"{dim._title} has length {dim.length}, {source} has length {length} along it",
                    [("dim", repr(dim))],
                )
            self._lengths[dim._unrenamed] = (length, source)
        elif known[0] != length:
            unnamed = any(text.startswith(UNNAMED_DATA) for text in (known[1], source))
            raise DimError(
                f"inputs disagree about the length of {dim._title}",
                [(known[1], known[0]), (source, length)],
                "data with a name take other values: dt.data(..., name='x')" if unnamed else None,
            )

    def add_labels(self, dim: Dim, labels: Coords, source: str) -> None:
        """Record the labels that an input has along a dim without labels of its own.

        Equal labels of another input replace row numbers.

        Raises
        ------
        LabelError
            If another input has other labels.
        """
        known = self._labels.get(dim._unrenamed)
        if known is None:
            self._labels[dim._unrenamed] = (labels, source)
        elif not known[0].same_labels(labels):
            raise LabelError(
                f"inputs disagree about the labels of {dim._title}",
                [
                    (known[1], listing(known[0].values)),
                    (source, listing(labels.values)),
                    *_first_difference(known[0], labels),
                ],
                _way_out(known[0], labels),
            )
        elif isinstance(known[0], RowNumbers):
            self._labels[dim._unrenamed] = (labels, source)

    def check_derived(self) -> None:
        """Check lengths and labels of derived dims against those of their parents.

        Labels of parents that follow from the labels of a derived dim are recorded first.

        Raises
        ------
        DimError, LabelError
            If an input on a derived dim disagrees with the inputs on its parents.
        """
        told = [(dim, *entry) for dim, entry in self._labels.items()]
        while told:
            dim, labels, source = told.pop()
            if isinstance(labels, RowNumbers):
                continue
            for parent, own in dim._told_by(labels):
                self.add_length(parent, len(own), source)
                if dim_labels(parent) is None:
                    self.add_labels(parent, own, source)
                    told.append((parent._unrenamed, own, source))
        for dim, (length, source) in list(self._lengths.items()):
            if not dim.parents:
                continue
            implied = self.without([dim])
            expected = dim._bound_length(implied)
            if expected is not None and expected != length:
                raise DimError(
                    f"{source} has length {length} along {dim!r}, {expected} follows from "
                    "the other inputs"
                )
        for dim, (labels, source) in list(self._labels.items()):
            if not dim.parents:
                continue
            others = self.without([dim])
            others._numbers_count = not isinstance(labels, RowNumbers)
            implied_labels = dim._bound_labels(others)
            if implied_labels is not None and not implied_labels.same_labels(labels):
                raise LabelError(
                    f"{source} has other labels along {dim!r} than follow from the other inputs",
                    [
                        (source, listing(labels.values)),
                        ("expected", listing(implied_labels.values)),
                    ],
                )

    def without(self, dims: Iterable[Dim]) -> Binding:
        """Return a copy without the entries of some dims."""
        other = self.copy()
        for dim in dims:
            other._lengths.pop(dim, None)
            other._labels.pop(dim, None)
        return other


def _way_out(one: Coords, other: Coords) -> str:
    way = "align them with dt.align(..., join=...) or reindex one before the call"
    if isinstance(one, RowNumbers) or isinstance(other, RowNumbers):
        way += "; where rows belong together by position, pass values.to_numpy()"
    return way


def _first_difference(one: Coords, other: Coords) -> list[tuple[str, str]]:
    """Describe the first position at which labels differ, unless a listing shows it."""
    at = one.first_difference(other)
    if at is None:
        return [("numbers of labels", f"{len(one)} and {len(other)}")]
    if at < LISTED:
        return []
    labels = (plain_repr(side.values[at]) for side in (one, other))
    return [(f"at position {at}", " and ".join(labels))]
