"""Weights that fade and windows that grow: reductions of what came before; as in xarray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, dim_set, find_dim, find_dims, without
from dimtensor.errors import DimError, InputError, build_message, did_you_mean, listing, printable
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import positive_integer, where_enough
from dimtensor.tensor.constructors import full, zeros
from dimtensor.tensor.control.loops import cumulate, scan
from dimtensor.tensor.handle import TensorLike, as_node, elemwise, require_float, widened, wrap
from dimtensor.tensor.reductions.basic import root_of_variance

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class RollingExp:
    """Reductions with weights that fade with the distance, made by `rolling_exp`.

    NaN are left out; the weights of the others fade over them as over any position. Variances and
    covariances have no bias, as in xarray and pandas: NaN where there is a single element.

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
    def _from(cls, x: DimTensor, given: Mapping[Any, Any], window_type: str) -> RollingExp:
        """Find the dim, and what the window says about the weights."""
        if len(given) != 1:
            raise DimError(f"rolling_exp takes one dim, {len(given)} are given")
        ((key, window),) = given.items()
        dim = find_dim(x.dims, key, "rolling_exp")
        return cls(x, dim, _alpha(window, window_type), f"{window_type}={window}")

    def _faded(self, x: DimTensor) -> DimTensor:
        kept, dtype = 1.0 - self._alpha, x.dtype
        x = widened(x)
        start = zeros(without(x.dims, (self._along,)), x.dtype)
        total = cumulate(lambda state, each: state * kept + each, start, x, self._along)
        return total.astype(dtype)

    def sum(self) -> DimTensor:
        """Sum of the elements up to each position, with their weights."""
        result = self._faded(wrap(self._x._present(0.0, True)))
        return self._say(result, "sum")

    def mean(self) -> DimTensor:
        """Mean of the elements up to each position, with their weights; NaN before the first."""
        present = elemwise("logical_not", elemwise("isnan", self._x)).astype(self._x.dtype)
        total, weights = self._faded(wrap(self._x._present(0.0, True))), self._faded(present)
        some = elemwise("greater", weights, 0)
        mean = elemwise("divide", total, elemwise("where", some, weights, 1))
        result = elemwise("where", some, mean, np.nan)
        return self._say(result, "mean")

    def var(self) -> DimTensor:
        """Variance of the elements up to each position, with their weights.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 4.0, 2.5], dims=dt.Dim("day")).rolling_exp(day=3)
        >>> x.var().values.round(6).tolist()
        [nan, 4.5, 1.607143]
        """
        return self._say(self._covariance(self._x, self._x), "var")

    def std(self) -> DimTensor:
        """Standard deviation of the elements up to each position, with their weights."""
        return self._say(root_of_variance(self._covariance(self._x, self._x)), "std")

    def cov(self, other: TensorLike) -> DimTensor:
        """Covariance with another tensor of the pairs up to each position, with their weights.

        Parameters
        ----------
        other : DimTensor
            Pairs of which an element is NaN are left out.
        """
        return self._say(self._covariance(*self._pairs(other, "cov")), "cov")

    def corr(self, other: TensorLike) -> DimTensor:
        """Correlation with another tensor of the pairs up to each position; see :meth:`cov`."""
        x, y = self._pairs(other, "corr")
        square = self._covariance(x, x) * self._covariance(y, y)
        some = elemwise("greater", square, 0)
        scale = elemwise("sqrt", elemwise("where", some, square, 1))
        result = elemwise("where", some, self._covariance(x, y) / scale, np.nan)
        return self._say(result, "corr")

    def _pairs(self, other: TensorLike, name: str) -> list[DimTensor]:
        """Both tensors, NaN where one is."""
        y = wrap(require_float(as_node(other, [self._x.node], f"rolling_exp.{name}")))
        gone = elemwise("logical_or", elemwise("isnan", self._x), elemwise("isnan", y))
        return [elemwise("where", gone, np.nan, each) for each in (self._x, y)]

    def _covariance(self, x: DimTensor, y: DimTensor) -> DimTensor:
        """Weighted sums of products, updated with the means.

        West, "Updating Mean and Variance Estimates: An Improved Method", Communications of the ACM
        22 (1979); `pairs` is the square of the sum of weights less the sum of their squares.
        """
        kept, dtype = 1.0 - self._alpha, elemwise("multiply", x, y).dtype
        x, y = widened(x), widened(y)
        zero = zeros(without(elemwise("multiply", x, y).dims, (self._along,)), x.dtype)

        def step(state: Any, elements: Any) -> Any:
            (n, pairs, mean_x, mean_y, products), (x, y) = state, elements
            there = elemwise("logical_not", elemwise("isnan", x * y))
            present = there.astype(n.dtype)
            n, pairs, products = n * kept, pairs * kept**2, products * kept
            pairs = pairs + 2 * n * present
            n = n + present
            gap_x, gap_y = (elemwise("where", there, each, 0) for each in (x - mean_x, y - mean_y))
            share = 1 / elemwise("where", elemwise("greater", n, 0), n, 1)
            mean_x, mean_y = mean_x + gap_x * share, mean_y + gap_y * share
            products = products + gap_x * elemwise("where", there, y - mean_y, 0)
            return (n, pairs, mean_x, mean_y, products), (n, pairs, products)

        _, (n, pairs, products) = scan(step, (zero,) * 5, (x, y), self._along)
        some = elemwise("greater", pairs, 0)
        value = products * n / elemwise("where", some, pairs, 1)
        return elemwise("where", some, value, np.nan).astype(dtype)

    def _say(self, result: DimTensor, name: str) -> DimTensor:
        return say(result, f"rolling_exp_{name}", self._x, dim=self._along, window=self._written)

    @printable
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
        result = where_enough(value, self._present(), self._min_periods)
        return self._say(result, name, **options)

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        return say(result, f"cumulative_{name}", self._x, dim=self._over, **options)

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
        if len(self._over) != 1:
            raise DimError(f"cumulative variances are along one dim, not {dim_set(self._over)}")
        (dim,), x = self._over, widened(self._x)
        zero = zeros(without(x.dims, self._over), x.dtype)

        def step(state: Any, x: Any) -> Any:
            n, mean, squares = state
            present = elemwise("logical_not", elemwise("isnan", x))
            n = n + present.astype(x.dtype)
            gap = elemwise("where", present, x - mean, 0)
            mean = mean + gap / elemwise("maximum", n, 1)
            squares = squares + gap * elemwise("where", present, x - mean, 0)
            return (n, mean, squares), (n, squares)

        _, (n, squares) = scan(step, (zero, zero, zero), x, dim)
        variance = elemwise("divide", squares, elemwise("maximum", n - ddof, 0))
        return variance.astype(self._x.dtype)

    @printable
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
