"""Selected, renamed, concatenated, padded and sorted dims."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims.algebra import in_order
from dimtensor.dims.coords import Coords, joined
from dimtensor.dims.derivation import ChildDim, DerivedDim, family
from dimtensor.dims.dim import Dim, NamedDim
from dimtensor.dims.selection import (
    LateLabels,
    LateSlice,
    Mask,
    Positions,
    Selection,
    Slice,
    compose,
    is_position,
    normalize_selection,
    resolve_labels,
)
from dimtensor.errors import DimError, printable

if TYPE_CHECKING:
    from dimtensor.dims.binding import Binding
    from dimtensor.typing import Indexer


class SelDim(ChildDim):
    """Selection of positions of a parent dim, in any order.

    Parameters
    ----------
    parent : Dim
        The dim selected from.
    labels : list or slice of labels, optional
        Labels; if the parent has no labels yet, they are looked up in those of the data.
    positions : list, ndarray, slice or boolean mask, optional
        Positions instead of labels.

    Returns
    -------
    Dim
        A SelDim; the parent itself if all positions are selected in order. Equal selections are the
        same dim.

    Raises
    ------
    LabelError, PositionError
        If a label or position is not in the parent.

    Examples
    --------
    >>> country = Dim("country", coords=["Italy", "Kenya", "USA"])
    >>> SelDim(country, ["USA", "Italy"]) == SelDim(country, positions=[2, 0])
    True
    >>> SelDim(country, positions=slice(None, None, -1)).coords.tolist()
    ['USA', 'Kenya', 'Italy']
    """

    __slots__ = ("selection",)

    _recipe = "selection"
    _named_as_parent = True
    _mixes = "a selection by position or by a mask"

    selection: Selection

    def __new__(
        cls, parent: Dim, labels: Indexer | None = None, *, positions: Indexer | None = None
    ) -> Any:
        if (labels is None) == (positions is None):
            raise DimError("a SelDim takes either labels or positions")
        if labels is not None:
            return cls._from(parent, resolve_labels(parent, labels))
        return cls._from(parent, normalize_selection(parent, positions))

    @classmethod
    def _from(cls, parent: Dim, selection: Selection) -> Dim:
        """Return the canonical dim of a normalized selection.

        Parameters
        ----------
        parent : Dim
        selection : Selection

        Returns
        -------
        Dim

        Examples
        --------
        >>> from dimtensor.dims.selection import normalize_selection
        >>> t = Dim("t", length=3)
        >>> SelDim._from(t, normalize_selection(t, slice(0, 3))) is t
        True
        """
        if isinstance(parent, RenamedDim):
            inner = cls._from(parent.parent, selection)
            return RenamedDim(inner, parent.name)
        if isinstance(parent, SelDim):
            composed = compose(parent.parent, parent.selection, selection)
            if composed is not None:
                return cls._from(parent.parent, composed)
        if selection.is_identity(parent.length):
            return parent
        key, length = (parent, selection), selection.length(parent.length)
        return cls._intern(key, parent.name, length, parent=parent, selection=selection)

    def _settle(self) -> None:  # the length is known, or comes with the data
        self._check_parents()

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        return cls._from(parents[0], *options)

    @property
    def _options(self) -> tuple:
        return (self.selection,)

    def _length_from(self, lengths: Sequence[Any]) -> Any:
        return self.selection.length(lengths[0])

    def _text(self, parents: Sequence[str]) -> str:
        return f"SelDim({parents[0]}, {self.selection.text})"

    def _is_cut_with(self, dims: Collection[Dim]) -> bool:
        return isinstance(self.selection, Mask) and self.parent in dims

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        return None if labels[0] is None else self.selection.take(labels[0])

    def _derive_labels(self) -> Coords | None:
        labels = self.parent._labels()
        if labels is None:
            late = isinstance(self.selection, LateLabels)
            # integers may turn out to be positions of a dim that gets no labels
            if late and not all(map(is_position, self.selection.labels)):  # type: ignore[attr-defined]
                return Coords(list(self.selection.labels))  # type: ignore[attr-defined]
            return None
        return self.selection.take(labels)

    def _labels_at(self, positions: np.ndarray) -> Sequence[Any] | None:
        length = self.parent.length
        if length is None or not isinstance(self.selection, (Positions, Slice)):
            return super()._labels_at(positions)
        return self.parent._labels_at(self.selection.to_array(length)[positions])

    def _bound_length(self, binding: Binding) -> int | None:
        known = super()._bound_length(binding)
        if known is not None:
            return known
        if isinstance(self.selection, Mask):
            mask = binding.masks.get(self.selection.key)
            return None if mask is None else int(mask.sum())
        if isinstance(self.selection, LateSlice):
            length = self.parent._bound_length(binding)
            if length is None:
                return None
            taken = self.selection.resolve(self.parent._bound_labels(binding), self.parent._title)
            return len(range(*taken.indices(length)))
        return None

    def _bound_labels(self, binding: Binding) -> Coords | None:
        late = isinstance(self.selection, LateLabels)  # dates have several spellings
        parent = self.parent._bound_labels(binding) if late else None
        labels = self._labels() if parent is None else None
        if labels is None:
            labels = binding.labels(self)
        if labels is not None:
            return labels
        parent = self.parent._bound_labels(binding) if parent is None else parent
        if parent is None:
            return None
        if isinstance(self.selection, Mask):
            mask = binding.masks.get(self.selection.key)
            return None if mask is None else parent.take(mask)
        return self.selection.take(parent)

    @printable
    def __repr__(self) -> str:
        parent = self.parent.name if self.parent.name is not None else repr(self.parent)
        # a repr does not compute many labels
        known = self.parent._cached_coords is not None or (self.parent.length or 0) <= 1000
        labels = self.parent._labels() if known else None
        return f"SelDim({parent}, {self.selection.describe(labels)})"


class RenamedDim(ChildDim):
    """A dim under another name, with the length and labels of its parent.

    Parameters
    ----------
    parent : Dim
    name : str, optional
        By default the name of the parent with a prime.

    Returns
    -------
    Dim
        Renaming twice is renaming once, and renaming back gives the parent.

    Raises
    ------
    DimError
        If no name is given and the parent has none.

    Examples
    --------
    >>> country = Dim("country", coords=["Italy", "Kenya"])
    >>> RenamedDim(country).coords.tolist()
    ['Italy', 'Kenya']
    >>> RenamedDim(RenamedDim(country, "land"), "country") is country
    True
    """

    __slots__ = ()

    _recipe = "renamed"
    _mixes = None

    def __new__(cls, parent: Dim, name: str | None = None) -> Any:
        if name is None:
            if parent.name is None:
                raise DimError("an anonymous dim is renamed to a name that is given")
            name = parent.name + "'"
        if not isinstance(name, str) or not name:
            raise DimError(f"the name of a dim is a non-empty string, not {name!r}")
        if isinstance(parent, RenamedDim):
            parent = parent.parent
        if parent.name == name:
            return parent
        return cls._intern((parent, name), name, parent=parent)

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        return cls(parents[0], name)

    @property
    def _unrenamed(self) -> Dim:
        return self.parent

    @property
    def _within(self) -> Dim | None:
        return self.parent._within

    def _is_cut_with(self, dims: Collection[Dim]) -> bool:
        return self.parent in dims

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        return labels[0]

    def _labels_at(self, positions: np.ndarray) -> Sequence[Any] | None:
        return self.parent._labels_at(positions)

    def _text(self, parents: Sequence[str]) -> str:
        return f"RenamedDim({parents[0]}, {self.name!r})"

    def _bound_labels(self, binding: Binding) -> Coords | None:
        return self.parent._bound_labels(binding)

    @printable
    def __repr__(self) -> str:
        parent = self.parent.name if type(self.parent) is NamedDim else None
        return f"RenamedDim({parent or repr(self.parent)}, {self.name!r})"


def mask_keys(dim: Dim) -> Iterator[Any]:
    """Iterate over the keys of the masks that a dim depends on."""
    for one in family(dim) if dim.parents else ():
        if isinstance(one, SelDim) and isinstance(one.selection, Mask):
            yield one.selection.key


def depends_on_mask(dim: Dim) -> bool:
    """Return True if a dim is derived from a selection by a mask."""
    return any(True for _ in mask_keys(dim))


def has_run_time_length(dim: Dim) -> bool:
    """Return True if the length of a dim depends on values, such as those of a mask."""
    return any(
        isinstance(one, SelDim) and isinstance(one.selection, (Mask, LateSlice))
        for one in family(dim)
    )


class ConcatDim(DerivedDim):
    """Concatenation of dims.

    Selections of the same parent are combined into one selection of it, so that splitting a dim and
    concatenating the parts gives the dim itself.

    Parameters
    ----------
    parts : sequence of Dim
    name : str, optional
        Required if the parts have different names.

    Raises
    ------
    DimError
        If the parts have different names and no name is given.

    Examples
    --------
    >>> old, new = Dim("t", coords=[1, 2]), Dim("t", coords=[3])
    >>> ConcatDim([old, new]).coords.tolist()
    [1, 2, 3]
    """

    __slots__ = ("parts",)

    _recipe = "concat"
    _mixes = "a concatenation"

    parts: tuple[Dim, ...]

    def __new__(cls, parts: Iterable[Dim], name: str | None = None) -> Any:
        parts = in_order(parts, "the parts of a ConcatDim")
        names = {part.name for part in parts}
        if not parts:
            raise DimError("a ConcatDim has at least one part")
        if name is None:
            if len(names) > 1 or None in names:
                raise DimError(
                    "dims of different names are joined, and the whole has no name",
                    [("parts", ", ".join(map(repr, parts)))],
                    "pass name= for it",
                )
            (name,) = names
        if len(parts) == 1:
            return parts[0] if parts[0].name == name else RenamedDim(parts[0], name)
        whole = _reassembled(parts)
        if whole is not None:
            return whole if whole.name == name else RenamedDim(whole, name)
        return cls._intern((parts, name), name, parts=parts)

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        return cls(parents, name)

    @property
    def parents(self) -> tuple[Dim, ...]:
        return self.parts

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        return sum(lengths)

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        known = [part for part in labels if part is not None]
        return None if len(known) < len(labels) else joined(known)

    def _text(self, parents: Sequence[str]) -> str:
        return f"ConcatDim([{', '.join(parents)}])"

    @printable
    def __repr__(self) -> str:
        return f"ConcatDim([{', '.join(map(repr, self.parts))}], {self.name!r})"


def _reassembled(parts: tuple[Dim, ...]) -> Dim | None:
    """Combine selections of the same parent into one; None if they are not of one parent."""
    parts = tuple(part._unrenamed for part in parts)
    sources = [part.parent if isinstance(part, SelDim) else part for part in parts]
    if len(set(sources)) != 1 or sources[0].length is None:
        return None
    positions = []
    for part in parts:
        if part is sources[0]:
            positions.append(np.arange(len(part)))
        elif isinstance(part, SelDim) and isinstance(part.selection, (Positions, Slice)):
            positions.append(part.selection.to_array(sources[0].length))
        else:
            return None
    return SelDim(sources[0], positions=np.concatenate(positions))


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
    _mixes = "padding"
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
    _mixes = "sorting"
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
