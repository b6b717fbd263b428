"""Functions that Python calls for a batch: they read arrays, compute, and make arrays of results.

After a pass over data that are larger than the caches, each Python object that a call touches is
read from memory again, so a call in slices enters machine code once. ``enter`` and ``resume`` are
functions of the C type ``METH_FASTCALL``, bound to the words of a batch (:func:`batch_words`).
``enter`` takes the address of a team and the arrays. It returns

- None, if an array has another dtype or shape than the batch, or is not contiguous,
- a tuple of new arrays, if all calls have ended, or
- another answer of ``compute`` as an integer: then ``resume``, which takes the team alone, goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dimtensor.kernels.native.wrapper import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_SHAPE,
    CONTIGUOUS_ALIGNED,
    DESCR_BYTE_ORDER,
    DESCR_NUMBER,
    TUPLE_ITEMS,
)


class BatchInput(NamedTuple):
    """Array that each call of a batch takes.

    Attributes
    ----------
    dtype : dtype
    shape : tuple of int
    buffer : ndarray or None
        Where it is copied to; None for one that calls read where it is.
    places : ndarray of uint64
        Where its addresses are written, if it is not copied: one for each slice.
    offsets : ndarray of uint64
        Bytes from its start to that of each slice.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    buffer: np.ndarray | None
    places: np.ndarray
    offsets: np.ndarray


def batch_words(
    calls: np.ndarray, total: int, most: int, inputs: Sequence[BatchInput],
    results: Sequence[np.ndarray],
) -> tuple[np.ndarray, list[np.ndarray]]:  # fmt: skip
    """Return the words that the machine code reads, and the arrays that they have addresses of.

    Parameters
    ----------
    calls : ndarray of uint64
        See :class:`~dimtensor.kernels.native.teams.team.Batch`.
    total : int
        Address of the words of the sum, or 0.
    most : int
        Calls between two looks for interruptions.
    inputs : sequence of BatchInput
    results : sequence of ndarray of float64
        Buffers whose values are the results.
    """
    kept = [calls]
    rows: list[list[int]] = []
    for each in inputs:
        shape = np.array(each.shape, np.int64)
        kept += [shape, each.places, each.offsets]
        dtype = each.dtype
        size = int(np.prod(each.shape, dtype=np.int64)) * dtype.itemsize
        order = ord("=" if dtype.itemsize > 1 else "|")
        to = 0 if each.buffer is None else each.buffer.ctypes.data
        step = each.places.strides[0] if each.buffer is None else 0
        rows.append([dtype.num, order, len(shape), shape.ctypes.data, size, to,
                     each.places.ctypes.data, len(each.places), step,
                     each.offsets.ctypes.data])  # fmt: skip
    made: list[list[int]] = []
    for buffer in results:
        shape = np.array(buffer.shape, np.int64)
        kept += [shape, buffer]
        made.append([buffer.ndim, shape.ctypes.data, buffer.ctypes.data, buffer.nbytes])
    taken = np.array(rows, np.uint64).ravel()
    given = np.array(made, np.uint64).ravel()
    kept += [taken, given]
    head = [calls.ctypes.data, len(calls), total, most, len(rows), taken.ctypes.data, len(made),
            given.ctypes.data, id(np.ndarray), id(None)]  # fmt: skip
    return np.array(head, np.uint64), kept


def _word(name: str, kind: str, at: int, of: str = "words") -> str:
    return f"""  %{name}.at = getelementptr i64, ptr %{of}, i64 {at}
  %{name} = load {kind}, ptr %{name}.at"""


def _part(name: str, kind: str, of: str, offset: int) -> str:
    return f"""  %{name}.at = getelementptr i8, ptr %{of}, i64 {offset}
  %{name} = load {kind}, ptr %{name}.at"""


_WORDS = f"""{_part("plan", "ptr", "self", TUPLE_ITEMS)}
{_part("words", "ptr", "plan", ARRAY_DATA)}
  %number = load ptr, ptr %args
  %team.address = call i64 @PyLong_AsLongLong(ptr %number)
  %team = inttoptr i64 %team.address to ptr"""

