"""Covariances of points that are given for each position of a dim."""

from __future__ import annotations

from typing import Any

from dimtensor.dims import Dim, without
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor


def pointwise_covariance(kernel: Any, x: Any, y: Any, dim: Dim) -> Any:
    """Return covariances of points x and y along dims of their own, for each position of a dim.

    Dims that both points of a kernel have are the numbers that a point consists of. So the kernel
    takes points without the dim, in whose places those with it are put.
    """
    places = [tensor(None, without(z.dims, [dim]), z.dtype, z.node.categories) for z in (x, y)]
    found = kernel(*places)
    chosen = {place.node: z.node for place, z in zip(places, (x, y), strict=True)}
    return wrap(rebuild([found.node], chosen)[0])


def pointwise_variance(kernel: Any, points: Any, dim: Dim) -> Any:
    """Return the variance of the process at each point along a dim."""
    one = Dim(f"{dim._short} itself", length=1)
    points, other = points.expand(one), one.rename()
    found = pointwise_covariance(kernel, points, points.relabel(one, other), dim)
    return found.isel({one: 0, other: 0}).expand(dim)
