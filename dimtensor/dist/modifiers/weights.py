"""Weighted observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dist.distribution import Distribution
from dimtensor.dist.joint.vectors import check_shared
from dimtensor.dist.modifiers.wrappers import SameValues, as_distribution
from dimtensor.dist.parameters import as_parameter

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class WeightedDensity(SameValues, state=("weight",)):
    """Distribution with a weighted log density; draws and probabilities are unchanged."""

    def __init__(self, base: Distribution, weight: Any):
        as_distribution(base, "weighted")
        self.weight = as_parameter(weight, "not negative", "weight of weighted")
        check_shared("weight of weighted", self.weight, base.event_dims)
        super().__init__("weighted", base, {"weight": self.weight})

    def logp(self, x: Any) -> DimTensor:
        return self.weight * self.base.logp(x)

    def _logcdf_below(self, x: Any) -> DimTensor:
        return self.base._logcdf_below(x)

    def _logsf_from(self, x: Any) -> DimTensor:
        return self.base._logsf_from(x)


def weighted(d: Distribution, weight: TensorLike) -> WeightedDensity:
    """Weight observations: multiply the log density by a number.

    An observation of weight 3 counts as three equal ones, one of weight 0 not at all.
    Probabilities, moments and draws are those of `d`: a weight says how much is known, not what is
    drawn. The product is no density, and has no constant that depends on the weight: a weight that
    is a random variable has no posterior of its own.

    Parameters
    ----------
    d : Distribution
    weight : number or DimTensor
        0 or above; with dims, a weight for each element. For a sample of n out of a whole of N,
        ``N / dt.length(obs)``.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If a known weight is negative.
    DimError
        If the weight has an event dim of `d`.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.Normal(0.0, 1.0)
    >>> dist.weighted(d, 3.0).logp(0.5).item() == 3 * d.logp(0.5).item()
    True
    """
    return WeightedDensity(d, weight)
