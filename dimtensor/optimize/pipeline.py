"""The steps that rewrite a positional graph, in order, and the backends that each is for.

A step is switched off by its name, and so is a rule: ``DIMTENSOR_PASSES=-factor_sums,-square``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import CheckAndRaise

from dimtensor.ops.graphs import on_nodes
from dimtensor.optimize.canonical_forms import (
    accumulated_as_asked,
    conditionals_as_branches,
    decompositions_as_ours,
    inline_graphs,
    products_as_reductions,
    solves_by_factors,
    split_as_slices,
    updates_once,
)
from dimtensor.optimize.exponentials import write_out_exponentials
from dimtensor.optimize.lag_gradients import first_of_padded
from dimtensor.optimize.loops.driver import Settled, rewrite_loops
from dimtensor.optimize.once import DataSplit, split_once
from dimtensor.optimize.rules import RULES, Rule, rewrite
from dimtensor.optimize.rules.batched import with_core_shapes
from dimtensor.optimize.short_axes import write_out_short_axes
from dimtensor.optimize.short_products import write_out_short_products
from dimtensor.optimize.steps import for_xla
from dimtensor.optimize.sums import factor_sums
from dimtensor.optimize.target import Target
from dimtensor.optimize.trace_sums import absorb_sums
from dimtensor.settings import settings


class OptimizerStep(NamedTuple):
    """A step of the optimizer.

    Attributes
    ----------
    name : str
    rewrite : callable
        Changes a graph in place. After a step of a whole graph that returns True, loops are
        rewritten again.
    holds : callable
        Tells whether the step is for a target.
    """

    name: str
    rewrite: Callable[[FunctionGraph, Optimizer], Any]
    holds: Callable[[Target], bool]


def _step(
    rewrite: Callable[[FunctionGraph], Any], holds: Callable[[Target], bool]
) -> OptimizerStep:
    """Return a step that does the same for every target, named after its function."""
    return OptimizerStep(rewrite.__name__, lambda graph, run: rewrite(graph), holds)


def _rewrites(target: Target) -> bool:
    return target.rewrites


def _fuses(target: Target) -> bool:
    return target.fuses


def _has_costly_loops(target: Target) -> bool:
    return target.costly_loops


@on_nodes(CheckAndRaise)
def drop_assertions(node: Apply) -> Variable:
    """Drop the assertions of a graph; the checks of a program are outputs."""
    return node.inputs[0]


_RULES = OptimizerStep("rules", lambda graph, run: rewrite(graph, run.rules), _rewrites)
# the steps for the body of a loop, and for a graph around its loops
OF_BODIES = (
    _step(conditionals_as_branches, _fuses),
    _step(inline_graphs, lambda target: target.rewrites and not target.differentiated),
    _RULES,
    _step(drop_assertions, lambda target: target.rewrites and not target.raises),
    _step(decompositions_as_ours, _fuses),
    _step(solves_by_factors, _fuses),
    _step(split_as_slices, _fuses),
    _step(updates_once, _fuses),
    _step(first_of_padded, _fuses),
    _step(products_as_reductions, _fuses),
    _step(accumulated_as_asked, _fuses),
    _step(write_out_short_products, _fuses),
    _step(factor_sums, _rewrites),
    _RULES,
    _step(with_core_shapes, _fuses),
)
# the steps for a whole graph, once its loops have been rewritten
OF_GRAPHS = (
    OptimizerStep("body", lambda graph, run: run.rewrite_body(graph), _rewrites),
    OptimizerStep("absorb_sums", lambda graph, run: absorb_sums(graph, run.target), _rewrites),
    _step(for_xla, _has_costly_loops),
    OptimizerStep("split_once", lambda graph, run: run.split_data(graph), _rewrites),
    _step(write_out_short_axes, _fuses),
    OptimizerStep("write_out_exponentials", lambda graph, run: run.write_out(graph), _fuses),
)


class Optimizer:
    """A run of the steps over a graph for a target.

    Parameters
    ----------
    target : Target
    fixed : sequence of Variable
        Inputs of the graph that stay the same between calls.
    """

    def __init__(self, target: Target, fixed: Sequence[Variable] = ()):
        off = settings().passes_off
        self.target: Target = target
        self.fixed: Sequence[Variable] = fixed
        self.split: DataSplit | None = None
        self.rules: list[Rule] = [
            rule
            for rule in RULES
            if rule.name not in off and (rule.differentiable or not target.differentiated)
        ]
        self._of_bodies = self._chosen(OF_BODIES, off)
        self._of_graphs = self._chosen(OF_GRAPHS, off)

    def _chosen(self, steps: Sequence[OptimizerStep], off: Collection[str]) -> list[OptimizerStep]:
        return [step for step in steps if step.name not in off and step.holds(self.target)]

    def rewrite_body(self, graph: FunctionGraph) -> bool:
        """Rewrite a graph but for its loops."""
        for step in self._of_bodies:
            step.rewrite(graph, self)
        return True

    def rewrite_step(self, graph: FunctionGraph) -> bool:
        """Rewrite the body of a loop, whose parts are what a loop stores, or computes again."""
        self.rewrite_body(graph)
        if self.target.fuses:
            write_out_exponentials(graph)
        return True

    def write_out(self, graph: FunctionGraph) -> None:
        """Write exponentials out, also in the data-only part."""
        write_out_exponentials(graph)
        if self.split is not None:
            write_out_exponentials(self.split.once)

    def split_data(self, graph: FunctionGraph) -> None:
        """Move the computations that use only fixed inputs to a separate graph."""
        self.split = split_once(graph, self.fixed, self.target.fuses)

    def run(self, graph: FunctionGraph, last: str | None = None) -> None:
        """Rewrite a graph in place, by the steps up to a last one."""
        settled: Settled = {}

        def rewrite_all_loops() -> bool:
            return rewrite_loops(graph, self.rewrite_step, self.target, settled)

        has_loops = bool(self._of_graphs) and rewrite_all_loops()
        for step in self._of_graphs:
            if step.rewrite(graph, self) and has_loops:
                rewrite_all_loops()
            if step.name == last:
                break


def optimize(
    graph: FunctionGraph,
    target: Target,
    fixed: Sequence[Variable] = (),
    last: str | None = None,
) -> DataSplit | None:
    """Rewrite a graph in place for a target.

    Parameters
    ----------
    graph : FunctionGraph
    target : Target
    fixed : sequence of Variable
        Inputs of the graph that stay the same between calls.
    last : str, optional
        The step of the whole graph after which the optimizer stops; by default, after all.

    Returns
    -------
    DataSplit or None
        The data-only part, if computations were moved to it.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> graph = FunctionGraph([x], [(x * 1.0 * 3.0).sum()], clone=True)
    >>> optimize(graph, Target(rewrites=True))
    >>> [type(node.op).__name__ for node in graph.toposort()]
    ['Sum', 'Elemwise']
    """
    optimizer = Optimizer(target, fixed)
    optimizer.run(graph, last)
    return optimizer.split
