"""Gaussian integrals in information form: completing the square, elementwise or along a dim.

The coefficients are those of exp(-½ A x² + (h + Σ g w) x), with precision A; its integral over x
is exp(½ (h + Σ g w)² / A + ½ log(2π / A)). Along a dim that is the information filter, a loop in
linear time.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.errors import GraphError
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.alignment import aligned, canonical
from dimtensor.marginal.chains import (
    Chain,
    Lag,
    NormalChain,
    NormalStep,
    StepFactor,
    chain_move,
    loop_tables,
)
from dimtensor.marginal.moves import elementwise_move, no_elimination_order, origins_of
from dimtensor.marginal.unknowns import Factor, FactorSlot, StateDims, Unknown, own_slot
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import log, sqrt
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# coefficients of a quadratic form by monomial: none, one or two variables
InformationForm = dict[tuple[Hashable, ...], "DimTensor"]
# per-step factors of a chain, the external variables of each, and the power
InformationFactors = Sequence[tuple[StepFactor, list[Hashable], int]]
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def key_of(variables: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return the key of a monomial: its variables in canonical order."""
    return tuple(sorted(variables, key=str))


def add(form: InformationForm, variables: Iterable[Hashable], value: DimTensor) -> None:
    """Add a value to the coefficient of a monomial."""
    key = key_of(variables)
    form[key] = form[key] + value if key in form else value


def infinite_integral(name: str) -> GraphError:
    """Return the error for an unknown with an infinite integral."""
    return GraphError(
        f"marginalize: the integral over {name!r} is infinite: it has no normal prior"
    )


def integrate_out(form: InformationForm, x: Hashable, name: str) -> InformationForm:
    """Integrate out one variable.

    Raises
    ------
    GraphError
        If its square has no coefficient, so that the integral is infinite.
    """
    if key_of([x, x]) not in form:
        raise infinite_integral(name)
    left, beside = {}, {}
    for key, value in form.items():
        if x not in key:
            left[key] = value
        elif key != (x, x):
            others = [one for one in key if one != x]
            beside[others[0] if others else None] = value
    precision = -2.0 * form[key_of([x, x])]
    add(left, (), HALF_LOG_2PI - 0.5 * log(precision))
    scaled = {one: value / precision for one, value in beside.items()}
    for number, (one, value) in enumerate(beside.items()):
        for other in list(beside)[number:]:
            variables = [w for w in (one, other) if w is not None]
            add(left, variables, (0.5 if one is other else 1.0) * value * scaled[other])
    return left


def conditional(
    form: InformationForm, x: Hashable, values: Mapping[Hashable, Any], noise: Any
) -> DimTensor:
    """Return a conditional draw of a variable: its mean plus standard normal noise, scaled."""
    precision = -2.0 * form[key_of([x, x])]
    total: Any = form.get((x,), 0.0)
    for key, value in form.items():
        if x in key and len(key) == 2 and key != (x, x):
            (other,) = [one for one in key if one != x]
            total = total + value * values[other]
    return total / precision + noise / sqrt(precision)


@dataclass(frozen=True)
class InformationStep(NormalStep):
    """Elimination step: each element is integrated out separately; the variables are slots."""

    form: InformationForm


@dataclass(frozen=True)
class InformationChain(NormalChain):
    """Elimination step: an information filter; the variables are lags and external slot dims."""

    pieces: InformationFactors


class InformationElimination:
    """Elimination of jointly normal unknowns from the coefficients of a quadratic form.

    Attributes
    ----------
    factors : list of Factor
        The remaining factors, none of which reads an unknown.
    steps : list
    """

    def __init__(self, factors: Sequence[Factor], unknowns: Sequence[Unknown], states: StateDims):
        self.states = states
        self.steps: list[Any] = []
        self.rest = [factor for factor in factors if not factor.slots]
        known = [part for f in factors if f.slots for part in self._canonical(f)]
        left = list(unknowns)
        while left:
            move = None
            for find in (self._point, self._chain):
                moves = [m for m in (find(known, unknown) for unknown in left) if m is not None]
                if moves:
                    move = min(moves, key=lambda m: m[0].cost.number)
                    break
            if move is None:
                raise no_elimination_order(known, left)
            done, known = move[1]()
            left = [unknown for unknown in left if unknown not in done]
        self.factors = [*self.rest, *known]

    def _canonical(self, factor: Factor) -> list[Factor]:
        """Return in-range parts of a factor; those without slots go to the remaining factors."""
        if factor.slots:
            found = canonical(factor, self.states)
            self.rest += [part for part in found if not part.slots]
            return [part for part in found if part.slots]
        self.rest.append(factor)
        return []

    def _made(
        self,
        form: InformationForm,
        slots: dict[Hashable, FactorSlot],
        dims: Any,
        like: Sequence[Factor],
    ) -> list[Factor]:
        origins = origins_of(like)
        found = []
        for key, value in form.items():
            pairs = tuple((self.states[slots[x]], slots[x]) for x in dict.fromkeys(key))
            power = 2 if len(key) == 2 and len(pairs) == 1 else 1
            factor = Factor(value.node, dims, pairs, origins, like[0].source, power)
            found += self._canonical(factor)
        return found

    def _point(self, factors: Sequence[Factor], unknown: Unknown) -> Any:
        move = elementwise_move(factors, unknown)
        if move is None:
            return None

        def run() -> tuple[list[Unknown], list[Factor]]:
            mine = [f for f in factors if f.reads(unknown)]
            rest = [f for f in factors if not f.reads(unknown)]
            own, slots, form = own_slot(unknown), dict[Hashable, FactorSlot](), InformationForm()
            for factor in mine:
                part = aligned(factor, factor.reads(unknown)[0][1], self.states)
                slots.update({slot: slot for _, slot in part.slots})
                variables = [slot for _, slot in part.slots] * factor.power
                add(form, variables, wrap(part.node))
            self.steps.append(InformationStep(unknown, move.cost, form))
            done = integrate_out(form, own, unknown.name)
            return [unknown], [*rest, *self._made(done, slots, unknown.dims, mine)]

        return move, run

    def _chain(self, factors: Sequence[Factor], unknown: Unknown) -> Any:
        move: Any = chain_move(factors, unknown, self.states)
        if move is None:
            return None

        def run() -> tuple[list[Unknown], list[Factor]]:
            chain: Chain = move.chain
            pieces = [
                (piece, _beside(factor, chain), factor.power)
                for piece, factor in zip(chain.pieces, move.used, strict=True)
            ]
            form = filtered(chain, pieces)[0]
            for lag in chain.carried_lags():
                form = integrate_out(form, lag, lag.unknown.name)
            self.steps.append(InformationChain(chain, pieces))
            slots: dict[Hashable, FactorSlot] = dict(chain.slots)
            made = self._made(form, slots, chain.batch, move.used)
            return list(chain.eliminated), [*move.rest, *made]

        return move, run


