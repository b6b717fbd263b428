"""Choice of the stored results of a graph, and of the loop nest that computes each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import (
    ScalarInnerGraphOp,
    ScalarOp,
    ScalarType,
)
from pytensor.tensor.basic import Alloc, ARange, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)
from pytensor.tensor.type import TensorType

from dimtensor.ops.facts import REDUCTIONS, facts_of
from dimtensor.ops.positions import GroupExtreme
from dimtensor.ops.slices import entries_of, is_known, parts_of
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.axis_lengths import (
    Axis,
    Extents,
    earlier_update,
    gather_layout,
    selection_of,
)
from dimtensor.optimize.plan.repeats import read_at_many_places
from dimtensor.optimize.plan.segments import is_only_looked_up, is_segmented, segments_of
from dimtensor.optimize.plan.signatures import array_inputs, core_op, reads_elements
from dimtensor.optimize.plan.triangles import Triangles

_ELEMENT_BY_ELEMENT = (
    DimShuffle, Alloc, ARange, SpecifyShape, ScalarFromTensor, TensorFromScalar, Shape_i, Shape,
    MakeVector,
)  # fmt: skip


# loops: classes of axes, told apart where one occurs twice
Space = tuple[tuple[Axis, int], ...]


@dataclass
class Task:
    """One result to be stored.

    Attributes
    ----------
    kind : {"store", "reduce", "scatter", "call"}
    node : Apply or None
        The operation, for all kinds but a store.
    target : Variable
        What is computed.
    space : tuple of Axis
        Classes of the loops, one per axis of the iteration; an axis of length 1 has no loop.
    axes : tuple of int
        The axis of the iterated variable that each loop walks.
    below : tuple of two of the loops, or empty
        Rows and columns, of which those above the diagonal are left out.
    """

    kind: str
    node: Apply | None
    target: Variable
    space: Space = ()
    axes: tuple[int, ...] = ()
    below: Space = ()
    group: int = -1

    @property
    def iterated(self) -> Variable:
        """The variable whose axes the loops walk."""
        if self.kind == "store":
            return self.target
        assert self.node is not None
        is_update = self.kind == "scatter" and not isinstance(core_op(self.node), GroupExtreme)
        return selection_of(self.node) if is_update else self.node.inputs[0]


@dataclass
class Group:
    """Tasks that share a loop nest, or one call."""

    tasks: list[Task] = field(default_factory=list)
    space: Space = ()
    below: Space = ()
    reads: set[Variable] = field(default_factory=set)

    @property
    def is_call(self) -> bool:
        return self.tasks[0].kind == "call"

    def walks(self, segments: Apply, axis: tuple[Axis, int]) -> bool:
        """Return whether a loop is along segments, some of whose ends the group reads."""
        return axis in self.space and segments.inputs[0] in self.reads

    def has_loops_of(self, task: Task) -> bool:
        """Return whether the group has the loops of a task, in some order."""
        same = sorted(map(_key, self.space)) == sorted(map(_key, task.space))
        return same and self.below == task.below and not self.is_call


class Plan:
    """Tasks of a graph, in groups, in an order in which they can run.

    Parameters
    ----------
    graph : FunctionGraph
    fuse : bool
        Whether tasks share loop nests; otherwise each has its own, to compare with.
    same : iterable of (Axis, Axis)
        Axes that are known to have the same length.
    walks_segments : bool
        Whether loops along segments are loops over them; otherwise segments are in arrays.
    """

    def __init__(
        self,
        graph: FunctionGraph,
        fuse: bool = True,
        same: Iterable[tuple[Axis, Axis]] = (),
        walks_segments: bool = True,
    ):
        self.graph = graph
        self.fuse = fuse
        self.extents = Extents(graph, same)
        self.order = list(graph.toposort())
        # by the class of their axis, the segments that loops along it walk one after the other
        self.segments = segments_of(self.order, self.extents) if walks_segments else {}
        self.inline = {n for n in self.order if self._is_inline(n)}
        self.stored: set[Variable] = set(graph.inputs)
        self._choose_stored()
        self._triangles = Triangles(graph, self.order)
        self.groups: list[Group] = []
        self._ready: dict[Variable, int] = {}
        self._behind: dict[Variable, tuple[int, frozenset[Variable]]] = {}
        self._schedule()
        while repeated := self._repeated():
            self.stored |= repeated
            self._schedule()
        self._read_at_the_end: set[Variable] = set()
        for output in graph.outputs:
            if not isinstance(output, Constant) and output not in self._ready:
                self._available(output, self._read_at_the_end)

    # -- what is stored --------------------------------------------------------------------------

    def _is_inline(self, node: Apply) -> bool:
        """Return whether the elements of a node's output can be written as an expression."""
        op = node.op
        if not all(isinstance(v.type, TensorType) or _scalar(v) for v in node.outputs):
            return False
        if isinstance(op, (Elemwise, ScalarOp)):
            return len(node.outputs) == 1 and not _is_composite(op)
        if isinstance(op, Subtensor):
            return has_simple_slices(node)
        if isinstance(op, AdvancedSubtensor):
            return gather_layout(node) is not None
        if is_segmented(node):
            return node in self.segments.values()
        return isinstance(op, _ELEMENT_BY_ELEMENT)

    def is_reduction(self, node: Apply) -> bool:
        return isinstance(node.op, CAReduce) and type(node.op.scalar_op) in REDUCTIONS

    def is_scatter(self, node: Apply) -> bool:
        if isinstance(node.op, IncSubtensor):
            return has_simple_slices(node)
        if isinstance(core_op(node), GroupExtreme):
            return True
        return isinstance(node.op, AdvancedIncSubtensor) and gather_layout(node) is not None

    def _choose_stored(self) -> None:
        clients = self.graph.clients
        outputs = set(self.graph.outputs)
        for node in self.order:
            if node not in self.inline:
                self.stored.update(node.outputs)
                if not (self.is_reduction(node) or self.is_scatter(node)):
                    self.stored.update(array_inputs(node))
                elif isinstance(core_op(node), GroupExtreme):
                    pass  # elements of its operands are computed
                elif self.is_scatter(node) and not _is_fill(node.inputs[0]):
                    self.stored.add(node.inputs[0])
                continue
            (out,) = node.outputs
            if out in outputs:
                self.stored.add(out)
            if is_segmented(node):
                self.stored.add(node.inputs[0])
                if not is_only_looked_up(self.graph, out):
                    self.stored.add(out)
            if isinstance(node.op, (AdvancedSubtensor,)):
                self.stored.update(
                    v for v in node.inputs if self._costs(v) and not _is_gathered_position(v, node)
                )
            elif isinstance(node.op, DimShuffle) and "x" in node.op.new_order:
                if node.inputs[0].type.ndim and self._costs(node.inputs[0]):
                    self.stored.add(node.inputs[0])
            elif isinstance(node.op, (MakeVector, Shape)):
                readers = [(c, at) for c, at in clients[out] if c != "output"]
                if any(not (_scalar_reader(c) or reads_elements(c, at)) for c, at in readers):
                    self.stored.add(out)
        self.stored.update(v for v in outputs if not isinstance(v, Constant))
        self.stored |= read_at_many_places(self.order, self.inline, self.stored.__contains__)
        self.stored = {v for v in self.stored if not isinstance(v, Constant)}

    def _costs(self, variable: Variable) -> bool:
        """Return whether computing an element takes longer than reading one."""
        node = variable.owner
        if node is None or variable in self.stored or variable.type.ndim == 0:
            return False
        if isinstance(node.op, (DimShuffle, Subtensor, SpecifyShape)):
            return self._costs(node.inputs[0])
        return not (isinstance(node.op, ARange) or is_segmented(node) or _is_fill(variable))

    # -- schedule ----------------------------------------------------------------------------------

    def _tasks(self) -> list[Task]:
        tasks = []
        for node in self.order:
            if node in self.inline:
                (out,) = node.outputs
                if out in self.stored and getattr(out.type, "ndim", 0) > 0:
                    below = self._triangles.is_read_below(out)
                    tasks.append(Task("store", None, out, *self._loops_over(out, below)))
            elif self.is_reduction(node):
                source = node.inputs[0]
                below = self._triangles.is_added_below(node)
                loops = self._loops_over(source, below)
                tasks.append(Task("reduce", node, node.outputs[0], *loops))
            elif self.is_scatter(node):
                tasks.append(Task("scatter", node, node.outputs[0], *self._scatter_space(node)))
            else:
                tasks.append(Task("call", node, node.outputs[0]))
        return tasks

    def space_of(self, variable: Variable) -> tuple[Space, tuple[int, ...]]:
        """Loops over a variable: their classes, told apart where one occurs twice, and axes."""
        seen: dict[Axis, int] = {}
        space, axes = [], []
        for axis, length in enumerate(variable.type.shape):
            if length == 1:
                continue
            cls = self.extents.find((variable, axis))
            seen[cls] = seen.get(cls, -1) + 1
            space.append((cls, seen[cls]))
            axes.append(axis)
        return tuple(space), tuple(axes)

    def _loops_over(self, variable: Variable, below: bool) -> tuple[Space, tuple[int, ...], Space]:
        """Return the loops as `space_of`, or those of the lower triangle of a matrix."""
        space, axes = self.space_of(variable)
        return space, axes, space[-2:] if below else ()

    def _scatter_space(self, node: Apply) -> tuple[Space, tuple[int, ...]]:
        """Return the loops over the selection of a scatter, in which the value may broadcast."""
        if isinstance(core_op(node), GroupExtreme):
            return self.space_of(node.inputs[0])
        return self.space_of(selection_of(node))

    def _repeated(self) -> set[Variable]:
        """Expensive elements that more than one loop nest would compute."""
        seen: dict[Variable, int] = {}
        repeated: set[Variable] = set()
        for number, found in enumerate(self._expensive_elements()):
            for variable in found:
                if seen.setdefault(variable, number) != number:
                    repeated.add(variable)
        return repeated - self.stored

    def _expensive_elements(self) -> Iterator[list[Variable]]:
        """Yield the expensive elements that each group computes."""
        for group in self.groups:
            walked: set[Variable] = set()
            found: list[Variable] = []
            for task in group.tasks:
                if task.node is None and is_expensive(task.target.owner):
                    found.append(task.target)
                found += self._computed_in(task, walked)
            yield found

    def _computed_in(self, task: Task, seen: set[Variable]) -> list[Variable]:
        """Return the expensive elements that a task computes itself, without those seen before."""
        stack, found = self._sources(task), []
        while stack:
            v = stack.pop()
            if v in seen or v in self._ready or v.owner is None:
                continue
            seen.add(v)
            if getattr(v.type, "ndim", 0) and is_expensive(v.owner):
                found.append(v)
            stack.extend(v.owner.inputs)
        return found

    def _schedule(self) -> None:
        self.groups, self._ready, self._behind = [], {}, {}
        for variable in self.graph.inputs:
            self._ready[variable] = 0
        for task in self._tasks():
            task.group = self._beside_same_target(task)
            if task.group < 0:
                reads: set[Variable] = set()
                earliest = max((self._available(v, reads) for v in self._sources(task)), default=0)
                task.group = self._place(task, earliest, reads)
            for out in task.node.outputs if task.node is not None else [task.target]:
                self._ready[out] = task.group + 1

    def _sources(self, task: Task) -> list[Variable]:
        if task.node is None:
            assert task.target.owner is not None
            return list(task.target.owner.inputs)
        return list(task.node.inputs)

    def last_reader(self, variable: Variable) -> int:
        """Return the last group that reads a stored array.

        It is -1 if a call reads the array, which may keep a view, or a number that is returned: it
        is computed after all groups.
        """
        if variable in self._read_at_the_end:
            return -1
        readers = [at for at, group in enumerate(self.groups) if variable in group.reads]
        if not readers or any(self.groups[at].is_call for at in readers):
            return -1
        return readers[-1]

    def _available(self, variable: Variable, reads: set[Variable]) -> int:
        """Return the first group that may read a variable, and the stored arrays behind it."""
        behind, stack = self._behind, [variable]
        while stack:
            v = stack[-1]
            if v in behind:
                stack.pop()
                continue
            known = self._ready.get(v)
            if isinstance(v, Constant):
                behind[v] = (0, frozenset())
            elif known is not None:
                stored = getattr(v.type, "ndim", 0) > 0
                behind[v] = (known, frozenset([v]) if stored else frozenset())
            elif v.owner is None:
                raise UnsupportedGraph(f"{v} is neither input nor computed")
            elif missing := [x for x in v.owner.inputs if x not in behind]:
                stack += missing
            else:
                found = {behind[x] for x in v.owner.inputs}
                behind[v] = (
                    max((at for at, _ in found), default=0),
                    frozenset().union(*(arrays for _, arrays in found)),
                )
        earliest, arrays = behind[variable]
        reads |= arrays
        return earliest

    def _place(self, task: Task, earliest: int, reads: set[Variable]) -> int:
        if task.kind != "call" and self.fuse:
            for number in range(earliest, len(self.groups)):
                group = self.groups[number]
                if not group.has_loops_of(task):
                    continue
                if not task.space or group.reads & reads:
                    group.tasks.append(task)
                    group.reads |= reads
                    return number
            if task.kind == "scatter" and self._wait(task, earliest, reads):
                return len(self.groups) - 1
        self.groups.append(Group([task], task.space, task.below, set(reads)))
        return len(self.groups) - 1

    def _beside_same_target(self, task: Task) -> int:
        """Return the group of a scatter-add that this one can join, adding to its array, or -1."""
        if task.node is None or task.kind != "scatter" or not self.fuse:
            return -1
        before = earlier_update(self.graph, task.node)
        if before is None or not self.is_scatter(before):
            return -1
        target, *sources = task.node.inputs
        number, reads = self._ready[target] - 1, set[Variable]()
        group = self.groups[number]
        if max(self._available(v, reads) for v in sources) > number or not reads & group.reads:
            return -1
        if not group.has_loops_of(task):
            return -1
        group.tasks.append(task)
        group.reads |= reads
        return number

    def _wait(self, task: Task, earliest: int, reads: set[Variable]) -> bool:
        """Put a scatter into an earlier loop, which waits for what the scatter adds to.

        The gradient of a look-up is added to that of a prior: what is added is computed in the loop
        of the likelihood, which comes first.
        """
        for number in reversed(range(earliest)):
            group = self.groups[number]
            if not (group.has_loops_of(task) and group.reads & reads):
                continue
            made = {v for v, at in self._ready.items() if at == number + 1}
            later = [t for other in self.groups[number + 1 :] for t in other.tasks]
            if any(not made.isdisjoint(self._needed(each)) for each in (task, *later)):
                continue
            self.groups.append(self.groups.pop(number))
            for v, at in self._ready.items():
                if at > number:
                    self._ready[v] = len(self.groups) if at == number + 1 else at - 1
            for place, other in enumerate(self.groups):
                for each in other.tasks:
                    each.group = place
            self._behind = {}
            group.tasks.append(task)
            group.reads |= reads
            return True
        return False

    def _needed(self, task: Task) -> set[Variable]:
        """Return the inputs, and results of groups, that a task reads."""
        found, stack = set(), self._sources(task)
        seen: set[Variable] = set()
        while stack:
            v = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self._ready:
                found.add(v)
            elif v.owner is not None:
                stack.extend(v.owner.inputs)
        return found


