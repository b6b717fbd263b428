"""Groups of elements by the interval that another tensor lies in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, SelDim
from dimtensor.errors import DimError, InputError, build_message
from dimtensor.graph import make
from dimtensor.graph.attrs import DataAttrs
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.selection.groupby import GroupBy

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def binned(
    x: DimTensor,
    group: Any,
    bins: Any,
    right: bool,
    labels: Sequence[Any] | None,
    include_lowest: bool,
) -> GroupBy:
    """Groups by intervals, without the elements that lie in none.

    Raises
    ------
    DimError
        If the groups have not exactly one dim, which the tensor has.
    InputError
        If the edges do not ascend, or the values of the groups are not known.
    """
    import pandas as pd

    node = as_node(group, [x.node], "groupby_bins")
    if len(node.dims) != 1 or node.dims[0] not in x.dims:
        raise DimError("groupby_bins: the groups have one dim, which the tensor has, too")
    if node.kind != "data":
        raise InputError(
            build_message(
                "groupby_bins: which elements lie in an interval is found in data; these values "
                "are not known yet",
                hint="x.where((g > low) & (g <= high), 0.0).sum() adds up what lies in one",
            )
        )
    (along,) = node.dims
    values = node.attrs.values
    edges, groups = _intervals(
        values, bins, right, labels, include_lowest, f"{node.name or 'group'}_bins"
    )
    codes = pd.cut(values, edges, right=right, labels=False, include_lowest=include_lowest)
    kept = np.flatnonzero(~np.isnan(codes))
    part = SelDim(along, positions=kept)
    members = make("data", (), DataAttrs(None, (part,), codes[kept].astype(np.int64), groups))
    return GroupBy.of(x.isel({along: kept}), wrap(members), None)


def _intervals(
    values: np.ndarray, bins: Any, right: bool, labels: Any, include_lowest: bool, name: str
) -> tuple[list[float], Dim]:
    """Edges, and a dim with an interval or a label for each pair of neighbours."""
    import pandas as pd

    if np.ndim(bins) == 0:
        _, edges = pd.cut(values, bins, right=right, retbins=True)
    else:
        edges = np.asarray(bins, dtype=float)
    if len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InputError(f"groupby_bins: edges ascend, and are two at least, not {bins!r}")
    if labels is None:
        closed = "right" if right else "left"
        intervals = pd.IntervalIndex.from_breaks(edges, closed=closed)
        if include_lowest and right:  # as pandas shows it
            intervals = pd.cut(edges[:1], edges, include_lowest=True).categories
        return edges.tolist(), Dim(name, coords=Coords(intervals))
    if len(labels) != len(edges) - 1:
        raise InputError(f"groupby_bins: {len(labels)} labels of {len(edges) - 1} intervals")
    return edges.tolist(), Dim(name, coords=list(labels))
