"""Densely coupled normal vectors, integrated out by a Cholesky factor of their precision matrix.

If the density is a sum of products of affine expressions a + A x, the precision matrix of x is the
weighted sum of the A'A. A vector with a covariance matrix is whitened first, so that nothing is
divided by a small covariance. Elements that are coupled along several dims form one vector over the
product of these dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, ProductDim, RenamedDim, without
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.rebuilding.exchange import substitute
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import (
    expand_node,
    rebuild,
    relabel_node,
)
from dimtensor.marginal.moves import StepCost
from dimtensor.marginal.normal.affine import AffineReader, NotQuadratic, Term
from dimtensor.marginal.normal.information import HALF_LOG_2PI
from dimtensor.marginal.normal.quadratics import not_normal_error
from dimtensor.marginal.normal.unrolling import unmatched
from dimtensor.marginal.unknowns import Origins, Unknown, own_slot
from dimtensor.tensor.constructors import arange, zeros
from dimtensor.tensor.constructors import length as length_of
from dimtensor.tensor.elementwise import equal, log, sqrt, where
from dimtensor.tensor.handle import constant, wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

NamedTerms = Sequence[tuple[Origins, Node]]


@dataclass(frozen=True)
class DenseNormal:
    """Elimination step: a vector is integrated out as a whole.

    Attributes
    ----------
    unknown : Unknown
    white : Node
        The whitened vector, or the unknown itself.
    value : Node
        The unknown as a function of the whitened vector.
    factor, scaled : DimTensor
        The Cholesky factor of the precision matrix, and its inverse times the linear coefficients.
    core : tuple of Dim
        The dim of the vector, and the row and column dims of the factor; empty if the elements are
        independent.
    cost : Cost
    """

    unknown: Unknown
    white: Node
    value: Node
    factor: DimTensor
    scaled: DimTensor
    core: Dims
    cost: StepCost

    def __str__(self) -> str:
        return f"{self.unknown.name}: a Cholesky factor, {self.cost}"

    def picked(self, noise: Any) -> Node:
        """Return a conditional draw: the mean plus standard normal noise, scaled."""
        moved = self.scaled + noise
        if self.core:
            own, row, col = self.core
            found = solve_triangular(self.factor, moved, [col, row], lower=False)
            found = found.relabel(row, own)
        else:
            found = moved / self.factor
        return substitute([self.value], {self.white: expand_node(found.node, self.white.dims)})[0]

    @property
    def noise_dims(self) -> Dims:
        """Dims of the noise."""
        return self.scaled.dims


def integrate_densely(
    named: NamedTerms, unknowns: Sequence[Unknown]
) -> tuple[NamedTerms, DenseNormal] | None:
    """Integrate out one of the unknowns densely; return the terms without it and the step.

    Return None if none qualifies. Unknowns with a covariance matrix come first.

    Raises
    ------
    GraphError
        If an unknown has a covariance matrix, and a term is no normal density with a mean that is
        affine in it.
    """
    holding = {unknown: _squares_of(named, unknown) for unknown in unknowns}
    if unmatched(holding) is not None:
        return None  # the integral may be infinite
    for whitened in (True, False):
        for unknown in unknowns:
            try:
                return _without(named, unknown, whitened)
            except NotQuadratic as reason:
                if whitened and reason.node is not None:
                    raise not_normal_error(reason.node, own_slot(unknown)) from None
    return None


def _squares_of(named: NamedTerms, unknown: Unknown) -> list[Node]:
    """Return the squared expressions that are injective in the elements of an unknown."""
    reader, found = AffineReader(unknown.node), []
    for _, x in named:
        try:
            found += [t.affine for t in reader.terms(x) if _holds_all(reader, t)]
        except NotQuadratic:
            continue
    return found


def _holds_all(reader: AffineReader, term: Term) -> bool:
    """Return whether a term is a full-rank quadratic form of the vector."""
    return term.other is not None and all(map(reader.is_injective, (term.affine, term.other)))


def _without(named: NamedTerms, unknown: Unknown, whitened: bool) -> tuple[NamedTerms, DenseNormal]:
    mine = [pair for pair in named if unknown.node in set(toposort([pair[1]]))]
    rest = [pair for pair in named if pair not in mine]
    white, value, added = unknown.node, unknown.node, wrap(constant(0.0, "float64"))
    if whitened and _whitened([x for _, x in mine], white, unknown.name) is None:
        raise NotQuadratic
    for _, x in mine:  # read the original expressions first: errors name them
        AffineReader(white).terms(x)
    while (found := _whitened([x for _, x in mine], white, unknown.name)) is not None:
        solved, new, moved, logs = found
        nodes = rebuild([x for _, x in mine], {white: moved, solved: new})
        mine = [(origins, x) for (origins, _), x in zip(mine, nodes, strict=True)]
        value = rebuild([value], {white: moved})[0]
        white, added = new, added + logs
    core = _together(white, mine)
    if len(core) > 1:
        whole, moved = _over_product(white, core, unknown.name)
        nodes = rebuild([x for _, x in mine], {white: moved})
        mine = [(origins, x) for (origins, _), x in zip(mine, nodes, strict=True)]
        value, white = rebuild([value], {white: moved})[0], whole
        core = _together(white, mine)
    return _integrated(unknown, white, value, core, mine, rest, added)


def _together(white: Node, mine: NamedTerms) -> list[Dim]:
    """Return the dims along which elements of a vector are coupled."""
    reader = AffineReader(white)
    terms = [term for _, x in mine for term in reader.terms(x)]
    sides = [x for t in terms for x in (t.affine, t.other) if x is not None]
    return [dim for dim in white.dims if any(dim not in reader.apart(x) for x in sides)]


def _over_product(white: Node, core: Sequence[Dim], name: str) -> tuple[Node, Node]:
    """Return a vector over the product of dims, and the same split into the dims."""
    factors = {dim: RenamedDim(dim, f"{n} {dim._short}") for n, dim in enumerate(core)}
    product = ProductDim(factors.values(), f"all of {name}")
    whole = tensor(f"{name} in a row", (*without(white.dims, core), product), white.dtype).node
    apart = make("split", (whole,), product)
    return whole, relabel_node(apart, *((new, old) for old, new in factors.items()))


def _integrated(
    unknown: Unknown, white: Node, value: Node, core: Sequence[Dim],
    mine: NamedTerms, rest: NamedTerms, added: DimTensor,
) -> tuple[NamedTerms, DenseNormal]:  # fmt: skip
    reader = AffineReader(white)
    terms = [term for _, x in mine for term in reader.terms(x)]
    row = [RenamedDim(dim, f"{dim._short} of {unknown.name}") for dim in core]
    col = [RenamedDim(dim, f"{dim._short} of {unknown.name}'") for dim in core]
    batch = without(white.dims, core)
    precision, linear = _moments(reader, terms, batch, core, (*row, *col))
    if core:
        pair = [row[0], col[0]]
        factor = cholesky(precision, pair)
        scaled = solve_triangular(factor, linear, pair)
        gain = 0.5 * (scaled * scaled).sum(col[0]) - log(diagonal(factor, pair)).sum(row[0])
        gain = gain + HALF_LOG_2PI * length_of(core[0])
    else:
        factor = sqrt(precision)
        scaled = linear / factor
        gain = 0.5 * scaled * scaled - log(factor) + HALF_LOG_2PI
    origins = frozenset[str]().union(*(o for o, _ in mine))
    nothing = {white: zeros(white.dims).node}
    left = [(o, substitute([x], nothing)[0]) for o, x in mine]
    own = without(unknown.dims, batch)
    cost = StepCost((*batch, *own, *own), ())
    step = DenseNormal(unknown, white, value, factor, scaled, (*core, *row, *col), cost)
    gain = wrap(expand_node(gain.node, batch))
    return [*rest, *left, (origins, gain.node), (origins, added.node)], step


def _moments(
    reader: AffineReader, terms: Sequence[Term], batch: Dims, core: Sequence[Dim], pair: Dims
) -> tuple[DimTensor, DimTensor]:
    """Return the precision matrix, and the linear coefficients over its row dim."""
    white = reader.white
    row, col = pair[: len(core)], pair[len(core) :]
    unit: Any = constant(1.0, "float64")
    for dim, new in zip(core, row, strict=True):
        unit = where(equal(arange(dim), arange(new)), 1.0, 0.0).node
    point, nothing = expand_node(unit, white.dims), zeros(white.dims).node
    precision, linear = zeros((*batch, *pair)), zeros((*batch, *row))

    def parts(affine: Node) -> tuple[DimTensor, DimTensor]:
        """Split an affine expression into its slope and its constant."""
        slope = substitute([reader.linear(affine)], {white: point})[0]
        return wrap(slope), wrap(substitute([affine], {white: nothing})[0])

    for term in terms:
        slope, base = parts(term.affine)
        dims = without(term.dims, batch)
        if term.other is None:
            linear = linear + _product(term.weight, slope, dims)
            continue
        pairs = [(slope, parts(term.other)), (parts(term.other)[0], (slope, base))]
        if term.other is term.affine:
            pairs = [(2.0 * slope, (slope, base))]
        for one, (other, offset) in pairs:
            scaled = term.weight * one
            linear = linear + _product(scaled, offset, dims)
            again = wrap(relabel_node(other.node, *zip(row, col, strict=True)))
            precision = precision - _product(scaled, again, dims)
    return precision, linear


def _product(one: DimTensor, other: DimTensor, dims: Dims) -> DimTensor:
    """Multiply, and sum over dims, which both operands may lack."""
    alone = [dim for dim in dims if dim not in one.dims and dim not in other.dims]
    ragged = [(dim, plain(dim)) for dim in dims if dim._within is not None]
    one, other = (
        wrap(relabel_node(x.node, *(pair for pair in ragged if pair[0] in x.dims)))
        for x in (one, other)
    )
    found = dot(one, other, dim=[plain(dim) for dim in without(dims, alone)])
    for dim in alone:
        found = found * length_of(plain(dim))
    return found


def _whitened(
    nodes: Sequence[Node], white: Node, name: str
) -> tuple[Node, Node, Node, DimTensor] | None:
    """Find the whitening of a vector: a triangular solve by the factor of its covariance.

    Return that node, the whitened vector that replaces it, the unknown as a function of it, and the
    log determinant of the factor.
    """
    for node in toposort(nodes):
        if node.kind != "apply" or node.attrs.name != "solve_triangular":
            continue
        factor, apart = node.inputs
        (row, col), options = node.attrs.core_in[0], node.attrs.function.options
        own = row
        if apart.kind == "relabel" and len(apart.attrs.pairs) == 1:
            ((own, _),), (apart,) = apart.attrs.pairs, apart.inputs
        mean, batch = _mean(apart, white), without(white.dims, [own])
        if mean is None or not options["lower"] or options["unit_diagonal"]:
            continue
        if not set(factor.dims) <= {*batch, row, col} or white in set(toposort([factor])):
            continue
        units = tensor(f"{name} in units", node.dims)
        below = where(arange(row) >= arange(col), wrap(factor), 0.0)
        moved = mean + wrap(relabel_node(dot(below, units, dim=[col]).node, (row, own)))
        logs = log(diagonal(wrap(factor), [row, col])).sum(row)
        logs = wrap(expand_node(logs.node, batch))
        return node, units.node, moved.node, logs.sum() if logs.dims else logs
    return None


def _mean(apart: Node, white: Node) -> Any:
    """Return the mean subtracted from a vector, or None if it is not just centered."""
    if apart is white:
        return 0.0
    if apart.kind != "elemwise" or apart.attrs not in ("subtract", "add"):
        return None
    one, other = apart.inputs if apart.inputs[0] is white else apart.inputs[::-1]
    if one is not white or white in set(toposort([other])) or set(apart.dims) != set(white.dims):
        return None
    if apart.attrs == "add":
        return -wrap(other)
    return wrap(other) if apart.inputs[0] is white else None
