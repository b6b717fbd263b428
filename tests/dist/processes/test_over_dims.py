"""Gaussian processes over several dims, beside dense algebra in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.graph import toposort
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX_COMPILED

A, B = np.array([0.0, 0.7, 1.5, 4.0]), np.array([2010.0, 2011.0, 2013.0])
# in canonical order `b'` comes after `b c`
SITE, YEAR = dt.Dim("b", coords=A), dt.Dim("b c", coords=B)
KIND = dt.Dim("kind", coords=["x", "y"])
SPREAD = np.array([[1.0, 0.6], [0.6, 2.0]])
GIVEN = dt.data(SPREAD, dims=[KIND, KIND.rename()])


def squared(x, y):
    return np.exp(-0.5 * (np.subtract.outer(x, y) / 1.3) ** 2)


def exponential(x, y):
    return np.exp(-np.abs(np.subtract.outer(x, y)) / 2.0)


ON_SITE, ON_YEAR = dt.gp.SquaredExponential(1.3).on(SITE), dt.gp.Matern12(2.0).on(YEAR)


def same(x, y):
    return np.ones((len(x), len(y)))


# the kernel, and its matrix for points of sites and years
KERNELS = {
    "product": (
        2.0 * ON_SITE * ON_YEAR,
        lambda a, c, b, d: 2.0 * np.kron(squared(a, c), exponential(b, d)),
    ),
    "sum in a factor": (
        (ON_YEAR + 0.5 * ON_YEAR) * ON_SITE,
        lambda a, c, b, d: 1.5 * np.kron(squared(a, c), exponential(b, d)),
    ),
    "sum": (
        ON_SITE + 0.5 * ON_YEAR,
        lambda a, c, b, d: (
            np.kron(squared(a, c), same(b, d)) + 0.5 * np.kron(same(a, c), exponential(b, d))
        ),
    ),
    "sum of products": (
        ON_SITE * ON_YEAR + 0.3 * ON_SITE,
        lambda a, c, b, d: np.kron(squared(a, c), exponential(b, d) + 0.3),
    ),
}  # fmt: skip


def flat(x):
    return x.eval().transpose("b", "b c").values.ravel()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [None, 0.4])
def test_densities_and_conditionals(name, noise, rng):
    kernel, matrix = KERNELS[name]
    values = rng.normal(size=(4, 3))
    y = dt.data(values, dims=[SITE, YEAR])
    # without noise sums are singular, but for jitter
    jitter = 0.0 if noise else 1e-3
    process = dist.GP(kernel, [YEAR, SITE], mean=0.3, noise=noise, jitter=jitter)
    assert process.dims == process.event_dims == (SITE, YEAR)
    cov = matrix(A, A, B, B)
    if noise:
        whole = cov + 0.16 * np.eye(12)
    elif name == "product":  # jitter is that of each factor
        whole = np.kron(
            2.0 * squared(A, A) + 1e-3 * np.eye(4), exponential(B, B) + 1e-3 * np.eye(3)
        )
    else:
        whole = cov + 1e-3 * np.eye(12)
    if name == "sum in a factor" and not noise:
        return  # a sum of two terms, and then as "sum"
    oracle = st.multivariate_normal(np.full(12, 0.3), whole)
    np.testing.assert_allclose(process.logp(y).eval(), oracle.logpdf(values.ravel()), rtol=1e-9)
    np.testing.assert_allclose(flat(process.variance()), whole.diagonal())
    np.testing.assert_allclose(flat(process.mean()), np.full(12, 0.3))

    new = np.array([0.2, 2.0])
    d = process.conditional(y, {SITE: dt.Dim("b", coords=new)}, jitter=0.0)
    gain = matrix(new, A, B, B) @ np.linalg.inv(whole)
    mean = 0.3 + gain @ (values.ravel() - 0.3)
    left = matrix(new, new, B, B) - gain @ matrix(A, new, B, B)
    np.testing.assert_allclose(flat(d.mean()), mean, rtol=1e-8)
    np.testing.assert_allclose(d.covariance().eval(), left, atol=1e-8)
    np.testing.assert_allclose(flat(d.variance()), left.diagonal(), atol=1e-8)


def test_the_product_is_never_formed():
    process = dist.GP(ON_SITE * ON_YEAR, [SITE, YEAR], noise=0.1)
    assert isinstance(process, dist.KroneckerNormal)
    nodes = toposort([process.logp(dt.tensor("y", dims=[SITE, YEAR])).node])
    assert max(len(node.dims) for node in nodes) == 2
    assert dist.GP(ON_SITE * ON_YEAR, dt.ProductDim([SITE, YEAR])).event_dims == (SITE, YEAR)


def test_labels_with_given_covariances(rng):
    """Multi-output: several functions, whose covariances are given."""
    values = rng.normal(size=(2, 3))
    y = dt.data(values, dims=[KIND, YEAR])
    process = dist.GP(dt.gp.Coregion(GIVEN) * ON_YEAR, [KIND, YEAR], noise=0.4)
    assert isinstance(process, dist.KroneckerNormal)
    cov = np.kron(exponential(B, B), SPREAD)  # "b c" comes before "kind"
    oracle = st.multivariate_normal(np.zeros(6), cov + 0.16 * np.eye(6))
    np.testing.assert_allclose(process.logp(y).eval(), oracle.logpdf(values.T.ravel()))
    new = np.array([2012.0])
    d = process.conditional(y, {YEAR: dt.Dim("b c", coords=new)}, jitter=0.0)
    across = np.kron(exponential(new, B), SPREAD)
    mean = across @ np.linalg.solve(cov + 0.16 * np.eye(6), values.T.ravel())
    np.testing.assert_allclose(d.mean().eval().transpose("b c", "kind").values.ravel(), mean)
    # two of them: a linear model of coregionalization
    unlike = dt.data(np.eye(2), dims=[KIND, KIND.rename()])
    both = dt.gp.Coregion(GIVEN) * ON_YEAR + dt.gp.Coregion(unlike) * dt.gp.SquaredExponential(
        1.3
    ).on(YEAR)
    cov = cov + np.kron(squared(B, B), np.eye(2))
    oracle = st.multivariate_normal(np.zeros(6), cov + 0.16 * np.eye(6))
    process = dist.GP(both, [KIND, YEAR], noise=0.4)
    np.testing.assert_allclose(process.logp(y).eval(), oracle.logpdf(values.T.ravel()))


def test_noise_of_each_element_and_white_noise(rng):
    values, sd = rng.normal(size=(4, 3)), rng.uniform(0.2, 0.5, size=(4, 3))
    y = dt.data(values, dims=[SITE, YEAR])
    kernel = ON_SITE * ON_YEAR + dt.gp.White(0.2)
    process = dist.GP(kernel, [SITE, YEAR], noise=dt.data(sd, dims=[SITE, YEAR]))
    cov = np.kron(squared(A, A), exponential(B, B)) + np.diag(0.2 + sd.ravel() ** 2)
    oracle = st.multivariate_normal(np.zeros(12), cov)
    np.testing.assert_allclose(process.logp(y).eval(), oracle.logpdf(values.ravel()))


def test_points_that_are_given(rng):
    part, at = dt.Dim("part", length=2), rng.normal(size=(4, 2))
    site = dt.Dim("site", length=4)
    kernel = dt.gp.SquaredExponential(1.3).on(site) * ON_YEAR
    process = dist.GP(kernel, [site, YEAR], at={site: dt.data(at, dims=[site, part])}, noise=0.3)
    values = rng.normal(size=(3, 4))
    apart = ((at[:, None] - at) ** 2).sum(-1) / 1.3**2
    cov = np.kron(exponential(B, B), np.exp(-0.5 * apart)) + 0.09 * np.eye(12)
    oracle = st.multivariate_normal(np.zeros(12), cov)
    found = process.logp(dt.data(values, dims=[YEAR, site])).eval()
    np.testing.assert_allclose(found, oracle.logpdf(values.ravel()))


@pytest.mark.parametrize("name", ["product", "sum"])
def test_predictions_at_new_labels(name):
    """Draws along two wider dims, given the values along the narrow ones."""
    kernel, matrix = KERNELS[name]
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4, 3))
    process = dist.GP(kernel, [SITE, YEAR], mean=0.3, noise=0.4)
    fit = dt.Model(dt.rv("y", process), backend="python").observe(y=(("b", "b c"), values))
    post = xr.Dataset({"other": (("chain", "draw"), np.zeros((1, 4000)))})
    wide, more = np.array([*A, 2.0]), np.array([*B, 2012.0])
    wider = {SITE: dt.Dim("b", coords=wide), YEAR: dt.Dim("b c", coords=more)}
    found = fit.predict(post, dims=wider, seed=2, names=["y"])["predictions"]["y"]
    drawn = found.transpose("draw", "chain", "b", "b c").values.reshape(len(found.draw), -1)
    known = np.isin(np.arange(20), np.add.outer(4 * np.arange(4), np.arange(3)).ravel())
    np.testing.assert_array_equal(drawn[0][known], values.ravel())
    whole = matrix(wide, wide, more, more) + 0.16 * np.eye(20)
    gain = whole[np.ix_(~known, known)] @ np.linalg.inv(whole[np.ix_(known, known)])
    mean = 0.3 + gain @ (values.ravel() - 0.3)
    cov = whole[np.ix_(~known, ~known)] - gain @ whole[np.ix_(known, ~known)]
    np.testing.assert_allclose(drawn[:, ~known].mean(0), mean, atol=0.09)
    np.testing.assert_allclose(np.cov(drawn[:, ~known].T), cov, atol=0.12)


def test_gradients():
    scale, length, noise = dt.scalar("scale"), dt.scalar("length"), dt.scalar("noise")
    kernel = scale * dt.gp.Matern52(length).on(SITE) * ON_YEAR
    y = dt.data(np.random.default_rng(0).normal(size=(4, 3)), dims=[SITE, YEAR])
    process = dist.GP(kernel, [SITE, YEAR], noise=noise)
    d = process.conditional(y, {SITE: dt.Dim("b", coords=[0.2, 2.0])})
    at = {scale: 1.2, length: 1.3, noise: 0.4}
    for x in (process.logp(y), d.mean().sum(), d.variance().sum(), d.covariance().sum()):
        for of in at:
            assert_gradient(x, of, at)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (
            lambda: dist.GP(ON_SITE * dt.gp.Matern12(1.0), [SITE, YEAR]),
            dt.DimError,
            r"Matern12\(lengthscale=1.0\) is on none of the dims",
        ),
        (lambda: dist.GP(ON_SITE, [KIND, YEAR]), dt.DimError, "is on none of the dims"),
        (
            lambda: dist.GP(lambda x, y: x * y, [SITE, YEAR]),
            dt.OptionError,
            "the kernel is made of kernels on these",
        ),
        (
            lambda: dist.GP(ON_SITE * ON_YEAR, [SITE, YEAR], at=dt.zeros(SITE)),
            dt.OptionError,
            "at={dim: points}",
        ),
        (lambda: dt.gp.Matern12(1.0).on("b"), dt.DimError, "a kernel is on a Dim"),
        (lambda: dist.GP(ON_YEAR, SITE), dt.DimError, "is on none of the dims"),
    ],
)
def test_mistakes(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled(backend):
    noise, y = dt.scalar("noise"), dt.tensor("y", dims=[SITE, YEAR])
    process = dist.GP(ON_SITE * ON_YEAR, [SITE, YEAR], noise=noise)
    d = process.conditional(y, {SITE: dt.Dim("b", coords=[0.2, 2.0])})
    results = [process.logp(y), d.mean(), d.variance()]
    values = np.random.default_rng(0).normal(size=(4, 3))
    found = dt.function([noise, y], results, backend=backend)(0.4, (["b", "b c"], values))
    plain = dt.function([noise, y], results, backend="python")(0.4, (["b", "b c"], values))
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, other.transpose(*one.dims), rtol=1e-8)
