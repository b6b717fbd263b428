"""Elimination of jointly normal unknowns from residuals: elementwise, or by a Kalman filter.

Models without a proper residual for each unknown use the information form instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, without
from dimtensor.graph import Node, make
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.alignment import aligned, read_at, reads_all
from dimtensor.marginal.chains import (
    Chain,
    NormalStep,
    StepFactor,
    chain_move_along,
    coupled_unknowns,
    is_chain_read,
)
from dimtensor.marginal.moves import elementwise_move, origins_of
from dimtensor.marginal.normal.filters import ResidualChain, StepResidual, extent_of, filtered
from dimtensor.marginal.normal.quadratics import ResidualFactor
from dimtensor.marginal.normal.residuals import (
    LOG_2PI,
    NoProperResidual,
    Residual,
    drop_constant_residuals,
    eliminate,
    node_of_value,
    number_or_tensor,
    sum_terms,
)
from dimtensor.marginal.unknowns import (
    Factor,
    FactorSlot,
    StateDims,
    Unknown,
    own_slot,
    sum_unread_dims,
)
from dimtensor.tensor.elementwise import log, where
from dimtensor.tensor.handle import constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# residuals are unrolled along dims that no unknown has, up to this length
UNROLLED = 16


@dataclass(frozen=True)
class ResidualStep(NormalStep):
    """Elimination step: each element is integrated out separately; the variables are slots."""

    residual: Residual


class ResidualElimination:
    """Elimination of unknowns from residuals.

    Attributes
    ----------
    factors : list of Factor
        The remaining factors, none of which reads an unknown.
    steps : list

    Raises
    ------
    NoProperResidual
        If no proper residual determines an unknown.
    """

    def __init__(
        self, known: Sequence[Factor], residuals: Sequence[ResidualFactor],
        unknowns: Sequence[Unknown], states: StateDims,
    ):  # fmt: skip
        self.states, self.factors = states, list(known)
        self.steps: list[Any] = []
        for residual in residuals:
            if residual.proper:
                self._add(
                    0.5 * (LOG_2PI + _log(residual.spread)), residual.like.dims, residual.like
                )
        found = [part for residual in residuals for part in self._tidy(residual)]
        left = list(unknowns)
        while left:
            done, found = self._point(found, left) or self._chain(found, left) or _none()
            left = [unknown for unknown in left if unknown not in done]
        assert not found

    def _add(self, value: Any, dims: Dims, *like: Factor) -> None:
        """Add a factor without unknowns."""
        if isinstance(value, float):
            value = wrap(constant(value, "float64"))
        origins = origins_of(like)
        self.factors.append(replace(like[0], node=value.node, dims=tuple(dims), slots=(),
                                    origins=origins))  # fmt: skip

    # -- canonical residuals -----------------------------------------------------------------------

    def _tidy(self, residual: ResidualFactor) -> list[ResidualFactor]:
        """Remove dims that no slot has, by summing over them or unrolling them."""
        alone = without(
            residual.like.dims, {dim for _, slot in residual.like.slots for dim in slot.dims}
        )
        if not alone:
            return [residual]
        if len(residual.like.slots) == 1:
            return [self._gathered(residual, alone)]
        if any(dim.length is None for dim in alone) or _count(alone) > UNROLLED:
            raise NoProperResidual
        found = []
        for at in itertools.product(*(range(dim.length or 0) for dim in alone)):
            where = dict(zip(alone, at, strict=True))
            found.append(_mapped(residual, lambda x, where=where: _taken(x, where),
                                 without(residual.like.dims, alone)))  # fmt: skip
        return found

    def _gathered(
        self, residual: ResidualFactor, alone: Dims = (), onto: bool = False
    ) -> ResidualFactor:
        """Combine residuals of the same element into one (sufficient statistics)."""
        like, ((_, slot),) = residual.like, residual.like.slots
        (by,) = map(wrap, residual.coefficients)
        spread, offset = wrap(residual.spread), wrap(residual.offset)
        weight = 1.0 / spread if residual.proper else spread

        def gathered(x: DimTensor) -> DimTensor:
            factor = sum_unread_dims(
                like.with_node(expand_node(x.node, alone), like.dims, like.slots)
            )
            return wrap(aligned(factor, slot, self.states).node if onto else factor.node)

        precision, first = gathered(by * by * weight), gathered(by * offset * weight)
        proper = residual.proper and residual.coefficients[0].kind == "constant"
        if onto:
            pairs = zip(slot.unknown.dims, slot.indices, strict=True)
            proper = proper and all(reads_all(d, w) for d, w in pairs)
        above = precision if proper else where(precision > 0.0, precision, 1.0)
        mean = first / above
        there = wrap(read_at(mean.node, slot)) if onto else mean
        error = offset - by * there
        self._add(-0.5 * weight * error * error, like.dims, like)
        if residual.proper:
            self._add(-0.5 * (LOG_2PI + log(spread)), like.dims, like)
        dims = slot.unknown.dims if onto else without(like.dims, alone)
        own = own_slot(slot.unknown) if onto else slot
        if proper:
            self._add(0.5 * (LOG_2PI - log(precision)), dims, like)
        spread = 1.0 / precision if proper else precision
        after = like.with_node(like.node, dims, [(self.states[own], own)])
        return ResidualFactor(after, mean.node, spread.node, (constant(1.0, mean.dtype),), proper)

    # -- element by element ----------------------------------------------------------------------

    def _point(
        self, residuals: Sequence[ResidualFactor], left: Sequence[Unknown]
    ) -> tuple[list[Unknown], list[ResidualFactor]] | None:
        factors = [residual.like for residual in residuals]
        moves = [(elementwise_move(factors, unknown), unknown) for unknown in left]
        possible = [(move.cost, unknown) for move, unknown in moves if move is not None]
        if not possible:
            return None
        cost, unknown = min(possible, key=lambda pair: pair[0].number)
        mine = [residual for residual in residuals if residual.like.reads(unknown)]
        rest = [residual for residual in residuals if not residual.like.reads(unknown)]
        slots: dict[Hashable, FactorSlot] = {}
        placed_rows = [self._on(residual, unknown, slots) for residual in mine]
        terms: list[Any] = []
        first, others = eliminate(placed_rows, own_slot(unknown), terms)
        self.steps.append(ResidualStep(unknown, cost, first))
        like = [residual.like for residual in mine]
        made = self._made(others, terms, slots, unknown.dims, like)
        return [unknown], [*rest, *made]

    def _on(
        self, residual: ResidualFactor, unknown: Unknown, slots: dict[Hashable, FactorSlot]
    ) -> Residual:
        """Align a residual with the dims of an unknown; its variables are slots."""
        ((_, slot),) = residual.like.reads(unknown)
        whole = all(reads_all(d, w) for d, w in zip(unknown.dims, slot.indices, strict=True))
        if not whole:
            if len(residual.like.slots) > 1:
                raise NoProperResidual
            residual = self._gathered(residual, onto=True)
            ((_, slot),) = residual.like.slots
        parts = (residual.offset, residual.spread, *residual.coefficients)
        found = [aligned(_like(residual, x), slot, self.states) for x in parts]
        known = dict(found[0].slots)
        slots.update({s: s for s in known.values()})
        order = [_slot_of(found[0], dim) for dim, _ in self._in_order(residual, slot, found[0])]
        offset, spread, *coefficients = (number_or_tensor(f.node) for f in found)
        return Residual(
            dict(zip(order, coefficients, strict=True)), offset, spread, residual.proper
        )

    def _in_order(
        self, residual: ResidualFactor, slot: FactorSlot, after: Factor
    ) -> list[tuple[Dim, FactorSlot]]:
        """Return the aligned slots in the order of the original ones."""
        rest = list(after.slots[1:])
        return [
            after.slots[0] if before == slot else rest.pop(0) for _, before in residual.like.slots
        ]

    def _made(
        self, residuals: Iterable[Residual], terms: list[Any],
        slots: Mapping[Hashable, FactorSlot], dims: Dims, like: Sequence[Factor],
    ) -> list[ResidualFactor]:  # fmt: skip
        """Return the residuals after a step; constant terms become factors."""
        found: list[ResidualFactor] = []
        origins = origins_of(like)
        for residual in drop_constant_residuals(residuals, terms):
            pairs = tuple((self.states[slots[x]], slots[x]) for x in residual.coefficients)
            factor = replace(like[0], dims=tuple(dims), slots=pairs, origins=origins)
            offset, spread, *by = (node_of_value(x) for x in (residual.offset, residual.spread,
                                                      *residual.coefficients.values()))  # fmt: skip
            found += self._tidy(ResidualFactor(factor, offset, spread, tuple(by), residual.proper))
        if terms:
            self._add(sum_terms(terms), dims, *like)
        return found

    # -- along a dim -----------------------------------------------------------------------------

    def _chain(
        self, residuals: Sequence[ResidualFactor], left: Sequence[Unknown]
    ) -> tuple[list[Unknown], list[ResidualFactor]] | None:
        for unknown in left:
            for dim in unknown.dims:
                found = self._along(residuals, unknown, dim)
                if found is not None:
                    return found
        return None

    def _along(
        self, residuals: Sequence[ResidualFactor], unknown: Unknown, dim: Dim
    ) -> tuple[list[Unknown], list[ResidualFactor]] | None:
        members = coupled_unknowns([residual.like for residual in residuals], unknown, dim)
        if members is None:
            return None
        batch, count = without(unknown.dims, [dim]), len(self.factors)
        residuals = [self._plain(residual, members, dim, batch) for residual in residuals]
        bundles = [(residual, _part_factors(residual)) for residual in residuals]
        move = chain_move_along(
            [f for _, parts in bundles for f in parts], unknown, dim, self.states
        )
        if move is None:
            del self.factors[count:]
            return None
        chain, pieces = move.chain, iter(move.chain.pieces)
        mine = [
            (residual, parts)
            for residual, parts in bundles
            if any(residual.like.reads(u) for u in members)
        ]
        per_step = []
        for residual, parts in mine:
            of_row = [next(pieces) for _ in parts]
            per_step.append(self._per_step(chain, residual, of_row))
        step = ResidualChain(chain, tuple(per_step))
        terms, after, _ = filtered(chain, step.per_step)
        self.steps.append(step)
        like = [residual.like for residual, _ in mine]
        slots: dict[Hashable, FactorSlot] = dict(chain.slots)
        made = self._made(after, terms, slots, chain.batch, like)
        rest = [
            residual for residual, _ in bundles if not any(residual.like.reads(u) for u in members)
        ]
        return list(chain.eliminated), [*rest, *made]

    def _plain(
        self, residual: ResidualFactor, members: Mapping[Unknown, None], dim: Dim, batch: Dims
    ) -> ResidualFactor:
        """Gather a residual of one element onto its unknown, unless chains read it directly."""
        if len(residual.like.slots) == 1:
            slot = residual.like.slots[0][1]
            if slot.unknown in members and not is_chain_read(slot, dim, batch):
                return self._gathered(residual, onto=True)
        return residual

    def _per_step(
        self, chain: Chain, residual: ResidualFactor, pieces: Sequence[StepFactor]
    ) -> StepResidual:
        offset, spread, precision, *by = pieces
        lags = iter(offset.lags)
        variables: list[Hashable] = []
        for dim, slot in residual.like.slots:
            variables.append(next(lags) if slot.unknown in chain.eliminated else dim)
        per_step = StepResidual(offset, spread, tuple(by), tuple(variables), residual.proper)
        _, end = extent_of(per_step, chain)
        reaches_loop = offset.dim is not None and (end is None or end > chain.order)
        if residual.proper and offset.short is not None and reaches_loop:
            # it does not cover all positions of the loop
            self._add(-0.5 * (LOG_2PI + _log(residual.spread)), residual.like.dims, residual.like)
            per_step = per_step._replace(spread=precision, proper=False)
        return per_step


def _none() -> Any:
    raise NoProperResidual


def _count(dims: Dims) -> int:
    return math.prod(dim.length or 0 for dim in dims)


def _log(x: Node) -> Any:
    return math.log(x.attrs.value) if x.kind == "constant" else log(wrap(x))


def _like(residual: ResidualFactor, node: Node) -> Factor:
    return residual.like.with_node(node, residual.like.dims, residual.like.slots)


def _part_factors(residual: ResidualFactor) -> list[Factor]:
    """Return one factor for each part of a residual: offset, spread, precision, coefficients."""
    parts = (residual.offset, residual.spread, _precision(residual), *residual.coefficients)
    return [_like(residual, x) for x in parts]


def _precision(residual: ResidualFactor) -> Node:
    one = constant(1.0, residual.spread.dtype)
    return (
        make("elemwise", (one, residual.spread), "divide") if residual.proper else residual.spread
    )


def _slot_of(factor: Factor, dim: Dim) -> FactorSlot:
    return dict(factor.slots)[dim]


def _mapped(residual: ResidualFactor, f: Any, dims: Dims) -> ResidualFactor:
    like = residual.like.with_node(residual.like.node, dims, residual.like.slots)
    return ResidualFactor(
        like,
        f(residual.offset),
        f(residual.spread),
        tuple(map(f, residual.coefficients)),
        residual.proper,
    )


def _taken(x: Node, at: Mapping[Dim, int]) -> Node:
    here = [dim for dim in at if dim in x.dims]
    x = relabel_node(x, *((dim, plain(dim)) for dim in here if dim._within is not None))
    return wrap(x).isel({plain(dim): at[dim] for dim in here}).node if here else x
