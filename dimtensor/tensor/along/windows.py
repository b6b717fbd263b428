"""Moving windows along dims, weights that fade, and windows that grow; as in xarray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, NamedDim, dim_set, find_dim, find_dims, without
from dimtensor.errors import DimError, InputError, build_message, did_you_mean, listing
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import positive_integer, taken_at
from dimtensor.tensor.along.spans import Merge, Parts, combined
from dimtensor.tensor.along.time import is_distance, positions_in
from dimtensor.tensor.constructors import arange, full, zeros
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.reductions.basic import root_of_variance
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


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
        self, x: DimTensor, windows: Mapping[Dim, int], min_periods: int | None, center: bool
    ):
        self._x = x
        self._windows = dict(windows)
        self._center = center
        size = int(np.prod(list(self._windows.values())))
        least = size if min_periods is None else positive_integer(min_periods, "min_periods")
        if least > size:
            raise InputError(f"min_periods is {least}, and a window has {size} elements")
        self._min_periods = least
        self._is_full = least == size  # a window that lacks an element has no value
        self._real = wrap(require_float(x.node))

    @classmethod
    def of(
        cls,
        x: DimTensor,
        given: Mapping[Any, Any],
        min_periods: int | None = None,
        center: bool = False,
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
        return cls(x, windows, min_periods, center)

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
        result = _where_enough(value, self._present(), self._min_periods)
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
        return self._say(_where_enough(mean, present, self._min_periods), "mean")

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
        return _where_enough(variance, present, self._min_periods)

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
        return self._say(_where_enough(present, present, self._min_periods), "count")

    def _spanned(self) -> tuple[DimTensor, Dims]:
        """The windows, and their dims: for what does not follow from parts of them."""
        over = tuple(_window_dim(dim, n) for dim, n in self._windows.items())
        return self._construct(self._real, over, np.nan), over

    def _construct(self, x: DimTensor, over: Dims, fill: Any) -> DimTensor:
        for (dim, n), window in zip(self._windows.items(), over, strict=True):
            back = n // 2 if self._center else n - 1
            here = elemwise("subtract", elemwise("add", arange(dim), arange(window)), back)
            x = taken_at(x, dim, here, fill)
        return x

    def construct(
        self, window_dim: Mapping[Any, Any] | None = None, fill_value: Any = np.nan, **by_name: Any
    ) -> DimTensor:
        """The windows themselves, along dims of their own.

        Parameters
        ----------
        window_dim : dict of Dim or str to Dim or str, optional
            The dim of the window along each dim: a Dim of that length, or a name.
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
        named: dict[Dim, Dim] = {}
        for key, new in gathered(window_dim, by_name, "construct", "dims of windows").items():
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
        return self._say(result, "construct")

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        windows = {dim.short: n for dim, n in self._windows.items()}
        return say(result, f"rolling_{name}", self._x, **windows, **options)

    def __repr__(self) -> str:
        windows = ", ".join(f"{dim.short}={n}" for dim, n in self._windows.items())
        return f"<Rolling {windows}, min_periods={self._min_periods}, center={self._center}>"


class RollingExp:
    """Means and sums with weights that fade with the distance, made by `rolling_exp`.

    NaN are left out; the weights of the others fade over them as over any position.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 4.0, 2.0], dims=dt.Dim("day", length=3)).rolling_exp(
    ...     day=0.5, window_type="alpha"
    ... )
    >>> x.sum().values.tolist()  # each before counts half as much
    [1.0, 4.5, 4.25]
    >>> x.mean().values.tolist()
    [1.0, 3.0, 2.4285714285714284]
    """

    def __init__(self, x: DimTensor, along: Dim, alpha: float, written: str):
        self._x = wrap(require_float(x.node))
        self._along = along
        self._alpha = alpha
        self._written = written

    @classmethod
    def of(cls, x: DimTensor, given: Mapping[Any, Any], window_type: str) -> RollingExp:
        """Find the dim, and what the window says about the weights."""
        if len(given) != 1:
            raise DimError(f"rolling_exp takes one dim, {len(given)} are given")
        ((key, window),) = given.items()
        dim = find_dim(x.dims, key, "rolling_exp")
        return cls(x, dim, _alpha(window, window_type), f"{window_type}={window}")

    def _faded(self, x: DimTensor) -> DimTensor:
        from dimtensor.tensor.control.loops import cumulate

        kept = 1.0 - self._alpha
        start = zeros(without(x.dims, (self._along,)), x.dtype)
        return cumulate(lambda state, each: state * kept + each, start, x, self._along)

    def sum(self) -> DimTensor:
        """Sum of the elements up to each position, with their weights."""
        result = self._faded(wrap(self._x._present(0.0, True)))
        return say(result, "rolling_exp_sum", self._x, over=self._along, window=self._written)

    def mean(self) -> DimTensor:
        """Mean of the elements up to each position, with their weights; NaN before the first."""
        present = elemwise("logical_not", elemwise("isnan", self._x)).astype(self._x.dtype)
        total, weights = self._faded(wrap(self._x._present(0.0, True))), self._faded(present)
        some = elemwise("greater", weights, 0)
        mean = elemwise("divide", total, elemwise("where", some, weights, 1))
        result = elemwise("where", some, mean, np.nan)
        return say(result, "rolling_exp_mean", self._x, over=self._along, window=self._written)

    def __repr__(self) -> str:
        return f"<RollingExp along {self._along.short}, {self._written}>"


