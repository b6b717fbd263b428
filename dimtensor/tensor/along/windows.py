"""Moving windows along dims; as in xarray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, NamedDim, dim_set, find_dim
from dimtensor.errors import DimError, InputError, build_message, listing, printable
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import positive_integer, taken_at, where_enough
from dimtensor.tensor.along.spans import Merge, Parts, combined
from dimtensor.tensor.along.time import is_distance, positions_in
from dimtensor.tensor.constructors import arange, zeros
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.reductions.basic import root_of_variance
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def reduced(
    func: Callable[..., DimTensor],
    x: DimTensor,
    over: Dims,
    options: Mapping[str, Any],
    what: str,
) -> DimTensor:
    """What a function makes of a tensor without some dims, which it is given.

    Raises
    ------
    DimError
        If the result has one of them.
    """
    result = func(x, over[0] if len(over) == 1 else over, **options)
    left = [dim for dim in over if dim in result.dims]
    if left:
        raise DimError(
            build_message(
                f"{what}: the function leaves {dim_set(left)}",
                [("result", dim_set(result.dims))],
                "it is called with a tensor and the dims to reduce over: lambda x, dim: x.sum(dim)",
            )
        )
    return result


class Rolling:
    """Windows of a fixed number of positions, made by :meth:`DimTensor.rolling`.

    NaN are left out of reductions, and so is what is beyond the ends. A result is NaN where fewer
    than `min_periods` elements are left.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 4.0, 2.0], dims=dt.Dim("day", length=3))
    >>> x.rolling(day=2).max().values.tolist()
    [nan, 4.0, 4.0]
    >>> x.rolling(day=2, min_periods=1).mean().values.tolist()
    [1.0, 2.5, 3.0]
    """

    def __init__(
        self,
        x: DimTensor,
        windows: Mapping[Dim, int],
        min_periods: int | None,
        center: Mapping[Dim, bool],
    ):
        self._x = x
        self._windows = dict(windows)
        self._center = dict(center)
        size = int(np.prod(list(self._windows.values())))
        least = size if min_periods is None else positive_integer(min_periods, "min_periods")
        if least > size:
            raise InputError(f"min_periods is {least}, and a window has {size} elements")
        self._min_periods = least
        self._is_full = least == size  # a window that lacks an element has no value
        self._real = wrap(require_float(x.node))

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
                build_message(
                    "rolling takes windows by dim",
                    [("dims", list(x.sizes))],
                    "x.rolling(day=7).mean()",
                )
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

    def _combined(self, parts: Parts, fills: tuple[Any, ...], merge: Merge) -> Parts:
        return combined(parts, self._windows, self._center, fills, merge)

    def _by(self, x: DimTensor, operation: str, fill: Any) -> DimTensor:
        """Elements of each window combined by an operation on two of them."""

        def merge(one: Parts, two: Parts, *_: int) -> Parts:
            return (elemwise(operation, one[0], two[0]),)

        (result,) = self._combined((x,), (fill,), merge)
        return result

    def _present(self) -> DimTensor:
        """How many elements of each window are there."""
        return self._by(self._there().astype(self._real.dtype), "add", 0)

    def _there(self) -> DimTensor:
        return elemwise("logical_not", elemwise("isnan", self._real))

    def _finish(self, value: DimTensor, name: str, **options: Any) -> DimTensor:
        result = where_enough(value, self._present(), self._min_periods)
        return self._say(result, name, **options)

    def _total(self) -> DimTensor:
        """The sums, NaN of windows that must be full and are not."""
        if self._is_full:
            return self._by(self._real, "add", np.nan)
        return self._by(wrap(self._real._present(0.0, True)), "add", 0)

    def sum(self) -> DimTensor:
        """Sum of each window."""
        total = self._total()
        return self._say(total, "sum") if self._is_full else self._finish(total, "sum")

    def mean(self) -> DimTensor:
        """Mean of each window."""
        if self._is_full:
            return self._say(self._total() / self._min_periods, "mean")
        present = self._present()
        mean = elemwise("divide", self._total(), elemwise("maximum", present, 1))
        return self._say(where_enough(mean, present, self._min_periods), "mean")

    def prod(self) -> DimTensor:
        """Product of each window."""
        return self._finish(self._by(wrap(self._real._present(1.0, True)), "multiply", 1), "prod")

    def min(self) -> DimTensor:
        """Smallest element of each window; of several, the first has the gradient."""
        return self._extreme("min", "minimum", np.inf)

    def max(self) -> DimTensor:
        """Largest element of each window; of several, the first has the gradient."""
        return self._extreme("max", "maximum", -np.inf)

    def _extreme(self, name: str, pick: str, fill: float) -> DimTensor:
        if self._is_full:
            return self._say(self._by(self._real, pick, np.nan), name)
        return self._finish(self._by(wrap(self._real._present(fill, True)), pick, fill), name)

    def var(self, ddof: int = 0) -> DimTensor:
        """Variance of each window, with ``count - ddof`` in the divisor.

        Notes
        -----
        Means and squared distances of two windows give those of both: Chan, Golub and LeVeque,
        "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).
        """
        return self._say(self._variance(ddof), "var", ddof=ddof or None)

    def std(self, ddof: int = 0) -> DimTensor:
        """Standard deviation of each window; see :meth:`var`."""
        return self._say(root_of_variance(self._variance(ddof)), "std", ddof=ddof or None)

    def _variance(self, ddof: int) -> DimTensor:
        x, dtype = self._real, self._real.dtype
        n, mean = self._there().astype(dtype), wrap(x._present(0.0, True))

        def merge(one: Parts, two: Parts, *_: int) -> Parts:
            (n1, mean1, squares1), (n2, mean2, squares2) = one, two
            n = n1 + n2
            share = n2 / elemwise("maximum", n, 1)
            gap = mean2 - mean1
            return n, mean1 + gap * share, squares1 + squares2 + gap * gap * n1 * share

        present, _, squares = self._combined((n, mean, zeros(dtype=dtype) * mean), (0, 0, 0), merge)
        variance = elemwise("divide", squares, elemwise("maximum", present - ddof, 0))
        return where_enough(variance, present, self._min_periods)

    def median(self) -> DimTensor:
        """Median of each window, which are written down for it, as for quantiles."""
        spanned, over = self._spanned()
        return self._finish(spanned.median(over, skipna=True), "median")

    def quantile(self, q: float) -> DimTensor:
        """A quantile of each window, interpolated linearly."""
        spanned, over = self._spanned()
        return self._finish(spanned.quantile(q, over, skipna=True), "quantile", q=q)

    def count(self) -> DimTensor:
        """Number of elements of each window that are not NaN."""
        present = self._present()
        return self._say(where_enough(present, present, self._min_periods), "count")

    def argmin(self) -> DimTensor:
        """Position of the smallest element within each window along one dim."""
        return self._place("argmin", np.inf)

    def argmax(self) -> DimTensor:
        """Position of the largest element within each window along one dim."""
        return self._place("argmax", -np.inf)

    def _place(self, name: str, fill: float) -> DimTensor:
        if len(self._windows) != 1:
            raise DimError(f"{name} is within windows along one dim, not {dim_set(self._windows)}")
        (over,) = self._window_dims()
        spanned = self._construct(wrap(self._real._present(fill, True)), (over,), fill)
        return self._finish(getattr(spanned, name)(over).astype(self._real.dtype), name)

    def reduce(self, func: Callable[..., DimTensor], **options: Any) -> DimTensor:
        """Windows reduced by a function.

        Parameters
        ----------
        func : callable
            Called with all windows and the dim of their positions; with several dims, a tuple. What
            is beyond the ends is NaN.
        **options
            Passed on to it.

        Returns
        -------
        DimTensor
            NaN where fewer than `min_periods` elements of a window are there.

        Raises
        ------
        DimError
            If the function leaves a dim of the windows.

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
        """The windows, and their dims: for what does not follow from parts of them."""
        over = self._window_dims()
        return self._construct(self._real, over, np.nan), over

    def _window_dims(self) -> Dims:
        return tuple(NamedDim(f"{dim.short}:window", None, n) for dim, n in self._windows.items())

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
        """The windows themselves, along dims of their own.

        Parameters
        ----------
        window_dim : Dim, str or dict of Dim or str to Dim or str, optional
            The dim of the window, or that along each dim: a Dim of that length, or a name.
        stride : int or dict of Dim or str to int
            Every how many positions there is a window.
        fill_value : number
            What stands where a window begins before the first position, or ends after the last.
        **by_name

        Returns
        -------
        DimTensor
            With the dims of the tensor and those of the windows.

        Raises
        ------
        DimError
            If a dim has no window, or one of another length is given.

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
                    f"construct: the window along {dim.title} has {length} positions, "
                    f"{named[dim]!r} has {named[dim].length}"
                )
        lacking = [dim.short for dim in self._windows if dim not in named]
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

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        windows = {dim.short: n for dim, n in self._windows.items()}
        return say(result, f"rolling_{name}", self._x, **windows, **options)

    @printable
    def __repr__(self) -> str:
        windows = ", ".join(f"{dim.short}={n}" for dim, n in self._windows.items())
        center = any(self._center.values())
        return f"<Rolling {windows}, min_periods={self._min_periods}, center={center}>"
