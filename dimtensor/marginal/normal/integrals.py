"""Jointly normal unknowns are integrated out by rows: element by element, or by a Kalman filter.

Not all models are of that form; others are completed squares of polynomials.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, without
from dimtensor.graph import Node, make
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import Chain, Piece, is_plain, members_of, move_along
from dimtensor.marginal.elimination import Cost, point_move
from dimtensor.marginal.normal.filters import RowChain, Said, extent_of, filtered
from dimtensor.marginal.normal.polynomials import Given
from dimtensor.marginal.normal.rows import (
    LOG_2PI,
    NoPivot,
    Row,
    node_of_value,
    number_or_tensor,
    solved,
    total,
    without_numbers,
)
from dimtensor.marginal.placing import placed, read_at, reads_all
from dimtensor.marginal.reading import Factor, summed_out
from dimtensor.marginal.unknowns import Slot, StateDims, Unknown, own_slot
from dimtensor.tensor.elementwise import log, where
from dimtensor.tensor.handle import constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# dims of rows that no unknown has, of up to this length, are taken apart
UNROLLED = 16


@dataclass(frozen=True)
class RowPoint:
    """An unknown is integrated out element by element; the variables of its row are slots."""

    unknown: Unknown
    row: Row
    cost: Cost

    def __str__(self) -> str:
        return f"{self.unknown.name}: {self.cost}"


class RowElimination:
    """Unknowns are integrated out of rows.

    Attributes
    ----------
    factors : list of Factor
        What is left; none reads an unknown.
    steps : list

    Raises
    ------
    NoPivot
        If the model is not of this form.
    """

    def __init__(
        self, known: Sequence[Factor], rows: Sequence[Given], unknowns: Sequence[Unknown],
        states: StateDims,
    ):  # fmt: skip
        self.states, self.factors = states, list(known)
        self.steps: list[Any] = []
        for row in rows:
            if row.sure:
                self._add(0.5 * (LOG_2PI + _log(row.spread)), row.like.dims, row.like)
        found = [part for row in rows for part in self._tidy(row)]
        left = list(unknowns)
        while left:
            done, found = self._point(found, left) or self._chain(found, left) or _none()
            left = [unknown for unknown in left if unknown not in done]
        assert not found

    def _add(self, value: Any, dims: Dims, *like: Factor) -> None:
        """Add a factor without unknowns."""
        if isinstance(value, float):
            value = wrap(constant(value, "float64"))
        origins = frozenset[str]().union(*(f.origins for f in like))
        self.factors.append(replace(like[0], node=value.node, dims=tuple(dims), slots=(),
                                    origins=origins))  # fmt: skip

    # -- rows of one form ------------------------------------------------------------------------

    def _tidy(self, row: Given) -> list[Given]:
        """The same in rows without dims that no slot has."""
        alone = without(row.like.dims, {dim for _, slot in row.like.slots for dim in slot.dims})
        if not alone:
            return [row]
        if len(row.like.slots) == 1:
            return [self._gathered(row, alone)]
        if any(dim.length is None for dim in alone) or _count(alone) > UNROLLED:
            raise NoPivot
        found = []
        for at in itertools.product(*(range(dim.length or 0) for dim in alone)):
            where = dict(zip(alone, at, strict=True))
            found.append(_mapped(row, lambda x, where=where: _taken(x, where),
                                 without(row.like.dims, alone)))  # fmt: skip
        return found

    def _gathered(self, row: Given, alone: Dims = (), onto: bool = False) -> Given:
        """One row for what rows say of one element, summed over dims or on those of the unknown."""
        like, ((_, slot),) = row.like, row.like.slots
        (by,) = map(wrap, row.coefficients)
        spread, offset = wrap(row.spread), wrap(row.offset)
        weight = 1.0 / spread if row.sure else spread

        def gathered(x: DimTensor) -> DimTensor:
            factor = summed_out(like.with_node(expand_node(x.node, alone), like.dims, like.slots))
            return wrap(placed(factor, slot, self.states).node if onto else factor.node)

        precision, first = gathered(by * by * weight), gathered(by * offset * weight)
        sure = row.sure and row.coefficients[0].kind == "constant"
        if onto:
            pairs = zip(slot.unknown.dims, slot.where, strict=True)
            sure = sure and all(reads_all(d, w) for d, w in pairs)
        above = precision if sure else where(precision > 0.0, precision, 1.0)
        mean = first / above
        there = wrap(read_at(mean.node, slot)) if onto else mean
        error = offset - by * there
        self._add(-0.5 * weight * error * error, like.dims, like)
        if row.sure:
            self._add(-0.5 * (LOG_2PI + log(spread)), like.dims, like)
        dims = slot.unknown.dims if onto else without(like.dims, alone)
        own = own_slot(slot.unknown) if onto else slot
        if sure:
            self._add(0.5 * (LOG_2PI - log(precision)), dims, like)
        spread = 1.0 / precision if sure else precision
        after = like.with_node(like.node, dims, [(self.states[own], own)])
        return Given(after, mean.node, spread.node, (constant(1.0, mean.dtype),), sure)

    # -- element by element ----------------------------------------------------------------------

    def _point(
        self, rows: Sequence[Given], left: Sequence[Unknown]
    ) -> tuple[list[Unknown], list[Given]] | None:
        factors = [row.like for row in rows]
        moves = [(point_move(factors, unknown), unknown) for unknown in left]
        possible = [(move.cost, unknown) for move, unknown in moves if move is not None]
        if not possible:
            return None
        cost, unknown = min(possible, key=lambda pair: pair[0].number)
        mine = [row for row in rows if row.like.reads(unknown)]
        rest = [row for row in rows if not row.like.reads(unknown)]
        slots: dict[Hashable, Slot] = {}
        placed_rows = [self._on(row, unknown, slots) for row in mine]
        terms: list[Any] = []
        first, others = solved(placed_rows, own_slot(unknown), terms)
        self.steps.append(RowPoint(unknown, first, cost))
        like = [row.like for row in mine]
        made = self._made(others, terms, slots, unknown.dims, like)
        return [unknown], [*rest, *made]

    def _on(self, row: Given, unknown: Unknown, slots: dict[Hashable, Slot]) -> Row:
        """A row on the dims of an unknown, whose variables are slots."""
        ((_, slot),) = row.like.reads(unknown)
        whole = all(reads_all(d, w) for d, w in zip(unknown.dims, slot.where, strict=True))
        if not whole:
            if len(row.like.slots) > 1:
                raise NoPivot
            row = self._gathered(row, onto=True)
            ((_, slot),) = row.like.slots
        parts = (row.offset, row.spread, *row.coefficients)
        found = [placed(_like(row, x), slot, self.states) for x in parts]
        known = dict(found[0].slots)
        slots.update({s: s for s in known.values()})
        order = [_slot_of(found[0], dim) for dim, _ in self._in_order(row, slot, found[0])]
        offset, spread, *coefficients = (number_or_tensor(f.node) for f in found)
        return Row(dict(zip(order, coefficients, strict=True)), offset, spread, row.sure)

    def _in_order(self, row: Given, slot: Slot, after: Factor) -> list[tuple[Dim, Slot]]:
        """The slots after placing, in the order of those before."""
        rest = list(after.slots[1:])
        return [after.slots[0] if before == slot else rest.pop(0) for _, before in row.like.slots]

    def _made(
        self, rows: Iterable[Row], terms: list[Any], slots: Mapping[Hashable, Slot], dims: Dims,
        like: Sequence[Factor],
    ) -> list[Given]:  # fmt: skip
        """What is left after a step."""
        found: list[Given] = []
        origins = frozenset[str]().union(*(f.origins for f in like))
        for row in without_numbers(rows, terms):
            pairs = tuple((self.states[slots[x]], slots[x]) for x in row.coefficients)
            factor = replace(like[0], dims=tuple(dims), slots=pairs, origins=origins)
            offset, spread, *by = (node_of_value(x) for x in (row.offset, row.spread,
                                                      *row.coefficients.values()))  # fmt: skip
            found += self._tidy(Given(factor, offset, spread, tuple(by), row.sure))
        if terms:
            self._add(total(terms), dims, *like)
        return found

    # -- along a dim -----------------------------------------------------------------------------

    def _chain(
        self, rows: Sequence[Given], left: Sequence[Unknown]
    ) -> tuple[list[Unknown], list[Given]] | None:
        for unknown in left:
            for dim in unknown.dims:
                found = self._along(rows, unknown, dim)
                if found is not None:
                    return found
        return None

    def _along(
        self, rows: Sequence[Given], unknown: Unknown, dim: Dim
    ) -> tuple[list[Unknown], list[Given]] | None:
        members = members_of([row.like for row in rows], unknown, dim)
        if members is None:
            return None
        batch, count = without(unknown.dims, [dim]), len(self.factors)
        rows = [self._plain(row, members, dim, batch) for row in rows]
        bundles = [(row, [_like(row, x) for x in (row.offset, row.spread, _precision(row),
                                                  *row.coefficients)]) for row in rows]  # fmt: skip
        move = move_along([f for _, parts in bundles for f in parts], unknown, dim, self.states)
        if move is None:
            del self.factors[count:]
            return None
        chain, pieces = move.chain, iter(move.chain.pieces)
        mine = [(row, parts) for row, parts in bundles if any(row.like.reads(u) for u in members)]
        said = []
        for row, parts in mine:
            of_row = [next(pieces) for _ in parts]
            said.append(self._said(chain, row, of_row))
        step = RowChain(chain, tuple(said))
        terms, after, _ = filtered(chain, step.said)
        self.steps.append(step)
        like = [row.like for row, _ in mine]
        slots: dict[Hashable, Slot] = dict(chain.slots)
        made = self._made(after, terms, slots, chain.batch, like)
        rest = [row for row, _ in bundles if not any(row.like.reads(u) for u in members)]
        return list(chain.eliminated), [*rest, *made]

    def _plain(self, row: Given, members: Mapping[Unknown, None], dim: Dim, batch: Dims) -> Given:
        """A row of one element that is read as chains read it."""
        if len(row.like.slots) == 1:
            slot = row.like.slots[0][1]
            if slot.unknown in members and not is_plain(slot, dim, batch):
                return self._gathered(row, onto=True)
        return row

    def _said(self, chain: Chain, row: Given, pieces: Sequence[Piece]) -> Said:
        offset, spread, precision, *by = pieces
        lags = iter(offset.lags)
        variables: list[Hashable] = []
        for dim, slot in row.like.slots:
            variables.append(next(lags) if slot.unknown in chain.eliminated else dim)
        said = Said(offset, spread, tuple(by), tuple(variables), row.sure)
        _, end = extent_of(said, chain)
        goes_on = offset.dim is not None and (end is None or end > chain.order)
        if row.sure and offset.short is not None and goes_on:
            # somewhere in the loop it says nothing
            self._add(-0.5 * (LOG_2PI + _log(row.spread)), row.like.dims, row.like)
            said = said._replace(spread=precision, sure=False)
        return said


def _none() -> Any:
    raise NoPivot


def _count(dims: Dims) -> int:
    return math.prod(dim.length or 0 for dim in dims)


def _log(x: Node) -> Any:
    return math.log(x.attrs.value) if x.kind == "constant" else log(wrap(x))


def _like(row: Given, node: Node) -> Factor:
    return row.like.with_node(node, row.like.dims, row.like.slots)


def _precision(row: Given) -> Node:
    one = constant(1.0, row.spread.dtype)
    return make("elemwise", (one, row.spread), "divide") if row.sure else row.spread


def _slot_of(factor: Factor, dim: Dim) -> Slot:
    return dict(factor.slots)[dim]


def _mapped(row: Given, f: Any, dims: Dims) -> Given:
    like = row.like.with_node(row.like.node, dims, row.like.slots)
    return Given(like, f(row.offset), f(row.spread), tuple(map(f, row.coefficients)), row.sure)


def _taken(x: Node, at: Mapping[Dim, int]) -> Node:
    here = {dim: position for dim, position in at.items() if dim in x.dims}
    return wrap(x).isel(here).node if here else x
