"""Padding at the ends of dims; as in xarray and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, NamedDim, PadDim, find_dim, find_plain_dim
from dimtensor.errors import DimError, DtypeError, OptionError, check_choice
from dimtensor.graph.dtypes import is_integer
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import taken_at
from dimtensor.tensor.check import check
from dimtensor.tensor.constructors import arange, full, length
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, renamed, require_float, wrap
from dimtensor.tensor.joining import concat
from dimtensor.tensor.ragged.layout import sizes
from dimtensor.tensor.selection.indexing import gathered
from dimtensor.tensor.selection.reindex import moved_to

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_STATISTICS = {"maximum": "max", "mean": "mean", "median": "median", "minimum": "min"}
_COPIES = ("edge", "reflect", "symmetric", "wrap")
_MODES = ("constant", "linear_ramp", *_COPIES, *_STATISTICS)


class PaddingMixin(TensorHandle):
    """Method that pads dims."""

    __slots__ = ()

    def pad(
        self,
        pad_width: Mapping[Any, int | Sequence[int] | Dim] | None = None,
        mode: str = "constant",
        stat_length: Any = None,
        constant_values: Any = np.nan,
        end_values: Any = 0,
        reflect_type: str = "even",
        **by_name: Any,
    ) -> DimTensor:
        """Pad dims by positions without labels, as in xarray and ``numpy.pad``.

        Parameters
        ----------
        pad_width : dict of Dim or str to int, (before, after) or Dim, optional
            Several dims are padded one after the other, in this order. For a ragged dim it is a Dim
            of numbers within the parent, at least as long as the longest parent.
        mode : str
            Values of the new positions: ``"constant"``; the element at the end (``"edge"``); its
            neighbors mirrored, without it (``"reflect"``) or with it (``"symmetric"``); elements of
            the other end (``"wrap"``); even steps to `end_values` (``"linear_ramp"``); or a
            ``"maximum"``, ``"mean"``, ``"median"`` or ``"minimum"``.
        stat_length : int, (before, after) or dict of them by dim, optional
            Number of elements at the ends for maxima, means, medians and minima; all by default.
        constant_values : number, (before, after) or dict of them by dim
            NaN by default, which makes floats of integers.
        end_values : number, (before, after) or dict of them by dim
            Last values of linear ramps.
        reflect_type : {"even", "odd"}
            Whether mirrored elements are unchanged (even), or reflected about the element at the
            end (odd).
        **by_name

        Returns
        -------
        DimTensor
            On a PadDim for each padded dim. New positions have no labels, also in modes in which
            xarray repeats labels. A ragged dim is replaced by the parents and the given Dim;
            ``padded.isel(number=dt.arange(trial))`` is the inverse.

        Raises
        ------
        DimError
            If the tensor lacks a dim, or a dim has no element to repeat; if a parent of a ragged
            dim has more positions than the given Dim.
        OptionError
            If the mode or an option is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("k", length=3))
        >>> x.pad(k=(1, 0), constant_values=0.0).values.tolist()
        [0.0, 1.0, 2.0, 4.0]
        >>> x.pad(k=2, mode="reflect").values.tolist()
        [4.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0]
        >>> trial = dt.ragged("trial", within=dt.Dim("subject", length=2), lengths=[1, 2])
        >>> x = dt.data([1.0, 2.0, 4.0], dims=trial)
        >>> x.pad(trial=dt.Dim("number", length=2)).eval().transpose("subject", ...).values.tolist()
        [[1.0, nan], [2.0, 4.0]]
        """
        check_choice("pad", "mode", mode, _MODES)
        check_choice("pad", "reflect_type", reflect_type, ("even", "odd"))
        result: Any = wrap(self.node)
        widths = gathered(pad_width, by_name, self.dims, "pad", "numbers")
        for key in [key for key, width in widths.items() if isinstance(width, Dim)]:
            dim, number = find_dim(self.dims, key, "pad"), widths.pop(key)
            result = _rectangle(result, dim, number, mode, constant_values)
        pairs = {
            find_plain_dim(self.dims, key, "pad"): _pair(width) for key, width in widths.items()
        }
        constants, ends, lengths = (
            _by_dim(self.dims, option) for option in (constant_values, end_values, stat_length)
        )
        if mode == "constant" and self.categories is None:
            if any(isinstance(each, float) for dim in pairs for each in constants(dim)):
                result = wrap(require_float(result.node))
        for dim, (before, after) in pairs.items():
            new = PadDim(dim, before, after)
            if new is dim:
                continue
            shown: dict[str, Any] = {dim._short: (before, after)}
            if mode == "constant":
                padded = _joined(result, dim, new, _constant(constants(dim)))
                if constant_values is not np.nan:
                    shown["constant_values"] = constant_values
            else:
                shown["mode"] = mode
                padded = _padded(result, dim, new, mode, lengths(dim), ends(dim), reflect_type)
            result = say(padded, "pad", result, **shown)
        return result


def _rectangle(x: DimTensor, dim: Dim, number: Dim, mode: str, fill: Any) -> DimTensor:
    """Replace a ragged dim by the dim of its parents and one of numbers within them."""
    if dim._within is None:
        raise OptionError(
            f"pad: a Dim pads the parents of a ragged dim, and {dim._title} is not ragged",
            hint=f"give a number of positions: x.pad({dim._short}=1)",
        )
    if mode != "constant" or not isinstance(fill, (bool, int, float, np.generic, TensorHandle)):
        raise OptionError(f"pad: {dim._title}, which is ragged, is padded by one constant")
    if isinstance(fill, float) and x.categories is None:
        x = wrap(require_float(x.node))
    n = sizes(dim)
    known = n.node.attrs.values if n.node.kind == "data" else None
    if known is not None and number.length is not None and (known > number.length).any():
        raise DimError(
            f"pad: {number._title} has {number.length} positions, and one of "
            f"{dim._within._title} has {known.max()} of {dim._title}",
            [("dim", repr(dim))],
            f"make it longer: dt.Dim({number._short!r}, length={known.max()})",
        )
    value = wrap(as_node(fill, [x.node], "the fill value"))
    padded = taken_at(x, dim, arange(number), value)
    if known is None or number.length is None:
        text = f"pad: {number._title} is at least as long as each of {dim._within._title}"
        padded = check(elemwise("less_equal", n, length(number)), text, padded)
    return say(padded, "pad", x, **{dim._short: number})


def _pair(value: Any) -> tuple[Any, Any]:
    """Return an option for each end, given once or as a pair."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise OptionError(f"pad: for both ends there are two values, not {value!r}")
        return tuple(value)
    return value, value


