"""Arithmetic of grouped elements with a tensor on the dim of the groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import dim_set
from dimtensor.errors import DimError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.handle import TensorLike, as_node, elemwise, wrap
from dimtensor.tensor.selection.group_moments import GroupMoments

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def _operator(name: str) -> Callable[[Any, TensorLike], DimTensor]:
    """Make the method of an operator between the elements and a value per group."""

    def operator(self: GroupArithmetic, value: TensorLike) -> DimTensor:
        return elemwise(name, self._x, self._at_elements(value, f"{name} of groups"))

    return operator


class GroupArithmetic(GroupMoments):
    """Operations on each element and a value of its group."""

    def _at_elements(self, value: Any, what: str) -> DimTensor:
        """Broadcast a value per group to the elements.

        Raises
        ------
        DimError
            If it lacks the dim of the groups.
        """
        node = as_node(value, [arange(dim).node for dim in self._result_dims], what)
        if any(dim not in node.dims for dim in self._result_dims):
            titles = " and ".join(dim._title for dim in self._result_dims)
            raise DimError(
                f"{what}: a value per group is along {titles}",
                [("its dims", dim_set(node.dims))],
                "of the elements themselves compute without groupby",
            )
        return self._back(wrap(node))

    def fillna(self, value: TensorLike) -> DimTensor:
        """Replace NaN by the value of the group.

        Parameters
        ----------
        value : DimTensor or DataArray
            On the dim of the groups.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the value lacks the dim of the groups.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b"], dims=obs, categories=key)
        >>> by = dt.data([2.0, 5.0, float("nan")], dims=obs).groupby(where)
        >>> by.fillna(by.mean(skipna=True)).values.tolist()
        [2.0, 5.0, 2.0]
        """
        return self._x.fillna(self._at_elements(value, "fillna of groups"))

    def where(self, cond: TensorLike, other: TensorLike = np.nan) -> DimTensor:
        """Keep elements of groups for which a condition holds, and replace the others.

        Parameters
        ----------
        cond : DimTensor or DataArray of bool
            On the dim of the groups.
        other : number, or DimTensor or DataArray on the dim of the groups
            NaN by default.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the condition lacks the dim of the groups.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> of = dt.data(["b", "a", "b"], dims=obs, categories=key)
        >>> by = dt.data([2.0, 5.0, 3.0], dims=obs).groupby(of)
        >>> by.where(by.count() > 1, 0.0).values.tolist()
        [2.0, 0.0, 3.0]
        """
        kept = self._at_elements(cond, "where of groups")
        number = isinstance(other, (int, float, complex, np.generic))
        return self._x.where(kept, other if number else self._at_elements(other, "where of groups"))

    __add__, __sub__ = _operator("add"), _operator("subtract")
    __mul__, __truediv__ = _operator("multiply"), _operator("divide")
    __floordiv__, __mod__ = _operator("floor_divide"), _operator("mod")
    __pow__ = _operator("power")
