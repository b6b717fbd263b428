"""Calls of LAPACK and BLAS, those of SciPy, which get everything by address."""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.values import SCALARS, Array, Value, constant

_I32 = SCALARS["int32"]
# subroutine → library, and whether it reports how it went in a last argument
SUBROUTINES = {
    "potrf": ("lapack", True), "getrf": ("lapack", True), "getrs": ("lapack", True),
    "syevd": ("lapack", True), "gesdd": ("lapack", True), "geqrf": ("lapack", True),
    "orgqr": ("lapack", True), "trsm": ("blas", False), "gemm": ("blas", False),
}  # fmt: skip
LETTERS = {"float64": "d", "float32": "s"}
ROUTINES = {
    letter + name: kind for name, kind in SUBROUTINES.items() for letter in LETTERS.values()
}


def call_routine(b: Builder, name: str, arguments: Sequence[Value | Array]) -> Value:
    """Call a subroutine, and return its report, 0 if it has none.

    Integers are passed as 32 bits, numbers in the precision of the subroutine, arrays as the
    address of their first element.
    """
    library, reports = ROUTINES[name]
    number = SCALARS["float64" if name[0] == "d" else "float32"]
    places = []
    for argument in arguments:
        if isinstance(argument, Array):
            places.append(argument.pointer)
            continue
        type_ = number if argument.type.kind == "f" else _I32
        places.append(_stored(b, b.cast(argument, type_)))
    info = _stored(b, constant(0, _I32))
    if reports:
        places.append(info)
    symbol = f"dimtensor.{name}"
    b.module.externals[symbol] = f"{library}:{name}:{len(places)}"
    called = b.module.function(symbol, "void", ["ptr"] * len(places), " nounwind")
    b.write(f"call void {called}({', '.join(f'ptr {place}' for place in places)})")
    return Value(b.let(f"load i32, ptr {info}, align 4"), _I32)


def _stored(b: Builder, value: Value) -> str:
    slot = b.slot(value.type.llvm, align=value.type.size)
    b.write(f"store {value.type.llvm} {value.text}, ptr {slot}, align {value.type.size}")
    return slot
