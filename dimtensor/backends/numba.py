"""Numba: the positional graph as one jitted function, through PyTensor's numba linker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from dimtensor.backends import Executable


@cache
def _register_ops() -> None:
    import numba
    import numpy as np
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key

    from dimtensor.ops.group import GroupPosition

    @register_funcify_default_op_cache_key(GroupPosition)
    def group_position(op, node, **kwargs):
        first, largest = op.which == "first", op.which == "max"

        @numba_njit
        def find(x, codes, groups):
            n_groups = groups.shape[0]
            at = np.full(n_groups, -1, dtype=np.int64)
            for i in range(x.shape[0]):
                group = codes[i]
                if group < 0 or group >= n_groups:
                    continue
                if at[group] < 0:
                    at[group] = i
                elif not first:
                    best, value = x[at[group]], x[i]
                    if best != best:
                        continue
                    if value != value or (value > best if largest else value < best):
                        at[group] = i
            return at

        return find

    del numba


def compile_positional(inputs: Sequence[Any], outputs: Sequence[Any]) -> Executable:
    """Compile through PyTensor's rewrites and its numba linker.

    The statistics are seconds: ``rewrite`` (PyTensor's graph rewrites and its translation to
    Python source) and ``jit`` (numba's typing and LLVM, measured at the first call).
    """
    import pytensor
    from pytensor.compile.io import In, Out

    started = time.perf_counter()
    _register_ops()
    function = pytensor.function(
        [In(v, borrow=True) for v in inputs],
        [Out(v, borrow=True) for v in outputs],
        mode="NUMBA",
        on_unused_input="ignore",
        trust_input=True,
    )
    jitted = function.vm.jit_fn
    stats = {"rewrite": time.perf_counter() - started}
    shared = list(function.input_storage[len(inputs) :])

    def first_call(*arrays: Any) -> Any:
        started = time.perf_counter()
        result = jitted(*arrays, *(cell.storage[0] for cell in shared))
        stats["jit"] = time.perf_counter() - started
        return result

    if shared:

        def call(*arrays: Any) -> Any:
            return jitted(*arrays, *(cell.storage[0] for cell in shared))
    else:
        call = jitted

    class _Call:
        """Measures the first call, then gets out of the way."""

        __slots__ = ("run",)

        def __init__(self) -> None:
            self.run = self._first

        def _first(self, *arrays: Any) -> Any:
            result = first_call(*arrays)
            self.run = call
            return result

        def __call__(self, *arrays: Any) -> Any:
            return self.run(*arrays)

    return Executable(_Call(), jitted, stats)
