"""Jointly normal unknowns are integrated out: completing the square, element by element or along.

Beside each other are the coefficients of exp(-½ A x² + (h + Σ g w) x): its integral over x is
exp(½ (h + Σ g w)² / A + ½ log(2π / A)). Along a dim that is the Kalman filter in its information
form, one loop in linear time.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.errors import GraphError
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import Chain, Lag, Piece, chain_move
from dimtensor.marginal.elimination import Cost, no_order, point_move
from dimtensor.marginal.placing import canonical, placed
from dimtensor.marginal.reading import Factor
from dimtensor.marginal.unknowns import Slot, StateDims, Unknown, own_slot
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import log, sqrt
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# coefficients by the variables of a product: none, one or two of them
Form = dict[tuple[Hashable, ...], "DimTensor"]
# what is said along a chain, the other variables it is said of, and the power
Pieces = Sequence[tuple[Piece, list[Hashable], int]]
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def key_of(variables: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The product of some variables, in one order."""
    return tuple(sorted(variables, key=str))


def add(form: Form, variables: Iterable[Hashable], value: DimTensor) -> None:
    """Add to a coefficient."""
    key = key_of(variables)
    form[key] = form[key] + value if key in form else value


def infinite(name: str) -> GraphError:
    """The error of an unknown that nothing holds."""
    return GraphError(
        f"marginalize: the integral over {name!r} is infinite: it has no normal prior"
    )


def integrated(form: Form, x: Hashable, name: str) -> Form:
    """The integral over one variable.

    Raises
    ------
    GraphError
        If nothing says how far it spreads.
    """
    if key_of([x, x]) not in form:
        raise infinite(name)
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


def conditional(form: Form, x: Hashable, values: Mapping[Hashable, Any], noise: Any) -> DimTensor:
    """A variable given the others: its mean, and standard normal noise in its scale."""
    precision = -2.0 * form[key_of([x, x])]
    total: Any = form.get((x,), 0.0)
    for key, value in form.items():
        if x in key and len(key) == 2 and key != (x, x):
            (other,) = [one for one in key if one != x]
            total = total + value * values[other]
    return total / precision + noise / sqrt(precision)


@dataclass(frozen=True)
class NormalPoint:
    """An unknown is integrated out element by element; the variables of the form are slots."""

    unknown: Unknown
    form: Form
    cost: Cost

    def __str__(self) -> str:
        return f"{self.unknown.name}: {self.cost}"


@dataclass(frozen=True)
class NormalChain:
    """Unknowns are integrated out along a dim; variables are lags, and dims of other slots."""

    chain: Chain
    pieces: Pieces

    def __str__(self) -> str:
        return str(self.chain)


