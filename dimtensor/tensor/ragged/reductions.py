"""Reductions over the positions of each parent of ragged dims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, ancestors, sort_dims
from dimtensor.errors import RaggedDimError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import ApplyAttrs
from dimtensor.graph.functions import BatchedFunction
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.tensor.handle import elemwise, renamed, wrap
from dimtensor.tensor.ragged.layout import (
    owner_codes,
    ragged_count,
    ragged_groups,
    ragged_reduced,
    sizes,
    to_flat,
)
from dimtensor.tensor.reductions.basic import positions_over, reduced
from dimtensor.tensor.selection.groupby import GroupBy

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def target(dim: Dim, dims: Dims, name: str) -> Dim | None:
    """Return the nearest ancestor that a reduction over `dims` leaves; None if it leaves none.

    Raises
    ------
    RaggedDimError
        If it names an ancestor of a dim that it leaves.
    """
    above = list(ancestors(dim))
    left = next((one for one in above if one not in dims), None)
    if left is None:
        return None
    for one in above[above.index(left) :]:
        if one in dims:
            raise RaggedDimError(
                f"{name} is over {one._title}, and not over {left._title} within it",
                [("over", ", ".join(each._short for each in dims))],
                f"name {left._short}, too, or reduce over {dim._short} first",
            )
    return left


@ragged_groups.provides()
def grouped(dim: Dim, x: DimTensor, above: Dim) -> GroupBy:
    """Group a tensor on the plain dim of all positions by an ancestor, on its plain dim."""
    labels = owner_codes(dim, above).as_labels(plain(above))
    return GroupBy(x, labels, plain(dim), plain(above))


@ragged_reduced.provides()
def reduced_ragged(x: Node, name: str, dims: Dims) -> DimTensor:
    """Reduce over dims that include ragged ones, and ancestors of these where they go, too."""
    result = wrap(x)
    ragged = [dim for dim in x.dims if dim in dims and dim._within is not None]
    gone = {above for dim in ragged for above in ancestors(dim)}
    targets = {dim: target(dim, dims, name) for dim in ragged}
    rest = [dim for dim in dims if dim not in gone and targets.get(dim) is None]
    for dim in ragged:
        if targets[dim] is None:
            result = to_flat(result, dim)
    if rest:
        result = reduced(result.node, name, sort_dims(map(plain, rest)))
    for dim, above in targets.items():
        if above is not None:
            by = grouped(dim, to_flat(result, dim), above)
            result = renamed(_reduced(by, name), {plain(above): above})
    return result


def _reduced(by: GroupBy, name: str) -> DimTensor:
    if name in ("max", "min", "supremum"):
        return _extreme(by, "max" if name == "supremum" else name)
    if name == "logsumexp":
        return _logsumexp(by)
    return getattr(by, name)()


def _extreme(by: GroupBy, name: str) -> DimTensor:
    """Return the extreme of each group; for an empty one, the neutral element of the dtype."""
    x, codes = by._x.node, by._labels.codes.node
    function = BatchedFunction("dimtensor.ops.positions:group_extreme", which=name)
    cores = ((by._along,), (by._along,), (by._groups,))
    attrs = ApplyAttrs(function, cores, (by._groups,), x.dtype, 0, name)
    return wrap(make("apply", (x, codes, make("positions", (), by._groups)), attrs))


def _logsumexp(by: GroupBy) -> DimTensor:
    high = elemwise("stop_gradient", _extreme(by, "max"))
    high = elemwise("where", elemwise("isfinite", high), high, 0)
    total = by._of(elemwise("exp", elemwise("subtract", by._x, by._back(high)))).sum()
    some = elemwise("greater", total, 0)
    log = elemwise("log", elemwise("where", some, total, 1))
    # NaN is not greater than 0, either
    nothing = elemwise("where", elemwise("equal", total, 0), -np.inf, total)
    return elemwise("where", some, elemwise("add", log, high), nothing)


@ragged_count.provides()
def count_over(dims: Dims) -> DimTensor:
    """Return the number of positions along dims that include ragged ones."""
    ragged = [dim for dim in dims if dim._within is not None]
    below = {above for dim in ragged for above in ancestors(dim)}
    total: Any = None
    for dim in dims:
        if dim in below:
            continue
        above = target(dim, dims, "count") if dim._within is not None else None
        n = positions_over((plain(dim),)) if above is None else _counted(dim, above)
        total = n if total is None else elemwise("multiply", total, n)
    return total


def _counted(dim: Dim, above: Dim) -> DimTensor:
    """Return the number of positions of each ancestor."""
    counts, within = sizes(dim), dim._within
    assert within is not None
    if within is above:
        return counts
    by = grouped(within, to_flat(counts, within), above)
    return renamed(by.sum(), {plain(above): above})
