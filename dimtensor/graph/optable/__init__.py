"""The op table: one row per elementwise or reduction op.

The public functions, the dtype inference, the lowering, the docs table and the tests are derived
from these rows; a completeness test compares them with what PyTensor has.
"""

from __future__ import annotations

from dimtensor.graph.optable.basic import BASIC
from dimtensor.graph.optable.row import OpRow, reduction
from dimtensor.graph.optable.special import SPECIAL

__all__ = ["TABLE", "OpRow", "rows"]

_ACCUMULATES = "Bools and small integers are added up in 64 bits."
_TIES = "Where several elements are the extreme one, each of them gets the whole gradient."

REDUCTIONS = [
    reduction(
        "sum", "accumulate", "Sum over dims.",
        linear=((0,),), combined_by="add", complex=True, note=_ACCUMULATES,
    ),
    reduction(
        "prod", "accumulate", "Product over dims.",
        combined_by="multiply", complex=True, note=_ACCUMULATES,
    ),
    reduction(
        "max", "same", "Largest element over dims.",
        combined_by="maximum", note=_TIES, needs_element=True,
    ),
    reduction(
        "min", "same", "Smallest element over dims.",
        combined_by="minimum", note=_TIES, needs_element=True,
    ),
    reduction(
        "logsumexp", "float", "Logarithm of the sum of exponentials over dims, without overflow.",
        combined_by="logaddexp", numpy="", oracle="sp.logsumexp",
    ),
    reduction(
        "all", "bool", "Test whether all elements over dims are true.",
        combined_by="logical_and", grad=False, complex=True,
    ),
    reduction(
        "any", "bool", "Test whether any element over dims is true.",
        combined_by="logical_or", grad=False, complex=True,
    ),
    reduction(
        "cumsum", "accumulate", "Running sum along a dim.",
        kind="cumulate", linear=((0,),), complex=True,
    ),
    reduction(
        "cumprod", "accumulate", "Running product along a dim.", kind="cumulate", complex=True
    ),
]  # fmt: skip

TABLE: dict[str, OpRow] = {row.name: row for row in [*BASIC, *SPECIAL, *REDUCTIONS]}


def rows(kind: str | None = None) -> list[OpRow]:
    """Return the rows of one kind, or all rows."""
    return [row for row in TABLE.values() if kind is None or row.kind == kind]
