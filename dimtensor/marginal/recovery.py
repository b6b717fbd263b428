"""Recovery of eliminated unknowns: draws or the mode, by undoing the steps backwards.

For chains that is forward filtering, backward sampling, or Viterbi.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.marginal.alignment import Flattening, read_at
from dimtensor.marginal.chains import Chain, Lag, lag_key
from dimtensor.marginal.frontend import Marginal, UnrolledLatent
from dimtensor.marginal.moves import ElementwiseStep, StateReduction, log_sum, maximum
from dimtensor.marginal.normal.dense import DenseNormal
from dimtensor.marginal.normal.filters import ResidualChain
from dimtensor.marginal.normal.information import InformationChain, InformationStep, conditional
from dimtensor.marginal.normal.matrix_filters import MatrixFilter, smoothed
from dimtensor.marginal.normal.residual_elimination import ResidualStep
from dimtensor.marginal.smoothing import (
    BackwardStates,
    DiscreteBackward,
    InformationBackward,
    Noise,
    ResidualBackward,
    smooth,
)
from dimtensor.marginal.trees import Tree, picked_tree
from dimtensor.marginal.unknowns import Factor, FactorSlot, StateDims, Unknown, own_slot
from dimtensor.tensor.autodiff import grad
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.joining import stack

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def positions(
    terms: Mapping[str, Node],
    unknowns: Sequence[Unknown],
    noise: Noise | None,
    normal: Noise | None = None,
) -> dict[str, DimTensor]:
    """Return the states of all unknowns, drawn from their posterior, or their joint mode.

    Discrete states are positions; continuous unknowns have values.

    Parameters
    ----------
    terms : dict of str to Node
        Terms of the log density.
    unknowns : sequence of Unknown
    noise : callable, optional
        Returns independent standard Gumbel noise over some dims. None gives the joint mode.
    normal : callable, optional
        Returns standard normal noise, for continuous unknowns.
    """
    merge = maximum if noise is None else log_sum
    found = BackwardSampler(merge, noise or (lambda dims: 0.0), normal or (lambda dims: 0.0))
    marginal = Marginal(terms, unknowns, merge)
    for step in reversed(marginal.steps):
        found.undo(step)
        found.restore(marginal.flattenings)
    for unknown, dim, parts in reversed(marginal.vectors):
        values = [wrap(found.picked[part]) for part in parts]
        dims = tuple(dict.fromkeys(d for x in values for d in x.dims))
        stacked = stack([wrap(expand_node(x.node, dims)) for x in values], dim)
        found.picked[unknown] = stacked.node
    return {unknown.name: wrap(found.picked[unknown]) for unknown in unknowns}


def probabilities(
    terms: Mapping[str, Node], unknowns: Sequence[Unknown]
) -> dict[str, tuple[DimTensor, Dim]]:
    """Return the posterior marginals of discrete unknowns, and the dims of their states.

    They are the gradients of the marginal log density with respect to a log weight that is added
    for each state of each element.
    """
    weights: dict[str, tuple[DimTensor, Dim]] = {}
    discrete = [unknown for unknown in unknowns if not unknown.continuous]

    def more(states: StateDims, vectors: list[UnrolledLatent]) -> list[Factor]:
        made = []
        apart = {vector.unknown: vector for vector in vectors}

        for whole in discrete:
            own = whole.named_states(0)
            added = tensor(f"weights of {whole.name}", (*whole.dims, own))
            weights[whole.name] = (added, own)
            todo = [(whole, added.node)]
            while todo:  # one factor per unknown, or per element of an unrolled one
                unknown, node = todo.pop()
                if unknown in apart:
                    _, dim, parts = apart[unknown]
                    pieces = [(p, wrap(node).isel({dim: at}).node) for at, p in enumerate(parts)]
                    todo += reversed(pieces)
                    continue
                slot = own_slot(unknown)
                dim = states[slot]
                node = relabel_node(node, (own, dim))
                made.append(Factor(node, unknown.dims, ((dim, slot),), frozenset(), node))
        return made

    logp = Marginal(terms, unknowns, more=more).logp
    slopes = grad(logp, [x for x, _ in weights.values()])
    nothing = {x: zeros(x.dims) for x, _ in weights.values()}
    return {
        name: (substitute(slope, nothing), dim)
        for (name, (_, dim)), slope in zip(weights.items(), slopes, strict=True)
    }


class BackwardSampler:
    """Backward pass: chooses states, from the unknown that was eliminated last to the first."""

    def __init__(self, merge: StateReduction, noise: Noise, normal: Noise):
        self.merge, self.noise, self.normal = merge, noise, normal
        self.picked: dict[Unknown, Node] = {}

    def undo(self, step: Any) -> None:
        """Choose the states of the unknowns that one step eliminated."""
        if isinstance(step, ElementwiseStep):
            table = self._given(step.table, step.slots)
            table = expand_node(table, step.unknown.dims)
            self.picked[step.unknown] = self._pick(table, step.dim)
        elif isinstance(step, InformationStep):
            own = own_slot(step.unknown)
            others = {s for key in step.form for s in key if isinstance(s, FactorSlot) and s != own}
            values: dict[Any, Any] = {slot: wrap(self._read(slot)) for slot in others}
            form = {key: wrap(self._at_states(x.node)) for key, x in step.form.items()}
            value = conditional(form, own, values, self.normal(step.unknown.dims))
            self.picked[step.unknown] = expand_node(value.node, step.unknown.dims)
        elif isinstance(step, ResidualStep):
            own, residual = own_slot(step.unknown), step.residual.mapped(self._at_states)
            slots = [x for x in residual.coefficients if isinstance(x, FactorSlot) and x != own]
            values = {slot: wrap(self._read(slot)) for slot in slots}
            value = residual.value(own, values, self.normal(step.unknown.dims))
            self.picked[step.unknown] = expand_node(value.node, step.unknown.dims)
        elif isinstance(step, DenseNormal):
            noise = self.normal(step.noise_dims)
            self.picked[step.unknown] = self._at_values(step.picked(noise))
        elif isinstance(step, MatrixFilter):
            for unknown, node in smoothed(step, self.normal).items():
                self.picked[unknown] = self._at_values(node)
        elif isinstance(step, Tree):
            levels = (
                replace(level, table=self._given(level.table, step.slots)) for level in step.levels
            )
            tree = replace(step, levels=tuple(levels))
            self.picked[step.unknown] = picked_tree(tree, self._pick)
        else:
            self._undo_chain(step)

    def restore(self, flattenings: Sequence[Flattening]) -> None:
        """Choose states along ragged dims where those along plain dims are chosen."""
        for flattening in flattenings:
            for unknown, along in flattening.unknowns.items():
                if along in self.picked:
                    self.picked[unknown] = flattening.restored(self.picked[along])

    def _at_states(self, node: Node) -> Node:
        """Substitute the chosen values of discrete unknowns into an expression."""
        known = {
            unknown.node: unknown.at(wrap(picked)).node
            for unknown, picked in self.picked.items()
            if not unknown.continuous
        }
        return rebuild([node], known)[0]

    def _at_values(self, node: Node) -> Node:
        """Substitute the chosen values of all unknowns into an expression."""
        known = {u.node: x for u, x in self.picked.items() if u.continuous}
        return rebuild([self._at_states(node)], known)[0]

    def _pick(self, table: Node, dim: Dim) -> Node:
        x = wrap(table)
        return (x + self.noise(tuple(x.dims))).argmax(dim).node

    def _given(self, table: Node, slots: Sequence[tuple[Dim, FactorSlot]]) -> Node:
        """Condition a table on the states chosen for other unknowns."""
        for dim, slot in slots:
            if dim in table.dims:
                table = wrap(table).isel({dim: wrap(self._read(slot))}).node
        return table

    def _read(self, slot: FactorSlot) -> Node:
        """Return the states chosen for the elements of an unknown that a slot reads."""
        return read_at(self.picked[slot.unknown], slot)

    # -- chains ----------------------------------------------------------------------------------

    def _undo_chain(self, step: Chain | InformationChain | ResidualChain) -> None:
        given: dict[Any, Any] = {}
        trail: BackwardStates
        if isinstance(step, Chain):
            pieces = [replace(p, node=self._given(p.node, step.slots)) for p in step.pieces]
            chain = replace(step, pieces=tuple(pieces), slots=())
            trail = DiscreteBackward(chain, self.merge, self.noise)
        else:
            given = {dim: wrap(self._read(slot)) for dim, slot in step.chain.slots}
            trail = (
                ResidualBackward(step, self._at_states, self.normal)
                if isinstance(step, ResidualChain)
                else InformationBackward(step, self._at_states, self.normal)
            )
        first, emitted, final = smooth(trail, given)
        for unknown in trail.chain.eliminated:
            self.picked[unknown] = self._whole(trail.chain, unknown, first, emitted, final)

    def _whole(
        self,
        chain: Chain,
        unknown: Unknown,
        first: Mapping[Lag, Node],
        emitted: Mapping[str, DimTensor],
        final: Mapping[Lag, Node],
    ) -> Node:
        """Assemble the states along the whole dim from its start, loop and end."""
        dim, order, own = chain.dim, chain.order, chain.orders[unknown]
        short = dim.length is not None and dim.length < order  # the loop has no steps
        ends = {
            order - by: _full(first[Lag(unknown, by)], chain.batch) for by in range(order, own, -1)
        }
        for by in range(own, 0, -1):
            at = order - by if short else -by
            ends[at] = _full(final[Lag(unknown, by)], chain.batch)
        values = emitted[lag_key(Lag(unknown, own))]
        beside = [d for x in (*ends.values(), values) for d in x.dims if d is not chain.loop_dim]
        whole = zeros(tuple(dict.fromkeys((*unknown.dims, *beside))), dtype=values.dtype)
        if not short:
            middle = slice(order - own, -own or None)
            moved = wrap(relabel_node(values.node, (chain.loop_dim, SelDim(dim, positions=middle))))
            whole = whole.isel({dim: middle}).set(moved)
        for at, value in ends.items():
            if dim.length is None or at < dim.length:
                whole = whole.isel({dim: at}).set(value)
        return whole.node


def _full(node: Node, dims: Dims) -> DimTensor:
    return wrap(expand_node(node, dims))
