"""Reductions of the elements up to each position, exponentially weighted or not; as in xarray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, dim_set, find_dim, find_dims, without
from dimtensor.errors import DimError, OptionError, check_choice, printable
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.places import positive_integer
from dimtensor.tensor.along.windows import OPERATIONS, Windows
from dimtensor.tensor.constructors import arange, full, ones, zeros
from dimtensor.tensor.control.loops import cumulate, scan
from dimtensor.tensor.handle import TensorLike, as_node, elemwise, require_float, widened, wrap
from dimtensor.tensor.reductions.basic import nan_filled, root_of_variance

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class RollingExp:
    """Exponentially weighted reductions, made by :meth:`DimTensor.rolling_exp`.

    A NaN makes all results from its position on NaN. With ``skipna=True`` NaN are left out; they
    are positions over which weights decay. Variances and covariances are
    unbiased, as in xarray and pandas: NaN where there is a single element.

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
        """Find the dim and the decay of weights."""
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

    def sum(self, *, skipna: bool = False) -> DimTensor:
        """Sum the elements up to each position, with exponential weights.

        Parameters
        ----------
        skipna : bool
            Whether to leave out NaN, as in all these reductions.
        """
        return self._say(self._faded(nan_filled(self._x, 0.0, skipna)), "sum", skipna)

    def mean(self, *, skipna: bool = False) -> DimTensor:
        """Average the elements up to each position, with exponential weights."""
        x = self._x
        present = elemwise("logical_not", elemwise("isnan", x)) if skipna else ones(self._along)
        total = self._faded(nan_filled(x, 0.0, skipna))
        weights = self._faded(present.astype(x.dtype))
        some = elemwise("greater", weights, 0)
        mean = elemwise("divide", total, elemwise("where", some, weights, 1))
        return self._say(elemwise("where", some, mean, np.nan), "mean", skipna)

    def var(self, *, skipna: bool = False) -> DimTensor:
        """Compute the variance of the elements up to each position, with exponential weights.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 4.0, 2.5], dims=dt.Dim("day")).rolling_exp(day=3)
        >>> x.var().values.round(6).tolist()
        [nan, 4.5, 1.607143]
        """
        return self._say(self._covariance(self._x, self._x, skipna), "var", skipna)

    def std(self, *, skipna: bool = False) -> DimTensor:
        """Compute the standard deviation of the elements up to each position; see :meth:`var`."""
        variance = self._covariance(self._x, self._x, skipna)
        return self._say(root_of_variance(variance), "std", skipna)

    def cov(self, other: TensorLike, *, skipna: bool = False) -> DimTensor:
        """Compute the covariance with another tensor up to each position, with exponential weights.

        Parameters
        ----------
        other : DimTensor
        skipna : bool
            Whether to leave out pairs with a NaN.
        """
        return self._say(self._covariance(*self._pairs(other, "cov"), skipna), "cov", skipna)

    def corr(self, other: TensorLike, *, skipna: bool = False) -> DimTensor:
        """Compute the correlation with another tensor up to each position; see :meth:`cov`."""
        x, y = self._pairs(other, "corr")
        square = self._covariance(x, x, skipna) * self._covariance(y, y, skipna)
        some = elemwise("greater", square, 0)
        scale = elemwise("sqrt", elemwise("where", some, square, 1))
        result = elemwise("where", some, self._covariance(x, y, skipna) / scale, np.nan)
        return self._say(result, "corr", skipna)

    def _pairs(self, other: TensorLike, name: str) -> tuple[DimTensor, DimTensor]:
        """Return both tensors, NaN where either is."""
        y = wrap(require_float(as_node(other, [self._x.node], f"rolling_exp.{name}")))
        gone = elemwise("logical_or", elemwise("isnan", self._x), elemwise("isnan", y))
        x, y = (elemwise("where", gone, np.nan, each) for each in (self._x, y))
        return x, y

    def _covariance(self, x: DimTensor, y: DimTensor, skipna: bool) -> DimTensor:
        """Compute the covariance by updating weighted sums of products with the means.

        West, "Updating Mean and Variance Estimates: An Improved Method", Communications of the ACM
        22 (1979); `pairs` is the square of the sum of weights less the sum of their squares.
        """
        kept, dtype = 1.0 - self._alpha, elemwise("multiply", x, y).dtype
        x, y = widened(x), widened(y)
        every = elemwise("equal", 0, 0)
        zero = zeros(without(elemwise("multiply", x, y).dims, (self._along,)), x.dtype)

        def step(state: Any, elements: Any) -> Any:
            (n, pairs, mean_x, mean_y, products), (x, y) = state, elements
            there = elemwise("logical_not", elemwise("isnan", x * y)) if skipna else every
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

    def _say(self, result: DimTensor, name: str, skipna: bool) -> DimTensor:
        shown = {"dim": self._along, "window": self._written, "skipna": skipna}
        return say(result, f"rolling_exp_{name}", self._x, **shown)

    @printable
    def __repr__(self) -> str:
        return f"<RollingExp along {self._along._short}, {self._written}>"


