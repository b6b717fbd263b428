"""No constant that a density leaves out depends on a parameter: it would move its posterior."""

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist

K, T = dt.Dim("k", length=3), dt.Dim("t", length=4)
PAIR, ROW = dt.Dim("pair", length=2), K.rename()
N = dt.Dim("n", length=20_000)
COV = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]])
CHAIN = np.eye(3, k=1) + np.eye(3, k=-1)
START = dist.Normal(0.0, 1.0)


def table(values, *dims):
    return dt.data(values, dims=dims)


# a distribution of a parameter, and two near values of it
OF = {
    "MvNormal cov": (lambda s: dist.MvNormal(0.0, s * table(COV, K, ROW)), 1.0, 0.9),
    "MvNormal tau": (lambda s: dist.MvNormal(0.0, tau=s * table(COV, K, ROW)), 1.0, 1.1),
    "MvStudentT cov": (lambda s: dist.MvStudentT(6.0, 0.0, s * table(COV, K, ROW)), 1.0, 0.9),
    "MvStudentT nu": (lambda nu: dist.MvStudentT(nu, 0.0, table(COV, K, ROW)), 6.0, 7.0),
    "MatrixNormal": (
        lambda s: dist.MatrixNormal(0.0, s * table(COV, K, ROW), dt.eye(PAIR)), 1.0, 0.9),
    "KroneckerNormal": (
        lambda s: dist.KroneckerNormal(0.0, [table(COV, K, ROW), dt.eye(PAIR)], sigma=s), 1.0, 0.9),
    "ZeroSumNormal": (lambda s: dist.ZeroSumNormal(s, dim=K), 1.0, 0.9),
    "CAR alpha": (lambda a: dist.CAR(0.0, table(CHAIN, K, ROW), a, 1.0), 0.5, 0.6),
    "CAR tau": (lambda tau: dist.CAR(0.0, table(CHAIN, K, ROW), 0.5, tau), 1.0, 1.1),
    "GP": (
        lambda s: dist.GP(lambda a, b: s * dt.exp(-0.5 * (a - b) ** 2), K, at=1.0 * dt.arange(K)),
        1.0, 0.9),
    "LKJCholesky": (lambda eta: dist.LKJCholesky(K, ROW, eta), 2.0, 2.3),
    "LKJCorr": (lambda eta: dist.LKJCorr(K, ROW, eta), 2.0, 2.3),
    "LKJCholeskyCov": (
        lambda s: dist.LKJCholeskyCov(K, ROW, 2.0, dist.HalfNormal(s)), 1.0, 0.9),
    "Wishart nu": (lambda nu: dist.Wishart(nu, table(COV, K, ROW)), 6.0, 6.4),
    "Wishart V": (lambda s: dist.Wishart(6.0, s * table(COV, K, ROW)), 1.0, 0.9),
    "WishartCholesky": (lambda nu: dist.WishartCholesky(nu, table(COV, K, ROW)), 6.0, 6.4),
    "InverseWishart nu": (lambda nu: dist.InverseWishart(nu, table(COV, K, ROW)), 6.0, 5.7),
    "InverseWishart V": (lambda s: dist.InverseWishart(6.0, s * table(COV, K, ROW)), 1.0, 0.9),
    "InverseWishartCholesky": (
        lambda s: dist.InverseWishartCholesky(6.0, s * table(COV, K, ROW)), 1.0, 0.9),
    "Dirichlet": (lambda a: dist.Dirichlet(a * dt.ones(K), dim=K), 2.0, 2.3),
    "StickBreaking": (lambda a: dist.StickBreaking(a, dim=K), 2.0, 2.3),
    "Multinomial": (
        lambda p: dist.Multinomial(3, dt.stack([p, 1.0 - p], PAIR), dim=PAIR), 0.4, 0.5),
    "DirichletMultinomial": (
        lambda a: dist.DirichletMultinomial(4, a * dt.ones(K), dim=K), 2.0, 2.3),
    "ordered": (lambda s: dist.ordered(dist.Normal(0.0, s), dim=K), 1.0, 0.9),
    "Interpolated": (
        lambda s: dist.Interpolated(1.0 * dt.arange(K), s + 1.0 * dt.arange(K), dim=K), 1.0, 1.3),
    "RandomWalk": (lambda s: dist.RandomWalk(dist.Normal(0.0, s), T, START), 1.0, 0.9),
    "AR": (lambda s: dist.AR(table([0.3], dt.Dim("lag", length=1)), s, dim=T, start=START),
           1.0, 0.9),
    "GARCH11": (lambda w: dist.GARCH11(w, 0.1, 0.1, 1.0, dim=T), 1.0, 0.9),
    "EulerMaruyama": (
        lambda s: dist.EulerMaruyama(lambda x, s: (-x, s), 0.1, dim=T, start=START, s=s),
        1.0, 0.9),
    "truncated": (lambda s: dist.truncated(dist.Normal(0.0, s), -1.0, 0.5), 1.0, 0.9),
    "hurdle": (lambda s: dist.hurdle(dist.Poisson(s), 0.6), 2.0, 2.3),
}  # fmt: skip


@pytest.mark.parametrize("what", OF)
def test_the_mean_ratio_of_two_densities_is_one(what):
    """Of draws of the one, whatever is left out of both."""
    make, one, other = OF[what]
    d = make(dt.data(one))
    x, _ = d.draw(dt.random.generator(1), dims=N)
    ratio = np.exp((make(dt.data(other)).logp(x) - d.logp(x)).values)
    assert ratio.size == N.length
    error = ratio.std() / np.sqrt(N.length)
    assert 0 < error < 0.03
    assert abs(ratio.mean() - 1.0) < 5.0 * error


def test_neighbors_in_several_components():
    """Five elements in two components, and one alone: three differences are normal."""
    n = 6
    k = dt.Dim("k", length=n)
    weights = np.zeros((n, n))
    for a, b in [(0, 5), (5, 1), (3, 4)]:
        weights[a, b] = weights[b, a] = 1.0
    w, sigma = dt.data(weights, dims=[k, k.rename()]), dt.scalar("sigma")
    x = np.array([0.5, 1.0, -0.2, 0.3, 0.1, 0.7])
    found = dist.ICAR(w, sigma).logp(dt.data(x, dims=k)).eval({sigma: 1.5})
    sums = (0.5 - 0.7) ** 2 + (0.7 - 1.0) ** 2 + (0.3 - 0.1) ** 2
    expected = -sums / (2 * 1.5**2) - 3 * np.log(1.5) + st.norm(0.0, 0.001 * n).logpdf(x.sum())
    np.testing.assert_allclose(found, expected)
    # neighbors in a row, from the last one to the first
    far = dt.Dim("far", length=40)
    row = dt.data(np.eye(40, k=1) + np.eye(40, k=-1), dims=[far, far.rename()])
    density = dist.ICAR(row, sigma).logp(dt.zeros(far))
    apart = density.eval({sigma: 2.0}) - density.eval({sigma: 1.0})
    np.testing.assert_allclose(apart, -39 * np.log(2.0))
