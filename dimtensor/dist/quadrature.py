"""Nodes of Gauss and Legendre's quadrature, along a dim of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

NODE = Dim("node of a quadrature", length=64)
REACH = 90.0  # where it falls by exp(-45), a density has no digits of an integral

_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def places_and_weights(dtype: str) -> tuple[DimTensor, DimTensor]:
    """Nodes between -1 and 1, and their weights."""
    return data(_PLACES, dims=NODE).astype(dtype), data(_WEIGHTS, dims=NODE).astype(dtype)
