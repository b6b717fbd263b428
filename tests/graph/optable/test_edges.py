"""Rows of the op table at NaN, infinities, signed zeros and ones: against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import dimtensor as dt
from dimtensor.graph.optable import OpRow
from dimtensor.tensor import elementwise
from tests.backend_names import BACKENDS
from tests.graph.optable.table import ELEMWISE, function_of, oracle_of

POINTS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]

# whose zeros have other signs than those of the oracle, a formula of another kind
SIGNLESS = ("fmax", "fmin", "log1mexp", "round_half_away_from_zero", "xlogy", "xlog1py")

# where a value at the edge is not the oracle's, and why that is left so
EDGES = {
    "poch": "SciPy defines it at the poles, the row only for positive operands",
    "beta": "the row is for positive operands",
    "betaln": "the row is for positive operands",
    "factorial": "SciPy's gamma, by which it is defined, has another sign of infinity at poles",
    "iv": "computed from the scaled function, which vanishes where iv overflows",
    "gammal": "a product of an infinity and a zero on both sides",
    "gammau": "a product of an infinity and a zero on both sides",
}

# rows whose values on a backend are not the oracle's at such points; the day that one is mended,
# the test says so
DIFFERENT = {
    "native": {},
    "jax": {
        "gammaincinv": "NaN where k is -0.0 and p no probability, where SciPy has 0",
        "gammainccinv": "NaN where k is -0.0 and p no probability, where SciPy has 0",
        "gammaln": "at -inf: inf, where SciPy has -inf",
        "digamma": "at -0.0: -inf, where SciPy has inf",
        "polygamma": "NaN at its poles and at inf",
    },
}
ROWS = [row for row in ELEMWISE if row.dtype != "integer" and row.name not in EDGES]


def edges_of(row: OpRow) -> tuple[list[dt.DimTensor], list[np.ndarray], np.ndarray]:
    """Inputs, their values at all combinations of points, and the oracle's values there."""
    arrays = [x.ravel() for x in np.meshgrid(*[POINTS] * row.arity, indexing="ij")]
    if row.dtype == "order":
        arrays[0] = np.where(np.isfinite(arrays[0]), np.abs(arrays[0]), 2).astype("int64")
    dim = dt.Dim(f"edges_{row.arity}", length=len(arrays[0]))
    inputs = [
        dt.tensor(f"{row.name}_{name}", dims=dim, dtype=x.dtype)
        for name, x in zip(row.names, arrays, strict=True)
    ]
    values = [arrays[0] != 0, *arrays[1:]] if row.name == "where" else arrays
    with np.errstate(all="ignore"):
        return inputs, arrays, np.asarray(oracle_of(row)(*values))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_at_the_edges(row: OpRow):
    inputs, arrays, wanted = edges_of(row)
    result = function_of(row)(*inputs).eval(dict(zip(inputs, arrays, strict=True)))
    np.testing.assert_allclose(result.values, wanted, rtol=1e-10, atol=1e-12)
    zeros = (wanted == 0) & (result.values == 0)
    if wanted.dtype.kind == "f" and row.name not in SIGNLESS:
        assert (np.signbit(result.values) == np.signbit(wanted))[zeros].all()


@pytest.mark.compiled
@pytest.mark.parametrize("are_complex", [False, pytest.param(True, marks=pytest.mark.falls_back)])
@pytest.mark.parametrize("backend", ["native", pytest.param("jax", marks=pytest.mark.slow)])
def test_values_at_the_edges_when_compiled(backend: str, are_complex: bool):
    makes_complex = {"complex", "complex_from_polar"}
    chosen = [r for r in ROWS if r.arity <= 2 and (r.name in makes_complex) == are_complex]
    edges = [edges_of(row) for row in chosen]
    inputs = [tensor for own, _, _ in edges for tensor in own]
    arrays = [array for _, values, _ in edges for array in values]
    outputs = [function_of(row)(*own) for row, (own, _, _) in zip(chosen, edges, strict=True)]
    results = dt.function(inputs, outputs, backend=backend)(*arrays)
    different = {
        row.name
        for row, found, (_, _, wanted) in zip(chosen, results, edges, strict=True)
        if not np.allclose(found.values, wanted, rtol=1e-9, atol=1e-12, equal_nan=True)
    }
    assert different == (set() if are_complex else set(DIFFERENT[backend]))


NEAR_HALF = [0.5, 0.5 + 2.0**-20, 0.5 - 2.0**-20, 0.49, 0.9, 1e-30, 1.0 - 2.0**-20]
# what is computed of other functions: points, and numbers in double precision
SINGLE = {
    "logit": (NEAR_HALF, scipy.special.logit(np.float32(NEAR_HALF).astype(float))),
    "exp2": ([1.5, 100.0, -100.0, 127.9], 2.0 ** np.float32([1.5, 100, -100, 127.9]).astype(float)),
    "i0": ([0.5, 50.0, 90.0], scipy.special.i0([0.5, 50.0, 90.0])),
    "i1": ([0.5, -50.0, 90.0], scipy.special.i1([0.5, -50.0, 90.0])),
}


@pytest.mark.compiled
@pytest.mark.parametrize("backend", BACKENDS)
def test_digits_in_single_precision(backend):
    inputs = {name: dt.tensor(name, dims=dt.Dim(name), dtype="float32") for name in SINGLE}
    outputs = [getattr(elementwise, name)(x) for name, x in inputs.items()]
    given = [np.float32(points) for points, _ in SINGLE.values()]
    found = dt.function(list(inputs.values()), outputs, backend=backend)(*given)
    for (name, (_, wanted)), one in zip(SINGLE.items(), found, strict=True):
        assert one.dtype == "float32"
        np.testing.assert_allclose(one.values, wanted, rtol=1e-6, err_msg=name)
