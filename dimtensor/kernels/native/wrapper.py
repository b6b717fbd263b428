"""The function that Python calls: it reads arrays where NumPy keeps their parts, and makes arrays.

It is a function of the C type ``METH_FASTCALL``. What it is bound to (``self``) is a tuple of
arrays that follow those of the call. Arguments that are not arrays (of NumPy's class, or of one
derived from it) of the right type, number of axes and known lengths, contiguous and aligned, are a
``TypeError`` that tells which. Python's lock is not held while the kernel runs; a loop whose rounds
nobody can count takes it now and then, to hear of somebody who wants it to end.

The layout of NumPy's array objects is part of its stable binary interface (``PyArrayObject_fields``
in ``numpy/ndarraytypes.h``); :func:`layout_is_known` checks it in the running process.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dimtensor.kernels.native.linking.externals import capsule_address
from dimtensor.kernels.native.values import (
    ARRAYS,
    AXES,
    ERRORS,
    FIRST_ERROR,
    INTERRUPTED,
    OUT_OF_MEMORY,
    ArgumentType,
    ResultType,
    as_it_is,
    hints,
    scalar_of,
)

# where the parts of array objects, array types and tuples are, in bytes
ARRAY_DATA, ARRAY_NDIM, ARRAY_SHAPE, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 56, 64
DESCR_BYTE_ORDER, DESCR_NUMBER = 26, 28
_SIZE, TUPLE_ITEMS = 16, 24
CONTIGUOUS_ALIGNED, _OWN_DATA = 0x101, 0x4
_NEW_FLAGS = 0x501  # contiguous, aligned, writeable
_METH_FASTCALL = 0x80
_PYARRAY_TYPE, _PYARRAY_NEW = 2, 93  # in NumPy's table of functions
_ANY = -1  # a length that is not known before

TABLE = "addresses"
NO_MEMORY = "there is no memory for an array"
_ADDRESSES = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_SetString",
    "PyObject_CallNoArgs",
    "PyGILState_Ensure",
    "PyGILState_GetThisThreadState",
    "PyGILState_Release",
    "PyFloat_FromDouble",
    "PyLong_FromLongLong",
    "PyBool_FromLong",
    "PyTuple_New",
    "Py_DecRef",
    "MemoryError",
    *ERRORS,
    "ndarray",
    "listen",
    "memmap",
    "PyArray_New",
)
# a word of each kernel that has loops which listen: not 0 while threads of others shall leave them
STOP = "dimtensor_stop"


def _listen() -> None:
    """Let Python raise interruptions, which it does where one of its functions starts."""


@cache
def addresses() -> Any:
    """Return the table of addresses of Python's and NumPy's functions, to be copied."""
    from dimtensor.upstream.numpy import array_api

    found = {"ndarray": id(np.ndarray), "memmap": id(np.memmap), "listen": id(_listen)}
    for name in _ADDRESSES:
        if name.startswith("Py") and name != "PyArray_New":
            found[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        elif name.endswith("Error"):
            found[name] = id(getattr(__import__("builtins"), name))
    functions = ctypes.c_void_p * (_PYARRAY_NEW + 1)
    table = functions.from_address(capsule_address(array_api(), None))
    found["PyArray_New"] = table[_PYARRAY_NEW] or 0
    if table[_PYARRAY_TYPE] != id(np.ndarray):
        raise RuntimeError("NumPy's table of functions is not as expected")
    return (ctypes.c_uint64 * len(_ADDRESSES))(*(found[name] for name in _ADDRESSES))


def function_address(name: str) -> int:
    """Return the address of one of Python's or NumPy's functions that kernels call."""
    found: int = addresses()[_ADDRESSES.index(name)]
    return found


@cache
def layout_is_known() -> bool:
    """Return whether arrays of this process have the layout that the code expects."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16:
        return False
    array = np.arange(6.0).reshape(2, 3)
    at = id(array)
    shape = ctypes.c_void_p.from_address(at + ARRAY_SHAPE).value or 0
    descr = ctypes.c_void_p.from_address(at + ARRAY_DESCR).value
    pair = (array, None)
    try:
        addresses()
    except (RuntimeError, AttributeError, ImportError):
        return False
    return (
        ctypes.c_void_p.from_address(at + ARRAY_DATA).value == array.ctypes.data
        and ctypes.c_int.from_address(at + ARRAY_NDIM).value == 2
        and descr == id(array.dtype)
        and [ctypes.c_int64.from_address(shape + 8 * k).value for k in (0, 1)] == [2, 3]
        and ctypes.c_int.from_address(at + ARRAY_FLAGS).value == array.flags.num
        and ctypes.c_int.from_address(id(array.dtype) + DESCR_NUMBER).value == array.dtype.num
        and ctypes.c_char.from_address(id(array.dtype) + DESCR_BYTE_ORDER).value == b"="
        and ctypes.c_int64.from_address(id(pair) + _SIZE).value == 2
        and ctypes.c_void_p.from_address(id(pair) + TUPLE_ITEMS).value == at
    )


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def python_function(address: int, fixed: Sequence[np.ndarray], owner: Any) -> Any:
    """Make a Python function from an address, bound to some arrays; it keeps ``owner`` alive."""
    definition = _MethodDef(b"kernel", address, _METH_FASTCALL, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return new(ctypes.addressof(definition), tuple(fixed), (owner, definition))


class _Text:
    """Lines of the wrapper."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.globals: list[str] = []
        self.count = 0

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %w{self.count} = {text}")
        return f"%w{self.count}"

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def at(self, pointer: str, offset: int | str) -> str:
        return self.let(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")

    def load(self, type_: str, pointer: str, offset: int = 0) -> str:
        return self.let(f"load {type_}, ptr {self.at(pointer, offset) if offset else pointer}")

    def function(self, name: str) -> str:
        return self.load("ptr", f"@{TABLE}", 8 * _ADDRESSES.index(name))

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def string(self, text: str) -> str:
        data = text.encode() + b"\0"
        name = f"@text{len(self.globals)}"
        body = "".join(f"\\{byte:02X}" for byte in data)
        self.globals.append(f'{name} = private constant [{len(data)} x i8] c"{body}"')
        return name

    def table(self, type_: str, numbers: Sequence[int]) -> str:
        name = f"@table{len(self.globals)}"
        body = ", ".join(f"{type_} {number}" for number in numbers)
        self.globals.append(f"{name} = private constant [{len(numbers)} x {type_}] [{body}]")
        return name


def wrapper(
    kernel: str,
    arguments: Sequence[ArgumentType],
    results: Sequence[ResultType],
    errors: Sequence[tuple[str, str]],
) -> str:
    """LLVM of the function ``call`` around a kernel."""
    t = _Text()
    words = sum(1 + len(a.shape) for a in arguments)
    room = sum(1 + r.ndim for r in results)
    t.label("entry")
    t.do(f"%objects = alloca [{max(len(arguments), 1)} x ptr]")
    t.do(f"%in = alloca [{max(words, 1)} x i64]")
    t.do(f"%out = alloca [{max(room, 1)} x i64]")
    t.do(f"%numbers = alloca [{max(len(results), 1)} x i64]")
    t.do("%tuple = alloca ptr")
    _gather(t, len(arguments))
    if arguments:
        _read(t, arguments)
    offset = 0
    for at, result in enumerate(results):
        place = t.at("%out", 8 * offset)
        if result.ndim:
            t.do(f"store ptr null, ptr {place}")
        else:
            t.do(f"store ptr {t.at('%numbers', 8 * at)}, ptr {place}")
        if result.boxed:
            t.do(f"%box{at} = alloca ptr")
            t.do(f"store ptr null, ptr %box{at}")
        offset += 1 + result.ndim
    state = t.let(f"call ptr {t.function('PyEval_SaveThread')}()")
    code = t.let(f"call i32 @{kernel}(ptr %in, ptr %out)")
    t.do(f"call void {t.function('PyEval_RestoreThread')}(ptr {state})")
    fine = t.let(f"icmp eq i32 {code}, 0")
    t.do(f"br i1 {fine}, label %made, label %failed")
    _make(t, results)
    _fail(t, code, results, errors)
    head = [
        *t.globals,
        f"@{TABLE} = global [{len(_ADDRESSES)} x ptr] zeroinitializer",
        "define ptr @call(ptr %self, ptr %args, i64 %count) nounwind {",
    ]
    return "\n".join([*head, *t.lines, "}", *hints(), ""])


def interruption() -> str:
    """LLVM of the function ``interrupted``: whether the loop that calls it shall end.

    A thread of Python's hears of its exceptions, with Python's lock: the handlers of signals run in
    the main thread, and what another thread sends is raised in any. A thread that Python does not
    know, which is a sampler's, reads a word of the kernel and never waits for the lock.
    """
    t = _Text()
    t.label("entry")
    known = t.let(f"call ptr {t.function('PyGILState_GetThisThreadState')}()")
    t.do(f"br i1 {t.let(f'icmp eq ptr {known}, null')}, label %foreign, label %own")
    t.label("foreign")
    word = t.let(f"load atomic i64, ptr @{STOP} monotonic, align 8")
    t.do(f"ret i1 {t.let(f'icmp ne i64 {word}, 0')}")
    t.label("own")
    state = t.let(f"call i32 {t.function('PyGILState_Ensure')}()")
    found = t.let(f"call ptr {t.function('PyObject_CallNoArgs')}(ptr {t.function('listen')})")
    raised = t.let(f"icmp eq ptr {found}, null")
    t.do(f"br i1 {raised}, label %done, label %fine")
    t.label("fine")
    t.do(f"call void {t.function('Py_DecRef')}(ptr {found})")
    t.do("br label %done")
    t.label("done")
    t.do(f"call void {t.function('PyGILState_Release')}(i32 {state})")
    t.do(f"ret i1 {raised}")
    head = "define internal i1 @interrupted() noinline cold nounwind {"
    return "\n".join([f"@{STOP} = global i64 0", head, *t.lines, "}", ""])


def _gather(t: _Text, total: int) -> None:
    """Collect all objects in one list: those of the call, then the bound ones."""
    bound = t.load("i64", "%self", _SIZE)
    given = t.let(f"add i64 %count, {bound}")
    right = t.let(f"icmp eq i64 {given}, {total}")
    t.do(f"br i1 {right}, label %counted, label %miscounted")
    t.label("miscounted")
    text = t.string(f"the kernel takes {total} arrays in all")
    t.do(f"call void {t.function('PyErr_SetString')}(ptr {t.function('TypeError')}, ptr {text})")
    t.do("ret ptr null")
    t.label("counted")
    first = t.let("shl i64 %count, 3")
    t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %objects, ptr %args, i64 {first}, i1 false)")
    rest = t.at("%objects", first)
    items, size = t.at("%self", TUPLE_ITEMS), t.let(f"shl i64 {bound}, 3")
    t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {rest}, ptr {items}, i64 {size}, i1 false)")


def _read(t: _Text, arguments: Sequence[ArgumentType]) -> None:
    """Check the arrays and note their parts in the table.

    It is a loop over tables of what is wanted: written out for each of forty arrays, it took LLVM a
    tenth of a second.
    """
    wanted, lengths, texts, start = [], [], "", 0
    for at, argument in enumerate(arguments):
        dtype = scalar_of(argument.dtype)
        order = ord("=" if dtype.size > 1 else "|")
        wanted += [len(argument.shape), dtype.number, order, start]
        lengths += [0, *(_ANY if length is None else length for length in argument.shape)]
        text = _expected(at, argument)
        texts, start = texts + text + "\0", start + len(text) + 1
    wants, allowed = t.table("i32", wanted), t.table("i64", lengths)
    t.do("br label %next")
    t.label("next")
    t.do("%at = phi i64 [ 0, %counted ], [ %at.next, %fine ]")
    t.do("%offset = phi i64 [ 0, %counted ], [ %axis, %fine ]")
    item = t.load("ptr", t.at("%objects", t.let("shl nuw nsw i64 %at, 3")))
    want = t.at(wants, t.let("shl nuw nsw i64 %at, 4"))
    kind, ndarray = t.load("ptr", item, 8), t.function("ndarray")
    plain = t.let(f"icmp eq ptr {kind}, {ndarray}")
    t.do(f"br i1 {plain}, label %array, label %other")
    t.label("other")  # other derived classes may mean something else by it, as masked arrays do
    mapped = t.let(f"icmp eq ptr {kind}, {t.function('memmap')}")
    t.do(f"br i1 {mapped}, label %array, label %wrong")
    t.label("array")
    descr, n_axes = t.load("ptr", item, ARRAY_DESCR), t.load("i32", want)
    byte_order = t.let(f"zext i8 {t.load('i8', descr, DESCR_BYTE_ORDER)} to i32")
    flags = t.let(f"and i32 {t.load('i32', item, ARRAY_FLAGS)}, {CONTIGUOUS_ALIGNED}")
    checks = [
        (t.load("i32", item, ARRAY_NDIM), n_axes),
        (t.load("i32", descr, DESCR_NUMBER), t.load("i32", want, 4)),
        (byte_order, t.load("i32", want, 8)),
        (flags, str(CONTIGUOUS_ALIGNED)),
    ]
    place = t.at("%in", t.let("shl nuw nsw i64 %offset, 3"))
    t.do(f"store ptr {t.load('ptr', item, ARRAY_DATA)}, ptr {place}")
    first = t.let("add nuw nsw i64 %offset, 1")
    after = t.let(f"add nuw nsw i64 {first}, {t.let(f'zext i32 {n_axes} to i64')}")
    # the lengths are read after the number of axes is known
    t.do(f"br i1 {_all(t, checks)}, label %shaped, label %wrong")
    t.label("shaped")
    shape = t.load("ptr", item, ARRAY_SHAPE)
    t.do("br label %axes")
    t.label("axes")
    t.do(f"%axis = phi i64 [ {first}, %shaped ], [ %axis.next, %length ]")
    t.do("%which = phi i64 [ 0, %shaped ], [ %which.next, %length ]")
    t.do(f"br i1 {t.let(f'icmp eq i64 %axis, {after}')}, label %fine, label %length")
    t.label("length")
    place = t.let("shl nuw nsw i64 %axis, 3")
    found = t.load("i64", t.at(shape, t.let("shl nuw nsw i64 %which, 3")))
    t.do(f"store i64 {found}, ptr {t.at('%in', place)}")
    length = t.load("i64", t.at(allowed, place))
    same, free = (t.let(f"icmp eq i64 {length}, {each}") for each in (found, _ANY))
    t.do("%axis.next = add nuw nsw i64 %axis, 1")
    t.do("%which.next = add nuw nsw i64 %which, 1")
    t.do(f"br i1 {t.let(f'or i1 {same}, {free}')}, label %axes, label %wrong, {as_it_is(AXES)}")
    t.label("wrong")
    begin = t.let(f"zext i32 {t.load('i32', want, 12)} to i64")
    text, error = t.at(t.string(texts), begin), t.function("TypeError")
    t.do(f"call void {t.function('PyErr_SetString')}(ptr {error}, ptr {text})")
    t.do("ret ptr null")
    t.label("fine")
    t.do("%at.next = add nuw nsw i64 %at, 1")
    last = t.let(f"icmp eq i64 %at.next, {len(arguments)}")
    t.do(f"br i1 {last}, label %ready, label %next, {as_it_is(ARRAYS)}")
    t.label("ready")


def _all(t: _Text, checks: Sequence[tuple[str, str]]) -> str:
    """Compare 32-bit numbers with their expected values; the text of their conjunction."""
    parts = [t.let(f"icmp eq i32 {found}, {wanted}") for found, wanted in checks]
    fine = parts[0]
    for part in parts[1:]:
        fine = t.let(f"and i1 {fine}, {part}")
    return fine


def _expected(at: int, argument: ArgumentType) -> str:
    shape = ", ".join("any" if length is None else str(length) for length in argument.shape)
    return (
        f"argument {at} of the kernel is not a contiguous array of dtype {argument.dtype} and "
        f"shape ({shape})"
    )


def _make(t: _Text, results: Sequence[ResultType]) -> None:
    """Objects of the results, in a tuple; memory of an array that has an object is the object's."""
    t.label("made")
    found = t.let(f"call ptr {t.function('PyTuple_New')}(i64 {len(results)})")
    t.do(f"store ptr {found}, ptr %tuple")
    _or_lost(t, found)
    offset = 0
    for at, result in enumerate(results):
        place = t.at("%out", 8 * offset)
        if result.ndim or result.boxed:
            made = _new_array(t, result, place, f"%box{at}" if result.boxed else place)
        else:
            made = _new_number(t, result, t.at("%numbers", 8 * at))
            _or_lost(t, made)
        t.do(f"store ptr {made}, ptr {t.at(found, TUPLE_ITEMS + 8 * at)}")
        offset += 1 + result.ndim
    t.do(f"ret ptr {found}")


def _or_lost(t: _Text, made: str, lost: str = "lost") -> None:
    """Go on if there is an object."""
    t.count += 1
    missing = t.let(f"icmp eq ptr {made}, null")
    t.do(f"br i1 {missing}, label %{lost}, label %go.on{t.count}")
    t.label(f"go.on{t.count}")


def _new_array(t: _Text, result: ResultType, place: str, owner: str) -> str:
    """Make an array; free the memory at `owner` if that fails."""
    dtype = scalar_of(result.dtype)
    data = t.load("ptr", place)
    if result.boxed:
        kept = t.let("call ptr @malloc(i64 8)")
        _or_lost(t, kept, "full")
        t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {kept}, ptr {data}, i64 8, i1 false)")
        t.do(f"store ptr {kept}, ptr {owner}")
        data = kept
    made = t.let(
        f"call ptr {t.function('PyArray_New')}(ptr {t.function('ndarray')}, i32 {result.ndim}, "
        f"ptr {t.at(place, 8)}, i32 {dtype.number}, ptr null, ptr {data}, i32 0, "
        f"i32 {_NEW_FLAGS}, ptr null)"
    )
    _or_lost(t, made)
    t.do(f"store ptr null, ptr {owner}")
    flags = t.at(made, ARRAY_FLAGS)
    owned = t.let(f"or i32 {t.load('i32', flags)}, {_OWN_DATA}")
    t.do(f"store i32 {owned}, ptr {flags}")
    return made


