"""Conditions on the parameters of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from dimtensor.caches import bounded
from dimtensor.ops.random.rows import DrawRow


def valid_parameters(row: DrawRow, parameters: Sequence[Any], lib: Any) -> Any:
    """Whether the parameters of a draw are valid, elementwise.

    Parameters
    ----------
    row : DrawRow
    parameters : sequence of array
        All of one shape, apart from axes of vectors.
    lib : module
        NumPy, or JAX's.
    """
    given = dict(zip(row.parameters, parameters, strict=True))
    valid: Any = True
    for condition in row.valid:
        text = condition.format_map({name: name for name in given})
        valid = valid & eval(_compiled(text), {"np": lib, "abs": lib.abs}, given)
    if row.name == "multinomial":
        p = given["pvals"]
        valid = valid & lib.all((p >= 0) & (p <= 1), axis=-1) & (p[..., :-1].sum(-1) <= 1 + 1e-12)
    if row.name == "multivariate_hypergeometric":
        colors = given["colors"]
        total = colors.sum(-1)
        valid = valid & lib.all(colors >= 0, axis=-1) & (total < 10**9)
        valid = valid & (given["nsample"] <= total)
    return valid


@bounded(256)
def _compiled(condition: str) -> CodeType:
    return compile(condition, "<condition>", "eval")
