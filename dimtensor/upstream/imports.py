"""What is done when a module that may never be needed is imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def after_import(name: str, then: Callable[[], None]) -> None:
    """Call a function when a module has been imported: now, or whenever somebody does it.

    Parameters
    ----------
    name : str
    then : callable
        Of no arguments.
    """
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Waiting(name, then))


class _Waiting(MetaPathFinder):
    """Finds one module, as others do, and has something done behind its import."""

    def __init__(self, name: str, then: Callable[[], None]):
        self.name, self.then = name, then

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _Followed(found.loader, self)
        return found


class _Followed(Loader):
    """A module's own loader, and what is done after it."""

    def __init__(self, loader: Loader, waiting: _Waiting):
        self.loader, self.waiting = loader, waiting

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self.loader
        try:
            self.loader.exec_module(module)
        except BaseException:
            sys.meta_path.insert(0, self.waiting)  # an import that failed may be tried again
            raise
        self.waiting.then()
