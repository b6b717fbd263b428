"""XLA's cost analysis: code is compiled for given lengths, but not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.backends import CompileOptions, Executable
from dimtensor.compile.code import compiling
from dimtensor.compile.program import Program, program_for
from dimtensor.cost.polynomial import Lengths
from dimtensor.dims import Dim
from dimtensor.explanation.report import XlaCost
from dimtensor.graph import Node


def xla_cost(
    inputs: Sequence[Any], outputs: Sequence[Node], lengths: Lengths, allow: Any = frozenset()
) -> XlaCost:
    """Compute the operations and the memory of outputs on JAX.

    Parameters
    ----------
    inputs : sequence of Node or Dim
    outputs : sequence of Node
    lengths : Lengths
        Lengths of all dims.
    """
    import jax

    from dimtensor.backends.jax import compile_positional

    def make() -> tuple[Program, Executable]:
        program = program_for("jax", inputs, outputs)
        # as in a call: the best graph for XLA depends on lengths
        dims = {dim for slot in program.slots for dim in slot.dims}
        known = {dim: lengths.required(dim) for dim in dims}
        program = program_for("jax", inputs, outputs, known, program.order)
        return program, compile_positional(
            program.inputs, program.outputs, CompileOptions(allow=allow)
        )

    program, executable = compiling(make)
    shapes = [
        jax.ShapeDtypeStruct(tuple(map(lengths.required, slot.dims)), np.dtype(slot.variable.dtype))
        for slot in program.slots
        if slot.variable is not None
    ]
    # lengths that are inputs are constants for XLA, which allocates static shapes
    with jax.enable_x64(True):
        fixed = {
            at: lengths.required(slot.source)
            for at, slot in enumerate(s for s in program.slots if s.variable is not None)
            if isinstance(slot.source, Dim)
        }
        compiled = (
            jax.jit(_with(executable.given_raw, fixed))
            .lower(*(shape for at, shape in enumerate(shapes) if at not in fixed))
            .compile()
        )
    cost = compiled.cost_analysis() or {}
    memory = compiled.memory_analysis()
    return XlaCost(
        cost.get("flops"),
        cost.get("bytes accessed"),
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.temp_size_in_bytes,
    )


def _with(function: Any, fixed: dict[int, int]) -> Any:
    """Return a function with some of its arguments fixed."""

    def call(*rest: Any) -> Any:
        others = iter(rest)
        count = len(rest) + len(fixed)
        return function(
            *(np.int64(fixed[at]) if at in fixed else next(others) for at in range(count))
        )

    return call
