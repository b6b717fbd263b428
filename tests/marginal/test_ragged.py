"""Hidden Markov chains along ragged dims; the oracle sums over all paths of each parent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX_COMPILED

subject = dt.Dim("subject", coords=["a", "b", "c", "d"])
sky = dt.Dim("sky", coords=["dry", "wet"])
START = np.array([0.3, 0.7])
MOVES = np.random.default_rng(2).dirichlet([1.0, 2.0], size=(4, 2))
MEANS = np.array([-0.5, 0.8])
# sorted and in any order, parents without positions and with one
OWNERS = [[0, 0, 0, 2, 2], [2, 0, 2, 0, 2, 3], [1], [3, 2, 1, 0], [2, 2, 2], [0, 1, 1, 1, 3], []]


def layout(seed: int) -> np.ndarray:
    if seed < len(OWNERS):
        return np.array(OWNERS[seed], int)
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, rng.integers(1, 12))


def paths(owners: np.ndarray, y: np.ndarray, means: np.ndarray = MEANS):
    """Return all paths of each parent, with their joint log densities with the observations."""
    for at in range(4):
        own = y[owners == at]
        found = list(itertools.product(range(2), repeat=len(own)))
        logps = []
        for path in found:
            p = stats.norm(means[list(path)], 1.0).logpdf(own).sum() if path else 0.0
            p += np.log(START[path[0]]) if path else 0.0
            p += sum(np.log(MOVES[at, i, j]) for i, j in itertools.pairwise(path))
            logps.append(p)
        yield np.array(found, int), np.array(logps)


def written(trial: dt.Dim, backend: str = "python") -> dt.Model:
    start = dt.data(START, dims=sky)
    moves = dt.data(MOVES, dims=[subject, sky, sky.rename()])
    z = dt.rv("z", dist.MarkovChain(start, moves, dim=trial))
    mean = dt.rv("mean", dist.Normal(0.0, 1.0), dims=sky)
    return dt.Model(dt.rv("y", dist.Normal(mean.sel(sky=z), 1.0)), backend=backend)


def of(owners: np.ndarray) -> dt.Dim:
    return dt.ragged("trial", within=subject, by=subject.coords[owners])


def draws(n: int) -> xr.Dataset:
    values = np.broadcast_to(MEANS, (1, n, 2))
    return xr.Dataset({"mean": (["chain", "draw", "sky"], values)}, {"sky": sky.coords})


def check(owners: np.ndarray, backend: str) -> None:
    y = np.random.default_rng(len(owners)).normal(size=len(owners))
    fit = written(of(owners), backend).observe({"y": y}).marginalize("z")
    flat = fit.log_density()

    def total(means):
        return stats.norm.logpdf(means).sum() + sum(
            logsumexp(logps) for _, logps in paths(owners, y, means)
        )

    value, slope = flat.logp_and_grad(MEANS)
    np.testing.assert_allclose(value, total(MEANS), rtol=1e-11)
    step = 1e-5 * np.eye(2)
    slopes = [(total(MEANS + e) - total(MEANS - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(slope, slopes, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_densities_are_sums_over_the_paths_of_each_parent(seed):
    check(layout(seed), "python")


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize("seed", [0, 1, 2, 6])
def test_densities_on_compiled_backends(seed, backend):
    check(layout(seed), backend)


@pytest.mark.parametrize("seed", [0, 1, 3, 6, 7])
def test_recovered_states_are_those_of_each_parent(seed):
    owners = layout(seed)
    y = np.random.default_rng(len(owners)).normal(size=len(owners))
    fit = written(of(owners)).observe({"y": y}).marginalize("z")
    post = draws(3000)
    probable, best = np.zeros(len(owners)), np.zeros(len(owners), int)
    for at, (found, logps) in enumerate(paths(owners, y)):
        own = owners == at
        weights = np.exp(logps - logsumexp(logps))
        probable[own], best[own] = weights @ found, found[np.argmax(logps)]
    one = draws(1)
    shown = fit.recover(one, how="probabilities")["posterior"]["z_probability"]
    np.testing.assert_allclose(shown.sel(sky="wet").values[0, 0], probable, rtol=1e-9)
    mode = fit.recover(one, how="most probable")["posterior"]["z"]
    assert mode.values[0, 0].tolist() == sky.coords[best].tolist()
    drawn = fit.recover(post, seed=1)["posterior"]["z"].values[0] == "wet"
    error = np.sqrt(probable * (1 - probable) / 3000) + 1e-12
    assert (np.abs(drawn.mean(axis=0) - probable) < 4.5 * error).all()


@pytest.mark.parametrize("seed", [0, 1, 3, 6, 7])
def test_one_step_ahead_densities_add_up_to_those_of_parents(seed):
    owners = layout(seed)
    y = np.random.default_rng(len(owners)).normal(size=len(owners))
    fit = written(of(owners)).observe({"y": y}).marginalize("z")
    found = fit.log_likelihood(draws(1), one_step_ahead=True)["log_likelihood"]["y"].values[0, 0]
    expected = np.zeros(len(owners))
    for at in range(4):
        own = np.flatnonzero(owners == at)
        totals = []
        for n in range(1, len(own) + 1):
            part = np.isin(np.arange(len(owners)), own[:n])
            totals.append(logsumexp([*paths(owners[part], y[part])][at][1]))
        expected[own] = np.diff(totals, prepend=0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    whole = fit.log_likelihood(draws(1), grouped=True)["log_likelihood"]["y"]
    assert whole.dims == ("chain", "draw", "subject")
    sums = [logsumexp(logps) for _, logps in paths(owners, y)]
    np.testing.assert_allclose(whole.values[0, 0], sums, rtol=1e-9, atol=1e-12)


def test_a_chain_whose_lengths_come_with_a_call():
    sizes = dt.tensor("sizes", dims=subject, dtype="int64")
    trial = dt.ragged("trial", within=subject, lengths=sizes)
    start = dt.data(START, dims=sky)
    moves = dt.data(MOVES, dims=[subject, sky, sky.rename()])
    z = dt.tensor("z", dims=trial, categories=sky)
    y, mean = dt.tensor("y", dims=trial), dt.tensor("mean", dims=sky)
    terms = {
        "z": dist.MarkovChain(start, moves, dim=trial).logp(z),
        "y": dist.Normal(mean.sel(sky=z), 1.0).logp(y),
    }
    f = dt.function([sizes, y, mean], dt.marginalize(terms, z), backend="python")
    rng = np.random.default_rng(5)
    for lengths in ([2, 0, 1, 3], [0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]):
        owners = np.repeat(np.arange(4), lengths)
        values = rng.normal(size=len(owners))
        expected = sum(logsumexp(logps) for _, logps in paths(owners, values))
        np.testing.assert_allclose(float(f(lengths, values, MEANS)), expected, rtol=1e-11)


@pytest.mark.parametrize("owners", [[1, 0, 1, 1, 0, 3], [2], [3, 3], []])
def test_a_chain_of_second_order_in_two_unknowns(owners):
    """Pairs of an element and the one two before it, and another unknown beside."""
    owners = np.array(owners, int)
    trial = of(owners)
    u, v = (dt.tensor(name, dims=trial, categories=sky) for name in "uv")
    rng = np.random.default_rng(8)
    tables = rng.normal(size=(3, 2, 2)), rng.normal(size=(len(owners), 2))
    two, one, beside = (dt.data(x, dims=[sky, sky.rename()]) for x in tables[0])
    alone = dt.data(tables[1], dims=[trial, sky])
    number = dt.arange(trial)

    def of_pair(table, left, right):
        return table.sel({sky: left, sky.rename(): right})

    terms = {
        "two": dt.where(number >= 2, of_pair(two, u.shift(trial=2, fill_value="dry"), u), 0.0),
        "one": dt.where(number >= 1, of_pair(one, v.shift(trial=1, fill_value="dry"), u), 0.0),
        "beside": of_pair(beside, u, v),
        "alone": alone.sel(sky=u) - 0.5 * alone.sel(sky=v),
    }
    logps = []
    for values in itertools.product(range(2), repeat=2 * len(owners)):
        a, b = np.array(values, int).reshape(2, -1)
        total = tables[0][2][a, b].sum()
        total += tables[1][np.arange(len(a)), a].sum() - 0.5 * tables[1][np.arange(len(a)), b].sum()
        for at in range(4):
            own = np.flatnonzero(owners == at)
            total += tables[0][0][a[own[:-2]], a[own[2:]]].sum()
            total += tables[0][1][b[own[:-1]], a[own[1:]]].sum()
        logps.append(total)
    for order in (terms, {name: terms[name] for name in reversed(terms)}):
        found = dt.evaluate(dt.marginalize(order, u, v), {})
        np.testing.assert_allclose(float(found), logsumexp(logps), rtol=1e-12)


def moments(owners: np.ndarray, rho: float, drift: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a process of each parent, which starts with a variance of 4."""
    n = len(owners)
    mean, effects, scales = np.zeros(n), np.zeros((n, n)), np.full(n, 0.8)
    for at in range(4):
        own = np.flatnonzero(owners == at)
        for number, place in enumerate(own):
            effects[place, place] = 1.0
            if number:
                mean[place] = rho * mean[own[number - 1]] + drift
                effects[place] += rho * effects[own[number - 1]]
            else:
                scales[place] = 2.0
    return mean, effects @ np.diag(scales**2) @ effects.T


