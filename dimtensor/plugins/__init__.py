"""Plug-ins: packages that the core does not import.

Each folder registers its functions with hooks (:mod:`dimtensor.hooks`) when it is imported, and
provides public names of `dimtensor`. It is imported when one of either is first used. Without the
folder the other parts of dimtensor work as before.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

# public names of `dimtensor` by the folder that provides them; `dimtensor.public` has their types
NAMES: dict[str, tuple[str, ...]] = {
    "pictures": ("to_graph",),
    "pytensor_mode": ("pytensor_mode",),
    "report": ("report",),
    "saturation": ("Simplified", "simplify"),
    "typeset": (),
}


def names() -> dict[str, str]:
    """Return the public names of installed plug-ins, with their modules."""
    modules = {f"{__name__}.{folder}": names for folder, names in NAMES.items()}
    return {
        name: module
        for module, names in modules.items()
        if find_spec(module) is not None
        for name in names
    }


def find(name: str) -> Any:
    """Return the value of a public name of a plug-in."""
    return getattr(import_module(names()[name]), name)
