"""Product dims: all combinations of positions of several dims, as one dim."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims.algebra import canonical_dims
from dimtensor.dims.coords import Coords
from dimtensor.dims.derivation import DerivedDim
from dimtensor.dims.dim import Dim, dim_labels
from dimtensor.dims.labels import index_of_tuples, tagged
from dimtensor.errors import DimError, MemoryLimitError, printable

if TYPE_CHECKING:
    import pandas as pd


# of float64, 2 GiB
MOST_COMBINATIONS = 2**28


def check_combinations(factors: Iterable[Dim], what: str, way_out: str) -> None:
    """Check that an array of all combinations of labels fits into memory.

    Raises
    ------
    MemoryLimitError
        If it is larger than most memories, with the number of combinations.
    """
    lengths = {dim._short: dim.length for dim in factors}
    count = math.prod(n or 1 for n in lengths.values())
    if count <= MOST_COMBINATIONS:
        return
    raise MemoryLimitError(
        f"{what}: there are {count:,} combinations of {' and '.join(lengths)}, which take "
        f"{count * 8 / 2**30:,.0f} GiB",
        [(name, f"{n:,} labels") for name, n in lengths.items() if n is not None],
        way_out,
    )


class ProductDim(DerivedDim):
    """Product dim: all combinations of the positions of several dims.

    The factors have no order: ``ProductDim({a, b})`` and ``ProductDim({b, a})`` are the same dim.
    Its elements are in canonical order: factors sorted by name, the last one fastest. Its labels
    are tuples in this order.

    Parameters
    ----------
    factors : iterable of Dim
        At least one; a single factor is returned itself.
    name : str, optional
        By default the names of the factors joined by underscores.

    Raises
    ------
    DimError
        If a factor is given twice or two factors have the same name.

    Examples
    --------
    >>> product = ProductDim({Dim("b", coords=["u", "v"]), Dim("a", coords=[1, 2])})
    >>> product.name, product.coords.tolist()
    ('a_b', [(1, 'u'), (1, 'v'), (2, 'u'), (2, 'v')])
    """

    __slots__ = ("factors",)

    _recipe = "product"
    _mixes = "raveling"

    factors: tuple[Dim, ...]

    def __new__(cls, factors: Iterable[Dim], name: str | None = None) -> Any:
        factors = canonical_dims(factors, "the factors of a ProductDim")
        if not factors:
            raise DimError("a ProductDim has at least one factor")
        if len(factors) == 1:
            return factors[0]
        if name is None:
            name = "_".join(factor._short for factor in factors)
        return cls._intern((factors, name), name, factors=factors)

    @classmethod
    def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
        return cls(parents, name)

    @property
    def parents(self) -> tuple[Dim, ...]:
        return self.factors

    def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
        return math.prod(lengths)

    def _is_cut_with(self, dims: Collection[Dim]) -> bool:
        return sum(factor in dims for factor in self.factors) == 1

    def _text(self, parents: Sequence[str]) -> str:
        return f"ProductDim({{{', '.join(parents)}}})"

    def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
        known = [factor for factor in labels if factor is not None]
        return _combinations(known) if len(known) == len(labels) else None

    def _labels_at(self, positions: np.ndarray) -> Sequence[Any] | None:
        places = np.unravel_index(positions, [len(factor) for factor in self.factors])
        columns = [f._labels_at(at) for f, at in zip(self.factors, places, strict=True)]
        known = [column for column in columns if column is not None]
        return list(zip(*known, strict=True)) if len(known) == len(columns) else None

    def _factor_labels(self, labels: Coords) -> tuple[Coords, ...] | None:
        """Return labels of the factors for tuples of labels in any order.

        Factors without labels get those in the tuples, in order of first occurrence.

        Parameters
        ----------
        labels : Coords

        Returns
        -------
        tuple of Coords, one per factor, or None
            None if the labels are not tuples with one part per factor.

        Examples
        --------
        >>> product = ProductDim([Dim("a"), Dim("b", coords=["u", "v"])])
        >>> [part.to_list() for part in product._factor_labels(Coords([(1, "v"), (1, "u")]))]
        [[1], ['u', 'v']]
        """
        tuples, count = labels.to_list(), len(self.factors)
        if not all(isinstance(label, tuple) and len(label) == count for label in tuples):
            return None
        parts = []
        for at, factor in enumerate(self.factors):
            own = dim_labels(factor)
            if own is None:
                own = Coords(list({tagged(label[at]): label[at] for label in tuples}.values()))
                own = factor._arranged(own) if isinstance(factor, ProductDim) else own
            parts.append(own)
        return tuple(parts)

    def _arranged(self, labels: Coords) -> Coords:
        """Return all combinations of tuples in the order of the dim; other labels unchanged.

        Parameters
        ----------
        labels : Coords

        Returns
        -------
        Coords

        Examples
        --------
        >>> product = ProductDim([Dim("a"), Dim("b", coords=["u", "v"])])
        >>> product._arranged(Coords([(1, "v"), (1, "u")])).to_list()
        [(1, 'u'), (1, 'v')]
        """
        parts = self._factor_labels(labels)
        return labels if parts is None else _combinations(parts)

    def _told_by(self, labels: Coords) -> Iterable[tuple[Dim, Coords]]:
        parts = self._factor_labels(labels)
        if parts is None or not labels.same_labels(_combinations(parts)):
            return ()
        return zip(self.factors, parts, strict=True)

    def to_index(self) -> pd.Index:
        """Return labels as a pandas MultiIndex with one level per factor, or as tuples.

        Returns
        -------
        MultiIndex or Index

        Examples
        --------
        >>> a, b = Dim("a", coords=["u", "v"]), Dim("b", coords=[1, 2])
        >>> ProductDim([a, b]).to_index().tolist()
        [('u', 1), ('u', 2), ('v', 1), ('v', 2)]
        """
        import pandas as pd

        own = [f.to_index() for f in self.factors]
        return index_of_tuples(pd.MultiIndex.from_product(own), itertools.product(*own), self.name)

    @printable
    def __repr__(self) -> str:
        return f"ProductDim({{{', '.join(factor._short for factor in self.factors)}}})"


def _combinations(factors: Sequence[Coords]) -> Coords:
    """Return all tuples of labels of the factors, the last one fastest."""
    values = [labels.to_list() for labels in factors]
    combined = np.empty(math.prod(map(len, values)), dtype=object)
    combined[:] = list(itertools.product(*values))
    return Coords(combined)


def product_below(dim: Dim) -> ProductDim | None:
    """Return the ProductDim that a dim is, or is selected or renamed from.

    None if there is none, or if one of its factors is a product itself.
    """
    while not isinstance(dim, ProductDim):
        parent = getattr(dim, "parent", None)
        if parent is None:
            return None
        dim = parent
    nested = any(isinstance(factor, ProductDim) for factor in dim.factors)
    return None if nested else dim
