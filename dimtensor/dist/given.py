"""Conditional draws: events with some elements observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, union
from dimtensor.dims.ragged import RaggedDim
from dimtensor.errors import GraphError, build_message, listing
from dimtensor.tensor.constructors import arange, zeros
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.dist.distribution import Distribution
    from dimtensor.tensor.core import DimTensor


class KnownPrefix(NamedTuple):
    """Observed first elements of a series.

    Attributes
    ----------
    along : tuple of DimTensor
        Inputs of a loop along the series: whether an element is observed, and its value.
    length : int
        Least number of observed elements of a series.
    """

    along: tuple[DimTensor, ...] = ()
    length: int = 0

    def start(self, d: Distribution, rng: Any, dims: Dims, length: int) -> tuple[DimTensor, Any]:
        """Draw the first elements, unless all are observed: an improper start has no draws."""
        if self.length >= length:
            return zeros(union([d.dims, dims], f"the start of a series, {d.name}")), rng
        return d.draw(rng, dims)


class KnownElements(NamedTuple):
    """Observed elements of events.

    Attributes
    ----------
    values : DimTensor
        With all event dims; values of unobserved elements are ignored.
    at : dict of Dim to tuple of int
        Observed positions along event dims; along others all elements are observed.
    mask : DimTensor, optional
        Along a ragged dim, whether a position is observed.
    come_first : bool
        Along a ragged dim, whether those of each parent are its first ones.
    """

    values: DimTensor
    at: dict[Dim, tuple[int, ...]]
    mask: DimTensor | None = None
    come_first: bool = True


def elements_at(values: DimTensor, at: dict[Dim, tuple[int, ...]]) -> KnownElements:
    """Return the elements of a distribution at observed positions."""
    (dim,) = at if len(at) == 1 else (None,)
    if not isinstance(dim, RaggedDim) or dim.layout is None:
        return KnownElements(values, at)
    known = np.array(at[dim], dtype=int)
    owners, numbers = dim.layout.owners[known], dim.layout.numbers[known]
    come_first = bool((numbers < np.bincount(owners, minlength=1)[owners]).all())
    mask = data(np.isin(np.arange(len(dim)), known), dims=dim)
    return KnownElements(values, at, mask, come_first)


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


def known_start(d: Distribution, given: KnownElements, dim: Dim) -> KnownPrefix:
    """Return the observed prefix of a series; of each parent along a ragged dim.

    Raises
    ------
    GraphError
        If others than the first elements are known, or another dim is asked about.
    """
    if set(given.at) != {dim}:
        raise refusal(d, given)
    if dim._within is not None:
        if given.mask is None:
            raise refusal(d, given)
        if not given.come_first:
            raise _not_first(d.name, dim, given.at[dim])
        return KnownPrefix((given.mask, given.values))
    positions = given.at[dim]
    if positions != tuple(range(len(positions))):
        raise _not_first(d.name, dim, positions)
    return KnownPrefix((arange(dim) < len(positions), given.values), len(positions))


def _not_first(name: str, dim: Dim, positions: tuple[int, ...]) -> GraphError:
    return GraphError(
        build_message(
            f"{name} is forecast after its observed elements, which come first along {dim._short}",
            [("observed positions", listing(list(map(str, positions))))],
            "add new labels behind the observed ones, in their order",
        )
    )


def known_or(known: Any, drawn: DimTensor) -> DimTensor:
    """Select the observed element of a path if there is one, else the drawn element."""
    if not known:
        return drawn
    is_known, value = known
    return where(is_known, value, drawn)
