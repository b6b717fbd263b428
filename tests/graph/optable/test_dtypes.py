"""Dtypes of results: the table's rule, NumPy's promotion, and where the two differ."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.graph.optable import OpRow
from dimtensor.tensor import elementwise
from tests.graph.optable.table import ELEMWISE, function_of, oracle_of

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip
PAIRED = [row for row in ELEMWISE if row.arity <= 2 and row.dtype != "order"]

# why a row's dtype is not NumPy's; of float64 it always is
OWN = {
    "reciprocal": "of integers NumPy's is rounded to an integer",
    "round": "of bools NumPy's is a float16",
    "round_half_away_from_zero": "its oracle makes floats of integers",
    "conj": "of bools NumPy's is an int8",
    "complex_from_polar": "its oracle makes double precision of integers",
    "trigamma": "SciPy's polygamma has no float32",
    "factorial": "SciPy's gamma has no float32 after an addition to a small integer",
}


def _numpy_dtype(row: OpRow, dtypes: tuple[str, ...]) -> str | None:
    """Dtype of the oracle's result; None where it refuses the operands."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(oracle_of(row)(*(np.ones(1, dtype=d) for d in dtypes))).dtype.name
        except TypeError:
            return None


def _dtype(row: OpRow, dtypes: tuple[str, ...]) -> str | None:
    try:
        return function_of(row)(*(dt.scalar(f"x{i}", d) for i, d in enumerate(dtypes))).dtype
    except dt.DtypeError:
        return None


@pytest.mark.parametrize("row", PAIRED, ids=lambda row: row.name)
def test_dtypes_are_those_of_numpy(row: OpRow):
    different = {}
    for dtypes in itertools.product(DTYPES, repeat=row.arity):
        ours, numpys = _dtype(row, dtypes), _numpy_dtype(row, dtypes)
        if ours is None or numpys is None or ours == numpys:
            continue
        if row.name in OWN:
            assert "float64" not in dtypes
            continue
        kinds = {np.dtype(d).kind for d in dtypes}
        if row.dtype in ("float", "realfloat", "complex") and kinds & set("biu"):
            # integers count as float64: NumPy and SciPy take smaller floats for small integers
            assert np.dtype(ours).itemsize >= np.dtype(numpys).itemsize
            assert ours in ("float64", "complex128", "complex64")
            continue
        different[dtypes] = (ours, numpys)
    assert different == {}


def test_integers_count_as_float64():
    for dtype in ["bool", "int8", "int64", "uint64"]:
        assert dt.exp(dt.scalar("x", dtype)).dtype == "float64"
        assert dt.reciprocal(dt.scalar("x", dtype)).dtype == "float64"
    assert dt.exp(dt.scalar("x", "float32")).dtype == "float32"
    assert dt.divide(dt.scalar("x", "int8"), dt.scalar("y", "float32")).dtype == "float32"


REFUSED = [
    ("subtract", ("bool", "bool"), "subtract is not defined for bools"),
    ("negative", ("bool",), "negative is not defined for bools"),
    ("power", ("bool", "bool"), "power is not defined for bools"),
    ("invert", ("float64",), "invert is defined for integers and bools, not for float64"),
    ("bitwise_and", ("int64", "float32"), "bitwise_and is defined for integers and bools"),
    ("polygamma", ("float64", "float64"), "polygamma takes an integer as its first operand"),
]


@pytest.mark.parametrize(("name", "dtypes", "message"), REFUSED)
def test_refused_dtypes(name: str, dtypes: tuple[str, ...], message: str):
    with pytest.raises(dt.DtypeError, match=message):
        getattr(elementwise, name)(*(dt.scalar(f"x{i}", d) for i, d in enumerate(dtypes)))


@pytest.mark.parametrize(
    "row", [row for row in ELEMWISE if not row.complex], ids=lambda row: row.name
)
def test_complex_numbers_are_refused_by_name(row: OpRow):
    inputs = [dt.scalar(name, "complex128") for name in row.names]
    with pytest.raises(dt.DtypeError, match=rf"{row.name} .*complex"):
        function_of(row)(*inputs)


REAL = ["float64", "float32", "int64", "uint8"]
K = dt.Dim("k", length=2)


@pytest.mark.parametrize("target", REAL)
@pytest.mark.parametrize("source", ["complex128", "complex64"])
def test_imaginary_parts_are_not_dropped(source: str, target: str):
    z, values = dt.tensor("z", K, source), np.ones(2, source)
    message = rf"complex numbers do not become {target}: (.*) of {source}\nhint: x.real, x.imag"
    for build in (
        lambda: z.astype(target),
        lambda: dt.full(K, z.sum(), target),
        lambda: dt.full(K, values[0], target),
        lambda: dt.data(values, K, dtype=target),
    ):
        with pytest.raises(dt.DtypeError, match=message):
            build()


def test_complex_numbers_become_bools_and_their_parts_anything():
    z = dt.tensor("z", K, "complex128")
    values = np.array([1.5 - 2j, 0.0])
    narrow = z.astype("complex64").astype("complex128")
    found = dt.evaluate([z.astype(bool), z.real.astype("float32"), narrow], {z: values})
    expected = [values.astype(bool), values.real.astype("f4"), values]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


# -- numbers beside tensors ------------------------------------------------------------------------

NUMBERS = [True, 2, -1, 2.5, 1j, np.int8(2), np.int64(2), np.float32(2.5), np.float64(2.5),
           np.array(2.5), np.array(2, dtype="int32"), np.bool_(True)]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: f"{type(n).__name__}-{n}")
def test_numbers_promote_as_in_numpy(dtype: str, number: object):
    x = dt.tensor("x", dims=dt.Dim("k", length=1), dtype=dtype)
    array = np.ones(1, dtype=dtype)
    try:
        wanted = (array + number).dtype.name
    except OverflowError:
        with pytest.raises(dt.DtypeError, match=r"-1 does not fit into uint"):
            x + number
        return
    assert (x + number).dtype == wanted
    assert (number + x).dtype == wanted
    assert np.add(number, x).dtype == wanted


def test_numbers_of_where_and_clip():
    y = dt.scalar("y", "int8")
    x = dt.scalar("x", "float32")
    assert dt.where(y > 0, 1, 2).dtype == "int64"
    assert dt.where(y > 0, 1, 2.5).dtype == "float64"
    assert dt.where(y > 0, x, 0).dtype == "float32"
    assert dt.where(y > 0, y, 1.5).dtype == "float64"
    assert dt.where(True, x, 2).dtype == "float32"
    assert dt.clip(x, 0, 1).dtype == "float32"
    assert dt.special.polygamma(1, x).dtype == "float32"


def test_strings_and_objects_are_no_operands():
    x = dt.scalar("x")
    with pytest.raises(dt.DtypeError, match="operand 2 of add: NoneType is neither a tensor nor"):
        x + None
    with pytest.raises(dt.DtypeError, match="operand 2 of equal: 'a' is a string"):
        dt.equal(x, "a")
    with pytest.raises(dt.DtypeError, match="a tensor has no dtype 'str"):
        dt.scalar("x", "str")
