"""Blocks of positions along dims, each reduced to one element; as in xarray."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import (
    BlockDim,
    Dim,
    Dims,
    NamedDim,
    RenamedDim,
    dim_labels,
    find_dim,
    find_plain_dim,
)
from dimtensor.errors import DimError, LabelError, check_choice, listing, printable
from dimtensor.graph.dtypes import is_complex, is_inexact, neutral_extreme
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import inside_of, nearest_to, positive_integer, reduced
from dimtensor.tensor.along.windows import WindowReductions
from dimtensor.tensor.constructors import arange, length
from dimtensor.tensor.handle import elemwise, renamed, require_float, wrap
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_BOUNDARIES = ("exact", "trim", "pad")
_SIDES = ("left", "right")


class Coarsen(WindowReductions):
    """Blocks of adjacent positions, made by :meth:`DimTensor.coarsen`.

    Reductions have ``BlockDim(dim, n)``. Its labels are the mean labels of blocks for numbers and
    dates, and the first labels otherwise.

    Examples
    --------
    >>> import dimtensor as dt
    >>> day = dt.Dim("day", coords=[1, 2, 3, 4])
    >>> weeks = dt.data([1.0, 4.0, 2.0, 8.0], dims=day).coarsen(day=2).mean()
    >>> weeks.values.tolist(), weeks.dims[0].coords.tolist()
    ([2.5, 5.0], [1.5, 3.5])
    """

    def __init__(
        self,
        x: DimTensor,
        blocks: Mapping[Dim, int],
        boundary: Mapping[Dim, str],
        side: Mapping[Dim, str],
        coord_func: Mapping[Dim, Any],
    ):
        self._x = x
        self._blocks = dict(blocks)
        spanned = x
        inside: DimTensor | None = None  # positions of blocks that are no padding
        self._within: dict[Dim, Dim] = {}
        self._named: dict[Dim, Dim] = {}
        for dim, n in self._blocks.items():
            block = BlockDim(dim, n, boundary[dim], side[dim])
            step = NamedDim(f"{dim._short}:within", None, n)
            first = elemwise("multiply", arange(block), n)
            source = elemwise("add", first, arange(step))
            if side[dim] == "right":
                beyond = elemwise("subtract", length(dim), elemwise("multiply", length(block), n))
                source = elemwise("add", source, beyond)
            named = _labeled(block, coord_func[dim])
            if boundary[dim] == "pad":
                here = renamed(inside_of(dim, source), {block: named})
                inside = here if inside is None else elemwise("logical_and", inside, here)
                require_float(x.node)  # raises for labels, which have no neutral element
                spanned = nearest_to(spanned, dim, source, x.dtype != "bool" and 0)
            else:
                spanned = spanned.isel({dim: source})
            spanned = renamed(spanned, {block: named})
            self._named[dim], self._within[dim] = named, step
        self._elements = spanned
        self._inside = inside

    @property
    def _over(self) -> Dims:
        return tuple(self._within.values())

    def _filled(self, fill: Any) -> DimTensor:
        """Pad the blocks with a number."""
        if self._inside is None:
            return self._elements
        return elemwise("where", self._inside, self._elements, fill)

    @property
    def _spanned(self) -> DimTensor:
        """The blocks, padded with NaN."""
        if self._inside is None:
            return self._elements
        return elemwise("where", self._inside, wrap(require_float(self._elements.node)), np.nan)

    @classmethod
    def _from(
        cls, x: DimTensor, given: Mapping[Any, Any], boundary: Any, side: Any, coord_func: Any
    ) -> Coarsen:
        """Find the dims, and check the lengths of the blocks and the options."""
        if not given:
            raise DimError("coarsen takes the length of a block by dim: x.coarsen(day=7).mean()")
        blocks = {
            find_plain_dim(x.dims, key, "coarsen"): positive_integer(n, f"the block along {key!r}")
            for key, n in given.items()
        }
        return cls(
            x,
            blocks,
            _by_dim(boundary, blocks, "exact", "boundary", _BOUNDARIES),
            _by_dim(side, blocks, "left", "side", _SIDES),
            _by_dim(coord_func, blocks, "mean", "coord_func", tuple(_LABELS)),
        )

    def _reduced(self, name: str, skipna: bool, **options: Any) -> DimTensor:
        if name in ("any", "all"):
            result = getattr(self._filled(name == "all"), name)(self._over)
        elif name == "count":
            result = self._spanned.count(self._over)
        else:
            result = self._values(name, skipna, options)
        return self._say(result, name, **options, skipna=skipna and name != "count")

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        blocks = {dim._short: n for dim, n in self._blocks.items()}
        shown = {key: value for key, value in options.items() if value}
        return say(result, f"coarsen_{name}", self._x, **blocks, **shown)

    def _values(self, name: str, skipna: bool, options: Mapping[str, Any]) -> DimTensor:
        """Reduce blocks, with padding as no elements."""
        if self._inside is None:
            return getattr(self._elements, name)(self._over, skipna=skipna, **options)
        fill = _neutral(name, self._elements.dtype)
        skips = skipna and is_inexact(self._elements.dtype)
        if fill is not None and not (skips and name in ("min", "max")):
            return getattr(self._filled(fill), name)(self._over, skipna=skipna, **options)
        result = getattr(self._spanned, name)(self._over, skipna=True, **options)
        if skips or not is_inexact(self._elements.dtype):
            return result
        missing = elemwise("logical_and", self._inside, elemwise("isnan", self._elements))
        return elemwise("where", missing.any(self._over), np.nan, result)

    def median(self, *, skipna: bool = False) -> DimTensor:
        """Compute the median of each block. See :meth:`sum` for `skipna`."""
        return self._reduced("median", skipna)

    def reduce(self, func: Callable[..., DimTensor], **options: Any) -> DimTensor:
        """Reduce blocks by a function.

        Parameters
        ----------
        func : callable
            Called with all blocks and the dim of their positions; with several dims, a tuple.
            Padding is NaN.
        **options
            Arguments of the function.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the function leaves a dim of the positions of blocks.
        ArgumentError
            If it is no function.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 4.0, 2.0, 8.0], dims=dt.Dim("day"))
        >>> x.coarsen(day=2).reduce(
        ...     lambda block, dim: block.max(dim) - block.min(dim)
        ... ).values.tolist()
        [3.0, 6.0]
        """
        return reduced(func, self._spanned, self._over, options, "coarsen")

    def construct(
        self, window_dim: Mapping[Any, Sequence[Any]] | None = None, **by_name: Sequence[Any]
    ) -> DimTensor:
        """Return the blocks with two dims: one of blocks, one of positions within them.

        Parameters
        ----------
        window_dim : dict of Dim or str to (Dim or str, Dim or str), optional
            For each dim a pair, the dim of blocks and the dim of positions: Dims or names. Named
            dims of blocks keep their labels.
        **by_name

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim has no blocks or is missing, or its value is no pair.

        Examples
        --------
        >>> import dimtensor as dt
        >>> month = dt.Dim("time", coords=range(1, 25))
        >>> x = dt.data(range(24), dims=month)
        >>> years = x.coarsen(time=12).construct(time=("year", "month"))
        >>> years.sizes, years.isel(year=1).values.tolist()[:3]
        ({'month': 12, 'year': 2}, [12, 13, 14])
        """
        given = gathered(window_dim, by_name, self._x.dims, "construct", "two dims each")
        pairs = {find_dim(tuple(self._blocks), key, "construct"): new for key, new in given.items()}
        lacking = [dim._short for dim in self._blocks if dim not in pairs]
        if lacking:
            raise DimError(f"construct: name the dims of blocks along {listing(lacking)}")
        changes: list[tuple[Dim, Dim]] = []
        for dim, new in pairs.items():
            if isinstance(new, (str, Dim)) or len(new) != 2:
                raise DimError(f"construct: two dims take the place of {dim._title}, not {new!r}")
            for old, other in zip((self._named[dim], self._within[dim]), new, strict=True):
                named = other if isinstance(other, Dim) else RenamedDim(old, other)
                if None not in (old.length, named.length) and old.length != named.length:
                    raise DimError(
                        f"construct: {named!r} has {named.length} positions, not {old.length}"
                    )
                changes.append((old, named))
        return say(renamed(self._spanned, dict(changes)), "coarsen_construct", self._x)

    @printable
    def __repr__(self) -> str:
        return f"<Coarsen {', '.join(f'{dim._short}={n}' for dim, n in self._blocks.items())}>"


def _neutral(name: str, dtype: str) -> Any:
    """Return the neutral element of a reduction; None if it has none."""
    if name in ("sum", "prod"):
        return 0 if name == "sum" else 1
    if name not in ("min", "max") or is_complex(dtype):
        return None
    return neutral_extreme(name == "max", dtype)


def _by_dim(
    given: Any, dims: Mapping[Dim, int], usual: str, what: str, known: Sequence[str]
) -> dict[Dim, Any]:
    """Return an option by dim, given for all dims or by dim.

    Raises
    ------
    OptionError
        If the option is unknown.
    """
    if isinstance(given, Mapping):
        told = {find_dim(tuple(dims), key, "coarsen"): value for key, value in given.items()}
    else:
        told = dict.fromkeys(dims, given)
    for value in told.values():
        if not (what == "coord_func" and callable(value)):
            check_choice("coarsen", what, value, known)
    return {dim: told.get(dim, usual) for dim in dims}


_LABELS: dict[str, Any] = {
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "median": np.median,
    "first": lambda labels, axis: labels[0],
    "last": lambda labels, axis: labels[-1],
}


def _labeled(block: BlockDim, coord_func: Any) -> Dim:
    """Make the dim of blocks, with labels computed from those of each block."""
    if coord_func == "mean":
        return block
    labels = dim_labels(block.parent)
    if labels is None:
        raise LabelError(
            f"coarsen: the labels of {block.parent._title} are not known, so no coord_func "
            "makes others of them",
            [("dim", repr(block.parent))],
            "coord_func='mean', or a dim with coords",
        )
    func = _LABELS.get(coord_func, coord_func) if isinstance(coord_func, str) else coord_func
    found = [func(labels.values[first:last], axis=0) for first, last in block.ends(len(labels))]
    return Dim(block.name, coords=np.array(found, dtype=None if found else labels.values.dtype))
