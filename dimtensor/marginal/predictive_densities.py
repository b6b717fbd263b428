"""One-step-ahead predictive log densities of observations along a chain, and normal predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, Dims, SelDim, without
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild
from dimtensor.marginal.alignment import Flattening
from dimtensor.marginal.chains import Chain, StepFactor, loop_tables, prefix_table, step_tables
from dimtensor.marginal.moves import log_sum
from dimtensor.marginal.normal.filters import ResidualChain, filter_densities
from dimtensor.marginal.normal.matrix_filters import MatrixFilter, filtered
from dimtensor.marginal.normal.slices import ChainReader, NotAlongChain
from dimtensor.marginal.normal.state_space import VectorLayout
from dimtensor.marginal.unknowns import Factor
from dimtensor.tensor.autodiff import grad
from dimtensor.tensor.constructors import eye, zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import sqrt, square
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import solve_triangular

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

LATER = "it depends on later elements of what is summed out"
FLAT = "its first elements have no density, as the start of the chain is flat"
RAGGED = "a walk along a ragged dim has no predictions; a dist.Series has them"
NO_CHAIN = "what is summed out is not one chain by itself"


class Prediction(NamedTuple):
    """Mean and standard deviation of observations given those at earlier positions."""

    mean: DimTensor
    sd: DimTensor


def one_step_ahead(
    steps: Sequence[Any],
    parts: Sequence[Factor],
    name: str,
    dims: Dims,
    flattenings: Sequence[Flattening],
) -> tuple[DimTensor | None, str]:
    """Return the log density of each observation given the earlier ones, or the reason for none.

    Parameters
    ----------
    steps : sequence
        Steps of the elimination.
    parts : sequence of Factor
        Its remaining factors.
    name : str
        Name of the observed variable.
    dims : tuple of Dim
        Dims of the observed variable.
    flattenings : sequence of Flattening
        Plain dims of the chains, for ragged ones.
    """
    if len(steps) == 1 and isinstance(steps[0], MatrixFilter):
        flattening = _flattening_of(steps[0].dim, flattenings)
        return _from_matrices(steps[0], parts, name, dims, flattening)
    if len(steps) != 1 or not isinstance(steps[0], (Chain, ResidualChain)):
        return None, NO_CHAIN
    (step,) = steps
    chain = step if isinstance(step, Chain) else step.chain
    flattening = _flattening_of(chain.dim, flattenings)
    if {chain.dim, *chain.batch} != set(flattening.dims(dims)):
        return None, f"it has not one element for each one along {chain.dim._short!r}"
    if chain.slots or not all(
        origin == {name} or origin <= {u.name for u in chain.eliminated} for origin in chain.origins
    ):
        return None, "the chain has other observations"
    own = [p for p, origin in zip(chain.pieces, chain.origins, strict=True) if origin == {name}]
    if not all(_in_time(piece, chain.dim) for piece in own):
        return None, LATER
    found = _from_forward(chain) if isinstance(step, Chain) else _from_filter(step)
    found = wrap(flattening.restored(found.node))
    for part in parts:
        if part.origins != {name}:
            continue
        if set(part.dims) != set(dims):
            return None, "its density is not known element by element"
        found = found + wrap(part.full())
    return found, ""


def _flattening_of(dim: Dim, flattenings: Sequence[Flattening]) -> Flattening:
    """Return the flattening that made the dim of a chain; the last one if the dim is plain."""
    return next((x for x in flattenings if dim in x.flat.values()), flattenings[-1])


def by_parent(
    steps: Sequence[Any], parts: Sequence[Factor], flattenings: Sequence[Flattening]
) -> DimTensor | None:
    """Return the log density of each parent of the ragged dim of a chain, or None without one."""
    if len(steps) != 1 or not isinstance(steps[0], (Chain, MatrixFilter)):
        return None
    (chain,) = steps
    flattening = _flattening_of(chain.dim, flattenings)
    dims = [dim for dim, flat in flattening.flat.items() if flat is chain.dim]
    whole = [part for part in parts if set(part.dims) == set(chain.batch)]
    if not dims or len(whole) > 1:
        return None
    if isinstance(chain, Chain):
        if chain.slots:
            return None
        each = _from_forward(chain)
    else:
        if chain.columns is not None:
            return None
        each = _predictive_densities(chain)
    found = wrap(flattening.restored(each.node)).sum(dims)
    for part in parts:
        if part in whole:
            continue
        if set(part.dims) != {*dims, *chain.batch}:
            return None
        found = found + wrap(part.full()).sum(dims)
    return found


def _from_matrices(
    step: MatrixFilter, parts: Sequence[Factor], name: str, dims: Dims, flattening: Flattening
) -> tuple[DimTensor | None, str]:
    """Return the joint log density of the observations at each position."""
    hidden = {unknown.name for unknown in step.eliminated}
    dims = flattening.dims(dims)
    if step.dim not in dims or not set(step.batch) <= set(dims):
        return None, f"it has not one element for each one along {step.dim._short!r}"
    if not all(origin == {name} or origin <= hidden for origin, _ in step.parts):
        return None, "the chain has other observations"
    if any(origin == {name} and _reads_later(step, node) for origin, node in step.parts):
        return None, LATER
    if step.columns is not None:
        return None, FLAT
    found = wrap(flattening.restored(_predictive_densities(step).node))
    for part in parts:
        if part.origins != {name}:
            continue
        if not {step.dim, *step.batch} <= set(flattening.dims(part.dims)):
            return None, "its density is not known element by element"
        beside = [
            dim for dim in part.dims if flattening.dims([dim])[0] not in (step.dim, *step.batch)
        ]
        value = wrap(part.full())
        found = found + (value.sum(beside) if beside else value)
    return found, ""


def _predictive_densities(chain: MatrixFilter) -> Any:
    """Return log densities of the terms of observations at each position given earlier ones."""
    early, loop = ([replace(step, constant=step.observed) for step in steps]
                   for steps in (chain.early, (chain.loop,)))  # fmt: skip
    _, first, late = filtered(replace(chain, early=tuple(early), loop=loop[0]))
    order, loop_dim = chain.loop.position.order, chain.loop.position.loop_dim
    values = wrap(expand_node(late.node, (loop_dim, *chain.batch)))
    if not order:
        return values.relabel(loop_dim, chain.dim) if loop_dim is not chain.dim else values
    whole = zeros((chain.dim, *chain.batch))
    for at, value in enumerate(first[1:]):
        whole = whole.isel({chain.dim: at}).set(zeros(chain.batch) + value)
    return whole.isel({chain.dim: slice(order, None)}).set(values)


def _reads_later(step: MatrixFilter, node: Node) -> bool:
    """Return whether a term depends on later elements of the chain than its own position."""
    reader = ChainReader(step.dim, step.eliminated)
    at = reader.place(node)
    if at.dim is None or (at.dim is not step.dim and reader.start_of(at.dim) != at.head):
        return True
    return at.dim is step.dim and bool(at.head)


def _in_time(piece: StepFactor, dim: Dim) -> bool:
    """Return whether an observation depends on no later element of the chain."""
    piece = piece.short or piece
    if piece.dim is None or piece.dim is dim:
        return piece.head == 0
    own = piece.dim
    if not (isinstance(own, SelDim) and own.parent is dim and isinstance(own.selection, Slice)):
        return False
    return own.selection.step == 1 and (own.selection.start or 0) == piece.head


def _from_forward(chain: Chain) -> DimTensor:
    """Compute predictive densities by the forward algorithm with normalized tables."""
    early = [_total(chain, prefix_table(chain, at + 1)) for at in range(chain.order)]
    sequences, same = loop_tables(chain)
    start = prefix_table(chain, chain.order)
    start = start - _total(chain, start)

    def step(state: DimTensor, xs: Any) -> tuple[DimTensor, DimTensor]:
        after = wrap(step_tables(chain, state, xs, same, log_sum)[0])
        added = _total(chain, after)
        return after - added, added

    late = scan(step, start, sequences or None, dim=chain.loop_dim)[1]
    return _along(chain, early, late)


def _total(chain: Chain, table: DimTensor) -> DimTensor:
    states = [dim for dim in table.dims if dim not in chain.batch]
    return table.logsumexp(states)


def _from_filter(step: ResidualChain) -> DimTensor:
    """Compute predictive densities by the Kalman filter: the densities of the innovations."""
    early, late = filter_densities(step.chain, step.per_step)
    return _along(step.chain, early, late)


def _along(chain: Chain, early: Sequence[Any], late: DimTensor) -> DimTensor:
    """Join the cumulative sums of the initial positions with the densities of the loop."""
    whole = zeros((chain.dim, *chain.batch))
    before: Any = 0.0
    for at, total in enumerate(early[: chain.dim.length]):
        whole = whole.isel({chain.dim: at}).set(_full(total - before, chain.batch))
        before = total
    values = wrap(expand_node(late.node, (chain.loop_dim, *chain.batch)))
    return whole.isel({chain.dim: slice(chain.order, None)}).set(values)


def _full(x: Any, dims: Dims) -> DimTensor:
    return zeros(dims) + x


def normal_predictions(
    steps: Sequence[Any],
    parts: Sequence[Factor],
    observed: Mapping[str, Node],
    known: Mapping[Node, Node],
    flattenings: Sequence[Flattening],
) -> dict[str, Prediction] | str:
    """Return normal predictions of observations along a chain, or the reason for none.

    The log density of the observations at a position given earlier ones is a quadratic function
    of them: its derivatives are their precision matrix and its product with their mean.

    Parameters
    ----------
    steps : sequence
        Steps of the elimination.
    parts : sequence of Factor
        Its remaining factors, those of these observations.
    observed : mapping of str to Node
        Values of the observed variables, which have normal densities.
    known : mapping of Node to Node
        Replacements in densities that are not conditioned on: of masks of missing values.
    flattenings : sequence of Flattening
        Plain dims of the chains, for ragged ones.
    """
    origins = frozenset[str]().union(*(part.origins for part in parts))
    steps = [step for step in steps if origins & _eliminated(step)]
    if len(steps) != 1 or not isinstance(steps[0], (MatrixFilter, ResidualChain)):
        return RAGGED if any(x.unknowns for x in flattenings) else NO_CHAIN
    step = steps[0]
    chain: Any = step if isinstance(step, MatrixFilter) else step.chain
    flattening = _flattening_of(chain.dim, flattenings)
    why = _not_predictable(step, set(observed))
    if why:
        return why
    own = [x for part in parts if part.origins <= set(observed) for x in [part.full()]]

    def terms(moved: Mapping[Node, Node]) -> list[Any]:
        if isinstance(step, MatrixFilter):
            _, early, late = filtered(step, known=moved)
        else:
            early, late = filter_densities(chain, step.per_step, moved)
            early = early[: chain.dim.length]
        return [*early, late, *map(wrap, rebuild(own, moved))]

    return normal_of_terms(terms, observed, (chain.dim, *chain.batch), known, flattening)


def normal_of_terms(
    terms: Callable[[Mapping[Node, Node]], Sequence[Any]],
    observed: Mapping[str, Node],
    apart: Dims,
    known: Mapping[Node, Node],
    flattening: Flattening | None = None,
) -> dict[str, Prediction] | str:
    """Return the means and standard deviations of normal vectors, or the reason for none.

    Parameters
    ----------
    terms : callable
        Returns terms of the log density, given replacements.
    observed : mapping of str to Node
        Parts of the vectors.
    apart : tuple of Dim
        Dims of independent vectors.
    known : mapping of Node to Node
        Further replacements.
    flattening : Flattening, optional
        Plain dims in place of ragged ones.
    """
    dims = {name: flattening.dims(x.dims) if flattening else x.dims for name, x in observed.items()}
    for name, own in dims.items():
        if not set(apart) <= set(own):
            return f"{name!r} has not one element for each one along {apart[0]._short!r}"
    try:
        layout = VectorLayout("observations", {n: without(own, apart) for n, own in dims.items()})
    except NotAlongChain:
        return "the number of elements at a position is not known"
    assert layout.dims is not None

    def parts(x: Any) -> dict[str, Node]:
        found = {name: layout.part(x, name) for name in observed}
        return {n: flattening.restored(x) for n, x in found.items()} if flattening else found

    vector = tensor(None, (*apart, layout.dims.own))
    leaves = parts(vector)
    total: Any = 0.0
    for term in terms({**known, **{x: leaves[name] for name, x in observed.items()}}):
        total = total + (term if isinstance(term, float) or not term.dims else term.sum())
    means, deviations = map(parts, _normal_of(total, vector, layout))
    return {name: Prediction(wrap(means[name]), wrap(deviations[name])) for name in observed}


def _eliminated(step: Any) -> set[str]:
    """Return the names of the unknowns that a step eliminated."""
    chain = getattr(step, "chain", step)
    return {unknown.name for unknown in getattr(chain, "eliminated", None) or [chain.unknown]}


def _not_predictable(step: Any, names: set[str]) -> str:
    """Say why a chain has no one-step-ahead predictions of some variables; empty if it has."""
    if isinstance(step, MatrixFilter):
        hidden = {unknown.name for unknown in step.eliminated}
        origins = [origin for origin, _ in step.parts]
        late = any(not origin <= hidden and _reads_later(step, x) for origin, x in step.parts)
        if step.columns is not None:
            return FLAT
    else:
        chain = step.chain
        hidden = {unknown.name for unknown in chain.eliminated}
        origins = list(chain.origins)
        pairs = zip(chain.pieces, origins, strict=True)
        late = any(not origin <= hidden and not _in_time(x, chain.dim) for x, origin in pairs)
        if chain.slots:
            return NO_CHAIN
    if not all(origin <= hidden or (len(origin) == 1 and origin <= names) for origin in origins):
        return "the chain has other observations"
    return LATER if late else ""


def _normal_of(logp: Any, vector: Any, layout: VectorLayout) -> Prediction:
    """Return the mean and standard deviation of normal vectors, from a sum of log densities."""
    assert layout.dims is not None
    own, other = layout.dims
    slope = grad(logp, vector)
    at_zero = substitute(slope, {vector: zeros(vector.dims)})
    unit = wrap(expand_node(eye(own, other).node, vector.dims))
    precision = at_zero - substitute(slope, {vector: unit})
    if layout.count == 1:
        precision = precision.isel({other: 0})
        return Prediction(at_zero / precision, 1.0 / sqrt(precision))
    factor = cholesky(precision, [own, other])
    column = own.rename("column")
    inverse = solve_triangular(factor, eye(own, column), [own, other])
    white = solve_triangular(factor, at_zero, [own, other])
    mean, sd = dot(inverse, white, dim=[other]), sqrt(square(inverse).sum(other))
    return Prediction(mean.relabel(column, own), sd.relabel(column, own))
