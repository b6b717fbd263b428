"""CAR and ICAR by the edges of an adjacency of data, beside SciPy and the dense formula."""

import re

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX

K = dt.Dim("k", coords=["a", "b", "c", "d"])
COL, B = K.rename(), dt.Dim("b", length=2)
W = np.array([[0.0, 1, 0, 0.5], [1, 0, 2, 0], [0, 2, 0, 1], [0.5, 0, 1, 0]])
X = np.array([0.7, -0.2, 1.1, 0.4])


def of_data(weights, *dims):
    return dt.data(np.asarray(weights, float), dims=[*dims, K, COL])


def precision(weights, alpha, tau):
    return tau * (np.diag(weights.sum(1)) - alpha * weights)


@pytest.mark.parametrize("alpha", [-0.9, 0.0, 0.99])
def test_a_conditional_autoregression_and_its_gradient(alpha):
    x, mu, a, tau = dt.tensor("x", dims=K), dt.scalar("mu"), dt.scalar("a"), dt.scalar("tau")
    density = dist.CAR(mu, of_data(W), a, tau).logp(x)
    found = dt.evaluate(
        [density, *dt.grad(density, [x, mu, a, tau])], {x: X, mu: 0.3, a: alpha, tau: 1.7}
    )
    matrix, apart = precision(W, alpha, 1.7), X - 0.3
    np.testing.assert_allclose(
        found[0], st.multivariate_normal(np.full(4, 0.3), np.linalg.inv(matrix)).logpdf(X)
    )
    np.testing.assert_allclose(found[1], -matrix @ apart, atol=1e-12)
    np.testing.assert_allclose(found[2], (matrix @ apart).sum(), atol=1e-12)
    by_alpha = -1.7 * np.trace(np.linalg.solve(matrix, W)) + 1.7 * apart @ W @ apart
    np.testing.assert_allclose(found[3], 0.5 * by_alpha)
    np.testing.assert_allclose(found[4], 0.5 * (4 - apart @ matrix @ apart) / 1.7)


@pytest.mark.parametrize(
    "make", [lambda w: dist.CAR(0.2, w, 0.7, 1.5), lambda w: dist.ICAR(w, 1.5)]
)
def test_weights_of_data_and_weights_that_vary(make):
    """The former are a sum over edges, the latter a sum over all pairs."""
    x, w = dt.tensor("x", dims=K), dt.tensor("w", dims=[K, COL])
    several = np.stack([W, W * [[0, 3, 0, 1], [3, 0, 0, 0], [0, 0, 0, 2], [1, 0, 2, 0]]])
    values = {w: (("k", "k'"), W)}
    known, late = make(of_data(W)).logp(x), make(w).logp(x)
    for one, other in zip(
        dt.evaluate([known, dt.grad(known, x)], {x: X}),
        dt.evaluate([late, dt.grad(late, x)], {x: X, **values}),
        strict=True,
    ):
        np.testing.assert_allclose(one, other)
    both = make(of_data(several, B)).logp(dt.data(X, dims=K))
    each = [make(of_data(one)).logp(dt.data(X, dims=K)).values for one in several]
    np.testing.assert_allclose(both.values, each)


def test_weights_of_whole_numbers_and_of_single_precision():
    ones = (W > 0).astype("int64")
    x = dt.tensor("x", dims=K, dtype="float32")
    for make in (lambda w: dist.CAR(0.0, w, 0.9), lambda w: dist.ICAR(w, 2.0)):
        exact = make(of_data(ones)).logp(dt.data(X, dims=K)).values
        whole = make(dt.data(ones, dims=[K, COL])).logp(dt.data(X, dims=K)).values
        np.testing.assert_allclose(whole, exact)
        narrow = make(dt.data(ones.astype("float32"), dims=[K, COL])).logp(x)
        assert narrow.dtype == "float32"
        np.testing.assert_allclose(narrow.eval({x: X.astype("float32")}), exact, rtol=1e-5)


