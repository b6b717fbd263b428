"""Operations that move elements along a dim, or add positions to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, NamedDim, PadDim, find_dim
from dimtensor.errors import DimError, DtypeError
from dimtensor.graph import make
from dimtensor.graph.printing.words import say
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@with_named_dims
class MovementMixin(TensorHandle):
    """Elements shifted, rolled, subtracted from their neighbours, padded."""

    __slots__ = ()

    def shift(
        self, shifts: Mapping[Any, Any] | None = None, fill_value: Any = np.nan, **by_name: Any
    ) -> DimTensor:
        """Move elements along dims, whose labels stay; what is uncovered is filled.

        Parameters
        ----------
        shifts : dict of Dim or str to int or distance, optional
            Positive numbers move towards later positions. Of a dim of dates also a distance
            between them, such as ``"7D"``: each date gets the element of the date so much earlier.
        fill_value : number or DimTensor
            A number, where dates are moved by a distance.
        **by_name : int or distance

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If a distance is given along a dim whose labels are no dates.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t", coords=["a", "b", "c"])
        >>> dt.data([1.0, 2.0, 3.0], dims=t).shift(t=1).eval().values.tolist()
        [nan, 1.0, 2.0]
        >>> day = dt.time("day", start="2021-01-30", periods=3)
        >>> dt.data([1.0, 2.0, 3.0], dims=day).shift(day="2D").values.tolist()
        [nan, nan, 1.0]
        """
        from dimtensor.tensor.along.time import is_distance, shifted_by
        from dimtensor.tensor.handle import require_float
        from dimtensor.tensor.joining import concat

        result: Any = wrap(self.node)
        if isinstance(fill_value, float) and self.categories is None:
            result = wrap(require_float(self.node))
        for key, n in gathered(shifts, by_name, "shift", "numbers").items():
            dim = find_dim(self.dims, key, "shift")
            if is_distance(n):
                result = shifted_by(result, dim, n, fill_value)
                continue
            if n == 0 or dim.length == 0:
                continue
            filler = _filler(result, dim, abs(n), fill_value)
            pieces = [filler, result] if n > 0 else [result, filler]
            whole = concat(pieces, [filler_dim(dim, abs(n)), dim][:: 1 if n > 0 else -1],
                           name=dim.short)  # fmt: skip
            (along,) = [d for d in whole.dims if d not in result.dims]
            kept = whole.isel({along: slice(None, -n) if n > 0 else slice(-n, None)})
            (cut,) = [d for d in kept.dims if d not in result.dims]
            moved = wrap(relabel_node(kept.node, (cut, dim)))
            result = say(moved, "shift", result, **_options(dim, n, "fill_value", fill_value))
        return result

    def roll(self, shifts: Mapping[Any, int] | None = None, **by_name: int) -> DimTensor:
        """Move elements along dims, whose labels stay; what leaves at one end enters at the other.

        Parameters
        ----------
        shifts : dict of Dim or str to int, optional
            Positive numbers move towards later positions.
        **by_name : int

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 2.0, 3.0], dims=dt.Dim("t", length=3)).roll(t=1).eval().values.tolist()
        [3.0, 1.0, 2.0]
        """
        result: Any = wrap(self.node)
        for key, n in gathered(shifts, by_name, "roll", "numbers").items():
            dim = find_dim(self.dims, key, "roll")
            if dim.length == 0:
                continue
            length = wrap(make("length", (), dim)) if dim.length is None else dim.length
            source = (wrap(make("positions", (), dim)) - n) % length
            if dim.length is not None:
                positions = (np.arange(dim.length) - n) % dim.length
                taken = result.isel({dim: positions})
                new = [d for d in taken.dims if d not in result.dims]
                moved = wrap(relabel_node(taken.node, *((cut, dim) for cut in new)))
            else:
                moved = result.isel({dim: source})
            result = say(moved, "roll", result, **{dim.short: n})
        return result

    def diff(self, dim: Dim | str, n: int = 1, label: str = "upper") -> DimTensor:
        """Differences of neighbours along a dim.

        Parameters
        ----------
        dim : Dim or str
        n : int
            How often differences are taken.
        label : {"upper", "lower"}
            Which of the two labels a difference keeps.

        Returns
        -------
        DimTensor
            `n` positions shorter along the dim.

        Raises
        ------
        DimError
            If the dim is not there, or `label` is neither of the two.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t", coords=["a", "b", "c"])
        >>> dt.data([1.0, 2.0, 4.0], dims=t).diff("t").dims[0].coords.tolist()
        ['b', 'c']
        """
        if label not in ("upper", "lower"):
            raise DimError(f"diff: label is 'upper' or 'lower', not {label!r}")
        result: Any = wrap(self.node)
        along = find_dim(self.dims, dim, "diff")
        for _ in range(n):
            later = result.isel({along: slice(1, None)})
            earlier = result.isel({along: slice(None, -1)})
            (up,) = [d for d in later.dims if d not in result.dims] or [along]
            (down,) = [d for d in earlier.dims if d not in result.dims] or [along]
            if label == "upper":
                result = later - earlier._renamed({down: up})
            else:
                result = later._renamed({up: down}) - earlier
            along = up if label == "upper" else down
        times = n if n > 1 else None
        first = find_dim(self.dims, dim, "diff")
        return say(result, "diff", self, along=first, n=times) if n else result

    def pad(
        self,
        pad_width: Mapping[Any, int | Sequence[int]] | None = None,
        constant_values: Any = np.nan,
        **by_name: Any,
    ) -> DimTensor:
        """Add positions without labels before and after, filled with a constant.

        Parameters
        ----------
        pad_width : dict of Dim or str to int or (before, after), optional
        constant_values : number
        **by_name

        Returns
        -------
        DimTensor
            On a PadDim for each dim that gets longer.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k", length=2))
        >>> x.pad(k=(1, 0), constant_values=0.0).eval().values.tolist()
        [0.0, 1.0, 2.0]
        """
        from dimtensor.tensor.handle import require_float
        from dimtensor.tensor.joining import concat

        result: Any = wrap(self.node)
        if isinstance(constant_values, float) and self.categories is None:
            result = wrap(require_float(self.node))
        for key, width in gathered(pad_width, by_name, "pad", "numbers").items():
            dim = find_dim(self.dims, key, "pad")
            before, after = (width, width) if isinstance(width, int) else width
            new = PadDim(dim, before, after)
            if new is dim:
                continue
            pieces: list[Any] = [result]
            dims: list[Dim] = [dim]
            if before:
                pieces.insert(0, _filler(result, dim, before, constant_values, "before"))
                dims.insert(0, filler_dim(dim, before, "before"))
            if after:
                pieces.append(_filler(result, dim, after, constant_values, "after"))
                dims.append(filler_dim(dim, after, "after"))
            whole = concat(pieces, dims, name=dim.short)
            (along,) = [d for d in whole.dims if d not in result.dims]
            padded = wrap(relabel_node(whole.node, (along, new)))
            options = _options(dim, (before, after), "constant_values", constant_values)
            result = say(padded, "pad", result, **options)
        return result


def _options(dim: Dim, value: Any, fill: str, filled: Any) -> dict[str, Any]:
    """How a call is written: the dim, and the filling where it is not NaN."""
    return {dim.short: value} | ({} if filled is np.nan else {fill: filled})


def filler_dim(dim: Dim, n: int, where: str = "fill") -> Dim:
    """The dim of positions that are added to another."""
    return NamedDim(f"{dim.short}:{where}", None, n)


def _filler(x: Any, dim: Dim, n: int, value: Any, where: str = "fill") -> Any:
    from dimtensor.tensor.constructors import full
    from dimtensor.tensor.handle import as_node

    if x.categories is not None:
        raise DtypeError("labels are not filled up; use .codes")
    node = as_node(value, [x.node], "the fill value")
    if node.dtype != x.dtype and np.result_type(node.dtype, x.dtype).name != x.dtype:
        raise DtypeError(f"the fill value {value!r} does not fit into {x.dtype}")
    return full(filler_dim(dim, n, where), wrap(node))
