"""Frames: values determined by the lengths and labels of a call, cached between calls."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends import Executable
from dimtensor.compile.hidden_inputs import locate
from dimtensor.compile.memory import check_lengths
from dimtensor.compile.program import Program
from dimtensor.dims import Binding, Dim
from dimtensor.graph import Node
from dimtensor.graph.checking.lengths import bind_relabeled
from dimtensor.tuning import COMPARED_INTEGERS
from dimtensor.values.admission import check_positions
from dimtensor.values.data import title_of
from dimtensor.values.outputs import Labeler
from dimtensor.values.ports import Reader


class Limit(NamedTuple):
    """Input whose elements are positions along a dim, to be checked at every call."""

    at: int
    length: int | None
    dim: Dim
    title: str


class CallFrame:
    """State shared by all calls with the same lengths and labels.

    Parameters
    ----------
    binding : Binding
        Lengths and labels of dims, of data and of the inputs of the call.
    program : Program
    executable : Executable
    data : sequence of ndarray
    n_inputs : int
    labelers : sequence of Labeler
    settle : callable
        Computes the data-only part of an executable: see `Settled`.

    Attributes
    ----------
    fixed : tuple of ndarray
        Arguments of the executable after the inputs: data, then positions of labels.
    limits : list of Limit
    aliases : list of bool or None
        For each result, whether it may share memory with inputs, data or earlier results; None
        before the first call.

    Raises
    ------
    DimError, LabelError, PositionError
        If lengths and labels contradict each other or the operations of the function.
    """

    __slots__ = (
        "_call", "_settled", "aliases", "binding", "fixed", "labelers", "limits", "program",
    )  # fmt: skip

    def __init__(
        self,
        binding: Binding,
        program: Program,
        executable: Executable,
        data: Sequence[np.ndarray],
        n_inputs: int,
        labelers: Sequence[Labeler],
        settle: Callable[[Executable, Sequence[np.ndarray]], tuple[np.ndarray, ...]],
    ):
        self.binding = binding
        self.program = program
        self.labelers = labelers
        self.limits = check_indexers(program, data, n_inputs, binding)
        self.fixed = (*data, *located(program, binding))
        self._settled: tuple[np.ndarray, ...] = settle(executable, self.fixed)
        self._call = executable.bind(self._settled)
        self.aliases: list[bool] | None = None

    def run(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Compute results, masks and checks; results that may share memory are copied."""
        results = [np.asarray(one) for one in self._call(*arrays)]
        if self.aliases is None:
            held = [x for x in self._settled if isinstance(x, np.ndarray)]
            self.aliases = _aliases(results, [*arrays, *held])
        if True in self.aliases:
            pairs = zip(results, self.aliases, strict=True)
            return [one.copy() if shared else one for one, shared in pairs]
        return results

    def check_inputs(self, arrays: Sequence[np.ndarray]) -> None:
        """Check the elements of inputs that are used as positions.

        Raises
        ------
        PositionError
            If one is outside of its dim.
        """
        for limit in self.limits:
            check_positions(arrays[limit.at], limit.length, limit.dim, limit.title)


class Repeated(NamedTuple):
    """Frame of the last call, reused for values of the same kind, lengths and labels."""

    frame: CallFrame
    readers: Sequence[Reader]

    def arrays(self, values: Sequence[Any]) -> list[np.ndarray] | None:
        """Read the arrays of values, or return None if one differs in kind from the last call's."""
        found = []
        for read, value in zip(self.readers, values, strict=True):
            array = read(value)
            if array is None:
                return None
            found.append(array)
        return found


class Settled:
    """Results of the data-only part of a function, computed once per data set for all frames.

    Examples
    --------
    >>> from dimtensor.backends.base import Executable
    >>> calls = []
    >>> once = Executable(lambda x: calls.append(x) or [x + 1], None, {})
    >>> code, settle, data = Executable(None, None, {}, once=once), Settled(), np.zeros(2)
    >>> [x.tolist() for x in settle(code, [data])], settle(code, [data])[1].tolist(), len(calls)
    ([[0.0, 0.0], [1.0, 1.0]], [1.0, 1.0], 1)
    """

    def __init__(self) -> None:
        self._known: list[tuple[Executable, tuple[np.ndarray, ...], tuple[np.ndarray, ...]]] = []

    def __call__(
        self, executable: Executable, fixed: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """Return the arguments of an executable after the inputs: data and data-only results."""
        if executable.once is None and executable.placing is None:
            return tuple(fixed)
        for of, arrays, settled in self._known:
            if of is executable and all(map(_same, arrays, fixed)):
                return settled
        found = executable.settled(fixed)
        self._known = [*self._known[-3:], (executable, tuple(fixed), found)]
        return found


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Compare arrays: by identity, or, for positions of labels, which are recomputed, by value."""
    return one is other or (
        one.dtype.kind == "i" and one.size < COMPARED_INTEGERS and np.array_equal(one, other)
    )


def _aliases(results: Sequence[np.ndarray], others: list[np.ndarray]) -> list[bool]:
    """Return for each result whether it may alias another array, which depends on the code only."""
    starts: list[int] = []  # of disjoint spans of memory, in order
    ends: list[int] = []

    def overlaps(array: np.ndarray) -> bool:
        low, high = np.lib.array_utils.byte_bounds(array)
        first, last = bisect_right(ends, low), bisect_left(starts, high)
        found = first < last
        if found:
            low, high = min(low, starts[first]), max(high, ends[last - 1])
        starts[first:last], ends[first:last] = [low], [high]
        return found

    for other in others:
        if other.size:
            overlaps(other)
    return [result.size > 0 and overlaps(result) for result in results]


def located(program: Program, binding: Binding) -> list[np.ndarray]:
    """Compute the hidden inputs (positions of labels, ends of slices, lengths) for a binding."""
    return [
        locate(slot.source, binding)
        for slot in program.slots
        if not isinstance(slot.source, (Node, Dim))
    ]


def check_indexers(
    program: Program, data: Sequence[np.ndarray], n_inputs: int, binding: Binding
) -> list[Limit]:
    """Check data that are used as positions, and list the inputs to check at every call.

    Raises
    ------
    PositionError
        If an element of data is out of range for its dim.
    """
    limits = []
    places = {slot.source: at for at, slot in enumerate(program.slots)}
    for leaf, dim in program.indexed:
        at, length = places[leaf], dim._bound_length(binding)
        if at < n_inputs:
            limits.append(Limit(at, length, dim, title_of(leaf)))
        else:
            check_positions(data[at - n_inputs], length, dim, title_of(leaf))
    return limits


def complete(binding: Binding, program: Program) -> None:
    """Check the lengths and labels that inputs and data imply, and derive those of other dims.

    Raises
    ------
    DimError, LabelError, PositionError
        If they contradict each other, or a dim is too short for an operation along it.
    MemoryLimitError
        If a dim has more positions than 64-bit integers count.
    """
    bind_relabeled(program.relabeled, binding)
    binding.check_derived()
    check_lengths(program.grown, binding)
    for requirement in program.requirements:
        requirement.check(binding)
