"""Strange values: of what they are made, and what a user means by them.

A value that means nothing is refused; of one that means something the entries give the same results
as of the plain array of it.
"""

from __future__ import annotations

import array
import collections
import ctypes
import datetime
import decimal
import fractions
import functools
import os
import random
import tempfile
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

NAN = float("nan")


class Strange(NamedTuple):
    """A value, and what it means: None where nothing is meant by it."""

    make: Callable[[], Any]
    meant: Any
    #: whether it may be refused all the same
    refusable: bool = False
    #: the labels that it means where labels are taken
    labels: list[str] | None = None


class Trap:
    """An object of which one method raises, and others say that it is an array of three."""

    def __init__(self, broken: str, error: type[BaseException]):
        self._broken, self._error = broken, error

    def _do(self, name: str, result: Any) -> Any:
        if name == self._broken:
            raise self._error(f"{name} is broken")
        return result


def trap(broken: str, error: type[BaseException], *methods: str) -> Any:
    """An instance of a class of its own that has some methods, one of which raises."""
    results: dict[str, Any] = {
        "__array__": lambda: np.array([1.0, 2.0, 3.0]),
        "__float__": lambda: 1.0,
        "__index__": lambda: 1,
        "__int__": lambda: 1,
        "__len__": lambda: 3,
        "__iter__": lambda: iter([1.0, 2.0, 3.0]),
        "__eq__": lambda: False,
        "__hash__": lambda: 7,
        "__bool__": lambda: True,
        "__repr__": lambda: "<trap>",
        "__str__": lambda: "<trap>",
        "__array_interface__": lambda: np.array([1.0, 2.0, 3.0]).__array_interface__,
        "__array_struct__": lambda: np.array([1.0, 2.0, 3.0]).__array_struct__,
        "shape": lambda: (3,),
        "dtype": lambda: np.dtype(float),
        "ndim": lambda: 1,
        "node": lambda: None,
        "columns": lambda: ["a"],
        "name": lambda: "a",
        "to_numpy": lambda: None,
    }
    properties = {
        "__array_interface__", "__array_struct__", "shape", "dtype", "ndim", "node", "columns",
        "name",
    }  # fmt: skip
    body: dict[str, Any] = {}
    for name in {broken, *methods}:

        def method(self: Any, *args: Any, _name: str = name, **options: Any) -> Any:
            if _name == "__getitem__" and _name != broken:
                return [1.0, 2.0, 3.0][args[0]]
            return self._do(_name, results.get(_name, lambda: None)())

        body[name] = property(method) if name in properties else method
    if "__eq__" in body and "__hash__" not in body:
        body["__hash__"] = lambda self: 7
    return type("Trap", (Trap,), body)(broken, error)


def mapped(writable: bool = False) -> np.ndarray:
    handle, path = tempfile.mkstemp()
    os.close(handle)
    np.array([1.0, 2.0, 3.0]).tofile(path)
    found = np.memmap(path, dtype="f8", mode="r+" if writable else "r", shape=(3,))
    os.unlink(path)
    return found


def unaligned() -> np.ndarray:
    memory = np.zeros(25, "u1")
    found = memory[1:25].view("f8")
    found[:] = [1.0, 2.0, 3.0]
    return found


def recursive() -> list:
    found: list = [1.0, 2.0]
    found.append(found)
    return found


def written_to() -> np.ndarray:
    """An array that another thread writes to, the same numbers again and again."""
    found = np.array([1.0, 2.0, 3.0])

    def write() -> None:
        for _ in range(2000):
            found[:] = [1.0, 2.0, 3.0]

    threading.Thread(target=write, daemon=True).start()
    return found


class Subclass(np.ndarray):
    """A subclass that changes nothing."""


class Warned(np.ndarray):
    """A subclass whose ufuncs and functions raise."""

    def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("no ufuncs")

    def __array_function__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("no functions")

    def __array_finalize__(self, other: Any) -> None:
        pass


class WithDlpack:
    """As tensors of PyTorch: DLPack only."""

    def __init__(self) -> None:
        self._array = np.array([1.0, 2.0, 3.0])

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnGpu(WithDlpack):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the memory is on another device")

    def __dlpack_device__(self) -> Any:
        return (2, 0)


class WithGetitem:
    """A sequence by its methods only."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, at: int) -> float:
        return [1.0, 2.0, 3.0][at]


class Lies:
    """It has other elements than it says."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: int) -> float:
        return [1.0, 2.0, 3.0][at]


class WrongArray:
    def __init__(self, result: Any):
        self._result = result

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._result


