"""Types of values: numbers as LLVM has them, and arrays of numbers, contiguous in C order."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from dimtensor.caches import bounded
from dimtensor.kernels.ir.errors import NotNative

# what a kernel gives that has not come to its end
OUT_OF_MEMORY, INTERRUPTED, FIRST_ERROR = 1, 2, 3
# Python's own classes that a kernel can raise; of others it has module and name
ERRORS = ("ValueError", "IndexError", "AssertionError", "TypeError")


# numbers of hints to LLVM that no other has, for loops in the functions around a kernel
AXES, ARRAYS, PLACES = _ROUND_KERNELS = range(900_000, 900_003)


def as_it_is(loop: int) -> str:
    """Return the metadata that disables transformations of a loop."""
    return f"!llvm.loop !{loop}"


def hints() -> list[str]:
    """Return the text of these hints: such loops have a few iterations."""
    off = AXES - 1, AXES - 2
    loops = [f"!{loop} = distinct !{{!{loop}, !{off[0]}, !{off[1]}}}" for loop in _ROUND_KERNELS]
    return [
        *loops,
        f'!{off[0]} = !{{!"llvm.loop.unroll.disable"}}',
        f'!{off[1]} = !{{!"llvm.loop.vectorize.enable", i1 false}}',
    ]


class ArgumentType(NamedTuple):
    """Type of an argument: dtype, and lengths where they are known."""

    dtype: str
    shape: tuple[int | None, ...]


class ResultType(NamedTuple):
    """Type of a result. ``boxed`` says that a number comes out as an array of no axes."""

    dtype: str
    ndim: int
    boxed: bool = False


class OutOfScope(NotNative):
    """Code that numba compiles instead: ``docs/design/native.md`` lists it."""


class BrokenCode(RuntimeError):
    """LLVM does not take a module: a mistake in the translation, or of LLVM's own."""


class NotLoadable(OutOfScope):
    """No machine code of ours can be loaded in this process."""


class Scalar(NamedTuple):
    """A type of numbers.

    ``kind`` is one of ``f`` (floats), ``i`` and ``u`` (integers), ``b`` (truth values, one bit in
    registers and one byte in memory). Of several ``lanes`` it is that of vectors: what elements
    that follow each other have at once.
    """

    name: str
    kind: str
    bits: int
    lanes: int = 1

    @property
    def one(self) -> str:
        """A number in a register."""
        if self.kind == "f":
            return "double" if self.bits == 64 else "float"
        return "i1" if self.kind == "b" else f"i{self.bits}"

    @property
    def llvm(self) -> str:
        """In a register."""
        return self.one if self.lanes == 1 else f"<{self.lanes} x {self.one}>"

    @property
    def memory(self) -> str:
        """In an array."""
        one = "i8" if self.kind == "b" else self.one
        return one if self.lanes == 1 else f"<{self.lanes} x {one}>"

    @property
    def suffix(self) -> str:
        """In the names of LLVM's own functions."""
        one = f"f{self.bits}" if self.kind == "f" else f"i{self.bits}"
        return one if self.lanes == 1 else f"v{self.lanes}{one}"

    @property
    def size(self) -> int:
        """Bytes of a number in an array."""
        return max(self.bits, 8) // 8

    def wide(self, lanes: int) -> Scalar:
        """Return the vector type with a number of lanes."""
        return self if lanes == self.lanes else self._replace(lanes=lanes)

    @property
    def number(self) -> int:
        """NumPy's number of the type."""
        return np.dtype(self.name).num


SCALARS = {
    name: Scalar(name, "u" if name.startswith("u") else name[0], int(name.lstrip("uintfloa")))
    for name in (
        "float64", "float32", "int64", "int32", "int16", "int8",
        "uint64", "uint32", "uint16", "uint8",
    )
}  # fmt: skip
SCALARS["bool"] = Scalar("bool", "b", 1)
SCALARS["bool_"] = SCALARS["bool"]
F64, I64, BOOL = SCALARS["float64"], SCALARS["int64"], SCALARS["bool"]


def scalar_of(name: str) -> Scalar:
    """Return the type of a dtype.

    Raises
    ------
    OutOfScope
        If it is not supported: complex numbers, half floats.
    """
    found = SCALARS.get(name)
    if found is None:
        raise OutOfScope(f"numbers of dtype {name}")
    return found


class Value(NamedTuple):
    """A number in a register, or a constant.

    ``position`` says that it can be trusted as a position in an array: it is made of lengths, loop
    counters and numbers only, so it is not one that is counted from the end. ``factors`` are what
    a product is made of, none of one that is used more than once. ``known`` is the number that a
    constant is.
    """

    text: str
    type: Scalar
    position: bool = False
    factors: tuple[str, ...] | None = None
    known: int | float | None = None


class Array(NamedTuple):
    """A contiguous array: its first element, type and lengths.

    Arrays of one ``scope`` may share memory; 0 is that of the arguments, which are never written.
    """

    pointer: str
    type: Scalar
    shape: tuple[Value, ...]
    scope: int = 0


def constant(value: float | int | bool, type_: Scalar) -> Value:
    """Return a number in LLVM's notation, repeated in all lanes of a vector."""
    if type_.kind == "f":
        number = float(np.dtype(type_.name).type(value))
        bits = struct.unpack("<Q", struct.pack("<d", number))[0]
        return Value(_in_all_lanes(f"0x{bits:016X}", type_), type_, known=number)
    if type_.kind == "b":
        return Value(_in_all_lanes("true" if value else "false", type_), type_)
    whole = int(value)
    return Value(_in_all_lanes(str(whole), type_), type_, whole >= 0, known=whole)


def _in_all_lanes(text: str, type_: Scalar) -> str:
    if type_.lanes == 1:
        return text
    return f"splat ({type_.one} {text})"


def whole_number(value: Value) -> int | None:
    """Return the value of an integer constant, None for others."""
    known = value.known
    return int(known) if known is not None and float(known).is_integer() else None


@bounded(256)
def promoted(*types: Scalar) -> Scalar:
    """Return the common type of some types, as NumPy promotes them."""
    return scalar_of(np.result_type(*(t.name for t in types)).name)
