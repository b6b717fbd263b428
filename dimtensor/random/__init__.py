"""Random numbers from explicit generators, which are values: a draw gives the next generator."""

from dimtensor.graph.attrs import WORD as WORD
from dimtensor.random.generator import Generator as Generator
from dimtensor.random.generator import generator as generator

__all__ = ["WORD", "Generator", "generator"]
