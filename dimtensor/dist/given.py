"""Conditional draws: events with some elements observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.errors import GraphError, build_message, listing
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import where

if TYPE_CHECKING:
    from dimtensor.dist.distribution import Distribution
    from dimtensor.tensor.core import DimTensor


class KnownElements(NamedTuple):
    """Observed elements of events.

    Attributes
    ----------
    values : DimTensor
        With all event dims; values of unobserved elements are ignored.
    at : dict of Dim to tuple of int
        Observed positions along event dims; along others all elements are observed.
    """

    values: DimTensor
    at: dict[Dim, tuple[int, ...]]


def refusal(d: Distribution, given: KnownElements) -> GraphError:
    """Return the error of a conditional draw without a formula."""
    dims = ", ".join(dim._short for dim in given.at)
    return GraphError(
        build_message(
            f"{d.name} does not support conditional draws along its event dims: {dims}",
            hint="multivariate normal distributions and Gaussian processes do; time series are "
            "forecast after their observed elements",
        )
    )


def known_start(d: Distribution, given: KnownElements, dim: Dim) -> tuple[DimTensor, int]:
    """Find the observed prefix of a series: a mask along its dim, and its length.

    Raises
    ------
    GraphError
        If others than the first elements are known, or another dim is asked about.
    """
    if set(given.at) != {dim}:
        raise refusal(d, given)
    positions = given.at[dim]
    if positions != tuple(range(len(positions))):
        raise GraphError(
            build_message(
                f"{d.name} is forecast after its observed elements, which come first along "
                f"{dim._short}",
                [("observed positions", listing(list(map(str, positions))))],
                "add new labels behind the observed ones, in their order",
            )
        )
    return arange(dim) < len(positions), len(positions)


def known_or(known: Any, drawn: DimTensor) -> DimTensor:
    """Select the observed element of a path if there is one, else the drawn element."""
    if not known:
        return drawn
    is_known, value = known
    return where(is_known, value, drawn)
