"""State space models as random variables, beside statsmodels and Stan's formula in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.linalg import solve_discrete_lyapunov

import dimtensor as dt
from dimtensor import dist

statespace = pytest.importorskip("statsmodels.tsa.api")
dynamic_factor = pytest.importorskip("statsmodels.tsa.statespace.dynamic_factor")

TIME = dt.Dim("time")
S = dt.Dim("s", length=2)
TO = S.rename("to")


def agree(logp, inputs, values, expected):
    """Compare a log density with a function of the values, and its gradient with differences."""
    f = dt.function(inputs, [logp, *dt.grad(logp, inputs)], backend="python")
    found, *slopes = f(*values)
    assert float(found) == pytest.approx(expected(*values), rel=1e-10)
    for at, (value, slope) in enumerate(zip(values, slopes, strict=True)):
        for where in np.ndindex(np.shape(value)):
            step = np.zeros(np.shape(value))
            step[where] = 1e-5
            up, down = (expected(*values[:at], value + h, *values[at + 1 :]) for h in (step, -step))
            found = slope.values if isinstance(value, xr.DataArray) else np.asarray(slope)
            assert found[where] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-5)


def exact(model):
    """Return a model of statsmodels whose filter does not stop updating covariances."""
    model.ssm.tolerance = 0
    model.ssm.loglikelihood_burn = model.loglikelihood_burn = 0
    return model


def series(seed, n=12, missing=(), shape=()):
    y = np.cumsum(np.random.default_rng(seed).normal(size=(n, *shape)), 0)
    y[list(missing)] = np.nan
    return y


def seen(mean, sigma, y):
    """Log density of observed elements."""
    there = dt.data(~np.isnan(y), dims=TIME)
    return dt.where(there, dist.Normal(mean, sigma).logp(dt.data(y, dims=TIME)), 0.0)


@pytest.mark.parametrize("diffuse", [False, True])
def test_local_linear_trend_with_seasons(diffuse):
    """A flat start is a diffuse one: the factors are 1, where those of statsmodels are 1 / √2π."""
    y, sd = series(1, missing=(3, 7, 8)), [dt.scalar(name) for name in "abcd"]
    lag = dt.Dim("lag", length=3)
    first, season = dt.tensor("first", dims=lag), dt.tensor("season", dims=TIME)
    level, slope = dt.tensor("level", dims=TIME), dt.tensor("slope", dims=TIME)

    def seasons(before):
        after = before.shift({lag: 1}, fill_value=0.0)
        return (
            dist.Normal(-before.sum(lag), sd[2]),
            lambda value: dt.where(dt.arange(lag) == 0, value, after),
        )

    drift, start = slope.shift({TIME: 1}, fill_value=0.0), dist.Normal(0.0, 10.0)
    if diffuse:
        y, start = y + 1000.0, dist.Flat()
    terms = {
        "first": start.logp(first),
        "season": dist.Series(seasons, first, dim=TIME).logp(season),
        "slope": dist.GaussianRandomWalk(0.0, sd[1], dim=TIME, start=start).logp(slope),
        "level": dist.GaussianRandomWalk(drift, sd[0], dim=TIME, start=start).logp(level),
        "y": seen(level + season, sd[3], y),
    }

    def expected(*values):
        options = {"seasonal": 4, "use_exact_diffuse": diffuse}
        model = exact(statespace.UnobservedComponents(y, "lltrend", **options))
        variance = np.square(np.array(values, dtype=float))
        if diffuse:
            return model.loglike(variance[[3, 0, 1, 2]]) + 2.5 * np.log(2.0 * np.pi)
        lags = np.array([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        cov = np.zeros((5, 5))
        cov[:2, :2], cov[2:, 2:] = 100.0 * np.eye(2), 100.0 * lags @ lags.T
        cov[2, 2] += variance[2]
        model.ssm.initialize_known(np.zeros(5), cov)
        return model.loglike(variance[[3, 0, 1, 2]])

    logp = dt.marginalize(terms, first, season, slope, level)
    agree(logp, sd, [0.5, 0.2, 0.3, 0.7], expected)


def test_arima_in_innovations_form():
    """SARIMAX(1, 1, 1) of the differences, with a stationary start."""
    y, (phi, theta, sigma) = series(2), [dt.scalar(name) for name in ("phi", "theta", "sigma")]
    first, steps = dt.tensor("first"), np.diff(y)
    d = dist.Series(
        lambda mean: (dist.Normal(mean, sigma), lambda v: phi * v + theta * (v - mean)),
        first, dim=TIME,
    )  # fmt: skip
    spread = sigma * abs(phi + theta) / dt.sqrt(1.0 - phi**2)
    terms = {
        "first": dist.Normal(0.0, spread).logp(first),
        "y": d.logp(dt.data(steps, dims=TIME)),
    }

    def expected(phi, theta, sigma):
        options = {"order": (1, 1, 1), "simple_differencing": True, "trend": "n"}
        return exact(statespace.SARIMAX(y, **options)).loglike([phi, theta, sigma**2])

    agree(dt.marginalize(terms, first), [phi, theta, sigma], [0.6, 0.3, 0.9], expected)


def test_vector_autoregression_with_noise():
    """VARMAX(1, 0), its stationary covariance as that of the state before the first one."""
    y, transition = series(3, shape=(2,)), np.array([[0.5, 0.1], [-0.2, 0.4]])
    root = dt.tensor("root", dims=[S, S.rename()])
    x, x0, noise = dt.tensor("x", dims=[TIME, S]), dt.tensor("x0", dims=S), dt.scalar("noise")
    stationary = dt.tensor("stationary", dims=[S, S.rename()])
    known = dt.data(transition, dims=[TO, S])

    def step(before):
        mean = dt.dot(known, before, dim=S).relabel(TO, S)
        return dist.MvNormal(mean, chol=root), lambda value: value

    terms = {
        "x0": dist.MvNormal(0.0, stationary).logp(x0),
        "x": dist.Series(step, x0, dim=TIME).logp(x),
        "y": dist.Normal(x, noise).logp(dt.data(y, dims=[TIME, S])),
    }
    lower = np.array([[0.8, 0.0], [0.3, 0.6]])
    cov = solve_discrete_lyapunov(transition, lower @ lower.T)

    def named(matrix):
        return xr.DataArray(matrix, dims=["s", "s'"])

    f = dt.function([root, stationary, noise], dt.marginalize(terms, x, x0), backend="python")
    model = exact(statespace.VARMAX(y, order=(1, 0), trend="n", measurement_error=True))
    parameters = [*transition.ravel(), *lower[np.tril_indices(2)], 0.49, 0.49]
    expected = model.loglike(parameters)
    assert float(f(named(lower), named(cov), 0.7)) == pytest.approx(expected, rel=1e-10)


def test_dynamic_factor():
    y, k = series(4, shape=(3,)), dt.Dim("k", length=3)
    phi, loads = dt.scalar("phi"), np.array([0.7, -0.4, 1.1])
    f, f0, noise = dt.tensor("f", dims=TIME), dt.tensor("f0"), np.array([0.5, 0.8, 1.2])
    d = dist.Series(lambda before: (dist.Normal(phi * before, 1.0), lambda v: v), f0, dim=TIME)
    mean = f * dt.data(loads, dims=k)
    terms = {
        "f0": dist.Normal(0.0, 1.0 / dt.sqrt(1.0 - phi**2)).logp(f0),
        "f": d.logp(f),
        "y": dist.Normal(mean, dt.data(noise, dims=k)).logp(dt.data(y, dims=[TIME, k])),
    }

    def expected(phi):
        model = exact(dynamic_factor.DynamicFactor(y, k_factors=1, factor_order=1))
        return model.loglike([*loads, *noise**2, phi])

    agree(dt.marginalize(terms, f, f0), [phi], [0.6], expected)


def dlm(y, f, g, v, w, m, c):
    """Log density of Stan's gaussian_dlm_obs, from its reference manual."""
    total = 0.0
    for row in y:
        a, r = g @ m, g @ c @ g.T + w
        error, q = row - f.T @ a, f.T @ r @ f + v
        total -= 0.5 * (np.linalg.slogdet(2 * np.pi * q)[1] + error @ np.linalg.solve(q, error))
        gain = np.linalg.solve(q, f.T @ r).T
        m, c = a + gain @ error, r - gain @ q @ gain.T
    return total


