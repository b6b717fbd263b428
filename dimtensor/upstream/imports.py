"""Actions at the import of other modules, and lazy stand-ins for modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def after_import(name: str, then: Callable[[], object]) -> None:
    """Call a function after a module is imported: now if it already is, or when it first is.

    Parameters
    ----------
    name : str
    then : callable
        Function without arguments.
    """
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Waiting(name, then))


def around_import(name: str, context: Callable[[], AbstractContextManager[object]]) -> None:
    """Run the first import of a module inside a context manager.

    Parameters
    ----------
    name : str
    context : callable
        Returns the context manager.
    """
    if name not in sys.modules:
        sys.meta_path.insert(0, _Waiting(name, context=context))


@contextmanager
def left_out(*names: str) -> Iterator[None]:
    """Replace imports of some modules by lazy stand-ins in the context.

    Modules that are imported already are unchanged. A stand-in imports its module on the first
    attribute access, and is removed afterwards.
    """
    stand_ins = [_StandIn(name) for name in names if name not in sys.modules]
    sys.modules.update({module.__name__: module for module in stand_ins})
    try:
        yield
    finally:
        for module in stand_ins:
            module.leave()


class _StandIn(ModuleType):
    """Stand-in for a module that is not imported."""

    def leave(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(importlib.import_module(self.__name__), name)


class _Waiting(MetaPathFinder):
    """Finder of one module, with actions around and after its import."""

    def __init__(
        self,
        name: str,
        then: Callable[[], object] = lambda: None,
        context: Callable[[], AbstractContextManager[object]] = nullcontext,
    ):
        self.name, self.then, self.context = name, then, context

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
    """Loader of a module with actions around and after it."""

    def __init__(self, loader: Loader, waiting: _Waiting):
        self.loader, self.waiting = loader, waiting

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self.loader
        try:
            with self.waiting.context():
                self.loader.exec_module(module)
        except BaseException:
            sys.meta_path.insert(0, self.waiting)  # an import that failed may be tried again
            raise
        self.waiting.then()
