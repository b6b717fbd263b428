"""Moving windows along dims, and the reductions of windows and blocks; as in xarray."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dimtensor.dims import Dim, Dims, NamedDim, dim_set, find_dim
from dimtensor.errors import (
    DimError,
    NoAttributeError,
    OptionError,
    did_you_mean,
    listing,
    printable,
)
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import positive_integer, reduced, taken_at
from dimtensor.tensor.along.spans import Merge, Parts, combined
from dimtensor.tensor.along.time import is_distance, positions_in
from dimtensor.tensor.constructors import arange, ones, zeros
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import (
    checked_min_count,
    nan_filled,
    root_of_variance,
    where_enough,
)
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# associative reductions: the operation that combines two windows, and its neutral element
OPERATIONS: dict[str, tuple[str, Any]] = {
    "sum": ("add", 0.0),
    "prod": ("multiply", 1.0),
    "min": ("minimum", np.inf),
    "max": ("maximum", -np.inf),
    "any": ("logical_or", False),
    "all": ("logical_and", True),
}


class WindowReductions(ABC):
    """Reductions of windows and blocks, each computed by `_reduced` of the class.

    They take ``skipna``: whether to leave out NaN. By default a NaN makes the results of its
    windows NaN. Positions beyond the ends of a dim are not counted, and make no result NaN.
    """

    def __init_subclass__(cls) -> None:
        """Copy the methods, so that errors of their arguments name the class that users have."""
        own = {} if cls.__name__ == "Windows" else vars(WindowReductions)  # which users do not have
        for name, method in own.items():
            if isinstance(method, FunctionType) and name[0] != "_" and name not in vars(cls):
                copy: Any = FunctionType(method.__code__, method.__globals__)
                update_wrapper(copy, method)
                copy.__kwdefaults__ = method.__kwdefaults__
                copy.__qualname__ = f"{cls.__name__}.{name}"
                del copy.__wrapped__
                setattr(cls, name, copy)
        with_named_dims(cls)

    @abstractmethod
    def _reduced(self, name: str, skipna: bool, **options: Any) -> DimTensor:
        """Reduce each window."""

    def sum(self, *, skipna: bool = False, min_count: int | None = None) -> DimTensor:
        """Sum each window or block.

        Parameters
        ----------
        skipna : bool
            Whether to leave out NaN, as in all reductions of windows and blocks.
        min_count : int, optional
            With `skipna`: the number of elements that must be left; otherwise the result is NaN.

        Raises
        ------
        OptionError
            If `min_count` is given without `skipna`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 4.0, 2.0, float("nan")], dims=dt.Dim("day"))
        >>> x.coarsen(day=2).sum().values.tolist()
        [5.0, nan]
        >>> x.coarsen(day=2).sum(skipna=True).values.tolist()
        [5.0, 2.0]
        >>> x.coarsen(day=2).sum(skipna=True, min_count=2).values.tolist()
        [5.0, nan]
        """
        return self._counted("sum", skipna, min_count)

    def prod(self, *, skipna: bool = False, min_count: int | None = None) -> DimTensor:
        """Multiply the elements of each window or block. See :meth:`sum` for the options."""
        return self._counted("prod", skipna, min_count)

    def _counted(self, name: str, skipna: bool, min_count: int | None) -> DimTensor:
        least = checked_min_count(name, min_count, skipna)
        result = self._reduced(name, skipna)
        if not least:
            return result
        return self._say(where_enough(result, self.count(), least), name, min_count=min_count)

    def mean(self, *, skipna: bool = False) -> DimTensor:
        """Compute the mean of each window or block. See :meth:`sum` for `skipna`."""
        return self._reduced("mean", skipna)

    def var(self, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Compute the variance of each window or block, with ``count - ddof`` in the divisor."""
        return self._reduced("var", skipna, ddof=ddof)

    def std(self, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Compute the standard deviation of each window or block; see :meth:`var`."""
        return self._reduced("std", skipna, ddof=ddof)

    def min(self, *, skipna: bool = False) -> DimTensor:
        """Return the smallest element of each window or block, the first of ties."""
        return self._reduced("min", skipna)

    def max(self, *, skipna: bool = False) -> DimTensor:
        """Return the largest element of each window or block, the first of ties."""
        return self._reduced("max", skipna)

    def any(self) -> DimTensor:
        """Test whether any element of each window or block is true; False for too few."""
        return self._reduced("any", False)

    def all(self) -> DimTensor:
        """Test whether all elements of each window or block are true; False for too few."""
        return self._reduced("all", False)

    def count(self) -> DimTensor:
        """Count the elements of each window or block that are not NaN."""
        return self._reduced("count", True)

    @abstractmethod
    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        """Note how a result was written."""


class Windows(WindowReductions):
    """Windows of floats along dims, combined from shorter ones."""

    _written: str
    _is_full = False  # whether a window that lacks an element has no value

    def __init__(self, x: DimTensor, min_periods: int):
        self._x = x
        self._real = wrap(require_float(x.node))
        self._min_periods = min_periods

    @abstractmethod
    def _combined(self, x: DimTensor, name: str) -> DimTensor:
        """Combine the elements of each window by the operation of a reduction."""

    @abstractmethod
    def _sizes(self) -> DimTensor:
        """Count the positions of each window within the dims."""

    @abstractmethod
    def _squares(self, x: DimTensor, there: DimTensor) -> DimTensor:
        """Sum the squared distances from the mean of each window."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            known = [each for each in dir(type(self)) if each[0] != "_"]
            text = f"windows have no {name!r}" + did_you_mean(name, known)
            raise NoAttributeError(text, name=name, obj=self)

    def _there(self) -> DimTensor:
        return elemwise("logical_not", elemwise("isnan", self._real))

    def _present(self) -> DimTensor:
        """Count the elements of each window that are not NaN."""
        return self._combined(self._there().astype(self._real.dtype), "sum")

    def _reduced(self, name: str, skipna: bool, **options: Any) -> DimTensor:
        # where windows must be full, skipping NaN changes no result, and keeps gradients finite
        skips = skipna or (self._is_full and name not in ("any", "all"))
        count = self._present() if skips else self._sizes()
        if name in ("any", "all"):
            value = self._combined(self._x.astype("bool"), name)
            result = elemwise(
                "logical_and", value, elemwise("greater_equal", count, self._min_periods)
            )
        else:
            value = count if name == "count" else self._value(name, count, skips, **options)
            result = where_enough(value, count, self._min_periods)
        return self._say(result, name, skipna=skipna and name != "count", **options)

    def _value(self, name: str, count: DimTensor, skipna: bool, ddof: int = 0) -> DimTensor:
        """Reduce each window, whether or not it has enough elements."""
        if name in OPERATIONS:
            neutral = OPERATIONS[name][1]
            return self._combined(nan_filled(self._real, neutral, skipna), name)
        if name == "mean":
            total = self._value("sum", count, skipna)
            return elemwise("divide", total, elemwise("maximum", count, 1).astype(total.dtype))
        there = self._there() if skipna else ones(dtype="bool")
        squares = self._squares(nan_filled(self._real, 0.0, skipna), there)
        rest = elemwise("maximum", elemwise("subtract", count, ddof), 0)
        variance = elemwise("divide", squares, rest.astype(squares.dtype))
        return variance if name == "var" else root_of_variance(variance)

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        options["ddof"] = options.get("ddof") or None
        return say(result, f"{self._written}_{name}", self._x, **self._shown, **options)

    @property
    @abstractmethod
    def _shown(self) -> dict[str, Any]:
        """Arguments of the windows, as expressions show them."""


class Rolling(Windows):
    """Windows of a fixed number of positions, made by :meth:`DimTensor.rolling`.

    A result is NaN if a window has fewer than `min_periods` elements. Positions beyond the ends of
    the dim are not counted, and with ``skipna=True`` neither are NaN; otherwise a NaN makes the
    result NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 4.0, 2.0], dims=dt.Dim("day", length=3))
    >>> x.rolling(day=2).max().values.tolist()
    [nan, 4.0, 4.0]
    >>> x.rolling(day=2, min_periods=1).mean().values.tolist()
    [1.0, 2.5, 3.0]
    >>> gap = dt.data([1.0, float("nan"), 2.0], dims=dt.Dim("day", length=3))
    >>> gap.rolling(day=2, min_periods=1).mean(skipna=True).values.tolist()
    [1.0, 1.0, 2.0]
    """

    _written = "rolling"

    def __init__(
        self,
        x: DimTensor,
        windows: Mapping[Dim, int],
        min_periods: int | None,
        center: Mapping[Dim, bool],
    ):
        self._windows = dict(windows)
        self._center = dict(center)
        size = int(np.prod(list(self._windows.values())))
        least = size if min_periods is None else positive_integer(min_periods, "min_periods")
        if least > size:
            raise OptionError(f"min_periods is {least}, and a window has {size} elements")
        super().__init__(x, least)
        self._is_full = least == size

    @classmethod
    def _from(
        cls,
        x: DimTensor,
        given: Mapping[Any, Any],
        min_periods: int | None = None,
        center: bool | Mapping[Any, bool] = False,
    ) -> Rolling:
        """Find the dims, and check the lengths of the windows."""
        if not given:
            raise DimError(
                "rolling takes windows by dim", [("dims", list(x.sizes))], "x.rolling(day=7).mean()"
            )
        windows = {}
        for key, n in given.items():
            dim = find_dim(x.dims, key, "rolling")
            if is_distance(n):
                n = positions_in(dim, n, "rolling")
            windows[dim] = positive_integer(n, f"the window along {key!r}")
        if isinstance(center, Mapping):
            given = {find_dim(tuple(windows), key, "rolling"): on for key, on in center.items()}
        else:
            given = dict.fromkeys(windows, center)
        around = {dim: bool(given.get(dim, False)) for dim in windows}
        return cls(x, windows, min_periods, around)

    def _merged(self, parts: Parts, fills: tuple[Any, ...], merge: Merge) -> Parts:
        return combined(parts, self._windows, self._center, fills, merge)

    def _combined(self, x: DimTensor, name: str) -> DimTensor:
        operation, neutral = OPERATIONS[name]
        return self._by(x, operation, neutral)

    def _by(self, x: DimTensor, operation: str, beyond: Any) -> DimTensor:
        """Combine the elements of each window; `beyond` stands beyond the ends."""

        def merge(one: Parts, two: Parts, *_: int) -> Parts:
            return (elemwise(operation, one[0], two[0]),)

        return self._merged((x,), (beyond,), merge)[0]

    def _sizes(self) -> DimTensor:
        return self._combined(ones(tuple(self._windows), self._real.dtype), "sum")

    def _reduced(self, name: str, skipna: bool, **options: Any) -> DimTensor:
        if not self._is_full or name not in ("sum", "mean", "min", "max"):
            return super()._reduced(name, skipna, **options)
        # with NaN beyond the ends no elements need to be counted
        operation = OPERATIONS["sum" if name == "mean" else name][0]
        result = self._by(self._real, operation, np.nan)
        return self._say(result / self._min_periods if name == "mean" else result, name)

    def _squares(self, x: DimTensor, there: DimTensor) -> DimTensor:
        """Sum the squared distances from the mean of each window.

        Means and squared distances of two windows give those of both: Chan, Golub and LeVeque,
        "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).
        """
        n = there.astype(x.dtype).expand(tuple(self._windows))

        def merge(one: Parts, two: Parts, *_: int) -> Parts:
            (n1, mean1, squares1), (n2, mean2, squares2) = one, two
            n = n1 + n2
            share = n2 / elemwise("maximum", n, 1)
            gap = mean2 - mean1
            return n, mean1 + gap * share, squares1 + squares2 + gap * gap * n1 * share

        return self._merged((n, x, zeros(dtype=x.dtype) * x), (0, 0, 0), merge)[2]

    def _enough(self, value: DimTensor, skipna: bool) -> DimTensor:
        """Replace the values of windows with too few elements, or with a NaN, by NaN."""
        present = self._present()
        least = self._min_periods if skipna or self._is_full else self._sizes()
        if not skipna:
            least = elemwise("maximum", least, self._min_periods)
        return where_enough(value, present, least)

    def median(self, *, skipna: bool = False) -> DimTensor:
        """Compute the median of each window; windows are materialized, as for quantiles."""
        spanned, over = self._spanned()
        value = self._enough(spanned.median(over, skipna=True), skipna)
        return self._say(value, "median", skipna=skipna)

    def quantile(self, q: float, *, skipna: bool = False) -> DimTensor:
        """Compute a quantile of each window, by linear interpolation."""
        spanned, over = self._spanned()
        value = self._enough(spanned.quantile(q, over, skipna=True), skipna)
        return self._say(value, "quantile", q=q, skipna=skipna)

    def argmin(self, *, skipna: bool = False) -> DimTensor:
        """Return the position of the smallest element within each window along one dim."""
        return self._place("argmin", np.inf, skipna)

    def argmax(self, *, skipna: bool = False) -> DimTensor:
        """Return the position of the largest element within each window along one dim."""
        return self._place("argmax", -np.inf, skipna)

    def _place(self, name: str, fill: float, skipna: bool) -> DimTensor:
        if len(self._windows) != 1:
            raise DimError(f"{name} is within windows along one dim, not {dim_set(self._windows)}")
        (over,) = self._window_dims()
        spanned = self._construct(nan_filled(self._real, fill, True), (over,), fill)
        place = getattr(spanned, name)(over).astype(self._real.dtype)
        return self._say(self._enough(place, skipna), name, skipna=skipna)

    def reduce(self, func: Callable[..., DimTensor], **options: Any) -> DimTensor:
        """Reduce windows by a function.

        Parameters
        ----------
        func : callable
            Called with all windows and the dim of their positions; with several dims, a tuple.
            Positions beyond the ends are NaN.
        **options
            Arguments of the function.

        Returns
        -------
        DimTensor
            NaN where fewer than `min_periods` elements of a window are not NaN.

        Raises
        ------
        DimError
            If the function leaves a dim of the windows.
        ArgumentError
            If it is no function.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 4.0, 2.0], dims=dt.Dim("day"))
        >>> x.rolling(day=2).reduce(lambda w, dim: w.max(dim) - w.min(dim)).values.tolist()
        [nan, 3.0, 2.0]
        """
        spanned, over = self._spanned()
        result = reduced(func, spanned, over, options, "rolling")
        return where_enough(result, self._present(), self._min_periods)

    def _spanned(self) -> tuple[DimTensor, Dims]:
        """Materialize the windows along dims of their own."""
        over = self._window_dims()
        return self._construct(self._real, over, np.nan), over

    def _window_dims(self) -> Dims:
        return tuple(NamedDim(f"{dim._short}:window", None, n) for dim, n in self._windows.items())

    def _construct(self, x: DimTensor, over: Dims, fill: Any) -> DimTensor:
        for (dim, n), window in zip(self._windows.items(), over, strict=True):
            back = n // 2 if self._center[dim] else n - 1
            here = elemwise("subtract", elemwise("add", arange(dim), arange(window)), back)
            x = taken_at(x, dim, here, fill)
        return x

    def construct(
        self,
        window_dim: Mapping[Any, Any] | Dim | str | None = None,
        *,
        stride: int | Mapping[Any, int] = 1,
        fill_value: Any = np.nan,
        **by_name: Any,
    ) -> DimTensor:
        """Return the windows along dims of their own.

        Parameters
        ----------
        window_dim : Dim, str or dict of Dim or str to Dim or str, optional
            The dim of the window, or one for each dim: a name, or a Dim of the window's length.
        stride : int or dict of Dim or str to int
            Number of positions between windows.
        fill_value : number
            Value of the elements beyond the ends of the dim.
        **by_name

        Returns
        -------
        DimTensor
            With the dims of the tensor and those of the windows.

        Raises
        ------
        DimError
            If a dim has no window, or a given dim has another length than the window.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("t"))
        >>> x.rolling(t=2).construct(t="lag", fill_value=0.0).values.tolist()
        [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
        """
        if isinstance(window_dim, (Dim, str)):
            if len(self._windows) != 1:
                raise DimError("construct: several dims have windows; name one for each, in a dict")
            window_dim = dict.fromkeys(self._windows, window_dim)
        named: dict[Dim, Dim] = {}
        for key, new in gathered(
            window_dim, by_name, self._x.dims, "construct", "dims of windows"
        ).items():
            dim = find_dim(tuple(self._windows), key, "construct")
            length = self._windows[dim]
            named[dim] = new if isinstance(new, Dim) else Dim(new, length=length)
            if named[dim].length != length:
                raise DimError(
                    f"construct: the window along {dim._title} has {length} positions, "
                    f"{named[dim]!r} has {named[dim].length}"
                )
        lacking = [dim._short for dim in self._windows if dim not in named]
        if lacking:
            raise DimError(f"construct: name the dim of the window along {listing(lacking)}")
        x = self._x
        if isinstance(fill_value, float):
            x = wrap(require_float(x.node))
        result = self._construct(x, tuple(named[dim] for dim in self._windows), fill_value)
        result = self._say(result, "construct")
        steps = stride if isinstance(stride, Mapping) else dict.fromkeys(self._windows, stride)
        by_dim = {find_dim(tuple(self._windows), key, "stride"): n for key, n in steps.items()}
        return result.isel({dim: slice(None, None, positive_integer(n, "the stride"))
                            for dim, n in by_dim.items() if n != 1})  # fmt: skip

    @property
    def _shown(self) -> dict[str, Any]:
        return {dim._short: n for dim, n in self._windows.items()}

    @printable
    def __repr__(self) -> str:
        windows = ", ".join(f"{dim._short}={n}" for dim, n in self._windows.items())
        center = any(self._center.values())
        return f"<Rolling {windows}, min_periods={self._min_periods}, center={center}>"
