"""Callbacks for nutpie, whose sampler calls machine code.

Both callbacks get the address of one table of 64-bit words: the size of the vector, the address and
the closure of the C function (:mod:`dimtensor.backends.native.c_function`) of value and gradient,
those of the one that expands a draw (0 if flat draws are kept), and the size of an expanded
draw. They are the same machine code for every model.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends.native.c_function import CFunction
from dimtensor.kernels.native import machine
from dimtensor.kernels.native.linking.loaded import Loaded

# Replacement of a slope of 0, which nutpie takes for an error when it evaluates a point again.
SLOPE = 1e-100

# Return codes of `gradient`: 0 for success, above 0 if the point is rejected, below 0 for a fatal
# error. Errors of `expand` are fatal: its argument is a draw, not a proposal.
_TEXT = """
declare double @llvm.fabs.f64(double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i64 @gradient(i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %table) nounwind {
entry:
  %arrays = alloca [1 x ptr]
  %results = alloca [2 x ptr]
  %expected = load i64, ptr %table
  %right = icmp eq i64 %size, %expected
  br i1 %right, label %run, label %wrong
wrong:
  ret i64 -1
run:
  store ptr %x, ptr %arrays
  store ptr %value, ptr %results
  %second = getelementptr ptr, ptr %results, i64 1
  store ptr %gradient, ptr %second
  %at1 = getelementptr i64, ptr %table, i64 1
  %function = load ptr, ptr %at1
  %at2 = getelementptr i64, ptr %table, i64 2
  %closure = load ptr, ptr %at2
  %code = call i32 %function(ptr %arrays, ptr %results, ptr %closure)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %look, label %failed
failed:
  %refused = icmp eq i32 %code, -1
  %why = select i1 %refused, i64 2, i64 1
  ret i64 %why
look:
  %v = load double, ptr %value
  %av = call double @llvm.fabs.f64(double %v)
  %finite = fcmp olt double %av, 0x7FF0000000000000
  br i1 %finite, label %check, label %infinite
infinite:
  ret i64 4
check:
  %i = phi i64 [ 0, %look ], [ %next, %again ]
  %more = icmp ult i64 %i, %size
  br i1 %more, label %one, label %done
one:
  %place = getelementptr double, ptr %gradient, i64 %i
  %g = load double, ptr %place
  %ag = call double @llvm.fabs.f64(double %g)
  %good = fcmp olt double %ag, 0x7FF0000000000000
  br i1 %good, label %sloping, label %steep
sloping:
  %flat = fcmp oeq double %g, 0.0
  %slope = select i1 %flat, double 0x2B2BFF2EE48E0530, double %g
  store double %slope, ptr %place
  br label %again
again:
  %next = add i64 %i, 1
  br label %check
steep:
  ret i64 3
done:
  ret i64 0
}

define i64 @expand(i64 %size, i64 %room, ptr %x, ptr %out, ptr %table) nounwind {
entry:
  %arrays = alloca [1 x ptr]
  %results = alloca [1 x ptr]
  %expected = load i64, ptr %table
  %at5 = getelementptr i64, ptr %table, i64 5
  %expanded = load i64, ptr %at5
  %one = icmp eq i64 %size, %expected
  %two = icmp eq i64 %room, %expanded
  %right = and i1 %one, %two
  br i1 %right, label %run, label %wrong
wrong:
  ret i64 -1
run:
  %at3 = getelementptr i64, ptr %table, i64 3
  %function = load ptr, ptr %at3
  %none = icmp eq ptr %function, null
  br i1 %none, label %copy, label %call
copy:
  %bytes = shl i64 %size, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %x, i64 %bytes, i1 false)
  ret i64 0
call:
  store ptr %x, ptr %arrays
  store ptr %out, ptr %results
  %at4 = getelementptr i64, ptr %table, i64 4
  %closure = load ptr, ptr %at4
  %code = call i32 %function(ptr %arrays, ptr %results, ptr %closure)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %done, label %failed
failed:
  %refused = icmp eq i32 %code, -1
  %why = select i1 %refused, i64 -3, i64 -2
  ret i64 %why
done:
  ret i64 0
}
"""


class Callback(NamedTuple):
    """A callback; `ctypes` is the function of Python that calls it."""

    address: int
    arguments: str

    @property
    def ctypes(self) -> Any:
        """For tests: sizes are numbers, pointers are addresses or pointers of ctypes."""
        kinds = {"q": ctypes.c_uint64, "p": ctypes.c_void_p}
        types = [kinds[letter] for letter in self.arguments]
        return ctypes.CFUNCTYPE(ctypes.c_int64, *types)(self.address)


@cache
def _loaded() -> Loaded:
    return Loaded(machine.object_code(_TEXT))


def gradient_callback() -> Callback:
    """Value and gradient.

    ``int64 f(uint64 size, double *x, double *gradient, double *value, void *table)``
    """
    return Callback(_loaded().address("gradient"), "qpppp")


def expand_callback() -> Callback:
    """Layout of a recorded draw.

    ``int64 f(uint64 size, uint64 size_out, double *x, double *out, void *table)``
    """
    return Callback(_loaded().address("expand"), "qqppp")


def table_of(
    size: int, gradient: CFunction, expanded: CFunction | None, size_out: int
) -> np.ndarray:
    """Return the table of both callbacks; the functions must outlive it."""
    expand = (0, 0) if expanded is None else (expanded.address, expanded.closure)
    words = [size, gradient.address, gradient.closure, *expand, size_out]
    return np.array(words, dtype=np.uint64)