class NoDtypeArgument:
    """``__array__`` as it was before NumPy 2."""

    def __array__(self) -> np.ndarray:
        return np.array([1.0, 2.0, 3.0])


class FloatSubclass(float):
    pass


class IntSubclass(int):
    pass


def arrow_array() -> Any:
    import pyarrow as pa

    class Arrow:
        def __init__(self, of: Any):
            self._of = of

        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return self._of.__arrow_c_array__(requested_schema)

    return Arrow(pa.array([1.0, 2.0, 3.0]))


def _pandas(text: str) -> Callable[[], Any]:
    def make() -> Any:
        import pandas as pd

        return eval(text, {"pd": pd, "np": np})

    return make


def _of(library: str, text: str) -> Callable[[], Any]:
    def make() -> Any:
        import importlib

        names = {"np": np, "m": importlib.import_module(library)}
        for extra in ("pandas", "xarray"):
            names[extra] = importlib.import_module(extra)
        return eval(text, names)

    return make


def _boxed(value: Any) -> np.ndarray:
    found = np.empty((), dtype=object)
    found[()] = value
    return found


_CLEAN = [1.0, 2.0, 3.0]
_GAP = [1.0, NAN, 3.0]


def masked(**options: Any) -> np.ma.MaskedArray:
    return np.ma.array([1.0, 1000.0, 3.0], mask=[False, True, False], **options)


def masked_integers() -> np.ma.MaskedArray:
    return np.ma.array([1, 1000, 3], mask=[False, True, False])


