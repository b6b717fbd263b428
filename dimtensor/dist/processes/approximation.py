"""Base class of approximations of Gaussian processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution


class ProcessApproximation(ABC):
    """Approximation of a process along a dim by :func:`dimtensor.dist.GP`."""

    _is_per_parent: ClassVar[bool] = False  # along a ragged dim: a process for each parent

    @abstractmethod
    def _process(
        self, kernel: Any, dim: Dim, points: Any, mean: Any, noise: Any, jitter: Any
    ) -> Distribution:
        """Return the distribution of the values at some points.

        Parameters
        ----------
        kernel : gp.CovarianceFunction or callable
        dim : Dim
        points : DimTensor
        mean : DimTensor or number
        noise, jitter : DimTensor, number or None
            As they were given.
        """
