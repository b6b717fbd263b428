"""Medians and quantiles along dims, by all methods of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from dimtensor.dims import Dim, ProductDim, SortedDim
from dimtensor.errors import DimtensorError, DtypeError, OptionError, check_choice, plain_repr
from dimtensor.graph import make
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.printing.words import say
from dimtensor.tensor.check import check
from dimtensor.tensor.handle import TensorHandle, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.ragged.layout import ragged_quantile
from dimtensor.tensor.reductions.basic import DimKey, ReductionMixin, positions_over
from dimtensor.tensor.reductions.order_statistics import with_an_element
from dimtensor.values.admission import real_numbers

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

QuantileMethod = Literal[
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased",
    "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
METHODS: tuple[str, ...] = get_args(QuantileMethod)

# plotting positions: alpha and beta of Hyndman and Fan
_POSITIONS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
# methods without interpolation
_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


@with_named_dims
class QuantileMixin(ReductionMixin):
    """Quantiles over dims."""

    __slots__ = ()

    def median(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the median over dims.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            All dims by default.
        skipna : bool
            Whether to leave out NaN.

        Returns
        -------
        DimTensor
            Without the dims.

        Raises
        ------
        DimError
            If a dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0, 7.0], dims=dt.Dim("k")).median().item()
        2.5
        """
        dims = self._dims(dim, "median")
        return say(self.quantile(0.5, dims, skipna=skipna), "median", self, dim=dims, skipna=skipna)

    def quantile(
        self,
        q: float | Sequence[float] | np.ndarray | DimTensor,
        dim: DimKey = None,
        *,
        method: QuantileMethod = "linear",
        skipna: bool = False,
    ) -> DimTensor:
        """Compute quantiles over dims.

        Parameters
        ----------
        q : float, list of float or DimTensor
            Between 0 and 1. The result of a list has a dim ``quantile`` with the levels as labels,
            that of a tensor the dims of the tensor.
        dim : Dim, str or iterable of them, optional
            All dims by default.
        method : str
            Method of NumPy for quantiles between two elements. ``"inverted_cdf"``,
            ``"averaged_inverted_cdf"``, ``"closest_observation"``,
            ``"interpolated_inverted_cdf"``, ``"hazen"``, ``"weibull"``, ``"linear"``,
            ``"median_unbiased"`` and ``"normal_unbiased"`` are definitions 1 to 9 of Hyndman and
            Fan; ``"lower"``, ``"higher"``, ``"midpoint"`` and ``"nearest"`` take an element, or the
            mean of two.
        skipna : bool
            Whether to leave out NaN.

        Returns
        -------
        DimTensor
            Without the dims, and with ``quantile`` where `q` is a list.

        Raises
        ------
        DtypeError
            If the numbers are complex.
        OptionError
            If a quantile is not between 0 and 1, or there is no such method.

        References
        ----------
        Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50
        (1996).

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k"))
        >>> x.quantile(0.25).item(), x.quantile(0.25, method="hazen").item()
        (1.5, 1.25)
        >>> x.quantile([0.0, 0.5], method="lower").values.tolist()
        [1.0, 2.0]
        """
        level = levels_of(q)
        check_method(method)
        dims = self._dims(dim, "quantile")
        x = require_float(self.node)
        if is_complex(x.dtype):
            raise DtypeError("quantiles of complex numbers are not defined")
        if any(each._within is not None for each in dims):
            result = ragged_quantile(wrap(x), level, dims, method, skipna)
        elif dims:
            along = ProductDim(dims)
            flat = wrap(make("merge", (x,), along) if len(dims) > 1 else x)
            result = _along(flat, level, along, method, skipna)
        else:
            result = wrap(x) if isinstance(level, float) else wrap(x).expand(level.dims)
        shown = None if method == "linear" else method
        return say(result, "quantile", self, q=shown_levels(q), dim=dims, method=shown,
                   skipna=skipna)  # fmt: skip


def levels_of(q: Any) -> float | DimTensor:
    """Convert the levels of quantiles to a number, or to a tensor along their own dim.

    Raises
    ------
    OptionError
        If they are not between 0 and 1.
    """
    if isinstance(q, TensorHandle):
        level = wrap(require_float(q.node))
        return check((level >= 0) & (level <= 1), "a quantile is between 0 and 1", level)
    try:
        levels = real_numbers(q, "quantile")
    except DimtensorError as error:
        text = f"a quantile is a number between 0 and 1, not {plain_repr(q)}"
        raise OptionError(text) from error
    if levels.ndim > 1:
        raise OptionError(
            "quantile: several levels are a list, or a tensor with dims of its own, not an array "
            f"of {levels.ndim} axes"
        )
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if wrong.size:
        raise OptionError(f"a quantile is between 0 and 1, not {wrong.flat[0]:g}")
    if not levels.ndim:
        return float(levels)
    return data(levels, dims=Dim("quantile", coords=levels))


