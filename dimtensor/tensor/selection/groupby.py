"""Grouping along a dim by labels: the adjoint of a pointwise selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dimtensor.dims import Coords, Dim, dim_set, find_dim
from dimtensor.dims.calendar import PARTS
from dimtensor.errors import (
    DimError,
    InputError,
    LabelError,
    NoAttributeError,
    build_message,
    did_you_mean,
    listing,
)
from dimtensor.graph import make
from dimtensor.graph.attrs import DataAttrs, GroupAttrs
from dimtensor.graph.dtypes import is_inexact, result_dtype
from dimtensor.graph.infer import describe
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data_beside
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import root_of_variance
from dimtensor.tensor.reductions.order_statistics import with_an_element
from dimtensor.values.labelled import is_dataarray, is_pandas

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_REDUCTIONS = (
    "sum", "mean", "min", "max", "std", "var", "count", "first", "last", "median"
)  # fmt: skip

_FILLED = "x.reindex(day=dates) or x.interp(day=dates) puts x on more dates, and ffill fills in"
_INSTEAD = {
    "prod": "of positive numbers, dt.exp(dt.log(x).groupby(labels).sum())",
    "agg": "groupby(labels).mean(), .sum() and the like, one by one",
    "apply": "groupby(labels).map(function) calls it with the groups",
    "reduce": "groupby(labels).map(function) calls it with the groups",
    **dict.fromkeys(("ffill", "bfill", "pad", "nearest", "interpolate", "asfreq"), _FILLED),
}


@with_named_dims
class GroupBy:
    """Elements of a tensor grouped along one dim, made by :meth:`DimTensor.groupby`.

    Every reduction gives a tensor on the dim of the groups; of a group without elements the sum
    and count are 0, everything else is NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> shop, obs = dt.Dim("shop", coords=["north", "south", "west"]), dt.Dim("obs")
    >>> where = dt.data(["north", "south", "north"], dims=obs, categories=shop)
    >>> sold = dt.data([1.0, 2.0, 4.0], dims=obs).groupby(where)
    >>> sold.sum().values.tolist(), sold.count().values.tolist()
    ([5.0, 2.0, 0.0], [2, 1, 0])
    >>> sold.max().sel(shop="north").item()
    4.0
    """

    def __init__(self, x: DimTensor, labels: DimTensor, along: Dim, groups: Dim):
        self._x = x
        self._labels = labels
        self._along = along
        self._groups = groups

    @classmethod
    def of(cls, x: DimTensor, labels: Any, categories: Dim | None) -> GroupBy:
        """Check the labels and find the dims.

        Raises
        ------
        LabelError
            If the labels belong to no dim and are not data.
        DimError
            If the labels do not have exactly one dim of the tensor.
        """
        if isinstance(labels, str) and "." in labels:
            labels = _part_of_dates(x, *labels.split(".", 1))
        if isinstance(labels, (Dim, str)):
            raise _no_labels(x, labels)
        if isinstance(labels, (list, tuple)) and any(isinstance(k, TensorHandle) for k in labels):
            raise LabelError(
                build_message(
                    f"groupby takes one tensor of labels, not {len(labels)}",
                    [("dims of x", dim_set(x.dims))],
                    "dates are grouped by year and month with x.resample(dim='MS'); of other "
                    "labels make one column of both before dt.data or dt.frame",
                )
            )
        if categories is not None and not isinstance(categories, Dim):
            raise DimError(
                build_message(
                    f"groupby: categories are a Dim, the one of the groups, not {categories!r}",
                    hint="make one: dt.Dim(name, coords=[...])",
                )
            )
        if categories is None and (is_dataarray(labels) or is_pandas(labels)):
            name = labels.name if isinstance(labels.name, str) else "group"
            categories = Dim(name, coords=_labels_found(labels))
            node = data_beside(labels, [x.node], categories).node
        else:
            node = as_node(labels, [x.node], "the labels of groupby")
        if node.categories is None:
            node = _as_categories(node, categories)
        elif categories is not None and node.categories is not categories:
            from dimtensor.tensor.selection.lookup import translated

            node = translated(node, node.categories, categories)
        shared = [dim for dim in node.dims if dim in x.dims]
        if len(node.dims) != 1 or not shared:
            raise DimError(
                build_message(
                    "the labels of groupby have one dim, which the tensor has, too",
                    [
                        ("tensor", dim_set(x.dims)),
                        ("labels", dim_set(node.dims)),
                    ],
                    "ravel both to group over several dims",
                )
            )
        return cls(x, wrap(node), node.dims[0], node.categories)  # type: ignore[arg-type]

    def _of(self, x: DimTensor) -> GroupBy:
        """Another tensor in the same groups."""
        return GroupBy(x, self._labels, self._along, self._groups)

    def _say(self, result: DimTensor, name: str, **options: Any) -> DimTensor:
        return say(result, name, self._x, by=self._labels, **options)

    def sum(self, *, skipna: bool = False) -> DimTensor:
        """Sum of each group; 0 for an empty one.

        Parameters
        ----------
        skipna : bool
            Whether NaN are left out, as in all reductions of groups.

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
        x = wrap(self._x._present(0, skipna))
        rest = tuple(dim for dim in x.dims if dim is not self._along)
        from dimtensor.tensor.constructors import zeros

        dtype = result_dtype("accumulate", (x.dtype,), "groupby")
        start = zeros((*rest, self._groups), dtype=dtype)
        total = start.sel({self._groups: self._labels}).inc(x.astype(dtype))
        return self._say(total, "sum", skipna=skipna)

    def count(self) -> DimTensor:
        """Number of elements of each group that are not NaN."""
        from dimtensor.tensor.constructors import ones

        x = self._x
        if _may_be_nan(x):
            present = elemwise("logical_not", elemwise("isnan", x)).astype("int64")
        else:
            present = ones(x.dims, "int64")
        return self._say(self._of(present).sum(), "count")

    def _size(self, skipna: bool = False) -> DimTensor:
        """Number of elements of each group."""
        from dimtensor.tensor.constructors import ones

        if skipna and _may_be_nan(self._x):
            return self.count()
        return self._of(ones(self._along, "int64")).sum()

    def mean(self, *, skipna: bool = False) -> DimTensor:
        """Mean of each group; NaN for an empty one. See :meth:`sum` for `skipna`."""
        total = self._of(wrap(require_float(self._x.node))).sum(skipna=skipna)
        return self._say(_quotient(total, self._size(skipna)), "mean", skipna=skipna)

    def var(self, ddof: int = 0, *, skipna: bool = False) -> DimTensor:
        """Variance of each group, with ``count - ddof`` in the divisor."""
        x = wrap(require_float(self._x.node))
        gap = elemwise("subtract", x, self._back(self._of(x).mean(skipna=skipna)))
        squares = self._of(elemwise("square", gap)).sum(skipna=skipna)
        quotient = _quotient(squares, elemwise("subtract", self._size(skipna), ddof))
        if ddof > 0:
            undefined = elemwise("isnan", quotient)
            quotient = elemwise("where", undefined, _nothing_left(squares), quotient)
        return self._say(quotient, "var", ddof=ddof or None, skipna=skipna)

    def std(self, ddof: int = 0, *, skipna: bool = False) -> DimTensor:
        """Standard deviation of each group."""
        result = root_of_variance(self.var(ddof, skipna=skipna))
        return self._say(result, "std", ddof=ddof or None, skipna=skipna)

    def min(self, *, skipna: bool = False) -> DimTensor:
        """Smallest element of each group; NaN for an empty one."""
        return self._extreme("min", np.inf, skipna)

    def max(self, *, skipna: bool = False) -> DimTensor:
        """Largest element of each group; NaN for an empty one."""
        return self._extreme("max", -np.inf, skipna)

    def _extreme(self, which: str, fill: float, skipna: bool) -> DimTensor:
        if not (skipna and _may_be_nan(self._x)):
            return self._pick(which)
        result = self._of(wrap(self._x._present(fill, True)))._pick(which)
        found = elemwise("where", elemwise("greater", self.count(), 0), result, np.nan)
        return self._say(found, which, skipna=True)

    def first(self, *, skipna: bool = False) -> DimTensor:
        """First element of each group, in the order of the dim; NaN for an empty one."""
        if not (skipna and _may_be_nan(self._x)):
            return self._pick("first")
        from dimtensor.tensor.constructors import arange

        places = arange(self._along, dtype="float64")
        present = elemwise("where", elemwise("isnan", self._x), np.inf, places)
        return self._say(self._at(self._of(present)._pick("min")), "first", skipna=True)

    def last(self, *, skipna: bool = False) -> DimTensor:
        """Last element of each group, in the order of the dim; NaN for an empty one."""
        from dimtensor.tensor.constructors import arange

        places = arange(self._along, dtype="float64")
        if skipna and _may_be_nan(self._x):
            places = elemwise("where", elemwise("isnan", self._x), -np.inf, places)
        return self._say(self._at(self._of(places)._pick("max")), "last", skipna=skipna)

    def median(self, *, skipna: bool = False) -> DimTensor:
        """Median of each group; NaN for an empty one."""
        return self._say(self.quantile(0.5, skipna=skipna), "median", skipna=skipna)

    def quantile(self, q: float, *, skipna: bool = False) -> DimTensor:
        """A quantile of each group, interpolated linearly; NaN for an empty one.

        Parameters
        ----------
        q : float
            Between 0 and 1.
        skipna : bool
            Whether NaN are left out; else a NaN makes the result NaN.

        Raises
        ------
        InputError
            If it is not between 0 and 1.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b", "b"], dims=obs, categories=key)
        >>> x = dt.data([1.0, 2.0, 9.0, 3.0], dims=obs)
        >>> x.groupby(where).median().values.tolist()
        [2.0, 3.0]
        """
        from dimtensor.tensor.selection.group_quantiles import group_quantile

        if np.ndim(q) or not 0 <= q <= 1:
            raise InputError(f"a quantile of groups is a number between 0 and 1, not {q}")
        x, size = wrap(require_float(self._x.node)), self._size()
        start = size.cumsum(self._groups) - size
        counted = self._size(skipna)
        found = group_quantile(x, self._labels.codes, self._along, start, counted, float(q))
        if not skipna:
            missing = elemwise("isnan", x).astype("int64")
            found = elemwise("where", self._of(missing).sum() > 0, np.nan, found)
        return self._say(found, "quantile", q=float(q), skipna=skipna)

    def _at(self, place: DimTensor) -> DimTensor:
        """Elements at places along the dim, NaN for places that are not finite."""
        there = elemwise("isfinite", place)
        at = elemwise("where", there, place, 0.0).astype("int64")
        x = wrap(require_float(self._x.node))
        elements, (along,) = with_an_element(x, (self._along,), np.nan)
        return elemwise("where", there, elements.isel({along: at}), np.nan)

    def _pick(self, which: str) -> DimTensor:
        codes = self._labels.codes.node
        x = self._x.node
        source = codes if which == "first" else x
        at = make("group_position", (source, codes), GroupAttrs(which, self._along, self._groups))
        empty = elemwise("less", wrap(at), 0)
        elements, (along,) = with_an_element(wrap(require_float(x)), (self._along,), np.nan)
        value = elements.isel({along: elemwise("maximum", wrap(at), 0)})
        return self._say(elemwise("where", empty, np.nan, value), which)

    def _back(self, result: DimTensor) -> DimTensor:
        return result.sel({self._groups: self._labels})

    def map(self, function: Callable[[GroupBy], Any] | str | DimTensor) -> DimTensor:
        """Bring a result per group back to the elements.

        Parameters
        ----------
        function : callable, str or DimTensor
            Called with this GroupBy, or the name of one of its reductions, or a tensor on the dim
            of the groups.

        Returns
        -------
        DimTensor
            On the dim that was grouped, each element with the value of its group.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> key = dt.data(["b", "a", "b"], dims=obs, categories=dt.Dim("key", coords=["a", "b"]))
        >>> x = dt.data([1.0, 2.0, 3.0], dims=obs)
        >>> (x - x.groupby(key).map("mean")).eval().values.tolist()
        [-1.0, 0.0, 1.0]
        """
        if isinstance(function, TensorHandle):
            result: Any = function
        elif isinstance(function, str):
            if function not in _REDUCTIONS:
                raise InputError(
                    build_message(
                        f"map: groups have no reduction {function!r}"
                        f"{did_you_mean(function, _REDUCTIONS)}",
                        [("reductions", listing(_REDUCTIONS))],
                    )
                )
            result = getattr(self, function)()
        else:
            result = function(self)
        if self._groups not in result.dims:
            raise DimError(
                build_message(
                    f"map brings a result on {self._groups.title} back to the elements",
                    [("result", dim_set(result.dims))],
                )
            )
        return self._back(result)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            hint = _INSTEAD.get(name)
            text = f"groups have no {name!r}" + did_you_mean(name, _REDUCTIONS)
            raise NoAttributeError(build_message(text, hint=hint or ""), name=name, obj=self)

    def __repr__(self) -> str:
        return f"<GroupBy along {self._along!r} to {self._groups!r}>"


