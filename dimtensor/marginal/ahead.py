"""Log densities of observations along a chain, each given those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim
from dimtensor.dims.selection import Slice
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import Chain, Piece, chain_tables, loop_tables, step_tables
from dimtensor.marginal.elimination import log_sum
from dimtensor.marginal.normal.filters import RowChain, chain_rows
from dimtensor.marginal.reading import Factor
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def one_step_ahead(
    steps: Sequence[Any], parts: Sequence[Factor], name: str, dims: Dims
) -> tuple[DimTensor | None, str]:
    """Of each element of an observed variable, given those before it; or why there is none.

    Parameters
    ----------
    steps : sequence
        Of the elimination.
    parts : sequence of Factor
        What it left.
    name : str
        Of the variable.
    dims : tuple of Dim
        Of the variable.
    """
    if len(steps) != 1 or not isinstance(steps[0], (Chain, RowChain)):
        return None, "what is summed out is not one chain by itself"
    (step,) = steps
    chain = step if isinstance(step, Chain) else step.chain
    if {chain.dim, *chain.batch} != set(dims):
        return None, f"it has not one element for each one along {chain.dim._short!r}"
    if chain.slots or not all(
        origin == {name} or origin <= {u.name for u in chain.eliminated} for origin in chain.origins
    ):
        return None, "the chain has other observations"
    own = [p for p, origin in zip(chain.pieces, chain.origins, strict=True) if origin == {name}]
    if not all(_in_time(piece, chain.dim) for piece in own):
        return None, "it depends on later elements of what is summed out"
    found = _of_states(chain) if isinstance(step, Chain) else _of_rows(step)
    for part in parts:
        if part.origins != {name}:
            continue
        if set(part.dims) != set(dims):
            return None, "its density is not known element by element"
        found = found + wrap(part.full())
    return found, ""


def _in_time(piece: Piece, dim: Dim) -> bool:
    """Whether the latest element that is read is the one beside it."""
    piece = piece.short or piece
    if piece.dim is None or piece.dim is dim:
        return piece.head == 0
    own = piece.dim
    if not (isinstance(own, SelDim) and own.parent is dim and isinstance(own.selection, Slice)):
        return False
    return own.selection.step == 1 and (own.selection.start or 0) == piece.head


def _of_states(chain: Chain) -> DimTensor:
    """By the forward algorithm, whose table is that of probabilities given what was seen."""
    early = [_total(chain, chain_tables(chain, at + 1)) for at in range(chain.order)]
    sequences, same = loop_tables(chain)
    start = chain_tables(chain, chain.order)
    start = start - _total(chain, start)

    def step(state: DimTensor, xs: Any) -> tuple[DimTensor, DimTensor]:
        here = [x.node for x in (xs or {}).values()]
        after = wrap(step_tables(chain, state.node, here, same, log_sum)[0])
        added = _total(chain, after)
        return after - added, added

    late = scan(step, start, sequences or None, dim=chain.following)[1]
    return _along(chain, early, late)


def _total(chain: Chain, table: DimTensor) -> DimTensor:
    states = [dim for dim in table.dims if dim not in chain.batch]
    return table.logsumexp(states)


def _of_rows(step: RowChain) -> DimTensor:
    """By the filter: the densities of what is not as expected."""
    early, late = chain_rows(step.chain, step.said)
    return _along(step.chain, early, late)


def _along(chain: Chain, early: Sequence[Any], late: DimTensor) -> DimTensor:
    """One for each position, from sums up to the first ones and those of the loop."""
    whole = zeros((chain.dim, *chain.batch))
    before: Any = 0.0
    for at, total in enumerate(early):
        whole = whole.isel({chain.dim: at}).set(_full(total - before, chain.batch))
        before = total
    values = wrap(expand_node(late.node, (chain.following, *chain.batch)))
    return whole.isel({chain.dim: slice(chain.order, None)}).set(values)


def _full(x: Any, dims: Dims) -> DimTensor:
    return zeros(dims) + x