@pytest.mark.parametrize("name", ["walk", "ar"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])
def test_latent_walks_of_parents_are_integrated_out_along_one_loop(seed, name):
    owners, drift, draws = layout(seed), 0.3, 2000
    trial, lag = of(owners), dt.Dim("lag", length=1)
    y = np.random.default_rng(seed).normal(size=len(owners))
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    start = dist.Normal(0.0, 2.0)
    if name == "walk":
        latent, rho = dist.GaussianRandomWalk(mu, 0.8, dim=trial, start=start), 1.0
    else:
        latent, rho = dist.AR(dt.full(lag, 0.6), 0.8, dim=trial, lag=lag, start=start), 0.6
    w = dt.rv("w", latent)
    model = dt.Model(
        dt.rv("y", dist.Normal(w if name == "walk" else w + mu, 0.5)), backend="python"
    )
    fit = model.observe({"y": y}).marginalize("w")
    if len(owners):
        assert fit.elimination_order == f"w: a loop along trial, trial ({len(owners)})"
    mean, cov = moments(owners, rho, drift if name == "walk" else 0.0)
    center = mean if name == "walk" else mean + drift
    whole = cov + 0.25 * np.eye(len(owners))
    expected = stats.multivariate_normal(center, whole).logpdf(y) if len(owners) else 0.0
    np.testing.assert_allclose(float(fit.logp({"mu": drift})["y"].sum()), expected, rtol=1e-11)
    post = xr.Dataset({"mu": (["chain", "draw"], np.full((1, draws), drift))})
    gain = cov @ np.linalg.inv(whole)
    given, spread = mean + gain @ (y - center), cov - gain @ cov
    mode = fit.recover(post.isel(draw=slice(1)), how="most probable")["posterior"]["w"]
    np.testing.assert_allclose(mode.values[0, 0], given, atol=1e-10)
    drawn = fit.recover(post, seed=1)["posterior"]["w"].values[0]
    error = np.sqrt(np.diag(spread) / draws)
    assert (np.abs(drawn.mean(axis=0) - given) < 4.5 * error).all()
    apart = np.cov(drawn.T).reshape(spread.shape)
    np.testing.assert_allclose(apart, spread, atol=8 * spread.max(initial=0.0) / np.sqrt(draws))