def _labels_found(values: Any) -> Coords:
    """The labels among values, each once; in ascending order, where they have one."""
    found = Coords(values.to_numpy().ravel() if is_dataarray(values) else values)
    index = found.index.unique()
    try:
        return Coords(index.sort_values())
    except TypeError:
        return Coords(index)


def _may_be_nan(x: DimTensor) -> bool:
    return is_inexact(x.dtype)


def _no_labels(x: DimTensor, given: Dim | str) -> LabelError:
    """The error of a dim, or its name, in the place of a tensor of labels."""
    name = given.short if isinstance(given, Dim) else given
    if any(dim.name == name for dim in x.dims):
        hint = (
            f"each label of dim {name!r} is a group of its own: a reduction over the other dims, "
            "such as x.mean(dim), gives one value for each"
        )
    else:
        hint = (
            f"{name} = dt.data(values, dims=..., categories=dim) has a label for each element; "
            f"x.groupby({name})"
        )
    return LabelError(
        build_message(
            f"groupby takes a tensor of labels, one for each element along a dim, not the name "
            f"{name!r}",
            [("dims of x", dim_set(x.dims))],
            hint,
        )
    )


def _part_of_dates(x: DimTensor, name: str, part: str) -> Any:
    """A calendar part of a dim, both by name: ``"day.month"``."""
    dim = find_dim(x.dims, name, "groupby")
    if part not in PARTS:
        raise LabelError(
            build_message(
                f"groupby: dates have no part {part!r}{did_you_mean(part, PARTS)}",
                [("parts", listing(PARTS, len(PARTS)))],
            )
        )
    return getattr(dim, part)


