"""The environment that code depends on besides the graph: libraries, versions, the processor."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dimtensor.kernels.native.linking.processor import processor

# the layers whose sources determine the code of a graph
LAYERS = (
    "typing",
    "tuning",
    "hooks.py",
    "renderers.py",
    "errors.py",
    "extras.py",
    "arrays.py",
    "spellings",
    "settings.py",
    "files.py",
    "caches.py",
    "interning.py",
    "scopes.py",
    "forks.py",
    "traversal.py",
    "dims",
    "graph",
    "cost",
    "values",
    "upstream",
    "ops",
    "optimize",
    "lower",
    "kernels",
    "backends",
    "compile",
)
_PACKAGES = ("numpy", "pytensor", "llvmlite", "numba")


@cache
def environment() -> str:
    """Return a digest of the installed versions and the processor."""
    import pytensor

    parts = [
        sys.implementation.cache_tag or sys.version,
        platform.system(),
        platform.machine(),
        processor(),
        *map(_version, _PACKAGES),
        str(pytensor.config.floatX),
        str(pytensor.config.cast_policy),
        sources(Path(__file__).parents[2]),
    ]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _version(package: str) -> str:
    """Identify the version of a package by its main file's path, size and time, without importing.

    Reading the version from the package's metadata takes longer than loading code.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return f"no {package}"
    about = os.stat(spec.origin)
    return f"{spec.origin} {about.st_size} {about.st_mtime_ns}"


def sources(package: Path) -> str:
    """Return a digest of the sources' names, sizes and times, so that edits miss the cache."""
    lines = []
    for layer in LAYERS:
        top = package / layer
        for folder, _, names in os.walk(top) if top.is_dir() else [(str(package), [], [layer])]:
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    about = os.stat(path)
                    lines.append(f"{path} {about.st_size} {about.st_mtime_ns}")
    return hashlib.blake2b("\n".join(sorted(lines)).encode(), digest_size=16).hexdigest()
