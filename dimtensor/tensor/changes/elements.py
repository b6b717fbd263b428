"""Operations that keep dims and change elements: conversion, replacement, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import DtypeError
from dimtensor.graph import make
from dimtensor.graph.dtypes import valid_dtype
from dimtensor.tensor.handle import TensorHandle, elemwise, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class ElementMixin(TensorHandle):
    """Elements converted, replaced, limited."""

    __slots__ = ()

    def astype(self, dtype: Any) -> DimTensor:
        """Elements in another dtype.

        Parameters
        ----------
        dtype : dtype-like

        Returns
        -------
        DimTensor
            The tensor itself where it has the dtype.

        Raises
        ------
        DtypeError
            If the elements are labels, or there is no such dtype.

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

    def where(self, cond: Any, other: Any = np.nan) -> DimTensor:
        """Elements where a condition holds, another value elsewhere.

        Parameters
        ----------
        cond : DimTensor of dtype bool
        other : DimTensor or number

        Returns
        -------
        DimTensor
            With the dims of all three; integers become floats where `other` is NaN.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, -2.0], dims=dt.Dim("k", length=2))
        >>> x.where(x > 0, 0.0).eval().values.tolist()
        [1.0, 0.0]
        """
        return elemwise("where", cond, self, other)

    def clip(self, min: Any = None, max: Any = None) -> DimTensor:
        """Elements limited to an interval; a bound that is left out does not limit.

        Parameters
        ----------
        min, max : DimTensor or number, optional

        Returns
        -------
        DimTensor

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

    def fillna(self, value: Any) -> DimTensor:
        """Elements with NaN replaced by a value.

        Parameters
        ----------
        value : DimTensor or number

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, float("nan")], dims=dt.Dim("k", length=2))
        >>> x.fillna(0.0).eval().values.tolist()
        [1.0, 0.0]
        """
        return elemwise("where", elemwise("isnan", self), value, self)

    def isnull(self) -> DimTensor:
        """Whether elements are NaN.

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
        """Whether elements are not NaN.

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
