"""Linear algebra by core dims, against NumPy and SciPy: values, labels, batches, gradients."""

from __future__ import annotations

import functools
import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
import xarray as xr

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX, LONG_JAX_COMPILED

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
ACROSS = COUNTRY.rename()
GROUP = dt.Dim("group", coords=["u", "v"])
AGE = dt.Dim("age", length=4)
SQUARE = ["country", "country'"]

x = dt.tensor("x", dims=[GROUP, COUNTRY, ACROSS])


def labeled(values, dims):
    coords = {d.name: d.coords for d in dims if d.coords is not None}
    return xr.DataArray(values, dims=[d.name for d in dims], coords=coords)


@pytest.fixture
def general(rng):
    """A batch of matrices that are not symmetric."""
    return labeled(rng.normal(size=(2, 3, 3)) + 2 * np.eye(3), [GROUP, COUNTRY, ACROSS])


@pytest.fixture
def positive(general):
    """A batch of positive definite matrices."""
    return general.copy(data=general.values @ general.values.swapaxes(1, 2) + np.eye(3))


# what is computed, by NumPy of one matrix, dims of the result in NumPy's order of axes
SYMMETRIC_CASES = {
    "cholesky": (dt.linalg.cholesky, np.linalg.cholesky, SQUARE),
    "eigenvalues": (lambda a: dt.linalg.eigh(a).eigenvalues, np.linalg.eigvalsh, ["eigen"]),
    "eigenvectors": (
        lambda a: abs(dt.linalg.eigh(a).eigenvectors),
        lambda a: abs(np.linalg.eigh(a)[1]),
        ["country", "eigen"],
    ),
}
GENERAL_CASES = {
    "inv": (dt.linalg.inv, np.linalg.inv, ["country'", "country"]),
    "det": (dt.linalg.det, np.linalg.det, []),
    "sign": (lambda a: dt.linalg.slogdet(a).sign, lambda a: np.linalg.slogdet(a)[0], []),
    "logabsdet": (lambda a: dt.linalg.slogdet(a).logabsdet, lambda a: np.linalg.slogdet(a)[1], []),
    "diagonal": (dt.diagonal, np.diagonal, ["country"]),
    "trace": (dt.trace, np.trace, []),
    "S": (lambda a: dt.linalg.svd(a).S, lambda a: np.linalg.svd(a)[1], ["rank"]),
    "U": (
        lambda a: abs(dt.linalg.svd(a).U),
        lambda a: abs(np.linalg.svd(a)[0]),
        ["country", "rank"],
    ),
    "Vh": (
        lambda a: abs(dt.linalg.svd(a).Vh),
        lambda a: abs(np.linalg.svd(a)[2]),
        ["rank", "country'"],
    ),
    "Q": (lambda a: dt.linalg.qr(a).Q, lambda a: scipy.linalg.qr(a)[0], ["country", "rank"]),
    "R": (lambda a: dt.linalg.qr(a).R, lambda a: scipy.linalg.qr(a)[1], ["rank", "country'"]),
}
CASES = SYMMETRIC_CASES | GENERAL_CASES


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_numpy_matrix_by_matrix(name, general, positive):
    function, reference, order = CASES[name]
    values = positive if name in SYMMETRIC_CASES else general
    result = function(x).eval({x: values.transpose("country'", "group", "country")})
    assert set(result.dims) == {"group", *order}
    for group in "uv":
        matrix = values.sel(group=group).transpose(*SQUARE).values
        found = result.sel(group=group).transpose(*order)
        np.testing.assert_allclose(found.values, reference(matrix), rtol=1e-10, atol=1e-12)
        for dim in set(order) & set(SQUARE):
            assert found[dim].values.tolist() == COUNTRY.coords.tolist()
        assert not {"eigen", "rank"} & set(found.coords)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_finite_differences(name, general, positive, rng):
    function, reference, order = CASES[name]
    values = positive if name in SYMMETRIC_CASES else general
    y = function(x)
    order = ["group", *order]
    weights = rng.normal(size=[y.sizes[d] for d in order])
    weight = dt.data((order, weights), dims=y.dims)
    if name == "sign":
        assert not dt.grad((y * weight).sum(), x).eval({x: values}).any()
        return

    def oracle(array):
        stack = array.transpose("group", *SQUARE).values
        return sum((reference(a) * w).sum() for a, w in zip(stack, weights, strict=True))

    assert_gradient((y * weight).sum(), x, {x: values}, oracle=oracle)


