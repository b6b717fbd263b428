"""Vectors of which some elements are known: what draws of the others are conditioned on."""

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
    """Known elements of vectors.

    Attributes
    ----------
    values : DimTensor
        With all dims along which elements belong together; what stands elsewhere means nothing.
    at : dict of Dim to tuple of int
        Positions of what is known along such dims; along others everything is.
    """

    values: DimTensor
    at: dict[Dim, tuple[int, ...]]


def refusal(d: Distribution, given: KnownElements) -> GraphError:
    """What is said of elements that cannot be drawn given others."""
    dims = ", ".join(dim._short for dim in given.at)
    return GraphError(
        build_message(
            f"elements of {d.name} belong together along {dims}: there is no formula for some "
            "of them given others",
            hint="normal vectors and Gaussian processes have one, and what follows step by step "
            "goes on after its known elements",
        )
    )


def known_start(d: Distribution, given: KnownElements, dim: Dim) -> tuple[DimTensor, int]:
    """Where elements of a series are known, along its dim, and how many of them there are.

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
                f"{d.name} goes on after its known elements: they come first along {dim._short}",
                [("known positions", listing(list(map(str, positions))))],
                "new labels stand behind those that there are, in their order",
            )
        )
    return arange(dim) < len(positions), len(positions)


def known_or(known: Any, drawn: DimTensor) -> DimTensor:
    """An element of a path: whether it is known, and what it is then, or what is drawn."""
    if not known:
        return drawn
    is_known, value = known
    return where(is_known, value, drawn)
