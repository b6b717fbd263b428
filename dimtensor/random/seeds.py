"""Seeds of independent streams from the one that a user gives."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from dimtensor.arrays import whole
from dimtensor.errors import ArgumentError, OptionError, clipped, plain_repr

_END = 2**63


def checked_seed(seed: Any, what: str) -> int | None:
    """Return a seed as a Python integer; None where none is given.

    Parameters
    ----------
    seed : object
        What a user passed.
    what : str
        The function that takes it.

    Raises
    ------
    OptionError
        If it is no integer from 0 to 2**63 - 1.

    Examples
    --------
    >>> checked_seed(np.int8(3), "draw"), checked_seed(None, "draw")
    (3, None)
    """
    if seed is None:
        return None
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        text = f"{what}: seed is an integer, not {clipped(plain_repr(seed))}"
        hint = f"seed={whole(seed) or 1}"
        if isinstance(seed, (np.random.Generator, np.random.RandomState)):
            hint = "seed=int(rng.integers(2**31)) takes one from NumPy's generator"
        raise OptionError(text, hint=hint)
    if not 0 <= seed < _END:
        shown = str(int(seed)) if abs(int(seed)) < 2**200 else "one of so many digits"
        text = f"{what}: seed={shown} is not between 0 and 2**63 - 1"
        raise OptionError(text, hint=f"seed={abs(int(seed)) % 2**31}")
    return int(seed)


def required_seed(seed: Any, what: str) -> int:
    """Return a seed as a Python integer.

    Raises
    ------
    ArgumentError
        If there is none.
    OptionError
        If it is no integer from 0 to 2**63 - 1.
    """
    found = checked_seed(seed, what)
    if found is None:
        raise ArgumentError("draws need a seed, so that they are reproducible: seed=1")
    return found


def later_seed(seed: int, number: int) -> int:
    """Return the seed of one of several runs that start from a seed."""
    return (seed + 1 + number) % _END


def seed_for(seed: int | None, purpose: str) -> Any:
    """Derive the seed of an independent stream for one purpose.

    Steps of an analysis that build on each other, as draws of a posterior and predictions from
    them, are given the same seed often. With the same stream, too, their noise would be the same
    numbers: predictions would have the wrong variance.

    None is passed through: there is no seed then.

    Examples
    --------
    >>> seed_for(1, "recover") == seed_for(1, "recover") != seed_for(1, "laplace")
    True
    """
    if seed is None:
        return None
    digest = blake2b(f"{seed} {purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