class Cumulative(Windows):
    """Windows of all elements up to each position, made by :meth:`DimTensor.cumulative`.

    A result is NaN if there are fewer than `min_periods` elements. With ``skipna=True`` NaN are not
    counted; otherwise all results from a NaN on are NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 4.0, 2.0], dims=dt.Dim("day", length=3)).cumulative("day")
    >>> x.sum().values.tolist(), x.max().values.tolist()
    ([1.0, 5.0, 7.0], [1.0, 4.0, 4.0])
    """

    _written = "cumulative"

    def __init__(self, x: DimTensor, dim: Any, min_periods: int):
        super().__init__(x, positive_integer(min_periods, "min_periods"))
        self._over = find_dims(x.dims, dim, "cumulative")

    def _sizes(self) -> DimTensor:
        total = ones(dtype="int64")
        for dim in self._over:
            total = elemwise("multiply", total, arange(dim) + 1)
        return total

    def _present(self) -> DimTensor:
        return self._there().astype("int64").cumsum(self._over)

    def _combined(self, x: DimTensor, name: str) -> DimTensor:
        if name in ("sum", "prod"):
            return getattr(x, f"cum{name}")(self._over)
        operation, neutral = OPERATIONS[name]
        for dim in self._over:
            start = full(without(x.dims, (dim,)), neutral, x.dtype)
            x = cumulate(lambda best, each: elemwise(operation, best, each), start, x, dim)
        return x

    def _squares(self, x: DimTensor, there: DimTensor) -> DimTensor:
        """Sum the squared distances from the mean up to each position.

        Means and squared distances are updated together: Welford, "Note on a Method for
        Calculating Corrected Sums of Squares and Products", Technometrics 4 (1962).
        """
        if len(self._over) != 1:
            raise DimError(f"cumulative variances are along one dim, not {dim_set(self._over)}")
        (dim,), dtype, x = self._over, x.dtype, widened(x)
        zero = zeros(without(x.dims, self._over), x.dtype)

        def step(state: Any, elements: Any) -> Any:
            (n, mean, squares), (x, present) = state, elements
            n = n + present.astype(x.dtype)
            gap = elemwise("where", present, x - mean, 0)
            mean = mean + gap / elemwise("maximum", n, 1)
            squares = squares + gap * elemwise("where", present, x - mean, 0)
            return (n, mean, squares), squares

        _, squares = scan(step, (zero, zero, zero), (x, there.expand(dim)), dim)
        return squares.astype(dtype)

    @property
    def _shown(self) -> dict[str, Any]:
        return {"dim": self._over}

    @printable
    def __repr__(self) -> str:
        return f"<Cumulative along {dim_set(self._over)}, min_periods={self._min_periods}>"


_WINDOW_TYPES = ("span", "com", "halflife", "alpha")


def _alpha(window: Any, window_type: str) -> float:
    """Convert a span, a center of mass or a half-life to the weight of a new element.

    Raises
    ------
    OptionError
        If the type of window is unknown, or the number is out of its range.
    """
    check_choice("rolling_exp", "window_type", window_type, _WINDOW_TYPES)
    if window_type == "span" and window >= 1:
        return 2 / (window + 1)
    if window_type == "com" and window >= 0:
        return 1 / (1 + window)
    if window_type == "halflife" and window > 0:
        return -float(np.expm1(-np.log(2) / window))
    if window_type == "alpha" and 0 < window <= 1:
        return float(window)
    bounds = {"span": ">= 1", "com": ">= 0", "halflife": "> 0", "alpha": "in (0, 1]"}
    raise OptionError(f"rolling_exp: {window_type} is {bounds[window_type]}, not {window!r}")
