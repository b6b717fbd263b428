"""Nodes of Gauss and Legendre's quadrature, along a dim of their own."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim
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
