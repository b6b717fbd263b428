"""Backends: each runs positional graphs, has a folder here, and is registered here."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal, cast

from dimtensor.backends.base import DEFAULTS, Allowed, Backend, CompileOptions, Executable
from dimtensor.errors import OptionError, did_you_mean
from dimtensor.scopes import quiet

__all__ = [
    "BACKENDS",
    "Allowed",
    "Backend",
    "BackendName",
    "CompileOptions",
    "Executable",
    "backend_of",
    "check_backend",
    "compile_positional",
]

BACKENDS = ("native", "jax", "python")
# the former name of the native backend, whose functions numba can call
SYNONYMS = {"numba": "native"}
# for type checkers; tests/architecture compares it with the names above
BackendName = Literal["native", "numba", "jax", "python"]


def backend_of(name: str) -> Backend:
    """Return the backend with a name or synonym.

    Raises
    ------
    OptionError
        If there is none.

    Examples
    --------
    >>> from dimtensor.backends import backend_of
    >>> backend_of("jax").specializes, backend_of("native").specializes
    (True, False)
    """
    known = SYNONYMS.get(name, name) if isinstance(name, str) else None
    if known not in BACKENDS:
        raise OptionError(
            f"there is no backend {name!r}{did_you_mean(name, [*BACKENDS, *SYNONYMS])}; "
            f"backends: {', '.join(BACKENDS)}"
        )
    backend: Backend = importlib.import_module(f"dimtensor.backends.{known}").BACKEND
    return backend


def check_backend(backend: str) -> BackendName:
    """Return the name of a backend, which a synonym may stand for, if it can be used.

    Raises
    ------
    OptionError
        If there is none.
    MissingExtraError
        If it needs a library that is not installed.
    """
    found = backend_of(backend)
    found.check_installed()
    return cast(BackendName, found.name)


def compile_positional(
    backend: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    options: CompileOptions = DEFAULTS,
) -> Executable:
    """Compile a positional PyTensor graph.

    Parameters
    ----------
    backend : {"native", "jax", "python"}
    inputs, outputs : sequence of pytensor variables
    options : CompileOptions
    """
    found = backend_of(backend)
    found.check_installed()
    # rewrites compute with the constants of a graph
    return quiet(lambda: found.compile(inputs, outputs, options))
