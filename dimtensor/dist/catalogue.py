"""The distribution table: all rows by name."""

from __future__ import annotations

from dimtensor.dist.rows_bounded import BOUNDED
from dimtensor.dist.rows_discrete import DISCRETE
from dimtensor.dist.rows_finite import FINITE
from dimtensor.dist.rows_gamma import GAMMA
from dimtensor.dist.rows_positive import POSITIVE
from dimtensor.dist.rows_real import REAL
from dimtensor.dist.rows_skew import SKEW
from dimtensor.dist.rows_tails import TAILS
from dimtensor.dist.table import Row

TABLE: dict[str, Row] = {
    row.name: row for row in [*REAL, *SKEW, *POSITIVE, *GAMMA, *TAILS, *BOUNDED, *FINITE, *DISCRETE]
}