def _by_dim(dims: Dims, given: Any) -> Callable[[Dim], tuple[Any, Any]]:
    """Return an option for each end of a dim, given once for all dims or by dim."""
    if not isinstance(given, Mapping):
        return lambda dim: _pair(given)
    known = {find_dim(dims, key, "pad"): _pair(value) for key, value in given.items()}
    return lambda dim: known.get(dim, (0, 0))


# makes the padding of a tensor along a dim: the number of positions, at one end
_Fill = Callable[[Any, Dim, int, str], Any]


def _constant(values: tuple[Any, Any]) -> _Fill:
    return lambda x, dim, n, where: filler(x, dim, n, values[where == "after"], where)


def _joined(x: DimTensor, dim: Dim, new: PadDim, fill: _Fill) -> DimTensor:
    """Concatenate a tensor with its padding at both ends."""
    pieces: list[Any] = [x]
    dims: list[Dim] = [dim]
    if new.before:
        pieces.insert(0, fill(x, dim, new.before, "before"))
        dims.insert(0, filler_dim(dim, new.before, "before"))
    if new.after:
        pieces.append(fill(x, dim, new.after, "after"))
        dims.append(filler_dim(dim, new.after, "after"))
    whole = concat(pieces, dims, name=dim._short)
    (along,) = [d for d in whole.dims if d not in x.dims]
    return renamed(whole, {along: new})


