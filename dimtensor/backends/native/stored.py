"""Code as bytes that another process can load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from dimtensor.backends.base import Executable


class Stored(NamedTuple):
    """Code as bytes, and which loader takes them."""

    kind: str
    data: bytes


class LoadedKernel:
    """A kernel that was loaded; numba's function of it is made when it is asked for.

    Parameters
    ----------
    make : callable
        Gives an executable; it lowers and compiles the graph anew.
    """

    def __init__(self, make: Callable[[], Executable], native: Any = None):
        self._make = make
        self.source = native.code.source if native is not None else None

    @cached_property
    def _made(self) -> Any:
        return self._make()

    @property
    def function(self) -> Any:
        """A function of numba."""
        return self._made.raw

    @property
    def assembly(self) -> str:
        """The machine code as text."""
        return self._made.kernel.assembly


def stored_form(executable: Executable) -> Stored | None:
    """Return the code of an executable as bytes, None if it cannot leave the process."""
    if executable.native is None:
        return None
    return Stored("native", executable.native.code.to_bytes())


def load(stored: Stored, constants: Sequence[Any], make: Callable[[], Executable]) -> Executable:
    """Load an executable from bytes.

    Parameters
    ----------
    stored : Stored
    constants : sequence of ndarray
        Arguments of the code after the inputs.
    make : callable
        Compiles the executable again, for parts that are not stored.

    Raises
    ------
    Exception
        Of any type, if a loader of this kind cannot read them.
    """
    call, native = _LOADERS[stored.kind](stored.data, constants)
    kernel = LoadedKernel(make, native)
    return Executable(call, None, {}, tuple(constants), kernel=kernel, native=native)


Loader = Callable[[bytes, Sequence[Any]], tuple[Callable[..., Sequence[Any]], Any]]


def _load_native(data: bytes, constants: Sequence[Any]) -> tuple[Callable[..., Any], Any]:
    from dimtensor.kernels.native.code import NativeCode, NativeKernel

    native = NativeKernel(NativeCode.from_bytes(data))
    return native.bind(constants), native


# by the kind of the code: they get its bytes and its constants, and give the call and the kernel
_LOADERS: dict[str, Loader] = {"native": _load_native}
