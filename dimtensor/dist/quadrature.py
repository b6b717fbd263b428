"""Nodes of Gauss and Legendre's quadrature, along a dim of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.tensor.elementwise import abs, maximum, sqrt, square
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

NODE = Dim("node of a quadrature", length=64)
REACH = 90.0  # where it falls by exp(-45), a density has no digits of an integral


@cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(NODE.length)


def places_and_weights(dtype: str) -> tuple[DimTensor, DimTensor]:
    """Nodes between -1 and 1, and their weights."""
    places, weights = _rule()
    return data(places, dims=NODE).astype(dtype), data(weights, dims=NODE).astype(dtype)


def integral(height: Callable[[Any], Any], width: Any) -> Any:
    """Integral of a smooth function from 0 to a width, 0 where that is negative.

    It has about 13 digits where the function falls by up to exp(-REACH / 2) on the way.
    """
    half = 0.5 * maximum(width, 0.0)
    places, weights = places_and_weights(half.dtype)
    return half * (weights * height(half * (1.0 + places))).sum(NODE)


def normal_reach(z: Any) -> Any:
    """Distance from z, away from 0, over which a normal density falls by exp(-REACH / 2)."""
    size = abs(z)
    return REACH / (sqrt(square(size) + REACH) + size)