VECTORS: dict[str, Strange] = {
    # masks
    "masked floats": Strange(masked, _GAP),
    "masked, with a fill value": Strange(lambda: masked(fill_value=7.0), _GAP),
    "masked float32": Strange(lambda: masked(dtype="f4"), _GAP),
    "masked big-endian": Strange(lambda: masked(dtype=">f8"), _GAP),
    "masked with a hard mask": Strange(lambda: masked(hard_mask=True), _GAP),
    "masked integers": Strange(masked_integers, _GAP),
    "masked objects": Strange(lambda: masked(dtype=object), _GAP),
    "masked by a view": Strange(lambda: masked()[::-1][::-1], _GAP),
    "masked, nothing hidden": Strange(lambda: np.ma.array(_CLEAN), _CLEAN),
    "masked, an empty mask": Strange(lambda: np.ma.array(_CLEAN, mask=[0, 0, 0]), _CLEAN),
    "integers masked beyond floats": Strange(
        lambda: np.ma.array([1, 0, 2**53 + 1], mask=[0, 1, 0]), None
    ),
    "list with masked": Strange(lambda: [1.0, np.ma.masked, 3.0], _GAP),
    "list of masked scalars": Strange(lambda: list(masked()), _GAP),
    "tuple with masked": Strange(lambda: (1.0, np.ma.masked, 3.0), _GAP),
    "xarray of masked": Strange(_of("numpy", "xarray.DataArray(m.ma.array([1.0, 1000.0, 3.0], "
                                             "mask=[0, 1, 0]), dims='k')"), _GAP),
    "pandas of masked": Strange(_of("numpy", "pandas.Series(m.ma.array([1.0, 1000.0, 3.0], "
                                             "mask=[0, 1, 0]))"), _GAP),
    "pandas Int64": Strange(_pandas("pd.Series([1, None, 3], dtype='Int64')"), _GAP),
    "pandas Float64": Strange(_pandas("pd.Series([1.0, None, 3.0], dtype='Float64')"), _GAP),
    "pandas array Int64": Strange(_pandas("pd.array([1, None, 3], dtype='Int64')"), _GAP),
    "pandas array Float64": Strange(_pandas("pd.array([1.0, None, 3.0], dtype='Float64')"), _GAP),
    "pandas sparse": Strange(_pandas("pd.Series(pd.arrays.SparseArray([1.0, 2.0, 3.0]))"), _CLEAN),
    "pandas sparse array": Strange(_pandas("pd.arrays.SparseArray([1.0, 2.0, 3.0])"), _CLEAN),
    "pandas objects": Strange(_pandas("pd.Series([1.0, pd.NA, 3.0], dtype=object)"), _GAP),
    "list with NA": Strange(_pandas("[1.0, pd.NA, 3.0]"), _GAP),
    "array with NA": Strange(_pandas("np.array([1.0, pd.NA, 3.0], dtype=object)"), _GAP),
    "pandas pyarrow": Strange(
        _pandas("pd.Series([1, None, 3], dtype=pd.ArrowDtype(__import__('pyarrow').int64()))"),
        _GAP,
    ),
    "polars with null": Strange(_of("polars", "m.Series([1, None, 3])"), _GAP),
    "pyarrow with null": Strange(_of("pyarrow", "m.array([1, None, 3])"), _GAP),
    "pyarrow chunks": Strange(_of("pyarrow", "m.chunked_array([[1], [None, 3]])"), _GAP),
    # what raises
    **{
        f"{name} raises {error.__name__}": Strange(
            functools.partial(trap, name, error, *others), None
        )
        for error in (RuntimeError, TypeError, ValueError, AttributeError, KeyError, OSError)
        for name, others in [
            ("__array__", ()),
            ("__array__", ("__len__", "__getitem__")),
            ("__len__", ("__getitem__",)),
            ("__getitem__", ("__len__",)),
            ("__float__", ()),
            ("__array_interface__", ()),
            ("__array_struct__", ()),
            ("__eq__", ()),
            ("__repr__", ()),
            ("__bool__", ()),
        ]
    },
    "list of what raises in float": Strange(
        lambda: [1.0, trap("__float__", RuntimeError), 3.0], None
    ),
    "list of what raises in array": Strange(
        lambda: [1.0, trap("__array__", RuntimeError), 3.0], None
    ),
    "list of what raises in ==": Strange(lambda: [1.0, trap("__eq__", RuntimeError), 3.0], None),
    "list of what raises in bool": Strange(
        lambda: [1.0, trap("__bool__", RuntimeError), 3.0], None
    ),
    "list of what raises in repr": Strange(
        lambda: [1.0, trap("__repr__", RuntimeError), 3.0], None
    ),
    "objects of what raises": Strange(
        lambda: np.array([1.0, trap("__eq__", RuntimeError), 3.0], dtype=object), None
    ),
    "__array__ gives no array": Strange(lambda: WrongArray([1.0, 2.0, 3.0]), None),
    "__array__ gives None": Strange(lambda: WrongArray(None), None),
    "__array__ gives records": Strange(
        lambda: WrongArray(np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])), None
    ),
    "__array__ of old": Strange(NoDtypeArgument, _CLEAN, True),
    "len lies": Strange(Lies, _CLEAN, True),
    # what can be read once, or has no order
    "generator": Strange(lambda: (x for x in _CLEAN), None),
    "iterator": Strange(lambda: iter(_CLEAN), None),
    "map": Strange(lambda: map(float, _CLEAN), None),
    "zip": Strange(lambda: zip(_CLEAN, strict=True), None),
    "filter": Strange(lambda: filter(None, _CLEAN), None),
    "enumerate": Strange(lambda: enumerate(_CLEAN), None),
    "reversed": Strange(lambda: reversed(_CLEAN), None),
    "generator that raises": Strange(lambda: (1 / x for x in [1.0, 0.0]), None),
    "set": Strange(lambda: {1.0, 2.0, 3.0}, None),
    "frozenset": Strange(lambda: frozenset(_CLEAN), None),
    "dict": Strange(lambda: {"a": 1.0}, None),
    "keys of a dict": Strange(lambda: {1.0: 0, 2.0: 0, 3.0: 0}.keys(), None),
    "values of a dict": Strange(lambda: {1: 1.0, 2: 2.0, 3: 3.0}.values(), None),
    "deque": Strange(lambda: collections.deque(_CLEAN), _CLEAN, True),
    "range": Strange(lambda: range(1, 4), _CLEAN),
    "sequence by its methods": Strange(WithGetitem, _CLEAN, True),
    "array.array": Strange(lambda: array.array("d", _CLEAN), _CLEAN, True),
    "memoryview": Strange(lambda: memoryview(array.array("d", _CLEAN)), _CLEAN, True),
    "ctypes": Strange(lambda: (ctypes.c_double * 3)(1.0, 2.0, 3.0), _CLEAN, True),
    "ctypes integers": Strange(lambda: (ctypes.c_int * 3)(1, 2, 3), _CLEAN, True),
    "pointer": Strange(lambda: ctypes.pointer(ctypes.c_double(1.0)), None),
    "bytes": Strange(lambda: b"123", None),
    "bytearray": Strange(lambda: bytearray(b"\1\2\3"), _CLEAN, True),
    "str": Strange(lambda: "123", None),
    "a class": Strange(lambda: float, None),
    "a function": Strange(lambda: len, None),
    "Ellipsis": Strange(lambda: ..., None),
    "NotImplemented": Strange(lambda: NotImplemented, None),
    # arrays of strange kinds
    "read-only": Strange(lambda: np.broadcast_to(np.array(_CLEAN), 3), _CLEAN),
    "memory-mapped": Strange(mapped, _CLEAN),
    "memory-mapped, writable": Strange(lambda: mapped(True), _CLEAN),
    "big-endian": Strange(lambda: np.array(_CLEAN, ">f8"), _CLEAN),
    "big-endian integers": Strange(lambda: np.array([1, 2, 3], ">i4"), _CLEAN),
    "unaligned": Strange(unaligned, _CLEAN),
    "negative strides": Strange(lambda: np.array([3.0, 2.0, 1.0])[::-1], _CLEAN),
    "a column": Strange(lambda: np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]])[:, 0], _CLEAN),
    "float16": Strange(lambda: np.array(_CLEAN, "f2"), _CLEAN, True),
    "longdouble": Strange(lambda: np.array(_CLEAN, np.longdouble), _CLEAN, True),
    "clongdouble": Strange(lambda: np.array(_CLEAN, np.clongdouble), _CLEAN, True),
    "longlong": Strange(lambda: np.array([1, 2, 3], np.longlong), _CLEAN),
    "ulonglong": Strange(lambda: np.array([1, 2, 3], np.ulonglong), _CLEAN, True),
    "int8": Strange(lambda: np.array([1, 2, 3], "i1"), _CLEAN),
    "uint64": Strange(lambda: np.array([1, 2, 3], "u8"), _CLEAN, True),
    "objects": Strange(lambda: np.array(_CLEAN, dtype=object), _CLEAN),
    "objects of 0-d arrays": Strange(
        lambda: np.array([*map(np.array, _CLEAN), None], dtype=object)[:3], _CLEAN, True
    ),
    "list of 0-d arrays": Strange(lambda: list(map(np.array, _CLEAN)), _CLEAN),
    "list of scalars": Strange(lambda: list(map(np.float32, _CLEAN)), _CLEAN),
    "list of Fractions": Strange(lambda: list(map(fractions.Fraction, _CLEAN)), _CLEAN, True),
    "list of Decimals": Strange(lambda: list(map(decimal.Decimal, _CLEAN)), _CLEAN, True),
    "list of subclasses": Strange(lambda: list(map(FloatSubclass, _CLEAN)), _CLEAN),
    "list of subclasses of int": Strange(lambda: list(map(IntSubclass, _CLEAN)), _CLEAN),
    "list with None": Strange(lambda: [1.0, None, 3.0], _GAP, True),
    "list with a string": Strange(lambda: [1.0, "2", 3.0], None),
    "list with a list": Strange(lambda: [1.0, [2.0], 3.0], None),
    "list with a huge integer": Strange(lambda: [1, 2, 10**400], None),
    "recursive list": Strange(recursive, None),
    "list with a date": Strange(lambda: [1.0, datetime.date(2020, 1, 1), 3.0], None),
    "structured": Strange(lambda: np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]), None),
    "recarray": Strange(lambda: np.rec.array([(1.0, 2)] * 3, dtype="f8, i4"), None),
    "void": Strange(lambda: np.zeros(3, "V8"), None),
    "matrix": Strange(lambda: np.matrix(_CLEAN), None),
    "subclass": Strange(lambda: np.array(_CLEAN).view(Subclass), _CLEAN),
    "subclass that raises": Strange(lambda: np.array(_CLEAN).view(Warned), _CLEAN, True),
    "chararray": Strange(lambda: np.char.array(["a", "b", "c"]), None, labels=["a", "b", "c"]),
    "strings": Strange(lambda: np.array(["1", "2", "3"]), None, labels=["1", "2", "3"]),
    "string dtype": Strange(
        lambda: np.array(["1", "2", "3"], np.dtypes.StringDType()), None, labels=["1", "2", "3"]
    ),
    "bytes dtype": Strange(lambda: np.array([b"1", b"2", b"3"]), None),
    "datetimes": Strange(lambda: np.array([1, 2, 3], "M8[D]"), None),
    "datetimes of no unit": Strange(lambda: np.array(["NaT"] * 3, "M8"), None),
    "timedeltas of no unit": Strange(lambda: np.array([1, 2, 3], "m8"), None),
    "complex": Strange(lambda: np.array([1j, 2.0, 3.0]), [1j, 2.0, 3.0], True),
    "64 dims": Strange(lambda: np.ones((1,) * 63 + (3,)), None),
    "no elements along several": Strange(lambda: np.zeros((0, 3, 0)), None),
    "no elements": Strange(lambda: np.zeros((0,)), [], True),
    "too long": Strange(lambda: np.zeros(4), [0.0] * 4, True),
    "0-d": Strange(lambda: np.array(1.0), 1.0, True),
    "0-d object": Strange(lambda: np.array(None), None),
    "0-d object of a list": Strange(lambda: _boxed([1.0, 2.0, 3.0]), None),
    "written to by a thread": Strange(written_to, _CLEAN),
    "DLPack": Strange(WithDlpack, _CLEAN, True),
    "DLPack of another device": Strange(OnGpu, None),
    "scipy.sparse array": Strange(_of("scipy.sparse", "m.coo_array(np.arange(3.0))"), None),
    "scipy.sparse matrix": Strange(_of("scipy.sparse", "m.csr_matrix([[1.0, 2.0, 3.0]])"), None),
    "polars": Strange(_of("polars", "m.Series([1.0, 2.0, 3.0])"), _CLEAN),
    "pyarrow": Strange(_of("pyarrow", "m.array([1.0, 2.0, 3.0])"), _CLEAN),
    "arrow by its interface": Strange(arrow_array, _CLEAN, True),
    "JAX": Strange(_of("jax.numpy", "m.array([1.0, 2.0, 3.0])"), _CLEAN),
    "JAX float32": Strange(_of("jax.numpy", "m.array([1.0, 2.0, 3.0], 'float32')"), _CLEAN),
    "JAX bfloat16": Strange(_of("jax.numpy", "m.array([1.0, 2.0, 3.0], 'bfloat16')"), _CLEAN, True),
    "JAX key": Strange(_of("jax", "m.random.key(1)"), None),
}  # fmt: skip


