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

# the layers whose sources decide what code is made of a graph
LAYERS = (
    "errors.py",
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
    "saturation",
    "values",
    "upstream",
    "ops",
    "lower",
    "kernels",
    "backends",
    "compile",
)
_PACKAGES = ("numpy", "pytensor", "llvmlite", "numba")


@cache
def environment() -> str:
    """The digest of what is installed and of the processor."""
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
    """The file of a package that says what version it is, of one that is imported too.

    Else who imports one first would find nothing of what others have compiled. What the metadata of
    a package say takes longer to find out than to load code.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return f"no {package}"
    about = os.stat(spec.origin)
    return f"{spec.origin} {about.st_size} {about.st_mtime_ns}"


def sources(package: Path) -> str:
    """The digest of the names, sizes and times of the sources, so that edited ones never meet code
    that they would not make.
    """
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
