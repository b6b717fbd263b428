"""Kernels of Gaussian processes, which :func:`dimtensor.dist.GP` takes: ``dt.gp.Matern52(2.0)``.

Points are the labels of a dim, or a tensor. Kernels are added, multiplied and scaled.
"""

import sys
from typing import NoReturn

from dimtensor.dist.approximations.hilbert import HSGP
from dimtensor.dist.approximations.inducing import InducingPoints
from dimtensor.dist.approximations.state_space import StateSpace
from dimtensor.dist.approximations.vecchia import Vecchia
from dimtensor.dist.processes.conditional import Process
from dimtensor.dist.processes.kernels import (
    Coregion,
    CovarianceFunction,
    Linear,
    Polynomial,
    White,
)
from dimtensor.dist.processes.points import points
from dimtensor.dist.processes.stationary import (
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
)
from dimtensor.spellings import no_attribute

__all__ = [
    "HSGP",
    "Coregion",
    "CovarianceFunction",
    "InducingPoints",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Process",
    "RationalQuadratic",
    "SquaredExponential",
    "StateSpace",
    "Vecchia",
    "White",
    "points",
]


def __getattr__(name: str) -> NoReturn:
    hint = "dt.gp.SquaredExponential(1.0)" if name in ("RBF", "ExpQuad") else None
    raise no_attribute("gp", name, "dimtensor.gp", __all__, sys.modules[__name__], hint)