@pytest.mark.parametrize("names", [["country", "country'"], ["country'", "country"]])
def test_rows_and_columns_are_what_dims_say(general, names):
    rows, columns = names
    matrix = general[0].transpose(rows, columns)
    one = dt.tensor("one", dims=[COUNTRY, ACROSS])
    found = dt.linalg.inv(one, names).eval({one: matrix}).transpose(columns, rows)
    np.testing.assert_allclose(found.values, np.linalg.inv(matrix.values))
    left = dt.data([1.0, 2.0, 3.0], dims=next(d for d in one.dims if d.name == rows))
    solution = dt.linalg.solve(one, left, names)
    assert [d.name for d in solution.dims] == [columns]
    expected = np.linalg.solve(matrix.values, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(solution.eval({one: matrix}).values, expected)
    by_inverse = dt.dot(dt.linalg.inv(one, names), left, dim=rows)
    np.testing.assert_allclose(by_inverse.eval({one: matrix}).values, expected)


def test_the_second_of_a_renamed_pair_is_the_column_dim(general):
    one = dt.tensor("one", dims=[COUNTRY, ACROSS])
    assert dt.linalg.inv(one) is dt.linalg.inv(one, [COUNTRY, ACROSS])
    assert dt.linalg.inv(one) is not dt.linalg.inv(one, [ACROSS, COUNTRY])
    cut = one.sel({"country": ["USA", "Italy"], "country'": ["USA", "Italy"]})
    found = dt.linalg.det(cut).eval({one: general[0]})
    np.testing.assert_allclose(found, np.linalg.det(general.values[0][np.ix_([2, 0], [2, 0])]))


# -- linear equations ------------------------------------------------------------------------------

SOLVERS = {
    "solve": (dt.linalg.solve, np.linalg.solve),
    "sym": (lambda a, b: dt.linalg.solve(a, b, assume_a="sym"), np.linalg.solve),
    "pos": (lambda a, b: dt.linalg.solve(a, b, assume_a="pos"), np.linalg.solve),
    "lower": (
        dt.linalg.solve_triangular,
        lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True),
    ),
    "upper": (
        lambda a, b: dt.linalg.solve_triangular(a, b, lower=False),
        lambda a, b: scipy.linalg.solve_triangular(a, b, lower=False),
    ),
    "unit": (
        lambda a, b: dt.linalg.solve_triangular(a, b, unit_diagonal=True),
        lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True, unit_diagonal=True),
    ),
}
WIDE = dt.Dim("wide", length=2)
RIGHT_SIDES = {
    "vector": [COUNTRY],
    "batched": [GROUP, COUNTRY],
    "columns": [AGE, COUNTRY],
    "all": [AGE, COUNTRY, GROUP, WIDE],
}


@pytest.mark.parametrize("sides", RIGHT_SIDES)
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_are_numpys_for_every_right_hand_side(name, sides, positive, rng):
    function, reference = SOLVERS[name]
    b = dt.tensor("b", dims=RIGHT_SIDES[sides])
    right = labeled(rng.normal(size=[len(d) for d in b.dims]), b.dims)
    solution = function(x, b)
    assert set(solution.dims) == {GROUP, ACROSS, *b.dims} - {COUNTRY}
    result = dt.function([x, b], solution, backend="python")(positive, right)
    assert result["country'"].values.tolist() == COUNTRY.coords.tolist()
    free = [d for d in ("age", "wide") if d in right.dims]
    for group in "uv":
        matrix = positive.sel(group=group).transpose(*SQUARE).values
        sides_of = right.sel(group=group) if "group" in right.dims else right
        columns = sides_of.transpose("country", *free).values
        expected = reference(matrix, columns.reshape(3, -1)).reshape(columns.shape)
        found = result.sel(group=group).transpose("country'", *free).values
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["solve", "lower", "upper", "unit"])
@pytest.mark.parametrize("sides", [[COUNTRY], [WIDE, COUNTRY, GROUP]], ids=["vector", "batched"])
def test_gradients_of_solutions(name, sides, positive, rng):
    b = dt.tensor("b", dims=sides)
    right = labeled(rng.normal(size=[len(d) for d in b.dims]), b.dims)
    loss = dt.sin(SOLVERS[name][0](x, b)).sum()
    assert_gradient(loss, x, {x: positive, b: right})
    assert_gradient(loss, b, {x: positive, b: right})


def test_solving_with_a_covariance_through_its_factor(positive, rng):
    right = labeled(rng.normal(size=3), [COUNTRY])
    L = dt.linalg.cholesky(x)
    half = dt.linalg.solve_triangular(L, dt.data(right, dims=COUNTRY))
    whole = dt.linalg.solve_triangular(L, half, ["country'", "country"], lower=False)
    assert set(whole.dims) == {GROUP, COUNTRY}
    result = whole.eval({x: positive}).transpose("group", "country")
    np.testing.assert_allclose(result.values, np.linalg.solve(positive.values, right.values))


# -- decompositions --------------------------------------------------------------------------------

SHAPES = [(3, 3), (5, 3), (3, 5), (1, 4), (4, 1)]


def matrix_of(shape, rng):
    row, col = dt.Dim("row", length=shape[0]), dt.Dim("col", length=shape[1])
    a = dt.tensor("a", dims=[GROUP, row, col])
    return a, labeled(rng.normal(size=(2, *shape)), [GROUP, row, col])


@pytest.mark.parametrize("shape", SHAPES)
def test_factors_of_any_shape_multiply_to_the_matrix(shape, rng):
    a, values = matrix_of(shape, rng)
    U, S, Vh = dt.linalg.svd(a, ["row", "col"])
    Q, R = dt.linalg.qr(a, ["row", "col"])
    assert U.sizes == Q.sizes == {"group": 2, "rank": min(shape), "row": shape[0]}
    assert Vh.sizes == R.sizes == {"col": shape[1], "group": 2, "rank": min(shape)}
    for product in (dt.dot(U, S, Vh, dim="rank"), dt.dot(Q, R, dim="rank")):
        found = product.eval({a: values}).transpose(*values.dims)
        np.testing.assert_allclose(found.values, values.values, atol=1e-12)
    for factor in (U, Q):
        gram = dt.dot(factor, factor.rename_dim("rank"), dim="row")
        identity = np.broadcast_to(np.eye(min(shape)), (2, min(shape), min(shape)))
        np.testing.assert_allclose(gram.eval({a: values}).values, identity, atol=1e-12)
    for group in (0, 1):
        found = R.eval({a: values}).isel(group=group).transpose("rank", "col").values
        expected = scipy.linalg.qr(values.values[group], mode="economic")[1]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_gradients_of_decompositions_that_are_not_square(shape, rng):
    a, values = matrix_of(shape, rng)
    for factor in (*dt.linalg.svd(a, ["row", "col"]), *dt.linalg.qr(a, ["row", "col"])):
        weight = dt.data(
            rng.normal(size=[len(d) for d in factor.dims[::-1]]), dims=factor.dims[::-1]
        )
        assert_gradient((factor**2 * weight).sum(), a, {a: values})


