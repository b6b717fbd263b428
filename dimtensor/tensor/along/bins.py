"""Grouping by intervals of the values of another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, SelDim, refuse_ragged
from dimtensor.errors import DimError, GraphError, OptionError
from dimtensor.graph import make
from dimtensor.graph.attrs import DataAttrs
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.selection.groupby import GroupBy
from dimtensor.values.admission import real_numbers

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def binned(
    x: DimTensor,
    group: Any,
    bins: Any,
    right: bool,
    labels: Sequence[Any] | None,
    include_lowest: bool,
    precision: int,
    duplicates: str,
) -> GroupBy:
    """Group elements by intervals, without the elements outside of all intervals.

    Raises
    ------
    DimError
        If the values have not exactly one dim, which must be a dim of the tensor.
    OptionError
        If the edges do not ascend.
    GraphError
        If the values of the groups are not known.
    """
    import pandas as pd

    node = as_node(group, [x.node], "groupby_bins")
    if len(node.dims) != 1 or node.dims[0] not in x.dims:
        raise DimError("groupby_bins: the groups have one dim, which the tensor has, too")
    refuse_ragged(node.dims[0], "groupby_bins")
    if node.kind != "data":
        raise GraphError(
            "groupby_bins takes data: the values of this tensor are not known before a "
            "function is called",
            hint="x.where((g > low) & (g <= high), 0.0).sum() adds up what lies in one",
        )
    if duplicates not in ("raise", "drop"):
        raise OptionError(f"groupby_bins: duplicates are 'raise' or 'drop', not {duplicates!r}")
    if not isinstance(bins, (int, np.integer)):
        bins = real_numbers(bins, "groupby_bins: the edges")
        bins = np.unique(bins) if duplicates == "drop" else bins
    (along,) = node.dims
    values = node.attrs.values
    edges, groups = _intervals(
        values, bins, right, labels, include_lowest, precision, f"{node.name or 'group'}_bins"
    )
    codes = pd.cut(values, edges, right=right, labels=False, include_lowest=include_lowest)
    kept = np.flatnonzero(~np.isnan(codes))
    part = SelDim(along, positions=kept)
    members = make("data", (), DataAttrs(None, (part,), codes[kept].astype(np.int64), groups))
    return GroupBy._from(x.isel({along: kept}), wrap(members), None)


def _intervals(
    values: np.ndarray,
    bins: Any,
    right: bool,
    labels: Any,
    include_lowest: bool,
    precision: int,
    name: str,
) -> tuple[list[float], Dim]:
    """Return the edges, and a dim with a label for each interval."""
    import pandas as pd

    edges = bins
    if not isinstance(bins, np.ndarray):
        _, edges = pd.cut(values, bins, right=right, retbins=True)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise OptionError(f"groupby_bins: edges ascend, and are two at least, not {bins!r}")
    if labels is None:  # rounded as by pandas
        shown = pd.cut(
            edges[:1], edges, right=right, include_lowest=include_lowest, precision=precision
        )
        return edges.tolist(), Dim(name, coords=Coords(shown.categories))
    if len(labels) != len(edges) - 1:
        raise OptionError(f"groupby_bins: {len(labels)} labels of {len(edges) - 1} intervals")
    return edges.tolist(), Dim(name, coords=list(labels))