class Cumulative:
    """Reductions of all elements up to each position, made by :meth:`DimTensor.cumulative`.

    NaN are left out; a result is NaN where there are fewer than `min_periods` others.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 4.0, 2.0], dims=dt.Dim("day", length=3)).cumulative("day")
    >>> x.sum().values.tolist(), x.max().values.tolist()
    ([1.0, 5.0, 7.0], [1.0, 4.0, 4.0])
    """

    def __init__(self, x: DimTensor, dim: Any, min_periods: int):
        self._x = wrap(require_float(x.node))
        self._over = find_dims(x.dims, dim, "cumulative")
        self._min_periods = positive_integer(min_periods, "min_periods")

    def _present(self) -> DimTensor:
        present = elemwise("logical_not", elemwise("isnan", self._x)).astype("int64")
        return present.cumsum(self._over)

    def _finish(self, value: DimTensor, name: str, **options: Any) -> DimTensor:
        result = _where_enough(value, self._present(), self._min_periods)
        return self._say(result, name, **options)

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        return say(result, f"cumulative_{name}", self._x, over=self._over, **options)

    def count(self) -> DimTensor:
        """Number of elements up to each position that are not NaN."""
        return self._finish(self._present().astype("float64"), "count")

    def sum(self) -> DimTensor:
        """Sum up to each position."""
        return self._finish(self._x.cumsum(self._over, skipna=True), "sum")

    def prod(self) -> DimTensor:
        """Product up to each position."""
        return self._finish(self._x.cumprod(self._over, skipna=True), "prod")

    def mean(self) -> DimTensor:
        """Mean up to each position."""
        n = elemwise("maximum", self._present(), 1).astype(self._x.dtype)
        total = self._x.cumsum(self._over, skipna=True)
        return self._finish(elemwise("divide", total, n), "mean")

    def min(self) -> DimTensor:
        """Smallest element up to each position."""
        return self._extreme("min", "minimum", np.inf)

    def max(self) -> DimTensor:
        """Largest element up to each position."""
        return self._extreme("max", "maximum", -np.inf)

    def _extreme(self, name: str, pick: str, fill: float) -> DimTensor:
        from dimtensor.tensor.control.loops import cumulate

        result = wrap(self._x._present(fill, True))
        for dim in self._over:
            start = full(without(result.dims, (dim,)), fill, result.dtype)
            result = cumulate(lambda best, x: elemwise(pick, best, x), start, result, dim)
        return self._finish(result, name)

    def var(self, ddof: int = 0) -> DimTensor:
        """Variance up to each position, with ``count - ddof`` in the divisor.

        Raises
        ------
        DimError
            If it is asked for along several dims.

        Notes
        -----
        Means and squared distances are updated together: Welford, "Note on a Method for
        Calculating Corrected Sums of Squares and Products", Technometrics 4 (1962).
        """
        return self._finish(self._variance(ddof), "var", ddof=ddof or None)

    def std(self, ddof: int = 0) -> DimTensor:
        """Standard deviation up to each position; see :meth:`var`."""
        return self._finish(root_of_variance(self._variance(ddof)), "std", ddof=ddof or None)

    def _variance(self, ddof: int) -> DimTensor:
        from dimtensor.tensor.control.loops import scan

        if len(self._over) != 1:
            raise DimError(f"cumulative variances are along one dim, not {dim_set(self._over)}")
        (dim,) = self._over
        zero = zeros(without(self._x.dims, self._over), self._x.dtype)

        def step(state: Any, x: Any) -> Any:
            n, mean, squares = state
            present = elemwise("logical_not", elemwise("isnan", x))
            n = n + present.astype(x.dtype)
            gap = elemwise("where", present, x - mean, 0)
            mean = mean + gap / elemwise("maximum", n, 1)
            squares = squares + gap * elemwise("where", present, x - mean, 0)
            return (n, mean, squares), (n, squares)

        _, (n, squares) = scan(step, (zero, zero, zero), self._x, dim)
        return elemwise("divide", squares, elemwise("maximum", n - ddof, 0))

    def __repr__(self) -> str:
        return f"<Cumulative along {dim_set(self._over)}, min_periods={self._min_periods}>"


_WINDOW_TYPES = ("span", "com", "halflife", "alpha")


def _alpha(window: Any, window_type: str) -> float:
    """The share of a new element, of a span, a centre of mass, a half-life or itself.

    Raises
    ------
    InputError
        If there is no such type of window, or the number is outside of what it allows.
    """
    if window_type not in _WINDOW_TYPES:
        raise InputError(
            build_message(
                f"rolling_exp: there is no window_type {window_type!r}"
                f"{did_you_mean(window_type, _WINDOW_TYPES)}",
                [("window types", listing(_WINDOW_TYPES))],
            )
        )
    if window_type == "span" and window >= 1:
        return 2 / (window + 1)
    if window_type == "com" and window >= 0:
        return 1 / (1 + window)
    if window_type == "halflife" and window > 0:
        return -float(np.expm1(-np.log(2) / window))
    if window_type == "alpha" and 0 < window <= 1:
        return float(window)
    bounds = {"span": ">= 1", "com": ">= 0", "halflife": "> 0", "alpha": "in (0, 1]"}
    raise InputError(f"rolling_exp: {window_type} is {bounds[window_type]}, not {window!r}")


def _where_enough(value: DimTensor, present: DimTensor, least: int) -> DimTensor:
    """A value, or NaN where there are too few elements for one."""
    return elemwise("where", elemwise("greater_equal", present, least), value, np.nan)


def _window_dim(dim: Dim, n: int) -> Dim:
    return NamedDim(f"{dim.short}:window", None, n)
