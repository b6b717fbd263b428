"""Reductions of elements that are grouped along a dim; names as in xarray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, dim_set, find_dims, without
from dimtensor.errors import DimError, RaggedDimError
from dimtensor.graph import make
from dimtensor.graph.attrs import GroupAttrs
from dimtensor.graph.dtypes import is_inexact, result_dtype
from dimtensor.graph.printing.words import say
from dimtensor.tensor.check import check
from dimtensor.tensor.constructors import arange, ones, zeros
from dimtensor.tensor.handle import elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import (
    DimKey,
    checked_min_count,
    nan_filled,
    root_of_variance,
    where_enough,
)
from dimtensor.tensor.reductions.order_statistics import filled_labels, with_an_element
from dimtensor.tensor.reductions.quantiles import (
    QuantileMethod,
    check_method,
    levels_of,
    shown_levels,
)
from dimtensor.tensor.selection.group_order import Running, group_quantile

if TYPE_CHECKING:
    from typing import Self

    from dimtensor.tensor.core import DimTensor


@with_named_dims
class GroupReductions:
    """The tensor, the dim of its groups, and reductions of each group.

    Every reduction may be over further dims, too: ``dim=`` names them with the one that is grouped.
    """

    def __init__(
        self,
        x: DimTensor,
        labels: DimTensor,
        along: Dim,
        groups: Dim,
        several: Sequence[DimTensor] = (),
    ):
        if along._within is not None:
            raise _pooled(along)
        self._x = x
        self._labels = labels
        self._along = along
        self._groups = groups
        # labels of each factor, where the groups are a product that results do not have
        self._several = list(several)

    @property
    def _result_dims(self) -> Sequence[Dim]:
        """Dims of the groups in results."""
        return self._groups.parents if self._several else (self._groups,)

    def _split(self, result: DimTensor) -> DimTensor:
        """Split the dim of the groups of a result into the dims of several tensors of labels."""
        return result.unravel(self._groups) if self._several else result

    def _merged(self, result: DimTensor) -> DimTensor:
        """Merge the dims of the groups of a result; the inverse of `_split`."""
        return result.ravel(self._result_dims) if self._several else result

    def _of(self, x: DimTensor) -> Self:
        """Group another tensor in the same way."""
        return type(self)(x, self._labels, self._along, self._groups, self._several)

    def _over(self, dim: DimKey, name: str) -> Self:
        """Merge the dims of a reduction into one, along which elements are grouped."""
        if dim is None:
            return self._checked(name)
        dims: Dims = find_dims(self._x.dims, dim, f"{name} of groups")
        if self._along not in dims:
            raise DimError(
                f"{name}: the groups are of elements along {self._along._title}, which is "
                "not named",
                [("dims of x", dim_set(self._x.dims)), ("named", dim_set(dims))],
                f"x.{name}(dim) reduces over other dims without groups",
            )
        if len(dims) == 1:
            return self._checked(name)
        product = ProductDim(dims)
        x, labels, *several = (
            wrap(make("merge", (each.expand(dims).node,), product))
            for each in (self._x, self._labels, *self._several)
        )
        return type(self)(x, labels, product, self._groups, several)._checked(name)

    def _checked(self, name: str) -> Self:
        """Check that no dim of the groups is a dim of the tensor beside the grouped one."""
        for dim in without(tuple(self._result_dims), (self._along,)):
            if dim in self._x.dims:
                raise DimError(
                    f"{name} of groups: the result is along {dim._title}, which x has, too",
                    [("dims of x", dim_set(self._x.dims)), ("grouped", self._along._title)],
                    f"x.rename({dim._short}='other').groupby(labels) keeps both",
                )
        return self

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        return say(result, name, self._x, by=self._several or self._labels, **options)

    # -- sums and counts -------------------------------------------------------------------------

    def sum(
        self, dim: DimKey = None, *, skipna: bool = False, min_count: int | None = None
    ) -> DimTensor:
        """Sum each group; the sum of an empty one is 0.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            The grouped dim and further dims to reduce over, as in all reductions of groups; ``...``
            for all. The grouped dim by default.
        skipna : bool
            Whether to leave out NaN, as in all reductions of groups.
        min_count : int, optional
            With `skipna`: the number of elements that must be left; otherwise the result is NaN.

        Raises
        ------
        DimError
            If `dim` lacks the grouped dim, or `x` keeps that of the groups, as in all of them.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b"], dims=obs, categories=key)
        >>> x = dt.data([1.0, 2.0, float("nan")], dims=obs)
        >>> x.groupby(where).sum().eval().values.tolist()
        [2.0, nan]
        >>> x.groupby(where).mean(skipna=True).eval().values.tolist()
        [2.0, 1.0]
        """
        least = checked_min_count("sum", min_count, skipna)
        by = self._over(dim, "sum")
        x = nan_filled(by._x, 0, skipna)
        rest = tuple(each for each in x.dims if each is not by._along)
        dtype = result_dtype("accumulate", (x.dtype,), "groupby")
        start = zeros((*rest, by._groups), dtype=dtype)
        total = by._split(start.sel({by._groups: by._labels}).inc(x.astype(dtype)))
        if least:
            total = where_enough(total, by.count(), least)
        return by._say(total, "sum", skipna=skipna, min_count=min_count)

    def prod(
        self, dim: DimKey = None, *, skipna: bool = False, min_count: int | None = None
    ) -> DimTensor:
        """Multiply the elements of each group; the product of an empty one is 1. See :meth:`sum`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
        skipna : bool
        min_count : int, optional

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b"], dims=obs, categories=key)
        >>> dt.data([2.0, 5.0, 3.0], dims=obs).groupby(where).prod().values.tolist()
        [5.0, 6.0]
        """
        least = checked_min_count("prod", min_count, skipna)
        by = self._over(dim, "prod")
        size = by._merged(by._size())
        total = by._split(by._running("multiply", 1, skipna).at_ends(by._start(size), size, 1))
        if least:
            total = where_enough(total, by.count(), least)
        return by._say(total, "prod", skipna=skipna, min_count=min_count)

    def _running(self, operation: str, fill: float, skipna: bool) -> Running:
        x = nan_filled(self._x, fill, skipna)
        x = x.astype(result_dtype("accumulate", (x.dtype,), "groupby"))
        return Running(x, self._labels.codes, self._along, operation)

    def _start(self, size: DimTensor) -> DimTensor:
        """Count the elements in the groups before each one."""
        return size.cumsum(self._groups) - size

    def cumsum(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the cumulative sum of each group, at its elements.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            Dims to sum along; the grouped dim by default.
        skipna : bool
            Whether to count NaN as 0.

        Returns
        -------
        DimTensor
            On the grouped dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b"], dims=obs, categories=key)
        >>> dt.data([2.0, 5.0, 3.0], dims=obs).groupby(where).cumsum().values.tolist()
        [2.0, 5.0, 5.0]
        """
        return self._cumulated("cumsum", "add", 0, dim, skipna)

    def cumprod(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the cumulative product of each group, at its elements; see :meth:`cumsum`."""
        return self._cumulated("cumprod", "multiply", 1, dim, skipna)

    def _cumulated(
        self, name: str, operation: str, fill: float, dim: DimKey, skipna: bool
    ) -> DimTensor:
        dims: Dims = (
            (self._along,) if dim is None else find_dims(self._x.dims, dim, f"{name} of groups")
        )
        others = without(dims, (self._along,))
        by = self._of(getattr(self._x, name)(others, skipna=skipna)) if others else self
        if self._along not in dims:
            return by._x
        total = by._running(operation, fill, skipna).at_elements()
        return self._say(total, name, dim=dims, skipna=skipna)

    def count(self, dim: DimKey = None) -> DimTensor:
        """Count the elements of each group that are not NaN."""
        by = self._over(dim, "count")
        if is_inexact(by._x.dtype):
            present = elemwise("logical_not", elemwise("isnan", by._x)).astype("int64")
        else:
            present = ones(by._x.dims, "int64")
        return by._say(by._of(present).sum(), "count")

    def _size(self, skipna: bool = False) -> DimTensor:
        """Count the elements of each group."""
        if skipna and is_inexact(self._x.dtype):
            return self.count()
        return self._say(self._of(ones(self._along, "int64")).sum(), "count")

    def any(self, dim: DimKey = None) -> DimTensor:
        """Test whether any element of each group is true; False for an empty one."""
        by = self._over(dim, "any")
        return by._say(by._of(by._x.astype("bool").astype("int64")).sum() > 0, "any")

    def all(self, dim: DimKey = None) -> DimTensor:
        """Test whether all elements of each group are true; True for an empty one."""
        by = self._over(dim, "all")
        misses = by._of(elemwise("logical_not", by._x.astype("bool")).astype("int64")).sum()
        return by._say(elemwise("equal", misses, 0), "all")

    # -- moments ---------------------------------------------------------------------------------

    def mean(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the mean of each group; NaN for an empty one. See :meth:`sum` for `skipna`."""
        by = self._over(dim, "mean")
        total = by._of(wrap(require_float(by._x.node))).sum(skipna=skipna)
        return by._say(quotient(total, by._size(skipna)), "mean", skipna=skipna)

    def var(self, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Compute the variance of each group, with ``count - ddof`` in the divisor."""
        by = self._over(dim, "var")
        x = wrap(require_float(by._x.node))
        gap = elemwise("subtract", x, by._back(by._of(x).mean(skipna=skipna)))
        squares = by._of(elemwise("square", gap)).sum(skipna=skipna)
        result = quotient(squares, elemwise("subtract", by._size(skipna), ddof))
        if ddof > 0 and not skipna:
            result = elemwise("where", elemwise("isnan", result), _nothing_left(squares), result)
        return by._say(result, "var", ddof=ddof or None, skipna=skipna)

    def std(self, dim: DimKey = None, *, ddof: int = 0, skipna: bool = False) -> DimTensor:
        """Compute the standard deviation of each group."""
        result = root_of_variance(self._over(dim, "std").var(ddof=ddof, skipna=skipna))
        return self._say(result, "std", ddof=ddof or None, skipna=skipna)

    # -- extremes, and elements by position -----------------------------------------------------

    def min(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Return the smallest element of each group; NaN for an empty one."""
        return self._over(dim, "min")._extreme("min", np.inf, skipna)

    def max(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Return the largest element of each group; NaN for an empty one."""
        return self._over(dim, "max")._extreme("max", -np.inf, skipna)

    def _extreme(self, which: str, fill: float, skipna: bool) -> DimTensor:
        if not (skipna and is_inexact(self._x.dtype)):
            return self._pick(which)
        result = self._of(nan_filled(self._x, fill, True))._pick(which)
        found = elemwise("where", elemwise("greater", self.count(), 0), result, np.nan)
        return self._say(found, which, skipna=True)

    def argmax(self, *, skipna: bool = False) -> DimTensor:
        """Return the position along the dim of the largest element of each group.

        Parameters
        ----------
        skipna : bool
            Whether to leave out NaN; otherwise the first NaN counts as the largest element.

        Returns
        -------
        DimTensor
            Integers. An empty group has no position, and the call raises :class:`CheckError`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs", coords=["u", "v", "w"]), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b"], dims=obs, categories=key)
        >>> by = dt.data([2.0, 5.0, 3.0], dims=obs).groupby(where)
        >>> by.argmax().values.tolist(), by.idxmax().values.tolist()
        ([1, 2], ['v', 'w'])
        """
        return self._place("argmax", "max", skipna)

    def argmin(self, *, skipna: bool = False) -> DimTensor:
        """Return the position of the smallest element of each group; see :meth:`argmax`."""
        return self._place("argmin", "min", skipna)

    def _place(self, name: str, which: str, skipna: bool) -> DimTensor:
        place = self._first_extreme(which, skipna)
        some = elemwise("greater", self._size(skipna), 0)
        found = check(some, f"{name}: a group has no elements", place)
        return self._say(found, name, skipna=skipna)

    def _first_extreme(self, which: str, skipna: bool) -> DimTensor:
        """Return the position of the extreme of each group, 0 for an empty one."""
        self._checked(f"arg{which}")
        if skipna and is_inexact(self._x.dtype):
            extreme = self._back(self._extreme(which, np.inf if which == "min" else -np.inf, True))
            hits = elemwise("equal", self._x, extreme).astype("int64")
            place = self._of(hits)._position("max")
        else:
            place = self._position(which)
        return elemwise("maximum", place, 0)

    def idxmax(self, *, skipna: bool = False, fill_value: Any = None) -> DimTensor:
        """Return the label of the largest element of each group.

        Parameters
        ----------
        skipna : bool
            Whether to leave out NaN.
        fill_value : label or number, optional
            The result for an empty group, as in :meth:`DimTensor.idxmax`.
        """
        return self._label("idxmax", "max", skipna, fill_value)

    def idxmin(self, *, skipna: bool = False, fill_value: Any = None) -> DimTensor:
        """Return the label of the smallest element of each group; see :meth:`idxmax`."""
        return self._label("idxmin", "min", skipna, fill_value)

    def _label(self, name: str, which: str, skipna: bool, fill_value: Any) -> DimTensor:
        if fill_value is None:
            place = self._place(name, which, skipna)
            found = wrap(make("codes", (place.node,), self._along))
        else:
            place = self._first_extreme(which, skipna)
            none = elemwise("equal", self._size(skipna), 0)
            found = filled_labels(name, none, fill_value, place, self._along)
        return self._say(found, name, skipna=skipna)

    def first(self, skipna: bool = False) -> DimTensor:
        """Return the first element of each group, in the order of the dim; NaN for an empty one."""
        self._checked("first")
        if not (skipna and is_inexact(self._x.dtype)):
            return self._pick("first")
        places = arange(self._along, dtype="float64")
        present = elemwise("where", elemwise("isnan", self._x), np.inf, places)
        return self._say(self._at(self._of(present)._pick("min")), "first", skipna=True)

    def last(self, skipna: bool = False) -> DimTensor:
        """Return the last element of each group, in the order of the dim; NaN for an empty one."""
        self._checked("last")
        places = arange(self._along, dtype="float64")
        if skipna and is_inexact(self._x.dtype):
            places = elemwise("where", elemwise("isnan", self._x), -np.inf, places)
        return self._say(self._at(self._of(places)._pick("max")), "last", skipna=skipna)

    def _at(self, place: DimTensor) -> DimTensor:
        """Return the elements at positions along the dim, NaN for positions that are not finite."""
        there = elemwise("isfinite", place)
        at = elemwise("where", there, place, 0.0).astype("int64")
        return elemwise("where", there, self._elements(at), np.nan)

    def _elements(self, at: DimTensor) -> DimTensor:
        """Return the elements at positions along a dim that may be empty, as floats."""
        x = wrap(require_float(self._x.node))
        elements, (along,) = with_an_element(x, (self._along,), np.nan)
        return elements.isel({along: at})

    def _position(self, which: str) -> DimTensor:
        """Return the position of the first or extreme element of each group, or -1."""
        codes = self._labels.codes.node
        source = codes if which == "first" else self._x.node
        attrs = GroupAttrs(which, self._along, self._groups)
        return self._split(wrap(make("group_position", (source, codes), attrs)))

    def _pick(self, which: str) -> DimTensor:
        at = self._position(which)
        value = self._elements(elemwise("maximum", at, 0))
        return self._say(elemwise("where", elemwise("less", at, 0), np.nan, value), which)

    # -- quantiles -------------------------------------------------------------------------------

    def median(self, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute the median of each group; NaN for an empty one."""
        by = self._over(dim, "median")
        return by._say(by.quantile(0.5, skipna=skipna), "median", skipna=skipna)

    def quantile(
        self,
        q: float | Sequence[float] | np.ndarray | DimTensor,
        dim: DimKey = None,
        *,
        method: QuantileMethod = "linear",
        skipna: bool = False,
    ) -> DimTensor:
        """Compute quantiles of each group; NaN for an empty one.

        Parameters
        ----------
        q : float, list of float or DimTensor
            Between 0 and 1. Several give a dim ``quantile``.
        dim : Dim, str or iterable of them, optional
        method : str
            One of NumPy's; see :meth:`DimTensor.quantile`.
        skipna : bool
            Whether to leave out NaN.

        Raises
        ------
        OptionError
            If a level is not between 0 and 1, or the method is unknown.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b", "b"], dims=obs, categories=key)
        >>> x = dt.data([1.0, 2.0, 9.0, 3.0], dims=obs)
        >>> x.groupby(where).median().values.tolist()
        [2.0, 3.0]
        """
        level = levels_of(q)
        check_method(method)
        by = self._over(dim, "quantile")
        x, start = wrap(require_float(by._x.node)), by._start(by._merged(by._size()))
        counted = by._merged(by._size(skipna))
        codes = by._labels.codes
        found = by._split(group_quantile(x, codes, by._along, start, counted, level, method))
        if not skipna:
            missing = elemwise("isnan", x).astype("int64")
            found = elemwise("where", by._of(missing).sum() > 0, np.nan, found)
        shown = None if method == "linear" else method
        return by._say(found, "quantile", q=shown_levels(q), method=shown, skipna=skipna)

    def _back(self, result: DimTensor) -> DimTensor:
        labels = self._several or [self._labels]
        return result.sel(dict(zip(self._result_dims, labels, strict=True)))


def _pooled(dim: Dim) -> RaggedDimError:
    """Return the error of groups along a ragged dim, which would have elements of all parents."""
    name, above = dim._short, dim._within
    assert above is not None
    return RaggedDimError(
        f"groupby along {dim._title} would put positions of different labels of {above._title} "
        "into one group",
        [("dim", repr(dim))],
        f"x.mean({name}) is along {above._short}; to group the positions of all: "
        f"x.relabel({name}, {name}.flat).groupby(labels.relabel({name}, {name}.flat))",
    )


def _nothing_left(squares: DimTensor) -> DimTensor:
    """Divide a sum of squares by zero: infinity, or NaN for zero and NaN."""
    return elemwise("where", elemwise("greater", squares, 0), np.inf, np.nan)


def quotient(total: DimTensor, count: DimTensor) -> DimTensor:
    """Divide a total by a number of elements; NaN where it is not positive."""
    some = elemwise("greater", count, 0)
    divisor = elemwise("maximum", count, 1).astype(total.dtype)
    return elemwise("where", some, elemwise("divide", total, divisor), np.nan)
