"""Distributions along ragged dims are independent for each parent; SciPy is the reference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist

subject = dt.Dim("subject", coords=["a", "b", "c"])
OWNERS = np.array([2, 0, 2, 0, 2])
VALUES = np.array([1.0, 5.0, 2.0, 7.0, 3.0])
RATES = np.array([0.1, 0.2, 0.3])
trial = dt.ragged("trial", within=subject, by=subject.coords[OWNERS])
rates = dt.data(RATES, dims=subject)
values = dt.data(VALUES, dims=trial)
sky = dt.Dim("sky", coords=["dry", "wet"])
START, MOVES = np.array([0.3, 0.7]), np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5]] * 2,
                                               [[0.2, 0.8], [0.7, 0.3]]])  # fmt: skip
LABELS = np.array([0, 1, 1, 0, 0])


def each(density):
    """Sum ``density(x, before, parent)`` over the positions of each parent."""
    found = []
    for at in range(3):
        own = np.flatnonzero(at == OWNERS)
        before = [None, *own[:-1]]
        found.append(sum(density(now, last, at) for now, last in zip(own, before, strict=False)))
    return found


def linear(start):
    """Density of a series around the rate times the element before."""

    def density(now, last, at):
        return stats.norm(RATES[at] * (start if last is None else VALUES[last]), 1).logpdf(
            VALUES[now]
        )

    return density


def of_start(at_start, later):
    def density(now, last, at):
        return at_start(now, at) if last is None else later(now, last, at)

    return density


def processes():
    def step(before, rate):
        return dist.Normal(rate * before, 1.0), lambda value: value

    def captured(before):
        return dist.Normal(rates * before, 1.0), lambda value: value

    lag = dt.Dim("lag", length=1)
    at_start = lambda now, at: stats.norm(RATES[at], 2).logpdf(VALUES[now])  # noqa: E731
    walk = lambda now, last, at: stats.norm(RATES[at], 1).logpdf(  # noqa: E731
        VALUES[now] - VALUES[last]
    )
    ar = lambda now, last, at: stats.norm(RATES[at] * VALUES[last], 1).logpdf(VALUES[now])  # noqa: E731
    moves = dt.data(MOVES, dims=[subject, sky, sky.rename()])
    chain = of_start(
        lambda now, at: np.log(START[LABELS[now]]),
        lambda now, last, at: np.log(MOVES[at, LABELS[last], LABELS[now]]),
    )
    labels = dt.data(sky.coords[LABELS], dims=trial, categories=sky)
    return {
        "parameter": (dist.Series(step, 2.0, dim=trial, rate=rates), values, linear(2.0)),
        "sequence": (dist.Series(step, 2.0, dim=trial, xs=rates), values, linear(2.0)),
        "captured": (dist.Series(captured, 2.0, dim=trial), values, linear(2.0)),
        "walk": (
            dist.GaussianRandomWalk(rates, 1.0, dim=trial, start=dist.Normal(rates, 2.0)),
            values,
            of_start(at_start, walk),
        ),
        "ar": (
            dist.AR(rates.expand(lag), 1.0, dim=trial, lag=lag, start=dist.Normal(rates, 2.0)),
            values,
            of_start(at_start, ar),
        ),
        "chain": (dist.MarkovChain(dt.data(START, dims=sky), moves, dim=trial), labels, chain),
    }


NAMES = ["parameter", "sequence", "captured", "walk", "ar", "chain"]


@pytest.mark.parametrize("name", NAMES)
def test_log_densities_are_those_of_each_parent(name) -> None:
    d, x, density = processes()[name]
    assert d.dims == (trial,)
    logp = d.logp(x)
    assert logp.dims == (subject,)
    np.testing.assert_allclose(logp.eval(backend="python"), each(density), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_draws_of_parents_are_independent(name) -> None:
    d, _, _ = processes()[name]
    draw = dt.Dim("n", length=4000)
    drawn, _ = d.draw(dt.random.generator(3), dims=draw)
    x = drawn.codes if drawn.categories is not None else drawn
    found = x.eval(backend="python").transpose("n", "trial").values
    mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(4000)
    expected = np.zeros(5)
    state = {}
    for place, at in enumerate(OWNERS):
        if name == "chain":
            state[at] = state[at] @ MOVES[at] if at in state else START
            expected[place] = state[at][1]
        elif name == "walk":
            state[at] = expected[place] = state.get(at, 0.0) + RATES[at]
        elif name == "ar":
            state[at] = expected[place] = state[at] * RATES[at] if at in state else RATES[at]
        else:
            state[at] = expected[place] = state.get(at, 2.0) * RATES[at]
    assert (np.abs(mean - expected) < 4.5 * error).all()
    apart = np.corrcoef(found.T)[OWNERS == 2][:, OWNERS == 0]
    assert (np.abs(apart) < 4.5 / np.sqrt(4000)).all()


def test_a_model_with_parameters_of_parents() -> None:
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=subject)
    model = dt.Model(dt.rv("y", dist.Normal(mu, 2.0), dims=trial), backend="python")
    fit = model.observe({"y": VALUES})
    terms = fit.logp({"mu": RATES})
    np.testing.assert_allclose(terms["y"], stats.norm(RATES[OWNERS], 2).logpdf(VALUES))
    post = fit.laplace(draws=4000, seed=1)
    sums = np.bincount(OWNERS, VALUES, minlength=3)
    precision = 1 + np.bincount(OWNERS, minlength=3) / 4
    means = sums / 4 / precision
    found = post["posterior"]["mu"].values.reshape(-1, 3).mean(axis=0)
    np.testing.assert_allclose(found, means, atol=5 / np.sqrt(4000))
    wider = dt.Dim("subject", coords=["a", "b", "c", "d"])
    other = dt.ragged("trial", within=wider, by=["d", "a", "c", "b", "a"])
    drawn = fit.predict(post, dims={subject: wider, trial: other}, seed=1)["predictions"]["y"]
    expected = [0.0, means[0], means[2], 0.0, means[0]]
    np.testing.assert_allclose(drawn.values.reshape(-1, 5).mean(axis=0), expected, atol=0.2)
    with pytest.raises(dt.RaggedDimError, match="dim 'trial' is within dim 'subject', which is an"):
        fit.predict(post, dims={subject: wider}, seed=1)


def test_a_latent_walk_of_each_parent_has_the_evidence_of_its_marginal() -> None:
    start = dist.Normal(0.0, 2.0)
    walk = dt.rv("walk", dist.GaussianRandomWalk(0.0, 1.0, dim=trial, start=start))
    model = dt.Model(dt.rv("y", dist.Normal(walk, 1.0)), backend="python")
    fit = model.observe({"y": VALUES})
    covariance = np.eye(5)
    for at in range(3):
        own = np.flatnonzero(at == OWNERS)
        ranks = np.arange(len(own))
        covariance[np.ix_(own, own)] += 4 + np.minimum.outer(ranks, ranks)
    expected = stats.multivariate_normal(np.zeros(5), covariance).logpdf(VALUES)
    for each_fit in (fit, fit.noncentered("walk")):
        post = each_fit.laplace(draws=5, seed=1)
        assert post["posterior"].attrs["log_evidence"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dist.Dirichlet(dt.ones(trial), dim=trial),
        lambda: dist.Categorical(dt.full(trial, 0.2), dim=trial),
        lambda: dist.Multinomial(3, dt.full(trial, 0.2), dim=trial),
        lambda: dist.ordered(dist.Normal(0.0, 1.0), dim=trial),
        lambda: dist.MvNormal(dt.zeros(trial), dt.eye(trial)),
    ],
)
def test_other_distributions_along_ragged_dims_refuse(make) -> None:
    with pytest.raises(dt.RaggedDimError, match=r"(labels|each) of dim 'subject'"):
        dt.rv("x", make())


@pytest.mark.parametrize("missing", ["drop", "infer"])
def test_missing_observations_along_a_ragged_dim(missing) -> None:
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=subject)
    seen = np.where(np.arange(5) == 2, np.nan, VALUES)
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=trial), backend="python")
    post = model.observe({"y": seen}, missing=missing).laplace(draws=5, seed=1)
    there = np.arange(5) != 2
    expected = 0.0
    for at in range(3):
        own = seen[there & (at == OWNERS)]
        if len(own):
            normal = stats.multivariate_normal(np.zeros(len(own)), np.eye(len(own)) + 1)
            expected += normal.logpdf(own)
    assert post["posterior"].attrs["log_evidence"] == pytest.approx(expected, rel=1e-6)


def test_a_process_of_each_parent_is_looked_up_at_the_positions() -> None:
    number = dt.Dim("number", coords=[0.0, 1.0, 2.0])
    curve = dt.rv("curve", dist.GP(dt.gp.Matern32(2.0), number, jitter=0.0), dims=subject)
    y = dt.rv("y", dist.Normal(curve.isel(number=dt.arange(trial)), 0.5))
    fit = dt.Model(y, backend="python").observe({"y": VALUES}).marginalize("curve")
    numbers = np.array([0, 0, 1, 1, 2])
    apart = np.sqrt(3.0) * np.abs(np.subtract.outer(numbers, numbers)) / 2.0
    cov = np.where(np.equal.outer(OWNERS, OWNERS), (1 + apart) * np.exp(-apart), 0.0)
    expected = stats.multivariate_normal(np.zeros(5), cov + 0.25 * np.eye(5)).logpdf(VALUES)
    np.testing.assert_allclose(float(fit.logp({})["y"]), expected, rtol=1e-10)