CALL_TEXT = f"""
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyErr_Occurred()
declare ptr @PyTuple_New(i64)
declare void @Py_DecRef(ptr)
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)

define internal i1 @read(ptr %words, ptr %args, i64 %given) {{
entry:
{_word("count", "i64", 4)}
{_word("rows", "ptr", 5)}
{_word("class", "ptr", 8)}
  %all = icmp eq i64 %count, %given
  br i1 %all, label %next, label %refuse
next:
  %at = phi i64 [ 0, %entry ], [ %at.next, %taken ]
  %more = icmp ult i64 %at, %count
  br i1 %more, label %one, label %accept
one:
  %row.offset = mul i64 %at, 80
  %row = getelementptr i8, ptr %rows, i64 %row.offset
  %item.place = getelementptr ptr, ptr %args, i64 %at
  %item = load ptr, ptr %item.place
{_part("type", "ptr", "item", 8)}
  %plain = icmp eq ptr %type, %class
  br i1 %plain, label %array, label %refuse
array:
{_part("descr", "ptr", "item", ARRAY_DESCR)}
{_part("kind", "i32", "descr", DESCR_NUMBER)}
{_part("order", "i8", "descr", DESCR_BYTE_ORDER)}
{_part("axes", "i32", "item", ARRAY_NDIM)}
{_part("flags", "i32", "item", ARRAY_FLAGS)}
{_word("wanted.kind", "i32", 0, "row")}
{_word("wanted.order", "i8", 1, "row")}
{_word("wanted.axes", "i32", 2, "row")}
{_word("lengths", "ptr", 3, "row")}
  %flat = and i32 %flags, {CONTIGUOUS_ALIGNED}
  %a = icmp eq i32 %kind, %wanted.kind
  %b = icmp eq i8 %order, %wanted.order
  %c = icmp eq i32 %axes, %wanted.axes
  %d = icmp eq i32 %flat, {CONTIGUOUS_ALIGNED}
  %ab = and i1 %a, %b
  %cd = and i1 %c, %d
  %fine = and i1 %ab, %cd
  br i1 %fine, label %shape, label %refuse
shape:
{_part("found", "ptr", "item", ARRAY_SHAPE)}
  %n.axes = zext i32 %axes to i64
  br label %axis
axis:
  %which = phi i64 [ 0, %shape ], [ %which.next, %length ]
  %last = icmp eq i64 %which, %n.axes
  br i1 %last, label %shaped, label %length
length:
  %own.at = getelementptr i64, ptr %found, i64 %which
  %own = load i64, ptr %own.at
  %wanted.at = getelementptr i64, ptr %lengths, i64 %which
  %wanted = load i64, ptr %wanted.at
  %same = icmp eq i64 %own, %wanted
  %which.next = add i64 %which, 1
  br i1 %same, label %axis, label %refuse
shaped:
{_part("data", "ptr", "item", ARRAY_DATA)}
{_word("bytes", "i64", 4, "row")}
{_word("buffer", "ptr", 5, "row")}
  %at.next = add i64 %at, 1
  %copied = icmp ne ptr %buffer, null
  br i1 %copied, label %copy, label %point
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %buffer, ptr %data, i64 %bytes, i1 false)
  br label %taken
point:
{_word("places", "ptr", 6, "row")}
{_word("slices", "i64", 7, "row")}
{_word("step", "i64", 8, "row")}
{_word("offsets", "ptr", 9, "row")}
  br label %slice
slice:
  %number = phi i64 [ 0, %point ], [ %number.next, %write ]
  %some = icmp ult i64 %number, %slices
  br i1 %some, label %write, label %taken
write:
  %offset.at = getelementptr i64, ptr %offsets, i64 %number
  %offset = load i64, ptr %offset.at
  %start = getelementptr i8, ptr %data, i64 %offset
  %place.offset = mul i64 %number, %step
  %place = getelementptr i8, ptr %places, i64 %place.offset
  store ptr %start, ptr %place
  %number.next = add i64 %number, 1
  br label %slice
taken:
  br label %next
accept:
  ret i1 true
refuse:
  ret i1 false
}}

define internal ptr @made(ptr %words) {{
entry:
{_word("count", "i64", 6)}
{_word("rows", "ptr", 7)}
{_word("class", "ptr", 8)}
  %tuple = call ptr @PyTuple_New(i64 %count)
  %lost = icmp eq ptr %tuple, null
  br i1 %lost, label %out, label %next
next:
  %at = phi i64 [ 0, %entry ], [ %at.next, %fill ]
  %more = icmp ult i64 %at, %count
  br i1 %more, label %one, label %out
one:
  %row.offset = mul i64 %at, 32
  %row = getelementptr i8, ptr %rows, i64 %row.offset
{_word("axes", "i32", 0, "row")}
{_word("shape", "ptr", 1, "row")}
{_word("source", "ptr", 2, "row")}
{_word("bytes", "i64", 3, "row")}
  %array = call ptr @PyArray_New(ptr %class, i32 %axes, ptr %shape, i32 {np.dtype("float64").num},
                                 ptr null, ptr null, i32 0, i32 0, ptr null)
  %missing = icmp eq ptr %array, null
  br i1 %missing, label %fail, label %fill
fill:
{_part("data", "ptr", "array", ARRAY_DATA)}
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %source, i64 %bytes, i1 false)
  %items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %item = getelementptr ptr, ptr %items, i64 %at
  store ptr %array, ptr %item
  %at.next = add i64 %at, 1
  br label %next
fail:
  call void @Py_DecRef(ptr %tuple)
  br label %out
out:
  %found = phi ptr [ null, %entry ], [ %tuple, %next ], [ null, %fail ]
  ret ptr %found
}}

define internal ptr @answered(ptr %team, ptr %words, ptr %calls, i64 %count) {{
entry:
{_word("sum", "ptr", 2)}
{_word("most", "i64", 3)}
  %answer = call i64 @compute(ptr %team, ptr %calls, i64 %count, i64 %most, ptr %sum)
  %ended = icmp eq i64 %answer, 0
  br i1 %ended, label %finished, label %other
finished:
  %results = call ptr @made(ptr %words)
  ret ptr %results
other:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %raise, label %say
raise:
  ret ptr null
say:
  %integer = call ptr @PyLong_FromLongLong(i64 %answer)
  ret ptr %integer
}}

define ptr @enter(ptr %self, ptr %args, i64 %count) {{
entry:
{_WORDS}
  %arrays = getelementptr ptr, ptr %args, i64 1
  %given = sub i64 %count, 1
  %fine = call i1 @read(ptr %words, ptr %arrays, i64 %given)
  br i1 %fine, label %start, label %refuse
start:
{_word("calls", "ptr", 0)}
{_word("number.of.calls", "i64", 1)}
  %found = call ptr @answered(ptr %team, ptr %words, ptr %calls, i64 %number.of.calls)
  ret ptr %found
refuse:
{_word("none", "ptr", 9)}
  ret ptr %none
}}

define ptr @resume(ptr %self, ptr %args, i64 %count) {{
{_WORDS}
  %found = call ptr @answered(ptr %team, ptr %words, ptr null, i64 0)
  ret ptr %found
}}
"""
