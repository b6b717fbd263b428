"""Loops with hints for LLVM's vectorizer: long bodies, and here all others too."""

import platform
import re

import numpy as np
import pytest
from scipy import special

import dimtensor as dt
from dimtensor.kernels.native.functions.library import has_vectors
from dimtensor.kernels.passes import lines, vector_hints
from dimtensor.optimize import short_axes
from dimtensor.testing.differences import gradient_by_differences, slope

pytestmark = pytest.mark.compiled

LENGTHS = (0, 1, 7, 16, 17, 40, 2100)
ROW, COLUMN, GROUP = dt.Dim("row"), dt.Dim("column", length=11), dt.Dim("group", length=4)
X, Y = dt.tensor("x", dims=ROW), dt.tensor("y", dims=ROW)
I = dt.tensor("i", dims=ROW, dtype="int64")  # noqa: E741
B = dt.tensor("b", dims=ROW, dtype="bool")
F = dt.tensor("f", dims=ROW, dtype="float32")
OF = dt.tensor("of", dims=ROW, categories=GROUP)
E = dt.tensor("e", dims=GROUP)
Z = dt.tensor("z", dims=(ROW, COLUMN))
INPUTS = {"x": X, "y": Y, "i": I, "b": B, "f": F, "of": OF, "e": E, "z": Z}


@pytest.fixture
def all_wide(monkeypatch):
    monkeypatch.setattr(lines, "VECTORIZED_OPERATIONS", 0)
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")


def values_of(n):
    rng = np.random.default_rng(n)
    return {
        "x": rng.normal(size=n), "y": rng.normal(size=n), "i": rng.integers(-4, 9, size=n),
        "b": rng.random(n) > 0.5, "f": rng.normal(size=n).astype("float32"),
        "of": rng.integers(0, 4, size=n), "e": rng.normal(size=4), "z": rng.normal(size=(n, 11)),
    }  # fmt: skip


def group_sums(v, values):
    return np.bincount(v["of"], weights=values, minlength=4).astype(float)


