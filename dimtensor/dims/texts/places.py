"""Positions of texts among others."""

from __future__ import annotations

import numpy as np

_WIDEST = 64  # letters of a text of which a number is made
_FACTOR = np.uint64(0x100000001B3)


def places_of_texts(own: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Positions of texts among others that are distinct, -1 where one is not there.

    Texts are joined by numbers made of their letters (the hash of Fowler, Noll and Vo), and what is
    found is compared; None where two texts have one number.
    """
    import pandas as pd

    width = max(own.dtype.itemsize, wanted.dtype.itemsize) // 4
    if not 0 < width <= _WIDEST or not (own.dtype.isnative and wanted.dtype.isnative):
        return None
    table = pd.Index(_number_of_letters(own, width))
    if not table.is_unique:
        return None
    at = table.get_indexer(pd.Index(_number_of_letters(wanted, width))).astype(np.int64)
    hit = at >= 0
    return at if bool((own[at[hit]] == wanted[hit]).all()) else None


def _number_of_letters(texts: np.ndarray, width: int) -> np.ndarray:
    letters = np.ascontiguousarray(texts.astype(f"U{width}", copy=False)).view("u4")
    numbers = np.zeros(len(texts), "u8")
    for column in letters.reshape(len(texts), width).T:
        numbers = (numbers ^ column) * _FACTOR
    return numbers.view("i8")