def test_one_element_alone():
    one = dt.Dim("one", length=1)
    alone = dt.data([[0.0]], dims=[one, one.rename()])
    found = dist.ICAR(alone, 2.0, zero_sum_stdev=0.5).logp(dt.data([0.3], dims=one))
    np.testing.assert_allclose(found.values, st.norm(0, 0.5).logpdf(0.3))
    with pytest.raises(dt.OptionError, match="W of CAR: one=0 has no neighbors"):
        dist.CAR(0.0, alone, 0.5)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ((0, 1), "W of I?CAR is symmetric, and from k='a' to k='b' it is 3, from k='b' to k='a' 1"),
        ((2, 2), "W of I?CAR has zeros on the diagonal, and k='c' is a neighbor of itself"),
    ],
)
def test_weights_that_are_none_of_neighbors(at, text):
    wrong = W.copy()
    wrong[at] = 3.0
    for make in (lambda w: dist.CAR(0.0, w, 0.5), dist.ICAR):
        with pytest.raises(dt.OptionError, match=text):
            make(of_data(wrong))
        w = dt.tensor("w", dims=[K, COL])
        with pytest.raises(dt.CheckError, match=r"W of I?CAR: weights are not symmetric"):
            make(w).logp(dt.data(X, dims=K)).eval({w: (("k", "k'"), wrong)})


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX)
def test_an_adjacency_that_comes_with_the_data_of_a_model(backend):
    area = dt.Dim("area")
    w = dt.tensor("w", dims=[area, area.rename()])
    tau = dt.rv("tau", dist.Gamma(2.0, 1.0))
    x = dt.rv("x", dist.CAR(0.0, w, 0.8, tau), dims=area)
    y = dt.rv("y", dist.ICAR(w, tau), dims=area)
    names = ("area", "area'")
    density = dt.Model(x, y, data={w: (names, W)}, backend=backend).log_density()
    point = np.array([0.1, *X, *X[::-1]])

    def expected(weights):
        tau = np.exp(0.1)
        car = st.multivariate_normal(np.zeros(4), np.linalg.inv(precision(weights, 0.8, tau)))
        apart = np.subtract.outer(X[::-1], X[::-1])
        smooth = -0.25 * (weights * apart**2).sum() / tau**2 - 3 * np.log(tau)
        centered = st.norm(0, 0.004).logpdf(X.sum())
        return st.gamma(2).logpdf(tau) + 0.1 + car.logpdf(X) + smooth + centered

    value, gradient = density.logp_and_grad(point)
    np.testing.assert_allclose(value, expected(W))
    step = 1e-6 * np.eye(9)[2]
    slope = (density.logp(point + step) - density.logp(point - step)) / 2e-6
    np.testing.assert_allclose(gradient[2], slope, rtol=1e-4)
    other = np.array([[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_allclose(
        density.with_data({"w": (names, other)}).logp_and_grad(point)[0], expected(other)
    )
    other[0, 1] = 2.0
    with pytest.raises(dt.CheckError, match=r"W of I?CAR: weights are not symmetric"):
        density.with_data({"w": (names, other)}).logp(point)


@pytest.mark.compiled
def test_edges_and_eigenvalues_are_computed_once():
    n = 40
    k = dt.Dim("k", length=n)
    row = dt.data(np.eye(n, k=1) + np.eye(n, k=-1), dims=[k, k.rename()])
    x, alpha = dt.tensor("x", dims=k), dt.scalar("alpha")
    density = dist.CAR(0.0, row, alpha).logp(x)
    f = dt.function([x, alpha], [density, dt.grad(density, x)])
    assert "dsyevd" in f.once_source
    assert "dsyevd" not in f.source
    element_of_a_matrix = r"\w\[\w+, \w+\]"
    assert re.search(element_of_a_matrix, f.once_source)
    assert not re.search(element_of_a_matrix, f.source.replace("w0[", ""))
    steps = np.arange(n) % 3.0
    value, gradient = f(steps, 0.9)
    matrix = precision(np.eye(n, k=1) + np.eye(n, k=-1), 0.9, 1.0)
    np.testing.assert_allclose(gradient, -matrix @ steps)
    np.testing.assert_allclose(
        value, st.multivariate_normal(np.zeros(n), np.linalg.inv(matrix)).logpdf(steps)
    )
