"""Fission of a step: what does not feed back into states is computed once for all steps.

Users write a log likelihood in the step that updates the state. Its logarithms and divisions, and
those of its gradient, then run one after the other in every step. Computed after the loop from the
traces of the states, they vectorize, and the backward loop has the recursion of the states alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import io_toposort
from pytensor.scalar.basic import Add, Mul, Second
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.type import TensorType

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.batching import over_batch
from dimtensor.ops.facts import facts_of
from dimtensor.ops.loop.shapes import is_of_one_length
from dimtensor.ops.nodes import lengths, reshaped
from dimtensor.tuning import STEP_SUM_ELEMENTS, SUMS_BESIDE_LOOP, TRACED_FACTORS, TRACED_OPERATIONS

_ELEMENTWISE = (Elemwise, DimShuffle, CAReduce)


@dataclass
class Split:
    """Fission of a step: a smaller loop, and computations on its traces.

    Attributes
    ----------
    kept : list of int
        Numbers of the states of the smaller loop.
    traced : list of variable
        Elements that the smaller loop traces.
    """

    kept: list[int]
    traced: list[Variable]
    _given: list[Variable]
    _wanted: list[Variable]
    _sums: dict[int, Variable]

    def results(
        self,
        init: Sequence[Variable],
        states: Sequence[Variable],
        traces: Sequence[Variable],
        elements: Sequence[Variable],
        sequences: Sequence[Variable],
    ) -> tuple[list[Variable], list[Variable]]:
        """Return final states and traces of the whole step from those of the smaller loop.

        Parameters
        ----------
        init : sequence of variable
            Of all states.
        states, traces : sequence of variable
            Results of the loop.
        elements, sequences : sequence of variable
        """
        known = dict(zip(elements, sequences, strict=True))
        known.update(zip(self._given, traces, strict=True))
        everything = [*self._wanted, *self._sums.values()]
        found = dict(zip(everything, over_batch(everything, known), strict=True))
        finals = dict(zip(self.kept, states, strict=True))
        for number, term in self._sums.items():
            start = init[number]
            total = _product(found[term]) if term.type.ndim else None
            if total is None:
                total = pt.sum(found[term], axis=0, dtype=start.type.dtype)
            finals[number] = start + total
        return [finals[k] for k in range(len(init))], [found[v] for v in self._wanted]


def _product(terms: Variable) -> Variable | None:
    """Return the sum over steps of outer products as one matrix product, None for other terms."""
    node = terms.owner
    if node is None or not isinstance(node.op, Elemwise) or len(node.inputs) != 2:
        return None
    if not isinstance(node.op.scalar_op, Mul):
        return None
    factors, axes = [], []
    for factor in node.inputs:
        made = factor.owner
        if made is not None and isinstance(made.op, Elemwise):
            if isinstance(made.op.scalar_op, Second):  # broadcast, as the product is
                made = made.inputs[1].owner
        if made is None or not isinstance(made.op, DimShuffle) or made.op.new_order[0] != 0:
            return None
        order = made.op.new_order
        if made.op.drop or [axis for axis in order if axis != "x"] != sorted(
            axis for axis in order if axis != "x"
        ):
            return None
        factors.append(made.inputs[0])
        axes.append([at for at, axis in enumerate(order) if axis != "x" and at])
    places = [*axes[0], *axes[1]]
    if sorted(places) != list(range(1, terms.type.ndim)):
        return None
    product = _over_first_axes(*factors)
    product = product.transpose(*(places.index(at) for at in range(1, terms.type.ndim)))
    return pt.specify_shape(product, terms.type.shape[1:])


def _over_first_axes(x: Variable, y: Variable) -> Variable:
    """Products of all elements of two arrays at a position of their first axes, summed over it."""
    kept = [lengths(each)[1:] for each in (x, y)]
    flat = [
        each if each.type.ndim <= 2 else reshaped(each, [*lengths(each)[:1], math.prod(rest)])
        for each, rest in zip((x, y), kept, strict=True)
    ]
    product = pt.dot(flat[0].T, flat[1])
    shape = [*kept[0], *kept[1]]
    return product if product.type.ndim == len(shape) else reshaped(product, shape)


def split(
    states: Sequence[Variable],
    elements: Sequence[Variable],
    next_states: Sequence[Variable],
    traced: Sequence[Variable],
) -> Split | None:
    """Split a step into a smaller loop and computations on its traces, None if not worth it.

    Parameters
    ----------
    states, elements : sequence of variable
        Placeholders of states and elements in the step.
    next_states, traced : sequence of variable
        Results of a step.

    Notes
    -----
    Two kinds of computations leave the loop:

    - a trace that is an elementwise expression, with an expensive operation, of a few variables
      that can be traced instead. An expensive value that a next state needs anyway is such a
      variable, because storing it is cheaper than recomputing it;
    - a state that only accumulates a sum: it becomes the sum of a trace, or a product of traces
      with fewer axes.
    """
    sums = _sums(states, next_states, traced)
    nodes = io_toposort([*states, *elements], [*next_states, *traced, *sums.values()])
    depends = {*states, *elements}
    for node in nodes:
        if any(v in depends for v in node.inputs):
            depends.update(node.outputs)
    stops = {*states, *elements, *(v for k, v in enumerate(next_states) if k not in sums)}
    if len(sums) > SUMS_BESIDE_LOOP:
        sums = {k: v for k, v in sums.items() if v.type.ndim or _leaves(v, stops, depends)}
    sums = {k: v for k, v in sums.items() if not v.type.ndim or _factors(v, depends)}
    kept = [k for k in range(len(states)) if k not in sums]
    stops.update(next_states[k] for k in kept)
    stops |= _slow([*states, *elements], [next_states[k] for k in kept], depends)
    given: list[Variable] = []
    moved, steps = False, {*states, *elements}
    for wanted in [*traced, *sums.values()]:
        if wanted in sums.values() and wanted.type.ndim:
            leaves = _factors(wanted, depends)
        else:
            leaves = None if wanted in stops else _leaves(wanted, stops, depends)
        if leaves is None or not all(v in elements or is_of_one_length(v, steps) for v in leaves):
            leaves = [wanted]
        elif leaves:
            moved = True
        given += [v for v in leaves if v not in given and v not in elements]
        if not leaves:  # it depends on no step: the loop traces it as it is
            given.append(wanted)
    if not (moved or sums):
        return None
    return Split(kept, given, given, list(traced), sums)


def _sums(
    states: Sequence[Variable], next_states: Sequence[Variable], traced: Sequence[Variable]
) -> dict[int, Variable]:
    """Map states that only accumulate a sum to the term that each step adds."""
    found: dict[int, Variable] = {}
    results = [*next_states, *traced]
    readers = Counter(results)
    for reader in io_toposort([], results):
        readers.update(reader.inputs)
    for number, (state, following) in enumerate(zip(states, next_states, strict=True)):
        node = following.owner
        if node is None or not _is_summable(state):
            continue
        if not (isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Add)):
            continue
        terms = [v for v in node.inputs if v is not state]
        if len(terms) != len(node.inputs) - 1 or not readers[state] == readers[following] == 1:
            continue
        term = terms[0] if len(terms) == 1 else pt.add(*terms)
        if term.type.ndim == state.type.ndim and term.type.dtype == state.type.dtype:
            found[number] = term
    return found


def _is_summable(variable: Variable) -> bool:
    """Return whether a sum may leave the loop: one of numbers, or of arrays that are not small."""
    if not isinstance(variable.type, TensorType) or not is_float(variable.type.dtype):
        return False
    lengths = variable.type.shape
    return not lengths or None in lengths or math.prod(lengths) > STEP_SUM_ELEMENTS


def _factors(term: Variable, depends: set[Variable]) -> list[Variable] | None:
    """Arrays of fewer axes that a product such as an outer one is made of."""
    factors: list[Variable] = []
    stack = [term]
    while stack:
        variable = stack.pop()
        if variable in factors or variable not in depends or isinstance(variable, Constant):
            continue
        if variable.type.ndim < term.type.ndim:
            factors.append(variable)
            continue
        node = variable.owner
        if node is None or not isinstance(node.op, (Elemwise, DimShuffle)):
            return None
        stack.extend(node.inputs)
    return factors if 0 < len(factors) <= TRACED_FACTORS else None


def _slow(
    given: Sequence[Variable], next_states: Sequence[Variable], depends: set[Variable]
) -> set[Variable]:
    """Return the variables of a step that remaining states need and that are slow to recompute."""
    found: set[Variable] = set()
    for node in io_toposort(given, next_states):
        if not isinstance(node.op, _ELEMENTWISE) or depends.isdisjoint(node.outputs):
            continue
        is_quick = not isinstance(node.op, Elemwise) or facts_of(node.op.scalar_op).is_quick
        if not is_quick or not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def _leaves(
    wanted: Variable, stops: set[Variable], depends: set[Variable]
) -> list[Variable] | None:
    """Leaves of a variable's elementwise expression; None if recomputing it does not pay."""
    leaves: list[Variable] = []
    worth = False
    seen: set[Variable] = set()
    stack = [wanted]
    while stack:
        variable = stack.pop()
        if variable in seen or variable not in depends or isinstance(variable, Constant):
            continue
        seen.add(variable)
        if len(seen) > TRACED_OPERATIONS:
            return None
        node = variable.owner
        if variable in stops or node is None or not isinstance(node.op, _ELEMENTWISE):
            leaves.append(variable)
            continue
        if isinstance(node.op, Elemwise):
            # a quick operation is not worth an array for each operand
            worth |= not facts_of(node.op.scalar_op).is_quick
        stack.extend(node.inputs)
    if not worth or len(leaves) > TRACED_FACTORS or wanted in leaves:
        return None
    return leaves
