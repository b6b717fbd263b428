"""Code of functions on devices for what follows the all-reduce, such as a quotient of two sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dimtensor.backends import Allowed, CompileOptions, Executable, backend_of, compile_positional
from dimtensor.compile.program import Program, build_program
from dimtensor.dims import Dim
from dimtensor.graph import Node
from dimtensor.graph.partition.epilogue import Epilogue
from dimtensor.lower.context import LoweringOptions


def program_of_totals(
    program: Program, inputs: Sequence[Node | Dim], epilogue: Epilogue, lengths: Mapping[Dim, int]
) -> Program:
    """Return the program of the values that are computed first, with the arrays of a whole call."""
    options = LoweringOptions(backend_of("jax").target)
    found = build_program(inputs, epilogue.totals, lengths, program.order, options)
    return replace(program, output_dims=found.output_dims, checks=found.checks)


def append_epilogue(
    executable: Executable,
    first: Program,
    program: Program,
    epilogue: Epilogue,
    lengths: Mapping[Dim, int],
    allow: Allowed,
) -> Executable:
    """Append an epilogue to the executable of its combined values.

    Parameters
    ----------
    executable : Executable
        Of the values that are computed first, and their checks.
    first : Program
        Of these values.
    program : Program
        Of the outputs.
    epilogue : Epilogue
    lengths : mapping of Dim to int
    allow : frozenset of str
    """
    import jax

    passed = {x: at for at, x in enumerate(epilogue.inputs)}
    later = [x for x in epilogue.outputs if x not in passed]
    lowering = LoweringOptions(backend_of("jax").target)
    last = build_program(epilogue.inputs, later, lengths, program.order, lowering)
    code = compile_positional("jax", last.inputs, last.outputs, CompileOptions(allow=allow))
    n, m = len(epilogue.totals), len(later)

    def outputs(run: Callable[..., Any], results: Sequence[Any]) -> list[Any]:
        values = list(run(*results[:n]))
        todo = iter(values[:m])
        found = [results[passed[x]] if x in passed else next(todo) for x in epilogue.outputs]
        hold = [*zip(first.checks, results[n:], strict=True)]
        hold += zip(last.checks, values[m:], strict=True)
        for check in program.checks:
            same = [each.all() for own, each in hold if own.message == check.message]
            found.append(same[0] if same else np.asarray(True))
            for condition in same[1:]:
                found[-1] = found[-1] & condition
        return found

    compiled = jax.jit(code.raw)

    def run_alone(*totals: Any) -> list[np.ndarray]:
        with jax.enable_x64(True):
            return [np.asarray(x) for x in compiled(*totals)]

    def bind(fixed: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        call = executable.bind(fixed)
        return lambda *arrays: outputs(run_alone, call(*arrays))

    of_device = executable.of_device
    assert of_device is not None
    return replace(
        executable,
        call=lambda *arrays: outputs(run_alone, executable.call(*arrays)),
        given_raw=lambda *arrays: tuple(outputs(compiled, executable.raw(*arrays))),
        binder=bind,
        of_device=lambda *arrays: tuple(outputs(compiled, of_device(*arrays))),
    )