def test_the_new_dim_has_the_name_or_is_the_dim_that_is_asked_for(positive):
    mode = dt.Dim("mode", coords=["slow", "middle", "fast"])
    values = dt.linalg.eigh(x, dim=mode).eigenvalues.eval({x: positive})
    assert values["mode"].values.tolist() == ["slow", "middle", "fast"]
    assert dt.linalg.svd(x, dim="component").S.sizes == {"component": 3, "group": 2}
    assert dt.linalg.qr(x, dim=mode).R.sizes == {"country'": 3, "group": 2, "mode": 3}
    assert dt.linalg.eigh(x).eigenvalues.dims[0] is dt.linalg.eigh(2.0 * x).eigenvalues.dims[0]


def test_eigenvectors_diagonalise(positive):
    values, vectors = dt.linalg.eigh(x)
    whole = dt.dot(vectors, values, vectors.rename_dim("country"), dim="eigen")
    found = whole.eval({x: positive}).transpose(*positive.dims)
    np.testing.assert_allclose(found.values, positive.values, atol=1e-12)


# -- lengths and labels that come with the data ----------------------------------------------------


def test_lengths_and_labels_may_come_with_the_data(rng):
    k = dt.Dim("k")
    a, b = dt.tensor("a", dims=[k, k.rename()]), dt.tensor("b", dims=k)
    f = dt.function(
        [a, b],
        [dt.linalg.solve(a, b), dt.linalg.cholesky(a), dt.linalg.eigh(a).eigenvalues,
         dt.linalg.svd(a).S, dt.linalg.qr(a).R, dt.linalg.det(a),
         dt.grad(dt.linalg.slogdet(a).logabsdet, a)],
        backend="python",
    )  # fmt: skip
    for n in (2, 4):
        labels = list("wxyz"[:n])
        root = rng.normal(size=(n, n))
        cov = root @ root.T + np.eye(n)
        array = xr.DataArray(cov, dims=["k", "k'"], coords={"k": labels, "k'": labels})
        right = xr.DataArray(np.arange(n, dtype=float), dims=["k"], coords={"k": labels})
        solution, L, values, S, R, det, slope = f(array, right)
        assert solution["k'"].values.tolist() == labels
        np.testing.assert_allclose(solution.values, np.linalg.solve(cov, np.arange(n)))
        np.testing.assert_allclose(L.transpose("k", "k'").values, np.linalg.cholesky(cov))
        np.testing.assert_allclose(values.values, np.linalg.eigvalsh(cov))
        np.testing.assert_allclose(S.values, np.linalg.eigvalsh(cov)[::-1])
        expected = scipy.linalg.qr(cov)[1]
        np.testing.assert_allclose(R.transpose("rank", "k'").values, expected, atol=1e-12)
        np.testing.assert_allclose(det.values, np.linalg.det(cov))
        np.testing.assert_allclose(slope.values, np.linalg.inv(cov))


@pytest.mark.parametrize("wide", [False, True])
def test_a_thin_decomposition_of_unknown_lengths_takes_the_shorter_dim(wide, rng):
    obs, k = dt.Dim("obs"), dt.Dim("k", length=2)
    a = dt.tensor("a", dims=[obs, k])
    names = ["k", "obs"] if wide else ["obs", "k"]
    rank = dt.Dim("rank", length=2)
    Q, R = dt.linalg.qr(a, names, dim=rank)
    values = xr.DataArray(rng.normal(size=(5, 2)), dims=["obs", "k"])
    f = dt.function(
        [a], [dt.dot(Q, R, dim=rank), dt.linalg.svd(a, names, dim=rank).S], backend="python"
    )
    whole, S = f(values)
    np.testing.assert_allclose(whole.transpose("obs", "k").values, values.values)
    np.testing.assert_allclose(S.values, np.linalg.svd(values.values)[1])
    weight = dt.data(np.arange(1.0, 3.0), dims=rank)
    assert_gradient((dt.tanh(R) * weight).sum(), a, {a: values})
    with pytest.raises(dt.DimError, match="qr: dim 'obs' is shorter than dim 'rank' of length 2"):
        dt.function([a], R, backend="python")(values[:1])


def test_lengths_of_0_and_1():
    none, one = dt.Dim("none", length=0), dt.Dim("one", length=1)
    empty = dt.ones([none, none.rename()])
    assert dt.linalg.det(empty).eval() == 1.0
    assert dt.linalg.cholesky(empty).eval().shape == (0, 0)
    assert dt.linalg.solve(empty, dt.ones(none)).eval().shape == (0,)
    single = dt.full([one, one.rename()], 4.0)
    assert dt.linalg.cholesky(single).eval().item() == 2.0
    assert dt.linalg.inv(single).eval().item() == 0.25
    assert dt.linalg.eigh(single).eigenvalues.eval().item() == 4.0


# -- dtypes and extremes ---------------------------------------------------------------------------


