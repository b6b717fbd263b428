"""Backends: each runs positional graphs, has a folder here, and is registered here."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal, cast

from dimtensor.backends.base import Allowed, Backend, Executable
from dimtensor.errors import OptionError, did_you_mean
from dimtensor.scopes import quiet

__all__ = [
    "BACKENDS",
    "Allowed",
    "Backend",
    "BackendName",
    "Executable",
    "backend_of",
    "check_backend",
    "compile_positional",
]

# by the names that users say; their modules are imported when they are asked for
_MODULES = {name: f"dimtensor.backends.{name}" for name in ("numba", "jax", "python")}
BACKENDS = tuple(_MODULES)
# for type checkers; tests/architecture compares it with the names above
BackendName = Literal["numba", "jax", "python"]


def backend_of(name: str) -> Backend:
    """Return the backend of a name.

    Raises
    ------
    OptionError
        If there is none.

    Examples
    --------
    >>> from dimtensor.backends import backend_of
    >>> backend_of("jax").specializes, backend_of("numba").specializes
    (True, False)
    """
    if name not in _MODULES:
        raise OptionError(
            f"there is no backend {name!r}{did_you_mean(name, BACKENDS)}; "
            f"backends: {', '.join(BACKENDS)}"
        )
    backend: Backend = importlib.import_module(_MODULES[name]).BACKEND
    return backend


def check_backend(backend: str) -> BackendName:
    """Return a backend's name after checking that it exists and can be used.

    Raises
    ------
    OptionError
        If there is none.
    MissingExtraError
        If it needs a library that is not installed.
    """
    backend_of(backend).check_installed()
    return cast(BackendName, backend)


def compile_positional(
    backend: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    static: bool = True,
    kernels: bool = True,
    allow: Allowed = frozenset(),
    given: int | None = None,
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
    allow : frozenset of str
        Rewrites that are applied beside those that are exact.
    given : int, optional
        How many inputs every call gives anew. The others stay for many calls: what follows from
        them alone is computed once, by ``Executable.once``. Default: all.
    """
    found = backend_of(backend)
    found.check_installed()
    # rewrites compute with the constants of a graph
    return quiet(lambda: found.compile(inputs, outputs, static, kernels, allow, given))
