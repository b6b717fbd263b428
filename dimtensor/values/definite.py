"""Matrices without a Cholesky factor: their smallest eigenvalue, and the jitter that would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims
from dimtensor.graph import Node, toposort
from dimtensor.graph.printing.formula import formula

# Of the largest eigenvalue: below minus this a matrix is not merely singular but for rounding.
_ROUNDED = 1e-3


class NoFactor(NamedTuple):
    """Why a matrix has no Cholesky factor, for a message.

    Attributes
    ----------
    details : list of (str, object)
    hint : str
    """

    details: list[tuple[str, object]]
    hint: str


def factors_in(nodes: Sequence[Node]) -> list[Node]:
    """Return the Cholesky factors in the graph of some nodes, operands first."""
    return [x for x in toposort(nodes) if x.kind == "apply" and x.attrs.name == "cholesky"]


def why_no_factor(factor: Node, axes: Dims, matrices: Any) -> NoFactor | None:
    """Explain why one of some matrices has no Cholesky factor; None if all have one.

    Parameters
    ----------
    factor : Node
        The Cholesky factor.
    axes : tuple of Dim
        Axes of the values.
    matrices : ndarray
        Values of the matrix, of which the lower triangle is read.
    """
    ((row, col),) = factor.attrs.core_in
    core = [axes.index(row), axes.index(col)]
    stacked = np.moveaxis(np.asarray(matrices), core, (-2, -1))
    batch = tuple(dim for dim in axes if dim not in (row, col))
    for place in np.ndindex(stacked.shape[:-2]):
        if not _has_factor(stacked[place]):
            at = [f"{dim._short}[{k}]" for dim, k in zip(batch, place, strict=True)]
            return _explained(factor.inputs[0], stacked[place], row, at)
    return None


def _explained(matrix: Node, values: np.ndarray, row: Dim, at: Sequence[str]) -> NoFactor:
    shown = formula(matrix, 40)
    details: list[tuple[str, object]] = [("matrix", ", ".join([shown, *at]))]
    if not np.isfinite(np.tril(values)).all():
        text = "elements of the matrix are not finite: look at what it is made of"
        return NoFactor(details, text)
    eigenvalues = np.linalg.eigvalsh(values)
    lowest, highest = float(eigenvalues[0]), float(abs(eigenvalues).max())
    details.append(("smallest eigenvalue", f"{lowest:.3g}"))
    details.append(("largest eigenvalue", f"{highest:.3g}"))
    jitter = _jitter(values, lowest, highest)
    if jitter is None:
        text = "the matrix is no covariance: an eigenvalue is below 0 by more than rounding errors"
        return NoFactor(details, text)
    name = matrix.name if matrix.name and matrix.name.isidentifier() else "x"
    dim = row._short if row._short.isidentifier() else "dim"
    details.append(("jitter that would do", f"{jitter:.0e}"))
    return NoFactor(details, f"add it to the diagonal: {name} + {jitter:.0e} * dt.eye({dim})")


def _jitter(values: np.ndarray, lowest: float, highest: float) -> float | None:
    """Return the smallest power of ten that makes the matrix definite; None if it is too far."""
    if lowest < -_ROUNDED * highest:
        return None
    least = max(-lowest, highest * float(np.finfo(values.dtype).eps), 1e-300)
    for power in range(int(np.ceil(np.log10(least))), 300):
        if _has_factor(values + 10.0**power * np.eye(len(values), dtype=values.dtype)):
            return 10.0**power
    return None


def _has_factor(values: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(values)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(np.tril(values)).all())