def _key(item: tuple[Axis, int]) -> tuple[int, int, int]:
    (variable, axis), occurrence = item
    return (id(variable), axis, occurrence)


def _scalar(variable: Variable) -> bool:
    return isinstance(variable.type, ScalarType)


def _is_composite(op: Elemwise | ScalarOp) -> bool:
    return isinstance(getattr(op, "scalar_op", op), ScalarInnerGraphOp)


def _is_fill(variable: Variable) -> bool:
    """Return whether a variable is a repeated number."""
    node = variable.owner
    if node is not None and isinstance(node.op, Alloc):
        value = node.inputs[0]
        return all(length == 1 for length in value.type.shape) and isinstance(value, Constant)
    return False


def _scalar_reader(node: Apply) -> bool:
    """Return whether a reader of a short vector reads single elements at constant positions."""
    if isinstance(node.op, DimShuffle):
        return True
    return isinstance(node.op, Subtensor) and all(isinstance(e, int) for e in entries_of(node))


def has_simple_slices(node: Apply) -> bool:
    """Return whether a basic selection has only integers, and slices with constant ends.

    Along an axis of unknown length, a slice with a negative step must take all elements.
    """
    for entry, length in zip(entries_of(node), node.inputs[0].type.shape, strict=True):
        if isinstance(entry, slice):
            start, stop, step = parts_of(entry)
            if not is_known(entry):
                return False
            if length is None and (step or 1) < 0 and not start is stop is None:
                return False
    return True


def is_expensive(node: Apply) -> bool:
    """Return whether an element takes a call of a library function."""
    return isinstance(node.op, Elemwise) and not facts_of(node.op.scalar_op).is_cheap


def _is_gathered_position(variable: Variable, node: Apply) -> bool:
    """Return whether each element of positions is gathered from an array, and read once."""
    owner = variable.owner
    return (
        variable is not node.inputs[0]
        and owner is not None
        and isinstance(owner.op, AdvancedSubtensor)
        and variable.type.ndim == node.outputs[0].type.ndim
        and all(x.owner is None for x in owner.inputs)
    )
