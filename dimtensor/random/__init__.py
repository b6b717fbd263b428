"""Random numbers from explicit generators, which are values: a draw gives the next generator."""

from dimtensor.graph.attrs import WORD as WORD
from dimtensor.random.generator import Generator as Generator
from dimtensor.random.generator import generator as generator

__all__ = ["WORD", "Generator", "generator"]


def __dir__() -> list[str]:
    """What is public: no modules of the inside."""
    ours = (name for name, x in globals().items() if hasattr(x, "__module__"))
    return sorted(name for name in ours if not name.startswith("_"))
