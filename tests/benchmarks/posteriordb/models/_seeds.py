"""What models of germinating seeds share: log odds by kind of seed and root extract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dimtensor as dt
from dimtensor import dist


def log_odds(data: Mapping[str, Any], plate: dt.Dim, scale: float) -> dt.DimTensor:
    """Log odds that seeds of each plate germinate, by four normal coefficients of a scale."""
    kind, extract = (dt.data(data[name], dims=plate, name=name) for name in ("x1", "x2"))
    alpha0, alpha1, alpha12, alpha2 = (
        dt.rv(name, dist.Normal(0, scale)) for name in ("alpha0", "alpha1", "alpha12", "alpha2")
    )
    return alpha0 + alpha1 * kind + alpha2 * extract + alpha12 * kind * extract
