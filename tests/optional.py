"""JAX where it is installed; elsewhere a test that touches it skips, see the root's conftest.py."""

from __future__ import annotations

import importlib
from typing import Any


class _Late:
    """A module that is imported when somebody asks for a part of it."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, part: str) -> Any:
        if part.startswith(("_", "pytest")):  # pytest itself looks at what a module holds
            raise AttributeError(part)
        return getattr(importlib.import_module(self._name), part)


jax = _Late("jax")
jnp = _Late("jax.numpy")
