"""The state of a generator as an array: six words of 64 bits, which is what PCG64 remembers.

Two words are the position in the stream, two the number of the stream, one says whether half of a
drawn word is left over, and one is that half (O'Neill 2014, *PCG: A family of simple fast
space-efficient statistically good algorithms for random number generation*). On JAX the lower
halves of the first two are a key of Threefry and the others are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

N_WORDS = 6
_LOW = 2**64 - 1


def seed_words(entropy: int | Sequence[int] | None) -> np.ndarray:
    """Words of the generator that ``numpy.random.default_rng`` makes of a seed, shape (6,)."""
    return words_of(np.random.PCG64(entropy))


def words_of(bits: Any) -> np.ndarray:
    """Words of a ``numpy.random.PCG64``, shape (6,), dtype uint64."""
    state = bits.state
    at, stream = state["state"]["state"], state["state"]["inc"]
    left = [state["has_uint32"], state["uinteger"]]
    return np.array([at >> 64, at & _LOW, stream >> 64, stream & _LOW, *left], dtype=np.uint64)


def generator_of(words: np.ndarray) -> np.random.Generator:
    """NumPy's generator with these words."""
    high, low, stream_high, stream_low, has_half, half = (int(word) for word in words)
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": (high << 64) | low, "inc": (stream_high << 64) | stream_low},
        "has_uint32": has_half,
        "uinteger": half,
    }
    return np.random.Generator(bits)


def child_words(words: np.ndarray, position: int) -> np.ndarray:
    """Words of an independent stream, seeded by those of its parent and its position."""
    entropy = np.append(words, np.uint64(position)).astype("<u8").view("<u4")
    return words_of(np.random.PCG64(np.random.SeedSequence(entropy)))
