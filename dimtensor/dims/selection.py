"""Selections along one dim, normalized so that equal selections are equal objects."""

from __future__ import annotations

import hashlib
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dimtensor.arrays import array_of
from dimtensor.dims.coords import Coords
from dimtensor.dims.dim import Dim
from dimtensor.dims.labels import Labels, checked_label
from dimtensor.dims.slices import slice_positions
from dimtensor.errors import DimError, DtypeError, LabelError, PositionError, listing, plain_repr


class Selection:
    """The positions that a SelDim selects from its parent."""

    __slots__ = ()

    def length(self, parent_length: int | None) -> int | None:
        """Return the number of selected positions, None if not known yet."""
        raise TypeError(f"{type(self).__name__} does not say its length")

    def is_identity(self, parent_length: int | None) -> bool:
        """Return True if all positions are selected in order."""
        return False

    def take(self, labels: Coords) -> Coords | None:
        """Return the selected labels, None if not known yet."""
        return None

    def describe(self, labels: Coords | None) -> str:
        """Return the selection as source text, with labels if they are known."""
        return self.text

    @property
    def text(self) -> str:
        """The selection as source text between brackets, by positions."""
        return type(self).__name__


@dataclass(frozen=True, eq=False)
class Positions(Selection):
    """Selection by an array of positions, compared by value."""

    array: np.ndarray
    _key: tuple = field(init=False, repr=False)

    def __post_init__(self) -> None:
        array = np.ascontiguousarray(self.array, dtype=np.int64)
        array.flags.writeable = False
        object.__setattr__(self, "array", array)
        digest = hashlib.blake2b(array.tobytes(), digest_size=16).digest()
        object.__setattr__(self, "_key", (len(array), digest))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Positions) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple:
        return (Positions, (self.array,))

    def length(self, parent_length: int | None) -> int | None:
        return len(self.array)

    def is_identity(self, parent_length: int | None) -> bool:
        return parent_length == len(self.array) and bool(
            (self.array == np.arange(len(self.array))).all()
        )

    def take(self, labels: Coords) -> Coords:
        return labels.take(self.array)

    def to_array(self, parent_length: int | None) -> np.ndarray:
        return self.array

    def describe(self, labels: Coords | None) -> str:
        if labels is not None:
            return f"[{listing(labels.values[self.array], 4)}]"
        return f"positions=[{listing(self.array, 6)}]"

    @property
    def text(self) -> str:
        return f"[{listing(self.array, 6)}]"


@dataclass(frozen=True)
class Slice(Selection):
    """Slice of positions, as in Python."""

    start: int | None
    stop: int | None
    step: int = 1

    def as_slice(self) -> slice:
        return slice(self.start, self.stop, self.step)

    def length(self, parent_length: int | None) -> int | None:
        if parent_length is None:
            return None
        return len(range(*self.as_slice().indices(parent_length)))

    def is_identity(self, parent_length: int | None) -> bool:
        if self.step != 1:
            return False
        if parent_length is None:
            return self.start in (None, 0) and self.stop is None
        return self.as_slice().indices(parent_length) == (0, parent_length, 1)

    def take(self, labels: Coords) -> Coords:
        return labels.take(self.as_slice())

    def to_array(self, parent_length: int | None) -> np.ndarray:
        if parent_length is None:
            raise DimError("the positions of a slice are known once its dim has a length")
        return np.arange(*self.as_slice().indices(parent_length))

    def describe(self, labels: Coords | None) -> str:
        if labels is not None:
            return f"[{listing(labels.values[self.as_slice()], 4)}]"
        return self.text

    @property
    def text(self) -> str:
        ends = ["" if v is None else str(v) for v in (self.start, self.stop)]
        return ":".join(ends if self.step == 1 else [*ends, str(self.step)])


@dataclass(frozen=True)
class LateLabels(Selection):
    """Selection by labels of a dim whose labels come with the data."""

    labels: Labels

    def length(self, parent_length: int | None) -> int | None:
        return len(self.labels)

    def take(self, labels: Coords) -> Coords:
        return labels.take(labels.positions(self.labels))

    @property
    def text(self) -> str:
        return f"[{listing(self.labels, 4)}]"


