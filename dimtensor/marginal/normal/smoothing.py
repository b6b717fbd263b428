"""Backward sampling of normal unknowns that a filter integrated out (or their posterior mode)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from dimtensor.dims import Dims
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import Chain, Lag, lag_key
from dimtensor.marginal.normal import filters, information
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

Trace = Sequence[tuple[Lag, Any]]  # conditionals: each lag given those after it in the list
Values = Mapping[Hashable, Any]


class BackwardStates(Protocol):
    """Filter results for the backward pass: the conditional of each integrated-out lag."""

    chain: Chain
    xs: Any

    def last(self) -> Trace:
        """Return the conditionals after the last position."""

    def at(self, xs: Any) -> Trace:
        """Return the conditionals at a position of the loop."""

    def first(self) -> Trace:
        """Return the conditionals before the loop."""

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        """Return the value of a lag given later ones."""


class InformationBackward:
    """Backward pass of a filter in information form."""

    def __init__(self, step: information.InformationChain, f: Callable[[Node], Node]):
        self.chain = step.chain
        self.pieces = [(replace(p, node=f(p.node)), b, w) for p, b, w in step.pieces]
        self.end, before = information.filtered(self.chain, self.pieces, keep=True)
        sequences, self.same = information.pieces_along(self.chain, self.pieces)
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
        here = {**self.same, **{int(n): x for n, x in xs["pieces"].items()}}
        return information.step_form(self.chain, self.pieces, known, here)[1]

    def first(self) -> Trace:
        return information.initial_form(self.chain, self.pieces)[1]

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        return information.conditional(known, lag, values, noise)


class ResidualBackward:
    """Backward pass of a filter on residuals."""

    def __init__(self, step: filters.ResidualChain, f: Callable[[Node], Node]):
        self.chain = step.chain
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
        return known.value(lag, values, noise)


def smooth(
    step: information.InformationChain | filters.ResidualChain,
    f: Callable[[Node], Node],
    given: Values,
    normal: Callable[[Dims], Any],
) -> tuple[dict[Any, Node], Any, dict[Any, Node]]:
    """Return values before the loop by lag, of the oldest lags along it, and at its end.

    Parameters
    ----------
    step : InformationChain or ResidualChain
    f : callable
        Substitutes the states chosen for other unknowns into an expression.
    given : mapping
        Values of other unknowns, by their slot dims.
    normal : callable
        Standard normal noise over some dims.
    """
    trail: BackwardStates
    trail = (
        ResidualBackward(step, f)
        if isinstance(step, filters.ResidualChain)
        else InformationBackward(step, f)
    )
    chain, kept = trail.chain, trail.chain.carried_lags()
    oldest = [Lag(u, chain.orders[u]) for u in chain.eliminated]

    def picks(trace: Trace, known: Values, noise: Callable[[Lag], Any]) -> dict[Any, DimTensor]:
        found = dict(known)
        for lag, residual in reversed(trace):
            found[lag] = trail.value(residual, lag, found, noise(lag))
        return found

    def fresh(lag: Lag) -> Any:
        return normal(chain.batch)

    final = picks(trail.last(), given, fresh)
    noise = {lag_key(lag): normal((chain.loop_dim, *chain.batch)) for lag in oldest}
    noise = {key: x for key, x in noise.items() if not isinstance(x, float)}
    dims = tuple(dict.fromkeys((*chain.batch, *(d for lag in kept for d in final[lag].dims))))

    def over(x: DimTensor) -> DimTensor:
        return wrap(expand_node(x.node, dims))

    def move(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        before: dict[Any, Any] = {Lag(lag.unknown, lag.by - 1): state[lag_key(lag)] for lag in kept}
        added = xs["noise"]
        found = picks(trail.at(xs["along"]), {**given, **before},
                      lambda lag: added.get(lag_key(lag), 0.0))  # fmt: skip
        after = {lag_key(lag): over(found[lag]) for lag in kept}
        return after, {lag_key(lag): over(found[lag]) for lag in oldest}

    start = {lag_key(lag): over(final[lag]) for lag in kept}
    xs = {"along": trail.xs, "noise": noise}
    state, emitted = scan(move, start, xs, dim=chain.loop_dim, reverse=True)
    known: dict[Any, Any] = {**given, **{lag: state[lag_key(lag)] for lag in kept}}
    first = picks(trail.first(), known, fresh)
    return _nodes(first), emitted, _nodes(final)


def _nodes(values: Mapping[Any, DimTensor]) -> dict[Any, Node]:
    return {key: x.node for key, x in values.items()}
