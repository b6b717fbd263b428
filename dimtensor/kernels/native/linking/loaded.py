"""Object files as functions in memory."""

from __future__ import annotations

import sys

from dimtensor.kernels.native.linking import symbols
from dimtensor.kernels.native.linking.objects import Linked, NotLinked
from dimtensor.kernels.native.values import BrokenCode, NotLoadable


def check_platform() -> None:
    """Check that machine code finds the functions that it calls.

    Raises
    ------
    NotLoadable
        If it cannot, with the reason.
    """
    if sys.platform == "win32":
        # its C library is not found by ctypes.CDLL(None), and memory that one library has made is
        # freed by another one
        raise NotLoadable("machine code is not loaded on Windows")
    try:
        symbols.library()
    except (AttributeError, OSError, TypeError) as error:
        raise NotLoadable(f"machine code cannot be loaded on this platform ({error})") from error


class Loaded:
    """An object file in memory; its functions live as long as it does."""

    def __init__(self, code: bytes):
        check_platform()
        try:
            self._addresses: dict[str, int] | None = None
            self._code: object = (linked := Linked(code, symbols.find))
            self._addresses = linked.addresses
        except NotLinked:
            from dimtensor.kernels.native.machine import Engine

            self._code = self._engine = Engine(code)

    def address(self, name: str) -> int:
        """Address of a function.

        Raises
        ------
        BrokenCode
            If there is none of that name.
        """
        known = self._addresses
        address = self._engine.function(name) if known is None else known.get(name, 0)
        if not address:
            raise BrokenCode(f"the code has no function {name}")
        return address

    def variable(self, name: str) -> int:
        """Address of a global variable; 0 if there is none."""
        known = self._addresses
        return self._engine.variable(name) if known is None else known.get(name, 0)
