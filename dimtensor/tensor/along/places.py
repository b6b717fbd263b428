"""Windows along a dim: elements at computed positions, and functions that reduce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import check_function
from dimtensor.dims import Dim, Dims, dim_set
from dimtensor.errors import DimError, OptionError
from dimtensor.tensor.constructors import length
from dimtensor.tensor.handle import elemwise
from dimtensor.tensor.ragged.layout import element_at
from dimtensor.tensor.reductions.order_statistics import with_an_element

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def positive_integer(value: Any, what: str) -> int:
    """Check a number of positions.

    Raises
    ------
    OptionError
        If the number is no integer above 0.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < 1:
        raise OptionError(f"{what} is an integer of at least 1, not {value!r}")
    return int(value)


def nearest_to(x: DimTensor, along: Dim, places: DimTensor, nothing: Any) -> DimTensor:
    """Return elements at positions, clipped to the dim; `nothing` if the dim is empty."""
    if along._within is not None:
        last = elemwise("maximum", elemwise("subtract", length(along), 1), 0)
        return element_at(along, x, elemwise("minimum", elemwise("maximum", places, 0), last))
    elements, (longer,) = with_an_element(x, (along,), nothing)
    last = elemwise("maximum", elemwise("subtract", length(along), 1), 0)
    inside = elemwise("minimum", elemwise("maximum", places, 0), last)
    return elements.isel({longer: inside})


def inside_of(along: Dim, places: DimTensor) -> DimTensor:
    """Return where positions lie within the length of a dim."""
    above = elemwise("greater_equal", places, 0)
    return elemwise("logical_and", above, elemwise("less", places, length(along)))


def taken_at(x: DimTensor, along: Dim, places: DimTensor, fill: Any) -> DimTensor:
    """Return elements at positions along a dim, a filling for positions outside."""
    inside = inside_of(along, places)
    return elemwise("where", inside, nearest_to(x, along, places, fill), fill)


def reduced(
    func: Callable[..., DimTensor],
    x: DimTensor,
    over: Dims,
    options: Mapping[str, Any],
    what: str,
) -> DimTensor:
    """Call a function with a tensor and the dims that it reduces over.

    Raises
    ------
    DimError
        If the result has one of them.
    ArgumentError
        If it is no function.
    """
    check_function(f"{what}.reduce", func, f"x.{what}(day=2).reduce(lambda x, dim: x.sum(dim))")
    result = func(x, over[0] if len(over) == 1 else over, **options)
    left = [dim for dim in over if dim in result.dims]
    if left:
        raise DimError(
            f"{what}: the function leaves {dim_set(left)}",
            [("result", dim_set(result.dims))],
            "it is called with a tensor and the dims to reduce over: lambda x, dim: x.sum(dim)",
        )
    return result
