"""Errors of expressions that cannot be computed from values for slices of a dim."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.compile.memory import written
from dimtensor.errors import PartitionError
from dimtensor.graph.partition.analysis import Split


def refusal(
    found: Split, details: Sequence[tuple[str, object]] = (), hint: str | None = None
) -> PartitionError:
    """Make the error of an expression that mixes positions."""
    obstacle = found.obstacle
    assert obstacle is not None
    node, operand = obstacle.node, obstacle.operand
    expressions = written(node, node.line)
    if operand is not None:
        expressions += [
            ("whole" if title == "expression" else f"{title} of the whole", text)
            for title, text in written(operand, operand.line)
        ]
        hint = hint or "compute that value first, and pass it as an input"
    problem = PartitionError(
        f"slices of {found.dim._title} cannot be computed separately: an expression "
        f"{obstacle.reason}",
        [*expressions, *details],
        hint,
    )
    problem.node, problem.line, problem.is_scan = node, node.line, obstacle.is_scan
    return problem
