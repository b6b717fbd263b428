"""Ranks, places in sorted elements, covariances, fits of polynomials; as in xarray and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import (
    Dim,
    Dims,
    SortedDim,
    dim_labels,
    dim_set,
    find_dim,
    find_dims,
    only_dim,
    without,
)
from dimtensor.errors import DimError, InputError, build_message
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.coordinates import coordinate
from dimtensor.tensor.constructors import eye, length, zeros
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.linalg.equations import solve
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.reductions.order_statistics import with_an_element

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def searchsorted(x: Any, v: Any, dim: Dim | str | None = None, side: str = "left") -> DimTensor:
    """Positions at which values would be inserted to keep elements sorted.

    Parameters
    ----------
    x : DimTensor
        In ascending order along the dim.
    v : DimTensor or number
        What is looked for.
    dim : Dim or str, optional
        It may be left out where there is only one.
    side : {"left", "right"}
        Whether the position is before or after elements that are equal.

    Returns
    -------
    DimTensor
        Of integers from 0 to the length, by bisection. NaN comes after all numbers, as in NumPy.

    Raises
    ------
    DimError
        If the tensor has no such dim, or the values have it, too.
    InputError
        If there is no such side.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 2.0, 5.0], dims=dt.Dim("k"))
    >>> dt.searchsorted(x, 2.0).item(), dt.searchsorted(x, 2.0, side="right").item()
    (1, 3)
    """
    node = as_node(x, [], "searchsorted")
    values = as_node(v, [node], "the values of searchsorted")
    if side not in ("left", "right"):
        raise InputError(f"searchsorted: the side is 'left' or 'right', not {side!r}")
    along = only_dim(node.dims, dim, "searchsorted")
    if along in values.dims:
        raise DimError(
            build_message(
                f"searchsorted: the values have {along.title} themselves",
                [("dims of the values", dim_set(values.dims))],
                "rename it: v.rename_dim(dim)",
            )
        )
    return say(_place(wrap(node), along, wrap(values), side), "searchsorted", node, values)


def _place(x: DimTensor, along: Dim, v: DimTensor, side: str) -> DimTensor:
    from dimtensor.tensor.control.while_loops import fori_loop

    elements, (longer,) = with_an_element(x, (along,), 0)
    n = length(along)
    dims = tuple(dict.fromkeys((*v.dims, *without(x.dims, (along,)))))
    before = "less" if side == "left" else "less_equal"
    missing = elemwise("isnan", v) if is_inexact(v.dtype) else None

    def halve(_: Any, ends: Any) -> Any:
        low, high = ends
        middle = elemwise("floor_divide", low + high, 2)
        there = elemwise("minimum", middle, elemwise("maximum", n - 1, 0))
        element = elements.isel({longer: there})
        later = elemwise(before, element, v)
        if missing is not None:  # it comes after all numbers
            after = missing if side == "right" else missing & ~elemwise("isnan", element)
            later = later | after
        looking = elemwise("less", low, high)
        return (
            elemwise("where", looking & later, middle + 1, low),
            elemwise("where", looking & ~later, middle, high),
        )

    start = zeros(dims, "int64")
    steps = elemwise("ceil", elemwise("log2", (n + 1).astype("float64"))).astype("int64")
    return fori_loop(0, steps, halve, (start, start + n))[0]


def cov(x: Any, y: Any, dim: DimKey = None, ddof: int = 1) -> DimTensor:
    """Covariance over dims of the pairs of which neither element is missing.

    Parameters
    ----------
    x, y : DimTensor
    dim : Dim, str or iterable of them, optional
        All dims by default.
    ddof : int
        Subtracted from the number of pairs in the divisor.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If a dim is not there.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k")
    >>> x, y = dt.data([1.0, 2.0, 3.0], dims=k), dt.data([2.0, 4.0, 6.0], dims=k)
    >>> dt.cov(x, y).item(), round(dt.corr(x, y).item(), 12)
    (2.0, 1.0)
    """
    first, second, over, n = _pairs(x, y, dim, "cov")
    total = elemwise("multiply", first, second).sum(over, skipna=True)
    return say(total / elemwise("maximum", n - ddof, 0).astype(total.dtype), "cov", x, y, over=over)


def corr(x: Any, y: Any, dim: DimKey = None) -> DimTensor:
    """Pearson's correlation over dims of the pairs of which neither element is missing.

    Parameters
    ----------
    x, y : DimTensor
    dim : Dim, str or iterable of them, optional
        All dims by default.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If a dim is not there.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k")
    >>> x, y = dt.data([1.0, 2.0, 3.0], dims=k), dt.data([3.0, 2.0, 1.0], dims=k)
    >>> round(dt.corr(x, y).item(), 12)
    -1.0
    """
    first, second, over, _ = _pairs(x, y, dim, "corr")
    joint = elemwise("multiply", first, second).sum(over, skipna=True)
    sizes = [elemwise("square", each).sum(over, skipna=True) for each in (first, second)]
    scale = elemwise("multiply", *(elemwise("sqrt", size) for size in sizes))
    return say(elemwise("divide", joint, scale), "corr", x, y, over=over)


def _pairs(x: Any, y: Any, dim: DimKey, what: str) -> tuple[DimTensor, DimTensor, Dims, DimTensor]:
    """Both with their means taken out, missing where one is; the dims, the number of pairs."""
    one = as_node(x, [], what)
    left, right = (wrap(require_float(node)) for node in (one, as_node(y, [one], what)))
    gone = elemwise("logical_or", elemwise("isnan", left), elemwise("isnan", right))
    over = find_dims(gone.dims, dim, what)
    left, right = (elemwise("where", gone, np.nan, each) for each in (left, right))
    n = elemwise("logical_not", gone).astype("int64").sum(over)
    means = [each.mean(over, skipna=True) for each in (left, right)]
    return left - means[0], right - means[1], over, n


def cross(x: Any, y: Any, dim: Dim | str) -> DimTensor:
    """Cross product of vectors of three elements along a dim.

    Parameters
    ----------
    x, y : DimTensor
        Both with the dim.
    dim : Dim or str
        Of length 3.

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If a tensor lacks the dim, or it has another length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> axis = dt.Dim("axis", coords=["x", "y", "z"])
    >>> x, y = dt.data([1.0, 0.0, 0.0], dims=axis), dt.data([0.0, 1.0, 0.0], dims=axis)
    >>> dt.cross(x, y, axis).values.tolist()
    [0.0, 0.0, 1.0]
    """
    one = as_node(x, [], "cross")
    left, right = wrap(one), wrap(as_node(y, [one], "cross"))
    along = find_dim(left.dims, dim, "cross")
    find_dim(right.dims, along, "cross")
    if along.length != 3:
        raise DimError(f"cross: {along.title} has length {along.length}, not 3")
    up, down = left.roll({along: -1}), left.roll({along: 1})
    result = up * right.roll({along: 1}) - down * right.roll({along: -1})
    return say(result, "cross", x, y, along=along)


def polyval(x: Any, coefficients: DimTensor, degree: Dim | str = "degree") -> DimTensor:
    """Values of a polynomial, by Horner's rule.

    Parameters
    ----------
    x : DimTensor
    coefficients : DimTensor
        Along a dim whose labels are the degrees.
    degree : Dim or str

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If the coefficients lack the dim.
    InputError
        If its labels are no degrees.

    Examples
    --------
    >>> import dimtensor as dt
    >>> c = dt.data([2.0, 1.0], dims=dt.Dim("degree", coords=[2, 0]))
    >>> dt.polyval(dt.data([0.0, 3.0], dims=dt.Dim("k")), c).values.tolist()
    [1.0, 19.0]
    """
    along = find_dim(coefficients.dims, degree, "polyval")
    labels = [] if along.coords is None else along.coords.tolist()
    if not labels or not all(isinstance(each, int) and each >= 0 for each in labels):
        raise InputError(f"polyval: the labels of {along.title} are no degrees: {labels}")
    result: Any = 0.0
    for power in range(max(labels), -1, -1):
        result = result * x
        if power in labels:
            result = result + coefficients.sel({along: power})
    return say(result, "polyval", x, coefficients)


class StatisticsMixin(TensorHandle):
    """Ranks and fits along a dim."""

    __slots__ = ()

    def rank(self, dim: Dim | str, *, pct: bool = False) -> DimTensor:
        """Ranks along a dim, from 1; equal elements share the mean of theirs.

        Parameters
        ----------
        dim : Dim or str
        pct : bool
            Whether ranks are divided by the number of elements that are not missing.

        Returns
        -------
        DimTensor
            Missing where the element is.

        Raises
        ------
        DimError
            If the dim is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 3.0], dims=dt.Dim("k")).rank("k").values.tolist()
        [2.5, 1.0, 2.5]
        """
        along = find_dim(self.dims, dim, "rank")
        x = wrap(require_float(self.node))
        ordered, ranks = x.sort(along), SortedDim(along)
        below, above = (
            _place(ordered._renamed({ranks: _apart(along)}), _apart(along), x, side)
            for side in ("left", "right")
        )
        mean = (below + above + 1).astype(x.dtype) / 2
        if pct:
            mean = mean / x.count(along).astype(x.dtype)
        return say(elemwise("where", elemwise("isnan", x), np.nan, mean), "rank", self, along=along)

    def polyfit(self, dim: Dim | str, deg: int, *, skipna: bool = False) -> DimTensor:
        """Coefficients of the polynomial of the labels of a dim that is closest by least squares.

        Parameters
        ----------
        dim : Dim or str
            With numbers or dates as labels; dates count in nanoseconds from 1970-01-01, as in
            xarray.
        deg : int
            The degree.
        skipna : bool
            Leave out elements that are NaN, each series its own. By default a series with one has
            NaN as coefficients.

        Returns
        -------
        DimTensor
            Along a dim ``degree`` with the labels ``deg``, …, 0. :func:`polyval` evaluates it. NaN
            where no more elements are left than the degree says.

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If the labels are not known, or no numbers and no dates.
        InputError
            If the degree is negative, or there are not more labels than it says.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 3.0, 5.0], dims=dt.Dim("t", coords=[0, 1, 2]))
        >>> x.polyfit("t", 1).values.round(12).tolist()
        [2.0, 1.0]
        """
        along = find_dim(self.dims, dim, "polyfit")
        places = coordinate(
            along, "polyfit", f"relabel('{along.short}', dt.Dim(name, coords=range(n)))"
        )
        labels = dim_labels(along)
        if labels is not None and labels.family != "number":
            places = np.asarray(labels.index.as_unit("ns").asi8, dtype=float)
        if not isinstance(deg, int) or deg < 0 or len(places) <= deg:
            raise InputError(f"polyfit: degree {deg!r} of {len(places)} labels along {along.title}")
        design = np.vander(places, deg + 1)
        scale = np.sqrt((design * design).sum(axis=0))  # as numpy.polyfit has it
        weights = np.linalg.pinv(design / scale) / scale[:, None]
        degree = Dim("degree", coords=list(range(deg, -1, -1)))
        x = wrap(require_float(self.node))
        if skipna:
            fitted = _fitted_to_present(x, design / scale, degree, along)
            fitted = fitted / data(scale, dims=degree).astype(x.dtype)
            return say(fitted, "polyfit", self, along=along, deg=deg, skipna=True)
        fitted = (x * data(weights, dims=[degree, along]).astype(x.dtype)).sum(along)
        return say(fitted, "polyfit", self, along=along, deg=deg)


def _fitted_to_present(x: DimTensor, design: np.ndarray, degree: Dim, along: Dim) -> DimTensor:
    """Coefficients of the columns of a design, by least squares of the elements that are there.

    The columns are made orthonormal first: then the normal equations of most of the rows are nearly
    those of all, which are solved as they are.
    """
    basis, triangle = np.linalg.qr(design)
    row, col = (Dim(f"{degree.short}:{end}", length=len(degree)) for end in ("row", "col"))
    there = elemwise("logical_not", elemwise("isnan", x))
    rows, cols = (data(basis, dims=[along, end]).astype(x.dtype) for end in (row, col))
    known = elemwise("where", there, x, 0.0)
    left = elemwise("where", there, rows * cols, 0.0).sum(along)
    enough = there.sum(along) > len(degree) - 1
    # where too few are left, any equations that have a solution
    left = elemwise("where", enough, left, eye(row, col).astype(x.dtype))
    found = solve(left, (rows * known).sum(along), dims=[row, col], assume_a="pos")
    back = data(np.linalg.inv(triangle), dims=[degree, col]).astype(x.dtype)
    return elemwise("where", enough, (back * found).sum(col), np.nan)


def _apart(dim: Dim) -> Dim:
    """A dim for what is looked through while the values have the dim itself."""
    return SortedDim(dim).rename(f"{dim.short}:sorted")
