"""Arrays in the memory of others that nothing reads any more."""

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.nodes import Allocate, Array, Bind, Call, Foreign, Load, Var
from dimtensor.kernels.ir.python import Printer
from dimtensor.kernels.passes.array_reuse import with_arrays_reused
from tests.kernels.reading import parsed


def rewritten(body, results=("c0",)):
    """Statements on x with 2 and y with 1 axes, after the pass, as text."""
    lines = ["n0 = x.shape[0]", "n1 = x.shape[1]", *body.strip().splitlines()]
    source = "def kernel(x, y):\n    " + "\n    ".join(lines) + "\n    return ()\n"
    function = parsed(source, [("float64", 2), ("float64", 1)], {})
    kept = tuple(Array(name, "float64", 1) for name in results)
    return "\n".join(Printer().lines(with_arrays_reused(function.body, kept))).splitlines()[2:]


A_THEN_B = """
a0 = np.empty((n0,), dtype=np.float64)
for i in range(n0):
    a0[i] = 2.0 * y[i]
s0 = a0[0]
b0 = np.empty((n0,), dtype=np.float64)
for i in range(n0):
    b0[i] = s0
c0 = np.empty((n0,), dtype=np.float64)
for i in range(n0):
    c0[i] = b0[i]
"""


def test_memory_is_taken_when_nothing_reads_it():
    found = rewritten(A_THEN_B)
    assert found[0] == "a0 = np.empty((n0,), dtype=np.float64)"
    assert "b0 = a0" in found
    assert "c0 = np.empty((n0,), dtype=np.float64)" in found  # a result


def test_memory_is_taken_more_than_once():
    found = rewritten(A_THEN_B + "d0 = np.zeros((n0,), dtype=np.float64)\nd0[0] = 1.0")
    assert "b0 = a0" in found
    at = found.index("d0 = a0")
    assert found[at + 1] == "d0[...] = 0"


CHANGES = {
    "view": ("s0 = a0[0]", "s0 = 1.0\nv0 = a0.reshape((n0, 1,))"),
    "length": ("b0 = np.empty((n0,)", "b0 = np.empty((n1,)"),
    "dtype": ("b0 = np.empty((n0,), dtype=np.float64", "b0 = np.empty((n0,), dtype=np.float32"),
    "still_read": ("c0[i] = b0[i]", "c0[i] = b0[i] + a0[i]"),
    "result": ("", ""),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_memory_that_is_read_or_does_not_fit_stays(kind):
    body = A_THEN_B.replace(*CHANGES[kind])
    if kind == "view":
        body += "s1 = v0[0, 0]\nc0[0] = s1"
    found = rewritten(body, ("c0", "a0") if kind == "result" else ("c0",))
    assert body.strip().splitlines() == found


def test_other_axes_of_as_many_elements():
    body = A_THEN_B.replace("a0 = np.empty((n0,)", "a0 = np.empty((n1, n0, 3)")
    body = body.replace("a0[i]", "a0[0, i, 0]").replace("a0[0]", "a0[0, 0, 0]")
    body = body.replace("b0 = np.empty((n0,)", "b0 = np.empty((3, n0, n1)")
    body = body.replace("b0[i]", "b0[0, i, 0]")
    assert "b0 = a0.reshape((3, n0, n1,))" in rewritten(body)


def test_small_arrays_stay():
    body = A_THEN_B.replace("np.empty((n0,)", "np.empty((64,)")
    assert body.strip().splitlines() == rewritten(body)


def test_what_functions_of_numba_take_stays():
    n = Var("n0", "int64")
    a, b, c = (Array(name, "float64", 1) for name in "abc")
    statements = [Allocate(a, (n,)), Foreign((c,), "f", (a,)), Allocate(b, (n,))]
    assert with_arrays_reused(statements, (c,)) == statements
    known = [Allocate(a, (n,)), Foreign((c,), "f", (n,)), Allocate(b, (n,))]
    assert with_arrays_reused(known, (c,)) != known
    assert with_arrays_reused(known, (Call("f", (Load(a, (n,)),), "float64"), c)) == known


def test_what_grows_or_is_made_in_several_places_stays():
    n = Var("n0", "int64")
    a, b = Array("a", "float64", 1), Array("b", "float64", 1)
    grown = [Allocate(a, (n,)), Grow(a, (n,)), Allocate(b, (n,))]
    twice = [Allocate(a, (n,)), Allocate(a, (n,)), Allocate(b, (n,))]
    for statements in (grown, twice):
        assert with_arrays_reused(statements, ()) == statements
    assert with_arrays_reused([Allocate(a, (n,)), Allocate(b, (n,))], ())[1] == Bind(b, a)


def test_what_is_made_of_reshaped_products():
    """In a compiled function: a product's memory has the sum, and then the gradient's elements."""
    rng = np.random.default_rng(0)
    row, gate, unit, k = dt.Dim("row"), dt.Dim("gate"), dt.Dim("unit"), dt.Dim("k")
    x, w = dt.tensor("x", dims=[row, k]), dt.tensor("w", dims=[gate, unit, k])
    b = dt.tensor("b", dims=[gate, unit])
    total = dt.tanh(dt.dot(x, w, dim=k) + b).sum(row) + (x.sum(k) ** 2).sum()
    f = dt.function([x, w, b], [total, *dt.grad(total.sum(), [x, w, b])], backend="numba")
    values = [rng.normal(size=shape) for shape in ((70, 3), (2, 40, 3), (2, 40))]
    axes = [("row", "k"), ("gate", "unit", "k"), ("gate", "unit")]
    found = f(*zip(axes, values, strict=True))
    xv, wv, bv = values
    hidden = np.tanh(np.einsum("rk,guk->rgu", xv, wv) + bv)
    slope = 1 - hidden**2
    sums = xv.sum(axis=1)
    wanted = [
        hidden.sum(axis=0) + (sums**2).sum(),
        np.einsum("rgu,guk->rk", slope, wv) + 160 * sums[:, None],
        np.einsum("rgu,rk->guk", slope, xv),
        slope.sum(axis=0),
    ]
    order = [("gate", "unit"), *axes]
    for one, other, names in zip(found, wanted, order, strict=True):
        np.testing.assert_allclose(one.transpose(*names).values, other, rtol=1e-12)
