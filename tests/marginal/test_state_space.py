"""Chains of normal vectors integrated out, beside the quadratic form of the density in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.marginal.frontend import Marginal, read_unknowns
from dimtensor.marginal.recovery import positions
from dimtensor.random import generator

N = 4


def integral(terms, unknowns):
    """Log of the integral, mean and covariance, from values of the quadratic log density."""
    total = sum(x.sum() if x.dims else x for x in terms.values())
    f = dt.function(unknowns, total, backend="python")
    shapes = [tuple(len(dim) for dim in x.dims) for x in unknowns]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    n = ends[-1]
    eye, rows, cols = np.eye(n), *np.tril_indices(n, -1)
    points = np.concatenate([np.zeros((1, n)), eye, -eye, eye[rows] + eye[cols]])
    values = [
        xr.DataArray(points[:, a:b].reshape(-1, *shape), dims=["point", *(d.name for d in x.dims)])
        for x, shape, a, b in zip(unknowns, shapes, ends[:-1], ends[1:], strict=True)
    ]
    found = f(*values).values
    zero, plus, minus, both = np.split(found, [1, 1 + n, 1 + 2 * n])
    slope, precision = (plus - minus) / 2, np.diag(2 * zero[0] - plus - minus)
    precision[rows, cols] = precision[cols, rows] = plus[rows] + plus[cols] - both - zero[0]
    mean, logdet = np.linalg.solve(precision, slope), np.linalg.slogdet(precision)[1]
    value = zero[0] + 0.5 * slope @ mean + 0.5 * n * np.log(2 * np.pi) - 0.5 * logdet
    return value, mean, np.linalg.inv(precision)


def flat(found, unknowns, *beside):
    """Join values of unknowns, in the order of their dims."""
    parts = [found[x.node.name].transpose(*(d.name for d in x.dims), *beside) for x in unknowns]
    return np.concatenate([x.values.reshape(-1, *(x.sizes[d] for d in beside)) for x in parts])


TIME = dt.Dim("time", length=N)
S = dt.Dim("s", coords=["a", "b"])


def covariance(rng, *lead):
    root = rng.normal(size=(*lead, 2, 2))
    return root @ root.swapaxes(-1, -2) + np.eye(2)


def matrix(values):
    return dt.data(values, dims=[S, S.rename()])


def moved(values, x):
    """Multiply a vector by a matrix."""
    to = S.rename("to")
    return dt.dot(dt.data(values, dims=[to, S]), x, dim=S).relabel(to, S)


def vector_series(rng):
    """A vector autoregression with an unknown start, as a series."""
    x, x0 = dt.tensor("x", dims=[TIME, S]), dt.tensor("x0", dims=S)
    v, f, y = covariance(rng), rng.normal(size=(2, 2)), rng.normal(size=N)
    series = dist.Series(
        lambda before: (dist.MvNormal(moved(f, before), matrix(v)), lambda value: value),
        x0, dim=TIME,
    )  # fmt: skip
    seen = dist.Normal(x.sum(S), 0.6).logp(dt.data(y, dims=TIME))
    return {"x0": dist.MvNormal(0.3, matrix(v)).logp(x0), "x": series.logp(x), "y": seen}, [x, x0]


def scalar_series(rng):
    """An autoregression of one number."""
    x, y = dt.tensor("x", dims=TIME), dt.data(rng.normal(size=N), dims=TIME)
    series = dist.Series(lambda b: (dist.Normal(0.5 * b, 0.7), lambda v: v), 0.3, dim=TIME)
    return {"x": series.logp(x), "y": dist.Normal(2.0 * x, 0.4).logp(y)}, [x]


def vector_walk(rng):
    """Walks of independent groups, covariances that change, and a mean that is unknown, too."""
    g = dt.Dim("g", length=2)
    x, m = dt.tensor("x", dims=[TIME, S, g]), dt.tensor("m", dims=S)
    y = dt.data(rng.normal(size=(N, 2, 2)), dims=[TIME, g, S])
    later = dt.data(covariance(rng, N), dims=[TIME, S, S.rename()])
    start = dist.MvNormal(0.0, matrix(covariance(rng)))
    walk = dist.RandomWalk(dist.MvNormal(0.1, later), dim=TIME, start=start)
    seen = dist.MvNormal(x + m, tau=matrix(covariance(rng))).logp(y)
    return {"m": dist.Normal(0.0, 1.0).logp(m), "x": walk.logp(x), "y": seen}, [x, m]


def with_missing(rng):
    """Several series of the same states, some elements missing, and independent groups."""
    g, k = dt.Dim("g", length=2), dt.Dim("k", length=3)
    x = dt.tensor("x", dims=[TIME, S, g])
    y, there = rng.normal(size=(N, 2, 3)), rng.random((N, 2, 3)) < 0.6
    y = dt.data(np.where(there, y, np.nan), dims=[TIME, g, k])
    loads = dt.data(rng.normal(size=(3, 2)), dims=[k, S])
    walk = dist.RandomWalk(
        dist.MvNormal(0.0, matrix(covariance(rng))), dim=TIME, start=dist.Normal(0.0, 2.0)
    )
    seen = dist.Normal(dt.dot(loads, x, dim=S), 0.5).logp(y)
    there = dt.data(there, dims=[TIME, g, k])
    return {"x": walk.logp(x), "y": dt.where(there, seen, 0.0)}, [x]


def innovations(rng):
    """ARMA of observed values: only the first prediction is unknown."""
    first, y = dt.tensor("first"), dt.data(rng.normal(size=N), dims=TIME)
    series = dist.Series(
        lambda mean: (dist.Normal(mean, 0.9), lambda v: 0.7 * v + 0.3 * (v - mean)), first, dim=TIME
    )
    return {"first": dist.Normal(0.0, 1.3).logp(first), "y": series.logp(y)}, [first]


def noise_of_loop(rng):
    """States of a loop over noise; they have no density of their own."""
    noise, y = dt.tensor("noise", dims=TIME), dt.data(rng.normal(size=N), dims=TIME)
    level = dt.cumulate(lambda b, e: 0.9 * b + 0.5 * e, 0.2, noise, dim=TIME)
    return {
        "noise": dist.Normal(0.0, 1.0).logp(noise),
        "y": dist.Normal(level, 0.4).logp(y),
    }, [noise]


def parts_that_add_up(rng):
    """Level and seasons with unknown starts."""
    lag = dt.Dim("lag", length=2)
    start, season = dt.tensor("start", dims=lag), dt.tensor("season", dims=TIME)
    level, y = dt.tensor("level", dims=TIME), dt.data(rng.normal(size=N), dims=TIME)
    nearest = dt.arange(lag) == 0
    seasons = dist.Series(
        lambda b: (
            dist.Normal(-b.sum(lag), 0.2),
            lambda v: dt.where(nearest, v, b.shift({lag: 1}, fill_value=0.0)),
        ),
        start, dim=TIME,
    )  # fmt: skip
    walk = dist.GaussianRandomWalk(0.1, 0.5, dim=TIME, start=dist.Normal(0.0, 3.0))
    return {
        "start": dist.Normal(0.0, 1.0).logp(start),
        "season": seasons.logp(season),
        "level": walk.logp(level),
        "y": dist.Normal(level + season, 0.4).logp(y),
    }, [start, season, level]


def second_order(rng):
    """A vector autoregression of order two, seen in its first positions only."""
    x = dt.tensor("x", dims=[TIME, S])
    late, early = (dt.SelDim(TIME, positions=p) for p in (slice(2, None), slice(None, 3)))
    one = x.isel(time=slice(1, -1)).relabel(dt.SelDim(TIME, positions=slice(1, -1)), late)
    two = x.isel(time=slice(None, -2)).relabel("time", late)
    step = dist.MvNormal(0.6 * one - 0.3 * two, matrix(covariance(rng)))
    seen = dist.MvNormal(x.isel(time=slice(None, 3)), matrix(covariance(rng)))
    return {
        "x": step.logp(x.isel(time=slice(2, None))),
        "first": dist.Normal(0.0, 1.7).logp(x.isel(time=slice(None, 2))),
        "y": seen.logp(dt.data(rng.normal(size=(3, 2)), dims=[early, S])),
    }, [x]


def noise_seen_twice(rng):
    """Observations that depend on the noise of the states, beside an unknown start."""
    x, x0 = dt.tensor("x", dims=[TIME, S]), dt.tensor("x0", dims=S)
    f, c, v = 0.5 * rng.normal(size=(2, 2)), rng.normal(size=(2, 2)), covariance(rng)
    series = dist.Series(
        lambda before: (dist.MvNormal(moved(f, before), matrix(v)), lambda value: value),
        x0, dim=TIME,
    )  # fmt: skip
    noise = x - moved(f, x.shift({TIME: 1}, fill_value=0.0))
    y = dt.data(rng.normal(size=(N, 2)), dims=[TIME, S])
    return {
        "x0": dist.Normal(0.0, 1.0).logp(x0),
        "x": series.logp(x),
        "y": dist.MvNormal(x + moved(c, noise), matrix(covariance(rng))).logp(y),
    }, [x, x0]


def joint_noise(rng):
    """One normal vector with the noise of observations and that of the following states."""
    kind = dt.Dim("kind", coords=["state", "observation"])
    e, v = (
        dt.tensor("e", dims=[TIME, kind]),
        dt.data(covariance(rng), dims=[kind, kind.rename()]),
    )
    level = dt.cumulate(lambda b, e: 0.9 * b + e, 0.2, e.sel(kind="state"), dim=TIME)
    mean = level.shift({TIME: 1}, fill_value=0.2) + e.sel(kind="observation")
    y = dt.data(rng.normal(size=N), dims=TIME)
    return {"e": dist.MvNormal(0.0, v).logp(e), "y": dist.Normal(mean, 0.1).logp(y)}, [e]


def late_outputs(rng):
    """Outputs of a loop several positions late, which are not its state."""
    noise, y = dt.tensor("noise", dims=TIME), dt.data(rng.normal(size=N), dims=TIME)
    _, x = dt.scan(lambda b, e: (0.9 * b + e, 2.0 * b + e), 0.2, noise, dim=TIME)
    late = [x.shift({TIME: by}, fill_value=0.2) for by in (1, 3)]
    seen = dist.Normal(x + 0.5 * late[0] - 0.3 * late[1], 0.5)
    return {"noise": dist.Normal(0.0, 0.7).logp(noise), "y": seen.logp(y)}, [noise]


def late_states(rng):
    """States of a loop two positions late."""
    noise, y = dt.tensor("noise", dims=TIME), dt.data(rng.normal(size=N), dims=TIME)
    x = dt.cumulate(lambda b, e: 0.9 * b + e, 0.2, noise, dim=TIME)
    seen = dist.Normal(x + 0.5 * x.shift({TIME: 2}, fill_value=0.2), 0.5)
    return {"noise": dist.Normal(0.0, 0.7).logp(noise), "y": seen.logp(y)}, [noise]


def regression(rng):
    """Values along the chain times a coefficient that is unknown, too."""
    x, b, v = dt.tensor("x", dims=[TIME, S]), dt.tensor("b", dims=S), covariance(rng)
    w, y = (dt.data(rng.normal(size=(N, 2)), dims=[TIME, S]) for _ in range(2))
    walk = dist.RandomWalk(dist.MvNormal(0.0, matrix(v)), dim=TIME, start=dist.Normal(0.0, 2.0))
    return {
        "b": dist.Normal(0.0, 1.0).logp(b),
        "x": walk.logp(x),
        "y": dist.MvNormal(x + w * b, matrix(covariance(rng))).logp(y),
    }, [x, b]


def flat_starts(rng):
    """Trends of groups, the starts and a common coefficient of which have flat densities."""
    g = dt.Dim("g", length=2)
    level, slope = dt.tensor("level", dims=[TIME, g]), dt.tensor("slope", dims=[TIME, g])
    b, w = dt.tensor("b", dims=g), dt.data(rng.normal(size=(N, 2)), dims=[TIME, g])
    y, flat = dt.data(rng.normal(size=(N, 2)), dims=[TIME, g]), dist.Flat()
    drift = slope.shift({TIME: 1}, fill_value=0.0)
    return {
        "b": flat.logp(b),
        "slope": dist.GaussianRandomWalk(0.0, 0.3, dim=TIME, start=flat).logp(slope),
        "level": dist.GaussianRandomWalk(drift, 0.5, dim=TIME, start=flat).logp(level),
        "y": dist.Normal(level + w * b, 0.4).logp(y),
    }, [b, slope, level]


def flat_vector(rng):
    """A vector autoregression whose start has a flat density, all seen in correlated noise."""
    x, x0 = dt.tensor("x", dims=[TIME, S]), dt.tensor("x0", dims=S)
    v, f = covariance(rng), rng.normal(size=(2, 2))
    series = dist.Series(
        lambda before: (dist.MvNormal(moved(f, before), matrix(v)), lambda value: value),
        x0, dim=TIME,
    )  # fmt: skip
    seen = dist.MvNormal(x, matrix(covariance(rng)))
    y = dt.data(rng.normal(size=(N, 2)), dims=[TIME, S])
    return {"x0": dist.Flat().logp(x0), "x": series.logp(x), "y": seen.logp(y)}, [x, x0]


def joint_with_observations(rng):
    """States and observations of one normal density, of independent groups."""
    g, part = dt.Dim("g", length=2), dt.Dim("part", length=3)
    x, root = dt.tensor("x", dims=[TIME, g]), rng.normal(size=(3, 3))
    cov = dt.data(root @ root.T + np.eye(3), dims=[part, part.rename()])
    one, two = (dt.data(rng.normal(size=(N, 2)), dims=[TIME, g]) for _ in range(2))
    before = x.shift(time=1, fill_value=0.3)
    mean = dt.stack([0.7 * before, before, -0.4 * before], part)
    return {"both": dist.MvNormal(mean, cov).logp(dt.stack([x, one, two], part))}, [x]


MODELS = [
    vector_series, scalar_series, vector_walk, with_missing, innovations, noise_of_loop,
    parts_that_add_up, second_order, noise_seen_twice, joint_noise, late_outputs, late_states,
    regression, flat_starts, flat_vector, joint_with_observations,
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda f: f.__name__)
def test_integrals_and_means(model):
    """By a loop along time: no Cholesky factor of all elements."""
    terms, unknowns = model(np.random.default_rng(3))
    value, mean, _ = integral(terms, unknowns)
    nodes = {name: x.node for name, x in terms.items()}
    known = read_unknowns(unknowns, {})
    marginal = Marginal(nodes, known)
    assert [type(step).__name__ for step in marginal.steps] == ["MatrixFilter"]
    found = {**positions(nodes, known, None), "logp": marginal.logp}
    found = dt.function([], found, backend="python")()
    assert float(found["logp"]) == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(flat(found, unknowns), mean, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("n", [0, 1])
def test_short_series(n, late):
    time = dt.Dim("time", length=None if late else n)
    x, y = dt.tensor("x", dims=time), dt.tensor("y", dims=time)
    d = dist.Series(lambda b: (dist.Normal(0.5 * b, 1.0), lambda v: v), 0.4, dim=time)
    logp = dt.marginalize({"x": d.logp(x), "y": dist.Normal(x, 0.5).logp(y)}, x)
    found = dt.function([y], logp, backend="python")(np.zeros(n))
    expected = stats.norm.logpdf(0.0, 0.2, np.sqrt(1.25)) * n
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("late", [False, True])
def test_one_step_ahead(late):
    """Densities of several series, some elements missing, given earlier ones; they add up."""
    time, y = (
        dt.Dim("time", length=None if late else N),
        np.random.default_rng(6).normal(size=(N, 2)),
    )
    y[1, 0] = np.nan
    cov, noise = matrix(covariance(np.random.default_rng(7))), dt.rv("noise", dist.HalfNormal(1.0))
    walk = dist.RandomWalk(dist.MvNormal(0.0, cov), dim=time, start=dist.MvNormal(0.2, cov))
    x = dt.rv("x", walk)
    seen = dt.rv("y", dist.Normal(x, noise))
    fit = dt.Model(seen).observe({seen: (("time", "s"), y)}, missing="drop").marginalize(x)
    post = xr.Dataset({"noise": (("chain", "draw"), [[0.7]])})
    ahead = fit.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["y"].squeeze()
    assert ahead.dims == ("time",)
    whole = fit.log_likelihood(post, grouped=True)["log_likelihood"]["y"].squeeze()
    assert float(ahead.sum()) == pytest.approx(float(whole), rel=1e-12)
    first = cov.eval().values + 0.49 * np.eye(2)
    expected = stats.multivariate_normal.logpdf(y[0], [0.2, 0.2], first)
    assert float(ahead[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [vector_series, with_missing, flat_starts], ids=lambda f: f.__name__
)
def test_draws(model):
    terms, unknowns = model(np.random.default_rng(4))
    _, mean, expected = integral(terms, unknowns)
    many, rng = dt.Dim("many", length=4000), generator(1)

    def normal(dims):
        nonlocal rng
        x, rng = rng.normal(0.0, 1.0, dims=tuple(dict.fromkeys((*dims, many))))
        return x

    nodes = {name: x.node for name, x in terms.items()}
    found = positions(nodes, read_unknowns(unknowns, {}), lambda dims: dt.zeros(dims), normal)
    draws = flat(dt.function([], found, backend="python")(), unknowns, "many")
    sd = np.sqrt(np.diag(expected))
    assert np.abs((draws.mean(1) - mean) / sd).max() < 5 / np.sqrt(4000)
    assert np.abs((np.cov(draws) - expected) / np.outer(sd, sd)).max() < 7 / np.sqrt(4000)