def test_dtypes():
    small = dt.tensor("small", dims=[COUNTRY, ACROSS], dtype="float32")
    whole = dt.tensor("whole", dims=[COUNTRY, ACROSS], dtype="int64")
    wave = dt.tensor("wave", dims=[COUNTRY, ACROSS], dtype="complex64")
    for function in (dt.linalg.cholesky, dt.linalg.inv, dt.linalg.det, dt.trace):
        assert function(small).dtype == "float32"
    assert [r.dtype for r in (*dt.linalg.svd(wave), *dt.linalg.slogdet(wave))] == [
        "complex64", "float32", "complex64", "complex64", "float32",
    ]  # fmt: skip
    assert dt.linalg.inv(whole).dtype == "float64"
    assert dt.trace(whole).dtype == "int64"
    assert dt.linalg.solve(small, dt.tensor("right", dims=COUNTRY)).dtype == "float64"


def test_complex_matrices(rng):
    a = dt.tensor("a", dims=[COUNTRY, ACROSS], dtype="complex128")
    values = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    given = {a: labeled(values, [COUNTRY, ACROSS])}
    np.testing.assert_allclose(dt.linalg.det(a).eval(given), np.linalg.det(values))
    inverse = dt.linalg.inv(a).eval(given).transpose("country'", "country").values
    np.testing.assert_allclose(inverse, np.linalg.inv(values))
    whole = dt.dot(*dt.linalg.svd(a), dim="rank").eval(given)
    np.testing.assert_allclose(whole.transpose("country", "country'").values, values)


def test_logabsdet_and_its_gradient_survive_a_determinant_that_overflows():
    k = dt.Dim("k", length=200)
    a = dt.tensor("a", dims=[k, k.rename()])
    value, slope = dt.value_and_grad(dt.linalg.slogdet(a).logabsdet, a)
    given = {a: labeled(1e3 * np.eye(200), a.dims)}
    np.testing.assert_allclose(value.eval(given), 200 * np.log(1e3))
    np.testing.assert_allclose(slope.eval(given).values, np.eye(200) / 1e3)


y = dt.tensor("y", dims=[GROUP, COUNTRY, ACROSS])
z = dt.tensor("z", dims=[GROUP, COUNTRY, ACROSS])
right = dt.tensor("right", dims=[AGE, COUNTRY])
ON = dt.data([0.0, 1.0], dims=GROUP)


@functools.cache
def everything(backend):
    """One function of all of linear algebra, because numba is slow to compile it."""
    values, vectors = dt.linalg.eigh(z)
    U, S, Vh = dt.linalg.svd(z)
    Q, R = dt.linalg.qr(z)
    outputs = {
        "cholesky": dt.linalg.cholesky(y),
        "solve": dt.linalg.solve(x, right),
        "lower": dt.linalg.solve_triangular(x * ON, right) * ON,
        "inv": dt.linalg.inv(x),
        "det": dt.linalg.det(z),
        "sign": dt.linalg.slogdet(z).sign,
        "logabsdet": dt.linalg.slogdet(z).logabsdet,
        "eigenvalues": values,
        "eigenvectors": abs(vectors),
        "S": S,
        "U": abs(U),
        "Vh": abs(Vh),
        "Q": Q,
        "R": R,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numba says so where it leaves the work to Python
        return dt.function([x, y, z, right], outputs, backend=backend)


@pytest.fixture
def right_hand_side(rng):
    return labeled(rng.normal(size=[len(d) for d in right.dims]), right.dims)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled_backends_agree_with_the_interpreter(backend, general, positive, right_hand_side):
    arguments = (general, positive, positive, right_hand_side)
    expected = everything("python")(*arguments)
    found = everything(backend)(*arguments)
    for name in expected:
        one, other = (r[name].isel(group=1) for r in (found, expected))
        xr.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_what_does_not_exist_is_not_finite_and_spoils_no_other(
    backend, general, positive, right_hand_side
):
    singular, indefinite, missing = general.copy(), positive.copy(), positive.copy()
    singular[0] = np.outer([1.0, 2.0, 4.0], [1.0, 1.0, 1.0])
    indefinite[0, 0, 0] = -1.0
    missing[0] = np.nan
    results = everything(backend)(singular, indefinite, missing, right_hand_side)
    del results["sign"]  # is a number whatever the matrix
    for name, result in results.items():
        bad = result.isel(group=0)
        if name == "cholesky":  # what is above the diagonal may be 0
            bad = bad.values[np.tril_indices(3)]
        elif name == "R":
            bad = bad.transpose("rank", "country'").values[np.triu_indices(3)]
        assert not np.isfinite(bad).any(), name
        assert np.isfinite(result.isel(group=1)).all(), name
    found = results["solve"].isel(group=1).transpose("country'", "age")
    sides = right_hand_side.transpose("country", "age")
    np.testing.assert_allclose(found, np.linalg.solve(general.values[1], sides.values))


# -- batches, identity, pickles --------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_infinities_in_a_system(backend):
    k = dt.Dim("k", length=2)
    a, b = dt.tensor("a", dims=[k, k.rename()]), dt.tensor("b", dims=k)
    f = dt.function([a, b], dt.linalg.solve(a, b), backend=backend)
    for matrix in ([[np.inf, 0.5], [0.5, 2.0]], [[2.0, np.inf], [0.5, 2.0]]):
        found = f((("k", "k'"), np.array(matrix)), np.array([1.0, 3.0])).values
        np.testing.assert_array_equal(found, np.linalg.solve(matrix, [1.0, 3.0]))


def matrices_with_infinities(n):
    if n < 3:
        numbers = [0.0, 1.0, -2.0, np.inf, -np.inf]
        yield from (np.reshape(v, (n, n)) for v in itertools.product(numbers, repeat=n * n))
        return
    rng = np.random.default_rng(n)
    for at in range(40):
        x = rng.normal(size=(n, n)) if at % 2 else rng.choice([0.0, 1.0, -2.0], size=(n, n))
        for _ in range(rng.integers(1, 4)):
            x[rng.integers(n), rng.integers(n)] = rng.choice([np.inf, -np.inf])
        yield x


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero|overflow):RuntimeWarning")
@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 12, 40])
def test_determinants_and_systems_with_infinities_are_those_of_numpy(n, backend):
    k = dt.Dim("k", length=n)
    a, b = dt.tensor("a", dims=[k, k.rename()]), dt.tensor("b", dims=k)
    outputs = [dt.linalg.det(a), *dt.linalg.slogdet(a), dt.linalg.inv(a), dt.linalg.solve(a, b)]
    f = dt.function([a, b], outputs, backend=backend)
    right = np.arange(1.0, n + 1)
    for matrix in matrices_with_infinities(n):
        det, sign, log, inverse, solution = f((("k", "k'"), matrix), right)
        np.testing.assert_allclose(det, np.linalg.det(matrix))
        expected = np.linalg.slogdet(matrix)
        np.testing.assert_allclose(log, expected[1])
        if not np.isnan(log):
            assert sign == expected[0]
        if np.isfinite(log):
            np.testing.assert_allclose(inverse.transpose("k'", "k"), np.linalg.inv(matrix))
            np.testing.assert_allclose(solution, np.linalg.solve(matrix, right))


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero|overflow):RuntimeWarning")
@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_small_determinants_are_those_of_numpy(n, backend, rng):
    """Where formulas without pivots overflow, vanish, or are NaN, too."""
    k, group = dt.Dim("k", length=n), dt.Dim("group")
    a = dt.tensor("a", dims=[group, k, k.rename()])
    sign, log = dt.linalg.slogdet(a, [k, k.rename()])
    outputs = [dt.linalg.det(a, [k, k.rename()]), sign, log, dt.grad(log.sum(), a)]
    f = dt.function([a], outputs, backend=backend)
    general = rng.normal(size=(20, n, n))
    scales = np.array([1e-200, 1e-120, 1e-3, 1.0, 1e120, 1e200])[:, None, None]
    matrices = np.concatenate([general, scales * general[:6], 0.0 * general[:1]])
    det, sign, log, slope = f((("group", "k", "k'"), matrices))
    np.testing.assert_allclose(det, np.linalg.det(matrices), rtol=1e-9)
    expected = np.linalg.slogdet(matrices)
    np.testing.assert_array_equal(sign, expected[0])
    np.testing.assert_allclose(log, expected[1], rtol=1e-12, atol=1e-12)
    slope = slope.transpose("group", "k'", "k")[:20]
    np.testing.assert_allclose(slope, np.linalg.inv(general), rtol=1e-8, atol=1e-10)
    infinite = np.stack(list(matrices_with_infinities(n)))
    det, sign, log, _ = (x.values for x in f((("group", "k", "k'"), infinite)))
    expected = np.linalg.slogdet(infinite)
    known = ~np.isnan(expected[1])
    np.testing.assert_allclose(det, np.linalg.det(infinite))
    np.testing.assert_allclose(log, expected[1])
    np.testing.assert_array_equal(sign[known], expected[0][known])