def shown_levels(q: Any) -> Any:
    """Return the levels for the display of expressions."""
    if isinstance(q, TensorHandle):
        return q
    return real_numbers(q, "quantile").tolist()


def check_method(method: str) -> None:
    """Check that NumPy has a method of quantiles.

    Raises
    ------
    OptionError
        If it is not among the methods.
    """
    check_choice("quantile", "method", method, METHODS)


def _along(x: DimTensor, q: float | DimTensor, along: Dim, method: str, skipna: bool) -> DimTensor:
    # NaN are sorted last; one is appended as the value of no elements
    padded, (longer,) = with_an_element(x, (along,), np.nan)
    ordered, ranks = padded.sort(longer), SortedDim(longer)
    present = x.count(along) if skipna else positions_over((along,))
    value = in_order(present, q, x.dtype, lambda rank: ordered.isel({ranks: rank}), method)
    if skipna:
        return elemwise("where", elemwise("greater", present, 0), value, np.nan)
    return elemwise("where", elemwise("isnan", x).any(along), np.nan, value)


def in_order(
    count: DimTensor,
    q: float | DimTensor,
    dtype: str,
    element: Callable[[DimTensor], DimTensor],
    method: str = "linear",
) -> DimTensor:
    """Compute a quantile from sorted elements, by interpolation between neighbors.

    Parameters
    ----------
    count : DimTensor
        Number of elements.
    q : float or DimTensor
    dtype : str
        Dtype of the elements.
    element : callable
        Returns the element of a rank, counted from 0.
    method : str
    """
    place = _place(count, q, method)
    low = elemwise("floor", place)
    share = _share(elemwise("subtract", place, low), low, method)
    last = elemwise("maximum", elemwise("subtract", count, 1), 0)
    if method in _ELEMENTS:
        return element(_inside(elemwise("add", low, share), last))
    first, second = element(_inside(low, last)), element(_inside(elemwise("add", low, 1), last))
    share = share.astype(dtype)
    # infinity times 0 is NaN
    gap = elemwise("where", elemwise("equal", share, 0), 0, elemwise("subtract", second, first))
    value = elemwise("add", first, elemwise("multiply", gap, share))
    if method == "averaged_inverted_cdf":
        value = elemwise("where", elemwise("equal", share, 1), second, value)
    return value


def _inside(rank: DimTensor, last: DimTensor) -> DimTensor:
    return elemwise("minimum", elemwise("maximum", rank.astype("int64"), 0), last)


def _place(count: DimTensor, q: float | DimTensor, method: str) -> DimTensor:
    """Return the position of a quantile among sorted elements, which are at 0, 1, 2, …."""
    if method in _POSITIONS:
        alpha, beta = _POSITIONS[method]
        return count * q + (alpha + q * (1 - alpha - beta)) - 1
    if method in ("inverted_cdf", "averaged_inverted_cdf"):
        return count * q - 1
    if method == "closest_observation":
        return count * q - 1.5
    return elemwise("multiply", elemwise("subtract", count, 1), q)


def _share(beyond: DimTensor, low: DimTensor, method: str) -> DimTensor:
    """Return the interpolation weight of the element above."""
    on = elemwise("equal", beyond, 0)
    odd = elemwise("equal", elemwise("mod", low, 2), 1)
    if method == "lower":
        return elemwise("multiply", low, 0.0)
    if method in ("inverted_cdf", "higher"):
        return elemwise("where", on, 0.0, 1.0)
    if method == "averaged_inverted_cdf":
        return elemwise("where", on, 0.5, 1.0)
    if method == "midpoint":
        return elemwise("where", on, 0.0, 0.5)
    if method == "closest_observation":  # ties: the even rank, counted from 1
        return elemwise("where", on & odd, 0.0, 1.0)
    if method == "nearest":  # ties: the even rank, counted from 0
        tie = elemwise("equal", beyond, 0.5)
        return elemwise("where", elemwise("greater", beyond, 0.5) | (tie & odd), 1.0, 0.0)
    return beyond
