"""Native kernels: compiled from source, stored as bytes, loaded as functions."""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.kernels.native.flat import closure_table, flat
from dimtensor.kernels.native.functions import workspace
from dimtensor.kernels.native.linking import symbols
from dimtensor.kernels.native.linking.externals import address_of
from dimtensor.kernels.native.linking.loaded import Loaded, check_platform
from dimtensor.kernels.native.values import ArgumentType, NotLoadable, ResultType
from dimtensor.kernels.native.wrapper import (
    STOP,
    TABLE,
    addresses,
    interruption,
    layout_is_known,
    python_function,
    wrapper,
)

if TYPE_CHECKING:
    from dimtensor.kernels.ir.nodes import Function
    from dimtensor.kernels.native.translate import Translation

_MAGIC = b"dimtensor kernel 4\n"
# what the functions around a kernel call
_DECLARED = (
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare noalias ptr @malloc(i64) nounwind",
    "declare void @free(ptr) nounwind",
)


class NativeCode(NamedTuple):
    """Machine code of a kernel, and what its users must know.

    Attributes
    ----------
    object : bytes
        An object file for this processor, with the functions ``kernel`` (see
        :mod:`~dimtensor.kernels.native.translate`), ``call`` and ``flat`` (see the modules
        :mod:`~dimtensor.kernels.native.wrapper` and :mod:`~dimtensor.kernels.native.flat`).
    arguments, results : tuple
        Types of what it takes and gives.
    externals : dict of str to str
        Functions of other libraries that it calls, by symbol.
    source : str
        What it was made of.
    """

    object: bytes
    arguments: tuple[ArgumentType, ...]
    results: tuple[ResultType, ...]
    externals: dict[str, str]
    source: str

    def to_bytes(self) -> bytes:
        """Everything, to be stored; no code of Python is in it."""
        header = {
            "arguments": [[a.dtype, list(a.shape)] for a in self.arguments],
            "results": [list(r) for r in self.results],
            "externals": self.externals,
            "source": self.source,
        }
        text = json.dumps(header).encode()
        return _MAGIC + struct.pack("<Q", len(text)) + text + self.object

    @classmethod
    def from_bytes(cls, data: bytes) -> NativeCode:
        """Read code from the bytes of :meth:`to_bytes`.

        Raises
        ------
        ValueError
            If the bytes are something else.
        """
        start = len(_MAGIC) + 8
        if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
            raise ValueError("these bytes are not a kernel")
        (size,) = struct.unpack("<Q", data[len(_MAGIC) : start])
        header = json.loads(data[start : start + size])
        return cls(
            data[start + size :],
            tuple(ArgumentType(dtype, tuple(shape)) for dtype, shape in header["arguments"]),
            tuple(ResultType(*result) for result in header["results"]),
            dict(header["externals"]),
            header["source"],
        )


def translated(function: Function, arguments: Sequence[ArgumentType]) -> Translation:
    """LLVM of a kernel, without the functions around it.

    Raises
    ------
    NotNative
        If there is something in it that it may not have.
    """
    from dimtensor.kernels.native.translate import Translator  # loading takes none of it

    return Translator(function, arguments).translate("kernel")


def _check_process() -> None:
    check_platform()
    if not layout_is_known():
        raise NotLoadable("arrays of this process have another layout than machine code knows")


def native_code(
    function: Function, arguments: Sequence[ArgumentType], quick: bool = False
) -> NativeCode:
    """Compile a kernel.

    Parameters
    ----------
    function : Function
    arguments : sequence of ArgumentType
    quick : bool
        Whether it runs once, so that LLVM's passes take longer than they save.

    Raises
    ------
    OutOfScope
        If no machine code can be loaded in this process.
    """
    from dimtensor.kernels.ir.python import printed  # loading takes none of it, nor LLVM
    from dimtensor.kernels.native import machine

    machine.check_platform()
    _check_process()
    found = translated(function, arguments)
    text = "\n".join(
        [
            *(line for line in _DECLARED if line not in found.text),
            found.text,
            wrapper("kernel", arguments, found.results, found.errors),
            flat("kernel", arguments, found.results),
            *([interruption()] if "@interrupted()" in found.text else []),
        ]
    )
    made = machine.object_code(text, quick)
    return NativeCode(made, tuple(arguments), found.results, found.externals, printed(function))


class NativeKernel:
    """A native kernel in memory.

    Parameters
    ----------
    code : NativeCode

    Raises
    ------
    OutOfScope
        If a function that it calls is not there.
    """

    def __init__(self, code: NativeCode):
        _check_process()
        self.code = code
        for symbol, where in code.externals.items():
            symbols.add(symbol, address_of(where))
        self._loaded = Loaded(code.object)
        table = addresses()
        ctypes.memmove(self._loaded.variable(TABLE), table, ctypes.sizeof(table))
        self._stop = self._loaded.variable(STOP)  # 0 if there is no loop that listens
        workspace.keep(self, self._loaded)

    def stop(self, stopped: bool = True) -> None:
        """End loops that may never end, in threads that are not Python's; or let them run again."""
        if self._stop:
            ctypes.c_int64.from_address(self._stop).value = int(stopped)

    @cached_property
    def address(self) -> int:
        """Address of the kernel, a C function of two tables of 64-bit words."""
        return self._loaded.address("kernel")

    @cached_property
    def flat_address(self) -> int:
        """Address of the function for other machine code (:mod:`dimtensor.kernels.native.flat`)."""
        return self._loaded.address("flat")

    def closure(
        self,
        shapes: Sequence[Sequence[int]],
        fixed: Sequence[np.ndarray],
        n_results: int,
        first_condition: int,
    ) -> np.ndarray:
        """Return the closure of the C function; the bound arrays must outlive it."""
        types = self.code.arguments
        return closure_table(types, shapes, fixed, n_results, first_condition)

    def bind(self, fixed: Sequence[np.ndarray] = ()) -> Any:
        """Return a Python function of the arrays before the fixed ones."""
        return python_function(self._loaded.address("call"), fixed, self)
