"""Models of posteriordb as random variables with their distributions.

Stan's programs have densities of the whole line on positive parameters, which is half of a
half-distribution's, and leave out the constant K! of numbers in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import dimtensor as dt
from tests.benchmarks.posteriordb.posteriors import load_model

LOG_2 = float(np.log(2))


class Generative(NamedTuple):
    """A model given its data.

    ``constant`` is what its log density is above Stan's; ``parts`` names the parameters of Stan
    that one variable is made of, along the last of its dims.
    """

    fit: dt.Model
    constant: float = 0.0
    parts: Mapping[str, Sequence[str]] = {}


class Program(NamedTuple):
    """The function that makes a model of its data and a backend, and what Stan has otherwise."""

    model: Callable[..., dt.Model]
    constant: float
    parts: Mapping[str, Sequence[str]]

    def __call__(self, data: Mapping[str, Any], backend: str) -> Generative:
        return Generative(self.model(data, backend), self.constant, self.parts)


def _program(name: str, constant: float = 0.0) -> Program:
    module = load_model(name)
    return Program(module.model, constant, getattr(module, "PARTS", {}))


PROGRAMS = {
    "eight_schools": _program("eight_schools_noncentered", LOG_2),
    "radon_mn": _program("radon_hierarchical_intercept_noncentered", 2 * LOG_2),
    "kidiq": _program("kidscore_interaction", LOG_2),
    "GLMM_Poisson": _program("GLMM_Poisson_model"),
    "low_dim_gauss_mix": _program("low_dim_gauss_mix", 3 * LOG_2),
    "arK": _program("arK", LOG_2),
    "hmm_example": _program("hmm_example", -LOG_2),
    "dogs": _program("dogs_hierarchical"),
    "M0": _program("M0_model"),
}
