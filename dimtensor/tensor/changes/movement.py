"""Shifts, rolls and differences along dims."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import meant_integer
from dimtensor.dims import Dim, find_dim, find_plain_dim
from dimtensor.errors import DimError, DtypeError, OptionError, plain_repr
from dimtensor.graph import make
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import taken_at
from dimtensor.tensor.along.time import is_distance, shifted_by
from dimtensor.tensor.changes.padding import filler, filler_dim
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.handle import (
    TensorHandle,
    as_node,
    elemwise,
    renamed,
    require_float,
    wrap,
)
from dimtensor.tensor.joining import concat
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.selection.indexing import gathered
from dimtensor.tensor.selection.reindex import moved_to

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


@with_named_dims
class MovementMixin(TensorHandle):
    """Methods that shift, roll and difference elements."""

    __slots__ = ()

    def shift(
        self,
        shifts: Mapping[Any, Any] | None = None,
        fill_value: TensorLike = np.nan,
        **by_name: int,
    ) -> DimTensor:
        """Shift elements along dims, whose labels stay, and fill the positions left free.

        Parameters
        ----------
        shifts : dict of Dim or str to int or distance, optional
            Number of positions, positive towards later ones. Along dates also a time difference
            such as ``"7D"``: each date gets the element of the date that much earlier.
        fill_value : number or DimTensor
            A number for time differences.
        **by_name : int or distance

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If a time difference is given along a dim whose labels are no dates.
        DtypeError
            If a number of positions is no integer.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t", coords=["a", "b", "c"])
        >>> dt.data([1.0, 2.0, 3.0], dims=t).shift(t=1).eval().values.tolist()
        [nan, 1.0, 2.0]
        >>> day = dt.date_range("day", start="2021-01-30", periods=3)
        >>> dt.data([1.0, 2.0, 3.0], dims=day).shift(day="2D").values.tolist()
        [nan, nan, 1.0]
        """
        result: Any = wrap(self.node)
        if isinstance(fill_value, float) and self.categories is None:
            result = wrap(require_float(self.node))
        for key, n in gathered(shifts, by_name, self.dims, "shift", "numbers").items():
            dim = find_dim(self.dims, key, "shift")
            n = _number_of_positions(n, "shift", dim)
            if is_distance(n):
                result = shifted_by(result, dim, n, fill_value)
                continue
            if n == 0 or dim.length == 0:
                continue
            if dim._within is not None:
                value = wrap(as_node(fill_value, [result.node], "the fill value"))
                moved = taken_at(result, dim, elemwise("subtract", arange(dim), n), value)
                options = _options(dim, n, "fill_value", fill_value)
                result = say(moved, "shift", result, **options)
                continue
            added = filler(result, dim, abs(n), fill_value)
            pieces = [added, result] if n > 0 else [result, added]
            whole = concat(pieces, [filler_dim(dim, abs(n)), dim][:: 1 if n > 0 else -1],
                           name=dim._short)  # fmt: skip
            (along,) = [d for d in whole.dims if d not in result.dims]
            moved = moved_to(whole, along, slice(None, -n) if n > 0 else slice(-n, None), dim)
            result = say(moved, "shift", result, **_options(dim, n, "fill_value", fill_value))
        return result

    def roll(
        self, shifts: Mapping[Any, int] | None = None, roll_coords: bool = False, **by_name: int
    ) -> DimTensor:
        """Roll elements along dims: elements beyond one end enter at the other.

        Parameters
        ----------
        shifts : dict of Dim or str to int, optional
            Number of positions, positive towards later ones.
        roll_coords : bool
            Whether labels move with their elements.
        **by_name : int

        Returns
        -------
        DimTensor
            On the same dims; if labels move, on dims with the labels in another order.

        Raises
        ------
        DimError
            If a dim is not there, or labels are to move along one whose length is not known.
        DtypeError
            If a number of positions is no integer.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("t", coords=["a", "b", "c"]))
        >>> x.roll(t=1).values.tolist(), x.roll(t=1).dims[0].coords.tolist()
        ([3.0, 1.0, 2.0], ['a', 'b', 'c'])
        >>> x.roll(t=1, roll_coords=True).dims[0].coords.tolist()
        ['c', 'a', 'b']
        """
        result: Any = wrap(self.node)
        for key, n in gathered(shifts, by_name, self.dims, "roll", "numbers").items():
            dim = find_plain_dim(self.dims, key, "roll")
            n = _number_of_positions(n, "roll", dim)
            if roll_coords and dim.length is None:
                raise DimError(
                    f"roll: labels move along dims of known length, {dim._title} has none",
                    [("dim", repr(dim))],
                    "roll_coords=False moves the elements alone",
                )
            if dim.length == 0:
                continue
            if dim.length is None:
                source = (wrap(make("positions", (), dim)) - n) % wrap(make("length", (), dim))
                moved = result.isel({dim: source})
            else:
                moved = result.isel({dim: (np.arange(dim.length) - n % dim.length) % dim.length})
                if not roll_coords:
                    new = [d for d in moved.dims if d not in result.dims]
                    moved = renamed(moved, dict.fromkeys(new, dim))
            result = say(moved, "roll", result, **{dim._short: n}, roll_coords=roll_coords)
        return result

    def diff(self, dim: Dim | str, n: int = 1, *, label: str = "upper") -> DimTensor:
        """Compute differences of neighbors along a dim.

        Parameters
        ----------
        dim : Dim or str
        n : int
            Order of the differences.
        label : {"upper", "lower"}
            Which of the two labels a difference has.

        Returns
        -------
        DimTensor
            `n` positions shorter along the dim.

        Raises
        ------
        DimError
            If the dim is not there.
        OptionError
            If `n` is negative or no integer, or `label` is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t", coords=["a", "b", "c"])
        >>> dt.data([1.0, 2.0, 4.0], dims=t).diff("t").dims[0].coords.tolist()
        ['b', 'c']
        """
        if label not in ("upper", "lower"):
            raise OptionError(f"diff: label is 'upper' or 'lower', not {label!r}")
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise OptionError(f"diff: differences are taken 0 times or more, not {n!r}")
        result: Any = wrap(self.node)
        along = find_dim(self.dims, dim, "diff")
        for _ in range(n):
            later = result.isel({along: slice(1, None)})
            earlier = result.isel({along: slice(None, -1)})
            (up,) = [d for d in later.dims if d not in result.dims] or [along]
            (down,) = [d for d in earlier.dims if d not in result.dims] or [along]
            if label == "upper":
                result = later - renamed(earlier, {down: up})
            else:
                result = renamed(later, {up: down}) - earlier
            along = up if label == "upper" else down
        times = n if n > 1 else None
        first = find_dim(self.dims, dim, "diff")
        return say(result, "diff", self, dim=first, n=times) if n else result


def _number_of_positions(n: Any, what: str, dim: Dim) -> Any:
    """Return an integer of any class as one of Python, which has a sign; a distance unchanged.

    Raises
    ------
    DtypeError
        If it is neither.
    """
    if what == "shift" and is_distance(n):
        return n
    if not isinstance(n, (bool, np.bool_)):
        try:
            return index(n)
        except TypeError:
            pass
    raise DtypeError(
        f"{what}: {plain_repr(n)} is no number of positions along {dim._title}",
        hint=meant_integer(dim._short, n),
    )


def _options(dim: Dim, value: Any, fill: str, filled: Any) -> dict[str, Any]:
    """Return the options of a call for display: the dim, and a filling other than NaN."""
    return {dim._short: value} | ({} if filled is np.nan else {fill: filled})
