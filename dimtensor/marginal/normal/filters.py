"""Kalman filters: a loop whose state is a triangle of rows, one for each variable it remembers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dims, SelDim, without
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import Chain, Lag, Piece
from dimtensor.marginal.normal.rows import (
    NoPivot,
    Row,
    added_up,
    node_of_value,
    number_or_tensor,
    solved,
    total,
    without_numbers,
)
from dimtensor.marginal.unknowns import covers
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class Said(NamedTuple):
    """What a row says along a chain.

    Attributes
    ----------
    offset, spread : Piece
    coefficients : tuple of Piece
    variables : tuple
        Lags, and dims of the slots of other unknowns.
    sure : bool
        Whether it has a variance wherever it says something.
    """

    offset: Piece
    spread: Piece
    coefficients: tuple[Piece, ...]
    variables: tuple[Hashable, ...]
    sure: bool

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All parts: offset, spread and coefficients."""
        return (self.offset, self.spread, *self.coefficients)

    def mapped(self, f: Callable[[Node], Node]) -> Said:
        """With each of the expressions exchanged."""
        offset, spread, *by = (_with_nodes(piece, f) for piece in self.pieces)
        return Said(offset, spread, tuple(by), self.variables, self.sure)

    def row(self, values: Sequence[Any], later: int = 0, sure: bool = True) -> Row:
        """The row with values of its parts, with lags that count from a later position."""
        offset, spread, *coefficients = values
        moved = [Lag(x.unknown, x.by + later) if isinstance(x, Lag) else x for x in self.variables]
        known = dict(zip(moved, coefficients, strict=True))
        return Row(known, offset, spread, self.sure and sure)


def _with_nodes(piece: Piece, f: Callable[[Node], Node]) -> Piece:
    short = None if piece.short is None else _with_nodes(piece.short, f)
    return replace(piece, node=f(piece.node), short=short)


@dataclass(frozen=True)
class RowChain:
    """Unknowns are integrated out along a dim."""

    chain: Chain
    said: tuple[Said, ...]

    def __str__(self) -> str:
        return str(self.chain)


def extent_of(said: Said, chain: Chain) -> tuple[int, int | None]:
    """Where a row says something: from a position to another one, None for the end."""
    piece = said.offset.short or said.offset
    if piece.dim is None:
        return piece.head, piece.head + 1
    if covers(piece.dim, piece.head, chain.dim):
        return piece.head, None
    if piece.dim.length is not None:
        return piece.head, piece.head + piece.dim.length
    if isinstance(piece.dim, SelDim) and piece.dim.parent is chain.dim:
        selection = piece.dim.selection
        if isinstance(selection, Slice) and selection.step == 1:
            start, stop = selection.start or 0, selection.stop
            if stop is not None and 0 <= start < stop:
                return piece.head, piece.head + stop - start
    raise NoPivot


def _at(piece: Piece, position: int) -> Any:
    short = piece.short or piece
    node = short.node
    if short.dim is not None and short.dim in node.dims:
        node = wrap(node).isel({short.dim: position - short.head}).node
    return number_or_tensor(node)


def _early(chain: Chain, said: Sequence[Said], count: int) -> list[Row]:
    """What is said at the first positions."""
    rows = []
    for one in said:
        begin, end = extent_of(one, chain)
        for position in range(begin, count if end is None else min(count, end)):
            values = [_at(piece, position) for piece in one.pieces]
            rows.append(one.row(values, chain.order - position))
    return rows


def initial_rows(chain: Chain, said: Sequence[Said], terms: list[Any]) -> tuple[list[Row], Any]:
    """The rows before the loop, and those of what was integrated out for it."""
    order, rows = chain.order, _early(chain, said, chain.order)
    older = [Lag(u, by) for u in chain.eliminated for by in range(order, chain.orders[u], -1)]
    trace = []
    for lag in older:
        row, rows = solved(rows, lag, terms)
        trace.append((lag, row))
    return triangle(chain, rows, 0, terms), trace