class NormalElimination:
    """Coefficients from which unknowns are integrated out.

    Attributes
    ----------
    factors : list of Factor
        What is left; none reads an unknown.
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
                raise no_order(known, left)
            done, known = move[1]()
            left = [unknown for unknown in left if unknown not in done]
        self.factors = [*self.rest, *known]

    def _canonical(self, factor: Factor) -> list[Factor]:
        """A coefficient, if it is not of the number one."""
        if factor.slots:
            found = canonical(factor, self.states)
            self.rest += [part for part in found if not part.slots]
            return [part for part in found if part.slots]
        self.rest.append(factor)
        return []

    def _made(
        self, form: Form, slots: dict[Hashable, Slot], dims: Any, like: Sequence[Factor]
    ) -> list[Factor]:
        origins = frozenset[str]().union(*(f.origins for f in like))
        found = []
        for key, value in form.items():
            pairs = tuple((self.states[slots[x]], slots[x]) for x in dict.fromkeys(key))
            power = 2 if len(key) == 2 and len(pairs) == 1 else 1
            factor = Factor(value.node, dims, pairs, origins, like[0].source, power)
            found += self._canonical(factor)
        return found

    def _point(self, factors: Sequence[Factor], unknown: Unknown) -> Any:
        move = point_move(factors, unknown)
        if move is None:
            return None

        def run() -> tuple[list[Unknown], list[Factor]]:
            mine = [f for f in factors if f.reads(unknown)]
            rest = [f for f in factors if not f.reads(unknown)]
            own, slots, form = own_slot(unknown), dict[Hashable, Slot](), Form()
            for factor in mine:
                part = placed(factor, factor.reads(unknown)[0][1], self.states)
                slots.update({slot: slot for _, slot in part.slots})
                variables = [slot for _, slot in part.slots] * factor.power
                add(form, variables, wrap(part.node))
            self.steps.append(NormalPoint(unknown, form, move.cost))
            done = integrated(form, own, unknown.name)
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
            for lag in chain.kept():
                form = integrated(form, lag, lag.unknown.name)
            self.steps.append(NormalChain(chain, pieces))
            slots: dict[Hashable, Slot] = dict(chain.slots)
            made = self._made(form, slots, chain.batch, move.used)
            return list(chain.eliminated), [*move.rest, *made]

        return move, run


def _beside(factor: Factor, chain: Chain) -> list[Hashable]:
    return [dim for dim, slot in factor.slots if slot.unknown not in chain.eliminated]


def _variables(piece: Piece, beside: list[Hashable], power: int, later: int = 0) -> list[Hashable]:
    return [*(Lag(lag.unknown, lag.by + later) for lag in piece.lags), *beside] * power


def initial_form(chain: Chain, pieces: Pieces) -> tuple[Form, list[tuple[Lag, Form]]]:
    """The coefficients before the loop, and those of what was integrated out for it."""
    order, form = chain.order, Form()
    for position in range(order):
        for piece, beside, power in pieces:
            node = piece.at(position)
            if node is not None:
                add(form, _variables(piece, beside, power, order - position), wrap(node))
    older = [Lag(u, by) for u in chain.eliminated for by in range(order, chain.orders[u], -1)]
    return _without(form, older)


def _without(form: Form, lags: Sequence[Lag]) -> tuple[Form, list[tuple[Lag, Form]]]:
    trace = []
    for lag in lags:
        trace.append((lag, form))
        form = integrated(form, lag, lag.unknown.name)
    return form, trace


def step_form(
    chain: Chain, pieces: Pieces, state: Form, here: Mapping[int, DimTensor]
) -> tuple[Form, list[tuple[Lag, Form]]]:
    """The coefficients after a position, and those of what was integrated out."""
    form = dict(state)
    for number, value in here.items():
        piece, beside, power = pieces[number]
        add(form, _variables(piece, beside, power), value)
    form, trace = _without(form, [Lag(u, chain.orders[u]) for u in chain.eliminated])
    moved = {
        key_of(Lag(x.unknown, x.by + 1) if isinstance(x, Lag) else x for x in key): value
        for key, value in form.items()
    }
    return moved, trace


def pieces_along(chain: Chain, pieces: Pieces) -> tuple[dict[str, DimTensor], dict[int, DimTensor]]:
    """What is said along the loop, by number of the piece; and what is the same everywhere."""
    sequences: dict[str, DimTensor] = {}
    same: dict[int, DimTensor] = {}
    for number, (piece, _, _) in enumerate(pieces):
        if piece.dim is not None:
            node = piece.along(chain.following, chain.order)
            if chain.following in node.dims:
                sequences[str(number)] = wrap(node)
            else:
                same[number] = wrap(node)
    return sequences, same


def keys_along(chain: Chain) -> list[tuple[Hashable, ...]]:
    """The products whose coefficients go along the loop."""
    return _all_keys([*chain.kept(), *(dim for dim, _ in chain.slots)])


def filtered(chain: Chain, pieces: Pieces, keep: bool = False) -> tuple[Form, Any]:
    """The coefficients after the last position; with `keep` also those before each position."""
    form, _ = initial_form(chain, pieces)
    keys = keys_along(chain)
    beside = [d for p, _, _ in pieces for d in p.node.dims if d is not p.dim]
    dims = tuple(dict.fromkeys((*chain.batch, *beside)))
    start = {str(n): _over(form.get(key), dims) for n, key in enumerate(keys)}
    sequences, same = pieces_along(chain, pieces)

    def step(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        known: Form = {key: state[str(n)] for n, key in enumerate(keys)}
        here = {**same, **{int(n): x for n, x in (xs or {}).items()}}
        after, _ = step_form(chain, pieces, known, here)
        found = {str(n): _over(after.get(key), dims) for n, key in enumerate(keys)}
        return found, (state if keep else None)

    last, before = scan(step, start, sequences or None, dim=chain.following)
    return {key: last[str(n)] for n, key in enumerate(keys)}, before


def _all_keys(variables: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
    pairs = [key_of([x, y]) for n, x in enumerate(variables) for y in variables[n:]]
    return [(), *((x,) for x in variables), *pairs]


def _over(value: Any, dims: Any) -> DimTensor:
    return zeros(dims) if value is None else wrap(expand_node(value.node, dims))
