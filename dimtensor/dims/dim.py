"""Dims, interned by value: equal dims are the same object."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dimtensor.arrays import meant_integer
from dimtensor.dims.coords import Coords
from dimtensor.errors import DimError, LabelError, listing, named_after, plain_repr, prefixed
from dimtensor.hooks import Hook
from dimtensor.interning import Interned
from dimtensor.renderers import html
from dimtensor.spellings import no_attribute_of_dim, spelled

if TYPE_CHECKING:
    import pandas as pd

    from dimtensor.dims.binding import Binding
    from dimtensor.dims.calendar import CalendarParts
    from dimtensor.dims.derivation import DerivedDim
    from dimtensor.typing import ArrayLike, Frequency, Label

_interned: Interned[Dim] = Interned()
DERIVED: dict[str, type[DerivedDim]] = {}  # classes of derived dims by recipe
calendar_parts = Hook("calendar parts")
extend_dim = Hook("more dates")
_creation_number = itertools.count()
MOST_POSITIONS = 2**62  # they are 64-bit integers


@named_after
class Dim:
    """A named dimension, or an anonymous one.

    Two named dims are the same dim if their names and labels (or lengths) are equal.
    ``Dim()`` is anonymous and equal only to itself.

    Parameters
    ----------
    name : str, optional
        What the dim is called in look-ups such as ``x.sum("country")`` and in xarray.
    coords : sequence, optional
        One label per position. Without labels, labels may arrive with the data.
    length : int, optional
        Number of positions of a dim without labels. Without both, it arrives with the data.

    Raises
    ------
    DimError
        If the name is no string, the length negative, above 2**62 or not the number of labels.
    LabelError
        If labels are not unique, or no list of single values.
    InputError
        If a label is masked.

    Examples
    --------
    >>> country = Dim("country", coords=["Italy", "Kenya", "USA"])
    >>> len(country), country["Kenya"]
    (3, 1)
    >>> country == Dim("country", coords=["Italy", "Kenya", "USA"])
    True
    >>> Dim() == Dim()
    False
    >>> country[["USA", "Italy"]]
    SelDim(country, ['USA', 'Italy'])
    """

    __slots__ = ("__weakref__", "_cached_coords", "_length", "_serial", "name")

    name: str | None
    _length: int | None
    _serial: int
    _cached_coords: Coords | None

    @spelled("Dim")
    def __new__(
        cls, name: str | None = None, coords: ArrayLike | None = None, length: int | None = None
    ) -> Any:
        if cls is not Dim:
            raise TypeError(f"{cls.__name__} defines its own constructor")
        if name is not None and not (isinstance(name, str) and name):
            raise DimError(f"the name of a dim is a non-empty string, not {name!r}")
        if coords is not None:
            coords = _valid_coords(coords, name)
            if length is not None and length != len(coords):
                raise DimError(
                    f"dim {name!r} is given length {length} and {len(coords)} labels: "
                    f"{listing(coords.values)}"
                )
            length = len(coords)
        elif length is not None:
            length = _valid_length(length, name)
        if name is None:
            return AnonymousDim(uuid.uuid4().hex, coords, length)
        return NamedDim(name, coords, length)

    @classmethod
    def _intern(cls, key: tuple, name: str | None, length: int | None = None, **fields: Any) -> Any:
        """Return the existing dim of a key, or a new one with these fields."""
        key = (cls, *key)
        dim = _interned.get(key)
        if dim is None:
            dim = object.__new__(cls)
            dim.name = name
            dim._length = length
            dim._serial = next(_creation_number)
            dim._cached_coords = None
            for field, value in fields.items():
                setattr(dim, field, value)
            dim._settle()
            dim = _interned.add(key, dim)
        return dim

    def _settle(self) -> None:
        """Complete a new dim, before other threads see it."""

    if not TYPE_CHECKING:  # a type checker knows which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute_of_dim(self, name)

    # -- properties of all dims ------------------------------------------------------------------

    @property
    def length(self) -> int | None:
        """Number of positions, None where it is not known before data arrives."""
        return self._length

    @property
    def coords(self) -> np.ndarray | None:
        """Labels as a read-only array, None where there are none (yet)."""
        labels = self._labels()
        return None if labels is None else labels.values

    @property
    def dt(self) -> CalendarParts:
        """Calendar parts of the dates of the dim, and their frequency.

        Examples
        --------
        >>> Dim("day", coords=np.array(["2020-12-31", "2021-01-01"], "M8[D]")).dt.year.values
        array([2020, 2021])
        """
        return calendar_parts(self)

    def extend(self, periods: int, freq: Frequency | None = None) -> Dim:
        """Return the dim with more labels after the last: dates, periods, or numbers like years.

        Parameters
        ----------
        periods : int
            How many.
        freq : str or pandas offset, optional
            Of dates; by default that of the dates there are.

        Returns
        -------
        Dim

        Raises
        ------
        LabelError
            If the labels are neither dates nor numbers at equal distances, are not known, or
            dates have no frequency.

        Examples
        --------
        >>> day = Dim("day", coords=np.arange("2021-01-01", "2021-01-04", dtype="M8[D]"))
        >>> str(day.extend(14).coords[-1])[:10]
        '2021-01-17'
        >>> Dim("year", coords=[1960, 1970, 1980]).extend(2).coords
        array([1960, 1970, 1980, 1990, 2000])
        """
        return extend_dim(self, periods, freq)

    def _labels(self) -> Coords | None:
        if self._cached_coords is None:
            self._cached_coords = self._derive_labels()
        return self._cached_coords

    def _derive_labels(self) -> Coords | None:
        return None

    def _labels_at(self, positions: np.ndarray) -> Sequence[Any] | None:
        """Return labels at a few positions, None if there are none yet.

        Derived dims compute only these labels if possible; long dims that cannot return None.
        """
        coords = self.coords
        return None if coords is None else coords[positions]

    @property
    def _namespace(self) -> str | Dim:
        """Unique among the dims of a tensor: a name, or the anonymous dim of origin."""
        if self.name is not None:
            return self.name
        return self.parents[0]._namespace if self.parents else self

    @property
    def _unrenamed(self) -> Dim:
        """The dim that this one is under another name; of a dim that is not renamed, itself."""
        return self

    @property
    def _within(self) -> Dim | None:
        """The dim whose positions have those of this dim, which is ragged then; else None."""
        return None

    def _is_cut_with(self, dims: Collection[Dim]) -> bool:
        """Return True if the recipe, applied to a slice of a parent, gives a part of the dim.

        It does for renamed dims, selections by masks, and products with one such factor.
        """
        return False

    @property
    def _bases(self) -> tuple[Dim, ...]:
        """The dims this one is derived from at the root; of a dim that is not derived, itself."""
        return (self,)

    @property
    def parents(self) -> tuple[Dim, ...]:
        """The dims this one is directly derived from."""
        return ()

    def _is_longer_than(self, other: Dim) -> bool:
        """Return True if the dim is longer than another one for every length of the latter.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t")
        >>> dt.PadDim(t, 0, 1)._is_longer_than(t), t._is_longer_than(t)
        (True, False)
        """
        return False

    def _bound_length(self, binding: Binding) -> int | None:
        """Return the length, given the lengths and labels of a call.

        Parameters
        ----------
        binding : Binding
            Lengths and labels of the arguments of the call.

        Returns
        -------
        int or None

        Examples
        --------
        >>> from dimtensor.dims.binding import Binding
        >>> known, obs = Binding(), Dim("obs")
        >>> known.add_length(obs, 7, "x")
        >>> obs._bound_length(known)
        7
        """
        known = binding.length(self)
        return self._length if known is None else known

    def _bound_labels(self, binding: Binding) -> Coords | None:
        """Return the labels, given the lengths and labels of a call.

        Parameters
        ----------
        binding : Binding
            Lengths and labels of the arguments of the call.

        Returns
        -------
        Coords or None

        Examples
        --------
        >>> from dimtensor.dims.binding import Binding
        >>> Dim("country", coords=["Italy", "Kenya"])._bound_labels(Binding()).to_list()
        ['Italy', 'Kenya']
        """
        labels = self._labels()
        return binding.labels(self) if labels is None else labels

    def _told_by(self, labels: Coords) -> Iterable[tuple[Dim, Coords]]:
        """Infer labels of the parents from labels supplied at call time, as pairs of both.

        Examples
        --------
        >>> import dimtensor as dt
        >>> product = dt.ProductDim([dt.Dim("a"), dt.Dim("b", length=1)])
        >>> [(parent.name, own.to_list()) for parent, own in product._told_by(Coords([(3, "u")]))]
        [('a', [3]), ('b', ['u'])]
        """
        return ()

    @property
    def _sort_key(self) -> tuple:
        """Canonical order: by name; anonymous dims last, in the order of their creation."""
        if self.name is None:
            return (1, "", self._serial)
        return (0, self.name, 0)

    def __len__(self) -> int:
        if self.length is None:
            raise DimError(f"the length of {self!r} is not known before data arrives")
        return self.length

    def __bool__(self) -> bool:
        return True

    def __contains__(self, label: object) -> bool:
        labels = self._labels()
        if labels is None:
            raise LabelError(f"{self!r} has no labels to look {plain_repr(label)} up in")
        return label in labels

    def __iter__(self) -> Iterator[Any]:
        labels = self._labels()
        if labels is None:
            raise LabelError(f"{self!r} has no labels to iterate over")
        return iter(labels.to_list())

    def __getitem__(self, selection: Any) -> Any:
        """Position of a label, or the derived dim of a list or slice of labels.

        A part of a date, such as ``"2020-02"`` of days, is a slice.
        """
        select: Any = DERIVED["selection"]
        if isinstance(selection, (list, np.ndarray, slice)):
            return select(self, selection)
        found = self._known_labels(selection).locate(selection, self._title)
        return found if isinstance(found, int) else select(self, positions=found)

    def position(self, label: Label) -> int:
        """Return the position of one label.

        Parameters
        ----------
        label : label

        Returns
        -------
        int

        Raises
        ------
        LabelError
            If the dim has no labels, not this label, or has it more than once.

        Examples
        --------
        >>> Dim("country", coords=["Italy", "Kenya"]).position("Kenya")
        1
        """
        return self._known_labels(label).position(label, self._title)

    def _known_labels(self, label: Any) -> Coords:
        labels = self._labels()
        if labels is None:
            raise LabelError(
                f"{self!r} has no labels to look {plain_repr(label)} up in",
                hint="give the dim coords, or select by position with isel",
            )
        return labels

    def rename(self, name: str | None = None) -> Dim:
        """Return the dim under another name; by default its name with a prime.

        Parameters
        ----------
        name : str, optional

        Returns
        -------
        Dim
            A RenamedDim; for the original name the original dim.

        Examples
        --------
        >>> Dim("country", length=2).rename()
        RenamedDim(country, "country'")
        """
        rename: Any = DERIVED["renamed"]
        return rename(self, name)

    def to_index(self) -> pd.Index:
        """Return labels as a pandas Index, or a MultiIndex of a ProductDim; positions without them.

        Returns
        -------
        Index

        Examples
        --------
        >>> Dim("country", coords=["Italy", "Kenya"]).to_index().tolist()
        ['Italy', 'Kenya']
        """
        import pandas as pd

        labels = self._labels()
        if labels is None:
            return pd.RangeIndex(len(self), name=self.name)
        return labels.index.rename(self.name)

    # -- identity ------------------------------------------------------------------------------

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: Mapping) -> Dim:
        return self

    def __setattr__(self, key: str, value: object) -> None:
        if key == "name" and hasattr(self, "name"):
            raise AttributeError("a Dim is immutable; rename() gives a renamed one")
        object.__setattr__(self, key, value)

    @property
    def _title(self) -> str:
        """Short way to speak of the dim in a message."""
        return f"dim {self.name!r}" if self.name is not None else "an anonymous dim"

    @property
    def _short(self) -> str:
        """Name for listings and for output coordinates."""
        return self.name if self.name is not None else f"_{self._serial}"

    def __repr__(self) -> str:
        labels, name = self._labels(), "" if self.name is None else repr(self.name)
        length = "" if self.length is None else f"length={self.length}"
        detail = length if labels is None else f"[{listing(labels.values, 4)}]"
        return f"Dim({', '.join(filter(None, (name, detail)))})"

    def _repr_html_(self) -> str:
        return html(self)


class NamedDim(Dim):
    """A Dim with a name; its name with its labels or its length is its identity."""

    __slots__ = ()

    def __new__(cls, name: str, coords: Coords | None, length: int | None) -> Any:
        key = (name, coords.key) if coords is not None else (name, length)
        return cls._intern(key, name, length, _cached_coords=coords)

    def __reduce__(self) -> tuple:
        return (NamedDim, (self.name, self._cached_coords, self._length))


class AnonymousDim(Dim):
    """A Dim without a name, equal only to itself."""

    __slots__ = ("token",)

    token: str

    def __new__(cls, token: str, coords: Coords | None, length: int | None) -> Any:
        return cls._intern((token,), None, length, _cached_coords=coords, token=token)

    def __reduce__(self) -> tuple:
        return (AnonymousDim, (self.token, self._cached_coords, self._length))


# for error messages of Python
NamedDim.__name__ = AnonymousDim.__name__ = "Dim"


def dim_labels(dim: Dim) -> Coords | None:
    """Return the labels of a dim as Coords, None if there are none (yet)."""
    return dim._labels()


def _valid_coords(coords: Any, name: str | None) -> Coords:
    """Check labels of a new dim, which are unique; those of derived dims may repeat."""
    try:
        labels = coords if isinstance(coords, Coords) else Coords(coords)
    except LabelError as error:
        raise LabelError(prefixed(f"dim {name!r}: ", error)) from None
    if labels.duplicates:
        raise LabelError(
            f"dim {name!r} has labels more than once: {listing(labels.duplicates)}",
            [("labels", listing(labels.values))],
            f"make them unique, or number the positions with length={len(labels)}",
        )
    return labels


def _valid_length(length: Any, name: str | None) -> int:
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
        text = f"the length of dim {name!r} is an integer of at least 0, not {plain_repr(length)}"
        raise DimError(text, hint=meant_integer("length", length))
    if length > MOST_POSITIONS:
        text = "at most 2**62 positions, which are 64-bit integers"
        raise DimError(f"dim {name!r} has {text}, not {length:,}")
    return int(length)