class Comparing:
    """A label whose comparison does something else."""

    def __init__(self, equal: Callable[[Any, Any], Any], hashed: Callable[[], int] = lambda: 7):
        self._equal, self._hashed = equal, hashed

    def __eq__(self, other: object) -> Any:
        return self._equal(self, other)

    def __hash__(self) -> int:
        return self._hashed()


def _raise(*_: Any) -> Any:
    raise RuntimeError("broken")


def _only_itself(one: Any, other: Any) -> bool:
    return one is other or _raise()


class BadText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("broken")

    __hash__ = str.__hash__


class BadNumber(int):
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("broken")

    def __hash__(self) -> int:
        return 7


class BadTuple(tuple):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("broken")

    def __hash__(self) -> int:
        raise RuntimeError("broken")


class Endless:
    def __hash__(self) -> int:
        return hash(self)


def deep(n: int) -> tuple:
    found: tuple = ()
    for _ in range(n):
        found = (found,)
    return found


LABELS: dict[str, Callable[[], Any]] = {
    "== raises": lambda: Comparing(_raise),
    "== of others raises": lambda: Comparing(_only_itself),
    "== is always true": lambda: Comparing(lambda one, other: True),
    "== is always false": lambda: Comparing(lambda one, other: False),
    "== gives an array": lambda: Comparing(lambda one, other: np.array([True, False])),
    "== does not end": lambda: Comparing(lambda one, other: one == other),
    "hash raises": lambda: Comparing(_only_itself, _raise),
    "hash changes": lambda: Comparing(_only_itself, functools.partial(random.getrandbits, 40)),
    "hash does not end": Endless,
    "a str": lambda: BadText("x"),
    "an int": lambda: BadNumber(7),
    "a tuple": lambda: BadTuple((1, 2)),
    "a recursive list": recursive,
    "a deep tuple": lambda: deep(1_000_000),
    "a tuple of 300": lambda: deep(300),
    "a huge integer": lambda: 10**4000,
    "a long text": lambda: "x" * 1_000_000,
    "a NaN": lambda: NAN,
    "a complex NaN": lambda: complex(NAN, 0.0),
    "a decimal NaN": lambda: decimal.Decimal("nan"),
    "a signaling NaN": lambda: decimal.Decimal("snan"),
    "NaT": lambda: np.datetime64("NaT"),
    "None": lambda: None,
    "NA": _pandas("pd.NA"),
    "masked": lambda: np.ma.masked,
    "a list": lambda: [1],
    "a set": lambda: {1},
    "an array": lambda: np.array([1, 2]),
    "a 0-d array": lambda: np.array(3),
    "a record": lambda: np.zeros(1, "f8, i4")[0],
    "void": lambda: np.void(b"abc"),
    "a text with NUL": lambda: "a\0",
    "bytes with NUL": lambda: b"a\0",
    "a surrogate": lambda: "\ud800",
    "an empty text": lambda: "",
    "an error": lambda: ValueError("a"),
    "a class": lambda: int,
    "a function": lambda: len,
    "Ellipsis": lambda: ...,
    "a generator": lambda: (x for x in "a"),
    "repr raises": lambda: trap("__repr__", RuntimeError),
    "array raises": lambda: trap("__array__", RuntimeError),
}
