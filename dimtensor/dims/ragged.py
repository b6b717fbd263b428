"""Ragged dims: positions that belong to those of a parent dim, in different numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dims.algebra import ancestors
from dimtensor.dims.coords import Coords
from dimtensor.dims.derivation import ChildDim
from dimtensor.dims.dim import Dim
from dimtensor.dims.selection import Positions
from dimtensor.errors import DimError, LabelError, listing, printable
from dimtensor.hooks import Hook

if TYPE_CHECKING:
    import pandas as pd

    from dimtensor.dims.binding import Binding

owner_tensor = Hook("the tensor of the parents of a ragged dim")


class RaggedLayout(NamedTuple):
    """Known layout of a ragged dim.

    Attributes
    ----------
    owners : ndarray
        Position of the parent of each position.
    sizes : ndarray
        Number of positions of each parent.
    starts : ndarray
        Number of positions of the parents before each one.
    numbers : ndarray
        Number of each position within its parent, from 0.
    order : ndarray or None
        Positions sorted by parent; None if they are sorted.
    """

    owners: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray
    numbers: np.ndarray
    order: np.ndarray | None

    @property
    def ends(self) -> np.ndarray:
        """Number of positions of the parents up to each one."""
        return self.starts + self.sizes


class RaggedDim(Dim):
    """Dim whose positions belong to those of a parent dim, made by :func:`dimtensor.ragged`.

    Equal ragged dims are the same object: those with the same name, parent, and parents of the
    positions.

    Attributes
    ----------
    within : Dim
        The parent dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> subject = dt.Dim("subject", coords=["Ann", "Bob"])
    >>> trial = dt.ragged("trial", within=subject, by=["Bob", "Ann", "Bob"])
    >>> trial.within is subject, trial.coords.tolist()
    (True, [('Bob', 0), ('Ann', 0), ('Bob', 1)])
    """

    __slots__ = ("_index", "_known_layout", "_source", "within")

    within: Dim
    # parents as positions, a node of their lengths, or None: parents come as an input
    _source: Any
    _index: Coords | None
    _known_layout: RaggedLayout | None

    @classmethod
    def _of(cls, name: str, within: Dim, source: Any, index: Coords | None = None) -> RaggedDim:
        """Return the dim for parents as positions along `within`, or as a node of lengths.

        Raises
        ------
        DimError
            If the length of the parent is not known, though the parents of positions are.
        LabelError
            If labels repeat within a parent.
        """
        if not isinstance(name, str) or not name:
            raise DimError(f"the name of a ragged dim is a non-empty string, not {name!r}")
        if any(one._namespace == name for one in (within, *ancestors(within))):
            raise DimError(
                f"a ragged dim and the dim it is within are both named {name!r}",
                hint="name it after what a parent has several of: 'trial' within 'subject'",
            )
        known = isinstance(source, Positions)
        if known and within.length is None:
            raise DimError(
                f"{within._title} has no length yet, so its positions have no parts",
                [("dim", repr(within))],
                "give it coords or length=, or lengths= as a tensor along it",
            )
        length = len(source.array) if known else None
        key = (name, within, source, None if index is None else index.key)
        return cls._intern(
            key, name, length, within=within, _source=source, _index=index, _known_layout=None
        )

    def _settle(self) -> None:
        if self._index is None or self.layout is None:
            return
        pairs = list(zip(self.layout.owners.tolist(), self._index.to_list(), strict=True))
        if len(set(pairs)) < len(pairs):
            twice = listing(sorted({label for label in pairs if pairs.count(label) > 1})[:3])
            raise LabelError(
                f"{self._title} has a label more than once within one of {self.within._title}",
                [("position of the parent, label", twice)],
            )

    def __reduce__(self) -> tuple:
        return (RaggedDim._of, (self.name, self.within, self._source, self._index))

    @property
    def _within(self) -> Dim:
        return self.within

    @property
    def is_sorted(self) -> bool:
        """True if positions are known to be sorted by parent."""
        if self._source is None:
            return False
        return self.layout is None or self.layout.order is None

    @property
    def layout(self) -> RaggedLayout | None:
        """Owners, sizes and order of the positions; None before data arrives."""
        if self._known_layout is None and isinstance(self._source, Positions):
            self._known_layout = _layout(self._source.array, len(self.within))
        return self._known_layout

    @property
    def lengths(self) -> Any:
        """Number of positions of each parent, a tensor along the parent.

        Examples
        --------
        >>> import dimtensor as dt
        >>> subject = dt.Dim("subject", coords=["Ann", "Bob"])
        >>> dt.ragged("trial", within=subject, lengths=[3, 1]).lengths.values.tolist()
        [3, 1]
        """
        return owner_tensor(self, "lengths")

    @property
    def owner(self) -> Any:
        """Parent of each position, a tensor of labels along the dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> subject = dt.Dim("subject", coords=["Ann", "Bob"])
        >>> trial = dt.ragged("trial", within=subject, lengths=[2, 1])
        >>> trial.owner.values.tolist()
        ['Ann', 'Ann', 'Bob']
        """
        return owner_tensor(self, "owner")

    @property
    def flat(self) -> FlatDim:
        """All positions as one plain dim, for operations across parents.

        Examples
        --------
        >>> import dimtensor as dt
        >>> subject = dt.Dim("subject", coords=["Ann", "Bob"])
        >>> trial = dt.ragged("trial", within=subject, lengths=[2, 1])
        >>> x = dt.data([1.0, 2.0, 4.0], dims=trial)
        >>> x.cumsum(trial).values.tolist()
        [1.0, 3.0, 4.0]
        >>> x.relabel(trial, trial.flat).cumsum("trial").values.tolist()
        [1.0, 3.0, 7.0]
        """
        return FlatDim(self)

    def _derive_labels(self) -> Coords | None:
        parents = self.within._labels()
        if self.layout is None:
            return None
        owners = self.layout.owners
        above = [(int(at),) for at in owners] if parents is None else _tuples(parents, owners)
        own = self.layout.numbers.tolist() if self._index is None else self._index.to_list()
        labels = np.empty(len(owners), dtype=object)
        labels[:] = [(*parent, number) for parent, number in zip(above, own, strict=True)]
        return Coords(labels)

    def _labels_at(self, positions: np.ndarray) -> Sequence[Any] | None:
        layout = self.layout
        if layout is None:
            return None
        owners = layout.owners[positions]
        found = self.within._labels_at(owners)
        parents = owners.tolist() if found is None else list(found)
        own = layout.numbers if self._index is None else self._index.values
        return [
            (*(parent if isinstance(parent, tuple) else (parent,)), label)
            for parent, label in zip(parents, own[positions].tolist(), strict=True)
        ]

    def _own_labels(self) -> np.ndarray | None:
        """Return the labels within the parents: numbers if none are given; None before data."""
        if self.layout is None:
            return None
        return self.layout.numbers if self._index is None else self._index.values

    def to_index(self) -> pd.Index:
        """Return labels as a pandas MultiIndex: those of the parents, and within each of them.

        Returns
        -------
        MultiIndex

        Raises
        ------
        DimError
            If the parents of the positions are not known yet.

        Examples
        --------
        >>> import dimtensor as dt
        >>> subject = dt.Dim("subject", coords=["Ann", "Bob"])
        >>> dt.ragged("trial", within=subject, lengths=[2, 1]).to_index().tolist()
        [('Ann', 0), ('Ann', 1), ('Bob', 0)]
        """
        return self._index_beside(self.within.to_index())

    def _index_beside(self, parents: pd.Index) -> pd.MultiIndex:
        """Return the labels as a MultiIndex, given those of the parents."""
        import pandas as pd

        layout = self.layout
        if layout is None:
            raise DimError(f"the positions of {self!r} are not known before data arrives")
        index = parents.take(layout.owners)
        above = [index.get_level_values(at) for at in range(index.nlevels)]
        own = layout.numbers if self._index is None else self._index.index
        return pd.MultiIndex.from_arrays([*above, own], names=self._level_names)

    def _bound_index(self, binding: Binding) -> pd.MultiIndex:
        """Return the labels as a MultiIndex, with those of the parents that came with a call."""
        if isinstance(self.within, RaggedDim):
            return self._index_beside(self.within._bound_index(binding))
        labels = self.within._bound_labels(binding)
        return self._index_beside(self.within.to_index() if labels is None else labels.index)

    @property
    def _level_names(self) -> list[str]:
        """Names of the levels of the labels; a level is not named like the dim itself."""
        above = self.within
        names = above._level_names if isinstance(above, RaggedDim) else [above._short]
        return [*names, f"{self.name}_index"]

    @printable
    def __repr__(self) -> str:
        detail = "" if self.length is None else f", {self.length} positions"
        return f"RaggedDim({self.name!r}, within {self.within._short}{detail})"


class FlatDim(ChildDim):
    """All positions of a ragged dim as a plain dim, which does not know their parents.

    Examples
    --------
    >>> import dimtensor as dt
    >>> trial = dt.ragged("trial", within=dt.Dim("subject", length=2), lengths=[2, 1])
    >>> len(trial.flat)
    3
    """

    __slots__ = ()

    _recipe = "flat"
    _named_as_parent = True
    _mixes = None

    def __new__(cls, parent: Dim) -> Any:
        return cls._intern((parent,), parent.name, parent=parent)

    @property
    def _unrenamed(self) -> Dim:
        return self.parent

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        return labels[0]

    def _bound_labels(self, binding: Binding) -> Coords | None:
        return self.parent._bound_labels(binding)

    def _text(self, parents: Sequence[str]) -> str:
        return f"FlatDim({parents[0]})"

    @printable
    def __repr__(self) -> str:
        return f"FlatDim({self.parent._short})"


def _layout(owners: np.ndarray, n_parents: int) -> RaggedLayout:
    sizes = np.bincount(owners, minlength=n_parents)
    starts = np.cumsum(sizes) - sizes
    places = np.arange(len(owners))
    order = None
    if (owners[1:] >= owners[:-1]).all():
        numbers = places - starts[owners]
    else:
        order = np.argsort(owners, kind="stable")
        numbers = np.empty_like(places)
        numbers[order] = places - starts[owners[order]]
    return RaggedLayout(owners, sizes, starts, numbers, order)


def _tuples(parents: Coords, owners: np.ndarray) -> list[tuple]:
    """Return labels of parents as tuples, at the positions of the owners."""
    known = parents.to_list()
    each = [label if isinstance(label, tuple) else (label,) for label in known]
    return [each[at] for at in owners.tolist()]
