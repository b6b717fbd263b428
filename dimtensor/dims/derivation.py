"""Base of derived dims: parents, length, labels and recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dimtensor.dims.algebra import mixing_error
from dimtensor.dims.coords import Coords
from dimtensor.dims.dim import DERIVED, MOST_POSITIONS, Dim
from dimtensor.errors import MemoryLimitError
from dimtensor.traversal import reached

if TYPE_CHECKING:
    from dimtensor.dims.binding import Binding

# below this length, labels of all positions are computed for a request of a few
_CHEAP_LENGTH = 10_000


class DerivedDim(Dim):
    """Dim derived from parents by a recipe.

    A new kind of dim is a subclass with a constructor, `_recipe`, `_named_as_parent` and the
    methods that raise here. Graph, lowering and compilation call these methods, and handle no
    class but selections specially.

    Examples
    --------
    >>> from dimtensor import Dim, PadDim
    >>> padded = PadDim(Dim("t", length=3), 1, 0)
    >>> padded._length_from([5]), padded._text(["t"])
    (6, 'PadDim(t, 1, 0)')
    >>> padded._with_parents([Dim("s", length=3)]) is PadDim(Dim("s", length=3), 1, 0)
    True
    >>> PadDim._made(padded.parents, padded._options, None) is padded
    True
    >>> padded._labels_from([None]) is None
    True
    """

    __slots__ = ()

    _recipe: ClassVar[str]
    # it has the name of its parent
    _named_as_parent: ClassVar[bool] = False
    # what combines positions of the parent, for the message of an error; None if nothing does
    _mixes: ClassVar[str | None] = "this operation"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_recipe" in vars(cls):
            DERIVED[cls._recipe] = cls

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        """Make the dim of this recipe, or an equal simpler one.

        Parameters
        ----------
        parents : sequence of Dim
        options : tuple
            Parameters of the recipe besides parents and name.
        name : str or None
            Unused if the dim has the name of its parent.

        Returns
        -------
        Dim
        """
        raise NotImplementedError

    def __reduce__(self) -> tuple:
        return (self._made, (self.parents, self._options, self.name))

    @property
    def _options(self) -> tuple:
        """Parameters of the recipe besides parents and name."""
        return ()

    def _with_parents(self, parents: Sequence[Dim]) -> Dim:
        """Apply the recipe to other parents.

        Parameters
        ----------
        parents : sequence of Dim

        Returns
        -------
        Dim
        """
        return self._made(parents, self._options, self.name)

    def _length_from(self, lengths: Sequence[Any]) -> Any:
        """Return the length for lengths of the parents, None if a required one is None.

        Parameters
        ----------
        lengths : sequence of int or symbolic scalar
            One per parent, None if unknown.

        Returns
        -------
        int, symbolic scalar or None
        """
        return (
            None if any(length is None for length in lengths) else self._length_of_parents(lengths)
        )

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        raise NotImplementedError

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        """Return the labels for labels of the parents; None if required ones are unknown.

        Parameters
        ----------
        labels : sequence of Coords
            One per parent, None if unknown.

        Returns
        -------
        Coords or None
        """
        raise NotImplementedError

    def _text(self, parents: Sequence[str]) -> str:
        """Describe the recipe in one line, without labels.

        Parameters
        ----------
        parents : sequence of str

        Returns
        -------
        str
        """
        raise NotImplementedError

    def _settle(self) -> None:
        """Derive the length from the parents."""
        self._check_parents()
        if self._length is None:
            self._length = self._length_from([parent.length for parent in self.parents])

    def _check_parents(self) -> None:
        """Refuse a ragged parent, whose positions would be combined across its own parents."""
        for parent in self.parents:
            if parent._within is not None and self._mixes is not None:
                raise mixing_error(parent, self._mixes)

    @property
    def _bases(self) -> tuple[Dim, ...]:
        return tuple(dict.fromkeys(base for parent in self.parents for base in parent._bases))

    def _derive_labels(self) -> Coords | None:
        return self._labels_from([parent._labels() for parent in self.parents])

    def _labels_at(self, positions: np.ndarray) -> Sequence[Any] | None:
        return super()._labels_at(positions) if len(self) <= _CHEAP_LENGTH else None

    def _bound_length(self, binding: Binding) -> int | None:
        known = self.length if self.length is not None else binding.length(self)
        if known is not None:
            return known
        return self._length_from([parent._bound_length(binding) for parent in self.parents])

    def _bound_labels(self, binding: Binding) -> Coords | None:
        labels = self._labels()
        if labels is None:
            labels = binding.labels(self)
        if labels is None:
            labels = self._labels_from([parent._bound_labels(binding) for parent in self.parents])
        return labels


class ChildDim(DerivedDim):
    """Dim derived from one parent, by default of the same length."""

    __slots__ = ("parent",)

    parent: Dim

    @property
    def parents(self) -> tuple[Dim, ...]:
        return (self.parent,)

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        return cls(parents[0], *options)  # type: ignore[arg-type]

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        return lengths[0]


def family(dim: Dim) -> Iterator[Dim]:
    """Iterate over a dim and its ancestors, each once."""
    return reached([dim], lambda one: one.parents)


def check_positions_of(dim: Dim, length: int, parents: Iterable[tuple[Dim, int | None]]) -> None:
    """Check that the positions along a dim can be counted.

    Raises
    ------
    MemoryLimitError
        If there are more of them than 64-bit integers count.
    """
    if length <= MOST_POSITIONS:
        return
    known = [(each._short, f"{n:,} positions") for each, n in parents if n is not None]
    raise MemoryLimitError(
        f"{dim._title} would have {length:,} positions, more than 64-bit integers count", known
    )
