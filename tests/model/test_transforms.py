"""Supports: values and log Jacobians against Stan's formulas and against numerical Jacobians."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.supports.along import SHORT
from tests.backend_names import LONG_JAX, LONG_JAX_COMPILED
from tests.effort import a_tenth
from tests.model import oracles

K = dt.Dim("k", coords=list("abcd"))
COL = K.rename("col")
BATCH = dt.Dim("batch", length=3)

# support, dims of the parameter, oracle, number of free elements
CASES = {
    "positive": (dt.positive, [K], oracles.positive, 4),
    "unit": (dt.supports.unit, [K], oracles.between(0.0, 1.0), 4),
    "bounded": (dt.supports.bounded(-2.0, 5.0), [K], oracles.between(-2.0, 5.0), 4),
    "above": (dt.supports.bounded(3.0), [K], lambda x: (3.0 + np.exp(x), x.sum()), 4),
    "below": (dt.supports.bounded(high=3), [K], lambda x: (3.0 - np.exp(x), x.sum()), 4),
    "ordered": (dt.supports.ordered, [K], oracles.ordered, 4),
    "positive_ordered": (dt.supports.positive_ordered, [K], oracles.positive_ordered, 4),
    "simplex": (dt.supports.simplex, [K], oracles.simplex, 3),
    "cholesky_corr": (dt.supports.cholesky_corr(K, COL), [K, COL], oracles.cholesky_corr(4), 6),
    "corr_matrix": (dt.supports.corr_matrix(K, COL), [K, COL], oracles.corr_matrix(4), 6),
    "cholesky_cov": (dt.supports.cholesky_cov(K, COL), [K, COL], oracles.cholesky_cov(4), 10),
    "cov_matrix": (dt.supports.cov_matrix(K, COL), [K, COL], oracles.cov_matrix(4), 10),
}
MATRICES = ("cholesky_corr", "corr_matrix", "cholesky_cov", "cov_matrix")
BATCHED = {
    "ordered": dt.supports.ordered(K),
    "positive_ordered": dt.supports.positive_ordered("k"),
    "simplex": dt.supports.simplex(K),
    **{name: getattr(dt.supports, name)("k", COL) for name in MATRICES},
}


def model_of(support, dims, backend="python", jacobian=True):
    """A model whose log density is the log Jacobian (and zero)."""
    y = dt.tensor("y", dims=dims)
    return dt.LogDensity(0.0 * y.sum(), {y: support}, backend=backend, jacobian=jacobian)


def values_of(model, x):
    y = model.constrain(x)["y"]
    order = [d for d in ("batch", "k", "col") if d in y.dims]
    return y.transpose(..., *order).values


@pytest.mark.parametrize("name", CASES)
def test_values_and_log_jacobians_are_stans(name, rng):
    support, dims, oracle, n = CASES[name]
    model = model_of(support, dims)
    assert model.size == n
    for x in (np.zeros(n), rng.normal(size=n), 2 * rng.normal(size=n)):
        y, log_jacobian = oracle(x)
        np.testing.assert_allclose(values_of(model, x), y, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(model.logp(x), log_jacobian, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_log_jacobian_is_that_of_the_numerical_jacobian(name, rng):
    support, dims, _, n = CASES[name]
    model = model_of(support, dims)
    x = rng.normal(size=n)

    def free_values(vector):
        y = values_of(model, vector)
        if name == "simplex":
            return y[:-1]
        diagonal = 0 if name.endswith("cov") or name.startswith("cov") else -1
        return y[np.tril_indices(4, diagonal)] if name in MATRICES else y

    expected = oracles.log_determinant(free_values, x)
    np.testing.assert_allclose(model.logp(x), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_gradient_of_the_log_jacobian_is_that_of_finite_differences(name, rng):
    support, dims, _, n = CASES[name]
    model = model_of(support, dims)
    x = rng.normal(size=n)
    value, gradient = model.logp_and_grad(x)
    step = 1e-6
    expected = [
        (model.logp(x + step * unit) - model.logp(x - step * unit)) / (2 * step)
        for unit in np.eye(n)
    ]
    assert value == model.logp(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_unconstrain_is_the_inverse(name, rng):
    support, dims, _, n = CASES[name]
    model = model_of(support, dims)
    x = 2 * rng.normal(size=n)
    np.testing.assert_allclose(model.unconstrain(model.constrain(x)), x, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", BATCHED)
def test_other_dims_batch_the_transform(name, rng):
    _, dims, oracle, n = CASES[name]
    model = model_of(BATCHED[name], [*dims, BATCH])
    x = rng.normal(size=(3, n))
    # the free elements are in canonical order: batch before k
    y = values_of(model, x.ravel())
    expected = [oracle(row) for row in x]
    np.testing.assert_allclose(y, np.stack([value for value, _ in expected]), rtol=1e-12)
    total = sum(log_jacobian for _, log_jacobian in expected)
    np.testing.assert_allclose(model.logp(x.ravel()), total, rtol=1e-12)
    np.testing.assert_allclose(
        model.unconstrain(model.constrain(x.ravel())), x.ravel(), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", CASES)
def test_without_jacobian_the_density_is_that_of_the_values(name, rng):
    support, dims, _, n = CASES[name]
    y = dt.tensor("y", dims=dims)
    model = dt.LogDensity((y**2).sum(), {y: support}, backend="python", jacobian=False)
    x = rng.normal(size=n)
    np.testing.assert_allclose(model.logp(x), (values_of(model, x) ** 2).sum(), rtol=1e-13)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [-700.0, -40.0, 40.0, 700.0])
def test_nothing_overflows_far_out(name, size):
    support, dims, _, n = CASES[name]
    model = model_of(support, dims)
    size = size / 2.5 if name == "cov_matrix" else size  # its elements are squares
    for x in (np.full(n, size), size * np.eye(n)[0], size * np.eye(n)[-1]):
        value, gradient = model.logp_and_grad(x)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(values_of(model, x)).all()


def test_log_jacobians_far_out_keep_their_digits():
    scalar = dt.scalar("y")
    model = dt.LogDensity(0.0 * scalar, {scalar: dt.supports.unit}, backend="python")
    for x in (-700.0, -40.0, 40.0, 700.0):
        expected = -abs(x) - 2 * np.log1p(np.exp(-abs(x)))
        np.testing.assert_allclose(model.logp(np.array([x])), expected, rtol=1e-15)
    pair = model_of(
        dt.supports.cholesky_corr, [dt.Dim("k", length=2), dt.Dim("k", length=2).rename()]
    )
    for x in (-300.0, 20.0, 300.0):
        # log(1 - tanh(x)²) = 2 log(2 / (exp(x) + exp(-x)))
        expected = 2 * np.log(2) - 2 * abs(x) - 2 * np.log1p(np.exp(-2 * abs(x)))
        np.testing.assert_allclose(pair.logp(np.array([x])), expected, rtol=1e-14)


def test_small_values_come_back_from_the_simplex_and_from_the_correlations():
    simplex = model_of(dt.supports.simplex, [dt.Dim("k", length=3)])
    y = np.array([1e-30, 1e-300, 1.0])
    y = values_of(simplex, simplex.unconstrain({"y": y}))
    np.testing.assert_allclose(y, [1e-30, 1e-300, 1.0], rtol=1e-12)
    row = dt.Dim("k", length=3)
    corr = model_of(dt.supports.cholesky_corr, [row, row.rename("col")])
    x = np.array([15.0, 15.0, -15.0])
    np.testing.assert_allclose(corr.unconstrain(corr.constrain(x)), x, rtol=1e-9)


@pytest.mark.parametrize("length", [1, 2, 3, SHORT, SHORT + 1])
@pytest.mark.parametrize("name", BATCHED)
def test_short_and_long_dims(name, length, rng):
    if length >= SHORT and name in MATRICES[1:]:
        return  # their sums are those of cholesky_corr
    k = dt.Dim("k", length=length)
    dims, oracle = ([k], getattr(oracles, name))
    support = getattr(dt.supports, name)
    if name in MATRICES:
        dims, oracle, support = [k, k.rename("col")], oracle(length), support(k, "col")
    model = model_of(support, dims)
    x = 0.3 * rng.normal(size=model.size)
    y, log_jacobian = oracle(x)
    np.testing.assert_allclose(values_of(model, x), y, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(model.logp(x), log_jacobian, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(model.unconstrain(model.constrain(x)), x, rtol=1e-8, atol=1e-11)
    gradient = model.logp_and_grad(x)[1]
    assert gradient.shape == x.shape
    direction = rng.normal(size=model.size)
    ahead, behind = (model.logp(x + sign * 1e-6 * direction) for sign in (1, -1))
    np.testing.assert_allclose(gradient @ direction, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-6)


def test_a_dim_whose_length_comes_with_data(rng):
    late, names = dt.Dim("late"), ["p", "q", "r", "s"]
    y = dt.tensor("y", dims=late)
    seen = dt.data(xr.DataArray(np.zeros(4), coords={"late": names}), dims=late, name="seen")
    for name, oracle in [("ordered", oracles.ordered), ("simplex", oracles.simplex)]:
        logp = 0.0 * (y * seen).sum()
        model = dt.LogDensity(logp, {y: getattr(dt.supports, name)}, backend="python")
        x = rng.normal(size=model.size)
        values, log_jacobian = oracle(x)
        np.testing.assert_allclose(model.logp(x), log_jacobian, rtol=1e-12)
        found = model.constrain(x)["y"]
        np.testing.assert_allclose(found.values, values, rtol=1e-12)
        assert found.coords["late"].values.tolist() == names
        np.testing.assert_allclose(model.unconstrain({y: found}), x, rtol=1e-9, atol=1e-12)


@a_tenth
@given(st.data())
def test_round_trip_of_any_length_and_place(data):
    name = data.draw(st.sampled_from(sorted(BATCHED)))
    length = data.draw(st.integers(1, 6))
    k = dt.Dim(data.draw(st.sampled_from(["a", "m", "z"])), length=length)
    dims, support = [k], getattr(dt.supports, name)(k) if name not in MATRICES else None
    if support is None:
        col = dt.Dim(data.draw(st.sampled_from(["b", "n", "zz"])), length=length)
        dims, support = [k, col], getattr(dt.supports, name)(k, col)
    if data.draw(st.booleans()):
        dims.append(dt.Dim("h", length=data.draw(st.integers(1, 3))))
    model = model_of(support, dims)
    elements = st.floats(-4, 4, allow_nan=False)
    x = np.array(data.draw(st.lists(elements, min_size=model.size, max_size=model.size)))
    values = model.constrain(x)
    np.testing.assert_allclose(model.unconstrain(values), x, rtol=1e-6, atol=1e-6)
    y = values["y"]
    if name == "simplex":
        np.testing.assert_allclose(y.sum(k.name), 1.0, rtol=1e-12)
    elif name == "cholesky_corr":
        np.testing.assert_allclose((y**2).sum(dims[1].name), 1.0, rtol=1e-12)
        matrix = y.transpose(..., k.name, dims[1].name).values
        assert (np.triu(matrix, 1) == 0).all()
    elif name not in MATRICES:
        assert (y.diff(k.name) >= 0).all()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_all_transforms_compiled(backend, rng):
    tensors = {name: dt.tensor(name, dims=dims) for name, (_, dims, _, _) in CASES.items()}
    logp = sum((y**2).sum() for y in tensors.values())
    supports = {y: CASES[name][0] for name, y in tensors.items()}
    model = dt.LogDensity(logp, supports, backend=backend)
    interpreted = dt.LogDensity(logp, supports, backend="python")
    x = rng.normal(size=model.size)
    expected, at = 0.0, 0
    for _, _, oracle, n in CASES.values():
        y, log_jacobian = oracle(x[at : at + n])
        expected += (y**2).sum() + log_jacobian
        at += n
    value, gradient = model.logp_and_grad(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(model.logp(x), expected, rtol=1e-12)
    step = 1e-5
    differences = [
        (interpreted.logp(x + step * unit) - interpreted.logp(x - step * unit)) / (2 * step)
        for unit in np.eye(len(x))
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)
    far = model.logp_and_grad(np.full(model.size, -300.0))
    assert np.isfinite(far[0])
    assert np.isfinite(far[1]).all()


@pytest.mark.parametrize(
    ("support", "text"),
    [
        (dt.real, "real"),
        (dt.positive, "positive"),
        (dt.supports.unit, "unit"),
        (dt.supports.bounded(0, 2.5), "bounded(0, 2.5)"),
        (dt.supports.bounded(1), "bounded(low=1)"),
        (dt.supports.bounded(high=dt.scalar("top")), "bounded(high=top)"),
        (dt.supports.simplex, "simplex"),
        (dt.supports.simplex(K), "simplex(k)"),
        (dt.supports.ordered("k"), "ordered(k)"),
        (dt.supports.cholesky_corr, "cholesky_corr"),
        (dt.supports.cholesky_corr(K, COL), "cholesky_corr(k, col)"),
    ],
)
def test_reprs(support, text):
    assert repr(support) == text


def test_real_is_also_the_real_part():
    z = dt.data(np.array([1 + 2j, 3 - 4j]), dims=dt.Dim("i", length=2))
    assert z.real.eval().values.tolist() == [1.0, 3.0]
    assert np.real(z) is z.real


def test_bounds_are_checked():
    with pytest.raises(dt.OptionError, match="takes at least one bound"):
        dt.supports.bounded()
    with pytest.raises(dt.OptionError, match="takes at least one bound"):
        dt.supports.bounded(-np.inf, np.inf)
    with pytest.raises(dt.OptionError, match="low=3 is not below high=2"):
        dt.supports.bounded(3, 2)
    with pytest.raises(dt.OptionError, match="a bound is nan"):
        dt.supports.bounded(np.nan, 2)
    with pytest.raises(dt.ArgumentError, match=r"a bound is a number or a dims-tensor, not list"):
        dt.supports.bounded([0, 1])
    low = dt.data(np.zeros(3), dims=BATCH)
    with pytest.raises(dt.DimError, match="a bound of 'y' has dims that the parameter has not"):
        model_of(dt.supports.bounded(low), [K])


def test_dims_that_have_to_be_named():
    with pytest.raises(
        dt.DimError, match=r"the parameter 'y' has 2 dims(.|\n)*dt.supports.simplex\(batch\)"
    ):
        model_of(dt.supports.simplex, [K, BATCH])
    with pytest.raises(dt.DimError, match=r"the parameter 'y' has 0 dims"):
        model_of(dt.supports.ordered, [])
    with pytest.raises(dt.DimError, match=r"simplex of 'y': there is no dim 'kk'"):
        model_of(dt.supports.simplex("kk"), [K])
    with pytest.raises(dt.DimError, match="needs the dims of its rows and columns"):
        model_of(dt.supports.cholesky_corr, [K, BATCH])
    with pytest.raises(dt.DimError, match="rows and columns are two dims of one length"):
        model_of(dt.supports.cholesky_corr(K, BATCH), [K, BATCH])
    late = dt.Dim("late")
    with pytest.raises(dt.GraphError, match="the length of dim 'late' is not known"):
        model_of(dt.supports.cholesky_corr, [late, late.rename()])


@pytest.mark.parametrize(
    "support", [dt.positive, dt.supports.unit, dt.real, dt.supports.bounded(0, 2)]
)
def test_a_support_without_arguments_is_not_called(support):
    with pytest.raises(dt.ArgumentError, match=r"is a support, which takes no arguments"):
        support()


def test_supports_along_dims_are_called_with_dims_or_with_nothing():
    for support in (
        dt.supports.ordered,
        dt.supports.positive_ordered,
        dt.supports.simplex,
        dt.supports.cholesky_corr,
    ):
        assert repr(support()) == repr(support)
    with pytest.raises(dt.OptionError, match="the dims of rows and columns, or neither"):
        dt.supports.cholesky_corr("row")


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("case", ["both", "number above", "none below"])
def test_some_elements_have_no_bound(case, backend):
    """Of a normal distribution, each element with the map that its own bounds ask for."""
    dim = dt.Dim("k", coords=["a", "b", "c", "d"])
    low, high = np.array([-np.inf, 0.0, -1.0, -np.inf]), np.array([np.inf, np.inf, 1.0, 2.0])
    lower, upper = dt.data(low, dims=dim), dt.data(high, dims=dim)
    if case == "number above":
        upper, high = 3.0, np.full(4, 3.0)
    elif case == "none below":
        lower, low = None, np.full(4, -np.inf)
    x = dt.rv("x", dist.TruncatedNormal(0.5, 1.3, lower=lower, upper=upper), dims=dim)
    y = dt.rv("y", dist.Normal(x, 1.0))
    density = dt.Model(y, backend=backend).observe({y: np.zeros(4)}).log_density()
    left, right = np.isfinite(low), np.isfinite(high)
    a, width = np.where(left, low, 0.0), np.where(left & right, high, 1.0) - np.where(left, low, 0)

    def by_hand(q):
        s = 1 / (1 + np.exp(-q))
        alone = np.where(left, a + np.exp(q), np.where(right, high - np.exp(q), q))
        jacobian = np.where(left & right, np.log(width * s * (1 - s)), q * (left | right))
        return np.where(left & right, a + width * s, alone), jacobian.sum()

    def logp(q):
        values, jacobian = by_hand(q)
        prior = scipy.stats.truncnorm.logpdf(
            values, (low - 0.5) / 1.3, (high - 0.5) / 1.3, 0.5, 1.3
        )
        return prior.sum() + jacobian + scipy.stats.norm.logpdf(values).sum()

    q = np.array([0.1, 0.2, 0.3, -0.4])
    value, slope = density.logp_and_grad(q)
    found = density.constrain(q)
    np.testing.assert_allclose(found["x"], by_hand(q)[0], rtol=1e-14)
    np.testing.assert_allclose(density.unconstrain(found), q, rtol=1e-14)
    np.testing.assert_allclose(value, logp(q), rtol=1e-13)
    expected = [(logp(q + h) - logp(q - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_a_parameter_bounds_some_elements_of_another(backend):
    dim = dt.Dim("k", length=3)
    s, x = dt.scalar("s"), dt.tensor("x", dims=dim)
    limit = dt.where(dt.data([True, False, True], dims=dim), dt.exp(s), np.inf)
    density = dt.LogDensity(
        {"s": -(s**2), "x": -x}, {s: dt.real, x: dt.supports.bounded(0.0, limit)}, backend=backend
    )
    q = np.array([0.1, 0.2, 0.3, -0.4])
    high, unit = np.exp(0.1), 1 / (1 + np.exp(-q[[1, 3]]))
    first, last = high * unit
    np.testing.assert_allclose(density.constrain(q)["x"], [first, np.exp(0.3), last], rtol=1e-14)
    jacobian = np.log(high * unit * (1 - unit)).sum() + 0.3
    expected = -(0.1**2) - first - np.exp(0.3) - last + jacobian
    np.testing.assert_allclose(density.logp(q), expected, rtol=1e-13)


def test_bounds_over_a_dim_without_length_are_resolved():
    dim = dt.Dim("k")
    x = dt.tensor("x", dims=dim)
    terms = {"x": -x * dt.data([2.0, 3.0], dims=dim)}
    density = dt.LogDensity(terms, {x: dt.supports.bounded(dt.zeros(dim), None)}, backend="python")
    q = np.array([0.1, -0.2])
    expected = -2 * np.exp(0.1) - 3 * np.exp(-0.2) + q.sum()
    np.testing.assert_allclose(density.logp(q), expected, rtol=1e-14)
