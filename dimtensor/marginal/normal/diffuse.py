"""Exact diffuse starts: elements of a chain that no normal density determines.

A flat density is the limit of a normal one, times its standard deviation. The filter runs given
these elements: its means are affine in them, with one column for the constant and one for each. The
log density of the rows is a quadratic form of the columns, and the elements are integrated out
last. See P. de Jong 1991, "The diffuse Kalman filter".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.dist.modifiers.flat import Flat
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import rebuild, relabel_node
from dimtensor.marginal.normal.information import HALF_LOG_2PI
from dimtensor.marginal.normal.kalman import Affine, VectorDims, constant_column
from dimtensor.marginal.normal.slices import NotAlongChain
from dimtensor.tensor.constructors import arange, zeros
from dimtensor.tensor.elementwise import equal, log, square, where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular

if TYPE_CHECKING:
    from dimtensor.marginal.normal.state_space import PositionStep


def without_flat_densities(node: Node) -> Node:
    """Return an expression where flat densities are 0: normal variables are finite."""
    known: dict[Node, Node] = {}
    for x in toposort([node]):
        if x.kind == "elemwise" and x.attrs == "isneginf":
            (value,) = x.inputs
            known[Flat().logp(wrap(value)).node] = zeros(value.dims).node
    return rebuild([node], known)[0] if known else node


def with_columns(
    early: Sequence[PositionStep], loop: PositionStep, name: str
) -> tuple[list[PositionStep], PositionStep, VectorDims | None]:
    """Write flat elements as columns; return the steps and the dim of the columns, or None.

    Raises
    ------
    NotAlongChain
        If no term but theirs reads the flat elements.
    """
    count = 1 + sum(step.flat.count for step in early)
    if count == 1:
        return list(early), loop, None
    if all(step.linear.rows is None for step in (*early, loop)):
        raise NotAlongChain
    columns, start, found = VectorDims.of(f"columns of {name}", count), 1, []
    for step in early:
        found.append(_in_columns(step, columns, start))
        start += step.flat.count
    return found, _in_columns(loop, columns, start), columns


def _in_columns(step: PositionStep, columns: VectorDims, start: int) -> PositionStep:
    """Write the flat elements of a step, and the constants, as columns.

    Parameters
    ----------
    step : PositionStep
    columns : VectorDims
    start : int
        The column of the step's first flat element.
    """

    def written(affine: Affine | None) -> Affine | None:
        if affine is None:
            return None
        offset = affine.offset * constant_column(columns.own)
        if affine.by_flat is not None and step.flat.dims is not None:
            other = step.flat.dims.other
            place = where(equal(arange(columns.own), arange(other) + start), 1.0, 0.0)
            offset = offset + dot(affine.by_flat, place, dim=[other])
        return Affine(affine.by_state, affine.by_noise, None, offset)

    linear = replace(
        step.linear, rows=written(step.linear.rows), move=written(step.linear.move), columns=columns
    )
    return replace(step, linear=linear, element_map=written(step.element_map))


def without_flat(form: Any, columns: VectorDims) -> Any:
    """Integrate the flat elements out of the exponential of a quadratic form of the columns."""
    own, other = columns
    count = (own.length or 1) - 1
    flat = VectorDims.of("flat elements", count)
    turned = wrap(relabel_node(form.node, (own, other), (other, own)))
    form = 0.5 * (form + turned)
    linear = 2.0 * _rest(form.isel({other: 0}), own, flat.own)
    precision = -2.0 * _rest(_rest(form, own, flat.own), other, flat.other)
    factor = cholesky(precision, flat)
    white = solve_triangular(factor, linear, flat)
    logs = log(diagonal(factor, flat)).sum(flat.own)
    squares = 0.5 * square(white).sum(flat.other)
    return form.isel({own: 0, other: 0}) + squares - logs + count * HALF_LOG_2PI


def _rest(x: Any, dim: Dim, new: Dim) -> Any:
    """Return all but the first element along a dim, along a new one."""
    cut = x.isel({dim: slice(1, None)})
    (own,) = (d for d in cut.dims if d not in x.dims)
    return cut.relabel(own, new)
