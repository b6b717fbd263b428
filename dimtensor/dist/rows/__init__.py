"""The distribution table: rows by name, in modules by support."""

from __future__ import annotations

from dimtensor.dist.rows.bounded import BOUNDED
from dimtensor.dist.rows.discrete import DISCRETE
from dimtensor.dist.rows.finite import FINITE
from dimtensor.dist.rows.gamma import GAMMA
from dimtensor.dist.rows.polya_gamma import POLYA_GAMMA
from dimtensor.dist.rows.positive import POSITIVE
from dimtensor.dist.rows.real import REAL
from dimtensor.dist.rows.skew import SKEW
from dimtensor.dist.rows.tails import TAILS
from dimtensor.dist.table import Row

TABLE: dict[str, Row] = {
    row.name: row
    for row in [
        *REAL, *SKEW, *POSITIVE, *GAMMA, *POLYA_GAMMA, *TAILS, *BOUNDED, *FINITE, *DISCRETE
    ]
}  # fmt: skip
