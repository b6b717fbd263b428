"""Distributions of covariances, of points and of processes, against SciPy and formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.dist.joint.test_vectors import COV, logp
from tests.dist.test_rows import NumPyDraws

K = dt.Dim("k", coords=["a", "b", "c"])
COL = K.rename()
B = dt.Dim("b", length=2)
T = dt.Dim("t", length=6)
N = dt.Dim("n", length=4000)
OTHER = np.array([[1.0, 0.4], [0.4, 2.0]])
X = np.array([0.3, 1.0, -0.5, 0.1, 0.2, 4.0])


@pytest.mark.parametrize("form", ["V", "chol"])
def test_wishart(form, rng):
    given = {"V": COV, "chol": np.linalg.cholesky(COV)}[form]
    d = dist.Wishart(4.5, **{form: dt.data(given, dims=[K, COL])})
    oracle = st.wishart(4.5, COV)
    x = COV + 0.3 * np.eye(3)
    np.testing.assert_allclose(logp(d, [K, COL], x), oracle.logpdf(x))
    np.testing.assert_allclose(d.mean().eval(), oracle.mean())
    np.testing.assert_allclose(d.variance().eval(), oracle.var())
    assert np.isneginf(logp(d, [K, COL], x - 5 * np.eye(3)))  # not positive definite
    assert np.isneginf(logp(d, [K, COL], np.triu(x)))  # not symmetric
    drawn, _ = d.draw(NumPyDraws(rng), dims=N)
    drawn = drawn.eval().transpose("n", "k", "k'").values
    np.testing.assert_allclose(drawn.mean(0), oracle.mean(), atol=0.3)
    np.testing.assert_allclose(drawn.var(0), oracle.var(), rtol=0.15)
    # a quotient with a fixed vector has a chi-squared distribution (Muirhead, theorem 3.2.8)
    u = np.array([1.0, -2.0, 0.5])
    quotients = np.einsum("nij,i,j", drawn, u, u) / (u @ COV @ u)
    assert st.kstest(quotients, st.chi2(4.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("form", ["V", "chol"])
def test_inverse_wishart(form, rng):
    given = {"V": COV, "chol": np.linalg.cholesky(COV)}[form]
    d = dist.InverseWishart(9.5, **{form: dt.data(given, dims=[K, COL])})
    oracle = st.invwishart(9.5, COV)
    x = 0.2 * COV + 0.3 * np.eye(3)
    np.testing.assert_allclose(logp(d, [K, COL], x), oracle.logpdf(x))
    np.testing.assert_allclose(d.mean().eval(), oracle.mean())
    np.testing.assert_allclose(d.variance().eval(), oracle.var())
    few = dist.InverseWishart(4.0, dt.eye(K, COL))
    assert np.isnan(few.mean().eval()).all()
    assert np.isnan(few.variance().eval()).all()
    assert np.isneginf(logp(d, [K, COL], x - 5 * np.eye(3)))  # not positive definite
    drawn, _ = d.draw(NumPyDraws(rng), dims=N)
    drawn = drawn.eval().transpose("n", "k", "k'").values
    np.testing.assert_allclose(drawn.mean(0), oracle.mean(), atol=0.05)
    # the inverse is a Wishart matrix
    u = np.array([1.0, -2.0, 0.5])
    own = np.einsum("nij,i,j", np.linalg.inv(drawn), u, u) / (u @ np.linalg.inv(COV) @ u)
    assert st.kstest(own, st.chi2(9.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", ["Wishart", "InverseWishart"])
def test_cholesky_factors_of_wishart_matrices(name, rng):
    """The density of the matrix, times the Jacobian by differences."""
    oracle = {"Wishart": st.wishart, "InverseWishart": st.invwishart}[name](9.5, COV)
    d = getattr(dist, f"{name}Cholesky")(9.5, dt.data(COV, dims=[K, COL]))
    factor = np.linalg.cholesky(0.4 * COV + 0.3 * np.eye(3))
    below = np.tril_indices(3)

    def whole(free):
        lower = np.zeros((3, 3))
        lower[below] = free
        return (lower @ lower.T)[below]

    free = factor[below]
    steps = 1e-6 * np.eye(6)
    jacobian = [(whole(free + h) - whole(free - h)) / 2e-6 for h in steps]
    expected = oracle.logpdf(factor @ factor.T) + np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(logp(d, [K, COL], factor), expected, rtol=1e-7)
    drawn = d.draw(NumPyDraws(rng), dims=N)[0].eval().transpose("n", "k", "k'").values
    assert (np.triu(drawn, 1) == 0).all()
    products = drawn @ drawn.transpose(0, 2, 1)
    assert (abs(products.mean(0) - oracle.mean()) < 5 * np.sqrt(oracle.var() / N.length)).all()


def test_wishart_is_a_parameter_of_models(rng):
    """Its support leads there: the density of free elements integrates to one."""
    pair = dt.Dim("p", length=1)
    x = dt.tensor("x", dims=[pair, pair.rename()])
    d = dist.Wishart(3.0, dt.eye(pair))
    model = dt.LogDensity(d.logp(x), {x: d.support}, backend="python")
    free = np.linspace(-6.0, 3.0, 400)
    density = [np.exp(model.logp(np.array([v]))) for v in free]
    np.testing.assert_allclose(scipy.integrate.trapezoid(density, free), 1.0, rtol=1e-6)


@pytest.mark.parametrize("eta", [0.7, 1.0, 3.0])
def test_correlation_matrices(eta, rng):
    two, turned = dt.Dim("two", length=2), dt.Dim("two", length=2).rename()
    d = dist.LKJCorr(two, turned, eta)
    r = np.linspace(-0.95, 0.95, 7)
    matrices = np.stack([[[1, v], [v, 1]] for v in r])
    n = dt.Dim("r", length=7)
    wanted = st.beta(eta, eta, -1, 2).logpdf(r)  # of the one correlation
    np.testing.assert_allclose(logp(d, [n, two, turned], matrices), wanted)
    assert np.isneginf(logp(d, [two, turned], [[1.0, 1.5], [1.5, 1.0]]))
    assert np.isneginf(logp(d, [two, turned], [[2.0, 0.5], [0.5, 1.0]]))
    three = dist.LKJCorr(K, COL, eta)
    drawn, _ = three.draw(NumPyDraws(rng), dims=N)
    drawn = drawn.eval()
    np.testing.assert_allclose(drawn.mean("n"), three.mean().eval(), atol=0.05)
    np.testing.assert_allclose(drawn.var("n"), three.variance().eval(), rtol=0.1, atol=1e-12)
    assert bool(three.support.contains(dt.data(drawn, dims=[N, K, COL])).eval().all())


def test_factors_of_covariances(rng):
    sd = dist.Gamma(3.0, dt.data([1.0, 2.0], dims=B))
    d = dist.LKJCholeskyCov(B, B.rename(), 1.7, sd)

    def density(a, b, c):
        """Of L = [[a, 0], [b, c]]: that of both deviations and the correlation, by its Jacobian."""
        s, r = np.hypot(b, c), b / np.hypot(b, c)
        apart = st.gamma(3.0).logpdf(a) + st.gamma(3.0, scale=0.5).logpdf(s)
        # (s, r) -> (b, c) = (s r, s √(1 - r²)), whose determinant is s / √(1 - r²)
        return apart + st.beta(1.7, 1.7, -1, 2).logpdf(r) - np.log(s) + np.log(1 - r * r) / 2

    for a, b, c in [(0.5, 0.3, 1.2), (2.0, -1.0, 0.4)]:
        np.testing.assert_allclose(logp(d, [B, B.rename()], [[a, 0], [b, c]]), density(a, b, c))
    drawn, _ = d.draw(NumPyDraws(rng), dims=N)
    drawn = drawn.eval().transpose("n", "b", "b'").values
    deviations = np.sqrt((drawn**2).sum(-1))
    assert st.kstest(deviations[:, 0], st.gamma(3.0).cdf).pvalue > 1e-4
    assert st.kstest(deviations[:, 1], st.gamma(3.0, scale=0.5).cdf).pvalue > 1e-4
    assert st.kstest(drawn[:, 1, 0] / deviations[:, 1], st.beta(1.7, 1.7, -1, 2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("form", ["covs", "chols", "noise"])
def test_kronecker_products(form, rng):
    matrices = [dt.data(COV, dims=[K, COL]), dt.data(OTHER, dims=[B, B.rename()])]
    whole = np.kron(COV, OTHER)
    if form == "noise":
        d = dist.KroneckerNormal(0.5, matrices, sigma=0.7)
        whole = whole + 0.49 * np.eye(6)
    else:
        chols = [dt.linalg.cholesky(each) for each in matrices]
        d = dist.KroneckerNormal(0.5, **{form: matrices if form == "covs" else chols})
    x = rng.normal(size=(3, 2))
    oracle = st.multivariate_normal(np.full(6, 0.5), whole)
    np.testing.assert_allclose(logp(d, [K, B], x), oracle.logpdf(x.ravel()))
    np.testing.assert_allclose(d.mean().eval(), np.full((3, 2), 0.5).T)
    variance = d.variance().eval().transpose("k", "b").values
    np.testing.assert_allclose(variance, np.diag(whole).reshape(3, 2))
    drawn, _ = d.draw(NumPyDraws(rng), dims=N)
    flat = drawn.eval().transpose("k", "b", "n").values.reshape(6, -1)
    np.testing.assert_allclose(np.cov(flat), whole, atol=0.4)


@pytest.mark.parametrize("rows", [COV, np.eye(3), np.diag([1.0, 1.0, 2.0])])
def test_derivatives_of_kronecker_products_with_noise(rows, rng):
    """Of the first and second order, also where eigenvalues are equal and eigenvectors have none.

    The gradient of log N(r | 0, S) by S is (aa' - S⁻¹) / 2 with a = S⁻¹ r; second derivatives are
    differences of gradients.
    """
    ways = [w + w.T for w in (rng.normal(size=(3, 3)), rng.normal(size=(2, 2)))]
    x = rng.normal(size=(3, 2))

    def gradient(point):
        at, u, v, mu = point
        first, second = rows + u * ways[0], np.eye(2) + v * ways[1]
        inverse = np.linalg.inv(np.kron(first, second) + at**2 * np.eye(6))
        a = inverse @ (x.ravel() - mu)
        slope = 0.5 * (np.outer(a, a) - inverse)
        moves = [2 * at * np.eye(6), np.kron(ways[0], second), np.kron(first, ways[1])]
        return np.array([*((slope * move).sum() for move in moves), a.sum()])

    at, u, v, mu = names = [dt.scalar(name) for name in ("sigma", "u", "v", "mu")]
    first = dt.data(rows, dims=[K, COL]) + u * dt.data(ways[0], dims=[K, COL])
    second = dt.eye(B) + v * dt.data(ways[1], dims=[B, B.rename()])
    density = dist.KroneckerNormal(mu, [first, second], sigma=at).logp(dt.data(x, dims=[K, B]))
    slopes = dt.grad(density, names)
    outputs = [*slopes, *(each for slope in slopes for each in dt.grad(slope, names))]
    point = np.array([0.7, 0.0, 0.0, 0.2])
    found = np.array(dt.function(names, outputs, backend="python")(*point), dtype=float)
    np.testing.assert_allclose(found[:4], gradient(point), rtol=1e-10, atol=1e-12)
    steps = 1e-5 * np.eye(4)
    curves = [(gradient(point + step) - gradient(point - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(found[4:].reshape(4, 4), curves, rtol=1e-7, atol=1e-7)


def test_counts_in_order():
    cut, level = dt.Dim("cut", length=3), dt.Dim("level", length=4)
    cutpoints = np.array([-1.0, 0.5, 2.0])
    for sigma, base in ((None, st.logistic), (1.5, st.norm(0, 1.5))):
        d = dist.OrderedMultinomial(7, 0.7, dt.data(cutpoints, dims=cut), dim=level, sigma=sigma)
        p = np.diff(base.cdf(np.concatenate([[-np.inf], cutpoints - 0.7, [np.inf]])))
        counts = [1, 2, 3, 1]
        np.testing.assert_allclose(logp(d, level, counts), st.multinomial(7, p).logpmf(counts))
        np.testing.assert_allclose(d.mean().eval(), 7 * p)


def test_one_number(rng):
    d = dist.DiracDelta(dt.data([1.5, 2.0], dims=B))
    assert d.discrete
    assert d.dtype == "float64"
    np.testing.assert_array_equal(logp(d, (), 1.5), [0.0, -np.inf])
    np.testing.assert_array_equal(d.logcdf(1.7).eval(), [0.0, -np.inf])
    np.testing.assert_array_equal(d.logsf(1.7).eval(), [-np.inf, 0.0])
    np.testing.assert_array_equal(d.icdf(0.3).eval(), [1.5, 2.0])
    assert np.isnan(d.icdf(2.0).eval()).all()
    np.testing.assert_array_equal(d.mean().eval(), [1.5, 2.0])
    np.testing.assert_array_equal(d.variance().eval(), [0.0, 0.0])
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=3))
    assert drawn.eval().sizes == {"b": 2, "n": 3}
    assert dist.DiracDelta(3).dtype == "int64"
    # a part of a mixture: zeros that are certain
    weights = dt.data([0.25, 0.75], dims=B)
    zeros = dist.mixture(weights, [dist.DiracDelta(0), dist.Poisson(2.0)], dim=B)
    values = np.arange(5)
    wanted = 0.25 * (values == 0) + 0.75 * st.poisson(2.0).pmf(values)
    found = logp(zeros, dt.Dim("v", length=5), values)
    np.testing.assert_allclose(found, np.log(wanted))


def test_a_density_through_points(rng):
    at = dt.Dim("at", length=5)
    places, density = np.array([-1.0, 0.0, 0.5, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 0.0, 0.5])
    d = dist.Interpolated(dt.data(places, dims=at), dt.data(density, dims=at))
    assert d.dims == ()
    grid = np.linspace(-1.0, 3.0, 8 * 5000 + 1)  # with all points
    drawn = np.interp(grid, places, density)
    whole = scipy.integrate.trapezoid(drawn, grid)
    cdf = scipy.integrate.cumulative_trapezoid(drawn, grid, initial=0.0) / whole
    x = np.array([-2.0, -1.0, -0.7, 0.0, 0.1, 1.0, 2.0, 2.5, 3.0, 3.1])
    with np.errstate(divide="ignore"):
        wanted = np.log(np.interp(x, places, density, left=0, right=0) / whole)
        wanted_cdf = np.log(np.interp(x, grid, cdf))
        wanted_sf = np.log1p(-np.interp(x, grid, cdf))
    dim = dt.Dim("x", length=len(x))
    np.testing.assert_allclose(logp(d, dim, x), wanted, rtol=1e-12)
    values = dt.data(x, dims=dim)
    np.testing.assert_allclose(d.logcdf(values).eval(), wanted_cdf, rtol=1e-8, atol=1e-8)
    sf = d.logsf(values).eval().values
    np.testing.assert_allclose(sf[:8], wanted_sf[:8], rtol=1e-8, atol=1e-8)
    assert (sf[8:] < -30).all()
    q = np.array([0.0, 0.01, 0.3, 0.77, 0.99, 1.0])
    found = d.icdf(dt.data(q, dims=dt.Dim("q", length=6))).eval().values
    np.testing.assert_allclose(found[1:], np.interp(q, cdf, grid)[1:], atol=1e-3)
    np.testing.assert_allclose(np.exp(d.logcdf(dt.data(found, dims=dt.Dim("q", length=6))).eval()),
                               q, atol=1e-12)  # fmt: skip
    mean = scipy.integrate.trapezoid(grid * drawn, grid) / whole
    np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-6)
    variance = scipy.integrate.trapezoid((grid - mean) ** 2 * drawn, grid) / whole
    np.testing.assert_allclose(d.variance().eval(), variance, rtol=1e-6)
    values, _ = d.draw(NumPyDraws(rng), dims=N)
    assert st.kstest(values.eval().values, lambda v: np.interp(v, grid, cdf)).pvalue > 1e-4


def test_both_tails_of_a_density_through_points():
    at = dt.Dim("at", length=4)
    d = dist.Interpolated(
        dt.data([0.0, 1.0, 2.0, 3.0], dims=at), dt.data([0.0, 1.0, 1.0, 0.0], dims=at)
    )
    near = np.array([1e-100, 1e-20, 1e-9, 2.0**-40])
    beside = dt.data(near, dims=dt.Dim("x"))
    np.testing.assert_allclose(d.logcdf(beside).eval(), np.log(near**2 / 4), rtol=1e-13)
    np.testing.assert_allclose(d.logsf(beside).eval(), np.log1p(-(near**2) / 4), rtol=1e-13)
    known = 3.0 - near[2:]
    far = dt.data(known, dims=dt.Dim("x"))
    rest = 3.0 - known
    np.testing.assert_allclose(d.logsf(far).eval(), np.log(rest**2 / 4), rtol=1e-13)
    np.testing.assert_allclose(d.logcdf(far).eval(), np.log1p(-(rest**2) / 4), rtol=1e-13)
    second = dt.data([1.25, 1.75], dims=dt.Dim("x"))
    np.testing.assert_allclose(d.logsf(second).eval(), np.log([1.25 / 2, 0.75 / 2]), rtol=1e-14)


def garch(x, omega, alpha, beta, first):
    variance, total = first**2, 0.0
    for t, value in enumerate(x):
        if t:
            variance = omega + alpha * x[t - 1] ** 2 + beta * variance
        total += st.norm(0, np.sqrt(variance)).logpdf(value)
    return total


def test_variances_that_follow(rng):
    omega = dt.data([0.5, 1.0], dims=B)
    d = dist.GARCH11(omega, 0.3, 0.4, 1.5, dim=T)
    assert set(d.dims) == {B, T}
    np.testing.assert_allclose(logp(d, T, X), [garch(X, o, 0.3, 0.4, 1.5) for o in (0.5, 1.0)])
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=20000))
    drawn = drawn.eval()
    np.testing.assert_allclose(drawn.var("n"), d.variance().eval(), rtol=0.15)
    np.testing.assert_allclose(drawn.mean("n"), d.mean().eval(), atol=0.06)
    # squares follow each other: of large ones come larger ones
    one = drawn.isel(b=0).transpose("t", "n").values ** 2
    slope = np.polyfit(one[0], one[1], 1)[0]
    np.testing.assert_allclose(slope, 0.3, atol=0.1)


def test_differential_equations(rng):
    level = dt.data([0.0, 2.0], dims=B)

    def drift(x, back, level):
        return back * (level - x), 0.4 + 0.1 * x**2

    d = dist.EulerMaruyama(drift, 0.25, dim=T, start=dist.Normal(0.0, 1.0), back=1.5, level=level)
    assert set(d.dims) == {B, T}
    before = X[:-1]
    wanted = [
        st.norm(0, 1).logpdf(X[0])
        + st.norm(before + 0.25 * 1.5 * (c - before), 0.5 * (0.4 + 0.1 * before**2))
        .logpdf(X[1:])
        .sum()
        for c in (0.0, 2.0)
    ]
    np.testing.assert_allclose(logp(d, T, X), wanted)
    drawn, _ = d.draw(NumPyDraws(rng), dims=N)
    values = drawn.eval().isel(b=1).transpose("n", "t").values
    before = values[:, :-1]
    z = (values[:, 1:] - before - 0.375 * (2.0 - before)) / (0.5 * (0.4 + 0.1 * before**2))
    assert st.kstest(z.ravel(), st.norm.cdf).pvalue > 1e-4
    # a diffusion without dims counts for every step
    flat = dist.EulerMaruyama(lambda x: (0.0 * x, 2.0), 1.0, dim=T, start=dist.Normal(0.0, 1.0))
    wanted = st.norm(0, 1).logpdf(X[0]) + st.norm(0, 2).logpdf(np.diff(X)).sum()
    np.testing.assert_allclose(logp(flat, T, X), wanted)


def test_walks_of_vectors():
    cov = dt.data(COV, dims=[K, COL])
    start = dist.MvNormal(0.0, cov)
    x = np.arange(18.0).reshape(6, 3) / 7
    first = st.multivariate_normal(np.zeros(3), COV).logpdf(x[0])
    normal = dist.MvGaussianRandomWalk(0.5, cov, dim=T, start=start)
    wanted = first + st.multivariate_normal(np.full(3, 0.5), COV).logpdf(np.diff(x, axis=0)).sum()
    np.testing.assert_allclose(logp(normal, [T, K], x), wanted)
    heavy = dist.MvStudentTRandomWalk(4.0, 0.5, cov, dim=T, start=start)
    wanted = first + st.multivariate_t(np.full(3, 0.5), COV, 4.0).logpdf(np.diff(x, axis=0)).sum()
    np.testing.assert_allclose(logp(heavy, [T, K], x), wanted)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dist.Wishart(3.0), "a matrix V, or its lower Cholesky"),
        (lambda: dist.Wishart(1.5, dt.eye(K)), "nu of Wishart is above 2"),
        (lambda: dist.LKJCorr(dt.Dim("i"), dt.Dim("j")), "two dims of one known length"),
        (lambda: dist.LKJCholeskyCov(K, COL, 1.0, dist.Poisson(1.0)), "positive numbers as sd"),
        (lambda: dist.KroneckerNormal(0.0), "covs, covariances, or chols"),
        (lambda: dist.KroneckerNormal(0.0, [dt.eye(K), dt.eye(K)]), "two of them are over k"),
        (lambda: dist.KroneckerNormal(0, chols=[dt.eye(K)], sigma=1), "not with chols"),
        (lambda: dist.GARCH11(dt.ones(T), 0.1, 0.1, 1.0, dim=T), "omega has t"),
        (
            lambda: dist.EulerMaruyama(1.0, 1.0, dim=T, start=dist.Normal(0, 1)),
            "sde is a function",
        ),
        (lambda: dist.Interpolated(dt.ones([B, T]), dt.ones(T)), "dim=... names that"),
        (lambda: dist.Interpolated(dt.data([1.0, 0.0], B), dt.ones(B)), "do not increase along b"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(dt.DimtensorError, match=message):
        make()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", pytest.param("jax", marks=pytest.mark.slow)])
def test_compiled(backend, rng):
    """Values and gradients as on the python backend, in one function."""
    at, cut, level = dt.Dim("at", length=4), dt.Dim("cut", length=2), dt.Dim("level", length=3)
    cov, other = dt.tensor("cov", dims=[K, COL]), dt.tensor("other", dims=[B, B.rename()])
    x, walk, eta = dt.tensor("x", dims=[K, B]), dt.tensor("walk", dims=T), dt.scalar("eta")
    points = dt.data([-5.0, 0.0, 0.5, 6.0], dims=at)
    corr = dt.data([[1.0, 0.3], [0.3, 1.0]], dims=[B, B.rename()])
    terms = [
        dist.Wishart(dt.exp(eta) + 4.0, cov).logp(dt.data(COV, dims=[K, COL])),
        dist.LKJCorr(B, B.rename(), dt.exp(eta)).logp(corr),
        dist.LKJCholeskyCov(K, COL, dt.exp(eta), dist.Exponential(1.0)).logp(
            dt.linalg.cholesky(cov)
        ),
        dist.KroneckerNormal(eta, [cov, other]).logp(x),
        dist.KroneckerNormal(eta, [cov, other], sigma=dt.exp(eta)).logp(x),
        dist.OrderedMultinomial(6, eta, dt.data([-1.0, 1.0], dims=cut), dim=level).logp(
            dt.data([1, 2, 3], dims=level)
        ),
        dist.Interpolated(points, dt.data([0.1, 2.0, 3.0, 0.1], dims=at)).logp(walk),
        dist.GARCH11(dt.exp(eta), 0.2, 0.3, 1.0, dim=T).logp(walk),
        dist.EulerMaruyama(
            lambda x, back: (-back * x, 1.0), 0.5, dim=T, start=dist.Normal(0, 1), back=eta
        ).logp(walk),
    ]
    total = sum(term.sum() for term in terms)
    inputs = [cov, other, x, walk, eta]
    values = [(["k", "k'"], COV), (["b", "b'"], OTHER), (["k", "b"], rng.normal(size=(3, 2))), X,
              0.3]  # fmt: skip
    outputs = [*(term.sum() for term in terms), *dt.grad(total, inputs)]
    fast, slow = (
        dt.function(inputs, outputs, backend=name)(*values) for name in (backend, "python")
    )
    for at, (one, other) in enumerate(zip(fast, slow, strict=True)):
        np.testing.assert_allclose(
            one.transpose(*other.dims), other, rtol=1e-7, atol=1e-9, err_msg=str(at)
        )
