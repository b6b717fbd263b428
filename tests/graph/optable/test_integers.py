"""Integers of every size, their least and largest among them, as NumPy computes with them."""

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import BACKENDS

K = dt.Dim("k", length=6)
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
# dimtensor's operation, NumPy's
OPERATIONS = {
    "min": (lambda v, w: v.min(), lambda a, b: a.min()),
    "max": (lambda v, w: v.max(), lambda a, b: a.max()),
    "argmin": (lambda v, w: v.argmin("k"), lambda a, b: a.argmin()),
    "argmax": (lambda v, w: v.argmax("k"), lambda a, b: a.argmax()),
    "range": (lambda v, w: v.max() - v.min(), lambda a, b: a.max() - a.min()),
    "abs": (lambda v, w: abs(v), lambda a, b: abs(a)),
    "negative": (lambda v, w: -v, lambda a, b: -a),
    "sum": (lambda v, w: v + w, lambda a, b: a + b),
    "difference": (lambda v, w: v - w, lambda a, b: a - b),
    "product": (lambda v, w: v * w, lambda a, b: a * b),
    "quotient": (lambda v, w: v // w, lambda a, b: a // b),
    "remainder": (lambda v, w: v % w, lambda a, b: a % b),
    "ratio": (lambda v, w: v / w, lambda a, b: a.astype(float) / b.astype(float)),
    "square": (lambda v, w: v**2, lambda a, b: a * a),
    "cube": (lambda v, w: v**3, lambda a, b: a * a * a),
    "sign": (lambda v, w: dt.sign(v), lambda a, b: np.sign(a)),
    "and": (lambda v, w: v & w, lambda a, b: a & b),
    "or": (lambda v, w: v | w, lambda a, b: a | b),
    "xor": (lambda v, w: v ^ w, lambda a, b: a ^ b),
    "inverse": (lambda v, w: ~v, lambda a, b: ~a),
    "maximum": (lambda v, w: dt.maximum(v, w), np.maximum),
    "minimum": (lambda v, w: dt.minimum(v, w), np.minimum),
    "total": (lambda v, w: v.sum(), lambda a, b: a.sum()),
    "product of all": (lambda v, w: v.prod(), lambda a, b: a.prod()),
    "running sum": (lambda v, w: v.cumsum("k"), lambda a, b: a.cumsum()),
    "sorted": (lambda v, w: v.sort("k"), lambda a, b: np.sort(a)),
    "order": (lambda v, w: v.argsort("k"), lambda a, b: np.argsort(a, kind="stable")),
    "less": (lambda v, w: v < w, lambda a, b: a < b),
    "equal": (lambda v, w: v == w, lambda a, b: a == b),
}


def data(dtype):
    info = np.iinfo(dtype)
    least, most = info.min, info.max
    if least == 0:
        return np.array([0, 7, 5, most, 1, 3], dtype), np.array([most, 2, 0, 0, 3, most], dtype)
    return np.array([least, -7, 5, most, 1, 3], dtype), np.array([-1, 2, least, 0, 3, most], dtype)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_are_numpys(backend, dtype):
    v, w = (dt.tensor(name, dims=K, dtype=dtype) for name in "vw")
    a, b = data(dtype)
    operations = dict(OPERATIONS)
    if backend != "python" and dtype[0] == "u":
        del operations["negative"]  # a rewrite of PyTensor's fails on it, and is skipped
    expressions = {name: ours(v, w) for name, (ours, _) in operations.items()}
    found = dt.function([v, w], expressions, backend=backend)(a, b)
    for name, (_, numpys) in operations.items():
        with np.errstate(all="ignore"):
            expected = numpys(a, b)
        np.testing.assert_array_equal(found[name].values, expected, err_msg=name)


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_extremes_of_the_least_integer(dtype):
    least = np.iinfo(dtype).min
    v = dt.data(np.array([least, -7, 5], dtype), dims=dt.Dim("k", length=3))
    assert int(dt.evaluate(v.min(), backend="python")) == least
    assert int(dt.evaluate(v.argmin("k"), backend="python")) == 0
