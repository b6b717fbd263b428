"""Jointly normal unknowns integrated out, beside dense matrices in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.marginal.frontend import read_unknowns
from dimtensor.marginal.recovery import positions
from dimtensor.random import generator
from tests.backend_names import LONG_JAX_COMPILED

SCALE = dt.scalar("scale")


class Rows:
    """Normal terms as rows of a linear map: the log density of (row @ x + offset) / sd."""

    def __init__(self, **sizes):
        self.starts, self.size = {}, 0
        for name, size in sizes.items():
            self.starts[name] = self.size
            self.size += size
        self.rows, self.offsets, self.sds = [], [], []

    def add(self, offset, sd, **entries):
        """`entries` are pairs of position and coefficient, or several of them, by variable."""
        row = np.zeros(self.size)
        for name, pairs in entries.items():
            for at, value in pairs:
                row[self.starts[name] + at] += value
        self.rows.append(row)
        self.offsets.append(offset)
        self.sds.append(sd)

    def logp(self, scale):
        """Of the integral over all variables; `sds` may be functions of the scale."""
        a, b = np.array(self.rows), np.array(self.offsets)
        s = np.array([sd(scale) if callable(sd) else sd for sd in self.sds])
        a, b = a / s[:, None], b / s
        precision, h = a.T @ a, -a.T @ b
        constant = -0.5 * (b**2).sum() - np.log(s).sum() - 0.5 * len(s) * np.log(2 * np.pi)
        _, logdet = np.linalg.slogdet(precision / (2 * np.pi))
        return constant + 0.5 * h @ np.linalg.solve(precision, h) - 0.5 * logdet

    def moments(self, scale):
        """Mean and covariance of the variables."""
        a, b = np.array(self.rows), np.array(self.offsets)
        s = np.array([sd(scale) if callable(sd) else sd for sd in self.sds])
        a, b = a / s[:, None], b / s
        covariance = np.linalg.inv(a.T @ a)
        return -covariance @ a.T @ b, covariance


def scaled(factor=1.0):
    return lambda scale: factor * scale


def after(dim, by=1):
    return dt.SelDim(dim, positions=slice(by, None))


def groups(rng):
    """Effects of groups, one of which all share, read by observations."""
    g, o = dt.Dim("g", length=3), dt.Dim("o", length=6)
    of, y, w = rng.integers(0, 3, 6), rng.normal(size=6), rng.normal(size=6)
    x, m = dt.tensor("x", dims=g), dt.tensor("m")
    rows = Rows(x=3, m=1)
    terms = {
        "m": dist.Normal(0.3, 2.0).logp(m),
        "x": dist.Normal(m, SCALE).logp(x),
        "y": dist.Normal(
            1.0 + dt.data(w, dims=o) * x.sel(g=dt.data(of, dims=o, categories=g)) / 2.0, 0.7
        ).logp(dt.data(y, dims=o)),
    }
    rows.add(-0.3, 2.0, m=[(0, 1.0)])
    for k in range(3):
        rows.add(0.0, scaled(), x=[(k, 1.0)], m=[(0, -1.0)])
    for k in range(6):
        rows.add(y[k] - 1.0, 0.7, x=[(of[k], -w[k] / 2.0)])
    return terms, [x, m], rows


def local_level(rng):
    """A random walk with a mean that is unknown, too, and some values missing."""
    n = 6
    t = dt.Dim("t", length=n)
    level, m = dt.tensor("level", dims=t), dt.tensor("m")
    y, there = rng.normal(size=n), rng.random(n) < 0.7
    walk = dist.GaussianRandomWalk(0.1, SCALE, dim=t, start=dist.Normal(0.5, 1.5))
    seen = dist.Normal(level + m, 0.6).logp(dt.data(y, dims=t))
    terms = {
        "level": walk.logp(level),
        "m": dist.Normal(0.0, 1.0).logp(m),
        "y": dt.where(dt.data(there, dims=t), seen, 0.0),
    }
    rows = Rows(level=n, m=1)
    rows.add(-0.5, 1.5, level=[(0, 1.0)])
    rows.add(0.0, 1.0, m=[(0, 1.0)])
    for k in range(1, n):
        rows.add(-0.1, scaled(), level=[(k, 1.0), (k - 1, -1.0)])
    for k in np.flatnonzero(there):
        rows.add(y[k], 0.6, level=[(k, -1.0)], m=[(0, -1.0)])
    return terms, [level, m], rows


def autoregression(rng):
    """Order two along a dim, with variances that change, for several series."""
    n, m = 5, 2
    t, i = dt.Dim("t", length=n), dt.Dim("i", length=m)
    z, y = dt.tensor("z", dims=[i, t]), rng.normal(size=(m, n))
    sd = rng.uniform(0.4, 1.2, size=(n - 2))
    late = after(t, 2)
    one = z.isel(t=slice(1, -1)).relabel(dt.SelDim(t, positions=slice(1, -1)), late)
    two = z.isel(t=slice(None, -2)).relabel("t", late)
    error = z.isel(t=slice(2, None)) - 0.6 * one + 0.3 * two
    terms = {
        "start": dist.Normal(0.0, 1.0).logp(z.isel(t=slice(None, 2))),
        "z": dist.Normal(0.0, SCALE * dt.data(sd, dims=late)).logp(error),
        "y": dist.Normal(2.0 * z, 0.5).logp(dt.data(y, dims=[i, t])),
    }
    rows = Rows(z=n * m)
    for a in range(m):
        for k in range(n):
            rows.add(y[a, k], 0.5, z=[(a * n + k, -2.0)])
        for k in range(2):
            rows.add(0.0, 1.0, z=[(a * n + k, 1.0)])
        for k in range(2, n):
            pairs = [(a * n + k, 1.0), (a * n + k - 1, -0.6), (a * n + k - 2, 0.3)]
            rows.add(0.0, scaled(sd[k - 2]), z=pairs)
    return terms, [z], rows


def trend(rng):
    """A level and its slope, which move each other: a state of two numbers."""
    n = 7
    t = dt.Dim("t", length=n)
    level, slope, y = dt.tensor("level", dims=t), dt.tensor("slope", dims=t), rng.normal(size=n)
    late = after(t)

    def before(x):
        return x.isel(t=slice(None, -1)).relabel("t", late)

    terms = {
        "level": dist.Normal(before(level) + before(slope), 0.4).logp(level.isel(t=slice(1, None))),
        "slope": dist.Normal(before(slope), SCALE).logp(slope.isel(t=slice(1, None))),
        "level0": dist.Normal(0.0, 3.0).logp(level.isel(t=0)),
        "slope0": dist.Normal(0.2, 1.0).logp(slope.isel(t=0)),
        "y": dist.Normal(level, 0.5).logp(dt.data(y, dims=t)),
    }
    rows = Rows(level=n, slope=n)
    rows.add(0.0, 3.0, level=[(0, 1.0)])
    rows.add(-0.2, 1.0, slope=[(0, 1.0)])
    for k in range(n):
        rows.add(y[k], 0.5, level=[(k, -1.0)])
    for k in range(1, n):
        rows.add(0.0, 0.4, level=[(k, 1.0), (k - 1, -1.0)], slope=[(k - 1, -1.0)])
        rows.add(0.0, scaled(), slope=[(k, 1.0), (k - 1, -1.0)])
    return terms, [level, slope], rows


def vector(rng):
    """A state of three numbers, which a matrix moves, seen by two that another one mixes."""
    n, m = 5, 3
    t, k, seen = dt.Dim("t", length=n), dt.Dim("k", length=m), dt.Dim("seen", coords=["a", "b"])
    to = k.rename("to")
    x, y = dt.tensor("x", dims=[t, k]), rng.normal(size=(n, 2))
    move, load = 0.5 * rng.normal(size=(m, m)), rng.normal(size=(2, m))
    sd = np.array([0.5, 1.0, 0.8])
    before = x.isel(t=slice(None, -1)).relabel("t", after(t))
    moved = (dt.data(move, dims=[to, k]) * before).sum(k).rename({to: k})
    terms = {
        "start": dist.Normal(0.5, 2.0).logp(x.isel(t=0)),
        "x": dist.Normal(moved, SCALE * dt.data(sd, dims=k)).logp(x.isel(t=slice(1, None))),
        "y": dist.Normal(dt.dot(dt.data(load, dims=[seen, k]), x, dim=k), 0.4).logp(
            dt.data(y, dims=[t, seen])
        ),
    }
    rows = Rows(x=n * m)
    for j in range(m):
        rows.add(-0.5, 2.0, x=[(j * n, 1.0)])
    for at in range(n):
        for i in range(2):
            rows.add(y[at, i], 0.4, x=[(j * n + at, -load[i, j]) for j in range(m)])
        for i in range(m if at else 0):
            earlier = [(j * n + at - 1, -move[i, j]) for j in range(m)]
            rows.add(0.0, scaled(sd[i]), x=[(i * n + at, 1.0), *earlier])
    return terms, [x], rows


def regression(rng):
    """Slopes of a regression, whose predictors are the elements along a dim."""
    n, m = 8, 3
    o, k = dt.Dim("o", length=n), dt.Dim("k", length=m)
    b, x, y = dt.tensor("b", dims=k), rng.normal(size=(n, m)), rng.normal(size=n)
    terms = {
        "b": dist.Normal(0.3, SCALE).logp(b),
        "y": dist.Normal(dt.dot(dt.data(x, dims=[o, k]), b, dim=k), 0.5).logp(dt.data(y, dims=o)),
    }
    rows = Rows(b=m)
    for j in range(m):
        rows.add(-0.3, scaled(), b=[(j, 1.0)])
    for i in range(n):
        rows.add(y[i], 0.5, b=[(j, -x[i, j]) for j in range(m)])
    return terms, [b], rows


def in_part(rng):
    """A walk that is seen in the middle, by a table of positions, and once more at one of them."""
    n = 7
    t, o = dt.Dim("t", length=n), dt.Dim("o", length=4)
    x, late = dt.tensor("x", dims=t), rng.normal(size=3)
    when, y, once = rng.integers(0, n, 4), rng.normal(size=4), rng.normal()
    walk = dist.GaussianRandomWalk(0.1, SCALE, dim=t, start=dist.Normal(0.5, 1.5))
    middle = x.isel(t=slice(2, 5))
    terms = {
        "x": walk.logp(x),
        "middle": dist.Normal(2.0 * middle, 0.6).logp(dt.data(late, dims=middle.dims)),
        "y": dist.Normal(x.isel(t=dt.data(when, dims=o)), 0.7).logp(dt.data(y, dims=o)),
        "once": dist.Normal(x.isel(t=3), 0.3).logp(once),
    }
    rows = Rows(x=n)
    rows.add(-0.5, 1.5, x=[(0, 1.0)])
    for k in range(1, n):
        rows.add(-0.1, scaled(), x=[(k, 1.0), (k - 1, -1.0)])
    for k in range(3):
        rows.add(late[k], 0.6, x=[(k + 2, -2.0)])
    for k in range(4):
        rows.add(y[k], 0.7, x=[(when[k], -1.0)])
    rows.add(once, 0.3, x=[(3, -1.0)])
    return terms, [x], rows


MAKERS = {
    "in part": in_part,
    "groups": groups,
    "level": local_level,
    "lags": autoregression,
    "trend": trend,
    "vector": vector,
    "regression": regression,
}


def check(name, seed, backend="python"):
    terms, unknowns, rows = MAKERS[name](np.random.default_rng(seed))
    logp = dt.marginalize(terms, *unknowns)
    at, h = 0.8, 1e-5
    value, slope = dt.evaluate([logp, dt.grad(logp, SCALE)], {SCALE: at}, backend=backend)
    assert float(value) == pytest.approx(rows.logp(at), rel=1e-10)
    expected = (rows.logp(at + h) - rows.logp(at - h)) / (2 * h)
    assert float(slope) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MAKERS)
def test_the_integral_is_that_of_a_dense_normal(name, seed):
    check(name, seed)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize(
    "name", ["groups", "trend", pytest.param("vector", marks=pytest.mark.slow)]
)
def test_the_integral_on_compiled_backends(name, backend):
    check(name, 7, backend)


def test_a_level_is_integrated_out_of_a_model():
    """The Kalman filter, from the text of the model."""
    n = 40
    day = dt.Dim("day", length=n)
    drift, noise = dt.rv("drift", dist.HalfNormal(1.0)), dt.rv("noise", dist.HalfNormal(1.0))
    walk = dist.GaussianRandomWalk(0.0, drift, dim=day, start=dist.Normal(0.0, 5.0))
    level = dt.rv("level", walk)
    y = dt.rv("y", dist.Normal(level, noise))
    seen = np.cumsum(np.random.default_rng(1).normal(size=n))
    fit = dt.Model(y, backend="python").observe({y: seen}).marginalize(level)
    assert "level: a loop along day" in fit.elimination_order
    assert fit.log_density().size == 2
    at = np.arange(n)
    covariance = 25.0 + 0.49 * np.minimum(at[:, None], at) + 0.09 * np.eye(n)
    expected = stats.multivariate_normal.logpdf(seen, np.zeros(n), covariance)
    found = fit.logp({"drift": 0.7, "noise": 0.3})["y"]
    assert float(found) == pytest.approx(expected, rel=1e-10)


def local_linear_trend(backend):
    """A model of a level whose steps are around a slope, which walks itself; and its data."""
    n = 9
    day = dt.Dim("day", length=n)
    spread = dt.rv("spread", dist.HalfNormal(1.0))
    slope = dt.rv("slope", dist.GaussianRandomWalk(0.1, 0.3, dim=day, start=dist.Normal(0.2, 2.0)))
    start = dist.Normal(0.5, 1.5)
    level = dt.rv("level", dist.GaussianRandomWalk(slope, spread, dim=day, start=start))
    y = dt.rv("y", dist.Normal(level, 0.4))
    seen = np.random.default_rng(2).normal(size=n)
    fit = dt.Model(y, backend=backend).observe({y: seen})
    rows = Rows(level=n, slope=n)
    rows.add(-0.5, 1.5, level=[(0, 1.0)])
    rows.add(-0.2, 2.0, slope=[(0, 1.0)])
    for k in range(n):
        rows.add(seen[k], 0.4, level=[(k, -1.0)])
    for k in range(1, n):
        rows.add(0.0, scaled(), level=[(k, 1.0), (k - 1, -1.0)], slope=[(k, -1.0)])
        rows.add(-0.1, 0.3, slope=[(k, 1.0), (k - 1, -1.0)])
    return fit, level, slope, rows


@pytest.mark.parametrize(
    "backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)]
)  # fmt: skip
def test_a_walk_around_a_walk_is_a_local_linear_trend(backend):
    fit, level, slope, rows = local_linear_trend(backend)
    fit = fit.marginalize(level, slope)
    assert "slope, level: a loop along day" in fit.elimination_order
    density = fit.log_density()
    assert density.names == ["spread"]
    assert float(fit.logp({"spread": 0.8})["y"]) == pytest.approx(rows.logp(0.8), rel=1e-10)

    def expected(free):  # the prior of the spread, and the Jacobian of its logarithm
        return rows.logp(np.exp(free)) + stats.halfnorm.logpdf(np.exp(free)) + free

    at, h = np.log(0.8), 1e-5
    value, gradient = density.logp_and_grad(np.array([at]))
    assert value == pytest.approx(expected(at), rel=1e-10)
    by_differences = (expected(at + h) - expected(at - h)) / (2 * h)
    assert gradient[0] == pytest.approx(by_differences, rel=1e-6)


def test_lengths_may_come_with_the_data():
    day = dt.Dim("day")
    level, y = dt.tensor("level", dims=day), dt.tensor("y", dims=day)
    walk = dist.GaussianRandomWalk(0.0, SCALE, dim=day, start=dist.Normal(0.0, 5.0))
    logp = dt.marginalize({"level": walk.logp(level), "y": dist.Normal(level, 0.3).logp(y)}, level)
    f = dt.function([SCALE, y], logp, backend="python")
    for n in (3, 8):
        at, seen = np.arange(n), np.cos(np.arange(n))
        covariance = 25.0 + 0.49 * np.minimum(at[:, None], at) + 0.09 * np.eye(n)
        expected = stats.multivariate_normal.logpdf(seen, np.zeros(n), covariance)
        assert float(f(0.7, seen)) == pytest.approx(expected, rel=1e-10)


def test_effects_of_each_observation_have_a_log_likelihood():
    obs = dt.Dim("obs")
    spread = dt.rv("spread", dist.HalfNormal(1.0))
    effect = dt.rv("effect", dist.Normal(1.0, spread), dims=obs)
    y = dt.rv("y", dist.Normal(effect, 0.5))
    fit = dt.Model(y, backend="python").observe({y: [1.0, 2.5, 0.0]}).marginalize(effect)
    found = fit.logp({"spread": 1.2})["y"]
    expected = stats.norm.logpdf([1.0, 2.5, 0.0], 1.0, np.hypot(1.2, 0.5))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_normal_effects_within_classes():
    """First the effects are integrated out, then the classes are summed out."""
    obs, kind = dt.Dim("obs"), dt.Dim("kind", coords=["a", "b"])
    z, x = dt.tensor("z", dims=obs, categories=kind), dt.tensor("x", dims=obs)
    y, mean = np.array([0.3, 2.0, -1.0]), dt.data([0.0, 3.0], dims=kind)
    terms = {
        "z": dist.Categorical(dt.data([0.4, 0.6], dims=kind), dim=kind).logp(z),
        "x": dist.Normal(mean.sel(kind=z), 0.8).logp(x),
        "y": dist.Normal(x, 0.6).logp(dt.data(y, dims=obs)),
    }
    found = float(dt.marginalize(terms, z, x).eval())
    each = 0.4 * stats.norm.pdf(y, 0.0, 1.0) + 0.6 * stats.norm.pdf(y, 3.0, 1.0)
    assert found == pytest.approx(np.log(each).sum(), rel=1e-12)


def test_what_is_not_normal_is_named():
    x = dt.tensor("x", dims=dt.Dim("obs", length=3))
    with pytest.raises(dt.GraphError, match=r"'x' is continuous(.|\n)*exp\(x\)"):
        dt.marginalize({"x": dist.Normal(dt.exp(x), 1.0).logp(0.5)}, x)
    with pytest.raises(dt.GraphError, match="'x' is continuous"):
        dt.marginalize({"x": dist.Exponential(1.0).logp(x)}, x)
    with pytest.raises(dt.GraphError, match="'x' cannot be summed out position by"):
        dt.marginalize({"x": dist.Normal(x.sum(), 1.0).logp(0.5)}, x)
    with pytest.raises(dt.GraphError, match="the integral over 'x' is infinite"):
        dt.marginalize({"x": 2.0 * x}, x)


@pytest.mark.parametrize("name", MAKERS)
def test_values_are_recovered(name):
    """The most probable values are the mean; draws have the mean and the covariance."""
    terms, unknowns, rows = MAKERS[name](np.random.default_rng(11))
    n = 20_000
    draw, rng = dt.Dim("draw", length=n), generator(5)

    def normal(dims):
        nonlocal rng
        x, rng = rng.normal(0.0, 1.0, dims=tuple(dict.fromkeys((*dims, draw))))
        return x

    known = read_unknowns(unknowns, {})
    nodes = {key: term.node for key, term in terms.items()}
    mean, covariance = rows.moments(0.8)
    best = dt.evaluate(positions(nodes, known, None), {SCALE: 0.8})
    found = np.concatenate([best[x.name].values.ravel() for x in unknowns])
    np.testing.assert_allclose(found, mean, rtol=1e-9, atol=1e-10)
    drawn = dt.evaluate(positions(nodes, known, normal, normal), {SCALE: 0.8})
    drawn = [drawn[x.name].transpose("draw", ...).values.reshape(n, -1) for x in unknowns]
    drawn = np.concatenate(drawn, axis=1)
    spread = np.sqrt(np.diag(covariance))
    assert (abs(drawn.mean(0) - mean) < 5 * spread / np.sqrt(n)).all()
    np.testing.assert_allclose(
        np.cov(drawn.T) / np.outer(spread, spread),
        covariance / np.outer(spread, spread),
        atol=0.05,
    )


def test_a_level_is_recovered_for_each_draw():
    day = dt.Dim("day")
    drift = dt.rv("drift", dist.HalfNormal(1.0))
    walk = dist.GaussianRandomWalk(0.0, drift, dim=day, start=dist.Normal(0.0, 5.0))
    level = dt.rv("level", walk)
    y = dt.rv("y", dist.Normal(level, 0.3))
    fit = dt.Model(y, backend="python").observe({y: [0.5, 1.0, 0.2, 2.0]}).marginalize(level)
    drifts = np.array([[0.2, 1.5, 0.7]])
    post = xr.Dataset({"drift": (("chain", "draw"), drifts)})
    found = fit.recover(post, level, how="most probable")["posterior"]["level"]
    at = np.arange(4)
    for k, value in enumerate(drifts[0]):
        prior = 25.0 + value**2 * np.minimum(at[:, None], at)
        mean = prior @ np.linalg.solve(prior + 0.09 * np.eye(4), [0.5, 1.0, 0.2, 2.0])
        np.testing.assert_allclose(found.isel(chain=0, draw=k), mean, rtol=1e-9)
    drawn = fit.recover(post, seed=1)["posterior"]["level"]
    assert drawn.sizes == {"chain": 1, "draw": 3, "day": 4}


@pytest.mark.parametrize(
    ("drift", "noise", "expected"),
    [
        (1.0, 1.0, -8.3908053119656066),
        (1e-2, 1.0, -7.4336251662989376),
        (1.0, 1e-2, -6.7045936901375475),
        (1e-4, 1.0, -7.4335082343678291),
        (1.0, 1e-4, -6.704330604769384),
        (1e-8, 1.0, -7.433508222673706),
        (1.0, 1e-8, -6.7043305784574643),
    ],
)
def test_standard_deviations_of_different_sizes(drift, noise, expected):
    """Beside the dense normal density in 60 digits, by mpmath."""
    day = dt.Dim("day")
    walk = dist.GaussianRandomWalk(0.0, drift, dim=day, start=dist.Normal(0.0, 5.0))
    height = dt.rv("height", walk)
    reading = dt.rv("reading", dist.Normal(height, noise))
    fit = dt.Model(reading, backend="python").observe({reading: [0.1, 0.4, 0.3, 1.2, 0.9]})
    found = fit.marginalize(height).logp({})
    np.testing.assert_allclose(float(found["reading"]), expected, rtol=1e-13)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("lags", [1, 2])
def test_observations_given_those_before_them(lags, missing):
    """Beside differences of dense normal densities of series that end earlier."""
    day, n = dt.Dim("day"), 6
    seen = np.array([0.5, 1.0, np.nan if missing else 0.3, 2.0, -0.4, 0.9])
    noise = dt.rv("noise", dist.HalfNormal(1.0))
    rho = np.array([0.5, 0.3])[:lags]
    lag = dt.data(rho, dims=dt.Dim("lag", length=lags))
    series = dist.AR(lag, 0.7, dim=day, start=dist.Normal(0.2, 1.5))
    level = dt.rv("level", series)
    y = dt.rv("y", dist.Normal(level, noise))
    fit = dt.Model(y, backend="python").observe({y: seen}, missing="drop").marginalize(level)
    post = xr.Dataset({"noise": (("chain", "draw"), [[0.6]])})
    found = fit.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["y"].values.ravel()
    step = np.eye(n)
    mean, sd = (
        np.r_[np.full(lags, 0.2), np.zeros(n - lags)],
        np.r_[[1.5] * lags, [0.7] * (n - lags)],
    )
    for k in range(lags, n):
        step[k, k - lags : k] = -rho[::-1]
    inverse = np.linalg.inv(step)
    center, spread = inverse @ mean, inverse @ np.diag(sd**2) @ inverse.T + 0.36 * np.eye(n)
    there = np.flatnonzero(np.isfinite(seen))
    up_to = [
        stats.multivariate_normal.logpdf(seen[at], center[at], spread[np.ix_(at, at)])
        for at in (there[: k + 1] for k in range(len(there)))
    ]
    np.testing.assert_allclose(found, np.diff(up_to, prepend=0.0), rtol=1e-10)