@dataclass(frozen=True, eq=False)
class LateSlice(Selection):
    """Slice by label of a dim whose labels come with the data, as the length of the slice does."""

    start: Any
    stop: Any
    step: int | None = None

    @property
    def ends(self) -> Labels:
        """Start, stop and step."""
        return Labels((self.start, self.stop, self.step))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LateSlice) and self.ends == other.ends

    def __hash__(self) -> int:
        return hash(self.ends)

    def length(self, parent_length: int | None) -> int | None:
        return None

    def take(self, labels: Coords) -> Coords:
        return labels.take(self.resolve(labels, "the dim"))

    def resolve(self, labels: Coords | None, title: str) -> slice:
        """Return the slice of positions for labels, or for a dim without labels.

        Integers are positions of a dim without labels, with an exclusive end, as in xarray.

        Raises
        ------
        LabelError
            If an end is missing in the labels, or no integer for a dim without labels.
        """
        selection = slice(self.start, self.stop, self.step)
        if labels is not None:
            taken = slice_positions(labels, selection, title)
            if not isinstance(taken, slice):
                raise LabelError(
                    f"{title} has labels in no order, so a slice from {plain_repr(self.start)} to "
                    f"{plain_repr(self.stop)} is not one piece of it"
                )
            return taken
        ends = [end for end in (self.start, self.stop) if end is not None]
        if not all(is_position(end) for end in ends):
            raise no_labels(title, ends)
        return selection

    @property
    def text(self) -> str:
        ends = ["" if v is None else plain_repr(v) for v in (self.start, self.stop)]
        return ":".join(ends if self.step in (None, 1) else [*ends, plain_repr(self.step)])


@dataclass(frozen=True)
class Mask(Selection):
    """Selection of the positions where a boolean tensor is true; the key identifies the tensor."""

    key: Any

    def length(self, parent_length: int | None) -> int | None:
        return None

    @property
    def text(self) -> str:
        return "mask"


def is_position(label: object) -> bool:
    """Return True if a label can be a position of a dim without labels."""
    return isinstance(label, (int, np.integer)) and not isinstance(label, bool)


def no_labels(title: str, labels: Any) -> LabelError:
    """Return the error for a look-up in a dim without labels."""
    return LabelError(
        f"{title} has no labels to look up {listing(labels)}",
        hint="pass inputs with coords along the dim",
    )


def normalize_position(parent: Dim, position: Any) -> int:
    """Check a position, and make it nonnegative if the length of the dim is known.

    Raises
    ------
    PositionError
        If the position is outside of the dim.
    """
    position = int(position)
    length = parent.length
    if length is not None:
        if not -length <= position < length:
            raise PositionError(
                f"position {position} is outside of {parent._title} of length {length}"
            )
        return position % length
    return position


def normalize_selection(parent: Dim, selection: Any) -> Selection:
    """Return the canonical selection for a slice, list, array or boolean mask of positions.

    Raises
    ------
    PositionError
        If a position is outside of the dim.
    DimError
        If a mask does not have the length of the dim.
    DtypeError
        If the positions are neither integers nor booleans.
    """
    length = parent.length
    if isinstance(selection, Selection):
        return selection
    if isinstance(selection, slice):
        return _normalize_slice(parent, selection, length)
    array = array_of(selection, f"the positions along {parent._title}", gaps=False)
    if isinstance(selection, (list, tuple)) and array.dtype.kind in "iu":
        if any(isinstance(one, (bool, np.bool_)) for one in selection):
            raise DtypeError(
                f"positions along {parent._title} are integers or a mask, not both: "
                f"{listing(selection)}"
            )
    if array.ndim != 1:
        raise DimError(f"positions along {parent._title} are one-dimensional, not {array.shape}")
    if array.dtype == bool:
        if length is not None and len(array) != length:
            raise DimError(
                f"a mask of {len(array)} values does not fit {parent._title} of length {length}"
            )
        if length is None:
            raise DimError(
                f"a mask of constants needs a dim of known length, {parent!r} has none",
                hint="make the mask a dims-tensor with dt.data",
            )
        array = np.flatnonzero(array)
    elif array.size == 0:
        array = np.zeros(0, dtype=np.int64)
    elif array.dtype.kind not in "iu":
        raise DtypeError(f"positions along {parent._title} are integers, not {array.dtype}")
    if length is not None:
        outside = array[(array < -length) | (array >= length)]
        if outside.size:
            raise PositionError(
                f"positions {listing(outside)} are outside of {parent._title} of length {length}"
            )
        array = np.where(array < 0, array + length, array)
        return _positions_or_slice(array, length)
    return Positions(array)


