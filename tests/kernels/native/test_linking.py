"""Object files are linked in memory, and do what LLVM's own loading makes of them."""

from __future__ import annotations

import ctypes
import math
import platform
import struct
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import dimtensor as dt
from dimtensor.kernels.native import machine
from dimtensor.kernels.native.linking import externals, symbols
from dimtensor.kernels.native.linking.loaded import Loaded
from dimtensor.kernels.native.linking.objects import Linked, NotLinked
from dimtensor.kernels.native.values import BrokenCode

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM loads object files"
)

# a constant, a variable that begins with a value, one that begins as zero, tables of addresses, a
# function of the C library
TEXT = """
@begun = global double 2.5
@counted = global i64 0
@chosen = constant [2 x ptr] [ptr @once, ptr @twice]
declare double @cos(double) nounwind
declare double @nowhere_of_a_test(double) nounwind
define internal double @once(double %x) noinline nounwind { ret double %x }
define internal double @twice(double %x) noinline nounwind {
  %y = fmul double %x, 2.0
  ret double %y
}
define double @kernel(double %x, i64 %which) nounwind {
  %n = load i64, ptr @counted
  %more = add i64 %n, 1
  store i64 %more, ptr @counted
  %place = getelementptr [2 x ptr], ptr @chosen, i64 0, i64 %which
  %f = load ptr, ptr %place
  %y = call double %f(double %x)
  %z = call double @cos(double %y)
  %b = load double, ptr @begun
  %sum = fadd double %z, %b
  %far = fadd double %sum, 0x3FB999999999999A
  ret double %far
}
"""
UNKNOWN = TEXT.replace("@cos(double %y)", "@nowhere_of_a_test(double %y)")


def called(code, x, which):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(code)(x, which)


@pytest.mark.parametrize("quick", [False, True])
def test_functions_and_variables_are_where_they_should_be(quick):
    code = machine.object_code(TEXT, quick)
    linked, engine = Linked(code, symbols.find), machine.Engine(code)
    for which in (0, 1):
        expected = math.cos(0.3 * (which + 1)) + 2.5 + 0.1
        assert called(linked.addresses["kernel"], 0.3, which) == pytest.approx(expected, abs=1e-15)
        assert called(engine.function("kernel"), 0.3, which) == called(
            linked.addresses["kernel"], 0.3, which
        )
    assert ctypes.c_int64.from_address(linked.addresses["counted"]).value == 4
    again = Linked(code, symbols.find)
    assert ctypes.c_int64.from_address(again.addresses["counted"]).value == 0


def permissions(address: int) -> str | None:
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, kinds = line.split()[:2]
        first, last = (int(end, 16) for end in span.split("-"))
        if first <= address < last:
            return kinds
    return None


def test_what_runs_is_not_written_and_memory_is_given_back():
    linked = Linked(machine.object_code(TEXT), symbols.find)
    kernel, counted = linked.addresses["kernel"], linked.addresses["counted"]
    assert permissions(kernel) == "r-xp"
    assert permissions(counted) == "rw-p"
    del linked
    assert permissions(kernel) != "r-xp"


def small_model(text: str) -> bytes:
    """An object file whose code must lie near to what it uses."""
    target = llvm.Target.from_default_triple().create_target_machine(codemodel="small")
    return target.emit_object(machine._for(target, text))


def plain() -> bytes:
    return machine.object_code(TEXT, quick=True)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (lambda: small_model(TEXT), "a relocation of kind|a section of type"),
        (lambda: machine.object_code(UNKNOWN), "nowhere_of_a_test is nowhere"),
    ],
    ids=["near", "unknown function"],
)
def test_other_files_are_left_to_llvm(code, said):
    with pytest.raises(NotLinked, match=said):
        Linked(code(), symbols.find)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda code: b"", "no object file"),
        (lambda code: code[:40], "no object file"),
        (lambda code: bytes(len(code)), "no object file"),
        (lambda code: b"\x7fELF\x01" + code[5:], "no object file"),
        (lambda code: b"\xcf\xfa\xed\xfe" + code[4:], "no object file"),
        (lambda code: code[:18] + struct.pack("<H", 183) + code[20:], "of another kind"),
        (lambda code: code[:60] + bytes(2) + code[62:], "without its sections"),
        (lambda code: code[:40] + struct.pack("<Q", 1 << 40) + code[48:], "without its sections"),
        (lambda code: code[:-30], "without its sections"),
    ],
    ids=["nothing", "head", "zeros", "32 bits", "macOS", "AArch64", "empty", "far", "cut"],
)
def test_what_is_no_object_file_never_reaches_llvm(damage, said):
    """LLVM ends the process for most of them."""
    with pytest.raises(BrokenCode, match=said):
        Loaded(damage(plain()))


def test_what_is_not_linked_here_llvm_loads():
    loaded = Loaded(small_model("@seven = global i64 7\n" + "define i64 @f() { ret i64 8 }"))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("f"))() == 8
    assert ctypes.c_int64.from_address(loaded.variable("seven")).value == 7


def test_kernels_are_linked_here():
    x = dt.tensor("x", dims=dt.Dim("t"))
    f = dt.function([x], [dt.exp(x).sum(), dt.grad((x**3).mean(), x), x.cumsum("t")])
    f(np.ones(20))
    assert Linked(f.positional.executable.native.code.object, symbols.find).addresses["call"]


def test_a_system_that_runs_nothing_written_is_left_to_llvm(monkeypatch):
    monkeypatch.setattr(
        "dimtensor.kernels.native.linking.objects._mprotect", lambda: lambda *given: -1
    )
    with pytest.raises(NotLinked, match="nobody run what was written"):
        Linked(plain(), symbols.find)


def test_names_that_are_not_there():
    loaded = Loaded(plain())
    with pytest.raises(BrokenCode, match="no function other"):
        loaded.address("other")
    assert loaded.variable("other") == 0


@pytest.mark.parametrize("wheel", [True, False])
def test_blas_is_found_with_and_without_scipys_names(wheel, monkeypatch):
    """The dot product of (1, 2, 3) and (4, 5, 6)."""
    if not wheel:
        monkeypatch.setattr(externals, "_shared_object", lambda name: None)
    address = externals._address_of.__wrapped__("blas:dgemv:11", False)
    n, one, zero = ctypes.c_int(3), ctypes.c_double(1), ctypes.c_double(0)
    step = ctypes.c_int(1)
    a, x, y = (ctypes.c_double * 3)(1, 2, 3), (ctypes.c_double * 3)(4, 5, 6), ctypes.c_double()
    given = (ctypes.c_char(b"T"), n, step, one, a, n, x, step, zero, y, step)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(given))(address)
    function(*(ctypes.addressof(each) for each in given))
    assert y.value == 32