def triangle(chain: Chain, rows: list[Row], moved: int, terms: list[Any]) -> list[Row]:
    """A row for each variable that is remembered, which depends on later ones alone."""
    found = []
    for lag in variables_of(chain):
        if isinstance(lag, Lag):
            row, rows = solved(rows, Lag(lag.unknown, lag.by - moved), terms)
        else:
            start = next((r for r in rows if _only(r, lag)), Row({lag: 1.0}, 0.0, 0.0, False))
            row, rows = added_up([r for r in rows if r is not start], start, lag, terms)
        found.append(row)
    without_numbers(rows, terms)
    return found


def _only(row: Row, x: Hashable) -> bool:
    by = row.coefficients.get(x)
    return not row.sure and isinstance(by, float) and by == 1.0


def variables_of(chain: Chain) -> list[Hashable]:
    """What the loop remembers, the oldest first; then what it says of other unknowns."""
    lags = sorted(chain.kept(), key=lambda lag: -lag.by)
    return [*lags, *(dim for dim, _ in chain.slots)]


def step_rows(
    chain: Chain, rows: Sequence[Row], terms: list[Any]
) -> tuple[list[Row], list[tuple[Lag, Row]]]:
    """The rows after a position, and those of what was integrated out."""
    left, trace = list(rows), []
    # rows of older elements depend on later ones: those that are left keep a sure row each
    oldest = sorted((Lag(u, chain.orders[u]) for u in chain.eliminated), key=lambda lag: -lag.by)
    for lag in oldest:
        row, left = solved(left, lag, terms)
        trace.append((lag, row))
    found = triangle(chain, left, 1, terms)
    return [_moved(row) for row in found], trace


def _moved(row: Row) -> Row:
    known = {
        Lag(x.unknown, x.by + 1) if isinstance(x, Lag) else x: value
        for x, value in row.coefficients.items()
    }
    return replace(row, coefficients=known)


class Layout:
    """How rows are kept as the state of a loop: which coefficients there are, and their dims."""

    def __init__(self, chain: Chain):
        self.variables = variables_of(chain)
        self.dims: dict[tuple[int, str], Dims] = {}

    def include(self, rows: Sequence[Row]) -> bool:
        """Whether rows have more than is known."""
        before = dict(self.dims)
        for key, value in self._values(rows).items():
            new = () if isinstance(value, float) else value.dims
            old = self.dims.get(key, ())
            self.dims[key] = (*old, *without(new, old))
        return self.dims != before

    def _values(self, rows: Sequence[Row]) -> dict[tuple[int, str], Any]:
        found: dict[tuple[int, str], Any] = {}
        for number, (row, own) in enumerate(zip(rows, self.variables, strict=True)):
            found[number, "offset"], found[number, "spread"] = row.offset, row.spread
            for x, value in row.coefficients.items():
                if x != own:
                    found[number, str(self.variables.index(x))] = value
        return found

    def pack(self, rows: Sequence[Row]) -> dict[str, DimTensor]:
        """The state that rows are kept as."""
        values = self._values(rows)
        return {
            f"{number} {part}": wrap(
                expand_node(node_of_value(values.get((number, part), 0.0)), dims)
            )
            for (number, part), dims in self.dims.items()
        }

    def unpack(self, state: Mapping[str, DimTensor]) -> list[Row]:
        """The rows of a state."""
        found = []
        for number, own in enumerate(self.variables):
            known: dict[Hashable, Any] = {own: 1.0}
            for n, part in self.dims:
                if n == number and part.isdigit():
                    known[self.variables[int(part)]] = state[f"{n} {part}"]
            offset, spread = (state[f"{number} {part}"] for part in ("offset", "spread"))
            found.append(Row(known, offset, spread, isinstance(own, Lag)))
        return found

    def probes(self) -> dict[str, DimTensor]:
        """Symbols in the place of a state."""
        return {
            f"{number} {part}": tensor(f"{number} {part}", dims)
            for (number, part), dims in self.dims.items()
        }


