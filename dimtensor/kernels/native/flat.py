"""The function that other machine code calls: buffers in, results written into given buffers.

Its prototype in C is
``int32_t flat(void *const *arrays, void *const *results, const uint64_t *closure)``.
The closure has what does not change from call to call: how many arrays and results are given, from
which result on the results are conditions, and the first table of the kernel (see
:mod:`~dimtensor.kernels.native.translate`), in which the addresses of the arrays are filled in.

It gives 0; ``CONDITION`` where a condition is false; else what the kernel gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dimtensor.kernels.native.values import PLACES, ArgumentType, ResultType, as_it_is, scalar_of

CONDITION = -1
_HEAD = 3


def closure_table(
    arguments: Sequence[ArgumentType],
    shapes: Sequence[Sequence[int]],
    fixed: Sequence[np.ndarray],
    n_results: int,
    first_condition: int,
) -> np.ndarray:
    """Return the closure of a call with arrays of some shapes.

    Parameters
    ----------
    arguments : sequence of ArgumentType
        Of the kernel.
    shapes : sequence of sequence of int
        Of the arrays of a call.
    fixed : sequence of ndarray
        Further arguments of the kernel; the closure has their addresses, not their values.
    n_results : int
        So many results, from the first on, are given buffers.
    first_condition : int
        Truth values from this result on must be true.
    """
    words = [len(shapes), n_results, first_condition]
    for at in range(len(arguments)):
        if at < len(shapes):
            words += [0, *shapes[at]]
        else:
            array = fixed[at - len(shapes)]
            words += [array.ctypes.data, *array.shape]
    return np.array(words, dtype=np.uint64)


def flat(kernel: str, arguments: Sequence[ArgumentType], results: Sequence[ResultType]) -> str:
    """LLVM of the function ``flat`` around a kernel."""
    words = sum(1 + len(a.shape) for a in arguments)
    room = sum(1 + r.ndim for r in results)
    lines = [
        "define i32 @flat(ptr %arrays, ptr %results, ptr %closure) nounwind {",
        "entry:",
        f"  %in = alloca [{max(words, 1)} x i64]",
        f"  %out = alloca [{max(room, 1)} x i64]",
        f"  %numbers = alloca [{max(len(results), 1)} x i64]",
        f"  %table = getelementptr i64, ptr %closure, i64 {_HEAD}",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %in, ptr %table, i64 {8 * words}, i1 false)",
        "  %given = load i64, ptr %closure",
        "  %second = getelementptr i64, ptr %closure, i64 1",
        "  %wanted = load i64, ptr %second",
        "  %third = getelementptr i64, ptr %closure, i64 2",
        "  %first = load i64, ptr %third",
    ]
    fill, places = _fill_all(arguments)
    lines += fill
    offset = 0
    for at, result in enumerate(results):
        place = "null"
        if not result.ndim:
            lines.append(f"  %n{at} = getelementptr i64, ptr %numbers, i64 {at}")
            place = f"%n{at}"
        lines.append(f"  %o{at} = getelementptr i64, ptr %out, i64 {offset}")
        lines.append(f"  store ptr {place}, ptr %o{at}")
        lines += _fill("results", "wanted", "out", at, offset, f"r{at}")
        offset += 1 + result.ndim
    lines.append(f"  %code = call i32 @{kernel}(ptr %in, ptr %out)")
    lines += _leave(results)
    return "\n".join([places, *lines, "}", ""])


def _fill_all(arguments: Sequence[ArgumentType]) -> tuple[list[str], str]:
    """Put the addresses of arrays into their table, of as many as are given."""
    sizes = [1 + len(a.shape) for a in arguments]
    places = ", ".join(f"i64 {8 * sum(sizes[:at])}" for at in range(len(sizes)))
    return [
        f"  %few = icmp ult i64 %given, {len(sizes)}",
        f"  %last = select i1 %few, i64 %given, i64 {len(sizes)}",
        "  br label %next",
        "next:",
        "  %at = phi i64 [ 0, %entry ], [ %at.next, %take ]",
        "  %more = icmp ult i64 %at, %last",
        "  br i1 %more, label %take, label %taken",
        "take:",
        "  %from = getelementptr ptr, ptr %arrays, i64 %at",
        "  %value = load ptr, ptr %from",
        "  %offset = getelementptr i64, ptr @places, i64 %at",
        "  %place = load i64, ptr %offset",
        "  %to = getelementptr i8, ptr %in, i64 %place",
        "  store ptr %value, ptr %to",
        "  %at.next = add nuw nsw i64 %at, 1",
        f"  br label %next, {as_it_is(PLACES)}",
        "taken:",
    ], f"@places = private constant [{max(len(sizes), 1)} x i64] [{places or 'i64 0'}]"


def _fill(source: str, limit: str, table: str, at: int, offset: int, name: str) -> list[str]:
    """Put an address into a table, if so many are given."""
    return [
        f"  %{name}.is = icmp ugt i64 %{limit}, {at}",
        f"  br i1 %{name}.is, label %{name}.take, label %{name}.done",
        f"{name}.take:",
        f"  %{name}.from = getelementptr ptr, ptr %{source}, i64 {at}",
        f"  %{name}.value = load ptr, ptr %{name}.from",
        f"  %{name}.to = getelementptr i64, ptr %{table}, i64 {offset}",
        f"  store ptr %{name}.value, ptr %{name}.to",
        f"  br label %{name}.done",
        f"{name}.done:",
    ]


def _leave(results: Sequence[ResultType]) -> list[str]:
    """Free results that the caller does not want, and test the conditions."""
    lines, fine = [], "true"
    for at, result in enumerate(results):
        if result.ndim:
            lines += [
                f"  br i1 %r{at}.is, label %kept{at}, label %drop{at}",
                f"drop{at}:",
                f"  %made{at} = load ptr, ptr %o{at}",
                f"  call void @free(ptr %made{at})",
                f"  br label %kept{at}",
                f"kept{at}:",
            ]
        elif scalar_of(result.dtype).kind == "b":
            lines += [
                f"  %before{at} = icmp ugt i64 %first, {at}",
                f"  %byte{at} = load i8, ptr %n{at}",
                f"  %true{at} = icmp ne i8 %byte{at}, 0",
                f"  %holds{at} = or i1 %before{at}, %true{at}",
                f"  %fine{at} = and i1 {fine}, %holds{at}",
            ]
            fine = f"%fine{at}"
    return [
        *lines,
        f"  %answer = select i1 {fine}, i32 0, i32 {CONDITION}",
        "  %failed = icmp ne i32 %code, 0",
        "  %said = select i1 %failed, i32 %code, i32 %answer",
        "  ret i32 %said",
    ]
