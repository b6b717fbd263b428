"""Distributions over named dims against SciPy, integrals and sums over all outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.dist.test_rows import NumPyDraws

K = dt.Dim("k", coords=["a", "b", "c"])
B = dt.Dim("b", length=2)
T = dt.Dim("t", length=6)
OBS = dt.Dim("obs", length=4)
P = np.array([0.2, 0.5, 0.3])
COV = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])


def logp(d: dist.Distribution, *values) -> np.ndarray:
    """Of arrays with the dims given before them."""
    dims, array = values
    return d.logp(dt.data(np.asarray(array), dims=dims)).eval().values


@pytest.mark.parametrize("given", ["p", "logits"])
def test_categorical(given, rng):
    values = {"p": P, "logits": np.log(P) + 700.0}[given]
    d = dist.Categorical(**{given: dt.data(values, dims=K)}, dim="k")
    assert d.dims == ()
    labels = dt.data(["c", "a", "c", "b"], dims=OBS, categories=K)
    np.testing.assert_allclose(d.logp(labels).eval(), np.log(P[[2, 0, 2, 1]]), rtol=1e-10)
    np.testing.assert_allclose(logp(d, OBS, [2, 0, 2, 1]), np.log(P[[2, 0, 2, 1]]), rtol=1e-10)
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=5000))
    assert drawn.categories is K
    shares = np.bincount(drawn.codes.eval().values) / 5000
    np.testing.assert_allclose(shares, P, atol=0.03)


def test_categorical_of_batches():
    p = dt.tensor("p", dims=[B, K])
    d = dist.Categorical(p, dim=K)
    assert d.dims == (B,)
    values = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    found = d.logp(dt.data(["a", "c"], dims=B, categories=K)).eval({p: (["b", "k"], values)})
    np.testing.assert_allclose(found, np.log([0.2, 0.8]))


@pytest.mark.parametrize("sigma", [1.0, 2.5])
@pytest.mark.parametrize("kind", ["logistic", "probit"])
def test_ordered_outcomes(kind, sigma, rng):
    if kind == "logistic" and sigma != 1.0:
        return
    cut, level = dt.Dim("cut", length=3), dt.Dim("level", length=4)
    cutpoints, eta = np.array([-1.0, 0.5, 2.0]), np.array([-40.0, -0.3, 0.7, 40.0])
    base = st.logistic if kind == "logistic" else st.norm(0, sigma)
    options = {} if kind == "logistic" else {"sigma": sigma}
    make = dist.OrderedLogistic if kind == "logistic" else dist.OrderedProbit
    e = dt.tensor("eta", dims=OBS)
    d = make(e, dt.data(cutpoints, dims=cut), dim=level, **options)
    edges = np.concatenate([[-np.inf], cutpoints, [np.inf]])
    for y in range(4):
        value = d.logp(dt.data(np.full(4, y), dims=OBS))
        found = value.eval({e: eta}).values
        wanted = np.log(base.cdf(edges[y + 1] - eta[1:3]) - base.cdf(edges[y] - eta[1:3]))
        np.testing.assert_allclose(found[1:3], wanted, rtol=1e-10)
        assert np.isfinite(found).all()
        assert np.isfinite(dt.grad(value.sum(), e).eval({e: eta})).all()
    one = make(0.7, dt.data(cutpoints, dims=cut), dim=level, **options)
    drawn, _ = one.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    shares = np.bincount(drawn.codes.eval().values, minlength=4) / 4000
    np.testing.assert_allclose(shares, np.diff(base.cdf(edges - 0.7)), atol=0.03)


def test_dirichlet(rng):
    a = np.array([0.4, 2.0, 3.5])
    d = dist.Dirichlet(dt.data(a, dims=K), dim=K)
    oracle = st.dirichlet(a)
    x = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(logp(d, K, x), oracle.logpdf(x))
    assert np.isneginf(logp(d, K, [0.2, 0.5, 0.5]))
    np.testing.assert_allclose(d.mean().eval(), oracle.mean())
    np.testing.assert_allclose(d.variance().eval(), oracle.var())
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    np.testing.assert_allclose(drawn.sum(K).eval(), 1.0)
    np.testing.assert_allclose(drawn.mean("n").eval(), oracle.mean(), atol=0.02)
    assert d.support.name == "simplex(k)"


def test_counts_sum_to_one_over_all_outcomes():
    a = np.array([0.7, 2.0, 1.5])
    outcomes = [x for x in itertools.product(range(6), repeat=3) if sum(x) == 5]
    n = dt.Dim("n", length=len(outcomes))
    multinomial = dist.Multinomial(5, dt.data(P, dims=K), dim=K)
    found = logp(multinomial, [n, K], outcomes)
    np.testing.assert_allclose(found, st.multinomial(5, P).logpmf(outcomes))
    np.testing.assert_allclose(multinomial.mean().eval(), (np.exp(found) @ outcomes))
    both = dist.DirichletMultinomial(5, dt.data(a, dims=K), dim=K)
    found = logp(both, [n, K], outcomes)
    np.testing.assert_allclose(found, st.dirichlet_multinomial(a, 5).logpmf(np.array(outcomes)))
    oracle = st.dirichlet_multinomial(a, 5)
    np.testing.assert_allclose(both.mean().eval(), oracle.mean())
    np.testing.assert_allclose(both.variance().eval(), oracle.var())
    assert np.isneginf(logp(both, K, [1, 1, 1]))
    assert np.isneginf(logp(multinomial, K, [6, -1, 0]))


def test_stick_breaking(rng):
    alpha = 2.5
    d = dist.StickBreaking(alpha, dim=K)
    x = np.array([0.3, 0.2, 0.5])
    v = np.array([0.3, 0.2 / 0.7])
    wanted = st.beta(1, alpha).logpdf(v).sum() - np.log(0.7)  # of the breaks, and the Jacobian
    np.testing.assert_allclose(logp(d, K, x), wanted)
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    np.testing.assert_allclose(drawn.sum(K).eval(), 1.0)
    first = drawn.isel(k=0).eval().values
    assert st.kstest(first, st.beta(1, alpha).cdf).pvalue > 1e-4


MU = np.array([0.5, -1.0, 2.0])
FORMS = {"cov": COV, "tau": np.linalg.inv(COV), "chol": np.linalg.cholesky(COV)}


@pytest.mark.parametrize("form", FORMS)
def test_normal_and_student_vectors(form, rng):
    matrix = {form: dt.data(FORMS[form], dims=[K, K.rename()])}
    mu = dt.data(MU, dims=K)
    x = np.array([1.0, 0.0, -2.0])
    normal, student = dist.MvNormal(mu, **matrix), dist.MvStudentT(4.5, mu, **matrix)
    assert normal.dims == normal.event_dims == (K,)
    np.testing.assert_allclose(logp(normal, K, x), st.multivariate_normal(MU, COV).logpdf(x))
    np.testing.assert_allclose(logp(student, K, x), st.multivariate_t(MU, COV, 4.5).logpdf(x))
    np.testing.assert_allclose(normal.mean().eval(), MU)
    np.testing.assert_allclose(normal.variance().eval(), np.diag(COV))
    n = dt.Dim("n", length=6000)
    for d, scale in ((normal, 1.0), (student, 4.5 / 2.5)):
        drawn, _ = d.draw(NumPyDraws(rng), dims=n)
        found = np.cov(drawn.eval().transpose("k", "n").values)
        np.testing.assert_allclose(found, COV * scale, atol=0.3)


def test_a_batch_of_covariances():
    factors = np.stack([np.eye(3), 2 * np.eye(3)])
    chol = dt.data(factors, dims=[B, K, K.rename()])
    d = dist.MvNormal(0.0, chol=chol)
    assert set(d.dims) == {B, K}
    x = np.array([1.0, 0.0, -2.0])
    wanted = [st.multivariate_normal(np.zeros(3), f @ f.T).logpdf(x) for f in factors]
    np.testing.assert_allclose(logp(d, K, x), wanted)


def test_normal_matrices(rng):
    rows, cols = dt.data(COV, dims=[K, K.rename()]), np.array([[1.0, 0.4], [0.4, 2.0]])
    d = dist.MatrixNormal(0.5, rows, dt.data(cols, dims=[B, B.rename()]))
    x = rng.normal(size=(3, 2))
    oracle = st.matrix_normal(np.full((3, 2), 0.5), COV, cols)
    np.testing.assert_allclose(logp(d, [K, B], x), oracle.logpdf(x))
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=6000))
    flat = drawn.eval().transpose("k", "b", "n").values.reshape(6, -1)
    np.testing.assert_allclose(np.cov(flat), np.kron(COV, cols), atol=0.35)


def test_zero_sums(rng):
    d = dist.ZeroSumNormal(1.5, dim=[K, B])
    basis = [np.linalg.qr(np.eye(n) - 1 / n)[0][:, : n - 1] for n in (3, 2)]
    free = rng.normal(size=(2, 1))
    x = basis[0] @ free @ basis[1].T
    np.testing.assert_allclose(logp(d, [K, B], x), st.norm(0, 1.5).logpdf(free).sum())
    assert np.isneginf(logp(d, [K, B], x + 0.1))
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    np.testing.assert_allclose(drawn.sum(K).eval(), 0.0, atol=1e-12)
    np.testing.assert_allclose(drawn.sum(B).eval(), 0.0, atol=1e-12)
    np.testing.assert_allclose(drawn.var("n").eval(), d.variance().eval(), rtol=0.15)


def test_zero_sums_are_a_support_of_models():
    x = dt.tensor("x", dims=[K, B])
    d = dist.ZeroSumNormal(1.5, dim=[K, B])
    model = dt.LogDensity(d.logp(x), {x: d.support}, backend="python")
    assert model.size == 2
    free = np.array([0.3, -2.0])
    np.testing.assert_allclose(model.logp(free), st.norm(0, 1.5).logpdf(free).sum())
    point = model.constrain(free)
    np.testing.assert_allclose(model.unconstrain(point), free)
    one = dt.tensor("one", dims=K)
    short = dt.LogDensity(-(one**2).sum(), {one: dt.supports.zero_sum}, backend="python")
    np.testing.assert_allclose(short.logp(free), -(free**2).sum())


@pytest.mark.parametrize("eta", [0.5, 1.0, 3.0])
def test_lkj_integrates_to_one(eta, rng):
    row, col = dt.Dim("row", length=3), dt.Dim("col", length=3)
    d = dist.LKJCholesky(row, col, eta)
    # uniform partial correlations, with the Jacobian of the factor
    n = 20_000
    z = 2 * scipy.stats.qmc.Sobol(3, seed=1).random(32768)[:n] - 1
    factor = np.zeros((n, 3, 3))
    factor[:, 0, 0] = 1
    factor[:, 1, 0], factor[:, 1, 1] = z[:, 0], np.sqrt(1 - z[:, 0] ** 2)
    factor[:, 2, 0], factor[:, 2, 1] = z[:, 1], z[:, 2] * np.sqrt(1 - z[:, 1] ** 2)
    factor[:, 2, 2] = np.sqrt((1 - z[:, 1] ** 2) * (1 - z[:, 2] ** 2))
    jacobian = np.sqrt(1 - z[:, 1] ** 2)
    draw = dt.Dim("n", length=n)
    density = np.exp(logp(d, [draw, row, col], factor))
    if eta >= 1:
        np.testing.assert_allclose(8 * (density * jacobian).mean(), 1.0, rtol=5e-3)
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("m", length=3000))
    drawn = drawn.eval().transpose("m", "row", "col").values
    np.testing.assert_allclose((drawn**2).sum(-1), 1.0)
    b = eta + 0.5  # of each correlation
    for i, j in ((1, 0), (2, 0), (2, 1)):
        r = np.einsum("mk,mk->m", drawn[:, i], drawn[:, j])
        assert st.kstest((r + 1) / 2, st.beta(b, b).cdf).pvalue > 1e-4


W = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_neighbors(rng):
    weights = dt.data(W, dims=[K, K.rename()])
    d = dist.CAR(0.5, weights, 0.6, 2.0)
    precision = 2.0 * (np.diag(W.sum(1)) - 0.6 * W)
    x = np.array([1.0, 0.0, -2.0])
    oracle = st.multivariate_normal(np.full(3, 0.5), np.linalg.inv(precision))
    np.testing.assert_allclose(logp(d, K, x), oracle.logpdf(x))
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=6000))
    found = np.cov(drawn.eval().transpose("k", "n").values)
    np.testing.assert_allclose(found, np.linalg.inv(precision), atol=0.05)
    intrinsic = dist.ICAR(weights, 1.5)
    wanted = -((1 + 4) / (2 * 1.5**2)) - 2 * np.log(1.5) + st.norm(0, 0.003).logpdf(-1.0)
    np.testing.assert_allclose(logp(intrinsic, K, x), wanted)


def test_random_walks(rng):
    start, x = dist.Normal(1.0, 2.0), np.array([0.3, 1.0, -0.5, 0.1, 0.2, 4.0])
    mu = dt.data([0.5, -1.0], dims=B)
    normal = dist.GaussianRandomWalk(mu, 0.7, dim=T, start=start)
    assert set(normal.dims) == {B, T}
    wanted = [
        st.norm(1, 2).logpdf(0.3) + st.norm(m, 0.7).logpdf(np.diff(x)).sum() for m in (0.5, -1.0)
    ]
    np.testing.assert_allclose(logp(normal, T, x), wanted)
    heavy = dist.RandomWalk(dist.StudentT(3.0, 0.0, 0.5), dim=T, start=start)
    wanted = st.norm(1, 2).logpdf(0.3) + st.t(3, 0, 0.5).logpdf(np.diff(x)).sum()
    np.testing.assert_allclose(logp(heavy, T, x), wanted)
    drawn, _ = normal.draw(NumPyDraws(rng), dims=dt.Dim("n", length=3000))
    np.testing.assert_allclose(drawn.mean("n").eval(), normal.mean().eval(), atol=0.25)
    np.testing.assert_allclose(drawn.var("n").eval(), normal.variance().eval(), rtol=0.15)


def test_a_random_walk_of_vectors():
    cov = dt.data(COV, dims=[K, K.rename()])
    zero = dt.zeros(K)
    d = dist.RandomWalk(dist.MvNormal(zero, cov), dim=T, start=dist.MvNormal(zero, cov))
    x = np.arange(18.0).reshape(6, 3) / 7
    oracle = st.multivariate_normal(np.zeros(3), COV)
    wanted = oracle.logpdf(x[0]) + oracle.logpdf(np.diff(x, axis=0)).sum()
    np.testing.assert_allclose(logp(d, [T, K], x), wanted)


def test_autoregressions(rng):
    rho, x = np.array([0.5, -0.3]), np.array([0.3, 1.0, -0.5, 0.1, 0.2, 4.0])
    lag = dt.Dim("lag", length=2)
    d = dist.AR(dt.data(rho, dims=lag), 0.7, dim=T, start=dist.Normal(1.0, 2.0), constant=0.4)
    center = 0.4 + rho[0] * x[1:-1] + rho[1] * x[:-2]
    wanted = st.norm(1, 2).logpdf(x[:2]).sum() + st.norm(center, 0.7).logpdf(x[2:]).sum()
    np.testing.assert_allclose(logp(d, T, x), wanted)
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    values = drawn.eval().transpose("n", "t").values
    noise = values[:, 2:] - 0.4 - rho[0] * values[:, 1:-1] - rho[1] * values[:, :-2]
    assert st.kstest(noise.ravel(), st.norm(0, 0.7).cdf).pvalue > 1e-4
    assert st.kstest(values[:, :2].ravel(), st.norm(1, 2).cdf).pvalue > 1e-4


def test_markov_chains(rng):
    move = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.0, 0.5, 0.5]])
    d = dist.MarkovChain(dt.data(P, dims=K), dt.data(move, dims=[K, K.rename()]), dim=T)
    paths = np.array(list(itertools.product(range(3), repeat=6)))
    n = dt.Dim("path", length=len(paths))
    found = logp(d, [n, T], paths)
    with np.errstate(divide="ignore"):
        wanted = np.log(P[paths[:, 0]]) + np.log(move[paths[:, :-1], paths[:, 1:]]).sum(1)
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(np.exp(found).sum(), 1.0)
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    assert drawn.categories is K
    values = drawn.codes.eval().transpose("n", "t").values
    np.testing.assert_allclose(np.bincount(values[:, 0]) / 4000, P, atol=0.04)
    for label in range(3):
        after = values[:, 1:][values[:, :-1] == label]
        np.testing.assert_allclose(np.bincount(after, minlength=3) / len(after), move[label],
                                   atol=0.04)  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dist.MvNormal(0.0), "one of cov"),
        (lambda: dist.Categorical(dim=K), "probabilities p, or logits"),
        (lambda: dist.Dirichlet(dt.ones(K), dim=B), "no dim"),
        (lambda: dist.MvNormal(0.0, dt.eye(K)).logp(dt.ones(B)), "lacks event dims"),
        (lambda: dist.Categorical(dt.ones(K) / 3, dim=K).logp(dt.scalar("x")), "not of float64"),
        (lambda: dist.LKJCholesky(dt.Dim("i"), dt.Dim("j")), "two dims of one known length"),
        (lambda: dist.OrderedLogistic(0.0, dt.ones(B), dim=B), "one cutpoint between"),
        (lambda: dist.RandomWalk(dist.Normal(0, 1), T, dist.Normal(dt.ones(T), 1)), "it walks"),
        (lambda: dist.RandomWalk(dist.MvNormal(0, dt.eye(T)), T, dist.Normal(0, 1)), "it walks"),
        (lambda: dist.AR(dt.ones(dt.Dim("lag")), dim=T, start=dist.Normal(0, 1)), "not known"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(dt.DimtensorError, match=message):
        make()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", pytest.param("jax", marks=pytest.mark.slow)])
def test_compiled(backend, rng):
    """Values and gradients as on the python backend, in one function."""
    mu, chol = dt.tensor("mu", dims=K), dt.tensor("chol", dims=[K, K.rename()])
    x, eta, walk = dt.tensor("x", dims=K), dt.scalar("eta"), dt.tensor("walk", dims=T)
    level, cut = dt.Dim("level", length=4), dt.Dim("cut", length=3)
    row, col = dt.Dim("row", length=3), dt.Dim("col", length=3)
    rho = dt.tensor("rho", dims=dt.Dim("lag", length=2))
    terms = [
        dist.MvNormal(mu, chol=chol).logp(x),
        dist.MvStudentT(4.0, mu, chol=chol).logp(x),
        dist.Dirichlet(dt.exp(mu), dim=K).logp(dt.data(P, dims=K)),
        dist.OrderedProbit(eta, dt.data([-1.0, 0.5, 2.0], dims=cut), dim=level).logp(
            dt.data([0, 1, 2, 3], dims=OBS)
        ),
        dist.Categorical(logits=mu, dim=K).logp(dt.data([0, 2, 1, 1], dims=OBS)),
        dist.LKJCholesky(row, col, dt.exp(eta)).logp(dt.data(np.eye(3), dims=[row, col])),
        dist.ZeroSumNormal(dt.exp(eta), dim=K).logp(dt.data([1.0, -3.0, 2.0], dims=K)),
        dist.GaussianRandomWalk(eta, 2.0, dim=T, start=dist.Normal(0, 1)).logp(walk),
        dist.AR(rho, dt.exp(eta), dim=T, start=dist.Normal(0, 1)).logp(walk),
        dist.mixture(mu.softmax(K), dist.Normal(mu, dt.exp(eta)), dim=K).logp(walk),
        dist.truncated(dist.Gamma(dt.exp(eta), 1.0), 0.5, 3.0).logp(dt.exp(walk)),
    ]
    total = sum(term.sum() for term in terms)
    inputs = [mu, chol, x, eta, walk, rho]
    factor = np.linalg.cholesky(COV)
    values = [MU, (["k", "k'"], factor), MU - 0.5, 0.3, rng.normal(size=6) / 4, [0.5, -0.3]]
    outputs = [*(term.sum() for term in terms), *dt.grad(total, inputs)]
    fast, slow = (
        dt.function(inputs, outputs, backend=name)(*values) for name in (backend, "python")
    )
    for at, (one, other) in enumerate(zip(fast, slow, strict=True)):
        np.testing.assert_allclose(
            one.transpose(*other.dims), other, rtol=1e-7, atol=1e-9, err_msg=str(at)
        )
