"""The interpreter: runs a positional graph op by op, without compiling anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.backends.base import CompileOptions, Executable
from dimtensor.ops.interpret import Interpreter
from dimtensor.optimize.target import INTERPRETER
from dimtensor.scopes import quiet


def compile_positional(inputs: Sequence[Any], outputs: Sequence[Any]) -> Executable:
    """Compile a Python function that performs the nodes of a graph in order."""
    started = time.perf_counter()
    interpreter = Interpreter(inputs, outputs)

    def call(*arrays: Any) -> list[np.ndarray]:
        # overflow gives inf and undefined operations give nan without warnings, as in compiled code
        return quiet(lambda: [_owned(value) for value in interpreter(*map(_value, arrays))])

    return Executable(call, call, {"total": time.perf_counter() - started})


def _value(value: Any) -> Any:
    return value if isinstance(value, np.random.Generator) else np.asarray(value)


def _owned(value: Any) -> Any:
    """Copy an array: the interpreter returns views of inputs, too."""
    return value if isinstance(value, np.random.Generator) else np.array(value)


class _Python:
    """The interpreter, as a backend."""

    name = "python"
    compiles = described = specializes = native = on_devices = False
    target = INTERPRETER

    def check_installed(self) -> None:
        pass

    def compile(
        self, inputs: Sequence[Any], outputs: Sequence[Any], options: CompileOptions
    ) -> Executable:
        return compile_positional(inputs, outputs)

    def path(self, executable: Executable) -> str:
        return "the python interpreter"


BACKEND = _Python()
