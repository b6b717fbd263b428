"""Seeds of independent streams from the one that a user gives."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np


def seed_for(seed: Any, purpose: str) -> Any:
    """Derive the seed of an independent stream for one purpose.

    Steps of an analysis that build on each other, as draws of a posterior and predictions from
    them, are given the same seed often. With the same stream, too, their noise would be the same
    numbers: predictions would have the wrong variance.

    What is no seed is passed through, for the error that says so.

    Examples
    --------
    >>> seed_for(1, "recover") == seed_for(1, "recover") != seed_for(1, "laplace")
    True
    """
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        return seed
    digest = blake2b(f"{int(seed)} {purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
