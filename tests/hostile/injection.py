"""Raise an exception at a point of a program at which Python may raise an interruption.

CPython looks for signals, and for exceptions that another thread sends, where a function starts or
goes on, at the end of a round of a loop, and after a function of C was called.
"""

from __future__ import annotations

import contextvars
import gc
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

_TOOL = 4
_FLAGS = (
    *("cast_policy", "exception_verbosity", "floatX", "linker", "mode", "numba__cache"),
    *("on_opt_error", "optimizer", "traceback__limit", "traceback__compile_limit", "warn_float64"),
)
_E = sys.monitoring.events
_EVENTS = _E.PY_START | _E.PY_RESUME | _E.CALL | _E.JUMP


class Injector:
    """Count the points of a program, and raise at one of them.

    Parameters
    ----------
    folder : str
        Only points in files whose path has this in it count.
    """

    def __init__(self, folder: str = ""):
        self._folder = folder
        self._thread = threading.get_ident()
        self._left = -1
        self._passed = 0
        self._error: type[BaseException] = KeyboardInterrupt
        self.where = ""
        monitoring = sys.monitoring
        monitoring.use_tool_id(_TOOL, "injection")
        monitoring.register_callback(_TOOL, _E.PY_START, self._point)
        monitoring.register_callback(_TOOL, _E.PY_RESUME, self._point)
        monitoring.register_callback(_TOOL, _E.C_RETURN, self._returned)
        monitoring.register_callback(_TOOL, _E.JUMP, self._jump)

    def _jump(self, code: CodeType, at: int, to: int) -> Any:
        return self._point(code, at) if to < at else None

    def _returned(self, code: CodeType, at: int, *_: object) -> None:
        self._point(code, at)  # Python cannot leave these points out from now on

    def _point(self, code: CodeType, at: int, *_: object) -> Any:
        if self._folder not in code.co_filename or code.co_filename == __file__:
            return sys.monitoring.DISABLE
        if threading.get_ident() != self._thread:
            return None
        self._passed += 1
        if self._passed - 1 == self._left:
            self.where = f"{code.co_filename}:{_line(code, at)} {code.co_qualname} {at}"
            raise self._error
        return None

    def run(
        self,
        program: Callable[[], object],
        at: int = -1,
        error: type[BaseException] = KeyboardInterrupt,
    ) -> BaseException | None:
        """Run a program and return what it raised; the exception is injected at a point of it."""
        self._left, self._passed, self._error, self.where = at, 0, error, ""
        sys.monitoring.set_events(_TOOL, _EVENTS)
        try:
            program()
        except BaseException as raised:
            return raised.with_traceback(None)
        finally:
            sys.monitoring.set_events(_TOOL, 0)
        return None

    def close(self) -> None:
        """Give the tool back to other injectors."""
        sys.monitoring.free_tool_id(_TOOL)

    def count(self, program: Callable[[], object]) -> int:
        """Return how many points a program has."""
        raised = self.run(program)
        if raised is not None:
            raise raised
        return self._passed


def _line(code: CodeType, at: int) -> int | None:
    lines = [line for start, end, line in code.co_lines() if start <= at < end]
    return lines[0] if lines else None


def state() -> dict[str, Any]:
    """Everything of the process that a library could leave changed."""
    from pytensor import config

    from dimtensor.settings import settings

    found: dict[str, Any] = {
        "recursion limit": sys.getrecursionlimit(),
        "warnings": list(warnings.filters),
        "garbage": (gc.isenabled(), gc.get_threshold()),
        "signals": signal.getsignal(signal.SIGINT),
        "floating point": np.geterr(),
        "context": {var.name: repr(x) for var, x in contextvars.copy_context().items()},
        "settings": settings(),
        "environment": dict(os.environ),
        "importers": list(sys.meta_path),
        "modules": [name for name, x in sys.modules.items() if type(x).__name__ == "_StandIn"],
        "unraisable": sys.unraisablehook,
        "trace": (sys.gettrace(), sys.getprofile()),
    }
    found |= {f"pytensor.{name}": getattr(config, name) for name in _FLAGS}
    jax = sys.modules.get("jax")
    if jax is not None:
        from dimtensor.upstream.jax import current_cache

        found["jax"] = (jax.config.jax_enable_x64, jax.config.jax_debug_nans, current_cache())
    found["locks"] = _free_locks()
    return found


def _free_locks() -> list[bool]:
    """Whether another thread can take each lock of a module of dimtensor."""
    from dimtensor.forks import _taken

    found: list[bool] = []

    def look() -> None:
        for _, lock in _taken:
            found.append(lock.acquire(timeout=0.01))
            if found[-1]:
                lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Names of what is not as it was."""
    return [key for key in before if before[key] != after.get(key)]


def campaign(
    program: Callable[[], object],
    count: int,
    folder: str = "dimtensor/",
    error: type[BaseException] = KeyboardInterrupt,
) -> None:
    """Raise at each of some points of a program; write a line of JSON for each.

    What was raised comes out, the state of the process is what it was, and the program, which
    checks its own results, is right when it runs again.
    """
    program()
    state()
    program()  # what is done once is done
    injector, before = Injector(folder), state()
    total = injector.count(program)
    chosen = np.unique(np.linspace(0, total - 1, min(count, total)).astype(int))
    for at in chosen.tolist():
        raised = injector.run(program, at, error)
        name, why = injector.where, ""
        if not name:
            continue  # this time there are not as many points
        if raised is None and error is KeyboardInterrupt:
            why = "lost"
        elif raised is not None and not isinstance(raised, (error, _errors())):
            why = f"came out as {raised!r}"
        different = changed(before, state())
        if different:
            why, before = f"left changed: {different}", state()
        try:
            program()
        except BaseException as after:
            why = f"the next call: {after!r}"
        print(json.dumps([f"{error.__name__} at {name}", not why, why]), flush=True)
    injector.close()


def _errors() -> type[Exception]:
    from dimtensor.errors import DimtensorError

    return DimtensorError
