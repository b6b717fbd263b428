"""Sliding-window reductions by doubling, without materializing the windows.

A window of 13 positions is one of 8, one of 4 and one of 1, beside each other, and each of those is
two of half the length. So windows of w positions cost about ``2 * log2(w)`` operations an element,
on slices of one array: no positions are computed, no element is subtracted again (which would cost
digits), and the sums are taken in pairs, whose error grows with log w.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, PadDim
from dimtensor.tensor.along.places import taken_at
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.handle import renamed

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

Parts = tuple["DimTensor", ...]
# combines the parts of two adjacent windows, with their numbers of positions
Merge = Callable[[Parts, Parts, int, int], Parts]


def combined(
    parts: Parts,
    windows: Mapping[Dim, int],
    centered: Mapping[Dim, bool],
    fills: tuple[Any, ...],
    merge: Merge,
) -> Parts:
    """Combine the elements of each window.

    Parameters
    ----------
    parts : tuple of DimTensor
        Partial results of windows of one position: an element, or an element and its square, …
    windows : dict of Dim to int
        The length of the windows along each dim.
    centered : dict of Dim to bool
        Whether a window is centered at its label. Otherwise it ends there.
    fills : tuple of number
        The parts of positions beyond the ends.
    merge : callable
        Combines the parts of two adjacent windows, given with their numbers of positions. It must
        be associative.

    Returns
    -------
    tuple of DimTensor
        On the dims of the parts.
    """
    positions = 1  # of windows along the preceding dims
    for dim, n in windows.items():
        back = n // 2 if centered[dim] else n - 1
        if dim._within is not None:
            parts = _of_parents(parts, dim, (back, n - 1 - back), positions, fills, merge)
            positions *= n
            continue
        around = {dim: (back, n - 1 - back)}
        padded = tuple(
            x.pad(around, constant_values=fill) if n > 1 else x
            for x, fill in zip(parts, fills, strict=True)
        )
        parts = _along(padded, dim, n, positions, merge)
        positions *= n
    return parts


def _along(padded: Parts, dim: Dim, n: int, unit: int, merge: Merge) -> Parts:
    """Combine windows of n positions along a dim that is padded by ``n - 1`` positions."""
    if n == 1:
        return padded
    (longer,) = (each for each in padded[0].dims if isinstance(each, PadDim) and each.parent is dim)
    doubled = [_On(padded, longer)]
    while 2 ** len(doubled) <= n:
        size = 2 ** (len(doubled) - 1)
        below = doubled[-1]
        first, second = below.cut(0, size), below.cut(size, 0)
        merged = merge(first.parts, second.on(first.dim).parts, size * unit, size * unit)
        doubled.append(_On(merged, first.dim))
    result, begin = None, 0
    for power in reversed(range(len(doubled))):
        size = 2**power
        if begin + size > n:
            continue
        piece = doubled[power].cut(begin, n - begin - size).on(dim)
        if result is None:
            result = piece.parts
        else:
            result = merge(result, piece.parts, begin * unit, size * unit)
        begin += size
    assert result is not None
    return result


def _of_parents(
    parts: Parts, dim: Dim, around: tuple[int, int], unit: int, fills: tuple[Any, ...], merge: Merge
) -> Parts:
    """Combine windows within the parents of a ragged dim: those before each position, and after."""

    def moved(parts: Parts, n: int) -> Parts:
        at = arange(dim) + n
        return tuple(taken_at(x, dim, at, fill) for x, fill in zip(parts, fills, strict=True))

    def spanning(parts: Parts, n: int, direction: int) -> Parts:
        """Combine `n` positions that end at each one, or begin there if the direction is 1."""
        result, size, doubled = None, 1, parts
        covered = 0
        while n:
            if n & 1:
                piece = moved(doubled, direction * covered) if covered else doubled
                if result is None:
                    result = piece
                elif direction > 0:
                    result = merge(result, piece, covered * unit, size * unit)
                else:
                    result = merge(piece, result, size * unit, covered * unit)
                covered += size
            n >>= 1
            if n:
                other = moved(doubled, direction * size)
                pair = (doubled, other) if direction > 0 else (other, doubled)
                doubled, size = merge(*pair, size * unit, size * unit), 2 * size
        assert result is not None
        return result

    back, forth = around
    before = spanning(parts, back + 1, -1)
    if not forth:
        return before
    after = moved(spanning(parts, forth, 1), 1)
    return merge(before, after, (back + 1) * unit, forth * unit)


class _On:
    """Partial results of windows, and the dim they are along."""

    def __init__(self, parts: Parts, dim: Dim):
        self.parts = parts
        self.dim = dim

    def cut(self, before: int, after: int) -> _On:
        """Drop positions at the ends."""
        if before == after == 0:
            return self
        slots = {self.dim: slice(before or None, -after if after else None)}
        kept = tuple(x.isel(slots) for x in self.parts)
        new = [each for each in kept[0].dims if each not in self.parts[0].dims]
        return _On(kept, new[0] if new else self.dim)

    def on(self, dim: Dim) -> _On:
        """Replace the dim by another one of the same length."""
        if dim is self.dim:
            return self
        return _On(tuple(renamed(x, {self.dim: dim}) for x in self.parts), dim)