def _padded(
    x: DimTensor, dim: Dim, new: PadDim, mode: str, lengths: Any, ends: Any, reflect_type: str
) -> DimTensor:
    """Pad a tensor by values computed from its own elements."""
    if dim.length == 0:
        raise DimError(f"pad: {dim._title} has no elements, so mode {mode!r} has none to add")
    if mode in _COPIES:
        if reflect_type == "odd" and mode in ("reflect", "symmetric"):
            return _turned(x, dim, new, mode)
        return _copied(x, dim, new, mode)

    def statistic(x: DimTensor, dim: Dim, n: int, where: str) -> DimTensor:
        most = lengths[where == "after"]
        if most is not None and (not isinstance(most, (int, np.integer)) or most < 1):
            raise OptionError(f"pad: stat_length is at least 1, not {most!r}")
        outer = slice(None, most) if where == "before" else slice(-(most or 0) or None, None)
        chosen = x.isel({dim: outer})
        (over,) = [d for d in chosen.dims if d._namespace == dim._namespace]
        found = getattr(chosen, _STATISTICS[mode])(over)
        if is_integer(x.dtype):  # as NumPy does
            found = elemwise("round", found).astype(x.dtype)
        return found.expand(filler_dim(dim, n, where))

    def ramp(x: DimTensor, dim: Dim, n: int, where: str) -> DimTensor:
        steps = arange(filler_dim(dim, n, where))
        steps = steps if where == "before" else (n - 1) - steps
        end, edge = ends[where == "after"], x.isel({dim: 0 if where == "before" else -1})
        # operations in the order of numpy.linspace
        value = steps * ((edge - end) / n) + end
        if is_integer(x.dtype):
            return elemwise("floor", value).astype(x.dtype)
        return value.astype(x.dtype)

    return _joined(x, dim, new, ramp if mode == "linear_ramp" else statistic)


def _copied(x: DimTensor, dim: Dim, new: PadDim, mode: str) -> DimTensor:
    """Pad a tensor by copies of its elements."""
    if dim.length is None:
        return x.isel({dim: _sources(dim, new, mode)[0]})
    numbers: Any = np.pad(np.arange(dim.length), (new.before, new.after), mode=mode)  # type: ignore[call-overload]
    return moved_to(x, dim, numbers, new)


def _sources(dim: Dim, new: PadDim, mode: str) -> tuple[Any, Any, Any]:
    """Return the sources of elements, whether they are mirrored, and their distance in periods."""
    places = arange(new) - new.before
    n = elemwise("maximum", length(dim), 1)
    if mode == "edge":
        return elemwise("minimum", elemwise("maximum", places, 0), n - 1), None, None
    if mode == "wrap":
        return places % n, None, None
    period = elemwise("maximum", 2 * (n - 1), 1) if mode == "reflect" else 2 * n
    end = n - 1 if mode == "reflect" else n - 0.5  # the axis of the reflection
    within = places % period
    mirrored = elemwise("greater", within, end)
    back = (period if mode == "reflect" else period - 1) - within
    return elemwise("where", mirrored, back, within), mirrored, places // period


def _turned(x: DimTensor, dim: Dim, new: PadDim, mode: str) -> DimTensor:
    """Reflect elements about the ends, and about the values at the ends."""
    at, mirrored, periods = _sources(dim, new, mode)
    first, last, taken = x.isel({dim: 0}), x.isel({dim: -1}), x.isel({dim: at})
    value = elemwise("where", mirrored, 2 * last - taken, taken)
    away = value + periods.astype(x.dtype) * (2 * (last - first))
    return elemwise("where", elemwise("equal", periods, 0), value, away)


def filler_dim(dim: Dim, n: int, where: str = "fill") -> Dim:
    """Make the dim of the padding of another dim."""
    return NamedDim(f"{dim._short}:{where}", None, n)


def filler(x: Any, dim: Dim, n: int, value: Any, where: str = "fill") -> Any:
    if x.categories is not None:
        raise DtypeError("labels are not filled up; use .codes")
    node = as_node(value, [x.node], "the fill value")
    if node.dtype != x.dtype and np.result_type(node.dtype, x.dtype).name != x.dtype:
        raise DtypeError(f"the fill value {value!r} does not fit into {x.dtype}")
    return full(filler_dim(dim, n, where), wrap(node))