def test_dynamic_linear_model():
    """Full covariances of states and observations."""
    rng, n = np.random.default_rng(5), 12
    y, k = rng.normal(size=(n, 3)), dt.Dim("k", length=3)
    f, g = rng.normal(size=(2, 3)), 0.5 * rng.normal(size=(2, 2))
    v, w, c = (a @ a.T + np.eye(len(a)) for a in map(rng.normal, [0] * 3, [1] * 3,
                                                     [(3, 3), (2, 2), (2, 2)]))  # fmt: skip
    x, x0, m = dt.tensor("x", dims=[TIME, S]), dt.tensor("x0", dims=S), dt.scalar("m")
    own, across = (dt.data(a, dims=[S, S.rename()]) for a in (w, c))

    def step(before):
        mean = dt.dot(dt.data(g, dims=[TO, S]), before, dim=S).relabel(TO, S)
        return dist.MvNormal(mean, own), lambda value: value

    mean = dt.dot(dt.data(f, dims=[S, k]), x, dim=S)
    noise = dt.data(v, dims=[k, k.rename()])
    terms = {
        "x0": dist.MvNormal(m, across).logp(x0),
        "x": dist.Series(step, x0, dim=TIME).logp(x),
        "y": dist.MvNormal(mean, noise).logp(dt.data(y, dims=[TIME, k])),
    }
    agree(dt.marginalize(terms, x, x0), [m], [0.4],
          lambda m: dlm(y, f, g, v, w, np.full(2, m), c))  # fmt: skip


