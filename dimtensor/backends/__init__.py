"""What each backend needs to run a positional graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.errors import GraphError, did_you_mean

BACKENDS = ("numba", "jax", "python")


class Executable(NamedTuple):
    """A positional graph that runs.

    ``call`` takes one array per input and gives a sequence of arrays; ``raw`` is what the backend
    itself calls it: a numba dispatcher, a pure JAX function, a Python function. After the inputs
    ``raw`` takes the arrays in ``constants``.
    """

    call: Callable[..., Sequence[Any]]
    raw: Any
    stats: dict[str, float]
    constants: tuple[Any, ...] = ()


def check_backend(backend: str) -> str:
    """The backend, if there is one of this name.

    Raises
    ------
    GraphError
        If there is none.
    """
    if backend not in BACKENDS:
        raise GraphError(
            f"there is no backend {backend!r}{did_you_mean(backend, BACKENDS)}; "
            f"backends: {', '.join(BACKENDS)}"
        )
    return backend


def compile_positional(
    backend: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    static: bool = True,
    kernels: bool = True,
) -> Executable:
    """Compile a positional PyTensor graph.

    Parameters
    ----------
    backend : {"numba", "jax", "python"}
    inputs, outputs : sequence of pytensor variables
    static : bool
        Whether all lengths are known (only then JAX can jit the whole).
    kernels : bool
        Whether numba gets loop nests; else one function per operation, as PyTensor writes them.
    """
    check_backend(backend)
    with np.errstate(all="ignore"):  # rewrites compute with the constants of a graph
        if backend == "numba":
            from dimtensor.backends import numba

            return numba.compile_positional(inputs, outputs, kernels)
        if backend == "jax":
            from dimtensor.backends import jax

            return jax.compile_positional(inputs, outputs, static)
        from dimtensor.backends import python

        return python.compile_positional(inputs, outputs)
