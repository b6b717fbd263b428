"""Forward algorithm: unknowns that depend on their own earlier elements are summed out by a loop.

The loop carries a log-space table over the last states (the forward message). At each position the
factors of that position are added to it (transition and emission), and the oldest states are
summed out: states × states for a chain of order one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, RenamedDim, SelDim, without
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.alignment import aligned, canonical, reindexed_slots
from dimtensor.marginal.moves import (
    EliminationStep,
    Move,
    StateReduction,
    StepCost,
    add_tables,
    joined_size,
    origins_of,
)
from dimtensor.marginal.unknowns import (
    Factor,
    FactorSlot,
    FixedIndex,
    LookupIndex,
    Origins,
    ShiftedIndex,
    StateDims,
    Unknown,
    covers,
    end_of,
)
from dimtensor.tensor.constructors import arange, zeros
from dimtensor.tensor.constructors import length as length_of
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import log, where
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.marginal.elimination import Elimination
    from dimtensor.tensor.core import DimTensor


class Lag(NamedTuple):
    """Element of an unknown a number of positions before the current one."""

    unknown: Unknown
    by: int


def lag_dim(lag: Lag) -> Dim:
    """Return the dim of the states of a lagged unknown."""
    name = f"states of {lag.unknown.name}, {lag.by} before"
    return RenamedDim(lag.unknown.states, name)


def lag_key(lag: Lag) -> str:
    """Return the name of a lagged unknown in the loop carry."""
    return f"{lag.unknown.name}, {lag.by} before"


@dataclass(frozen=True)
class StepFactor:
    """Per-step factor of a Markov chain.

    Attributes
    ----------
    node : Node
        Log-space table with lag dims as states; without `dim` it is the same at all positions.
    dim : Dim or None
        The dim along which it has one element per step; None for a factor of one position only.
    head : int
        Chain position of the latest element that its first step reads.
    first : int
        The same before padding.
    lags : tuple of Lag
        The elements that it reads, relative to the latest one.
    short : StepFactor, optional
        The factor before it was padded with zeros.
    """

    node: Node
    dim: Dim | None
    head: int
    first: int
    lags: tuple[Lag, ...]
    short: StepFactor | None = None

    def at(self, position: int) -> Node | None:
        """Return the table whose latest element is at a position, or None if there is none."""
        if self.dim is None or position < self.first:
            return self.node if self.dim is None and position == self.head else None
        if self.dim not in self.node.dims:
            return self.node
        at, x = position - self.head, wrap(self.node)
        if self.dim.length is not None:
            return x.isel({self.dim: at}).node if at < self.dim.length else None
        there = x.isel({self.dim: slice(at, at + 1)})  # empty if the dim ends before
        return there.sum(without(there.dims, self.node.dims) or (self.dim,)).node

    def along(self, loop_dim: Dim, start: int) -> Node:
        """Return the tables from a position on, along the dim of the loop."""
        assert self.dim is not None
        if self.dim not in self.node.dims:
            return self.node
        cut = wrap(self.node).isel({self.dim: slice(start - self.head, None)})
        (own,) = [d for d in cut.dims if d not in self.node.dims] or [self.dim]
        return relabel_node(cut.node, (own, loop_dim))


@dataclass(frozen=True)
class Chain:
    """Elimination step: unknowns are summed out along a dim by the forward algorithm."""

    eliminated: tuple[Unknown, ...]
    dim: Dim
    pieces: tuple[StepFactor, ...]
    orders: Mapping[Unknown, int]
    slots: tuple[tuple[Dim, FactorSlot], ...]  # of other unknowns
    cost: StepCost
    origins: tuple[Origins, ...] = ()  # of the pieces

    @property
    def order(self) -> int:
        """Order of the chain: the number of earlier positions the loop reads, at least one."""
        return max(1, *self.orders.values())

    @property
    def loop_dim(self) -> Dim:
        """Dim of the loop: all positions after the initial ones."""
        return SelDim(self.dim, positions=slice(self.order, None))

    @property
    def batch(self) -> tuple[Dim, ...]:
        """Batch dims: those of independent chains."""
        return without(self.eliminated[0].dims, [self.dim])

    def carried_lags(self) -> list[Lag]:
        """Return the loop carry: the lagged states, as seen from the next position."""
        return [Lag(u, by) for u in self.eliminated for by in range(1, self.orders[u] + 1)]

    def __str__(self) -> str:
        names = ", ".join(unknown.name for unknown in self.eliminated)
        return f"{names}: a loop along {self.dim._short}, {self.cost}"


@dataclass(frozen=True)
class NormalStep:
    """Elimination step in which each element of a normal unknown is integrated out separately."""

    unknown: Unknown
    cost: StepCost

    def __str__(self) -> str:
        return f"{self.unknown.name}: {self.cost}"


@dataclass(frozen=True)
class NormalChain:
    """Elimination step in which normal unknowns are integrated out along a chain."""

    chain: Chain

    def __str__(self) -> str:
        return str(self.chain)


class _ChainMove(Move):
    def __init__(self, chain: Chain, used: Sequence[Factor], rest: Sequence[Factor]):
        self.chain, self.used, self.rest = chain, used, rest
        self.cost, self.eliminated = chain.cost, chain.eliminated

    def apply(self, elimination: Elimination) -> tuple[list[Factor], EliminationStep]:
        total = elimination.chain_table(self.chain).node
        for lag in self.chain.carried_lags():
            total = elimination.merge(total, lag_dim(Lag(lag.unknown, lag.by)))
        result = Factor(
            total, self.chain.batch, self.chain.slots,
            origins_of(self.used), self.used[0].source,
        )  # fmt: skip
        after = canonical(result, elimination.states) if self.chain.slots else [result]
        return [*self.rest, *after], self.chain


# -- the loop --------------------------------------------------------------------------------------


def eliminate_lags(
    tables: list[Node], lags: Sequence[Lag], merge: StateReduction
) -> tuple[list[Node], list[tuple[Lag, Node]]]:
    """Sum lagged states out of tables, the cheapest first.

    Return the remaining tables, and each state with the table it was summed out of.
    """
    left, trace = list(lags), []
    while left:
        sizes = {lag: joined_size(tables, lag_dim(lag)) for lag in left}
        lag = min(left, key=lambda one: sizes[one])
        left.remove(lag)
        dim = lag_dim(lag)
        joined = [table for table in tables if dim in table.dims]
        tables = [table for table in tables if dim not in table.dims]
        table = expand_node(add_tables(joined), (dim,)) if joined else zeros(dim).node
        trace.append((lag, table))
        tables.append(merge(table, dim))
    return tables, trace


def initial_table(chain: Chain, merge: StateReduction) -> tuple[DimTensor, list[tuple[Lag, Node]]]:
    """Return the initial loop carry, and the tables that states were summed out of for it.

    The lags of these states count from the first position of the loop.
    """
    order = chain.order
    tables: list[Node] = []
    for position in range(order):
        tables += _tables_at(chain, position)
        # a position that does not exist has uniform states, which sum to one
        if chain.dim.length is None or chain.dim.length <= position:
            there = length_of(chain.dim) > position
            for u in chain.eliminated:
                own = lag_dim(Lag(u, order - position))
                weight = where(there, 0.0, -log(length_of(own)))
                tables.append(expand_node(weight.node, (own,)))
    older = [Lag(u, by) for u in chain.eliminated for by in range(chain.orders[u] + 1, order + 1)]
    for lag in older:  # each has its states, even if no factor reads them
        tables.append(zeros(lag_dim(lag)).node)
    tables, trace = eliminate_lags(tables, older, merge)
    whole = add_tables(tables) if tables else zeros(()).node
    return wrap(expand_node(whole, state_dims(chain))), trace


def _tables_at(chain: Chain, position: int) -> list[Node]:
    """Return the tables of an initial position, with lags counted from the start of the loop."""
    tables = []
    for piece in chain.pieces:
        node = piece.at(position)
        if node is not None:
            later = [Lag(lag.unknown, lag.by + chain.order - position) for lag in piece.lags]
            moved = zip(map(lag_dim, piece.lags), map(lag_dim, later), strict=True)
            tables.append(relabel_node(node, *(m for m in moved if m[0] in node.dims)))
    return tables


def prefix_table(chain: Chain, count: int) -> DimTensor:
    """Return the joint table of all initial states, with the factors of the first positions."""
    tables: list[Node] = [zeros(chain.batch).node]
    for position in range(count):
        tables += _tables_at(chain, position)
    lags = [
        lag_dim(Lag(u, by))
        for u in chain.eliminated
        for by in range(chain.order - count + 1, chain.order + 1)
    ]
    return wrap(expand_node(add_tables(tables), tuple(lags)))


def state_dims(chain: Chain) -> tuple[Dim, ...]:
    own = [lag_dim(lag) for lag in chain.carried_lags()]
    lags = {lag_dim(lag) for piece in chain.pieces for lag in piece.lags}
    beside = [
        dim
        for piece in chain.pieces
        for dim in piece.node.dims
        if dim is not piece.dim and dim not in lags
    ]
    return tuple(dict.fromkeys((*own, *chain.batch, *beside)))


def loop_tables(
    chain: Chain, pieces: Sequence[StepFactor] | None = None
) -> tuple[dict[str, DimTensor], dict[str, DimTensor]]:
    """Return the factors of the loop by number: sequences, and loop-invariant tables.

    They are those of the chain, or others in their place.
    """
    loop_dim = chain.loop_dim
    sequences: dict[str, DimTensor] = {}
    same: dict[str, DimTensor] = {}
    for number, piece in enumerate(chain.pieces if pieces is None else pieces):
        if piece.dim is not None:
            node = piece.along(loop_dim, chain.order)
            (sequences if loop_dim in node.dims else same)[str(number)] = wrap(node)
    return sequences, same


def step_tables(
    chain: Chain,
    state: DimTensor,
    here: Mapping[str, DimTensor] | None,
    same: Mapping[str, DimTensor],
    merge: StateReduction,
) -> tuple[Node, list[tuple[Lag, Node]]]:
    """Advance the loop carry by one position; return also the tables that were summed over."""
    oldest = [Lag(u, chain.orders[u]) for u in chain.eliminated]
    tables = [state.node, *joined_tables(here or {}), *(x.node for x in same.values())]
    tables, trace = eliminate_lags(tables, oldest, merge)
    moved = [(lag_dim(Lag(lag.unknown, lag.by - 1)), lag_dim(lag)) for lag in chain.carried_lags()]
    total = expand_node(add_tables(tables), tuple(old for old, _ in moved))
    node = relabel_node(total, *moved)
    return expand_node(node, state_dims(chain)), trace


def joined_tables(tables: Mapping[str, DimTensor]) -> list[Node]:
    """Add tables over the same dims."""
    groups: dict[frozenset[Dim], list[Node]] = {}
    for table in tables.values():
        groups.setdefault(frozenset(table.dims), []).append(table.node)
    return [add_tables(group) for group in groups.values()]


def forward(chain: Chain, merge: StateReduction, keep: bool = False) -> tuple[DimTensor, Any]:
    """Run the forward loop; return the last table, and with `keep` the carry of each position."""
    start, _ = initial_table(chain, merge)
    sequences, same = loop_tables(chain)

    def step(state: DimTensor, xs: Any) -> tuple[DimTensor, Any]:
        after, _ = step_tables(chain, state, xs, same, merge)
        return wrap(after), (state if keep else None)

    return scan(step, start, sequences or None, dim=chain.loop_dim)


# -- finding chains --------------------------------------------------------------------------------


def chain_move(factors: Sequence[Factor], unknown: Unknown, states: StateDims) -> Move | None:
    """Return the elimination of an unknown and those coupled to it along one of its dims."""
    for dim in unknown.dims:
        plain = dim._within is None  # chains along ragged dims are flattened before
        found = chain_move_along(factors, unknown, dim, states) if plain else None
        if found is not None:
            return found
    return None


def chain_move_along(
    factors: Sequence[Factor], unknown: Unknown, dim: Dim, states: StateDims
) -> _ChainMove | None:
    """Return the elimination along a given dim, or None if the factors form no chain."""
    members = coupled_unknowns(factors, unknown, dim)
    if members is None:
        return None
    batch = without(unknown.dims, [dim])
    mine = [f for f in factors if any(f.reads(u) for u in members)]
    rest = [f for f in factors if f not in mine]
    pieces: list[StepFactor] = []
    slots: dict[Dim, FactorSlot] = {}
    for factor in mine:
        piece = _piece(factor, members, dim, batch, states, slots)
        if piece is None:
            return None
        pieces.append(piece)
    orders = {
        u: max([lag.by for piece in pieces for lag in piece.lags if lag.unknown is u], default=0)
        for u in members
    }
    order = max(1, *orders.values())
    pieces = [_padded(piece, dim, order) for piece in pieces]
    if not any(orders.values()) or any(p.dim is None and p.head >= order for p in pieces):
        return None
    dims = tuple(lag.states for lag in members for _ in range(orders[lag] + 1))
    cost = StepCost(unknown.dims, (*dims, *(slot.unknown.states for slot in slots.values())))
    chain = Chain(tuple(members), dim, tuple(pieces), orders, tuple(slots.items()), cost,
                  tuple(factor.origins for factor in mine))  # fmt: skip
    return _ChainMove(chain, mine, rest)


def coupled_unknowns(
    factors: Sequence[Factor], unknown: Unknown, dim: Dim
) -> dict[Unknown, None] | None:
    """Return the unknowns coupled along a dim, or None if they have different dims."""
    members: dict[Unknown, None] = {unknown: None}
    pending = [unknown]
    while pending:
        one = pending.pop()
        for factor in factors:
            if not factor.reads(one):
                continue
            for _, slot in factor.slots:
                if slot.unknown in members or dim not in slot.unknown.dims:
                    continue
                if set(slot.unknown.dims) != set(unknown.dims):
                    return None
                members[slot.unknown] = None
                pending.append(slot.unknown)
    return members


def _piece(
    factor: Factor,
    members: Mapping[Unknown, None],
    dim: Dim,
    batch: Sequence[Dim],
    states: StateDims,
    external: dict[Dim, FactorSlot],
) -> StepFactor | None:
    """Convert a factor to a per-step factor, or return None if it is not one."""
    mine = [(d, s) for d, s in factor.slots if s.unknown in members]
    if len(mine) == 1 and not is_chain_read(mine[0][1], dim, batch):
        others = [s for _, s in factor.slots if s is not mine[0][1]]
        if reindexed_slots(mine[0][1], others) is None:
            return None
        factor = aligned(factor, mine[0][1], states)
        mine = [(d, s) for d, s in factor.slots if s.unknown in members]
    where = [s.indices[s.unknown.dims.index(dim)] for _, s in mine]
    running = {w.dim for w in where if isinstance(w, ShiftedIndex)}
    if any(isinstance(w, LookupIndex) for w in where) or len(running) > 1:
        return None
    if not all(_apart(s, dim, batch) for _, s in mine):
        return None
    if running and any(isinstance(w, FixedIndex) for w in where):
        return None
    beside = {d: s for d, s in factor.slots if s.unknown not in members}
    if any(not set(s.dims) <= set(batch) for s in beside.values()):
        return None
    if not set(factor.dims) <= {*batch, *running}:
        return None
    at = [
        w.by if isinstance(w, ShiftedIndex) else w.position
        for w in where
        if not isinstance(w, LookupIndex)
    ]
    if min(at) < 0:
        return None
    external.update(beside)
    head = max(at)
    lags = [Lag(s.unknown, head - by) for (_, s), by in zip(mine, at, strict=True)]
    pairs = [(d, lag_dim(lag)) for (d, _), lag in zip(mine, lags, strict=True)]
    node = relabel_node(factor.node, *(pair for pair in pairs if pair[0] in factor.node.dims))
    return StepFactor(node, next(iter(running), None), head, head, tuple(lags))


def is_chain_read(slot: FactorSlot, dim: Dim, batch: Sequence[Dim]) -> bool:
    """Return whether a slot reads along the chain, or its first element."""
    where = slot.indices[slot.unknown.dims.index(dim)]
    if isinstance(where, FixedIndex):
        return where.position == 0 and _apart(slot, dim, batch)
    return isinstance(where, ShiftedIndex) and _apart(slot, dim, batch)


def _apart(slot: FactorSlot, dim: Dim, batch: Sequence[Dim]) -> bool:
    """Return whether a slot stays within one of the independent chains."""
    pairs = zip(slot.unknown.dims, slot.indices, strict=True)
    return all(d is dim or where == ShiftedIndex(d) for d, where in pairs)


def _padded(piece: StepFactor, dim: Dim, order: int) -> StepFactor:
    """Pad a factor with zeros so that it spans the whole loop."""
    if piece.dim is None:
        return piece
    if piece.head <= order and covers(piece.dim, piece.head, dim):
        return piece
    x = wrap(expand_node(piece.node, (piece.dim,)))
    base = zeros((dim, *without(x.node.dims, [piece.dim])), dtype=x.dtype)
    end = end_of(piece.dim, piece.head, dim)
    if end is None:
        whole = base.isel({dim: arange(piece.dim) + piece.head}).inc(x)
    else:
        chosen = slice(piece.head, end or None)
        value = relabel_node(x.node, (piece.dim, SelDim(dim, positions=chosen)))
        whole = base.isel({dim: chosen}).set(wrap(value))
    return StepFactor(whole.node, dim, 0, piece.first, piece.lags, piece)
