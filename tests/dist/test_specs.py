"""Distribution specs: equality, other parameters, other dims, pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.spec import spec_of

K, OTHER, B = dt.Dim("k", length=3), dt.Dim("other", length=3), dt.Dim("b", length=2)
A = dt.data([1.0, 2.0, 3.0], dims=K)
R = K.rename()
L = dt.data(np.linalg.cholesky(np.eye(3) + 1.0), dims=[K, R])
MADE = {
    "row": lambda mu: dist.Normal(mu, 2.0),
    "vector": lambda mu: dist.MvNormal(mu, chol=L),
    "wrapper": lambda mu: dist.truncated(dist.Normal(mu, 1.0), lower=0.0),
    "mixture": lambda mu: dist.mixture(A / 6.0, dist.Normal(mu, A), dim=K),
    "series": lambda mu: dist.GaussianRandomWalk(mu, 1.0, dim=K, start=dist.Normal(0.0, 1.0)),
    "flat": lambda mu: dist.Flat(dt.supports.bounded(mu, 10.0)),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_spec_is_a_distribution_without_its_parameters(made):
    one, other = made(dt.scalar("one")), made(dt.scalar("other"))
    (spec, _), (same, inputs) = spec_of(one), spec_of(other)
    assert spec == same
    assert hash(spec) == hash(same)
    assert repr(spec.build(inputs)) == repr(other)
    assert spec != spec_of(dist.Poisson(1.0))[0]


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_parameters_with_more_dims_give_draws_of_more_dims(made):
    spec, inputs = spec_of(made(dt.scalar("mu")))
    more = dt.data([0.5, 1.5], dims=B)
    changed = [more.node if x.name == "mu" else x for x in inputs]
    d = spec.build(changed)
    assert set(d.dims) == {*made(dt.scalar("mu")).dims, B}
    assert d.event_dims == made(0.5).event_dims


def test_dims_of_a_spec_are_replaced_everywhere():
    spec, inputs = spec_of(dist.Dirichlet(A, dim=K))
    a = dt.data([1.0, 2.0, 3.0], dims=OTHER)
    d = spec.map_dims(lambda dim: OTHER if dim is K else dim).build([a.node])
    assert (len(inputs), d.event_dims, d.dims, repr(d.support)) == (
        1, (OTHER,), (OTHER,), "simplex(other)"
    )  # fmt: skip
    x = np.array([0.2, 0.3, 0.5])
    expected = stats.dirichlet([1.0, 2.0, 3.0]).logpdf(x)
    assert d.logp(dt.data(x, dims=OTHER)).item() == pytest.approx(expected, rel=1e-14)


def test_pickled_distributions_have_the_same_density():
    d = pickle.loads(pickle.dumps(dist.truncated(dist.Normal(0.5, 2.0), lower=0.0)))
    expected = stats.truncnorm(-0.25, np.inf, 0.5, 2.0).logpdf(1.5)
    assert d.logp(1.5).item() == pytest.approx(expected, rel=1e-14)


def test_attributes_that_a_class_does_not_declare_are_named():
    class Shifted(type(dt.positive)):
        def __init__(self, by):
            self.by = by

    with pytest.raises(dt.GraphError, match=r"copies of Shifted would lose attributes .*: by"):
        dt.rv("x", dist.Flat(Shifted(1.0)))
