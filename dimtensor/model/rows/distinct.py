"""Distinct rows of columns: their first positions and their counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dimtensor.dims import Dims

# Number of elements that are hashed at once.
_BLOCK = 1 << 18
# Two rows of a sample of s rows are equal s**2 / 2d times if there are d distinct ones that are
# equally frequent, and more often if they are not: of d < n at least 32 times.
_SAMPLE = 8
# Number of rows below which no sample is taken.
_FEW = 4096
# Steps per octave of rounded lengths.
_STEPS = 8


class Column(NamedTuple):
    """Array of row values, and the dims of its axes."""

    array: np.ndarray
    dims: Dims


class Distinct(NamedTuple):
    """Distinct rows in order of first occurrence.

    Attributes
    ----------
    number : int
        Of all rows.
    first : ndarray of int
        A position of each.
    counts : ndarray of int
    """

    number: int
    first: np.ndarray
    counts: np.ndarray


def distinct_rows(columns: Sequence[Column], dims: Dims, lengths: Sequence[int]) -> Distinct | None:
    """Find the distinct rows of columns along dims; None if a sample has no equal rows.

    Rows are equal if all their bits are: NaN is equal to itself, 0.0 is not -0.0.

    Parameters
    ----------
    columns : sequence of Column
        Each has some of the dims, and perhaps others; it is the same along those that it lacks.
    dims : tuple of Dim
    lengths : sequence of int
        Of the dims.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k")
    >>> x = np.array([2.0, 1.0, 2.0, np.nan, np.nan])
    >>> found = distinct_rows([Column(x, (k,))], (k,), [5])
    >>> found.first.tolist(), found.counts.tolist()
    ([0, 1, 3], [2, 1, 2])
    """
    number = math.prod(lengths)
    tables = [_bits(rows_of(column, dims, lengths)) for column in columns]
    if number > _FEW:
        size = _SAMPLE * math.isqrt(number)
        at = np.unique(np.random.default_rng(0).integers(number, size=size))
        if len(np.unique(_hashes([table[at] for table in tables], len(at)))) == len(at):
            return None
    hashes = _hashes(tables, number)
    order = np.argsort(hashes)
    hashes = hashes[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[:number])
    first = np.minimum.reduceat(order, starts) if number else order
    counts = np.diff(starts, append=number)
    same = np.empty_like(order)
    same[order] = np.repeat(first, counts)
    for table in tables:
        for part in _blocks(table):
            if not np.array_equal(table[part], table[same[part]]):
                return None  # two rows with one hash: that never happens
    order = np.argsort(first)
    return Distinct(number, first[order], counts[order])


def rounded_up(found: Distinct) -> Distinct:
    """Repeat rows, so that their number is rounded up to one of few lengths.

    Code that is compiled for each length is then compiled for few. Counts are divided among
    repeated rows, and never zero, as zero times infinity is NaN.

    Examples
    --------
    >>> found = rounded_up(Distinct(40, np.arange(17), np.array([24, *[1] * 16])))
    >>> found.first.tolist()[-2:], found.counts.tolist()[:3], found.counts.sum().item()
    ([16, 0], [23, 1, 1], 40)
    """
    rows = len(found.first)
    step = max(1, (1 << max(rows - 1, 1).bit_length() - 1) // _STEPS)
    missing = min(-(-rows // step) * step, found.number) - rows
    first, counts = found.first, found.counts.copy()
    while missing:
        at = np.flatnonzero(counts[:rows] > 1)[:missing]
        counts[at] -= 1
        first = np.concatenate([first, first[at]])
        counts = np.concatenate([counts, np.ones(len(at), counts.dtype)])
        missing -= len(at)
    return Distinct(found.number, first, counts)


def rows_of(column: Column, dims: Dims, lengths: Sequence[int]) -> np.ndarray:
    """Merge axes of a column into a first axis of rows."""
    array, own = column
    kept = [dim for dim in dims if dim in own]
    rest = [dim for dim in own if dim not in dims]
    array = array.transpose([own.index(dim) for dim in (*kept, *rest)])
    inner = array.shape[len(kept) :]
    single = [length if dim in own else 1 for dim, length in zip(dims, lengths, strict=True)]
    full = np.broadcast_to(array.reshape(*single, *inner), (*lengths, *inner))
    return full.reshape(math.prod(lengths), *inner)


def _bits(rows: np.ndarray) -> np.ndarray:
    """View rows as a matrix of unsigned integers."""
    size = rows.dtype.itemsize
    table = np.ascontiguousarray(rows).reshape(len(rows), math.prod(rows.shape[1:]))
    return table.view(f"u{size}" if size <= 8 else "u8")


def _blocks(table: np.ndarray) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, table.shape[1]))
    for start in range(0, len(table), step):
        yield slice(start, start + step)


def _hashes(tables: Sequence[np.ndarray], number: int) -> np.ndarray:
    """Hash each row (by the mixing function of SplitMix64)."""
    found = np.zeros(number, "u8")
    rng = np.random.default_rng(1)
    for table in tables:
        salt, odd = rng.integers(2**63, size=(2, table.shape[1]), dtype="u8")
        for part in _blocks(table):
            mixed = _mixed(table[part] + salt)
            mixed *= odd | 1
            total = mixed[:, 0] if mixed.shape[1] == 1 else mixed.sum(axis=1, dtype="u8")
            found[part] = _mixed(found[part] + total)
    return found


def _mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> 27)) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> 31)
