"""Optional libraries, imported when they are needed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from dimtensor.errors import MissingExtraError


def require(module: str, extra: str, what: str) -> Any:
    """Import an optional library, and delay interrupts until it is imported.

    Parameters
    ----------
    module : str
    extra : str
        The extra of dimtensor that brings it.
    what : str
        What needs it, for the message.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Examples
    --------
    >>> require("math", "sampling", "this example").floor(2.5)
    2
    """
    try:
        with _interrupted_afterwards():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise  # the library is there, something that it needs is not
        raise _missing(module, extra, what) from error


def check_installed(module: str, extra: str, what: str) -> None:
    """Check that an optional library is installed, without importing it.

    Parameters and errors are those of :func:`require`.

    Examples
    --------
    >>> check_installed("math", "sampling", "this example")
    """
    if not is_installed(module):
        raise _missing(module, extra, what)


def is_installed(module: str) -> bool:
    """Return whether a library can be imported, without importing it.

    Examples
    --------
    >>> is_installed("math"), is_installed("no_such_library")
    (True, False)
    """
    if sys.modules.get(module) is not None:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


@contextlib.contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    """Delay a KeyboardInterrupt until the end of the block.

    After an interrupted import, Python keeps imported submodules and reruns the package's own
    module, so that attributes set by the submodules are missing for the rest of the process.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *arguments: came.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def _missing(module: str, extra: str, what: str) -> MissingExtraError:
    error = MissingExtraError(
        f"{what} needs {module}, which is not installed", hint=f"pip install 'dimtensor[{extra}]'"
    )
    error.name = module
    return error