def test_correlated_observations_of_which_some_elements_are_missing():
    """`missing="drop"` leaves them out of a normal vector; the filter is that of statsmodels."""
    kalman = pytest.importorskip("statsmodels.tsa.statespace.kalman_filter")
    y = series(8, shape=(2,))
    y[[2, 5, 6], 0], y[[3, 6], 1] = np.nan, np.nan
    noise, step = np.array([[0.9, 0.5], [0.5, 0.7]]), np.array([[0.4, -0.1], [-0.1, 0.3]])
    spread, moves = (dt.data(x, dims=[S, S.rename()]) for x in (noise, step))
    scale = dt.rv("scale", dist.HalfNormal(1.0))
    start = dist.MvNormal(0.2, moves)
    level = dt.rv("level", dist.RandomWalk(dist.MvNormal(0.0, moves), dim=TIME, start=start))
    seen = dt.rv("seen", dist.MvNormal(level, scale * spread))
    model = dt.Model(seen, backend="python").observe({seen: (("time", "s"), y)}, missing="drop")
    fit = model.marginalize(level)
    assert fit.elimination_order == "level: a loop along time, time × 2 × 2"

    def expected(scale):
        ssm = kalman.KalmanFilter(k_endog=2, k_states=2, tolerance=0)
        ssm["design"] = ssm["transition"] = ssm["selection"] = np.eye(2)
        ssm["obs_cov"], ssm["state_cov"] = scale * noise, step
        ssm.initialize_known(np.full(2, 0.2), step)
        ssm.bind(y)
        return ssm.loglike()

    for at in (0.6, 1.7):
        assert float(fit.logp({"scale": at})["seen"]) == pytest.approx(expected(at), rel=1e-10)
    post = xr.Dataset({"scale": (("chain", "draw"), [[0.6]])})
    ahead = fit.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["seen"].squeeze()
    assert float(ahead.sum()) == pytest.approx(expected(0.6), rel=1e-10)
