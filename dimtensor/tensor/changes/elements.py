"""Operations that change elements and keep dims: conversion, replacement, limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, dim_set, without
from dimtensor.errors import DimError, DtypeError, OptionError
from dimtensor.graph import make
from dimtensor.graph.dtypes import is_integer, valid_dtype
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, TensorLike, as_node, elemwise, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import DtypeLike


class ElementMixin(TensorHandle):
    """Methods that convert, replace and limit elements."""

    __slots__ = ()

    def astype(self, dtype: DtypeLike) -> DimTensor:
        """Convert the elements to another dtype.

        Parameters
        ----------
        dtype : dtype-like

        Returns
        -------
        DimTensor
            The tensor itself if it has the dtype.

        Raises
        ------
        DtypeError
            If the elements are labels, the dtype is unknown, or complex numbers would become real;
            bools of complex numbers are allowed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.scalar("x").astype("float32").dtype
        'float32'
        """
        dtype = valid_dtype(dtype)
        if self.categories is not None:
            raise DtypeError("labels have no other dtype; .codes gives their positions")
        return wrap(self.node if self.dtype == dtype else make("cast", (self.node,), dtype))

    @property
    def real(self) -> DimTensor:
        """Real parts of the elements.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data(1.0 + 2.0j).real.item()
        1.0
        """
        return elemwise("real", self)

    @property
    def imag(self) -> DimTensor:
        """Imaginary parts of the elements.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data(1.0 + 2.0j).imag.item()
        2.0
        """
        return elemwise("imag", self)

    def where(
        self,
        cond: TensorLike | Callable[[DimTensor], Any],
        other: TensorLike = np.nan,
        drop: bool = False,
    ) -> DimTensor:
        """Keep elements where a condition holds, and replace the others.

        Parameters
        ----------
        cond : DimTensor of dtype bool, or callable
            A function is called with the tensor.
        other : DimTensor, number or callable
        drop : bool
            Whether to leave out positions along each dim of the condition where it holds nowhere.
            If the condition is computed, the lengths of the results come with the data.

        Returns
        -------
        DimTensor
            With the dims of all three; integers become floats where `other` is NaN.

        Raises
        ------
        DimError
            If the condition has dims that the tensor lacks, and positions are left out.
        DtypeError
            If positions are left out by something that is not of bool.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, -2.0], dims=dt.Dim("k", coords=["a", "b"]))
        >>> x.where(x > 0, 0.0).values.tolist()
        [1.0, 0.0]
        >>> x.where(x > 0, drop=True).dims[0].coords.tolist()
        ['a']
        """
        x: Any = wrap(self.node)
        cond = cond(x) if callable(cond) else cond
        other = other(x) if callable(other) else other
        if not drop:
            return elemwise("where", cond, x, other)
        beside = [] if isinstance(cond, (bool, np.bool_)) else [self.node]
        condition = wrap(as_node(cond, beside, "the condition of where"))
        if condition.dtype != "bool":
            raise DtypeError(f"where: a condition is boolean, not of {condition.dtype}")
        lost = [dim for dim in condition.dims if dim not in x.dims]
        if lost:
            raise DimError(
                "where: positions are left out along dims of the tensor",
                [("tensor", dim_set(x.dims)), ("condition", dim_set(condition.dims))],
                "x.expand(dim).where(...) has the other dims, too",
            )
        kept: dict[Dim, Any] = {}
        for dim in condition.dims:
            others = without(condition.dims, (dim,))
            some = condition.any(others) if others else condition
            known = some.known_values()
            kept[dim] = some if known is None else np.asarray(known)
            if known is not None and dim._within is None:
                kept[dim] = np.flatnonzero(known)
        operands = [
            wrap(y.node).isel({dim: kept[dim] for dim in y.dims if dim in kept})
            if isinstance(y, TensorHandle)
            else y
            for y in (condition, x, other)
        ]
        return elemwise("where", *operands)

    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> DimTensor:
        """Limit elements to an interval.

        Parameters
        ----------
        min, max : DimTensor or number, optional

        Returns
        -------
        DimTensor

        Raises
        ------
        DtypeError
            For labels and complex numbers.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, -2.0], dims=dt.Dim("k", length=2)).clip(min=0.0).eval().values.tolist()
        [1.0, 0.0]
        """
        if min is not None and max is not None:
            return elemwise("clip", self, min, max)
        result: Any = wrap(self.node)
        if min is not None:
            result = elemwise("maximum", result, min)
        if max is not None:
            result = elemwise("minimum", result, max)
        return result

    def fillna(self, value: TensorLike) -> DimTensor:
        """Replace NaN by a value.

        Parameters
        ----------
        value : DimTensor or number

        Returns
        -------
        DimTensor

        Raises
        ------
        DtypeError
            If the value is a string, or of another kind than the tensor.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, float("nan")], dims=dt.Dim("k", length=2))
        >>> x.fillna(0.0).eval().values.tolist()
        [1.0, 0.0]
        """
        return elemwise("where", elemwise("isnan", self), value, self)

    def isnull(self) -> DimTensor:
        """Test for NaN.

        Returns
        -------
        DimTensor
            Of dtype bool.

        Examples
        --------
        >>> import dimtensor as dt
        >>> import numpy as np
        >>> dt.data([1.0, np.nan], dims=dt.Dim("k")).isnull().values.tolist()
        [False, True]
        """
        return elemwise("isnan", self)

    def notnull(self) -> DimTensor:
        """Test for elements that are not NaN.

        Returns
        -------
        DimTensor
            Of dtype bool.

        Examples
        --------
        >>> import dimtensor as dt
        >>> import numpy as np
        >>> dt.data([1.0, np.nan], dims=dt.Dim("k")).notnull().values.tolist()
        [True, False]
        """
        return elemwise("logical_not", elemwise("isnan", self))


def round(x: TensorLike, decimals: int = 0) -> DimTensor:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    x : DimTensor or number
    decimals : int
        Number of decimals; negative for places before the point.

    Returns
    -------
    DimTensor
        Of the dtype of the operand.

    Raises
    ------
    DtypeError
        For labels and complex numbers.
    OptionError
        If `decimals` is no integer.

    See Also
    --------
    numpy.round

    Notes
    -----
    The gradient is zero. As in NumPy, elements are scaled, rounded to integers and scaled back.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.25, 13.37], dims=dt.Dim("k"))
    >>> dt.round(x, 1).values.tolist(), dt.round(x, -1).values.tolist(), round(x).values.tolist()
    ([1.2, 13.4], [0.0, 10.0], [1.0, 13.0])
    """
    if isinstance(decimals, bool) or not isinstance(decimals, (int, np.integer)):
        raise OptionError(f"round: decimals are an integer, not {decimals!r}")
    whole = elemwise("round", x)
    if decimals == 0 or whole.dtype == "bool" or (decimals > 0 and is_integer(whole.dtype)):
        return whole
    if is_integer(whole.dtype):
        result = _to_multiple(whole, 10 ** int(-decimals))
    else:
        value = elemwise("stop_gradient", wrap(as_node(x)))
        result = _to_decimals(value, int(decimals))
    return say(result, "round", x, decimals=decimals)


def _to_decimals(x: DimTensor, decimals: int) -> DimTensor:
    info = np.finfo(x.dtype)
    if abs(decimals) > np.log10(info.max):
        return x if decimals > 0 else x * 0.0
    scale = np.asarray(10.0 ** abs(decimals), dtype=x.dtype)[()]
    if decimals < 0:
        return elemwise("round", x / scale) * scale
    scaled = x * scale
    is_whole = elemwise("greater_equal", elemwise("abs", scaled), 1 / info.eps)
    return elemwise("where", is_whole, x, elemwise("round", scaled) / scale)


def _to_multiple(x: DimTensor, step: int) -> DimTensor:
    """Round integers to the nearest multiple, halves to even."""
    if step > np.iinfo(x.dtype).max:
        return x * 0
    below = elemwise("floor_divide", x, step)
    rest = x - below * step
    other, odd = step - rest, elemwise("equal", below % 2, 1)
    even = elemwise("logical_and", elemwise("equal", rest, other), odd)
    up = elemwise("logical_or", elemwise("greater", rest, other), even)
    return (below + up.astype(x.dtype)) * step
