"""Normal unknowns that were integrated out along a dim, recovered: from the last position back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from dimtensor.dims import Dims
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.chains import Chain, Lag, key_of_lag
from dimtensor.marginal.normal import filters, gaussian
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

Trace = Sequence[tuple[Lag, Any]]  # what was known of a lag, given those after it in the list
Values = Mapping[Hashable, Any]


class Trail(Protocol):
    """What a loop was given, and what is known of each lag that was integrated out."""

    chain: Chain
    xs: Any

    def last(self) -> Trace:
        """After the last position."""

    def at(self, xs: Any) -> Trace:
        """At a position of the loop."""

    def first(self) -> Trace:
        """Before the loop."""

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        """A lag given later ones."""


class FormTrail:
    """That of coefficients of polynomials."""

    def __init__(self, step: gaussian.NormalChain, f: Callable[[Node], Node]):
        self.chain = step.chain
        self.pieces = [(replace(p, node=f(p.node)), b, w) for p, b, w in step.pieces]
        self.end, before = gaussian.filtered(self.chain, self.pieces, keep=True)
        sequences, self.same = gaussian.pieces_along(self.chain, self.pieces)
        self.xs = {"before": before, "pieces": sequences}

    def last(self) -> Trace:
        trace, form = [], self.end
        for lag in self.chain.kept():
            trace.append((lag, form))
            form = gaussian.integrated(form, lag, lag.unknown.name)
        return trace

    def at(self, xs: Any) -> Trace:
        keys = gaussian.keys_along(self.chain)
        known = {key: xs["before"][str(n)] for n, key in enumerate(keys)}
        here = {**self.same, **{int(n): x for n, x in xs["pieces"].items()}}
        return gaussian.step_form(self.chain, self.pieces, known, here)[1]

    def first(self) -> Trace:
        return gaussian.initial_form(self.chain, self.pieces)[1]

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        return gaussian.conditional(known, lag, values, noise)


class RowTrail:
    """That of rows."""

    def __init__(self, step: filters.RowChain, f: Callable[[Node], Node]):
        self.chain = step.chain
        self.said = [one.mapped(f) for one in step.said]
        self.layout, self.end, before = filters.filtered(self.chain, self.said, keep=True)[2]
        sequences, self.same, self.used = filters.rows_along(self.chain, self.said)
        self.xs = {"before": before, "pieces": sequences}

    def last(self) -> Trace:
        names = filters.variables_of(self.chain)
        pairs = zip(names, self.end, strict=True)
        return [(lag, row) for lag, row in pairs if isinstance(lag, Lag)]

    def at(self, xs: Any) -> Trace:
        rows = [
            *self.layout.unpack(xs["before"]),
            *filters.rows_here(self.used, {**self.same, **xs["pieces"]}),
        ]
        return filters.step_rows(self.chain, rows, [])[1]

    def first(self) -> Trace:
        return filters.initial_rows(self.chain, self.said, [])[1]

    def value(self, known: Any, lag: Lag, values: Values, noise: Any) -> DimTensor:
        return known.value(lag, values, noise)


def backwards(
    step: gaussian.NormalChain | filters.RowChain,
    f: Callable[[Node], Node],
    given: Values,
    normal: Callable[[Dims], Any],
) -> tuple[dict[Any, Node], Any, dict[Any, Node]]:
    """Values before the loop by lag, those of the oldest along it, and those at its end.

    Parameters
    ----------
    step : NormalChain or RowChain
    f : callable
        Exchanges expressions by those at the states that were picked for others.
    given : mapping
        Values of other unknowns, by the dims of their slots.
    normal : callable
        Standard normal noise over some dims.
    """
    trail: Trail
    trail = RowTrail(step, f) if isinstance(step, filters.RowChain) else FormTrail(step, f)
    chain, kept = trail.chain, trail.chain.kept()
    oldest = [Lag(u, chain.orders[u]) for u in chain.eliminated]

    def picks(trace: Trace, known: Values, noise: Callable[[Lag], Any]) -> dict[Any, DimTensor]:
        found = dict(known)
        for lag, row in reversed(trace):
            found[lag] = trail.value(row, lag, found, noise(lag))
        return found

    def fresh(lag: Lag) -> Any:
        return normal(chain.batch)

    final = picks(trail.last(), given, fresh)
    noise = {key_of_lag(lag): normal((chain.following, *chain.batch)) for lag in oldest}
    noise = {key: x for key, x in noise.items() if not isinstance(x, float)}
    dims = tuple(dict.fromkeys((*chain.batch, *(d for lag in kept for d in final[lag].dims))))

    def over(x: DimTensor) -> DimTensor:
        return wrap(expand_node(x.node, dims))

    def move(state: dict[str, DimTensor], xs: Any) -> tuple[Any, Any]:
        before: dict[Any, Any] = {
            Lag(lag.unknown, lag.by - 1): state[key_of_lag(lag)] for lag in kept
        }
        added = xs["noise"]
        found = picks(trail.at(xs["along"]), {**given, **before},
                      lambda lag: added.get(key_of_lag(lag), 0.0))  # fmt: skip
        after = {key_of_lag(lag): over(found[lag]) for lag in kept}
        return after, {key_of_lag(lag): over(found[lag]) for lag in oldest}

    start = {key_of_lag(lag): over(final[lag]) for lag in kept}
    xs = {"along": trail.xs, "noise": noise}
    state, emitted = scan(move, start, xs, dim=chain.following, reverse=True)
    known: dict[Any, Any] = {**given, **{lag: state[key_of_lag(lag)] for lag in kept}}
    first = picks(trail.first(), known, fresh)
    return _nodes(first), emitted, _nodes(final)


def _nodes(values: Mapping[Any, DimTensor]) -> dict[Any, Node]:
    return {key: x.node for key, x in values.items()}