def test_a_finished_expression_is_batched(positive, rng):
    draw = dt.Dim("draw", length=2)
    one = dt.tensor("one", dims=[COUNTRY, ACROSS])
    b = dt.tensor("b", dims=COUNTRY)
    loss = (dt.linalg.solve(one, b) ** 2).sum() + dt.linalg.slogdet(one).logabsdet
    grown = dt.tensor("one", dims=[draw, COUNTRY, ACROSS])
    more = dt.vectorize([loss, dt.grad(loss, one)], {one: grown})
    right = labeled(rng.normal(size=3), [COUNTRY])
    stack = positive.rename(group="draw").drop_vars("draw")
    values, slopes = dt.function([grown, b], more, backend="python")(stack, right)
    f = dt.function([one, b], [loss, dt.grad(loss, one)], backend="python")
    for at in (0, 1):
        value, slope = f(stack[at], right)
        np.testing.assert_allclose(values[at], value)
        np.testing.assert_allclose(slopes.isel(draw=at), slope)
    # the call batches by itself, too
    again, _ = f(stack, right)
    np.testing.assert_allclose(again.values, values.values)


def test_batching_over_the_dim_of_the_solution_is_an_error():
    one, b = dt.tensor("one", dims=[COUNTRY, ACROSS]), dt.tensor("b", dims=COUNTRY)
    with pytest.raises(
        dt.DimError, match=r'solve: dim "country\'" is a core dim .* and a batch dim'
    ):
        dt.vectorize(dt.linalg.solve(one, b), {b: ACROSS})


def test_equal_calls_are_one_node_and_pickle():
    assert dt.linalg.cholesky(x) is dt.linalg.cholesky(x, [COUNTRY, "country'"])
    for y in (dt.linalg.cholesky(x), dt.linalg.svd(x).S, dt.linalg.solve(x, dt.ones(COUNTRY))):
        assert pickle.loads(pickle.dumps(y)) is y


# -- Kronecker products ----------------------------------------------------------------------------


