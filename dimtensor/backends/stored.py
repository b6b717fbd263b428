"""Code as bytes that another process can load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from dimtensor.backends import Executable


class Stored(NamedTuple):
    """Code as bytes, and which loader takes them."""

    kind: str
    data: bytes


class LoadedKernel:
    """A kernel that was loaded; numba's function of it is made when it is asked for.

    Parameters
    ----------
    make : callable
        Gives numba's function; it lowers and compiles the graph anew.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make = make

    @cached_property
    def function(self) -> Any:
        """A function of numba."""
        return self._make()


def stored_form(executable: Executable) -> Stored | None:
    """The code of an executable as bytes; None where it lives in this process only."""
    native = getattr(executable.kernel, "native", None)
    return None if native is None else Stored("native", native.code.to_bytes())


def load(stored: Stored, constants: Sequence[Any], make_raw: Callable[[], Any]) -> Executable:
    """The executable that bytes stand for.

    Parameters
    ----------
    stored : Stored
    constants : sequence of ndarray
        What the code takes after the inputs.
    make_raw : callable
        Gives what `Executable.raw` is.

    Raises
    ------
    Exception
        Of any type, if they are not what a loader of this kind takes.
    """
    call = _LOADERS[stored.kind](stored.data, constants)
    kernel = LoadedKernel(make_raw)
    return Executable(call, None, {}, tuple(constants), kernel=kernel)


def _load_native(data: bytes, constants: Sequence[Any]) -> Callable[..., Sequence[Any]]:
    from dimtensor.kernels.native.code import NativeCode, NativeKernel

    return NativeKernel(NativeCode.from_bytes(data)).bind(constants)


# by the kind of the code: they get its bytes and its constants
_LOADERS: dict[str, Callable[[bytes, Sequence[Any]], Callable[..., Sequence[Any]]]] = {
    "native": _load_native
}
