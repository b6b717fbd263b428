"""One-step-ahead predictive log densities of observations along a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim
from dimtensor.dims.selection import Slice
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.alignment import Flattening
from dimtensor.marginal.chains import Chain, StepFactor, loop_tables, prefix_table, step_tables
from dimtensor.marginal.moves import log_sum
from dimtensor.marginal.normal.filters import ResidualChain, filter_densities
from dimtensor.marginal.normal.matrix_filters import MatrixFilter, predictive_densities
from dimtensor.marginal.normal.slices import ChainReader
from dimtensor.marginal.unknowns import Factor
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


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
        return None, "what is summed out is not one chain by itself"
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
        return None, "it depends on later elements of what is summed out"
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
        each = predictive_densities(chain)
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
    reader = ChainReader(step.dim, step.eliminated)
    for origin, node in step.parts:
        if origin == {name}:
            at = reader.place(node)
            if at.dim is None or (at.dim is not step.dim and reader.start_of(at.dim) != at.head):
                return None, "it depends on later elements of what is summed out"
            if at.dim is step.dim and at.head:
                return None, "it depends on later elements of what is summed out"
    if step.columns is not None:
        return None, "its first elements have no density, as the start of the chain is flat"
    found = wrap(flattening.restored(predictive_densities(step).node))
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