# what dimtensor computes, and NumPy; of the groups of the first test
CASES = {
    "functions": [
        (dt.exp(X) + dt.log(dt.abs(Y)), lambda v: np.exp(v["x"]) + np.log(np.abs(v["y"]))),
        (dt.tanh(X) * dt.log1p(Y * Y), lambda v: np.tanh(v["x"]) * np.log1p(v["y"] ** 2)),
        (dt.sqrt(dt.abs(X)) - dt.floor(Y), lambda v: np.sqrt(np.abs(v["x"])) - np.floor(v["y"])),
        (dt.sigmoid(X) + dt.softplus(Y),
         lambda v: special.expit(v["x"]) + np.log1p(np.exp(v["y"]))),
        (dt.sign(X) * dt.maximum(X, Y), lambda v: np.sign(v["x"]) * np.maximum(v["x"], v["y"])),
        (dt.clip(X, -0.5, 0.5) + X**3 + Y**-2,
         lambda v: np.clip(v["x"], -0.5, 0.5) + v["x"] ** 3 + v["y"] ** -2.0),
    ],
    "no vectors": [
        (dt.sin(X * Y) + 1.0, lambda v: np.sin(v["x"] * v["y"]) + 1.0),
        (dt.special.gammaln(Y * Y + 1.0) * X, lambda v: special.gammaln(v["y"] ** 2 + 1) * v["x"]),
        (dt.where(X > 0, dt.special.gammaln(Y * Y + 2.0), Y),
         lambda v: np.where(v["x"] > 0, special.gammaln(v["y"] ** 2 + 2), v["y"])),
        (dt.special.i0e(9 * X) + dt.special.i1e(9 * Y),
         lambda v: special.i0e(9 * v["x"]) + special.i1e(9 * v["y"])),
        (dt.abs(X) ** 2.5, lambda v: np.abs(v["x"]) ** 2.5),
        (X.isel(row=slice(None, None, -1)) * 2.0, lambda v: v["x"][::-1] * 2),
    ],
    "integers and truth values": [
        (I * I - 3, lambda v: v["i"] ** 2 - 3),
        (I // 3 + I % 3, lambda v: v["i"] // 3 + v["i"] % 3),
        (I / 2, lambda v: v["i"] / 2),
        (dt.where(I > 2, I, -I), lambda v: np.where(v["i"] > 2, v["i"], -v["i"])),
        (B & (X > 0), lambda v: v["b"] & (v["x"] > 0)),
        (~B, lambda v: ~v["b"]),
        (B * X + I, lambda v: v["b"] * v["x"] + v["i"]),
        (dt.isnan((X - X) / (X - X)) | B, lambda v: np.ones_like(v["b"])),
    ],
    "single precision": [
        (F * F, lambda v: v["f"] * v["f"]),
        (dt.where(B, F, -F), lambda v: np.where(v["b"], v["f"], -v["f"])),
        (F * X, lambda v: v["f"] * v["x"]),
    ],
    "reductions": [
        (X.sum(), lambda v: v["x"].sum()),
        ((X * Y).sum(), lambda v: (v["x"] * v["y"]).sum()),
        (dt.cos(X).prod(), lambda v: np.cos(v["x"]).prod()),
        (I.sum(), lambda v: v["i"].sum()),
        ((X > 0).sum(), lambda v: (v["x"] > 0).sum()),
        (B.any(), lambda v: v["b"].any()),
        (B.all(), lambda v: v["b"].all()),
        ((X > 1.5).any(), lambda v: (v["x"] > 1.5).any()),
        ((X * X < 2.5).all(), lambda v: (v["x"] ** 2 < 2.5).all()),
        (F.sum(), lambda v: v["f"].astype(float).sum().astype("float32")),
        (dt.where(B, X, 0.0).sum(), lambda v: v["x"][v["b"]].sum()),
    ],
    "groups": [
        (E.sel(group=OF) * X, lambda v: v["e"][v["of"]] * v["x"]),
        (dt.grad(((X - E.sel(group=OF)) ** 2).sum(), E),
         lambda v: group_sums(v, -2 * (v["x"] - v["e"][v["of"]]))),
    ],
    "two axes": [
        (Z * X, lambda v: v["z"] * v["x"][:, None]),
        (Z.sum("row"), lambda v: v["z"].sum(0)),
        ((Z * X).sum("column"), lambda v: (v["z"] * v["x"][:, None]).sum(1)),
        (Z.sum(), lambda v: v["z"].sum()),
        (dt.exp(Z).sum("row"), lambda v: np.exp(v["z"]).sum(0)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("group", CASES)
@pytest.mark.usefixtures("all_wide")
def test_values(group):
    outputs = [output for output, _ in CASES[group]]
    inputs = [each for each in INPUTS.values() if each in dt.inputs_of(outputs)]
    f = dt.function(inputs, outputs, backend="numba")
    for n in LENGTHS:
        v = values_of(n)
        given = v | {"z": (("row", "column"), v["z"])}
        found = f(*(given[each.name] for each in inputs))
        for result, (output, expected) in zip(found, CASES[group], strict=True):
            wanted = np.asarray(expected(v))
            if len(output.dims) == 2:
                result = result.transpose("row", "column")
            assert result.dtype == wanted.dtype
            tolerance = 1e-5 if wanted.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(
                result.values, wanted, rtol=tolerance, atol=1e-11, err_msg=str(n)
            )


@pytest.mark.usefixtures("all_wide")
def test_sums_of_single_precision_are_as_accurate_as_numpys():
    """Equal terms: what is rounded does not cancel."""
    f = dt.function([F], [F.sum(), (F * F).sum()], backend="numba")
    for n in (100, 2048, 100_003):
        values = np.full(n, 0.3, dtype="float32")
        for total, terms in zip(f(values), (values, values * values), strict=True):
            assert total.dtype == "float32"
            np.testing.assert_allclose(total.item(), terms.astype(float).sum(), rtol=1e-7)


@pytest.mark.usefixtures("all_wide")
def test_extremes_and_what_is_not_a_number():
    outputs = [X.max(), X.min(), I.max(), X.argmax()]
    f = dt.function([X, I], outputs, backend="numba")
    for n in LENGTHS[1:]:
        v = values_of(n)
        expected = v["x"].max(), v["x"].min(), v["i"].max(), v["x"].argmax()
        assert [r.item() for r in f(v["x"], v["i"])] == list(expected)
        v["x"][n // 2] = np.nan
        assert np.isnan(f(v["x"], v["i"])[0].item())


def test_elements_beyond_the_end_are_neither_read_nor_written(all_wide):
    """Results lie in a larger array, whose other elements stay as they are."""
    f = dt.function([X], dt.tanh(X) + X, backend="numba")
    for n in (1, 5, 16, 21):
        whole = np.full(n + 16, 0.25)
        before = whole.copy()
        result = f(whole[:n]).values
        np.testing.assert_allclose(result, np.tanh(0.25) + 0.25, rtol=1e-15)
        assert result.shape == (n,)
        assert (whole == before).all()


def recursion(steps):
    k = dt.Dim("k")
    c, v = dt.scalar("c"), dt.tensor("v", dims=k)
    state = v
    for _ in range(steps):
        state = dt.tanh(state * c) + v
    return c, v, state


def recursion_by_numpy(x, c, steps):
    state = x
    for _ in range(steps):
        state = np.tanh(state * c) + x
    return state


@pytest.mark.parametrize("n", [0, 1, 8, 65, 200])
def test_a_long_body(n):
    """What one loop does in 1,000 operations, with the result of NumPy and of a closed form."""
    k, steps = dt.Dim("k"), 120
    c, v = dt.scalar("c"), dt.tensor("v", dims=k)
    state, power = v, v
    for at in range(steps):
        state = dt.tanh(state * c) + v
        power = power * c + float(at)
    outputs = [state, power.sum(), dt.grad(power.sum(), c)]
    f = dt.function([v, c], outputs)
    x, at = np.linspace(-1.0, 1.0, n), 0.9
    found = f(x, at)
    expected = recursion_by_numpy(x, at, steps)
    np.testing.assert_allclose(found[0].values, expected, rtol=1e-12, atol=1e-12)
    # the sum of x c^steps + sum over j of j c^(steps - 1 - j)
    rest = np.polynomial.Polynomial([float(steps - 1 - j) for j in range(steps)])
    whole = x.sum() * at**steps + n * rest(at)
    slope = steps * x.sum() * at ** (steps - 1) + n * rest.deriv()(at)
    np.testing.assert_allclose(float(found[1]), whole, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(float(found[2]), slope, rtol=1e-11, atol=1e-12)


def test_the_gradient_of_a_long_body():
    steps = 60
    c, v, state = recursion(steps)
    f = dt.function([v, c], dt.grad(state.sum(), [v, c]))
    x = np.linspace(-0.3, 1.0, 21)
    by_v, by_c = f(x, 0.7)

    def value(at, c):
        return recursion_by_numpy(at, c, steps).sum()

    np.testing.assert_allclose(by_c.item(), slope(value, [x, 0.7], 1), rtol=1e-8)
    expected = gradient_by_differences(lambda at: value(at, 0.7), x)
    np.testing.assert_allclose(by_v.values, expected, rtol=1e-8)


def test_code_of_a_long_body_grows_with_it_and_no_faster(monkeypatch):
    """Twice the operations are twice the instructions: nothing is written several times."""
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    sizes = []
    for steps in (200, 400):
        c, v, state = recursion(steps)
        f = dt.function([v, c], [state.sum(), dt.grad(state.sum(), v)], backend="numba")
        f(np.ones(3), 0.5)
        text = f.assembly
        calls = re.findall(r"^\s+(?:callq?|blr?)\s", text, re.MULTILINE)
        # one of a vector of eight, or as many of numbers where the processor has no vectors
        each = 1 if has_vectors("tanh") else 8
        assert each * steps <= len(calls) < each * steps + 40
        sizes.append(text.count("\n"))
    assert sizes[1] < 2.2 * sizes[0]


@pytest.mark.skipif(not has_vectors("exp") or platform.machine() != "x86_64", reason="names of x86")
@pytest.mark.parametrize("name", ["any", "all"])
def test_sums_beside_truth_values_are_of_vectors(name, monkeypatch):
    """Such a reduction carries no state from one element to the next, and sums keep no order."""
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    f = dt.function([X], [dt.exp(X).sum(), getattr(X > 0.0, name)()], backend="numba")
    total, truth = f(np.linspace(-1.0, 2.0, 100))
    np.testing.assert_allclose(total, np.exp(np.linspace(-1.0, 2.0, 100)).sum(), rtol=1e-14)
    assert bool(truth) is (name == "any")
    assert re.search(r"\bvaddpd\b", f.assembly)


def test_many_short_loops_call_functions_of_vectors(monkeypatch):
    """Functions are not copied into each of many loops, and these are vectorized all the same."""
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    monkeypatch.setattr(vector_hints, "EXPENSIVE_NESTS", 40)
    dims = [dt.Dim(f"k{at}", length=20 + at) for at in range(40)]
    inputs = [dt.tensor(f"x{at}", dims=dim) for at, dim in enumerate(dims)]
    outputs = [dt.exp(x) + dt.log1p(x * x) for x in inputs]
    f = dt.function(inputs, outputs, backend="numba")
    values = [np.linspace(-2.0, 1.0, 20 + at) for at in range(40)]
    for x, found in zip(values, f(*values), strict=True):
        np.testing.assert_allclose(found.values, np.exp(x) + np.log1p(x * x), rtol=1e-15)


@pytest.mark.slow
@pytest.mark.skipif(not has_vectors("exp"), reason="no functions of vectors")
def test_many_nests_around_a_reduction_are_written_once(monkeypatch):
    """Neither for vectors, for the rest, and for each position of a short dim around them."""
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    monkeypatch.setattr(vector_hints, "EXPENSIVE_NESTS", 4)
    c, lines = dt.scalar("c"), {}
    for length, steps in ((5, 24), (5, 48), (None, 48)):
        inner = dt.Dim("inner", length=length)
        v = dt.tensor("v", dims=(ROW, inner))
        monkeypatch.setattr(short_axes, "UNROLLED_OPERATIONS", 0)
        state = v
        for _ in range(steps):
            state = dt.tanh(state * c) + v
        f = dt.function([v, c], dt.logsumexp(state, "inner").sum(), backend="numba")
        values = expected = np.linspace(-2.0, 1.0, 5 * 41).reshape(41, 5)
        for _ in range(steps):
            expected = np.tanh(expected * 0.4) + values
        found = f((("row", "inner"), values), 0.4)
        np.testing.assert_allclose(found, special.logsumexp(expected, axis=1).sum(), rtol=1e-12)
        lines[length, steps] = f.assembly.count("\n")
    # a nest of vectors has 235 lines with AVX2; those that LLVM makes of a loop of numbers 814
    assert lines[5, 48] - lines[5, 24] < 24 * 400
    assert lines[5, 48] < 1.2 * lines[None, 48]
