"""What each backend needs to run a positional graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimtensor.errors import GraphError, did_you_mean

BACKENDS = ("numba", "jax", "python")


def _as_it_is(array: Any) -> Any:
    return array


@dataclass(frozen=True)
class Executable:
    """A positional graph that runs.

    Attributes
    ----------
    call : callable
        Takes one array per input and gives a sequence of arrays.
    stats : dict of str to float
        Seconds that the steps of making it took.
    constants : tuple of array
        What ``raw`` takes after the inputs.
    place : callable
        Makes of an array that many calls have in common what ``call`` takes soonest.
    kernel : Kernel, optional
        The kernel that ``call`` runs.
    native : NativeKernel, optional
        Its machine code, which takes the inputs and then the arrays in ``constants``.
    reason : str
        Why there is no kernel, where the backend has them.
    """

    call: Callable[..., Sequence[Any]]
    given_raw: Any
    stats: dict[str, float]
    constants: tuple[Any, ...] = ()
    place: Callable[[Any], Any] = _as_it_is
    kernel: Any = None
    native: Any = None
    reason: str = ""

    @property
    def raw(self) -> Any:
        """What the backend itself calls the function.

        A numba dispatcher (made when it is first asked for, if numba is not what runs the kernel),
        a pure JAX function, or a Python function.

        Raises
        ------
        GraphError
            If there is no kernel for numba to compile.
        """
        if self.given_raw is not None:
            return self.given_raw
        if self.kernel is None:
            raise GraphError(f"there is no function for numba without a kernel: {self.reason}")
        return self.kernel.function


def check_backend(backend: str) -> str:
    """The backend, if there is one of this name.

    Raises
    ------
    GraphError
        If there is none.
    MissingExtraError
        If it needs a library that is not installed.
    """
    if backend not in BACKENDS:
        raise GraphError(
            f"there is no backend {backend!r}{did_you_mean(backend, BACKENDS)}; "
            f"backends: {', '.join(BACKENDS)}"
        )
    if backend == "jax":
        from dimtensor.interop.extras import check_installed

        check_installed("jax", "jax", "the backend 'jax'")
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
        Whether the numba backend writes loop nests; else it performs one operation after the other.
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
