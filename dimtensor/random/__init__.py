"""Random numbers from explicit generators, which are values: a draw gives the next generator."""

import sys
from typing import Any

from dimtensor.graph.attrs import WORD as WORD
from dimtensor.random.generator import Generator as Generator
from dimtensor.random.generator import generator as generator

__all__ = ["WORD", "Generator", "generator"]


def __getattr__(name: str) -> Any:
    from dimtensor.spellings import no_attribute

    if name.startswith("_"):
        raise AttributeError(f"module 'dimtensor.random' has no attribute {name!r}", name=name)
    hint = None
    if hasattr(Generator, name):
        hint = f"generators draw: x, rng = dt.random.generator(1).{name}(...)"
    raise no_attribute("random", name, "dimtensor.random", __all__, sys.modules[__name__], hint)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
