"""PyTensor's own linkers and our operations: they learn them once they are imported themselves."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dimtensor.upstream.imports import after_import


@cache
def teach_linkers() -> None:
    """Let graphs with our operations be compiled by PyTensor's linkers for JAX and for numba.

    A positional graph that has left dimtensor is compiled by whoever has it, PyMC's samplers for
    one. Without this, JAX refuses it, and numba runs our operations in Python.
    """
    after_import("pytensor.link.jax.dispatch", _teach_jax)
    after_import("pytensor.link.numba.dispatch", _teach_numba)


def _teach_jax() -> None:
    from pytensor.link.jax.dispatch import jax_funcify

    from dimtensor.backends.jax import register_ops

    register_ops(jax_funcify)


def _teach_numba() -> None:
    from pytensor.link.numba.dispatch.basic import register_funcify_and_cache_key

    from dimtensor.ops.along import (
        DFT,
        Convolve,
        FromHalf,
        LogSumExp,
        RealDFT,
        ScaledSoftmax,
        Softmax,
    )
    from dimtensor.ops.linalg import CholeskyGradient
    from dimtensor.ops.loop.conditional import Conditional
    from dimtensor.ops.loop.op import Loop, Scan
    from dimtensor.ops.positions import GroupExtreme, GroupPosition, OwnerOf

    loops = (Scan, Loop, Conditional)
    series = (Convolve, DFT, FromHalf, RealDFT)
    groups = (GroupExtreme, GroupPosition, OwnerOf)
    exponentials = (LogSumExp, ScaledSoftmax, Softmax)
    for op_type in (*loops, *series, *groups, CholeskyGradient, *exponentials):
        register_funcify_and_cache_key(op_type)(_numba_function)


def _numba_function(op: Any, node: Any, **kwargs: Any) -> tuple[Any, None]:
    """Return a node as a function of numba, and None as its cache key."""
    import numba
    from pytensor.link.numba.dispatch.basic import generate_fallback_impl

    from dimtensor.kernels.compiler import compile_kernel
    from dimtensor.optimize.plan import UnsupportedGraph

    inputs = [v.type() for v in node.inputs]
    try:
        kernel = compile_kernel(inputs, op.make_node(*inputs).outputs)
    except (UnsupportedGraph, NotImplementedError):
        return generate_fallback_impl(op, node=node, **kwargs), None
    constants = {f"c{at}": array for at, array in enumerate(kernel.constants)}
    given = [f"x{at}" for at in range(len(inputs))]
    results = [
        f"np.asarray(found[{at}])" if v.type.ndim == 0 else f"found[{at}]"
        for at, v in enumerate(node.outputs)
    ]
    whole = f"({', '.join(results)})"  # a single result stands alone
    text = f"""
def run({", ".join(given)}):
    found = kernel({", ".join([*given, *constants])})
    return {whole}
"""
    namespace: dict[str, Any] = {"np": np, "kernel": kernel.function, **constants}
    exec(text, namespace)
    return numba.njit(namespace["run"], error_model="numpy"), None