def kron_by_labels(found, rows, columns, pieces, renamed=None):
    """Every element is the product of the elements at the labels that it is labeled with."""
    found = found.transpose(rows.name, columns.name)
    np.testing.assert_array_equal(found.indexes[rows.name].to_numpy(), rows.coords)
    np.testing.assert_array_equal(found.indexes[columns.name].to_numpy(), columns.coords)
    row_levels = [d.name for d in rows.factors]
    column_dims = (
        (renamed[n].name for n in row_levels) if renamed else (d.name for d in columns.factors)
    )
    column_levels = list(column_dims)
    for at, row in enumerate(rows.coords):
        for across, column in enumerate(columns.coords):
            labels = dict(zip(row_levels, row, strict=True))
            labels |= dict(zip(column_levels, column, strict=True))
            expected = 1.0
            for piece in pieces:
                expected *= piece.sel({d: labels[d] for d in piece.dims}).item()
            np.testing.assert_allclose(found.values[at, across], expected)


@pytest.mark.parametrize("renames", [("i'", "j'"), ("z", "y"), ("j'", "i'")])
def test_kron_has_the_element_of_its_labels(renames, rng):
    i, j = dt.Dim("i", coords=["a", "b"]), dt.Dim("j", coords=[1, 2, 3])
    left, right = (i, i.rename(renames[0])), (j, j.rename(renames[1]))
    a = labeled(rng.normal(size=(2, 2)), left)
    b = labeled(rng.normal(size=(3, 3)), right)
    product = dt.kron(dt.data(a, dims=left), dt.data(b, dims=right), dims=[left, right])
    rows = dt.ProductDim([i, j])
    assert set(product.dims) == {rows, rows.rename()}
    found = product.eval().transpose(rows.name, rows.name + "'").values
    np.testing.assert_allclose(found, np.kron(a.values, b.values))
    kron_by_labels(product.eval(), rows, rows.rename(), [a, b], {"i": left[1], "j": right[1]})


def test_a_matrix_on_a_product_and_its_renamed_self_goes_out_and_in(rng):
    product = dt.ProductDim([dt.Dim("i", coords=["a", "b"]), dt.Dim("j", coords=[1, 2])])
    m = dt.tensor("m", dims=[product, product.rename()])
    values = rng.normal(size=(4, 4))
    found = m.eval({m: ((product, product.rename()), values)})
    assert found.indexes["i_j'"].names == ["i'", "j'"]
    np.testing.assert_allclose(found.sel({"i": "b", "j": 1, "i'": "a", "j'": 2}), values[2, 1])
    xr.testing.assert_equal(m.eval({m: found[::-1, [2, 0, 1, 3]]}), found)


def test_kron_sorts_its_factors_by_name(rng):
    z, a = dt.Dim("z", length=2), dt.Dim("a", length=3)
    first, second = rng.normal(size=(2, 2)), rng.normal(size=(3, 3))
    product = dt.kron(dt.data(first, dims=[z, z.rename()]), dt.data(second, dims=[a, a.rename()]))
    found = product.eval().transpose("a_z", "a_z'").values
    np.testing.assert_allclose(found, np.kron(second, first))


def test_kron_of_matrices_that_map_to_other_dims(rng):
    r, s = dt.Dim("r", coords=[0, 1]), dt.Dim("s", coords=[0, 1, 2])
    c, b = dt.Dim("c", coords=["x"]), dt.Dim("b", coords=["u", "v"])
    first, second = (
        labeled(rng.normal(size=(2, 1)), [r, c]),
        labeled(rng.normal(size=(3, 2)), [s, b]),
    )
    product = dt.kron(dt.data(first), dt.data(second), dims=[("r", "c"), ("s", "b")])
    rows, columns = dt.ProductDim([r, s]), dt.ProductDim([c, b])
    assert set(product.dims) == {rows, columns}
    kron_by_labels(product.eval(), rows, columns, [first, second])


def test_solve_kron_is_solve_with_the_product(rng):
    i, j, n = dt.Dim("i", length=2), dt.Dim("j", length=3), dt.Dim("n", length=2)
    a = dt.data(rng.normal(size=(2, 2)), dims=[i, i.rename("z")])
    b = dt.data(rng.normal(size=(2, 3, 3)), dims=[n, j, j.rename("y")])
    pairs = [("i", "z"), ("j", "y")]
    right = dt.data(rng.normal(size=(2, 3)), dims=[i, j])
    whole = dt.kron(a, b, dims=pairs)
    expected = dt.linalg.solve(whole, right.ravel())
    merged = dt.linalg.solve_kron([a, b], right.ravel(), pairs)
    assert set(merged.dims) == set(expected.dims)
    np.testing.assert_allclose(merged.eval().values, expected.eval().values)
    apart = dt.linalg.solve_kron([a, b], right, pairs)
    assert {d.name for d in apart.dims} == {"n", "y", "z"}
    for at in (0, 1):
        first = a.eval().transpose("i", "z").values
        second = b.isel(n=at).eval().transpose("j", "y").values
        positional = np.linalg.solve(np.kron(first, second), right.eval().values.ravel())
        found = apart.isel(n=at).eval().transpose("z", "y").values.ravel()
        np.testing.assert_allclose(found, positional)
        np.testing.assert_allclose(merged.isel(n=at).eval().values, positional)


# -- compiled --------------------------------------------------------------------------------------