def _nothing_left(squares: DimTensor) -> DimTensor:
    """A sum of squares divided by zero: infinite, or NaN if it is zero or NaN itself."""
    return elemwise("where", elemwise("greater", squares, 0), np.inf, np.nan)


def _quotient(total: DimTensor, count: DimTensor) -> DimTensor:
    """A total divided by a number of elements, NaN where there are none."""
    some = elemwise("greater", count, 0)
    divisor = elemwise("maximum", count, 1).astype(total.dtype)
    return elemwise("where", some, elemwise("divide", total, divisor), np.nan)


def _as_categories(node: Any, categories: Dim | None) -> Any:
    """Labels of a dim made of data: of the given one, or of a new one of the values found."""
    if categories is not None:
        from dimtensor.tensor.selection.lookup import label_indexer

        positions = label_indexer(node, categories)
        return (
            make("codes", (positions,), categories) if positions.categories is None else positions
        )
    if node.kind != "data":
        raise LabelError(
            build_message(
                f"groupby: {describe(node)} does not hold labels of a dim, and its values are not "
                "known yet",
                hint="pass categories=dim, the dim of the groups",
            )
        )
    attrs = node.attrs
    found, codes = np.unique(attrs.values, return_inverse=True)
    groups = Dim(attrs.name or "group", coords=found)
    return make(
        "data",
        (),
        DataAttrs(attrs.name, attrs.dims, codes.reshape(attrs.values.shape), groups, attrs.labels),
    )