def _beside(factor: Factor, chain: Chain) -> list[Hashable]:
    return [dim for dim, slot in factor.slots if slot.unknown not in chain.eliminated]


def _variables(
    piece: StepFactor, beside: list[Hashable], power: int, later: int = 0
) -> list[Hashable]:
    return [*(Lag(lag.unknown, lag.by + later) for lag in piece.lags), *beside] * power


def initial_form(
    chain: Chain, pieces: InformationFactors
) -> tuple[InformationForm, list[tuple[Lag, InformationForm]]]:
    """Return the initial form, and the form before each lag was integrated out of it."""
    order, form = chain.order, InformationForm()
    for position in range(order):
        for piece, beside, power in pieces:
            node = piece.at(position)
            if node is not None:
                add(form, _variables(piece, beside, power, order - position), wrap(node))
    older = [Lag(u, by) for u in chain.eliminated for by in range(order, chain.orders[u], -1)]
    return _without(form, older)


def _without(
    form: InformationForm, lags: Sequence[Lag]
) -> tuple[InformationForm, list[tuple[Lag, InformationForm]]]:
    trace = []
    for lag in lags:
        trace.append((lag, form))
        form = integrate_out(form, lag, lag.unknown.name)
    return form, trace


def step_form(
    chain: Chain, pieces: InformationFactors, state: InformationForm, here: Mapping[str, DimTensor]
) -> tuple[InformationForm, list[tuple[Lag, InformationForm]]]:
    """Advance the form by one position; return also the form before each integration."""
    form = dict(state)
    for number, value in here.items():
        piece, beside, power = pieces[int(number)]
        add(form, _variables(piece, beside, power), value)
    form, trace = _without(form, [Lag(u, chain.orders[u]) for u in chain.eliminated])
    moved = {
        key_of(Lag(x.unknown, x.by + 1) if isinstance(x, Lag) else x for x in key): value
        for key, value in form.items()
    }
    return moved, trace


def keys_along(chain: Chain) -> list[tuple[Hashable, ...]]:
    """Return the monomials whose coefficients the loop carries."""
    return _all_keys([*chain.carried_lags(), *(dim for dim, _ in chain.slots)])


def filtered(
    chain: Chain, pieces: InformationFactors, keep: bool = False
) -> tuple[InformationForm, Any]:
    """Run the information filter; return the last form, and with `keep` each carry."""
    form, _ = initial_form(chain, pieces)
    keys = keys_along(chain)
    beside = [d for p, _, _ in pieces for d in p.node.dims if d is not p.dim]
    dims = tuple(dict.fromkeys((*chain.batch, *beside)))
    start = {str(n): _over(form.get(key), dims) for n, key in enumerate(keys)}
    sequences, same = loop_tables(chain, [piece for piece, _, _ in pieces])

    def step(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        known: InformationForm = {key: state[str(n)] for n, key in enumerate(keys)}
        after, _ = step_form(chain, pieces, known, {**same, **(xs or {})})
        found = {str(n): _over(after.get(key), dims) for n, key in enumerate(keys)}
        return found, (state if keep else None)

    last, before = scan(step, start, sequences or None, dim=chain.loop_dim)
    return {key: last[str(n)] for n, key in enumerate(keys)}, before


def _all_keys(variables: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
    pairs = [key_of([x, y]) for n, x in enumerate(variables) for y in variables[n:]]
    return [(), *((x,) for x in variables), *pairs]


def _over(value: Any, dims: Any) -> DimTensor:
    return zeros(dims) if value is None else wrap(expand_node(value.node, dims))