def log_density(y, cov):
    """Of a multivariate normal with mean zero, on the rows of a covariance."""
    L = dt.linalg.cholesky(cov)
    z = dt.linalg.solve_triangular(L, y)
    log_scale = dt.log(dt.diagonal(L)).sum("country")
    return -0.5 * (z**2).sum("country'") - log_scale - 1.5 * np.log(2 * np.pi)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_a_multivariate_normal_and_its_gradient(backend, positive, rng):
    y = dt.tensor("y", dims=[GROUP, COUNTRY])
    right = labeled(rng.normal(size=(2, 3)), [GROUP, COUNTRY])
    logp = log_density(y, x)
    f = dt.function([y, x], [logp, *dt.grad(logp.sum(), [y, x])], backend=backend)
    density, slope, curve = f(right, positive)
    for at, (value, cov) in enumerate(zip(right.values, positive.values, strict=True)):
        normal = scipy.stats.multivariate_normal(np.zeros(3), cov)
        np.testing.assert_allclose(density.isel(group=at), normal.logpdf(value))
        np.testing.assert_allclose(slope.isel(group=at), -np.linalg.solve(cov, value))
        # the factor reads the lower triangle only: what the upper one does is on top of it
        full = 0.5 * (np.outer(*2 * [np.linalg.solve(cov, value)]) - np.linalg.inv(cov))
        lower = np.tril(full) + np.tril(full.T, -1)
        np.testing.assert_allclose(curve.isel(group=at).transpose(*SQUARE), lower, atol=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
def test_gradients_are_those_of_jax(general, positive):
    import jax
    import jax.numpy as jnp

    def losses(a, s):
        w, v = jnp.linalg.eigh(s, symmetrize_input=False)
        return (
            jnp.sin(jnp.linalg.inv(a)).sum() + jnp.log(jnp.abs(jnp.linalg.det(a)))
            + jnp.sin(jnp.linalg.svd(a, compute_uv=False)).sum() + (v**4 * w).sum()
        )  # fmt: skip

    y = dt.tensor("y", dims=[GROUP, COUNTRY, ACROSS])
    w, v = dt.linalg.eigh(y)
    loss = (
        dt.sin(dt.linalg.inv(x)).sum() + dt.linalg.slogdet(x).logabsdet.sum()
        + dt.sin(dt.linalg.svd(x).S).sum() + (v**4 * w).sum()
    )  # fmt: skip
    ours = dt.function([x, y], dt.grad(loss, [x, y]), backend="jax")(general, positive)
    with jax.enable_x64(True):
        expected = jax.grad(
            lambda a, s: sum(losses(a[at], s[at]) for at in (0, 1)), argnums=(0, 1)
        )(jnp.asarray(general.values), jnp.asarray(positive.values))
    np.testing.assert_allclose(ours[0].transpose(*general.dims), expected[0], rtol=1e-9)
    # JAX spreads the gradient of a symmetric matrix over both triangles
    found = ours[1].transpose(*general.dims).values
    both = np.asarray(expected[1]) + np.asarray(expected[1]).swapaxes(1, 2)
    diagonal = both * np.eye(3) / 2
    np.testing.assert_allclose(found, np.tril(both, -1) + diagonal, rtol=1e-9, atol=1e-12)


# -- errors ----------------------------------------------------------------------------------------

LONG = dt.Dim("long", length=4)
LATE = dt.Dim("late")
OTHER = dt.Dim("other", coords=["Kenya", "Italy", "USA"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dt.linalg.cholesky(dt.ones(COUNTRY)),
            "which dims are rows and columns is not known",
        ),
        (
            lambda: dt.linalg.det(dt.ones([COUNTRY, LONG])),
            "no dim occurs together with a renamed copy",
        ),
        (
            lambda: dt.linalg.det(dt.ones([COUNTRY, ACROSS, LONG, LONG.rename()])),
            "several dims occur together",
        ),
        (lambda: dt.linalg.inv(x, ["country", "contry'"]), r"did you mean \"country'\"\?"),
        (lambda: dt.linalg.inv(x, ["country", "country"]), "inv: dim 'country' is named twice"),
        (
            lambda: dt.linalg.inv(x, ["country"]),
            "dims are the row dim and the column dim, not 1 dims",
        ),
        (
            lambda: dt.linalg.solve(
                dt.ones([COUNTRY, LONG]), dt.ones(COUNTRY), ["country", "long"]
            ),
            r"(?s)solve takes a square matrix; dim 'country' and dim 'long'.*length 3.*length 4",
        ),
        (
            lambda: dt.linalg.det(dt.ones([COUNTRY, LATE]), ["country", "late"]),
            "not known to have the same length",
        ),
        (
            lambda: dt.linalg.cholesky(dt.ones([COUNTRY, OTHER]), ["country", "other"]),
            "cholesky takes a matrix whose rows and columns have the same labels",
        ),
        (
            lambda: dt.linalg.solve(x, dt.ones(GROUP)),
            "solve, right-hand side: there is no dim 'country'",
        ),
        (
            lambda: dt.linalg.solve(x, dt.eye(COUNTRY)),
            'right-hand side has dim "country\'", which is the dim of the solution',
        ),
        (
            lambda: dt.linalg.eigh(x, dim="group"),
            "eigh: the matrix has a dim named 'group' already",
        ),
        (
            lambda: dt.linalg.eigh(x, dim=LONG),
            "eigh: dim 'long' has length 4, the result has length 3",
        ),
        (
            lambda: dt.linalg.qr(dt.ones([COUNTRY, LATE]), ["country", "late"]),
            "qr: which of dim 'country' and dim 'late' is shorter is not known",
        ),
        (lambda: dt.kron(x, x), "kron: dim 'country' is a dim of matrix 1 and of matrix 2"),
        (lambda: dt.kron(x, x, dims=[SQUARE]), r"kron: dims has a pair \(row, column\) per matrix"),
    ],
)
def test_mistakes_are_dim_errors_when_built(call, message):
    with pytest.raises(dt.DimError, match=message):
        call()


