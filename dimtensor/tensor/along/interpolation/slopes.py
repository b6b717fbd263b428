"""Slopes of piecewise cubic methods: Fritsch and Carlson's, and Akima's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.tensor.handle import elemwise
from dimtensor.tensor.inputs import data
from dimtensor.tensor.selection.reindex import moved_to

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def slopes_at(x: DimTensor, rank: Dim, places: np.ndarray, method: str) -> DimTensor:
    """Return the slope of the curve at each label.

    Parameters
    ----------
    x : DimTensor
    rank : Dim
        The dim of the labels in ascending order.
    places : ndarray
        Two ascending numbers or more.
    method : {"pchip", "akima", "makima"}
        Monotone slopes (Fritsch and Butland, "A method for
        constructing local monotone piecewise cubic interpolants", 1984), or Akima's ("A new method
        of interpolation and smooth curve fitting based on local procedures", 1970), also with the
        modified weights that MATLAB has.
    """
    n = len(places)
    piece = Dim(f"{rank._short}:rise", length=n - 1)
    steps = np.diff(places)
    below, above = (moved_to(x, rank, np.arange(n - 1) + at, piece) for at in (0, 1))
    rises = (above - below) / data(steps, dims=piece).astype(x.dtype)
    if n == 2:
        return moved_to(rises, piece, np.zeros(2, dtype=np.int64), rank)
    if method == "pchip":
        return _monotone(rises, piece, rank, steps)
    return _akima(rises, piece, rank, method == "makima")


def _monotone(rises: DimTensor, piece: Dim, rank: Dim, steps: np.ndarray) -> DimTensor:
    n = len(steps) + 1
    before, after = np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n), n - 2)
    one, two = (moved_to(rises, piece, at, rank) for at in (before, after))

    def known(values: Any) -> DimTensor:
        return data(values, dims=rank).astype(rises.dtype)

    # inside: a mean of both rises, 0 if their signs differ
    turns = elemwise("less_equal", elemwise("sign", one) * elemwise("sign", two), 0)
    first, second = 2 * steps[after] + steps[before], steps[after] + 2 * steps[before]
    mean = known(first) / elemwise("where", turns, 1, one)
    mean = mean + known(second) / elemwise("where", turns, 1, two)
    inside = elemwise("where", turns, 0, known(first + second) / mean)

    # at the ends: the slope of the parabola, unless it changes the direction
    outer, inner = np.where(np.arange(n) == 0, 0, n - 2), np.where(np.arange(n) == 0, 1, n - 3)
    near, far = (moved_to(rises, piece, at, rank) for at in (outer, inner))
    h, k = steps[outer], steps[inner]
    end = (near * known(2 * h + k) - far * known(h)) / known(h + k)
    signs = elemwise("sign", near)
    against = elemwise("not_equal", elemwise("sign", end), signs)
    steep = elemwise("not_equal", elemwise("sign", far), signs) & (
        elemwise("abs", end) > 3 * elemwise("abs", near)
    )
    end = elemwise("where", against, 0, elemwise("where", steep, 3 * near, end))
    at_end = np.isin(np.arange(n), (0, n - 1))
    return elemwise("where", data(at_end, dims=rank), end, inside)


def _akima(rises: DimTensor, piece: Dim, rank: Dim, modified: bool) -> DimTensor:
    n = len(rank)
    last = n - 2
    around = []
    for offset in (-2, -1, 0, 1):  # the rises of two pieces before and after a label
        at = np.arange(n) + offset
        outside = np.where(at < 0, -at, np.maximum(at - last, 0))  # pieces beyond the ends
        edge = np.clip(at, 0, last)
        inner = np.where(at < 0, 1, np.where(at > last, last - 1, edge))
        rise = moved_to(rises, piece, edge, rank)
        change = rise - moved_to(rises, piece, inner, rank)  # linear extrapolation of the rises
        around.append(rise + change * data(outside, dims=rank).astype(rises.dtype))
    a, b, c, d = around
    before, after = elemwise("abs", b - a), elemwise("abs", d - c)
    if modified:
        before = before + 0.5 * elemwise("abs", a + b)
        after = after + 0.5 * elemwise("abs", c + d)
    both = before + after
    level = elemwise("less_equal", both, 1e-9 * both.max(rank))
    share = before / elemwise("where", level, 1, both)
    return elemwise("where", level, 0.5 * (a + d), b + share * (c - b))