def rows_along(
    chain: Chain, said: Sequence[Said]
) -> tuple[dict[str, DimTensor], dict[str, Any], list[tuple[int, Said]]]:
    """Sequences along the loop by name, values that are the same everywhere, and their rows."""
    sequences: dict[str, DimTensor] = {}
    same: dict[str, Any] = {}
    used = []
    for number, one in enumerate(said):
        _, end = extent_of(one, chain)
        if one.offset.dim is None or (end is not None and end <= chain.order):
            continue
        used.append((number, one))
        for part, piece in enumerate(one.pieces):
            whole = piece
            if piece.short is not None and piece.short.dim not in piece.short.node.dims:
                whole = piece if part == 1 else piece.short
            node = whole.node
            if whole.dim in node.dims:
                node = whole.along(chain.following, chain.order)
            if chain.following in node.dims:
                sequences[f"{number} {part}"] = wrap(node)
            else:
                same[f"{number} {part}"] = number_or_tensor(node)
    return sequences, same, used


def rows_here(used: Sequence[tuple[int, Said]], values: Mapping[str, Any]) -> list[Row]:
    """The rows of one position."""
    return [
        one.row([values[f"{number} {part}"] for part in range(len(one.pieces))])
        for number, one in used
    ]


def layout_of(chain: Chain, said: Sequence[Said], start: Sequence[Row]) -> Layout:
    """What the state holds at every position."""
    layout = Layout(chain)
    sequences, same, used = rows_along(chain, said)
    first = {name: x.isel({chain.following: 0}) for name, x in sequences.items()}
    more = layout.include(start)
    while more:
        rows = [*layout.unpack(layout.probes()), *rows_here(used, {**same, **first})]
        more = layout.include(step_rows(chain, rows, [])[0])
    return layout


def chain_rows(chain: Chain, said: Sequence[Said]) -> tuple[list[Any], Any]:
    """Log densities of what is seen up to each position before the loop; those of each in it."""
    early = []
    for count in range(1, chain.order + 1):
        terms: list[Any] = []
        rows = _early(chain, said, count)
        there = {x for row in rows for x in row.coefficients if isinstance(x, Lag)}
        lags = sorted(there, key=lambda lag: -lag.by)
        for lag in lags:
            _, rows = solved(rows, lag, terms)
        without_numbers(rows, terms)
        early.append(total(terms))
    start, _ = initial_rows(chain, said, [])
    layout = layout_of(chain, said, start)
    sequences, same, used = rows_along(chain, said)

    def step(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        here: list[Any] = []
        rows = [*layout.unpack(state), *rows_here(used, {**same, **(xs or {})})]
        after, _ = step_rows(chain, rows, here)
        return layout.pack(after), wrap(node_of_value(total(here)))

    return early, scan(step, layout.pack(start), sequences or None, dim=chain.following)[1]


def filtered(
    chain: Chain, said: Sequence[Said], keep: bool = False
) -> tuple[list[Any], list[Row], Any]:
    """What is added to the log density, the rows after the last position, and those of others.

    The latter, the third, are the rows before the last position, and states before each position if
    `keep` is true.
    """
    terms: list[Any] = []
    start, _ = initial_rows(chain, said, terms)
    layout = layout_of(chain, said, start)
    sequences, same, used = rows_along(chain, said)

    def step(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        here: list[Any] = []
        rows = [*layout.unpack(state), *rows_here(used, {**same, **(xs or {})})]
        after, _ = step_rows(chain, rows, here)
        emitted = {"term": wrap(node_of_value(total(here)))}
        if keep:
            emitted |= state
        return layout.pack(after), emitted

    last, trace = scan(step, layout.pack(start), sequences or None, dim=chain.following)
    terms.append(wrap(expand_node(trace["term"].node, (chain.following,))).sum(chain.following))
    rows = layout.unpack(last)
    before = {name: x for name, x in trace.items() if name != "term"} if keep else None
    return terms, [row for row in rows if not row.sure], (layout, rows, before)
