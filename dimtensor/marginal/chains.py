"""Chains: unknowns that depend on earlier elements of themselves are summed out by one loop.

A table of the last states goes along the dim. At each position it is joined with what factors say
there, and the oldest states are summed out: states × states for a chain of order one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, RenamedDim, SelDim, without
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.elimination import Cost, Elimination, Merge, Move, Step, added
from dimtensor.marginal.placing import canonical, placed, slots_onto
from dimtensor.marginal.reading import Factor, Origins
from dimtensor.marginal.unknowns import (
    Along,
    At,
    Look,
    Slot,
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
    from dimtensor.tensor.core import DimTensor


class Lag(NamedTuple):
    """An unknown some positions before the head of the loop."""

    unknown: Unknown
    by: int


def lag_dim(lag: Lag) -> Dim:
    """The dim of the states of an unknown some positions ago."""
    name = f"states of {lag.unknown.name}, {lag.by} before"
    return RenamedDim(lag.unknown.states, name)


def key_of_lag(lag: Lag) -> str:
    """What it is called in the state of a loop."""
    return f"{lag.unknown.name}, {lag.by} before"


@dataclass(frozen=True)
class Piece:
    """What a factor says at each position of the chain.

    Attributes
    ----------
    node : Node
        Its states are of dims of lags; it may lack the dim that it runs along.
    dim : Dim or None
        What it runs along; None for a piece at one position.
    head : int
        The position of the latest element that it reads first.
    lags : tuple of Lag
    short : Piece, optional
        What it was before it got zeros where it says nothing.
    """

    node: Node
    dim: Dim | None
    head: int
    first: int
    lags: tuple[Lag, ...]
    short: Piece | None = None

    def at(self, position: int) -> Node | None:
        """What it says with the head at a position, None for nothing."""
        if self.dim is None or position < self.first:
            return self.node if self.dim is None and position == self.head else None
        if self.dim not in self.node.dims:
            return self.node
        at, x = position - self.head, wrap(self.node)
        if self.dim.length is not None:
            return x.isel({self.dim: at}).node
        there = x.isel({self.dim: slice(at, at + 1)})  # nothing if the dim ends before
        return there.sum(without(there.dims, self.node.dims) or (self.dim,)).node

    def along(self, following: Dim, start: int) -> Node:
        """What it says from a position on, with the dim of the loop."""
        assert self.dim is not None
        if self.dim not in self.node.dims:
            return self.node
        cut = wrap(self.node).isel({self.dim: slice(start - self.head, None)})
        (own,) = [d for d in cut.dims if d not in self.node.dims] or [self.dim]
        return relabel_node(cut.node, (own, following))


@dataclass(frozen=True)
class Chain:
    """Unknowns are summed out along a dim; an entry in the list of steps."""

    eliminated: tuple[Unknown, ...]
    dim: Dim
    pieces: tuple[Piece, ...]
    orders: Mapping[Unknown, int]
    slots: tuple[tuple[Dim, Slot], ...]  # of other unknowns
    cost: Cost
    origins: tuple[Origins, ...] = ()  # of the pieces

    @property
    def order(self) -> int:
        """How many positions the loop looks back, at least one."""
        return max(1, *self.orders.values())

    @property
    def following(self) -> Dim:
        """The positions after those that the loop starts with."""
        return SelDim(self.dim, positions=slice(self.order, None))

    @property
    def batch(self) -> tuple[Dim, ...]:
        """Dims of independent chains."""
        return without(self.eliminated[0].dims, [self.dim])

    def kept(self) -> list[Lag]:
        """The states that the loop remembers, by the lags that they have at the next position."""
        return [Lag(u, by) for u in self.eliminated for by in range(1, self.orders[u] + 1)]

    def __str__(self) -> str:
        names = ", ".join(unknown.name for unknown in self.eliminated)
        return f"{names}: a loop along {self.dim._short}, {self.cost}"


class _ChainMove(Move):
    def __init__(self, chain: Chain, used: Sequence[Factor], rest: Sequence[Factor]):
        self.chain, self.used, self.rest = chain, used, rest
        self.cost, self.eliminated = chain.cost, chain.eliminated

    def apply(self, elimination: Elimination) -> tuple[list[Factor], Step]:
        total = elimination.through(self.chain).node
        for lag in self.chain.kept():
            total = elimination.merge(total, lag_dim(Lag(lag.unknown, lag.by)))
        result = Factor(
            total, self.chain.batch, self.chain.slots,
            frozenset().union(*(f.origins for f in self.used)), self.used[0].source,
        )  # fmt: skip
        after = canonical(result, elimination.states) if self.chain.slots else [result]
        return [*self.rest, *after], self.chain


# -- the loop --------------------------------------------------------------------------------------


def summed_states(
    tables: list[Node], lags: Sequence[Lag], merge: Merge
) -> tuple[list[Node], list[tuple[Lag, Node]]]:
    """Tables without some states, cheapest first; and the tables that were summed."""
    left, trace = list(lags), []
    while left:
        sizes = {lag: _size(tables, lag_dim(lag)) for lag in left}
        lag = min(left, key=lambda one: sizes[one])
        left.remove(lag)
        dim = lag_dim(lag)
        joined = [table for table in tables if dim in table.dims]
        tables = [table for table in tables if dim not in table.dims]
        table = expand_node(added(joined), (dim,)) if joined else zeros(dim).node
        trace.append((lag, table))
        tables.append(merge(table, dim))
    return tables, trace


def _size(tables: Sequence[Node], dim: Dim) -> int:
    dims = {d for table in tables if dim in table.dims for d in table.dims}
    return Cost(tuple(dims), ()).number


def initial(chain: Chain, merge: Merge) -> tuple[DimTensor, list[tuple[Lag, Node]]]:
    """The table of states before the loop, and what was summed for it.

    Lags of what was summed count from the first position of the loop.
    """
    order = chain.order
    tables: list[Node] = []
    for position in range(order):
        for piece in chain.pieces:
            node = piece.at(position)
            if node is not None:
                moved = [(lag_dim(lag), lag_dim(Lag(lag.unknown, lag.by + order - position)))
                         for lag in piece.lags]  # fmt: skip
                tables.append(relabel_node(node, *(m for m in moved if m[0] in node.dims)))
        if chain.dim.length is None:  # states of a position that is not there are summed to one
            there = length_of(chain.dim) > position
            for u in chain.eliminated:
                own = lag_dim(Lag(u, order - position))
                weight = where(there, 0.0, -log(length_of(own)))
                tables.append(expand_node(weight.node, (own,)))
    older = [Lag(u, by) for u in chain.eliminated for by in range(chain.orders[u] + 1, order + 1)]
    for lag in older:  # each has its states, even where no piece reads them
        tables.append(zeros(lag_dim(lag)).node)
    tables, trace = summed_states(tables, older, merge)
    whole = expand_node(added(tables), state_dims(chain)) if tables else zeros(
        state_dims(chain)
    ).node  # fmt: skip
    return wrap(whole), trace


def chain_tables(chain: Chain, count: int) -> DimTensor:
    """The table of all states before the loop, with what is said at the first positions."""
    tables: list[Node] = [zeros(chain.batch).node]
    for position in range(count):
        for piece in chain.pieces:
            node = piece.at(position)
            if node is not None:
                moved = [(lag_dim(lag), lag_dim(Lag(lag.unknown, lag.by + chain.order - position)))
                         for lag in piece.lags]  # fmt: skip
                tables.append(relabel_node(node, *(m for m in moved if m[0] in node.dims)))
    lags = [
        lag_dim(Lag(u, by))
        for u in chain.eliminated
        for by in range(chain.order - count + 1, chain.order + 1)
    ]
    return wrap(expand_node(added(tables), tuple(lags)))


def state_dims(chain: Chain) -> tuple[Dim, ...]:
    own = [lag_dim(lag) for lag in chain.kept()]
    lags = {lag_dim(lag) for piece in chain.pieces for lag in piece.lags}
    beside = [
        dim
        for piece in chain.pieces
        for dim in piece.node.dims
        if dim is not piece.dim and dim not in lags
    ]
    return tuple(dict.fromkeys((*own, *chain.batch, *beside)))


def loop_tables(chain: Chain) -> tuple[dict[str, DimTensor], list[Node]]:
    """What is said along the loop: sequences by name, and tables that are the same everywhere."""
    following, sequences, same = chain.following, {}, []
    for number, piece in enumerate(chain.pieces):
        if piece.dim is None:
            continue
        node = piece.along(following, chain.order)
        if following in node.dims:
            sequences[str(number)] = wrap(node)
        else:
            same.append(node)
    return sequences, same


def step_tables(
    chain: Chain, state: Node, here: Sequence[Node], same: Sequence[Node], merge: Merge
) -> tuple[Node, list[tuple[Lag, Node]]]:
    """The table after a position, and what was summed."""
    oldest = [Lag(u, chain.orders[u]) for u in chain.eliminated]
    tables, trace = summed_states([state, *joined_tables(here), *same], oldest, merge)
    moved = [(lag_dim(Lag(lag.unknown, lag.by - 1)), lag_dim(lag)) for lag in chain.kept()]
    total = expand_node(added(tables), tuple(old for old, _ in moved))
    node = relabel_node(total, *moved)
    return expand_node(node, state_dims(chain)), trace


def joined_tables(tables: Sequence[Node]) -> list[Node]:
    """Tables of the same states added up."""
    groups: dict[frozenset[Dim], list[Node]] = {}
    for table in tables:
        groups.setdefault(frozenset(table.dims), []).append(table)
    return [added(group) for group in groups.values()]


def forward(chain: Chain, merge: Merge, keep: bool = False) -> tuple[DimTensor, Any]:
    """The table after the last position; with `keep` also those before each position."""
    start, _ = initial(chain, merge)
    sequences, same = loop_tables(chain)

    def step(state: DimTensor, xs: Any) -> tuple[DimTensor, Any]:
        here = [x.node for x in (xs or {}).values()]
        after, _ = step_tables(chain, state.node, here, same, merge)
        return wrap(after), (state if keep else None)

    return scan(step, start, sequences or None, dim=chain.following)


# -- finding chains --------------------------------------------------------------------------------


def chain_move(factors: Sequence[Factor], unknown: Unknown, states: StateDims) -> Move | None:
    """How unknowns that an unknown depends on are summed out along one of its dims."""
    for dim in unknown.dims:
        found = move_along(factors, unknown, dim, states)
        if found is not None:
            return found
    return None


def move_along(
    factors: Sequence[Factor], unknown: Unknown, dim: Dim, states: StateDims
) -> _ChainMove | None:
    """The same along one of its dims."""
    members = members_of(factors, unknown, dim)
    if members is None:
        return None
    batch = without(unknown.dims, [dim])
    mine = [f for f in factors if any(f.reads(u) for u in members)]
    rest = [f for f in factors if f not in mine]
    pieces: list[Piece] = []
    slots: dict[Dim, Slot] = {}
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
    cost = Cost(unknown.dims, (*dims, *(slot.unknown.states for slot in slots.values())))
    chain = Chain(tuple(members), dim, tuple(pieces), orders, tuple(slots.items()), cost,
                  tuple(factor.origins for factor in mine))  # fmt: skip
    return _ChainMove(chain, mine, rest)


def members_of(factors: Sequence[Factor], unknown: Unknown, dim: Dim) -> dict[Unknown, None] | None:
    """The unknowns that are read together along a dim; None where they have other dims."""
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
    external: dict[Dim, Slot],
) -> Piece | None:
    """A factor as what it says along a dim, or None where it is not of that form."""
    mine = [(d, s) for d, s in factor.slots if s.unknown in members]
    if len(mine) == 1 and not is_plain(mine[0][1], dim, batch):
        others = [s for _, s in factor.slots if s is not mine[0][1]]
        if slots_onto(mine[0][1], others) is None:
            return None
        factor = placed(factor, mine[0][1], states)
        mine = [(d, s) for d, s in factor.slots if s.unknown in members]
    where = [s.where[s.unknown.dims.index(dim)] for _, s in mine]
    running = {w.dim for w in where if isinstance(w, Along)}
    if any(isinstance(w, Look) for w in where) or len(running) > 1:
        return None
    if not all(_apart(s, dim, batch) for _, s in mine):
        return None
    if running and any(isinstance(w, At) for w in where):
        return None
    beside = {d: s for d, s in factor.slots if s.unknown not in members}
    if any(not set(s.dims) <= set(batch) for s in beside.values()):
        return None
    if not set(factor.dims) <= {*batch, *running}:
        return None
    at = [w.by if isinstance(w, Along) else w.position for w in where if not isinstance(w, Look)]
    if min(at) < 0:
        return None
    external.update(beside)
    head = max(at)
    lags = [Lag(s.unknown, head - by) for (_, s), by in zip(mine, at, strict=True)]
    pairs = [(d, lag_dim(lag)) for (d, _), lag in zip(mine, lags, strict=True)]
    node = relabel_node(factor.node, *(pair for pair in pairs if pair[0] in factor.node.dims))
    return Piece(node, next(iter(running), None), head, head, tuple(lags))


def is_plain(slot: Slot, dim: Dim, batch: Sequence[Dim]) -> bool:
    """Whether a reading is along the chain, or at its start."""
    where = slot.where[slot.unknown.dims.index(dim)]
    if isinstance(where, At):
        return where.position == 0 and _apart(slot, dim, batch)
    return isinstance(where, Along) and _apart(slot, dim, batch)


def _apart(slot: Slot, dim: Dim, batch: Sequence[Dim]) -> bool:
    """Whether a reading is of the same one of independent chains."""
    pairs = zip(slot.unknown.dims, slot.where, strict=True)
    return all(d is dim or where == Along(d) for d, where in pairs)


def _padded(piece: Piece, dim: Dim, order: int) -> Piece:
    """A piece that says something from the start of the loop to the end of the dim."""
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
    return Piece(whole.node, dim, 0, piece.first, piece.lags, piece)
