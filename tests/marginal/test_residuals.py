"""One-step-ahead residuals of observations, beside the Kalman filter of statsmodels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import GraphError

statespace = pytest.importorskip("statsmodels.tsa.api")
kalman = pytest.importorskip("statsmodels.tsa.statespace.kalman_filter")

GROUPS = ("fitted", "residuals", "standardized_residuals")


def filtered(y, design, noise, transition, shocks, mean, cov):
    """Filter observations (time, element), given the mean and covariance of the first state."""
    k, n = np.shape(design)
    model = kalman.KalmanFilter(k_endog=k, k_states=n, k_posdef=n, tolerance=0)
    model.bind(np.array(y, dtype=float))
    model["design"], model["obs_cov"] = np.array(design), np.array(noise)
    model["transition"], model["state_cov"] = np.array(transition), np.array(shocks)
    model["selection"] = np.eye(n)
    model.initialize_known(np.array(mean, dtype=float), np.array(cov, dtype=float))
    return model.filter()


def expected(found, y):
    """Return means, errors and standardized errors (time, element)."""
    means = found.forecasts.T
    sd = np.sqrt(np.diagonal(found.forecasts_error_cov, 0, 0, 1))
    return means, y - means, (y - means) / sd


def agree(found, name, values):
    """Compare all groups, over the last dims of each."""
    for group, value in zip(GROUPS, values, strict=True):
        np.testing.assert_allclose(found[group][name].values, value, rtol=1e-9, atol=1e-9)


def walk(y, level, noise, start=0.5, sd=2.0):
    """Filter a local level, of which the first value is normal."""
    model = filtered(y[:, None], [[1.0]], [[noise**2]], [[1.0]], [[level**2]], [start], [[sd**2]])
    return [x[:, 0] for x in expected(model, y[:, None])]


def numbers(seed, *shape, missing=()):
    y = np.cumsum(np.random.default_rng(seed).normal(size=shape), 0)
    for at in missing:
        y[at] = np.nan
    return y


def draws(**values):
    """Return draws of scalars: one chain."""
    return xr.Dataset({name: (("chain", "draw"), [x]) for name, x in values.items()})


@pytest.mark.parametrize("backend", ["python", "jax"])
def test_local_level(backend):
    """Of each draw, and at one point; those of missing observations are NaN."""
    y, day = numbers(0, 9, missing=[3, 4]), dt.Dim("day", length=9)
    a, b = (dt.rv(name, dist.HalfNormal(1.0)) for name in "ab")
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, a, dim=day, start=dist.Normal(0.5, 2.0)))
    seen = dt.rv("y", dist.Normal(level, b))
    fit = dt.Model(seen, backend=backend).observe({seen: y}, missing="drop").marginalize(level)
    post = fit.residuals(draws(a=[0.3, 0.9], b=[0.7, 0.2]))
    assert post["residuals"]["y"].dims == ("chain", "draw", "day")
    for at, values in enumerate([(0.3, 0.7), (0.9, 0.2)]):
        agree(post.isel(chain=0, draw=at), "y", walk(y, *values))
    agree(fit.residuals({a: 0.3, "b": 0.7}), "y", walk(y, 0.3, 0.7))
    assert np.isnan(post["residuals"]["y"].values[0, :, 3:5]).all()
    assert np.isfinite(post["fitted"]["y"].values).all()


def test_trend_and_season():
    y, month = numbers(1, 14, missing=[5]), dt.Dim("month", length=14)
    lag, sd = dt.Dim("lag", length=3), [0.5, 0.2, 0.3, 0.7]

    def seasons(before):
        after = before.shift({lag: 1}, fill_value=0.0)
        return dist.Normal(-before.sum(lag), sd[2]), lambda value: dt.where(
            dt.arange(lag) == 0, value, after
        )

    start = dist.Normal(0.0, 10.0)
    slope = dt.rv("slope", dist.GaussianRandomWalk(0.0, sd[1], dim=month, start=start))
    drift = slope.shift({month: 1}, fill_value=0.0)
    level = dt.rv("level", dist.GaussianRandomWalk(drift, sd[0], dim=month, start=start))
    first = dt.rv("first", start, dims=lag)
    season = dt.rv("season", dist.Series(seasons, first, dim=month))
    seen = dt.rv("y", dist.Normal(level + season, sd[3]))
    fit = dt.Model(seen, backend="python").observe({seen: y}, missing="drop")
    found = fit.marginalize(first, season, slope, level).residuals({})

    model = statespace.UnobservedComponents(y, "lltrend", seasonal=4)
    model.ssm.tolerance = 0
    lags = np.array([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    cov = np.zeros((5, 5))
    cov[:2, :2], cov[2:, 2:] = 100.0 * np.eye(2), 100.0 * lags @ lags.T
    cov[2, 2] += sd[2] ** 2
    model.ssm.initialize_known(np.zeros(5), cov)
    model.update(np.square([sd[3], *sd[:3]]))
    agree(found, "y", [x[:, 0] for x in expected(model.ssm.filter(), y[:, None])])


TRANSITION = np.array([[0.5, 0.1], [-0.2, 0.4]])
SHOCKS = np.array([[1.0, 0.3], [0.3, 0.5]])
NOISE = np.array([[0.6, -0.2], [-0.2, 0.4]])
STATE = dt.Dim("state", length=2)


def vectors(time):
    """Return a vector autoregression, whose first value has the covariance of a shock."""
    to = STATE.rename("to")

    def step(before):
        mean = dt.dot(dt.data(TRANSITION, dims=[to, STATE]), before, dim=STATE)
        return dist.MvNormal(mean.relabel(to, STATE), matrix(SHOCKS)), lambda value: value

    return dt.rv("x", dist.Series(step, dt.zeros(STATE), dim=time))


def matrix(values):
    return dt.data(values, dims=[STATE, STATE.rename()])


@pytest.mark.parametrize("covariance", [False, True])
def test_vectors(covariance):
    """Elements of an observed vector, some of them missing, and of independent series."""
    time = dt.Dim("time", length=8)
    y = numbers(2, 8, 2, missing=[(2, 0), (5, 0), (5, 1)])
    x = vectors(time)
    noise = NOISE if covariance else 0.36 * np.eye(2)
    d = dist.MvNormal(x, matrix(noise)) if covariance else dist.Normal(x, 0.6)
    seen = dt.rv("y", d)
    fit = dt.Model(seen, backend="python").observe({seen: (("time", "state"), y)}, missing="drop")
    found = fit.marginalize(x).residuals({})
    model = filtered(y, np.eye(2), noise, TRANSITION, SHOCKS, np.zeros(2), SHOCKS)
    in_order = {group: found[group].ds.transpose("time", "state") for group in GROUPS}
    agree(in_order, "y", expected(model, y))


def test_several_variables_of_vectors():
    time, y = dt.Dim("time", length=8), numbers(3, 8, 2, missing=[(2, 0), (6, 1)])
    x = vectors(time)
    one = dt.rv("one", dist.Normal(x.isel(state=0), 0.5))
    two = dt.rv("two", dist.Normal(x.sum(STATE), 0.8))
    fit = dt.Model(one, two, backend="python")
    fit = fit.observe({one: y[:, 0], two: y[:, 1]}, missing="drop").marginalize(x)
    found, noise = fit.residuals({}), np.diag([0.25, 0.64])
    design = [[1.0, 0.0], [1.0, 1.0]]
    model = filtered(y, design, noise, TRANSITION, SHOCKS, np.zeros(2), SHOCKS)
    for at, name in enumerate(["one", "two"]):
        agree(found, name, [values[:, at] for values in expected(model, y)])


def test_several_variables_of_a_walk():
    """One of them has several elements at a position, another none at the first ones."""
    day, sensor, y = dt.Dim("day", length=7), dt.Dim("sensor", length=2), numbers(4, 7, 3)
    y[2, 1] = y[:2, 2] = np.nan
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, 0.4, dim=day, start=dist.Normal(0.5, 2.0)))
    one = dt.rv("one", dist.Normal(level, 0.5), dims=sensor)
    two = dt.rv("two", dist.Normal(2.0 * level + 1.0, 0.8))
    fit = dt.Model(one, two, backend="python")
    known = {one: (("day", "sensor"), y[:, :2]), two: (("day",), y[:, 2])}
    fit = fit.observe(known, missing="drop").marginalize(level)
    found, noise = fit.residuals({}), np.diag([0.25, 0.25, 0.64])
    moved = y - [0.0, 0.0, 1.0]
    model = filtered(moved, [[1.0], [1.0], [2.0]], noise, [[1.0]], [[0.16]], [0.5], [[4.0]])
    means, errors, standardized = expected(model, moved)
    values = (means + np.array([0.0, 0.0, 1.0]), errors, standardized)
    in_order = {group: found[group].ds.transpose("day", "sensor") for group in GROUPS}
    agree(in_order, "one", [x[:, :2] for x in values])
    agree(in_order, "two", [x[:, 2] for x in values])


def test_unknown_mean_and_another_chain():
    """The mean is a part of the state; other observations have a chain of their own."""
    y, day, week = numbers(9, 7, missing=[1]), dt.Dim("day", length=7), dt.Dim("week", length=7)
    mu = dt.rv("mu", dist.Normal(0.0, 3.0))
    start = dist.Normal(0.5, 2.0)
    level, other = (
        dt.rv(name, dist.GaussianRandomWalk(0.0, 0.4, dim=dim, start=start))
        for name, dim in (("level", day), ("other", week))
    )
    one, two = dt.rv("one", dist.Normal(level + mu, 0.5)), dt.rv("two", dist.Normal(other, 0.7))
    fit = dt.Model(one, two, backend="python").observe({one: y, two: y}, missing="drop")
    found = fit.marginalize(level, mu, other).residuals({})
    design, shocks, start = [[1.0, 1.0]], np.diag([0.16, 0.0]), ([0.5, 0.0], np.diag([4.0, 9.0]))
    model = filtered(y[:, None], design, [[0.25]], np.eye(2), shocks, *start)
    agree(found, "one", [x[:, 0] for x in expected(model, y[:, None])])
    agree(found, "two", walk(y, 0.4, 0.7))


@pytest.mark.parametrize("late", [False, True])
def test_second_order(late):
    """An autoregression of order two, of several series, seen with noise."""
    y = numbers(5, 8, 2, missing=[(1, 0), (4, 1)])
    day = dt.Dim("day", length=None if late else 8)
    site = dt.Dim("site", coords=["a", "b"])
    lag = dt.Dim("lag", length=2)
    phi = dt.data([0.5, 0.3], dims=lag)
    latent = dist.AR(phi, 0.6, dim=day, lag=lag, start=dist.Normal(0.0, 2.0))
    x = dt.rv("x", latent, dims=site)
    seen = dt.rv("y", dist.Normal(x, 0.4))
    fit = dt.Model(seen, backend="python").observe({seen: (("day", "site"), y)}, missing="drop")
    found = fit.marginalize(x).residuals({})
    for at, name in enumerate(["a", "b"]):
        # the state before the first day that makes the first two values independent
        first = filtered(y[:1, at, None], [[1.0]], [[0.16]], [[1.0]], [[4.0]], [0.0], [[4.0]])
        rest = filtered_after(first, y[1:, at])
        values = [
            np.concatenate([one[:, 0], other[:, 0]])
            for one, other in zip(
                expected(first, y[:1, at, None]), expected(rest, y[1:, at, None]), strict=True
            )
        ]
        agree({group: found[group].ds.sel(site=name) for group in GROUPS}, "y", values)


def filtered_after(first, y):
    """Filter from the second value on, whose distribution is independent of the first one."""
    mean, cov = first.filtered_state[0, 0], first.filtered_state_cov[0, 0, 0]
    transition, shocks = [[0.5, 0.3], [1.0, 0.0]], [[0.36, 0.0], [0.0, 0.0]]
    start = ([0.0, mean], np.diag([4.0, cov]))
    return filtered(y[:, None], [[1.0, 0.0]], [[0.16]], transition, shocks, *start)


@pytest.mark.parametrize("lengths", [[3, 1, 4], [2, 0, 3]])
def test_ragged(lengths):
    parent = dt.Dim("parent", coords=["a", "b", "c"])
    visit = dt.ragged("visit", within=parent, lengths=lengths)
    count = sum(lengths)
    y = numbers(6, count, missing=[1])
    steps = dist.Series(lambda x: (dist.Normal(x, 0.4), lambda value: value), 0.5, dim=visit)
    level = dt.rv("level", steps)
    seen = dt.rv("y", dist.Normal(level, 0.5))
    fit = dt.Model(seen, backend="python").observe({seen: dt.data(y, dims=visit)}, missing="drop")
    found = fit.marginalize(level).residuals({})
    starts = np.cumsum([0, *lengths])
    each = [walk(y[a:b], 0.4, 0.5, sd=0.4) for a, b in pairwise(starts) if a < b]
    agree(found, "y", [np.concatenate(parts) for parts in zip(*each, strict=True)])


def test_independent_observations():
    """Without a chain these are the observations less their means."""
    k, rng = dt.Dim("k", length=5), np.random.default_rng(7)
    y, x = rng.normal(size=(5, 2)), rng.normal(size=5)
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    one = dt.rv("one", dist.Normal(slope * dt.data(x, dims=k), 0.5))
    two = dt.rv("two", dist.MvNormal(slope, matrix(NOISE)), dims=k)
    fit = dt.Model(one, two, backend="python")
    found = fit.observe({one: y[:, 0], two: (("k", "state"), y)}).residuals({"slope": 2.0})
    error = y[:, 0] - 2.0 * x
    agree(found, "one", [2.0 * x, error, error / 0.5])
    in_order = {group: found[group].ds.transpose("k", "state") for group in GROUPS}
    agree(in_order, "two", [np.full((5, 2), 2.0), y - 2.0, (y - 2.0) / np.sqrt(np.diag(NOISE))])


def test_white_if_the_model_is_right():
    """Simulated by NumPy: mean 0, variance 1, no correlation; not so with another model."""
    rng, n = np.random.default_rng(8), 4000
    y = np.cumsum(rng.normal(0.0, 0.5, size=n)) + rng.normal(size=n) + rng.normal()
    day = dt.Dim("day", length=n)

    def white(step):
        level = dt.rv("level", dist.GaussianRandomWalk(0.0, step, dim=day, start=dist.Normal()))
        seen = dt.rv("y", dist.Normal(level, 1.0))
        fit = dt.Model(seen, backend="python").observe({seen: y}).marginalize(level)
        z = fit.residuals({})["standardized_residuals"]["y"].values
        lags = [np.mean(z[by:] * z[:-by]) for by in (1, 2, 3)]
        return np.array([z.mean(), z.var() - 1.0, *lags]) * np.sqrt(n)

    assert np.abs(white(0.5)).max() < 4.0
    assert np.abs(white(0.1)).max() > 10.0


def test_refused():
    day = dt.Dim("day", length=3)
    counts = dt.rv("counts", dist.Poisson(2.0), dims=day)
    with pytest.raises(GraphError, match="'counts': its distribution is Poisson, not Normal"):
        dt.Model(counts).observe({counts: [1, 2, 3]}).residuals({})
    with pytest.raises(GraphError, match="the model has no observations"):
        dt.Model(counts).residuals({})
    with pytest.raises(dt.OptionError, match="store= and chunks= are for draws"):
        dt.Model(counts).observe({counts: [1, 2, 3]}).residuals({}, store="residuals.zarr")
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, 0.4, dim=day, start=dist.Normal()))
    later = dt.rv("later", dist.Normal(level.shift(day=-1, fill_value=0.0), 1.0))
    fit = dt.Model(later).observe({later: [1.0, 2.0, 3.0]}).marginalize(level)
    with pytest.raises(GraphError, match="'later': it depends on later elements"):
        fit.residuals({})
    one = dt.rv("one", dist.Normal(level, 1.0))
    two = dt.rv("two", dist.Normal(level + one, 1.0))
    fit = dt.Model(one, two).observe({one: [1.0, 2.0, 3.0], two: [1.0, 2.0, 3.0]})
    with pytest.raises(GraphError, match="'one': 'two' depends on its values"):
        fit.marginalize(level).residuals({})
    visit = dt.ragged("visit", within=dt.Dim("parent", length=2), lengths=[2, 1])
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, 0.4, dim=visit, start=dist.Normal()))
    fit = dt.Model(seen := dt.rv("y", dist.Normal(level, 1.0))).observe({seen: np.zeros(3)})
    with pytest.raises(GraphError, match="'y': a walk along a ragged dim has no predictions"):
        fit.marginalize(level).residuals({})
    kind = dt.rv("kind", dist.Bernoulli(0.3), dims=day)
    fit = dt.Model(seen := dt.rv("y", dist.Normal(1.0 * kind, 0.5))).observe({seen: np.zeros(3)})
    with pytest.raises(GraphError, match="'y': it is a mixture given earlier elements, over 'kind"):
        fit.marginalize(kind).residuals({})


@pytest.mark.parametrize("n", [1, 2])
def test_short_series_of_late_length(n):
    day, y = dt.Dim("day"), np.array([2.0, 2.5])[:n]
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, 0.4, dim=day, start=dist.Normal(0.5, 2.0)))
    seen = dt.rv("y", dist.Normal(level, 0.7))
    fit = dt.Model(seen, backend="python").observe({seen: y}).marginalize(level)
    agree(fit.residuals({}), "y", walk(y, 0.4, 0.7))
