"""What elements of an event have in common: parameters do not differ along its dims."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.joint.vectors import VectorDistribution

K = dt.Dim("k", coords=["a", "b", "c"])
COL = K.rename()
B = dt.Dim("b", length=2)
T = dt.Dim("t", length=6)
LAG = dt.Dim("lag", length=2)
EYE, OTHER, ONES = dt.eye(K), dt.eye(B), dt.ones(K)
START = dist.Normal(0.0, 1.0)
RHO, SHARES, CUTS = dt.full(LAG, 0.1), dt.full(K, 1 / 3), dt.data([-1.0, 1.0], dims=B)

# a distribution by the parameter that differs along the dims of an event
DIFFERENT = {
    "nu of MvStudentT": lambda: dist.MvStudentT(3.0 * ONES, 0.0, EYE),
    "rows of MatrixNormal": lambda: dist.MatrixNormal(0.0, EYE * dt.ones(B), OTHER),
    "cols of MatrixNormal": lambda: dist.MatrixNormal(0.0, EYE, OTHER * ONES),
    "sigma of KroneckerNormal": lambda: dist.KroneckerNormal(0.0, [EYE], sigma=ONES),
    "cov_1 of KroneckerNormal": lambda: dist.KroneckerNormal(0.0, [EYE, OTHER * ONES]),
    "nu of Wishart": lambda: dist.Wishart(5.0 * ONES, EYE),
    "nu of WishartCholesky": lambda: dist.WishartCholesky(5.0 * ONES, EYE),
    "nu of InverseWishart": lambda: dist.InverseWishart(5.0 * ONES, EYE),
    "nu of InverseWishartCholesky": lambda: dist.InverseWishartCholesky(5.0 * ONES, EYE),
    "eta of LKJCorr": lambda: dist.LKJCorr(K, COL, ONES),
    "eta of LKJCholesky": lambda: dist.LKJCholesky(K, COL, ONES),
    "eta of LKJCholeskyCov": lambda: dist.LKJCholeskyCov(K, COL, ONES, dist.Exponential(1.0)),
    "n of Multinomial": lambda: dist.Multinomial(dt.full(K, 5), SHARES, dim=K),
    "n of DirichletMultinomial": lambda: dist.DirichletMultinomial(dt.full(K, 5), ONES, dim=K),
    "sigma of ZeroSumNormal": lambda: dist.ZeroSumNormal(ONES, dim=K),
    "alpha of CAR": lambda: dist.CAR(0.0, 1.0 - EYE, 0.5 * ONES),
    "tau of CAR": lambda: dist.CAR(0.0, 1.0 - EYE, 0.5, ONES),
    "sigma of ICAR": lambda: dist.ICAR(1.0 - EYE, ONES),
    "rho of AR": lambda: dist.AR(RHO * dt.ones(T), dim=T, lag="lag", start=START),
    "sigma of AR": lambda: dist.AR(RHO, dt.ones(T), dim=T, start=START),
    "start_mu of AR": lambda: dist.AR(RHO, dim=T, start=dist.Normal(dt.ones(T), 1.0)),
    "start of MarkovChain": lambda: dist.MarkovChain(
        SHARES * dt.ones(T), dt.full([K, COL], 1 / 3), dim=T
    ),
    "eta of OrderedMultinomial": lambda: dist.OrderedMultinomial(5, ONES, CUTS, dim=K),
    "sigma of OrderedMultinomial": lambda: dist.OrderedMultinomial(5, 0.0, CUTS, K, sigma=ONES),
    "weights of mixture": lambda: dist.mixture(
        dt.full([K, B], 1 / 3), dist.MvNormal(ONES, OTHER), dim=K
    ),
}  # fmt: skip
# those whose parameters all have a meaning along their dims, or that say so in their own words
OTHERWISE = {
    "Categorical", "Dirichlet", "GARCH11", "EulerMaruyama", "MvNormal", "OrderedLogistic",
    "OrderedProbit", "RandomWalk", "StickBreaking", "DiracDelta", "Interpolated",
}  # fmt: skip


def test_every_distribution_of_vectors_is_looked_at():
    found = {
        name for name, value in vars(dist).items()
        if inspect.isclass(value) and issubclass(value, VectorDistribution)
    }  # fmt: skip
    seen = {what.split()[-1] for what in DIFFERENT} - {"OrderedMultinomial", "mixture"}
    assert found == seen | OTHERWISE


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_parameter_that_differs_along_an_event(what):
    """Else the density of all elements would be counted once for each of them."""
    with pytest.raises(dt.DimError, match=rf"{what} may not differ along \w: one value"):
        DIFFERENT[what]()


def test_weights_of_vectors():
    weights = dt.data([1.0, 2.0], dims=B)
    vectors = dist.MvNormal(0.0, dt.eye(B))
    with pytest.raises(dt.DimError, match="weight of weighted may not differ along b: one value"):
        dist.weighted(vectors, weights)
    x = dt.data([[0.5, 1.0], [2.0, 0.0]], dims=[LAG, B])
    found = dist.weighted(vectors, dt.data([0.0, 3.0], dims=LAG)).logp(x).eval()
    np.testing.assert_allclose(found, [0.0, 3 * st.multivariate_normal([0, 0]).logpdf([2.0, 0.0])])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: dist.zero_inflated(d, 0.5), "zero_inflated takes .* not Multinomial"),
        (lambda d: dist.hurdle(d, 0.5), "hurdle takes .* not Multinomial"),
        (lambda d: dist.truncated(d, 1, 4), "truncated takes .* not Multinomial"),
        (lambda d: dist.censored(d, 1, 4), "censored takes .* not Multinomial"),
        (lambda d: dist.mixture(SHARES, d, dim=K), "k is an event dim of Multinomial"),
    ],
)
def test_wrappers_of_vectors(make, message):
    with pytest.raises(dt.DimtensorError, match=message):
        make(dist.Multinomial(5, SHARES, dim=K))


def test_walks_of_vectors_that_start_at_independent_numbers(rng):
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    steps = dist.MvNormal(0.3, dt.data(cov, dims=[B, B.rename()]))
    apart = dist.Normal(0.0, 2.0)
    x = rng.normal(size=(6, 2))
    of_steps = st.multivariate_normal([0.3, 0.3], cov).logpdf(np.diff(x, axis=0)).sum()
    wanted = of_steps + st.norm(0, 2).logpdf(x[0]).sum()
    value = dt.data(x, dims=[T, B])
    for walk in (
        dist.RandomWalk(steps, dim=T, start=apart),
        dist.MvGaussianRandomWalk(0.3, dt.data(cov, dims=[B, B.rename()]), dim=T, start=apart),
    ):
        np.testing.assert_allclose(walk.logp(value).eval(), wanted)
    turned = dist.RandomWalk(apart, dim=T, start=steps)
    wanted = st.norm(0, 2).logpdf(np.diff(x, axis=0)).sum()
    wanted += st.multivariate_normal([0.3, 0.3], cov).logpdf(x[0])
    np.testing.assert_allclose(turned.logp(value).eval(), wanted)
    drawn, _ = turned.draw(dt.random.generator(1), dims=dt.Dim("n", length=4000))
    first = drawn.isel({T: 0}).eval().transpose("n", "b").values
    np.testing.assert_allclose(np.cov(first.T), cov, atol=0.15)
