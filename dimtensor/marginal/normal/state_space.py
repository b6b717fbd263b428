"""Chains of jointly normal vectors as linear Gaussian state space models.

The state at a position of the chain has the earlier elements that later terms read, the states of
loops in the log density, and unknowns without the dim of the chain. A term that determines the
element of an unknown at a position is solved for it: the element is affine in the state and in
standard normal noise, and so are all other terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dimtensor.dims import Dim, Dims, ProductDim, without
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.marginal.chains import Lag
from dimtensor.marginal.normal.affine import AffineReader, NotQuadratic, Term
from dimtensor.marginal.normal.inversion import (
    NotInvertible,
    attributes_of,
    precision_root,
    solve_residual,
)
from dimtensor.marginal.normal.kalman import Affine, LinearStep, VectorDims, solve_rows
from dimtensor.marginal.normal.residuals import node_of_value
from dimtensor.marginal.normal.slices import LoopState, NotAlongChain, Position
from dimtensor.marginal.unknowns import Origins, Unknown, sum_over
from dimtensor.tensor.constructors import arange, eye, zeros
from dimtensor.tensor.elementwise import equal, log, where
from dimtensor.tensor.handle import constant, wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.joining import concat

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class LocalTerm:
    """Summand of the log density at a position of the chain.

    Attributes
    ----------
    origins : frozenset of str
    node : Node
        Its value, in terms of probes.
    mask : Node or None
        Whether it counts at the position.
    """

    origins: Origins
    node: Node
    mask: Node | None = None


class VectorLayout:
    """Variables of a vector: their places along its dim.

    Parameters
    ----------
    name : str
    variables : mapping of Hashable to tuple of Dim
        The dims of each, without those of independent chains.
    """

    def __init__(self, name: str, variables: Mapping[Any, Dims]):
        self.variables = dict(variables)
        self.starts: dict[Hashable, int] = {}
        count = 0
        for key, dims in variables.items():
            self.starts[key] = count
            count += size_of(dims)
        self.count = count
        self.dims = VectorDims.of(name, count) if count else None

    def part(self, vector: Any, key: Hashable) -> Node:
        """Return one variable of a vector."""
        assert self.dims is not None
        own, dims, start = self.dims.own, self.variables[key], self.starts[key]
        if not dims:
            return wrap(vector.node).isel({own: start}).node
        cut = wrap(vector.node).isel({own: slice(start, start + size_of(dims))})
        (taken,) = without(cut.dims, without(vector.dims, [own]))
        if len(dims) == 1:
            return relabel_node(cut.node, (taken, dims[0]))
        product = ProductDim(dims)
        return make("split", (relabel_node(cut.node, (taken, product)),), product)

    def joined(self, values: Mapping[Hashable, Node]) -> Any:
        """Return the vector of given variables, over its own dim."""
        assert self.dims is not None
        flat = [flattened(values[key], dims) for key, dims in self.variables.items()]
        return joined(flat, self.dims.own)


def size_of(dims: Dims) -> int:
    """Return the number of elements along dims of known lengths."""
    if any(dim.length is None for dim in dims):
        raise NotAlongChain
    return math.prod(dim.length or 0 for dim in dims)


def flattened(node: Node, dims: Dims) -> tuple[Node, Dim]:
    """Return an expression with some of its dims as one, and that dim."""
    node = expand_node(node, dims)
    if len(dims) == 1:
        return node, dims[0]
    if not dims:
        one = Dim("single element", length=1)
        return expand_node(node, (one,)), one
    product = ProductDim(dims)
    return make("merge", (node,), product), product


def joined(parts: Sequence[tuple[Node, Dim]], own: Dim) -> Any:
    """Concatenate expressions along a dim each, to a vector over a given dim."""
    parts = [(node, dim) for node, dim in parts if dim.length]
    if not parts:
        raise NotAlongChain
    if len(parts) == 1:
        ((node, dim),) = parts
        return wrap(relabel_node(node, (dim, own)))
    dims = [Dim(f"part {at}", length=dim.length) for at, (_, dim) in enumerate(parts)]
    nodes = [wrap(relabel_node(node, (old, new))) for (node, old), new in
             zip(parts, dims, strict=True)]  # fmt: skip
    whole = concat(nodes, dims, name="parts")
    (dim,) = [d for d in whole.dims if not any(d in x.dims for x in nodes)]
    return wrap(relabel_node(whole.node, (dim, own)))


class BatchMixed(Exception):
    """Expression that couples elements along dims that were taken for independent chains."""

    def __init__(self, dims: Iterable[Dim]):
        super().__init__(dims)
        self.dims = tuple(dims)


@dataclass(frozen=True)
class PositionStep:
    """Step of the filter at one position, or at each position of the loop.

    Attributes
    ----------
    linear : LinearStep
    constant, observed : DimTensor or float
        Addend of the log density, and what observations add to it.
    state, noise, after : VectorLayout
    flat : VectorLayout
        New elements that no term determines.
    elements : VectorLayout
        The new elements of unknowns.
    element_map : Affine or None
        Their vector.
    position : Position
    plain : dict of LoopState to Node
        Next values of states of loops that depend on no unknown.
    """

    linear: LinearStep
    constant: Any
    observed: Any
    state: VectorLayout
    noise: VectorLayout
    after: VectorLayout
    flat: VectorLayout
    elements: VectorLayout
    element_map: Affine | None
    position: Position
    plain: dict[LoopState, Node]

    def mapped(self, known: Mapping[Node, Node]) -> PositionStep:
        """Substitute nodes in all expressions."""
        if not known:
            return self
        element_map = self.element_map and self.element_map.mapped(known)
        nodes = [node_of_value(x) for x in (self.constant, self.observed)]
        constant, observed = map(wrap, rebuild(nodes, known))
        plain = dict(zip(self.plain, rebuild(list(self.plain.values()), known), strict=True))
        return replace(
            self, linear=self.linear.mapped(known), constant=constant, observed=observed,
            element_map=element_map, plain=plain,
        )  # fmt: skip


class StepBuilder:
    """Builder of the step at one position.

    Parameters
    ----------
    position : Position
    parts : sequence of LocalTerm
        In terms of probes.
    new : sequence of Unknown
        Whose elements the position adds.
    state : mapping of Hashable to tuple of Dim
        Variables of the state before the position, with their dims.
    after : mapping of Hashable to Node
        Variables of the next state, in terms of probes.
    batch : tuple of Dim
        Dims of independent chains.
    name : str
    """

    def __init__(
        self, position: Position, parts: Sequence[LocalTerm], new: Sequence[Unknown],
        state: Mapping[Hashable, Dims], after: Mapping[Hashable, Node], batch: Dims, name: str,
    ):  # fmt: skip
        self.position, self.parts, self.new = position, list(parts), list(new)
        self.after, self.batch, self.name = dict(after), batch, name
        self.logs: list[Any] = []
        self.dtype = "float64"
        self.noises: dict[Unknown, Node] = {}
        self.undetermined: list[Unknown] = []
        solutions = self._solutions()
        mixed = {dim for x in self.noises.values() for dim in without(batch, x.dims)}
        if mixed:
            raise BatchMixed(mixed)
        core = {key: without(dims, batch) for key, dims in state.items()}
        self.state = VectorLayout(f"state of {name}", core)
        noise_dims = {u: without(x.dims, batch) for u, x in self.noises.items()}
        self.noise = VectorLayout(f"noise of {name}", noise_dims)
        flat_dims = {u: without(self._probe(u).dims, batch) for u in self.undetermined}
        self.flat = VectorLayout(f"flat elements of {name}", flat_dims)
        self._substitute(solutions)

    def _key(self, unknown: Unknown) -> Hashable:
        along = self.position.reader.time in unknown.node.dims
        return Lag(unknown, 0) if along else unknown

    def _probe(self, unknown: Unknown) -> Node:
        dims = without(unknown.node.dims, [self.position.reader.time])
        return self.position.probe(self._key(unknown), unknown.node, dims)

    # -- elements --------------------------------------------------------------------------------

    def _solutions(self) -> dict[Node, Node]:
        """Return the new elements, in terms of noise and the state."""
        found: dict[Node, Node] = {}
        taken: set[Node] = set()
        for unknown in self.new:
            probe = self._probe(unknown)
            solution = self._solution(unknown, probe, taken, self._solved)
            if solution is None:
                solution = self._solution(unknown, probe, taken, self._projected)
            if solution is not None:
                found[probe] = solution
            elif self.position.at is not None:
                self.undetermined.append(unknown)
            else:
                raise NotAlongChain
        done: dict[Node, Node] = {}
        while len(done) < len(found):
            ready = [
                probe for probe, x in found.items()
                if probe not in done and not (set(found) - set(done)) & set(toposort([x]))
            ]  # fmt: skip
            if not ready:
                raise NotAlongChain
            done |= {probe: rebuild([found[probe]], done)[0] for probe in ready}
        return done

    def _solution(
        self, unknown: Unknown, probe: Node, taken: set[Node], solve: Callable[..., Any]
    ) -> Node | None:
        order = sorted(self.parts, key=lambda part: part.origins != {unknown.name})
        for part in order:
            if part.mask is not None or probe not in set(toposort([part.node])):
                continue
            try:
                terms = AffineReader(probe).terms(part.node)
            except NotQuadratic:
                continue
            for term in terms:
                if term.product in taken or term.other is not term.affine or term.product is None:
                    continue
                found = solve(unknown, probe, term)
                if found is not None:
                    taken.add(term.product)
                    nothing = {term.product: zeros(term.product.dims).node}
                    at = self.parts.index(part)
                    rest = rebuild([part.node], nothing)[0]
                    self.parts[at] = LocalTerm(part.origins, rest, part.mask)
                    if len(found) == 2:  # what the square adds beside the noise
                        self.parts.append(LocalTerm(part.origins, found[1], part.mask))
                    return found[0]
        return None

    def _solved(self, unknown: Unknown, probe: Node, term: Term) -> tuple[Node] | None:
        if set(term.dims) != set(term.affine.dims) or "where" in attributes_of(term.weight.node):
            return None
        try:
            if size_of(term.dims) != size_of(probe.dims):
                return None
        except NotAlongChain:
            if set(term.dims) != set(probe.dims):
                return None
        noise = tensor(None, term.affine.dims, probe.dtype).node
        scale, logs = precision_root(term), list[Any]()
        value = wrap(noise)
        if not isinstance(scale, float):
            value = value / scale
            logs.append(-wrap(expand_node(log(scale).node, probe.dims)))
        elif scale != 1.0:
            value = value / scale
            logs.append(wrap(expand_node(constant(-math.log(scale), "float64"), probe.dims)))
        try:
            found, more = solve_residual(term.affine, probe, value.node)
        except NotInvertible:
            return None
        self.noises[unknown] = noise
        own = [*logs, *more, wrap(expand_node(constant(HALF_LOG_2PI, "float64"), probe.dims))]
        self.logs += [sum_over(x, d) if (d := without(x.dims, self.batch)) else x for x in own]
        return (found,)

    def _projected(self, unknown: Unknown, probe: Node, term: Term) -> tuple[Node, Node] | None:
        """Solve a square of more rows than the element has, such as a joint normal density.

        It is the square of noise, of which the element is a function, and one without the element.
        """
        rows, core = without(term.dims, self.batch), without(probe.dims, self.batch)
        reader = AffineReader(probe)
        apart = reader.is_affine(term.affine) and reader.apart(term.affine) >= set(self.batch)
        if not apart or "where" in attributes_of(term.weight.node):
            return None
        if size_of(rows) <= size_of(core):
            return None
        layout = VectorLayout(f"element of {unknown.name}", {unknown: core})
        assert layout.dims is not None
        own, other = layout.dims
        unit = expand_node(layout.part(eye(own, other), unknown), probe.dims)
        linear = rebuild([reader.linear(term.affine)], {probe: unit})[0]
        offset = rebuild([term.affine], {probe: zeros(probe.dims).node})[0]
        scale = precision_root(term)
        scaled = [wrap(expand_node(x, rows)) * scale for x in (linear, offset)]
        (slopes, row), (offset, _) = (flattened(x.node, rows) for x in scaled)
        self.noises[unknown] = noise = tensor(None, probe.dims, probe.dtype).node
        flat, dim = flattened(noise, core)
        white = wrap(relabel_node(flat, (dim, other)))
        found, rest, logs = solve_rows(wrap(slopes), wrap(offset), white, layout.dims, row)
        self.logs.append(HALF_LOG_2PI * layout.count + logs)
        return expand_node(layout.part(found, unknown), probe.dims), (-0.5 * rest).node

    # -- in terms of one vector ------------------------------------------------------------------

    def _substitute(self, solutions: Mapping[Node, Node]) -> None:
        """Express everything in terms of the vector of the state, the noise and flat elements."""
        blocks, count = list[tuple[VectorLayout, int]](), 0
        for layout in (self.state, self.noise, self.flat):
            blocks.append((layout, count))
            count += layout.count
        self.blocks = blocks
        self.whole = Dim(f"all of {self.name}", length=max(count, 1))
        self.vector = tensor(None, (*self.batch, self.whole), self.dtype)
        known: dict[Node, Node] = {}
        for layout, start in blocks:
            if layout.dims is None:
                continue
            cut = self.vector.isel({self.whole: slice(start, start + layout.count)})
            (taken,) = without(cut.dims, self.batch)
            part = wrap(relabel_node(cut.node, (taken, layout.dims.own)))
            for key in layout.variables:
                probe = (self.noises[key] if layout is self.noise else self._probe(key)
                         if layout is self.flat else self.position.probes.get(key))  # fmt: skip
                if probe is not None:
                    known[probe] = layout.part(part, key)
        found = rebuild(list(solutions.values()), known)
        known |= dict(zip(solutions, found, strict=True))
        self.known = known
        self.reader = AffineReader(self.vector.node)

    def expressed(self, node: Node) -> Node:
        """Return an expression in terms of the vector."""
        return rebuild([node], self.known)[0]

    def affine(self, node: Node, dims: Dims) -> tuple[Any, Any, Any, Any, Dim]:
        """Return the slopes by state, noise and flat elements, and the offset, over one dim.

        Raises
        ------
        NotAlongChain
            If the expression is not affine.
        """
        if self.vector.node not in set(toposort([node])):
            flat, dim = flattened(node, dims)
            return None, None, None, flat, dim
        if not self.reader.is_affine(node):
            raise NotAlongChain
        mixed = [dim for dim in self.batch if dim not in self.reader.apart(node)]
        if mixed:
            raise BatchMixed(mixed)
        linear, slopes = self.reader.linear(node), list[Any]()
        for layout, start in self.blocks:
            if layout.dims is None:
                slopes.append(None)
                continue
            at = equal(arange(self.whole), arange(layout.dims.other) + start)
            unit = expand_node(where(at, 1.0, 0.0).node, self.vector.node.dims)
            slopes.append(flattened(rebuild([linear], {self.vector.node: unit})[0], dims)[0])
        nothing = {self.vector.node: zeros(self.vector.node.dims).node}
        flat, dim = flattened(rebuild([node], nothing)[0], dims)
        return (*slopes, flat, dim)

    def stacked(self, found: Sequence[tuple[Any, Any, Any, Any, Dim]], own: Dim) -> Affine:
        """Join affine maps along their dims."""
        columns: list[Any] = []
        for at in range(4):
            if all(one[at] is None for one in found):
                columns.append(None)
                continue
            whole: list[Any] = [
                (zeros(one[4]).node if one[at] is None else one[at], one[4]) for one in found
            ]
            columns.append(joined(whole, own))
        return Affine(*columns)

    # -- rows ------------------------------------------------------------------------------------

    def rows(self, hidden: Origins) -> tuple[Affine | None, VectorDims | None, Any, Any]:
        """Return the rows with their dims, and the constants of the log density.

        The second constant is that of terms with other names than those of unknowns.
        """
        found, priors, seen = [], list(self.logs), list[Any]()
        for part in self.parts:
            constants = priors if part.origins <= hidden else seen
            node = self.expressed(part.node)
            if self.vector.node not in set(toposort([node])):
                constants.append(self._summed(node, part.mask))
                continue
            terms = self.reader.terms(node)
            for term in terms:
                if term.other is not term.affine or term.product is None:
                    raise NotAlongChain
                found.append(self._row(term, part.mask))
            nothing = {t.product: zeros(t.product.dims).node for t in terms if t.product}
            rest = rebuild([node], nothing)[0]
            if self.vector.node in set(toposort([rest])):
                raise NotAlongChain
            constants.append(self._summed(rest, part.mask))
        observed: Any = sum(seen, start=0.0)
        total: Any = sum(priors, start=observed)
        if not found:
            return None, None, total, observed
        if len(found) == 1 and found[0][4].length == 1:
            ((*columns, dim),) = found
            single = [x if x is None else wrap(x).isel({dim: 0}) for x in columns]
            return Affine(*single), None, total, observed
        row = VectorDims.of(f"rows of {self.name}", sum(one[4].length or 0 for one in found))
        return self.stacked(found, row.own), row, total, observed

    def _summed(self, node: Node, mask: Node | None) -> Any:
        x = wrap(node)
        beside = without(x.dims, self.batch)
        x = sum_over(x, beside) if beside else x
        return x if mask is None else where(wrap(mask), x, 0.0)

    def _row(self, term: Term, mask: Node | None) -> tuple[Any, Any, Any, Any, Dim]:
        dims = without(term.dims, self.batch)
        *columns, dim = self.affine(term.affine, dims)
        scale = precision_root(term)
        if not isinstance(scale, float):
            scale = wrap(flattened(expand_node(scale.node, dims), dims)[0])
        parts: list[Any] = []
        for x in columns:
            if x is None:
                parts.append(None)
                continue
            scaled = wrap(x) if isinstance(scale, float) and scale == 1.0 else wrap(x) * scale
            parts.append((scaled if mask is None else where(wrap(mask), scaled, 0.0)).node)
        return (*parts, dim)

    # -- the step --------------------------------------------------------------------------------

    def step(self, plain: dict[LoopState, Node], hidden: Origins) -> PositionStep:
        """Return the step, given the next states of loops and the names of unknowns."""
        rows, row, total, observed = self.rows(hidden)
        core = {key: without(x.dims, self.batch) for key, x in self.after.items()}
        after = VectorLayout(f"next state of {self.name}", core)
        move = None
        if after.dims is not None:
            found = [self.affine(self.expressed(x), core[key]) for key, x in self.after.items()]
            move = self.stacked(found, after.dims.own)
        linear = LinearStep(self.state.dims, self.noise.dims, rows, row, move, after.dims)
        own = {u: without(self._probe(u).dims, self.batch) for u in self.new}
        elements, element_map = VectorLayout(f"elements of {self.name}", own), None
        if elements.dims is not None:
            found = [self.affine(self.known[self._probe(u)], own[u]) for u in self.new]
            element_map = self.stacked(found, elements.dims.own)
        return PositionStep(
            linear, total, observed, self.state, self.noise, after, self.flat, elements,
            element_map, self.position, plain,
        )  # fmt: skip
