"""Kalman filters along ragged dims, beside one dense normal density for each parent."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist

subject = dt.Dim("subject", coords=["a", "b", "c", "d"])
s = dt.Dim("s", length=2)
after = s.rename("after")
TURN = np.array([[0.6, 0.3], [-0.2, 0.5]])
SHOCK = np.array([[0.8, 0.3], [0.3, 0.5]])
GAINS = np.array([0.5, 1.0, -0.7, 0.9])
LENGTHS = [[3, 0, 2, 1], [0, 4, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
LAYOUTS = [np.repeat(np.arange(4), one) for one in LENGTHS]
LAYOUTS += [np.array([2, 0, 3, 0, 2, 0]), np.array([3, 2, 1, 0])]


def model(trial: dt.Dim):
    """Two states, whose matrix has a factor of the parent, and observations of both."""
    gain = dt.data(GAINS, dims=subject)
    turn = dt.data(TURN, dims=[after, s])
    shock = dt.data(SHOCK, dims=[s, s.rename()])

    def step(before):
        mean = gain * dt.dot(turn, before, dim=s).relabel(after, s)
        return dist.MvNormal(mean, shock), lambda value: value

    x = dt.rv("x", dist.Series(step, dt.full(s, 1.0), dim=trial))
    return x, dt.rv("y", dist.Normal(x, 0.5))


def moments(n: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the states of one parent, in the order of steps."""
    effects, mean, at = np.zeros((2 * n, 2 * n)), np.zeros(2 * n), np.ones(2)
    for t in range(n):
        now, last = slice(2 * t, 2 * t + 2), slice(2 * t - 2, 2 * t)
        at = mean[now] = gain * TURN @ at
        if t:
            effects[now] = gain * TURN @ effects[last]
        effects[now, now] = np.eye(2)
    return mean, effects @ np.kron(np.eye(n), SHOCK) @ effects.T


def parents(owners, y):
    """Yield the mean and covariance of each parent's states, what is there, and the values."""
    for at, gain in enumerate(GAINS):
        own = y[owners == at].ravel()
        yield *moments(len(own) // 2, gain), ~np.isnan(own), own


def density(owners, y) -> np.ndarray:
    found = []
    for mean, cov, there, own in parents(owners, y):
        if not there.any():
            found.append(0.0)
            continue
        seen = cov[np.ix_(there, there)] + 0.25 * np.eye(there.sum())
        found.append(stats.multivariate_normal(mean[there], seen).logpdf(own[there]))
    return np.array(found)


def values(n: int) -> np.ndarray:
    y = np.random.default_rng(n).normal(size=(n, 2))
    y[::3, 0] = np.nan
    return y


ONE = xr.Dataset(coords={"chain": [0], "draw": [0]})


@pytest.mark.parametrize("owners", LAYOUTS, ids=str)
def test_vectors_of_each_parent(owners):
    trial, n = dt.ragged("trial", within=subject, by=subject.coords[owners]), len(owners)
    y = values(n)
    x, seen = model(trial)
    fit = dt.Model(seen, backend="python").observe({seen: (("trial", "s"), y)}, missing="drop")
    fit = fit.marginalize(x)
    assert fit.elimination_order == f"x: a loop along trial, trial ({n}) × 2 × 2"
    each = density(owners, y)
    assert fit.log_density().logp(np.zeros(0)) == pytest.approx(each.sum(), rel=1e-11)
    whole = fit.log_likelihood(ONE, grouped=True)["log_likelihood"]["y"]
    assert whole.dims == ("chain", "draw", "subject")
    np.testing.assert_allclose(whole.values[0, 0], each, rtol=1e-10, atol=1e-12)
    ahead = fit.log_likelihood(ONE, one_step_ahead=True)["log_likelihood"]["y"]
    assert ahead.dims == ("chain", "draw", "trial")
    sums = []
    for end in range(1, n + 1):
        known = np.where(np.arange(n)[:, None] < end, y, np.nan)
        sums.append(density(owners, known).sum())
    expected = np.diff(sums, prepend=0.0)
    np.testing.assert_allclose(ahead.values[0, 0], expected, rtol=1e-9, atol=1e-11)
    mode = fit.recover(ONE, how="most probable")["posterior"]["x"].transpose("trial", "s", ...)
    smooth = np.zeros((n, 2))
    for at, (mean, cov, there, own) in enumerate(parents(owners, y)):
        seen_cov = cov[np.ix_(there, there)] + 0.25 * np.eye(there.sum())
        gain = cov[:, there] @ np.linalg.inv(seen_cov)
        smooth[owners == at] = (mean + gain @ (own - mean)[there]).reshape(-1, 2)
    np.testing.assert_allclose(mode.values.reshape(-1, 2), smooth, atol=1e-10)


def test_lengths_that_come_with_a_call():
    sizes = dt.tensor("sizes", dims=subject, dtype="int64")
    trial = dt.ragged("trial", within=subject, lengths=sizes)
    x, y = dt.tensor("x", dims=[trial, s]), dt.tensor("y", dims=[trial, s])
    turn, shock = dt.data(TURN, dims=[after, s]), dt.data(SHOCK, dims=[s, s.rename()])
    gain = dt.data(GAINS, dims=subject)

    def step(before):
        mean = gain * dt.dot(turn, before, dim=s).relabel(after, s)
        return dist.MvNormal(mean, shock), lambda value: value

    series = dist.Series(step, dt.full(s, 1.0), dim=trial)
    logp = dt.marginalize({"x": series.logp(x), "y": dist.Normal(x, 0.5).logp(y)}, x)
    f = dt.function([sizes, y], logp, backend="python")
    for lengths, owners in zip(LENGTHS, LAYOUTS, strict=False):
        given = np.nan_to_num(values(len(owners)))
        found = float(f(lengths, (("trial", "s"), given)))
        assert found == pytest.approx(density(owners, given).sum(), rel=1e-11)


@pytest.mark.parametrize("owners", [LAYOUTS[0], LAYOUTS[4]], ids=str)
def test_states_of_a_loop_over_noise_and_a_mean_of_all_parents(owners):
    """A level that starts anew for each parent, around an unknown mean."""
    trial = dt.ragged("trial", within=subject, by=subject.coords[owners])
    y = np.nan_to_num(values(6))[:, 1]
    mean = dt.rv("mean", dist.Normal(0.0, 2.0))
    push = dt.rv("push", dist.Normal(0.0, 0.7), dims=trial)
    level = dt.cumulate(lambda before, now: 0.9 * before + now, 0.0, push, dim=trial)
    seen = dt.rv("seen", dist.Normal(mean + level, 0.5))
    fit = dt.Model(seen, backend="python").observe({seen: y}).marginalize(mean, push)
    assert fit.elimination_order == "mean, push: a loop along trial, trial (6) × 2 × 2"
    cov = 4.0 * np.ones((6, 6)) + 0.25 * np.eye(6)
    for at in range(4):
        own = np.flatnonzero(owners == at)
        lag = np.subtract.outer(np.arange(len(own)), np.arange(len(own)))
        effects = np.where(lag >= 0, 0.9**lag, 0.0)
        cov[np.ix_(own, own)] += 0.49 * effects @ effects.T
    expected = stats.multivariate_normal(np.zeros(6), cov).logpdf(y)
    assert fit.log_density().logp(np.zeros(0)) == pytest.approx(expected, rel=1e-11)
