"""Series by a step, and numbers in order, against SciPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX
from tests.dist.test_rows import NumPyDraws

T = dt.Dim("t", length=6)
STOCK = dt.Dim("stock", coords=["a", "b"])
X = np.array([0.3, 1.0, -0.5, 0.1, 0.2, 4.0])


def follow(before, rho, sigma):
    return dist.Normal(rho * before, sigma), lambda value: value


def garch(before, shock, omega, alpha, beta):
    """The variance is a multiple of the last one and of the last square."""
    variance = omega + alpha * before[1] ** 2 + beta * before[0]
    return dist.Normal(shock, dt.sqrt(variance)), lambda value: (variance, value)


def garch_logp(x, shock, omega, alpha, beta):
    variance, last, total = 1.0, 0.0, 0.0
    for now, jump in zip(x, shock, strict=True):
        variance = omega + alpha * last**2 + beta * variance
        total += st.norm(jump, np.sqrt(variance)).logpdf(now)
        last = now
    return total


def urn(before, weight):
    """Pólya's urn: what was drawn becomes more probable."""
    ones, drawn = before
    return dist.Bernoulli((ones + weight) / (drawn + 2 * weight)), lambda y: (ones + y, drawn + 1)


def test_the_density_is_a_product_of_those_of_the_elements():
    d = dist.Series(follow, 0.4, dim=T, rho=0.5, sigma=2.0)
    wanted = st.norm(0.5 * np.array([0.4, *X[:-1]]), 2.0).logpdf(X).sum()
    assert d.dims == d.event_dims == (T,)
    np.testing.assert_allclose(d.logp(dt.data(X, dims=T)).eval(), wanted)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_states_get_the_dims_of_the_elements_and_gradients(backend, request):
    if backend != "python":
        request.applymarker(pytest.mark.compiled)
    shock = np.linspace(-0.5, 0.5, 6)
    omega, x = dt.tensor("omega", dims=STOCK), dt.tensor("x", dims=[T, STOCK])
    d = dist.Series(garch, (1.0, 0.0), dim=T, xs=dt.data(shock, dims=T), omega=omega, alpha=0.3,
                    beta=0.4)  # fmt: skip
    assert set(d.dims) == {T, STOCK}
    logp = d.logp(x)
    values, paths = np.array([0.1, 2.0]), np.array([X, X[::-1]])
    f = dt.function([omega, x], [logp, dt.grad(logp.sum(), omega)], backend=backend)
    found, slopes = f(values, (["stock", "t"], paths))
    wanted = [garch_logp(p, shock, w, 0.3, 0.4) for p, w in zip(paths, values, strict=True)]
    np.testing.assert_allclose(found, wanted)
    for at in range(2):
        there = [garch_logp(paths[at], shock, values[at] + s, 0.3, 0.4) for s in (1e-6, -1e-6)]
        np.testing.assert_allclose(slopes[at], (there[0] - there[1]) / 2e-6, rtol=1e-6)


def test_draws_follow_each_other():
    d = dist.Series(follow, 0.4, dim=T, rho=dt.data([0.5, -0.9], dims=STOCK), sigma=2.0)
    drawn, _ = d.draw(dt.random.generator(1), dims=dt.Dim("n", length=4000))
    values = drawn.eval().transpose("stock", "n", "t").values
    before = np.concatenate([np.full((2, 4000, 1), 0.4), values[..., :-1]], axis=-1)
    noise = values - np.array([0.5, -0.9])[:, None, None] * before
    assert st.kstest(noise.ravel(), st.norm(0, 2.0).cdf).pvalue > 1e-4


def test_the_sum_of_an_urn_is_beta_binomial():
    """Probabilities of all paths add up to 1, and draws have the distribution of their sum."""
    paths = np.array([[int(bit) for bit in f"{n:06b}"] for n in range(64)])
    d = dist.Series(urn, (0.0, 0.0), dim=T, weight=1.5)
    assert d.discrete
    path = dt.Dim("path", length=64)
    p = np.exp(d.logp(dt.data(paths, dims=[path, T])).eval().values)
    wanted = st.betabinom(6, 1.5, 1.5).pmf(range(7))
    np.testing.assert_allclose(np.bincount(paths.sum(axis=1), p), wanted)
    weight = dt.rv("weight", dist.Uniform(1.0, 2.0))
    y = dt.rv("y", dist.Series(urn, (0.0, 0.0), dim=T, weight=weight))
    model = dt.Model(y, backend="python")
    tree = model.do({weight: 1.5}).draw(8000, seed=1)
    sums = tree["prior_predictive"]["y"].sum("t").values.ravel()
    assert st.chisquare(np.bincount(sums, minlength=7), 8000 * wanted).pvalue > 1e-4
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.observe(y=paths[5]).logp({weight: 1.5})["y"], np.log(p[5]))


