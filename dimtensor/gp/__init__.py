"""Kernels of Gaussian processes, which :func:`dimtensor.dist.GP` takes: ``dt.gp.Matern52(2.0)``.

Points are the labels of a dim, or a tensor. Kernels are added, multiplied and scaled.
"""

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

__all__ = [
    "Coregion",
    "CovarianceFunction",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Process",
    "RationalQuadratic",
    "SquaredExponential",
    "White",
    "points",
]