def _new_number(t: _Text, result: ResultType, place: str) -> str:
    if result.dtype == "float64":
        number = t.load("double", place)
        return t.let(f"call ptr {t.function('PyFloat_FromDouble')}(double {number})")
    if result.dtype == "int64":
        number = t.load("i64", place)
        return t.let(f"call ptr {t.function('PyLong_FromLongLong')}(i64 {number})")
    if result.dtype == "bool":
        number = t.let(f"zext i8 {t.load('i8', place)} to i64")
        return t.let(f"call ptr {t.function('PyBool_FromLong')}(i64 {number})")
    raise AssertionError(f"a plain number of dtype {result.dtype}")


def _fail(
    t: _Text, code: str, results: Sequence[ResultType], errors: Sequence[tuple[str, str]]
) -> None:
    """Raise the error, and free the objects made so far."""
    t.label("failed")
    t.do("store ptr null, ptr %tuple")
    told = t.let(f"icmp eq i32 {code}, {INTERRUPTED}")
    t.do(f"br i1 {told}, label %lost, label %untold")
    t.label("full")
    t.do("br label %untold")
    t.label("untold")
    failure = t.let(f"phi i32 [ {code}, %failed ], [ {OUT_OF_MEMORY}, %full ]")
    error, text = t.function("MemoryError"), t.string(NO_MEMORY)
    for number, (class_, message) in enumerate(errors, FIRST_ERROR):
        said = t.let(f"icmp eq i32 {failure}, {number}")
        found = class_ if class_ not in ERRORS else t.function(class_)
        error = t.let(f"select i1 {said}, ptr {found}, ptr {error}")
        text = t.let(f"select i1 {said}, ptr {t.string(message)}, ptr {text}")
    t.do(f"call void {t.function('PyErr_SetString')}(ptr {error}, ptr {text})")
    t.do("br label %lost")
    t.label("lost")
    offset = 0
    for at, result in enumerate(results):
        if result.ndim or result.boxed:
            place = f"%box{at}" if result.boxed else t.at("%out", 8 * offset)
            t.do(f"call void @free(ptr {t.load('ptr', place)})")
        offset += 1 + result.ndim
    t.do(f"call void {t.function('Py_DecRef')}(ptr {t.load('ptr', '%tuple')})")
    t.do("ret ptr null")
