"""Code as bytes that another process can load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dimtensor.backends import Executable

Loader = Callable[[bytes, Sequence[Any]], Executable]

# by the kind of the code; a loader gets its bytes and constants, and raises if they are wrong
LOADERS: dict[str, Loader] = {}


class Stored(NamedTuple):
    """Code as bytes, and which loader takes them."""

    kind: str
    data: bytes


def stored_form(executable: Executable) -> Stored | None:
    """The code of an executable as bytes; None where it lives in this process only."""
    return getattr(executable, "stored", None)


def load(kind: str, data: bytes, constants: Sequence[Any]) -> Executable:
    """The executable that bytes stand for.

    Raises
    ------
    Exception
        Of any type, if they are not what a loader of this kind takes.
    """
    return LOADERS[kind](data, constants)
