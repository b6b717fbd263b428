"""What regressions share: columns of a table, and a sum of terms with flat priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dimtensor as dt
from dimtensor import dist


def columns(data: Mapping[str, Any], names: Sequence[str], dim: dt.Dim) -> list[dt.DimTensor]:
    """Columns of the data along a dim."""
    return [dt.data(data[name], dims=dim, name=name) for name in names]


def linear(terms: Mapping[str, Any]) -> dt.DimTensor:
    """The sum of terms times their coefficients ``beta``, each of them flat."""
    term = dt.Dim("term", coords=list(terms))
    beta = dt.rv("beta", dist.Flat(), dims=term)
    return dt.dot(beta, dt.stack(list(terms.values()), term), dim=term)
