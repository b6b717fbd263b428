"""Elimination of jointly normal vectors along a chain by a Kalman filter over matrices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dimtensor.dims import Dim, Dims, SelDim, without
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.graph.regions import split_inputs
from dimtensor.marginal.chains import Lag
from dimtensor.marginal.factors import FactorReader
from dimtensor.marginal.moves import StepCost
from dimtensor.marginal.normal.affine import NotQuadratic
from dimtensor.marginal.normal.dense import NamedTerms
from dimtensor.marginal.normal.diffuse import with_columns, without_flat
from dimtensor.marginal.normal.kalman import (
    Filtered,
    Shift,
    VectorDims,
    filter_step,
    in_constant_column,
)
from dimtensor.marginal.normal.residuals import node_of_value
from dimtensor.marginal.normal.slices import (
    ChainReader,
    Delayed,
    LoopState,
    NotAlongChain,
    Position,
    StartsLater,
)
from dimtensor.marginal.normal.state_space import BatchMixed, LocalTerm, PositionStep, StepBuilder
from dimtensor.marginal.unknowns import Origins, StateDims, Unknown, is_sorted
from dimtensor.tensor.autodiff import grad
from dimtensor.tensor.constructors import arange, zeros
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor

# largest number of unrolled positions before the loop
MOST_EARLY = 16


@dataclass(frozen=True)
class MatrixFilter:
    """Elimination step: vectors are integrated out along a dim by a Kalman filter.

    Attributes
    ----------
    eliminated : tuple of Unknown
    dim : Dim
    batch : tuple of Dim
        Dims of independent chains.
    early : tuple of PositionStep
        Steps before the loop: that of unknowns without the dim, and of the first positions.
    loop : PositionStep
    parts : tuple of (frozenset of str, Node)
        The terms of the log density.
    plain : dict of LoopState to Node
        States of loops that depend on no unknown, before the loop.
    columns : VectorDims or None
        The constant and flat elements, if there are any.
    """

    eliminated: tuple[Unknown, ...]
    dim: Dim
    batch: Dims
    early: tuple[PositionStep, ...]
    loop: PositionStep
    parts: tuple[tuple[Origins, Node], ...]
    plain: Mapping[LoopState, Node]
    columns: VectorDims | None = None

    def __str__(self) -> str:
        names = ", ".join(unknown.name for unknown in self.eliminated)
        cost, count = StepCost((*self.batch, self.dim), ()), self.loop.state.count
        return f"{names}: a loop along {self.dim._short}, {cost} × {count} × {count}"


def integrate_by_filter(
    named: NamedTerms, unknowns: Sequence[Unknown]
) -> tuple[NamedTerms, MatrixFilter] | None:
    """Integrate out unknowns along a dim; return the terms without them and the step, or None."""
    reader = FactorReader(unknowns, StateDims())
    parts = [(origins, part) for origins, x in named for part in reader.summands(x)]
    for unknown in unknowns:
        members, mine = _coupled(parts, unknown, unknowns)
        along = [x.attrs.over for x in toposort([x for _, x in mine]) if x.kind == "loop"]
        whole = [d for u in members for d in u.dims]
        loops = [next((d for d in whole if is_sorted(d, over)), over) for over in along]
        for dim in dict.fromkeys((*unknown.dims, *loops)):
            if dim is None or dim._within is not None:
                continue
            try:
                step = _Chain(dim, members, mine).step()
            except (NotAlongChain, NotQuadratic):
                continue
            total = expand_node(node_of_value(filtered(step)[0]), step.batch)
            origins = frozenset[str]().union(*(o for o, _ in mine))
            rest = [pair for pair in parts if pair not in mine]
            return [*rest, (origins, total)], step
    return None


def _coupled(
    parts: Sequence[tuple[Origins, Node]], unknown: Unknown, unknowns: Sequence[Unknown]
) -> tuple[list[Unknown], list[tuple[Origins, Node]]]:
    """Return the unknowns that terms connect to one, and these terms."""
    readers = {u: FactorReader([u], StateDims()) for u in unknowns}
    reads = {x: [u for u in unknowns if readers[u].depends(x)] for _, x in parts}
    todo = [unknown]
    seen = {unknown}
    while todo:
        u = todo.pop()
        for found in reads.values():
            if u in found:
                todo += [v for v in found if v not in seen]
                seen |= set(found)
    ordered = [u for u in unknowns if u in seen]
    return ordered, [pair for pair in parts if set(reads[pair[1]]) & seen]


class _Chain:
    """Reader of terms as a linear Gaussian state space model along a dim."""

    def __init__(self, time: Dim, unknowns: Sequence[Unknown], parts: Any):
        self.time, self.unknowns, self.parts = time, list(unknowns), list(parts)
        self.reader = ChainReader(time, unknowns)
        self.name = ", ".join(unknown.name for unknown in unknowns)
        self.along = [u for u in unknowns if time in u.node.dims]
        self.constant = [u for u in unknowns if time not in u.node.dims]
        places = [(self.reader.place(x), x, origins) for origins, x in self.parts]
        self.placed = [(self.reader.extent(p) if p.dim or p.head >= 0 else (-1, 0), p, x, o)
                       for p, x, o in places]  # fmt: skip
        self.order = max(
            [p.head + (p.dim is None) for p, _, _ in places if p.dim or p.head >= 0], default=0
        )
        self.positions: dict[int | None, tuple[Position, list[LocalTerm]]] = {}
        while not self.positions:
            if self.order > MOST_EARLY or (time.length is not None and time.length < self.order):
                raise NotAlongChain
            try:
                self.positions[None] = self._read(None)
            except StartsLater:
                self.order += 1
        for at in range(-1, self.order):
            self.positions[at] = self._read(at)
        self.delays = self._delays()
        self.lags = {
            u: max((key.by for key in self._keys() if isinstance(key, Lag) and key.unknown is u),
                   default=0)
            for u in self.along
        }  # fmt: skip
        self.loops = {
            key: node for p, _ in self.positions.values() for key, node in p.loops.items()
        }
        self.states = [LoopState(key, at) for key, node in self.loops.items()
                       for at in sorted(self.reader.dependent_states(node))]  # fmt: skip
        if not any(self.lags.values()) and not self.states and not self.delays:
            raise NotAlongChain

    def _read(self, at: int | None) -> tuple[Position, list[LocalTerm]]:
        """Evaluate the terms at a position."""
        position, found = Position(self.reader, at, self.order), []
        for (first, stop), place, node, origins in self.placed:
            mask = None
            if at is None:
                if place.dim is None or (stop is not None and stop <= self.order):
                    continue
                if stop is not None:
                    mask = position.element((arange(self.time) < stop).node, self.time, 0)
            elif at < first or (stop is not None and at >= stop):
                continue
            value = position.value(node, place.head)
            if any(self.reader.start_of(dim) is not None for dim in value.dims):
                raise NotAlongChain
            found.append(LocalTerm(origins, value, mask))
        return position, found

    def _delays(self) -> dict[Node, int]:
        """Return the longest delay of each output of a loop; evaluate these outputs everywhere."""
        found: dict[Node, int] = {}
        while True:
            before = dict(found)
            for position, _ in self.positions.values():
                for x, by in position.delays.items():
                    found[x] = max(by, found.get(x, 0))
            if found == before:
                return found
            for at, (position, _) in self.positions.items():
                for x in found:
                    head = self.reader.place(x).head
                    if at is None or at >= head:
                        position.value(x, head)

    def _keys(self) -> Iterator[Hashable]:
        for at, (position, _) in self.positions.items():
            if at != -1:
                yield from position.probes

    def _dims(self, key: Hashable) -> Dims:
        if isinstance(key, LoopState):
            return self._init(key)[0].dims
        if isinstance(key, Delayed):
            return without(key.node.dims, [key.node.attrs.over])
        node = key.unknown.node if isinstance(key, Lag) else key.node  # type: ignore[attr-defined]
        return without(node.dims, [self.time])

    def _init(self, state: LoopState) -> tuple[Node, int]:
        """Return the initial state of a loop, and the position at which it is known."""
        node = self.loops[state.loop]
        init = split_inputs(node.attrs, node.inputs).init[state.number]
        return init, self.reader.place(init).head if self.reader.depends(init) else -1

    def _variables(self, at: int | None) -> list[Hashable]:
        """Return the variables of the state before a position."""
        found: list[Hashable] = []
        for u in self.along:
            count = self.lags[u] if at is None else min(self.lags[u], at)
            found += [Lag(u, by) for by in range(1, count + 1)]
        used = set(self._keys())
        found += [u for u in self.constant if u in used]
        found += [s for s in self.states if at is None or self._init(s)[1] < at]
        for x, delay in self.delays.items():
            count = delay if at is None else min(delay, at - self.reader.place(x).head)
            first = 1 if self.reader.carried(x) is None else 2
            found += [Delayed(x, by) for by in range(first, count + 1)]
        return found

    def _after(self, at: int | None, variables: Sequence[Hashable]) -> dict[Hashable, Node]:
        """Return the next state in terms of probes."""
        position, _ = self.positions[at]
        found: dict[Hashable, Node] = {}
        for key in variables:
            if isinstance(key, Lag):
                node = key.unknown.node
                found[key] = position.probe(Lag(key.unknown, key.by - 1), node, self._dims(key))
            elif isinstance(key, Delayed):
                head = self.reader.place(key.node).head
                found[key] = position.value(key.node, head + key.by - 1)
            elif isinstance(key, LoopState):
                found[key] = self._next_state(position, at, key)
            else:
                found[key] = position.probe(key, key.node, self._dims(key))  # type: ignore[attr-defined]
        return found

    def _next_state(self, position: Position, at: int | None, key: LoopState) -> Node:
        init, known_at = self._init(key)
        if key.loop in position.loops:
            return position.next_states(position.loops[key.loop])[key.number]
        if at == known_at:
            return expand_node(position.value(init, 0), init.dims)
        return position.probe(key, init, init.dims)

    def _batch(self) -> Dims:
        every = [key for at in (0, None) for key in self._variables(at)]
        every += self.unknowns
        dims = list(self._dims(every[0]))
        return tuple(d for d in dims if all(d in self._dims(key) for key in every))

    def step(self) -> MatrixFilter:
        """Return the elimination step."""
        batch = self._batch()
        while True:
            try:
                return self._step(batch)
            except BatchMixed as mixed:
                batch = without(batch, mixed.dims)

    def _step(self, batch: Dims) -> MatrixFilter:
        early: list[PositionStep] = []
        plain: dict[LoopState, Node] = {}
        for at in range(-1, self.order):
            step = self._built(at, None if at + 1 == self.order else at + 1, batch)
            known = {leaf: plain.get(state, self._init(state)[0])
                     for state, leaf in step.position.plain.items()}  # fmt: skip
            step = step.mapped(known)
            plain |= step.plain
            early.append(step)
        loop = self._built(None, None, batch)
        start = {s: plain.get(s, self._init(s)[0]) for s in loop.position.plain}
        early, loop, columns = with_columns(early, loop, self.name)
        return MatrixFilter(tuple(self.unknowns), self.time, batch, tuple(early), loop,
                            tuple(self.parts), start, columns)  # fmt: skip

    def _built(self, at: int | None, following: int | None, batch: Dims) -> PositionStep:
        position, parts = self.positions[at]
        state = {key: self._dims(key) for key in (() if at == -1 else self._variables(at))}
        after = self._after(at, self._variables(following))
        new = self.constant if at == -1 else self.along
        name = self.name if at is None else f"{self.name} at {at}"
        hidden = frozenset(unknown.name for unknown in self.unknowns)
        plain = {s: position.next_states(position.loops[s.loop])[s.number] for s in position.plain}
        return StepBuilder(position, parts, new, state, after, batch, name).step(plain, hidden)


# -- running ---------------------------------------------------------------------------------------

Shifts = Callable[[PositionStep, bool], Shift]


def filtered(
    chain: MatrixFilter, shifts: Shifts | None = None, known: Mapping[Node, Node] | None = None
) -> tuple[Any, list[Any], Any]:
    """Run the filter.

    Parameters
    ----------
    chain : MatrixFilter
    shifts : callable, optional
        Returns the perturbation of a step; of the step of the loop with tensors along its dim.
    known : mapping of Node to Node, optional
        Replacements in the log density that each step adds, not in the state after it.

    Returns
    -------
    total : DimTensor
        The log density, over the dims of independent chains.
    early : list of DimTensor or float
        Log densities added by the steps before the loop.
    late : DimTensor
        Those added along the loop.
    """
    mean = covariance = None
    early: list[Any] = []
    for number, step in enumerate(chain.early):
        shift = Shift() if shifts is None else shifts(step, False)
        found = filter_step(step.linear, mean, covariance, shift)
        there = step.mapped(known or {})
        term = filter_step(there.linear, mean, covariance, shift).term if known else found.term
        early.append(term + in_constant_column(there.constant, chain.columns))
        following = chain.early[number + 1] if number + 1 < len(chain.early) else chain.loop
        mean, covariance = _renamed(found, step.after.dims, following.state.dims)
    along = None if shifts is None else shifts(chain.loop, True)
    late = _looped(chain, mean, covariance, along, known)
    total: Any = late.sum(chain.loop.position.loop_dim)
    for term in early:
        total = total + term
    if chain.columns is not None:
        total = without_flat(total, chain.columns)
    return total, early, late


def _renamed(found: Filtered, old: VectorDims | None, new: VectorDims | None) -> tuple[Any, Any]:
    if old is None or new is None:
        return None, None
    pairs = ((old.own, new.own), (old.other, new.other))
    mean, covariance = (
        wrap(relabel_node(x.node, *(p for p in pairs if p[0] in x.dims)))
        for x in (found.mean, found.covariance)
    )
    return mean, covariance


def _looped(
    chain: MatrixFilter, mean: Any, covariance: Any, shift: Shift | None,
    known: Mapping[Node, Node] | None = None,
) -> Any:  # fmt: skip
    """Run the loop; return the log density added by each step, with replacements in it."""
    step, dim = chain.loop, chain.loop.position.loop_dim
    leaves = list(step.position.sequences)
    xs: dict[str, Any] = {str(n): wrap(step.position.sequences[x]) for n, x in enumerate(leaves)}
    same = Shift() if shift is None else shift
    for field in ("noise", "rows", "weights"):
        x = getattr(same, field)
        if x is not None and not isinstance(x, float) and dim in x.dims:
            xs[field] = x
    own = list(step.position.plain)

    def run(mean: Any, covariance: Any, plain: Sequence[Any], here: Mapping[str, Any]) -> Any:
        values = {leaf: here[str(n)].node for n, leaf in enumerate(leaves)}
        values |= {step.position.plain[s]: x.node for s, x in zip(own, plain, strict=True)}
        now = step.mapped(values)
        moved = same._replace(**{k: here[k] for k in ("noise", "rows", "weights") if k in here})
        if moved.tilted is not None:
            moved = moved._replace(tilted=now.element_map)
        found = filter_step(now.linear, mean, covariance, moved)
        after = [wrap(now.plain[s]) for s in own]
        term = wrap(node_of_value(found.term + in_constant_column(now.constant, chain.columns)))
        return _renamed(found, step.after.dims, step.state.dims), after, term

    start = [wrap(chain.plain[s]) for s in own]
    first = {
        name: tensor(None, without(x.dims, [dim]), x.dtype, x.node.categories)
        for name, x in xs.items()
    }
    while True:  # the dims of the loop carry, a fixed point
        after = run(tensor(None, mean.dims), tensor(None, covariance.dims), start, first)[0]
        more = [without(y.dims, x.dims) for x, y in zip((mean, covariance), after, strict=True)]
        if not any(more):
            break
        mean, covariance = (
            wrap(expand_node(x.node, d)) for x, d in zip((mean, covariance), more, strict=True)
        )

    def body(state: Any, here: Any) -> tuple[Any, Any]:
        mean, covariance, plain = state
        found, after, term = run(mean, covariance, plain, here or {})
        moved = [wrap(expand_node(x.node, old.dims))
                 for x, old in zip(found, (mean, covariance), strict=True)]  # fmt: skip
        return (*moved, after), (term, state if known else ())

    _, (terms, states) = scan(body, (mean, covariance, start), xs or None, dim=dim)
    if known:
        there = {name: wrap(rebuild([x.node], known)[0]) for name, x in xs.items()}
        mean, covariance, plain = states
        terms = run(mean, covariance, plain, there)[2]
    return wrap(expand_node(terms.node, (dim,)))


# -- smoothing -------------------------------------------------------------------------------------


def smoothed(chain: MatrixFilter, normal: Callable[[Dims], Any]) -> dict[Unknown, Node]:
    """Return the eliminated unknowns: their conditional means, or draws.

    The mean is the derivative of the log density by the weights of a linear function of the
    elements, which is added to it. A draw is the mean where all noise, and that of all rows, is
    moved by a draw of it (G. Papandreou and A. Yuille 2010, "Gaussian sampling by local
    perturbations").

    Parameters
    ----------
    chain : MatrixFilter
    normal : callable
        Returns standard normal noise over some dims, or 0.0 for the mean.
    """
    weights: list[tuple[PositionStep, bool, Any]] = []

    def shifts(step: PositionStep, looped: bool) -> Shift:
        dims = (*chain.batch, *((step.position.loop_dim,) if looped else ()))
        noise = rows = None
        if step.noise.dims is not None:
            noise = normal((*dims, step.noise.dims.own))
        if step.linear.rows is not None:
            rows = normal((*dims, *(() if step.linear.row is None else (step.linear.row.own,))))
        noise, rows = (None if isinstance(x, float) else x for x in (noise, rows))
        extra.update(d for x in (noise, rows) if x is not None for d in x.dims
                     if d not in dims and d not in _vector_dims(step))  # fmt: skip
        if step.elements.dims is None:
            return Shift(noise, rows)
        own = step.elements.dims
        one = tensor(None, (*dims, *extra, own.own))
        weights.append((step, looped, one))
        return Shift(noise, rows, step.element_map, own, one)

    extra: set[Dim] = set()
    for x in (normal(()),):
        if not isinstance(x, float):
            extra.update(x.dims)
    total = filtered(chain, shifts)[0]
    leaves = [one for _, _, one in weights]
    slopes = grad(total.sum() if total.dims else total, leaves)
    nothing = {one: zeros(one.dims) for one in leaves}
    values = [substitute(slope, nothing) for slope in slopes]
    return {
        unknown: _assembled(chain, unknown, [(s, looped, x) for (s, looped, _), x in
                                             zip(weights, values, strict=True)])
        for unknown in chain.eliminated
    }  # fmt: skip


def _vector_dims(step: PositionStep) -> set[Dim]:
    pairs = (step.noise.dims, step.linear.row)
    return {dim for pair in pairs if pair is not None for dim in pair}


def _assembled(chain: MatrixFilter, unknown: Unknown, values: Sequence[Any]) -> Node:
    """Return the elements of an unknown along the whole chain."""
    found = [(step, looped, step.elements.part(x, unknown)) for step, looped, x in values
             if unknown in step.elements.variables]  # fmt: skip
    if chain.dim not in unknown.dims:
        ((_, _, node),) = found
        return expand_node(node, unknown.dims)
    beside = dict.fromkeys(d for step, _, x in found for d in x.dims
                           if d is not step.position.loop_dim)  # fmt: skip
    whole = zeros(tuple(dict.fromkeys((*unknown.dims, *beside))))
    for step, looped, node in found:
        if not looped:
            whole = whole.isel({chain.dim: step.position.at}).set(wrap(node))
            continue
        loop = step.position.loop_dim
        where = slice(step.position.order, None)
        if step.position.order == 0:
            own = chain.dim
            moved = wrap(expand_node(relabel_node(node, (loop, own)), whole.dims))
            whole = moved
            continue
        moved = wrap(relabel_node(node, (loop, SelDim(chain.dim, positions=where))))
        whole = whole.isel({chain.dim: where}).set(moved)
    return whole.node