def test_a_hidden_chain_by_the_distribution_of_the_next_element():
    """Sum over all paths of two states, and elements that belong to labels."""
    k = dt.Dim("k", coords=["a", "b"])
    move, means = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([-1.0, 1.0])

    def step(belief, move):
        each = dist.Normal(dt.data(means, dims=k), 1.0)

        def after(y):
            seen = (dt.log(belief) + each.logp(y)).softmax(k)
            return (seen * move).sum(k).relabel(k.rename(), k)

        return dist.mixture(belief, each, dim=k), after

    d = dist.Series(step, dt.full(k, 0.5), dim=T, move=dt.data(move, dims=[k, k.rename()]))
    total = 0.0
    for n in range(64):
        path = [int(bit) for bit in f"{n:06b}"]
        p = 0.5 * np.prod(move[path[:-1], path[1:]])
        total += p * np.exp(st.norm(means[path], 1.0).logpdf(X).sum())
    np.testing.assert_allclose(d.logp(dt.data(X, dims=T)).eval(), np.log(total))
    label = dist.Series(lambda p, q: (dist.Categorical(q, dim=k), lambda y: p), 0.0, dim=T,
                        q=dt.data([0.2, 0.8], dims=k))  # fmt: skip
    assert label.categories is k
    drawn, _ = label.draw(dt.random.generator(1), dims=dt.Dim("n", length=1000))
    np.testing.assert_allclose(drawn.codes.eval().mean(), 0.8, atol=0.05)


K = dt.Dim("k", length=3)


def test_numbers_in_order(rng):
    d = dist.ordered(dist.Normal(dt.data([0.0, 5.0], dims=STOCK), 2.0), dim=K)
    assert set(d.dims) == {STOCK, K}
    assert d.event_dims == (K,)
    x = np.array([-1.0, 0.5, 7.0])
    wanted = st.norm([[0.0], [5.0]], 2.0).logpdf(x).sum(axis=1) + np.log(6.0)
    np.testing.assert_allclose(d.logp(dt.data(x, dims=K)).eval(), wanted)
    assert (d.logp(dt.data(x[::-1].copy(), dims=K)).eval() == -np.inf).all()
    drawn, _ = d.draw(NumPyDraws(rng), dims=dt.Dim("n", length=4000))
    assert K in drawn.dims  # and not its elements in another order
    values = drawn.eval().transpose("stock", "n", "k").values
    assert (np.diff(values, axis=-1) >= 0).all()
    # the k-th smallest of three uniform numbers is beta distributed
    for k in range(3):
        u = st.norm(5.0, 2.0).cdf(values[1, :, k])
        assert st.kstest(u, st.beta(k + 1, 3 - k).cdf).pvalue > 1e-4


def test_positive_numbers_in_order_are_inferred():
    x = dt.rv("x", dist.ordered(dist.Exponential(1.0), dim=K))
    y = dt.rv("y", dist.Normal(x, 1.0))
    density = dt.Model(y, backend="python").observe({y: [1.0, 2.0, 3.0]}).log_density()
    z = np.array([-0.3, 0.2, 0.1])
    values = np.exp(z).cumsum()
    wanted = -values.sum() + np.log(6) + z.sum() + st.norm(values, 1.0).logpdf([1, 2, 3]).sum()
    np.testing.assert_allclose(density.logp(z), wanted)


