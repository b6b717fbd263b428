"""Schedules: the steps of the kernel that computes outputs, with their costs.

The graph is lowered and its loop nests are generated as for a call; nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph

from dimtensor.compile.code import compiling
from dimtensor.compile.program import Program, build_program
from dimtensor.cost.polynomial import ZERO, Count, Lengths, Number, Polynomial
from dimtensor.cost.sizes import size_of
from dimtensor.dims import Dim, Dims, depends_on_mask
from dimtensor.explanation.nests import NestReader, Totals, bytes_in
from dimtensor.graph import Node, toposort
from dimtensor.graph.lines import Line
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.regions import DERIVATIVES
from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.target import NATIVE
from dimtensor.lower.border import Remembered, made_for
from dimtensor.lower.context import LoweringOptions
from dimtensor.optimize.exponentials import write_out_exponentials
from dimtensor.optimize.pipeline import optimize
from dimtensor.optimize.plan.plan import Group, Plan, Task
from dimtensor.tuning import SORT, SORT_DEPTH

# variables that are searched for one whose node is known
_NEAR = 200
_TITLE_WIDTH = 44
_LEAVES = frozenset({"input", "data", "shaped", "bound", "constant"})


class AllocatedArray(NamedTuple):
    """Array that a call allocates.

    Attributes
    ----------
    size : Polynomial
        In bytes.
    node : Node or None
        The expression whose value it is, or for which it is an intermediate result.
    is_result : bool
    """

    size: Polynomial
    node: Node | None
    is_result: bool

    @property
    def line(self) -> Line | None:
        """The expression's line in the user's code."""
        return None if self.node is None else self.node.line


class Step(NamedTuple):
    """Step of a kernel: a loop nest, or a call of an operation.

    Attributes
    ----------
    what : str
        ``loops``, or the name of the operation.
    nodes : tuple of Node
        The expressions that it computes.
    flops, read, written : Polynomial
        Operations, and bytes.
    arrays : tuple of AllocatedArray
        The arrays that it allocates.
    """

    what: str
    nodes: tuple[Node, ...]
    flops: Polynomial
    read: Polynomial
    written: Polynomial
    arrays: tuple[AllocatedArray, ...]

    @property
    def title(self) -> str:
        """What the step computes, in one line."""
        shown = [node for node in self.nodes if node.kind != "bound"]
        if not shown:
            return self.what
        more = f" and {len(shown) - 1} more" if len(shown) > 1 else ""
        return formula(shown[0], _TITLE_WIDTH) + more

    @property
    def temporaries(self) -> Polynomial:
        """Bytes of the arrays that are not results."""
        return sum((each.size for each in self.arrays if not each.is_result), ZERO)


@dataclass(frozen=True)
class Schedule:
    """Steps of a function, and its memory in bytes.

    Attributes
    ----------
    steps : tuple of Step
        The steps of each call.
    once : tuple of Step
        The steps of the data-only part, which runs once per data set.
    given : Polynomial
        Size of the inputs.
    held : Polynomial
        Size of data, constants and data-only results.
    temporaries, results : Polynomial
    """

    steps: tuple[Step, ...]
    once: tuple[Step, ...]
    given: Polynomial
    held: Polynomial
    temporaries: Polynomial
    results: Polynomial

    @property
    def peak(self) -> Polynomial:
        """Peak memory: that at the end of a call, as nothing is freed before."""
        return self.given + self.held + self.temporaries + self.results

    @property
    def arrays(self) -> list[AllocatedArray]:
        """All arrays that are allocated."""
        return [each for step in (*self.once, *self.steps) for each in step.arrays]

    def total(self, what: str) -> Polynomial:
        """Sum ``flops``, ``read`` or ``written`` over the steps of a call."""
        return sum((getattr(step, what) for step in self.steps), ZERO)


class _Marked(Emitter):
    """Emitter that records the statements of each group, and the variables of arrays."""

    marks: list[tuple[Group, int, int]]

    def _nest(self, group: Group, number: int) -> None:
        start = len(self.lines)
        super()._nest(group, number)
        self._mark(group, start)

    def _call(self, task: Task) -> None:
        start = len(self.lines)
        super()._call(task)
        self._mark(Group([task]), start)

    def _mark(self, group: Group, start: int) -> None:
        if self.early is self.lines:
            marks = self.__dict__.setdefault("marks", [])
            marks.append((group, start, len(self.lines)))

    def array(self, variable: Variable) -> ir.Array:
        made = super().array(variable)
        self.variables[made.name] = variable
        return made

    @property
    def variables(self) -> dict[str, Variable]:
        """Variables of the function by the names of their arrays."""
        return self.shared.__dict__.setdefault("variables", {})


class _Read(NamedTuple):
    """Costs of a kernel."""

    steps: tuple[Step, ...]
    temporaries: Polynomial
    results: list[tuple[tuple[Polynomial, ...], str]]
    constants: int


def schedule(
    inputs: Sequence[Node | Dim], outputs: Sequence[Node], allow: Any = frozenset()
) -> Schedule:
    """Compute the schedule of outputs.

    Raises
    ------
    GraphError
        If the outputs need an input that is not given.
    """
    return compiling(lambda: _schedule(inputs, outputs, allow))


def _schedule(inputs: Sequence[Node | Dim], outputs: Sequence[Node], allow: Any) -> Schedule:
    program = build_program(inputs, outputs, options=LoweringOptions(NATIVE, remember=True))
    graph = FunctionGraph(list(program.inputs), list(program.outputs), clone=True)
    graph.attach_feature(Remembered())
    fixed = graph.inputs[len(inputs) :]
    split = optimize(graph, NATIVE.allowing(allow), fixed, last="split_once")
    for part in (graph, *(() if split is None else (split.once,))):
        write_out_exponentials(part)
    shapes = [_shape(slot.dims) for slot in program.slots if slot.variable is not None]
    numbers = _numbers(program)
    once = None
    plan = Plan(graph)
    if split is not None:
        n = len(inputs)
        once = _read(Plan(split.once), shapes[n:], numbers[n:], program)
        shapes = [*shapes, *(shape for shape, _ in once.results)]
        plan = Plan(graph, same=split.same_lengths)
    found = _read(plan, shapes, numbers, program)
    sizes = [bytes_in(shape, v.type.dtype) for shape, v in zip(shapes, graph.inputs, strict=False)]
    n = len(inputs)
    outer = _outside(outputs)
    return Schedule(
        tuple(outer(step) for step in found.steps),
        () if once is None else tuple(outer(step) for step in once.steps),
        sum(sizes[:n], ZERO),
        sum(sizes[n:], ZERO) + found.constants,
        found.temporaries,
        sum((bytes_in(shape, dtype) for shape, dtype in found.results), ZERO),
    )


def _outside(outputs: Sequence[Node]) -> Callable[[Step], Step]:
    """Return a function that replaces expressions within derivatives by those outside of them."""
    owners: dict[Node, Node] = {}
    for node in toposort(outputs):
        if node.kind in DERIVATIVES:
            for each in toposort(node.attrs.region.outputs):
                owners.setdefault(each, node)
    known: dict[Node, Node] = {}

    def outside(node: Node) -> Node:
        if node not in known:
            owner = owners.get(node)
            known[node] = node
            if owner is not None and any(leaf.kind == "bound" for leaf in toposort([node])):
                pairs = dict(zip(owner.attrs.region.bound, owner.inputs, strict=False))
                known[node] = rebuild([node], pairs)[0]
        return known[node]

    def outer(step: Step) -> Step:
        arrays = (
            each if each.node is None else each._replace(node=outside(each.node))
            for each in step.arrays
        )
        nodes = dict.fromkeys(map(outside, step.nodes))
        return step._replace(nodes=tuple(nodes), arrays=tuple(arrays))

    return outer


def _shape(dims: Dims) -> tuple[Polynomial, ...]:
    return tuple(map(Polynomial.of, dims))


def _numbers(program: Program) -> list[Polynomial | None]:
    """Return the values of scalar inputs that may be lengths or numbers of loop steps."""
    found: list[Polynomial | None] = []
    for slot in program.slots:
        if slot.variable is None:
            continue
        number = None
        if isinstance(slot.source, Dim):
            number = Polynomial.of(slot.source)
        elif isinstance(slot.source, Node) and not slot.dims and "int" in slot.source.dtype:
            number = Polynomial.of(Count(slot.source.name or "rounds"))
        found.append(number)
    return found


def _read(
    plan: Plan,
    shapes: Sequence[tuple[Polynomial, ...]],
    numbers: Sequence[Polynomial | None],
    program: Program,
) -> _Read:
    """Generate the loop nests of a plan and compute their costs.

    Operations are counted before the passes of the kernel compiler, which put the loops of several
    groups together; allocations after them, as they let arrays share memory.
    """
    emitter = _Marked(plan)
    function = emitter.plain()
    sources = _Sources(plan.graph, emitter.variables)
    given = dict(zip((each.name for each in function.arguments), shapes, strict=False))
    given.update((name, _shape_of_data(data)) for name, data in emitter.constants)
    known = {
        each.name: number
        for each, number in zip(function.arguments, numbers, strict=False)
        if number is not None
    }

    def length(name: str, axis: int) -> Polynomial | None:
        variable = emitter.variables.get(name)
        node = None if variable is None else made_for(variable)
        if node is None:
            known = sources.masked(variable)
            return None if known is None else Polynomial.of(known)
        dims = program.order.sort(node.dims)
        return Polynomial.of(dims[axis]) if axis < len(dims) else None

    reader = NestReader(given, known, length)
    names = _result_names(function)
    made = NestReader(given, known, length).read(emitter.optimized(function).body).made
    steps, at = [], 0
    marks = [*getattr(emitter, "marks", ()), (None, len(function.body), len(function.body))]
    for group, start, stop in marks:
        between = reader.read(function.body[at:start])
        if group is not None:
            totals = reader.read(function.body[start:stop])
            steps.append(_step(group, between, totals, sources, names))
        at = max(at, stop)
    results = [(reader.shape(each), each.dtype) for each in function.results]
    temporaries = sum((each.size for each in made if each.name not in names), ZERO)
    constants = sum(data.nbytes for _, data in emitter.constants)
    return _Read(tuple(steps), temporaries, results, constants)


def _shape_of_data(data: np.ndarray) -> tuple[Polynomial, ...]:
    return tuple(map(Polynomial.constant, data.shape))


def _result_names(function: ir.Function) -> set[str]:
    """Return the names of arrays that are results."""
    names = {each.name for each in function.results if isinstance(each, ir.Array)}
    for each in reversed(function.body):
        if isinstance(each, ir.Bind) and isinstance(each.value, ir.Array):
            if each.array.name in names:
                names.add(each.value.name)
    return names


def _step(
    group: Group, between: Totals, totals: Totals, sources: _Sources, results: set[str]
) -> Step:
    variables = [out for task in group.tasks for out in _targets(task)]
    found = [node for v in variables if (node := sources.of(v)) is not None]
    flops = totals.flops + between.flops
    what = "loops"
    if group.is_call:
        node = group.tasks[0].node
        assert node is not None
        what = type(getattr(node.op, "core_op", node.op)).__name__
        if what in ("SortOp", "ArgSortOp"):
            flops = totals.read * Fraction(SORT * SORT_DEPTH, 8)
    arrays = []
    for made in (*between.made, *totals.made):
        made_of = sources.of(sources.variables.get(made.name), made.size)
        if made_of is None and found:
            made_of = found[0]
        arrays.append(AllocatedArray(made.size, made_of, made.name in results))
    unique = tuple(dict.fromkeys(found))
    return Step(what, unique, flops, totals.read, totals.written, tuple(arrays))


def _targets(task: Task) -> list[Variable]:
    return [task.target] if task.node is None else list(task.node.outputs)


class _Sources:
    """Mapping of variables to the nodes they were lowered from, as far as rewrites kept them.

    Parameters
    ----------
    graph : FunctionGraph
    variables : dict of str to Variable
        By the names of arrays.
    """

    def __init__(self, graph: FunctionGraph, variables: dict[str, Variable]):
        self.variables = variables
        self._clients = graph.clients
        self._sized = Lengths(assumed=997)

    def of(self, variable: Variable | None, size: Polynomial | None = None) -> Node | None:
        """Return the node of a variable, or of one nearby: preferably an operation of its size."""
        if variable is None:
            return None
        own = made_for(variable)
        if own is not None and own.kind not in _LEAVES:
            return own
        wanted = None if size is None else size.at(self._sized)
        above = self._near(variable, self._read_by)
        below = self._near(variable, _inputs_of)
        found = [
            ((node.kind in _LEAVES, not self._fits(node, wanted), distance), node)
            for nodes in (above, below)
            for distance, node in enumerate(nodes)
        ]
        return min(found, key=lambda pair: pair[0])[1] if found else own

    def masked(self, variable: Variable | None) -> Dim | None:
        """Return a masked dim of a result that is computed from a variable."""
        for node in () if variable is None else self._near(variable, self._read_by):
            for dim in node.dims:
                if depends_on_mask(dim):
                    return dim
        return None

    def _fits(self, node: Node, wanted: Number | None) -> bool:
        return wanted is None or size_of(node).at(self._sized) == wanted

    def _read_by(self, variable: Variable) -> list[Variable]:
        clients = self._clients.get(variable, ())
        return [out for node, _ in clients if isinstance(node, Apply) for out in node.outputs]

    def _near(self, variable: Variable, below: Callable[[Variable], list[Variable]]) -> list[Node]:
        """Return the closest nodes on all paths from a variable in one direction."""
        pending, seen, found = [variable], set[Variable](), []
        while pending and len(seen) < _NEAR:
            one = pending.pop(0)
            if one in seen or isinstance(one, Constant):
                continue
            seen.add(one)
            node = made_for(one)
            if node is not None:
                found.append(node)
            if node is None or one is variable:
                pending += below(one)
        return found


def _inputs_of(variable: Variable) -> list[Variable]:
    return [] if variable.owner is None else list(variable.owner.inputs)
