"""Backward sampling along chains, of states or of normal values (or their posterior mode)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from dimtensor.dims import Dims
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import (
    Chain,
    Lag,
    eliminate_lags,
    forward,
    initial_table,
    lag_dim,
    lag_key,
    loop_tables,
    step_tables,
)
from dimtensor.marginal.moves import StateReduction
from dimtensor.marginal.normal import filters, information
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

Trace = Sequence[tuple[Lag, Any]]  # conditionals: each lag given those after it in the list
Values = Mapping[Any, Any]
Noise = Callable[[Dims], Any]  # over some dims; 0.0 for the mode


class BackwardStates(Protocol):
    """Filter results for the backward pass: the conditional of each eliminated lag."""

    chain: Chain
    xs: Any

    def last(self) -> Trace:
        """Return the conditionals after the last position."""

    def at(self, xs: Any) -> Trace:
        """Return the conditionals at a position of the loop."""

    def first(self) -> Trace:
        """Return the conditionals before the loop."""

    def noise_along(self, lag: Lag) -> Any:
        """Return the noise of a lag at all positions of the loop."""

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        """Return the value of a lag given later ones; without noise it is drawn here."""


class DiscreteBackward:
    """Backward pass of the forward algorithm: conditionals are tables of states.

    Parameters
    ----------
    chain : Chain
        Without slots of other unknowns.
    merge : callable
    noise : callable
        Gumbel noise over some dims, with which the mode of a table is a draw.
    """

    def __init__(self, chain: Chain, merge: StateReduction, noise: Noise):
        self.chain, self.merge, self.noise = chain, merge, noise
        self.end, before = forward(chain, merge, keep=True)
        sequences, self.same = loop_tables(chain)
        self.xs = {"before": before, "pieces": sequences}

    def last(self) -> Trace:
        return eliminate_lags([self.end.node], self.chain.carried_lags(), self.merge)[1]

    def at(self, xs: Any) -> Trace:
        return step_tables(self.chain, xs["before"], xs["pieces"], self.same, self.merge)[1]

    def first(self) -> Trace:
        return initial_table(self.chain, self.merge)[1]

    def noise_along(self, lag: Lag) -> Any:
        return self.noise((self.chain.loop_dim, *self.chain.batch, lag_dim(lag)))

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        table = wrap(known)
        for other, value in values.items():
            if lag_dim(other) in table.dims:
                table = table.isel({lag_dim(other): value})
        noise = self.noise(tuple(table.dims)) if noise is None else noise
        return (table + noise).argmax(lag_dim(lag))


class _NormalBackward:
    """Base class of backward passes of normal unknowns.

    Parameters
    ----------
    chain : Chain
    normal : callable
        Standard normal noise over some dims.
    """

    def __init__(self, chain: Chain, normal: Noise):
        self.chain, self.normal = chain, normal

    def noise_along(self, lag: Lag) -> Any:
        return self.normal((self.chain.loop_dim, *self.chain.batch))

    def _noise(self, noise: Any) -> Any:
        return self.normal(self.chain.batch) if noise is None else noise


class InformationBackward(_NormalBackward):
    """Backward pass of a filter in information form, with `f` applied to its expressions."""

    def __init__(
        self, step: information.InformationChain, f: Callable[[Node], Node], normal: Noise
    ):
        super().__init__(step.chain, normal)
        self.pieces = [(replace(p, node=f(p.node)), b, w) for p, b, w in step.pieces]
        self.end, before = information.filtered(self.chain, self.pieces, keep=True)
        sequences, self.same = loop_tables(self.chain, [piece for piece, _, _ in self.pieces])
        self.xs = {"before": before, "pieces": sequences}

    def last(self) -> Trace:
        trace, form = [], self.end
        for lag in self.chain.carried_lags():
            trace.append((lag, form))
            form = information.integrate_out(form, lag, lag.unknown.name)
        return trace

    def at(self, xs: Any) -> Trace:
        keys = information.keys_along(self.chain)
        known = {key: xs["before"][str(n)] for n, key in enumerate(keys)}
        here = {**self.same, **xs["pieces"]}
        return information.step_form(self.chain, self.pieces, known, here)[1]

    def first(self) -> Trace:
        return information.initial_form(self.chain, self.pieces)[1]

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        return information.conditional(known, lag, values, self._noise(noise))


class ResidualBackward(_NormalBackward):
    """Backward pass of a filter on residuals, with `f` applied to its expressions."""

    def __init__(self, step: filters.ResidualChain, f: Callable[[Node], Node], normal: Noise):
        super().__init__(step.chain, normal)
        self.per_step = [one.mapped(f) for one in step.per_step]
        self.layout, self.end, before = filters.filtered(self.chain, self.per_step, keep=True)[2]
        sequences, self.same, self.used = filters.residuals_along(self.chain, self.per_step)
        self.xs = {"before": before, "pieces": sequences}

    def last(self) -> Trace:
        names = filters.variables_of(self.chain)
        pairs = zip(names, self.end, strict=True)
        return [(lag, residual) for lag, residual in pairs if isinstance(lag, Lag)]

    def at(self, xs: Any) -> Trace:
        residuals = [
            *self.layout.unpack(xs["before"]),
            *filters.residuals_here(self.used, {**self.same, **xs["pieces"]}),
        ]
        return filters.step_residuals(self.chain, residuals, [])[1]

    def first(self) -> Trace:
        return filters.initial_residuals(self.chain, self.per_step, [])[1]

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        return known.value(lag, values, self._noise(noise))


def smooth(trail: BackwardStates, given: Values) -> tuple[dict[Any, Node], Any, dict[Any, Node]]:
    """Return values before the loop by lag, of the oldest lags along it, and at its end.

    Parameters
    ----------
    trail : BackwardStates
    given : mapping
        Values of other unknowns, by their slot dims.
    """
    chain, kept = trail.chain, trail.chain.carried_lags()
    oldest = [Lag(u, chain.orders[u]) for u in chain.eliminated]

    def picks(trace: Trace, known: Values, noise: Mapping[str, Any] | None) -> dict[Any, DimTensor]:
        found = dict(known)
        for lag, conditional in reversed(trace):
            own = None if noise is None else noise.get(lag_key(lag), 0.0)
            found[lag] = trail.value(conditional, lag, found, own)
        return found

    final = picks(trail.last(), given, None)
    noise = {lag_key(lag): trail.noise_along(lag) for lag in oldest}
    noise = {key: x for key, x in noise.items() if not isinstance(x, float)}
    dims = tuple(dict.fromkeys((*chain.batch, *(d for lag in kept for d in final[lag].dims))))

    def over(x: DimTensor) -> DimTensor:
        return wrap(expand_node(x.node, dims))

    def move(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        before: dict[Any, Any] = {Lag(lag.unknown, lag.by - 1): state[lag_key(lag)] for lag in kept}
        found = picks(trail.at(xs["along"]), {**given, **before}, xs["noise"])
        after = {lag_key(lag): over(found[lag]) for lag in kept}
        return after, {lag_key(lag): over(found[lag]) for lag in oldest}

    start = {lag_key(lag): over(final[lag]) for lag in kept}
    xs = {"along": trail.xs, "noise": noise}
    state, emitted = scan(move, start, xs, dim=chain.loop_dim, reverse=True)
    known: dict[Any, Any] = {**given, **{lag: state[lag_key(lag)] for lag in kept}}
    first = picks(trail.first(), known, None)
    return _nodes(first), emitted, _nodes(final)


def _nodes(values: Mapping[Any, DimTensor]) -> dict[Any, Node]:
    return {key: x.node for key, x in values.items()}