def test_a_predicted_series_is_longer_than_the_observed_one():
    time = dt.Dim("time")
    rho = dt.rv("rho", dist.Uniform(0.0, 1.0))
    y = dt.rv("y", dist.Series(follow, 8.0, dim=time, rho=rho, sigma=0.01))
    post = dt.Model(y, backend="python").draw(50, seed=1, dims={time: 2})
    found = dt.Model(y, backend="python").predict(post["prior"], seed=2, dims={time: 4})
    paths = found["predictions"]["y"]
    wanted = 8.0 * post["prior"]["rho"].values[..., None] ** np.arange(1, 5)
    np.testing.assert_allclose(paths.transpose("chain", "draw", "time"), wanted, atol=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dist.Series(3, 0.0, dim=T), "step is a function of a state, not 3"),
        (lambda: dist.Series(follow, 0.0, dim="t", rho=1.0, sigma=1.0), "is the Dim of"),
        (lambda: dist.Series(lambda s: dist.Normal(s, 1.0), 0.0, dim=T), "returns a pair"),
        (lambda: dist.Series(lambda s: (s, lambda y: y), 0.0, dim=T), "takes a distribution"),
        (lambda: dist.Series(follow, 0.0, dim=T, rho=dt.ones(T), sigma=1.0), "dim of the series"),
        (lambda: dist.Series(follow, 0.0, dim=T, rho=1.0, sigma=1.0).logp(dt.ones(K)), "lacks"),
        (lambda: dist.ordered(dist.Poisson(1.0), dim=K), "single real numbers"),
        (lambda: dist.ordered(dist.Normal(dt.ones(K), 1.0), dim=K), "single real numbers"),
        (lambda: dist.ordered(dist.Normal(0.0, 1.0), dim="k"), "dim is a Dim, not 'k'"),
        (lambda: dist.ordered(dist.Beta(1.0, 1.0), dim=K).support, "real or positive"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(dt.DimtensorError, match=message):
        make()


def series_of_nothing(over):
    """One of each kind, and what a value of no elements is."""
    kind, start = dt.Dim("kind", coords=["a", "b"]), dist.Normal(0.0, 1.0)
    share = dt.data([0.5, 0.5], dims=kind)
    move = dt.data([[0.9, 0.1], [0.2, 0.8]], dims=[kind, kind.rename("to")])
    rho = dt.data([0.5], dims=dt.Dim("lag", length=1))
    return {
        "chain": dist.MarkovChain(share, move, dim=over),
        "walk": dist.GaussianRandomWalk(0.0, 1.0, dim=over, start=start),
        "autoregression": dist.AR(rho, 1.0, dim=over, start=start),
        "garch": dist.GARCH11(0.1, 0.1, 0.1, 1.0, dim=over),
        "diffusion": dist.EulerMaruyama(lambda x: (-x, 1.0), 0.1, dim=over, start=start),
        "series": dist.Series(lambda s: (dist.Normal(s, 1.0), lambda v: v), 0.0, dim=over),
    }


def test_an_autoregression_by_a_number_is_of_the_last_element(rng):
    over, start = dt.Dim("t", length=6), dist.Normal(0.0, 2.0)
    x = rng.normal(size=6)
    expected = st.norm.logpdf(x[0], 0, 2) + st.norm.logpdf(x[1:], 0.7 * x[:-1], 1.5).sum()
    rho = dt.scalar("rho")
    for given in (0.7, rho):
        found = dist.AR(given, 1.5, dim=over, start=start).logp(dt.data(x, dims=over))
        np.testing.assert_allclose(found.eval({rho: 0.7} if given is rho else {}), expected)
    rates = dt.tensor("rates", dims=[dt.Dim("lag", length=2), dt.Dim("place", length=3)])
    with pytest.raises(dt.DimError, match=r"which of 2 dims of rho (.|\n)*lag='lag'"):
        dist.AR(rates, 1.5, dim=over, start=start)


@pytest.mark.parametrize("known", [True, False], ids=["known", "late"])
@pytest.mark.parametrize("name", list(series_of_nothing(T)))
def test_a_series_of_no_elements_has_the_density_one(name, known):
    over = dt.Dim("t", length=0) if known else dt.Dim("t")
    d = series_of_nothing(over)[name]
    x = dt.tensor("x", dims=over, categories=d.labels if name == "chain" else None)
    nothing = np.array([], dtype="U1" if name == "chain" else float)
    assert float(dt.function([x], d.logp(x), backend="python")(nothing)) == 0.0
    model = dt.Model(dt.rv("x", d), backend="python")
    drawn = model.draw(2, seed=1, dims={} if known else {over: 0})["prior_predictive"]["x"]
    assert drawn.sizes == {"chain": 1, "draw": 2, "t": 0}


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_a_chain_of_no_elements_on_compiled_backends(backend):
    over = dt.Dim("t")
    d = series_of_nothing(over)["chain"]
    x = dt.tensor("x", dims=over, categories=d.labels)
    f = dt.function([x], d.logp(x), backend=backend)
    assert float(f(np.array([], dtype="U1"))) == 0.0
    wanted = np.log(0.5 * 0.1 * 0.8)
    assert float(f(np.array(["a", "b", "b"]))) == pytest.approx(wanted, rel=1e-12)
