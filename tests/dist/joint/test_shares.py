"""Probabilities that do not add up to 1, and cutpoints that do not increase."""

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import CheckError, OptionError
from dimtensor.graph import toposort

K = dt.Dim("kind", coords=["a", "b", "c"])
OBS, DAY = dt.Dim("obs", length=3), dt.Dim("day", length=3)
CUT = dt.Dim("cut", length=2)
MOVE = [[0.2, 0.3, 0.5], [0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
LABELS = dt.data(["a", "b", "b"], dims=DAY, categories=K)
COUNTS = dt.data([1.0, 0.0, 2.0], dims=K)


def chain(p):
    return dist.MarkovChain(p, dt.data(MOVE, dims=[K, K.rename()]), dim=DAY)


MAKE = {
    "Categorical": (lambda p: dist.Categorical(p, dim=K), "a", np.log(0.2)),
    "Multinomial": (lambda p: dist.Multinomial(3, p, dim=K), COUNTS, np.log(3 * 0.2 * 0.5**2)),
    "mixture": (
        lambda p: dist.mixture(p, dist.Normal(dt.data([0.0] * 3, dims=K), 1.0), dim=K),
        0.0,
        -0.5 * np.log(2 * np.pi),
    ),
    "MarkovChain": (chain, LABELS, np.log(0.2 * 0.3 * 0.2)),
}


@pytest.mark.parametrize("name", MAKE)
def test_known_probabilities_add_up(name):
    make, value, expected = MAKE[name]
    with pytest.raises(OptionError, match=r"along kind add up to 0.9, not to 1"):
        make(dt.data([0.2, 0.3, 0.4], dims=K))
    d = make(dt.data([0.2, 0.3, 0.5], dims=K))
    np.testing.assert_allclose(d.logp(value).eval(), expected)
    near = make(dt.data(np.array([0.2, 0.3, 0.5], "float32"), dims=K))
    np.testing.assert_allclose(near.logp(value).eval(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", MAKE)
def test_computed_probabilities_are_checked(name):
    """Softmax was meant, and expit is written: the sum is 1.5."""
    make, value, _ = MAKE[name]
    x = dt.tensor("x", dims=K)
    zeros = {x: [0.0, 0.0, 0.0]}
    with pytest.raises(CheckError, match="do not add up to 1 along kind"):
        make(dt.sigmoid(x)).logp(value).eval(zeros)
    with pytest.raises(CheckError, match="do not add up to 1 along kind"):
        make(dt.sigmoid(x)).draw(dt.random.generator(1))[0].eval(zeros)
    assert np.isfinite(make(x.softmax(K)).logp(value).eval(zeros))
    # of an overflow of a sampler's step, no error
    assert np.isnan(make(x / (x.sum(K) + 0.0)).logp(value).eval(zeros))


def test_a_row_of_a_table_is_named():
    wrong = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.4]]
    with pytest.raises(OptionError, match=r"(?s)add up to 0.9.*at: group='y'.*0.2, 0.3, 0.4"):
        dist.Categorical(dt.data(wrong, dims=[dt.Dim("group", coords=["x", "y"]), K]), dim=K)
    following = K.rename()
    table = dt.data([MOVE[0], MOVE[1], [0.5, 0.25, 0.5]], dims=[K, following])
    with pytest.raises(OptionError, match=r"(?s)move of MarkovChain.*add up to 1.25.*kind='c'"):
        dist.MarkovChain(dt.data(MOVE[0], dims=K), table, dim=DAY)
    # those at the first position of the series mean nothing
    later = dt.data(np.stack([np.zeros((3, 3)), MOVE, MOVE]), dims=[DAY, K, following])
    d = dist.MarkovChain(dt.data(MOVE[0], dims=K), later, dim=DAY)
    np.testing.assert_allclose(d.logp(LABELS).eval(), np.log(0.2 * 0.3 * 0.2))


def checks(x):
    return sum(node.kind == "check" for node in toposort([x.node]))


def test_what_adds_up_by_construction_is_not_checked():
    x, g = dt.tensor("x", dims=K), dt.Dim("g", length=2)
    of = dt.data([0, 1, 1], dims=OBS)
    shares = dt.rv("shares", dist.Dirichlet(dt.ones(K), dim=K), dims=g)
    renamed = dt.Dim("other", coords=["a", "b", "c"])
    sums = [x.softmax(K), dt.exp(x.log_softmax(K)), x / x.sum(K), shares, shares.isel({g: of})]
    for p in sums:
        assert checks(dist.Categorical(p, dim=K).logp("a")) == 0
    assert checks(dist.Categorical(shares.relabel(K, renamed), dim=renamed).logp("b")) == 0
    assert checks(dist.Categorical(dt.data(MOVE[0], dims=K), dim=K).logp("a")) == 0
    for p in (x / x.max(K), x / (x + 1.0).sum(K), dt.exp(x), shares + 0.1, x.softmax(K) ** 2):
        assert checks(dist.Categorical(p, dim=K).logp("a")) == 1
    y = dt.rv("y", dist.Categorical(shares.isel({g: of}), dim=K))
    density = dt.Model(y, backend="python").observe(y=["a", "b", "a"]).log_density()
    assert checks(density.terms["y"]) == 0


def test_data_that_change_are_checked_again():
    w = dt.data([0.2, 0.3, 0.5], dims=K, name="w")
    y = dt.rv("y", dist.Categorical(w, dim=K))
    model = dt.Model(y, backend="python").observe(y="a")
    np.testing.assert_allclose(model.logp({})["y"], np.log(0.2))
    with pytest.raises(CheckError, match="p of Categorical do not add up to 1"):
        model.with_data(w=[0.2, 0.3, 0.4]).logp({})


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_cutpoints_increase(sigma):
    def make(cutpoints):
        if sigma is None:
            return dist.OrderedLogistic(0.0, cutpoints, dim=K)
        return dist.OrderedProbit(0.0, cutpoints, dim=K, sigma=sigma)

    with pytest.raises(OptionError, match=r"(?s)do not increase along cut.*cutpoints: 1, -1"):
        make(dt.data([1.0, -1.0], dims=CUT))
    with pytest.raises(OptionError, match=r"do not increase along cut"):
        dist.OrderedMultinomial(3, 0.0, dt.data([1.0, -1.0], dims=CUT), dim=K, sigma=sigma)
    c = dt.tensor("c", dims=CUT)
    with pytest.raises(CheckError, match="do not increase along cut"):
        make(c).logp("a").eval({c: [1.0, -1.0]})
    assert np.isfinite(make(c).logp("a").eval({c: [-1.0, 1.0]}))
    inner = dt.rv("c", dist.ordered(dist.Normal(0.0, 1.0), dim=CUT))
    assert checks(make(inner).logp("a")) == 0


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", pytest.param("jax", marks=pytest.mark.slow)])
def test_compiled(backend):
    """The message of a sampler that starts where probabilities have another sum."""
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=K)
    y = dt.rv("y", dist.Categorical(dt.sigmoid(x), dim=K), dims=OBS)
    density = dt.Model(y, backend=backend).observe(y=["a", "b", "a"]).log_density()
    with pytest.raises(CheckError, match="p of Categorical do not add up to 1 along kind"):
        density.logp_and_grad(np.zeros(3))
