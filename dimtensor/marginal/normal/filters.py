"""Kalman filters: loops that carry a triangular system of residuals, one per carried variable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dims, SelDim, without
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild
from dimtensor.marginal.chains import Chain, Lag, NormalChain, StepFactor
from dimtensor.marginal.normal.residuals import (
    NoProperResidual,
    Residual,
    drop_constant_residuals,
    eliminate,
    eliminate_improper,
    node_of_value,
    number_or_tensor,
    sum_terms,
)
from dimtensor.marginal.unknowns import covers
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class StepResidual(NamedTuple):
    """Residual at each position of a chain.

    Attributes
    ----------
    offset, spread : StepFactor
    coefficients : tuple of StepFactor
    variables : tuple
        Lags, and dims of the slots of other unknowns.
    proper : bool
        Whether it is normalized at all positions that it covers.
    """

    offset: StepFactor
    spread: StepFactor
    coefficients: tuple[StepFactor, ...]
    variables: tuple[Hashable, ...]
    proper: bool

    @property
    def pieces(self) -> tuple[StepFactor, ...]:
        """All parts: offset, spread and coefficients."""
        return (self.offset, self.spread, *self.coefficients)

    def mapped(self, f: Callable[[Node], Node]) -> StepResidual:
        """Transform each of the expressions."""
        offset, spread, *by = (_with_nodes(piece, f) for piece in self.pieces)
        return StepResidual(offset, spread, tuple(by), self.variables, self.proper)

    def residual(self, values: Sequence[Any], later: int = 0, proper: bool = True) -> Residual:
        """Return the residual of one position, with lags counted from a later position."""
        offset, spread, *coefficients = values
        moved = [Lag(x.unknown, x.by + later) if isinstance(x, Lag) else x for x in self.variables]
        known = dict(zip(moved, coefficients, strict=True))
        return Residual(known, offset, spread, self.proper and proper)


def _with_nodes(piece: StepFactor, f: Callable[[Node], Node]) -> StepFactor:
    short = None if piece.short is None else _with_nodes(piece.short, f)
    return replace(piece, node=f(piece.node), short=short)


@dataclass(frozen=True)
class ResidualChain(NormalChain):
    """Elimination step: unknowns are integrated out along a dim by a Kalman filter."""

    per_step: tuple[StepResidual, ...]


def extent_of(per_step: StepResidual, chain: Chain) -> tuple[int, int | None]:
    """Return the positions that a residual covers: first, and stop or None for the end."""
    piece = per_step.offset.short or per_step.offset
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
    raise NoProperResidual


def _at(piece: StepFactor, position: int) -> Any:
    short = piece.short or piece
    node = short.node
    if short.dim is not None and short.dim in node.dims:
        node = wrap(node).isel({short.dim: position - short.head}).node
    return number_or_tensor(node)


def _early(
    chain: Chain,
    per_step: Sequence[StepResidual],
    count: int,
    latest: Sequence[StepResidual] | None = None,
) -> list[Residual]:
    """Return the residuals of the first positions; the last of these may have others."""
    residuals = []
    for one, last in zip(per_step, latest or per_step, strict=True):
        begin, end = extent_of(one, chain)
        for position in range(begin, count if end is None else min(count, end)):
            here = last if position == count - 1 else one
            values = [_at(piece, position) for piece in here.pieces]
            residuals.append(one.residual(values, chain.order - position))
    return residuals


def initial_residuals(
    chain: Chain, per_step: Sequence[StepResidual], terms: list[Any]
) -> tuple[list[Residual], Any]:
    """Return the initial residuals, and the conditionals of lags integrated out for them."""
    order, residuals = chain.order, _early(chain, per_step, chain.order)
    older = [Lag(u, by) for u in chain.eliminated for by in range(order, chain.orders[u], -1)]
    trace = []
    for lag in older:
        residual, residuals = eliminate(residuals, lag, terms)
        trace.append((lag, residual))
    return triangular_residuals(chain, residuals, 0, terms), trace


def triangular_residuals(
    chain: Chain, residuals: list[Residual], moved: int, terms: list[Any]
) -> list[Residual]:
    """Triangularize residuals: one per carried variable, which depends on later ones only."""
    found = []
    for lag in variables_of(chain):
        if isinstance(lag, Lag):
            residual, residuals = eliminate(residuals, Lag(lag.unknown, lag.by - moved), terms)
        else:
            start = next(
                (r for r in residuals if _only(r, lag)), Residual({lag: 1.0}, 0.0, 0.0, False)
            )
            residual, residuals = eliminate_improper(
                [r for r in residuals if r is not start], start, lag, terms
            )
        found.append(residual)
    drop_constant_residuals(residuals, terms)
    return found


def _only(residual: Residual, x: Hashable) -> bool:
    by = residual.coefficients.get(x)
    return not residual.proper and isinstance(by, float) and by == 1.0


def variables_of(chain: Chain) -> list[Hashable]:
    """Return the carried variables: lags from the oldest, then other unknowns."""
    lags = sorted(chain.carried_lags(), key=lambda lag: -lag.by)
    return [*lags, *(dim for dim, _ in chain.slots)]


def step_residuals(
    chain: Chain, residuals: Sequence[Residual], terms: list[Any]
) -> tuple[list[Residual], list[tuple[Lag, Residual]]]:
    """Advance the residuals by one position; return also the conditionals of eliminated lags."""
    left, trace = list(residuals), []
    # conditionals of older elements depend on later ones, which so keep a proper residual each
    oldest = sorted((Lag(u, chain.orders[u]) for u in chain.eliminated), key=lambda lag: -lag.by)
    for lag in oldest:
        residual, left = eliminate(left, lag, terms)
        trace.append((lag, residual))
    found = triangular_residuals(chain, left, 1, terms)
    return [_moved(residual) for residual in found], trace


def _moved(residual: Residual) -> Residual:
    known = {
        Lag(x.unknown, x.by + 1) if isinstance(x, Lag) else x: value
        for x, value in residual.coefficients.items()
    }
    return replace(residual, coefficients=known)


class ResidualLayout:
    """Layout of residuals as a loop carry: which coefficients there are, and their dims."""

    def __init__(self, chain: Chain):
        self.variables = variables_of(chain)
        self.dims: dict[tuple[int, str], Dims] = {}

    def include(self, residuals: Sequence[Residual]) -> bool:
        """Add the parts and dims of residuals; return whether the layout has grown."""
        before = dict(self.dims)
        for key, value in self._values(residuals).items():
            new = () if isinstance(value, float) else value.dims
            old = self.dims.get(key, ())
            self.dims[key] = (*old, *without(new, old))
        return self.dims != before

    def _values(self, residuals: Sequence[Residual]) -> dict[tuple[int, str], Any]:
        found: dict[tuple[int, str], Any] = {}
        for number, (residual, own) in enumerate(zip(residuals, self.variables, strict=True)):
            found[number, "offset"], found[number, "spread"] = residual.offset, residual.spread
            for x, value in residual.coefficients.items():
                if x != own:
                    found[number, str(self.variables.index(x))] = value
        return found

    def pack(self, residuals: Sequence[Residual]) -> dict[str, DimTensor]:
        """Convert residuals to a loop carry."""
        values = self._values(residuals)
        return {
            f"{number} {part}": wrap(
                expand_node(node_of_value(values.get((number, part), 0.0)), dims)
            )
            for (number, part), dims in self.dims.items()
        }

    def unpack(self, state: Mapping[str, DimTensor]) -> list[Residual]:
        """Convert a loop carry to residuals."""
        found = []
        for number, own in enumerate(self.variables):
            known: dict[Hashable, Any] = {own: 1.0}
            for n, part in self.dims:
                if n == number and part.isdigit():
                    known[self.variables[int(part)]] = state[f"{n} {part}"]
            offset, spread = (state[f"{number} {part}"] for part in ("offset", "spread"))
            found.append(Residual(known, offset, spread, isinstance(own, Lag)))
        return found

    def probes(self) -> dict[str, DimTensor]:
        """Return symbolic inputs in the layout of a loop carry."""
        return {
            f"{number} {part}": tensor(f"{number} {part}", dims)
            for (number, part), dims in self.dims.items()
        }


def residuals_along(
    chain: Chain, per_step: Sequence[StepResidual]
) -> tuple[dict[str, DimTensor], dict[str, Any], list[tuple[int, StepResidual]]]:
    """Return sequences of the loop by name, loop-invariant values, and their residuals."""
    sequences: dict[str, DimTensor] = {}
    same: dict[str, Any] = {}
    used = []
    for number, one in enumerate(per_step):
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
                node = whole.along(chain.loop_dim, chain.order)
            if chain.loop_dim in node.dims:
                sequences[f"{number} {part}"] = wrap(node)
            else:
                same[f"{number} {part}"] = number_or_tensor(node)
    return sequences, same, used


def residuals_here(
    used: Sequence[tuple[int, StepResidual]], values: Mapping[str, Any]
) -> list[Residual]:
    """Return the residuals of one position."""
    return [
        one.residual([values[f"{number} {part}"] for part in range(len(one.pieces))])
        for number, one in used
    ]


def layout_of(
    chain: Chain, per_step: Sequence[StepResidual], start: Sequence[Residual]
) -> ResidualLayout:
    """Return the layout of the loop carry, the fixed point of a step."""
    layout = ResidualLayout(chain)
    sequences, same, used = residuals_along(chain, per_step)
    first = {name: x.isel({chain.loop_dim: 0}) for name, x in sequences.items()}
    more = layout.include(start)
    while more:
        residuals = [*layout.unpack(layout.probes()), *residuals_here(used, {**same, **first})]
        more = layout.include(step_residuals(chain, residuals, [])[0])
    return layout


def filter_densities(
    chain: Chain, per_step: Sequence[StepResidual], known: Mapping[Node, Node] | None = None
) -> tuple[list[Any], Any]:
    """Return log densities of observations: cumulative before the loop, one per step in it.

    Parameters
    ----------
    chain : Chain
    per_step : sequence of StepResidual
    known : mapping of Node to Node, optional
        Replacements at the latest position of each density, not at those before it.
    """
    early = []
    moved = [one.mapped(lambda x: rebuild([x], known)[0]) for one in per_step] if known else None
    for count in range(1, chain.order + 1):
        terms: list[Any] = []
        residuals = _early(chain, per_step, count, moved)
        there = {x for residual in residuals for x in residual.coefficients if isinstance(x, Lag)}
        lags = sorted(there, key=lambda lag: -lag.by)
        for lag in lags:
            _, residuals = eliminate(residuals, lag, terms)
        drop_constant_residuals(residuals, terms)
        early.append(sum_terms(terms))
    layout, _, trace = _run(chain, per_step, [], keep=moved is not None)
    if moved is None:
        return early, trace["term"]
    del trace["term"]
    sequences, same, used = residuals_along(chain, moved)
    here: list[Any] = []
    step_residuals(
        chain, [*layout.unpack(trace), *residuals_here(used, {**same, **sequences})], here
    )
    return early, wrap(node_of_value(sum_terms(here)))


def filtered(
    chain: Chain, per_step: Sequence[StepResidual], keep: bool = False
) -> tuple[list[Any], list[Residual], Any]:
    """Run the filter: return terms of the log density, improper residuals, and its trace.

    The trace is the layout, the residuals after the last position and, with `keep`, the carry of
    each position.
    """
    terms: list[Any] = []
    layout, last, trace = _run(chain, per_step, terms, keep)
    term = trace.pop("term")
    terms.append(wrap(expand_node(term.node, (chain.loop_dim,))).sum(chain.loop_dim))
    improper = [residual for residual in last if not residual.proper]
    return terms, improper, (layout, last, trace if keep else None)


def _run(
    chain: Chain, per_step: Sequence[StepResidual], terms: list[Any], keep: bool = False
) -> tuple[ResidualLayout, list[Residual], dict[str, DimTensor]]:
    """Run the loop; return the layout of its carry, the last residuals, and a trace."""
    start, _ = initial_residuals(chain, per_step, terms)
    layout = layout_of(chain, per_step, start)
    sequences, same, used = residuals_along(chain, per_step)

    def step(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        here: list[Any] = []
        residuals = [*layout.unpack(state), *residuals_here(used, {**same, **(xs or {})})]
        after, _ = step_residuals(chain, residuals, here)
        emitted = {"term": wrap(node_of_value(sum_terms(here))), **(state if keep else {})}
        return layout.pack(after), emitted

    last, trace = scan(step, layout.pack(start), sequences or None, dim=chain.loop_dim)
    return layout, layout.unpack(last), dict(trace)