def _normalize_slice(parent: Dim, selection: slice, length: int | None) -> Slice:
    given = (selection.start, selection.stop, selection.step)
    if any(hasattr(end, "known_values") and end.known_values() is None for end in given):
        raise DtypeError(
            f"a slice along {parent._title} ends at a number that is computed: its length "
            "would not be known before",
            hint=f"keep positions by a mask: x.isel({parent._short}=dt.arange(dim) < n)",
        )
    try:
        if any(isinstance(end, (bool, np.bool_)) for end in given):
            raise TypeError("a boolean is no position")
        start, stop, by = (None if end is None else operator.index(end) for end in given)
    except TypeError:
        low, high = map(plain_repr, given[:2])
        raise DtypeError(
            f"a slice of positions along {parent._title} goes from an integer to an integer, "
            f"not from {low} to {high}",
            hint=f"slice by label with sel: x.sel({parent._short}=slice({low}, {high}))",
        ) from None
    step = 1 if by is None else by
    if step == 0:
        raise PositionError("the step of a slice is not 0")
    if length is not None:
        taken = range(*slice(start, stop, step).indices(length))
        return _canonical_range(taken, length)
    if start == (0 if step > 0 else -1):
        start = None
    return Slice(start, stop, step)


def _canonical_range(taken: range, length: int) -> Slice:
    if len(taken) == 0:
        return Slice(0, 0, 1)
    step = taken.step if len(taken) > 1 else 1
    start, last = taken[0], taken[-1]
    stop = last + (1 if step > 0 else -1)
    return Slice(start, None if stop < 0 else stop, step)


def _positions_or_slice(array: np.ndarray, length: int) -> Selection:
    """Return a slice for evenly spaced positions, so that both spellings are equal."""
    if len(array) == 0:
        return Slice(0, 0, 1)
    steps = np.diff(array)
    if len(array) == 1 or (steps[0] != 0 and (steps == steps[0]).all()):
        step = int(steps[0]) if len(array) > 1 else 1
        first, last = int(array[0]), int(array[-1])
        return _canonical_range(range(first, last + (1 if step > 0 else -1), step), length)
    return Positions(array)


def resolve_labels(parent: Dim, labels: Any) -> Selection:
    """Return the selection for a list or slice of labels.

    Raises
    ------
    LabelError
        If a label is not in the dim.
    """
    known = parent._labels()
    if isinstance(labels, slice):
        if labels.start is labels.stop is labels.step is None:
            return Slice(None, None, 1)
        if known is None:
            ends = map(checked_label, Labels((labels.start, labels.stop, labels.step)))
            return LateSlice(*ends)
        return normalize_selection(parent, slice_positions(known, labels, parent._title))
    if isinstance(labels, str):
        raise LabelError(f"several labels of {parent._title} are a list, not the string {labels!r}")
    if known is not None:
        return normalize_selection(parent, known.positions(labels, parent._title))
    given = Coords(labels)  # checks them
    return LateLabels(Labels(labels if isinstance(labels, list) else given.to_list()))


def compose(parent: Dim, first: Selection, second: Selection) -> Selection | None:
    """Compose two selections into one of the parent; None if that is not possible."""
    static = (Positions, Slice)
    if isinstance(first, Positions) or (isinstance(first, Slice) and parent.length is not None):
        if isinstance(second, static):
            positions = first.to_array(parent.length)
            taken = positions[
                second.as_slice() if isinstance(second, Slice) else second.to_array(len(positions))
            ]
            return normalize_selection(parent, taken)
        return None
    if isinstance(first, Slice) and isinstance(second, Slice):
        return _compose_open_slices(first, second)
    return None


def _compose_open_slices(first: Slice, second: Slice) -> Slice | None:
    """``x[a:-b][c:-d]`` is ``x[a + c:-(b + d)]`` whatever the length; other forms stay nested."""

    def trims(selection: Slice) -> tuple[int, int] | None:
        start, stop = selection.start or 0, selection.stop or 0
        open_stop = selection.stop is None or selection.stop < 0
        return (start, -stop) if selection.step == 1 and start >= 0 and open_stop else None

    one, two = trims(first), trims(second)
    if one is None or two is None:
        return None
    start, end = one[0] + two[0], one[1] + two[1]
    return Slice(start or None, -end if end else None, 1)
