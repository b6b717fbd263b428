"""Variable elimination: unknowns are summed out one after the other, in the cheapest order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dimtensor.marginal.alignment import canonical
from dimtensor.marginal.associative_scan import associative_forward
from dimtensor.marginal.chains import Chain, chain_move, forward
from dimtensor.marginal.moves import (
    EliminationStep,
    Move,
    StateReduction,
    elementwise_move,
    log_sum,
    no_elimination_order,
)
from dimtensor.marginal.scaled_forward import scaled_forward
from dimtensor.marginal.trees import tree_move
from dimtensor.marginal.unknowns import Factor, StateDims, Unknown

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# up to this number of unknowns every order is compared
MOST_EXHAUSTIVE = 6


class Elimination:
    """Variable elimination over the factors of discrete unknowns.

    Attributes
    ----------
    factors : list of Factor
        The remaining factors, none of which reads an unknown.
    steps : list
        The performed steps, in order.
    """

    def __init__(
        self, factors: Sequence[Factor], unknowns: Sequence[Unknown], states: StateDims,
        merge: StateReduction = log_sum, associative_scan: bool = False,
    ):  # fmt: skip
        self.states, self.merge = states, merge
        self.associative_scan = associative_scan
        known = [part for factor in factors if factor.slots for part in canonical(factor, states)]
        start = _PartialElimination(tuple(known), (), 0)
        self.steps, self.factors = self._run(start, tuple(unknowns))
        self.factors += [factor for factor in factors if not factor.slots]

    def _run(
        self, start: _PartialElimination, unknowns: tuple[Unknown, ...]
    ) -> tuple[list[EliminationStep], list[Factor]]:
        exact = len(unknowns) <= MOST_EXHAUSTIVE
        everything = frozenset(unknowns)
        best: dict[frozenset[Unknown], _PartialElimination] = {frozenset(): start}
        pending = [frozenset[Unknown]()]
        stuck: _PartialElimination = start
        while pending:
            pending.sort(key=lambda done: best[done].cost)
            done = pending.pop(0)
            stage = best[done]
            if done == everything:
                return list(stage.steps), list(stage.factors)
            left = [unknown for unknown in unknowns if unknown not in done]
            moves = self._moves(stage.factors, left)
            if not moves and len(stage.steps) >= len(stuck.steps):
                stuck = stage
            if not exact:
                moves = sorted(moves, key=lambda move: move.cost.number)[:1]
            for move in moves:
                after = done | set(move.eliminated)
                cost = stage.cost + move.cost.number
                if after in best and best[after].cost <= cost:
                    continue
                factors, step = move.apply(self)
                best[after] = _PartialElimination(tuple(factors), (*stage.steps, step), cost)
                if after not in pending:
                    pending.append(after)
        left = [u for u in unknowns if all(u not in s.eliminated for s in stuck.steps)]
        raise no_elimination_order(stuck.factors, left)

    def chain_table(self, chain: Chain) -> DimTensor:
        """Return the log-space table of the last states of a chain."""
        if self.associative_scan:
            return associative_forward(chain, self.merge)
        found = scaled_forward(chain) if self.merge is log_sum else None
        if found is not None:
            return found
        return forward(chain, self.merge)[0]

    def _moves(self, factors: Sequence[Factor], left: Sequence[Unknown]) -> list[Move]:

        found: list[Move] = []
        for unknown in left:
            move = elementwise_move(factors, unknown)
            if move is not None:
                found.append(move)
        if not found:
            for unknown in left:
                ways = (chain_move, tree_move)
                moves = (way(factors, unknown, self.states) for way in ways)
                found += [move for move in moves if move is not None][:1]
        return found


@dataclass(frozen=True)
class _PartialElimination:
    factors: tuple[Factor, ...]
    steps: tuple[EliminationStep, ...]
    cost: int
