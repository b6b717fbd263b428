"""Random subsets of rows, drawn from each stratum in proportion to its size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class Strata:
    """Rows by stratum, and the number of rows that a batch has of each.

    Without strata all rows are one.

    Parameters
    ----------
    groups : ndarray
        Stratum of each row, numbered from zero; each has a row.
    size : int
        Rows of a batch, at least one for each stratum.

    Attributes
    ----------
    lengths, sizes : ndarray of int
        Rows of each stratum: all of them, and those of a batch.
    weights : ndarray
        For each row of a batch the number of rows that it represents.

    Examples
    --------
    >>> strata = Strata(np.array([0, 1, 0, 0, 1, 0, 0, 0]), 4)
    >>> strata.sizes.tolist(), strata.weights.tolist()
    ([3, 1], [2.0, 2.0, 2.0, 2.0])
    >>> next(strata.batches(np.random.default_rng(1), False)).shape
    (4,)
    """

    def __init__(self, groups: np.ndarray, size: int):
        self.groups = groups
        self.lengths = np.bincount(groups)
        self.sizes = allocation(self.lengths, size)
        self.weights = np.repeat(self.lengths / self.sizes, self.sizes)
        self._starts = np.cumsum(self.lengths) - self.lengths

    def batches(self, rng: np.random.Generator, replace: bool) -> Iterator[np.ndarray]:
        """Yield positions of the rows of batches, stratum by stratum, without end.

        Parameters
        ----------
        rng : Generator
        replace : bool
            Whether rows are drawn independently. Otherwise each stratum is shuffled and taken in
            pieces; when fewer rows are left than a batch needs, it is shuffled again.
        """
        order = np.argsort(self.groups, kind="stable")
        if replace:
            starts, lengths = (np.repeat(x, self.sizes) for x in (self._starts, self.lengths))
            while True:
                yield order[starts + rng.integers(lengths)]
        ends = self._starts + self.lengths
        before = np.cumsum(self.sizes) - self.sizes
        inside = np.arange(self.sizes.sum()) - np.repeat(before, self.sizes)
        at = ends.copy()  # all strata are to be shuffled
        while True:
            for stratum in np.flatnonzero(at + self.sizes > ends):
                start = at[stratum] = self._starts[stratum]
                rng.shuffle(order[start : ends[stratum]])
            yield order[np.repeat(at, self.sizes) + inside]
            at += self.sizes


def allocation(lengths: np.ndarray, size: int) -> np.ndarray:
    """Divide the rows of a batch among strata in proportion to their lengths, at least one each.

    Examples
    --------
    >>> allocation(np.array([50, 30, 20, 1]), 10).tolist()
    [4, 3, 2, 1]
    """
    quotas = size * lengths / lengths.sum()
    found = np.maximum(quotas.astype(np.int64), 1)
    while (missing := size - found.sum()) != 0:
        step = np.sign(missing)
        gaps = step * (quotas - found)
        can = found < lengths if step > 0 else found > 1
        candidates = np.flatnonzero(can)
        nearest = candidates[np.argsort(-gaps[candidates], kind="stable")]
        found[nearest[: abs(missing)]] += step
    return found
