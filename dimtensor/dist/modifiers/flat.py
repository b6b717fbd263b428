"""The flat density, on any support."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import sort_dims
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.modifiers.wrappers import as_value
from dimtensor.dist.rows import TABLE
from dimtensor.dist.supports import Support
from dimtensor.dist.tabulated import TableDistribution
from dimtensor.errors import OptionError, build_message, printable
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import TensorHandle

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class FlatOn(Distribution, state=("_support", "_parameters")):
    """Flat density on a support."""

    name = "Flat"

    def __init__(self, support: Support):
        self._support = support
        self._parameters: dict[str, Any] = {
            end: bound
            for end, bound in zip(("low", "high"), support.bounds(), strict=True)
            if isinstance(bound, TensorHandle)
        }
        self.event_dims = sort_dims(support.event_dims)
        self._check_dims()

    @property
    def is_proper(self) -> bool:
        """True if the integral over the support is finite."""
        return self._support.is_bounded

    @printable
    def __repr__(self) -> str:
        return f"Flat({self._support!r})"

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        return where(self._support.resolve(x).contains(x), 0.0, -math.inf)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        """Not defined: the integral of the density may be infinite.

        Raises
        ------
        GraphError
            Always.
        """
        raise self._missing("draw", "it is the density of a prior, and may be improper")


def Flat(support: Support | None = None) -> Distribution:
    """Make the improper flat prior, whose density is 1 on a support and 0 outside.

    Stan has it for parameters that are declared and get no distribution. Between bounds that are
    variables it is still 1, where that of ``dist.Uniform`` is divided by their distance.

    Parameters
    ----------
    support : Support, optional
        Such as ``dt.positive``, ``dt.supports.bounded(0, 10)`` or ``dt.supports.simplex(k)``. Event
        dims are named.

    Returns
    -------
    Distribution
        Without draws. It is improper unless the support is bounded.

    Raises
    ------
    OptionError
        If it is no support of real numbers, or one whose dims are not named.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> p = dt.rv("p", dist.Flat(dt.supports.simplex(k)))
    >>> dist.Flat(dt.supports.simplex(k)).logp(dt.data([0.25, 0.75], dims=k)).item(), p.sizes
    (0.0, {'k': 2})
    """
    if support is None:
        return TableDistribution(TABLE["Flat"], {})
    if not isinstance(support, Support) or support.discrete:
        raise OptionError(
            build_message(
                f"Flat takes a support of real numbers, not {support!r}",
                hint="dist.Flat(dt.positive), dist.Flat(dt.supports.bounded(0, 10)), "
                "dist.Flat(dt.supports.simplex(dim))",
            )
        )
    if support.is_unconstrained:
        return TableDistribution(TABLE["Flat"], {})
    d = FlatOn(support)
    if len(d.event_dims) < len(support.dim_arguments):
        arguments = ", ".join(support.dim_arguments)
        raise OptionError(
            build_message(
                f"Flat: the event dims of {support!r} are named",
                hint=f"dist.Flat(dt.supports.{support.name}({arguments}))",
            )
        )
    return d
