"""The flat density on supports."""

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

K = dt.Dim("k", length=3)
ROW = K.rename()
SUPPORTS = {
    "positive": dt.positive,
    "unit": dt.supports.unit,
    "bounded": dt.supports.bounded(0, 10),
    "below": dt.supports.bounded(high=2.0),
    "simplex": dt.supports.simplex(K),
    "ordered": dt.supports.ordered(K),
    "positive_ordered": dt.supports.positive_ordered(K),
    "zero_sum": dt.supports.zero_sum(K),
    "corr_matrix": dt.supports.corr_matrix(K, ROW),
    "cov_matrix": dt.supports.cov_matrix(K, ROW),
    "cholesky_corr": dt.supports.cholesky_corr(K, ROW),
    "cholesky_cov": dt.supports.cholesky_cov(K, ROW),
}
PROPER = {"unit", "bounded", "simplex", "corr_matrix", "cholesky_corr"}


@pytest.mark.parametrize("name", SUPPORTS)
def test_a_variable_without_a_distribution(name):
    """As a parameter of a density that does not have it: the Jacobian is all there is."""
    support = SUPPORTS[name]
    x = dt.rv("x", dist.Flat(support))
    fit = dt.Model(dt.rv("y", dist.Normal(x.sum(), 1.0)), backend="python").observe(y=0.5)
    density = fit.log_density()
    plain = dt.tensor("x", dims=x.dims)
    alone = dt.LogDensity(dist.Normal(plain.sum(), 1.0).logp(0.5), {plain: support}, "python")
    v = np.random.default_rng(1).normal(size=alone.size)
    assert density.size == alone.size
    np.testing.assert_allclose(density.logp(v), alone.logp(v))
    model = dt.Model(x, backend="python")
    if name in PROPER:
        assert model.log_density().size == alone.size
    else:
        with pytest.raises(dt.GraphError, match="no density depends on 'x', and its own is flat"):
            model.log_density()


def test_between_bounds_that_are_variables():
    high = dt.rv("high", dist.HalfNormal(1.0))
    x = dt.rv("x", dist.Flat(dt.supports.bounded(0.0, high)))
    fit = dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python").observe(y=0.5)
    terms = fit.logp({"high": 2.0, "x": 1.0})
    assert terms["x"] == 0.0
    assert fit.logp({"high": 2.0, "x": 3.0})["x"] == -np.inf


def test_values_outside_have_no_density():
    assert dist.Flat(dt.positive).logp(-1.0).item() == -np.inf
    inside, outside = ([0.2, 0.3, 0.5], [0.2, 0.3, 0.4])
    d = dist.Flat(dt.supports.simplex(K))
    assert d.event_dims == (K,)
    assert d.logp(dt.data(inside, dims=K)).item() == 0.0
    assert d.logp(dt.data(outside, dims=K)).item() == -np.inf
    with pytest.raises(dt.GraphError, match="it is the density of a prior"):
        d.draw(dt.random.generator(1))
    assert repr(dist.Flat()) == repr(dist.Flat(dt.real)) == "Flat()"


@pytest.mark.parametrize(
    ("support", "message"),
    [
        (3.0, r"takes a support of real numbers, not 3.0(.|\n)*dist.Flat\(dt.positive\)"),
        (dist.Poisson(1.0).support, r"takes a support of real numbers, not integers"),
        (
            dt.supports.simplex,
            r"the event dims of simplex are named\nhint: .*dt.supports.simplex\(dim\)",
        ),
        (
            dt.supports.cov_matrix,
            r"dims of cov_matrix(.|\n)*dist.Flat\(dt.supports.cov_matrix\(row, col\)\)",
        ),
    ],
)
def test_mistakes(support, message):
    with pytest.raises(dt.OptionError, match=message):
        dist.Flat(support)