# -- unknowns that positions of several parents share ---------------------------------------------

Y = np.array([1.0, -0.5, 0.2, 0.7, 0.3])
MANY = np.array([2, 0, 2, 0, 3])
X = np.random.default_rng(6).normal(size=(5, 2))
SAME = np.equal.outer(MANY, MANY)


def evidence(cov: np.ndarray) -> float:
    return stats.multivariate_normal(np.zeros(5), cov + 0.25 * np.eye(5)).logpdf(Y)


def mixed(shares: np.ndarray) -> float:
    """Log density of two classes, of which positions of each share are one."""
    terms = []
    for share in np.unique(shares):
        own = Y[shares == share]
        both = [stats.norm(at, 0.5).logpdf(own).sum() for at in (-1.0, 1.0)]
        terms.append(np.logaddexp(np.log(0.7) + both[0], np.log(0.3) + both[1]))
    return sum(terms)


def shared():
    """Yield means of the positions, the unknowns in them, and the log density without these."""
    trial, k = of(MANY), dt.Dim("k", length=2)
    columns = dt.data(X, dims=[trial, k])
    z, each = dt.rv("z", dist.Bernoulli(0.3)), dt.rv("z", dist.Bernoulli(0.3), dims=subject)
    yield dt.where(z, 1.0, -1.0), ["z"], mixed(np.zeros(5))
    yield dt.where(each, 1.0, -1.0), ["z"], mixed(MANY)
    mu = dt.rv("mu", dist.Normal(0.0, 2.0))
    yield mu, ["mu"], evidence(4.0 * np.ones((5, 5)))
    base = dt.rv("mu", dist.Normal(0.0, 2.0), dims=subject)
    yield base, ["mu"], evidence(4.0 * SAME)
    slope = dt.rv("slope", dist.Normal(0.0, 1.0), dims=k)
    own = dt.rv("own", dist.Normal(0.0, 2.0), dims=[subject, k])
    yield (slope * columns).sum(k), ["slope"], evidence(X @ X.T)
    yield (own * columns).sum(k), ["own"], evidence(4.0 * X @ X.T * SAME)
    both = evidence(X @ X.T + 4.0 * X @ X.T * SAME)
    yield ((slope + own) * columns).sum(k), ["own", "slope"], both


@pytest.mark.parametrize("case", range(7))
def test_unknowns_that_positions_share(case):
    mean, names, expected = list(shared())[case]
    trial = of(MANY)
    y = dt.rv("y", dist.Normal(mean, 0.5), dims=trial)
    fit = dt.Model(y, backend="python").observe({"y": Y}).marginalize(*names)
    np.testing.assert_allclose(fit.log_density().logp(np.zeros(0)), expected, rtol=1e-10)
