"""Stages of a function on devices: each computes from the combined values of those before it.

A mean is a quotient of two sums, which devices compute after the all-reduce. A variance sums
deviations from it, which takes another pass and another all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends import Allowed, CompileOptions, Executable, backend_of, compile_positional
from dimtensor.compile.devices.executable import sharded_executable
from dimtensor.compile.devices.mesh import Placement
from dimtensor.compile.devices.shares import DeviceShares, placed_dims, shares_of
from dimtensor.compile.program import Program, build_program
from dimtensor.dims import Dim
from dimtensor.errors import GraphError
from dimtensor.graph import Node, leaves
from dimtensor.graph.checking.checks import Check
from dimtensor.graph.partition.epilogue import split_epilogue
from dimtensor.lower.context import LoweringOptions


class Stage(NamedTuple):
    """Expressions that are computed at once.

    Attributes
    ----------
    inputs : tuple of Node or Dim
        Those of the function, and inputs that stand for the values of stages before.
    outputs : tuple of Node
    standing : tuple of Node
        Inputs of later stages that stand for the outputs.
    shares : DeviceShares or None
        None if no expression depends on a dim that is cut.
    """

    inputs: tuple[Node | Dim, ...]
    outputs: tuple[Node, ...]
    standing: tuple[Node, ...]
    shares: DeviceShares | None


class Stages(NamedTuple):
    """Stages, and the results: each is an output of the last stage or a value of another one."""

    stages: tuple[Stage, ...]
    results: tuple[Node, ...]

    @property
    def shares(self) -> DeviceShares | None:
        """Shares of the first stage: None if the function does not depend on a dim that is cut."""
        return self.stages[0].shares


def stages_of(
    placement: Placement, inputs: Sequence[Node | Dim], outputs: Sequence[Node]
) -> Stages:
    """Split the outputs of a function into stages.

    Raises
    ------
    PartitionError
        If an output mixes positions along a dim, other than by using combined values.
    GraphError
        If positions of one of these dims are those of another, or slices have lengths that depend
        on values.
    """
    dims = placed_dims(placement, outputs)
    found: list[Stage] = []
    known: set[Node] = set()
    entering, todo = tuple(inputs), tuple(outputs)
    while True:
        after = split_epilogue(todo, dims)
        if after is None:
            now = tuple(x for x in dict.fromkeys(todo) if x not in known)
            found.append(Stage(entering, now, now, shares_of(placement, now)))
            return Stages(tuple(found), todo)
        new = after.without(known)
        if new.totals:
            shares = shares_of(placement, new.totals)
            found.append(Stage(entering, new.totals, new.inputs, shares))
        known.update(new.inputs)
        entering, todo = (*entering, *new.inputs), after.outputs


def staged_executable(
    stages: Stages,
    program: Program,
    placement: Placement,
    lengths: Mapping[Dim, int],
    allow: Allowed,
    n_inputs: int,
) -> Executable:
    """Compile the stages of a function for the devices of a mesh.

    Parameters
    ----------
    stages : Stages
    program : Program
        Of the whole, which describes the arrays of a call.
    placement : Placement
    lengths : mapping of Dim to int
    allow : frozenset of str
    n_inputs : int

    Raises
    ------
    GraphError
        If a length depends on values, or no input has the length of the dim.
    """
    first = stages.stages[0]
    if len(stages.stages) == 1 and stages.results == first.outputs and first.shares is not None:
        return sharded_executable(
            program, first.outputs, n_inputs, first.shares, placement, lengths, allow
        )
    made = _Staged(stages, program, placement, lengths, allow, n_inputs)
    return Executable(
        lambda *arrays: made.bind(made.place(arrays[n_inputs:]))(*arrays[:n_inputs]),
        made.raw,
        made.stats,
        binder=made.bind,
        placing=made.place,
        of_device=made.of_device,
    )


class _StageCode(NamedTuple):
    """Code of a stage.

    Attributes
    ----------
    given : list of int
        The inputs that it takes, by their number.
    fixed : list of int
        The data of the whole that it takes, by their number, if it is not cut.
    program : Program
    executable : Executable
    """

    given: list[int]
    fixed: list[int]
    program: Program
    executable: Executable


class _Staged:
    """The stages of a function on the devices of a mesh."""

    def __init__(
        self,
        stages: Stages,
        program: Program,
        placement: Placement,
        lengths: Mapping[Dim, int],
        allow: Allowed,
        n_inputs: int,
    ):
        self._stages = stages
        self._program = program
        self._n = n_inputs
        self._options = LoweringOptions(backend_of("jax").target)
        self._codes = [self._code(x, placement, lengths, allow) for x in stages.stages]
        self._counts = [0 for _ in stages.stages]  # placed arrays of each stage
        self.stats: dict[str, float] = {}
        for code in self._codes:
            for step, seconds in code.executable.stats.items():
                self.stats[step] = self.stats.get(step, 0.0) + seconds

    def _code(
        self, stage: Stage, placement: Placement, lengths: Mapping[Dim, int], allow: Allowed
    ) -> _StageCode:
        whole = self._program
        order = whole.order
        if stage.shares is not None:
            n = len(stage.inputs)
            own = build_program(stage.inputs, stage.outputs, lengths, order, self._options)
            slots = [*own.slots[:n], *whole.slots[self._n :]]
            program = replace(whole, slots=slots, output_dims=own.output_dims, checks=own.checks)
            executable = sharded_executable(
                program, stage.outputs, n, stage.shares, placement, lengths, allow
            )
            return _StageCode([*range(n)], [*range(len(slots) - n)], program, executable)
        used = set(leaves(stage.outputs))
        given = [at for at, x in enumerate(stage.inputs) if isinstance(x, Dim) or x in used]
        inputs = [stage.inputs[at] for at in given]
        own = build_program(inputs, stage.outputs, lengths, order, self._options)
        sources = [slot.source for slot in whole.slots[self._n :]]
        fixed = [sources.index(slot.source) for slot in own.slots[len(given) :]]
        options = CompileOptions(allow=allow)
        executable = compile_positional("jax", own.inputs, own.outputs, options)
        return _StageCode(given, fixed, own, executable)

    def place(self, fixed: Sequence[Any]) -> list[Any]:
        """Place the data of each stage on the devices."""
        found: list[Any] = []
        shared: dict[Any, Any] = {}
        for at, code in enumerate(self._codes):
            own = [fixed[number] for number in code.fixed]
            if code.executable.placing is not None:
                own = list(code.executable.placing(own, shared))
            self._counts[at] = len(own)
            found += own
        return found

    def bind(self, placed: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        """Bind placed data; return a function of NumPy's arrays."""
        import jax

        calls = []
        for code, own in zip(self._codes, self._apart(placed), strict=True):
            if code.executable.placing is not None:
                calls.append(code.executable.bind(own))
            else:
                calls.append(_alone(jax.jit(code.executable.raw), own))
        return lambda *arrays: self._run(calls, arrays)

    def raw(self, *arrays: Any) -> tuple[Any, ...]:
        """Compute as a pure function of JAX, of inputs and placed data."""
        return self._run_pure([code.executable.raw for code in self._codes], arrays)

    def of_device(self, *arrays: Any) -> tuple[Any, ...]:
        """Compute as a device does, within a ``jax.shard_map`` over the mesh."""
        for stage, later in zip(self._stages.stages, self._stages.stages[1:], strict=False):
            used = set(leaves(later.outputs))
            for share, leaf in zip(
                stage.shares.outputs if stage.shares else (), stage.standing, strict=False
            ):
                if share.joined and leaf in used:
                    raise GraphError(
                        "a value that is combined along one dim has another one that is placed, "
                        "and the program of a device needs the whole of it",
                        hint="place one of the dims",
                    )
        codes = [code.executable for code in self._codes]
        return self._run_pure([code.of_device or code.raw for code in codes], arrays)

    def _run_pure(self, functions: Sequence[Callable[..., Any]], arrays: Sequence[Any]) -> Any:
        calls = [
            lambda *given, run=run, own=own: run(*given, *own)
            for run, own in zip(functions, self._apart(arrays[self._n :]), strict=True)
        ]
        return tuple(self._run(calls, arrays[: self._n]))

    def _apart(self, placed: Sequence[Any]) -> Iterator[list[Any]]:
        """Divide placed arrays into those of each stage."""
        todo = iter(placed)
        for count in self._counts:
            yield [next(todo) for _ in range(count)]

    def _run(self, calls: Sequence[Callable[..., Any]], arrays: Sequence[Any]) -> list[Any]:
        """Run the stages, each with the values of those before it."""
        stages, results = self._stages
        known = dict(zip(stages[0].inputs, arrays, strict=True))
        hold: list[tuple[Check, Any]] = []
        for stage, code, call in zip(stages, self._codes, calls, strict=True):
            values = list(call(*(known[stage.inputs[at]] for at in code.given)))
            n = len(stage.outputs)
            known.update(zip(stage.standing, values[:n], strict=True))
            hold += zip(code.program.checks, values[n:], strict=True)
        found = [known[x] for x in results]
        for check in self._program.checks:
            same = [each.all() for own, each in hold if own.message == check.message]
            found.append(same[0] if same else np.asarray(True))
            for condition in same[1:]:
                found[-1] = found[-1] & condition
        return found


def _alone(compiled: Callable[..., Any], own: Sequence[Any]) -> Callable[..., list[np.ndarray]]:
    """Return a function of NumPy's arrays that computes in 64 bits."""
    import jax

    def call(*arrays: Any) -> list[np.ndarray]:
        with jax.enable_x64(True):
            return [np.asarray(x) for x in compiled(*arrays, *own)]

    return call
