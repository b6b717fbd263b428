"""The interpreter: runs a positional graph op by op, without compiling anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.backends import Executable
from dimtensor.ops.interpret import Interpreter


def compile_positional(inputs: Sequence[Any], outputs: Sequence[Any]) -> Executable:
    """A Python function that performs the nodes of the graph in order."""
    started = time.perf_counter()
    interpreter = Interpreter(inputs, outputs)

    def call(*arrays: Any) -> list[np.ndarray]:
        # what overflows is inf and what is undefined is nan, as in compiled code
        with np.errstate(all="ignore"):
            return [np.array(value) for value in interpreter(*map(np.asarray, arrays))]

    return Executable(call, call, {"total": time.perf_counter() - started})