def test_an_unknown_kind_of_matrix():
    with pytest.raises(dt.OptionError, match="assume_a is 'gen', 'sym' or 'pos', not 'diagonal'"):
        dt.linalg.solve(x, dt.ones(COUNTRY), assume_a="diagonal")


def test_other_mistakes():
    with pytest.raises(dt.OptionError, match="kron takes at least one matrix"):
        dt.kron()
    wave = dt.tensor("wave", dims=[COUNTRY, ACROSS], dtype="complex128")
    with pytest.raises(dt.DtypeError, match="eigh takes real matrices, not complex128"):
        dt.linalg.eigh(wave)
    labels = dt.tensor("labels", dims=[COUNTRY, ACROSS], categories=AGE)
    with pytest.raises(dt.DtypeError, match="det is not defined for labels of dim 'age'"):
        dt.linalg.det(labels)
    with pytest.raises(dt.DtypeError, match="solve is not defined for labels of dim 'age'"):
        dt.linalg.solve(x, dt.tensor("right", dims=COUNTRY, categories=AGE))


@pytest.mark.compiled
def test_systems_over_late_dims_are_machine_code(rng):
    n = dt.Dim("n")
    a, b = dt.tensor("a", dims=[n, n.rename("m")]), dt.tensor("b", dims=n)
    f = dt.function([a, b], [dt.linalg.solve(a, b), dt.grad((dt.linalg.solve(a, b) ** 2).sum(), b)])
    matrix, right = np.eye(4) + rng.normal(size=(4, 4)) / 9, rng.normal(size=4)
    solution, slope = f(xr.DataArray(matrix, dims=["n", "m"]), right)
    found = np.linalg.solve(matrix, right)
    np.testing.assert_allclose(solution.values, found)
    np.testing.assert_allclose(slope.values, np.linalg.solve(matrix.T, 2 * found))
    assert f.path == "machine code"


@pytest.mark.parametrize("lower", [True, False])
def test_columns_get_matrices_of_their_own(lower):
    """Right-hand sides are solved for together until the matrix differs between them."""
    k, draw = dt.Dim("k", length=2), dt.Dim("draw", length=3)
    rng = np.random.default_rng(0)
    one, each = (rng.normal(size=n) + np.eye(2) * 3 for n in ((2, 2), (3, 2, 2)))
    right = rng.normal(size=(3, 2))
    a, b = dt.tensor("a", dims=[k, k.rename()]), dt.data(right, dims=[draw, k])
    several = dt.data(each, dims=[draw, k, k.rename()])
    triangle = np.tril if lower else np.triu
    for x, of in (
        (dt.linalg.solve(a, b), np.array),
        (dt.linalg.solve_triangular(a, b, lower=lower), triangle),
    ):
        together = dt.evaluate(x, {a: (("k", "k'"), one)}, backend="python").transpose("draw", ...)
        np.testing.assert_allclose(together, np.linalg.solve(of(one), right.T).T, rtol=1e-12)
        found = dt.substitute(x, {a: several}).eval().transpose("draw", ...)
        expected = [np.linalg.solve(of(each[i]), right[i]) for i in range(3)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_hints_say_how_rows_are_told_from_columns():
    a, b = dt.Dim("a", length=2), dt.Dim("b", length=2)
    two = dt.data(np.eye(2) + 0.5, dims=[a, b])
    with pytest.raises(dt.DimError, match=r"hint: pass dims=\(a, b\), rows first, or dims=\(b, a"):
        dt.linalg.cholesky(two)
    with pytest.raises(
        dt.DimError, match=r"hint: .*dt\.data\(values, dims=\[a, a\.rename\(\)\]\)$"
    ):
        dt.dist.MvNormal(0.0, two)
    assert dt.linalg.cholesky(two, dims=(a, b)).sizes == {"a": 2, "b": 2}
    values = np.eye(2) + 0.5
    assert dt.dist.MvNormal(0.0, dt.data(values, dims=[a, a.rename()])).event_dims == (a,)


@pytest.mark.parametrize("order", [2, 1, 0, np.inf, -np.inf, 3, 0.5, -1])
def test_norms_are_numpys(order):
    a, b = dt.Dim("a", length=3), dt.Dim("b", length=4)
    values = np.random.default_rng(1).normal(size=(3, 4))
    x = dt.tensor("x", dims=[a, b])
    f = dt.function(
        [x], [dt.linalg.norm(x, dim, ord=order) for dim in (a, "b", [a, b], None)], "python"
    )
    found = f(dt.data(values, dims=[a, b]).eval())
    axes = (0, 1, (0, 1), None)
    for got, axis in zip(found, axes, strict=True):
        np.testing.assert_allclose(got, np.linalg.vector_norm(values, ord=order, axis=axis))


def test_norms_of_complex_numbers_nothing_and_their_slopes():
    k = dt.Dim("k", length=2)
    assert dt.linalg.norm(dt.data([3j, 4.0], dims=k)).item() == 5.0
    x = dt.tensor("x", dims=k)
    slope = dt.grad(dt.linalg.norm(x), x)
    np.testing.assert_allclose(slope.eval({x: [3.0, -4.0]}), [0.6, -0.8])
    np.testing.assert_array_equal(slope.eval({x: [0.0, 0.0]}), [0.0, 0.0])
    with pytest.raises(dt.OptionError, match="ord is a number, not 'nuc'"):
        dt.linalg.norm(x, ord="nuc")
    with pytest.raises(dt.DimError, match="norm takes no 'axis'"):
        dt.linalg.norm(x, axis=0)
