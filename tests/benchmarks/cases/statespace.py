"""Linear Gaussian state space models: log likelihood, with its gradient.

10,000 positions of a local level, 2,000 of a local linear trend with twelve seasons (13 states),
and 2,465 of a vector autoregression of three series that are seen with noise. In dimtensor they are
random variables that are integrated out. statsmodels has log likelihoods alone, and as it does
itself, takes gradients from those of complex numbers, one for each parameter.
"""

import numpy as np

NAMES = {2_000: "season", 2_465: "var", 10_000: "level"}
SIZES = tuple(NAMES)
CONTENDERS = ("marginal", "statsmodels", "dynamax")
SEASONS = 12
START = 10.0  # standard deviation of all starts


def problem(n):
    name, rng = NAMES[n], np.random.default_rng(3)
    if name == "level":
        y = np.cumsum(0.3 * rng.normal(size=n)) + 0.8 * rng.normal(size=n)
        return {"name": name, "y": y, "parameters": np.array([0.35, 0.7])}
    if name == "season":
        y = np.cumsum(0.5 * rng.normal(size=n)) + np.sin(np.arange(n) * np.pi / 6)
        return {"name": name, "y": y, "parameters": np.array([0.5, 0.05, 0.2, 0.7])}
    y = np.cumsum(rng.normal(size=(n, 3)), 0) * 0.2 + rng.normal(size=(n, 3))
    return {"name": name, "y": y, "parameters": np.array([0.9, 0.1, 0.4, 0.2, 0.6])}


def _seasons():
    k = SEASONS + 1
    transition = np.zeros((k, k))
    transition[0, :2] = transition[1, 1] = 1.0
    transition[2, 2:] = -1.0
    transition[np.arange(3, k), np.arange(2, k - 1)] = 1.0
    return transition


def matrices(name, xp, p):
    """Return transition, covariance of the state, observation matrix and noise variances.

    They are those of positions after the first one.
    """
    if name == "level":
        return xp.eye(1), p[0] ** 2 * xp.eye(1), xp.eye(1), p[1] ** 2 * xp.eye(1)
    if name == "season":
        transition, k = _seasons(), SEASONS + 1
        scale = [p[0] ** 2, p[1] ** 2, p[2] ** 2]
        noise = sum(x * np.diag(np.eye(k)[i]) for i, x in enumerate(scale))
        seen = np.zeros((1, k))
        seen[0, [0, 2]] = 1.0
        return xp.asarray(transition), noise, xp.asarray(seen), p[3] ** 2 * xp.eye(1)
    base = np.diag([1.0, 1.0, 1.0])
    ones = np.ones((3, 3)) - base
    return (p[0] * base + p[1] * ones, p[2] ** 2 * base + p[3] ** 2 * np.ones((3, 3)),
            xp.asarray(base), p[4] ** 2 * base)  # fmt: skip


def _expression(name):
    import dimtensor as dt
    from dimtensor import dist

    time, which = dt.Dim("time"), dt.Dim("which", length={"level": 2, "season": 4, "var": 5}[name])
    parameters = dt.tensor("parameters", dims=which)
    p = [parameters.isel(which=at) for at in range(len(which))]
    if name == "var":
        s = dt.Dim("s", length=3)
        other, to = s.rename(), s.rename("to")
        y, x = dt.tensor("y", dims=[time, s]), dt.tensor("x", dims=[time, s])
        base = dt.eye(s, other)
        cov = p[2] ** 2 * base + p[3] ** 2
        transition = (p[0] - p[1]) * dt.eye(to, s) + p[1]

        def step(before):
            mean = dt.dot(transition, before, dim=s).relabel(to, s)
            return dist.MvNormal(mean, cov), lambda value: value

        x0 = dt.tensor("x0", dims=s)
        terms = {
            "x0": dist.Normal(0.0, START).logp(x0),
            "x": dist.Series(step, x0, dim=time).logp(x),
            "y": dist.Normal(x, p[4]).logp(y),
        }
        return y, parameters, dt.marginalize(terms, x, x0)
    y, start = dt.tensor("y", dims=time), dist.Normal(0.0, START)
    level = dt.tensor("level", dims=time)
    if name == "level":
        walk = dist.GaussianRandomWalk(0.0, p[0], dim=time, start=start)
        terms = {"level": walk.logp(level), "y": dist.Normal(level, p[1]).logp(y)}
        return y, parameters, dt.marginalize(terms, level)
    lag = dt.Dim("lag", length=SEASONS - 1)
    first, season = dt.tensor("first", dims=lag), dt.tensor("season", dims=time)
    slope = dt.tensor("slope", dims=time)

    def seasons(before):
        def after(value):
            return dt.where(dt.arange(lag) == 0, value, before.shift({lag: 1}, fill_value=0.0))

        return dist.Normal(-before.sum(lag), p[2]), after

    drift = slope.shift({time: 1}, fill_value=0.0)
    terms = {
        "first": start.logp(first),
        "season": dist.Series(seasons, first, dim=time).logp(season),
        "slope": dist.GaussianRandomWalk(0.0, p[1], dim=time, start=start).logp(slope),
        "level": dist.GaussianRandomWalk(drift, p[0], dim=time, start=start).logp(level),
        "y": dist.Normal(level + season, p[3]).logp(y),
    }
    return y, parameters, dt.marginalize(terms, first, season, slope, level)


def initial(name, xp, p):
    """Return the covariance of the first state, the mean of which is 0."""
    transition, noise, *_ = matrices(name, xp, p)
    k = transition.shape[0]
    if name == "level":
        return START**2 * xp.eye(k)
    if name == "var":
        return START**2 * transition @ transition.T + noise
    lags = np.zeros((k, k))  # level and slope start, seasons have moved once
    lags[2:, 2:] = _seasons()[2:, 2:]
    top = np.diag([1.0, 1.0] + [0.0] * (k - 2))
    season = np.diag([0.0, 0.0, 1.0] + [0.0] * (k - 3)) * p[2] ** 2
    return START**2 * xp.asarray(top + lags @ lags.T) + season


def marginal(p):
    import dimtensor as dt

    y, parameters, total = _expression(p["name"])
    f = dt.function([y, parameters], [total, dt.grad(total, parameters)])
    dims = ("time",) if p["y"].ndim == 1 else ("time", "s")
    if p["y"].ndim == 1:
        return f.positional, (p["y"], p["parameters"])
    from cases.axes import as_written

    return as_written(f, [tuple(y.dims[d] for d in dims), tuple(parameters.dims)],
                      (p["y"], p["parameters"]))  # fmt: skip


def statsmodels(p):
    from statsmodels.tsa.statespace.kalman_filter import SOLVE_LU, KalmanFilter

    y = p["y"].reshape(len(p["y"]), -1)
    k = matrices(p["name"], np, p["parameters"])[0].shape[0]
    filters = KalmanFilter(y.shape[1], k)
    filters.bind(np.ascontiguousarray(y))
    filters["selection"] = np.eye(k)
    filters.set_inversion_method(SOLVE_LU)  # Cholesky factors of complex numbers are other ones
    filters.tolerance = 0.0  # else it stops updating covariances, and gradients have no digits

    def logp(parameters):
        transition, noise, seen, variance = matrices(p["name"], np, parameters)
        filters["transition"], filters["state_cov"] = transition, noise
        filters["design"], filters["obs_cov"] = seen, variance
        filters.initialize_known(np.zeros(k), initial(p["name"], np, parameters))
        return filters.loglike()

    def call(parameters):
        steps = 1e-30j * np.eye(len(parameters))
        found = [logp(parameters + h) for h in steps]
        return np.asarray(found[0].real), np.array([x.imag for x in found]) / 1e-30

    return call, (p["parameters"],)


def dynamax(p):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    y = jnp.asarray(p["y"].reshape(len(p["y"]), -1))
    k = matrices(p["name"], np, p["parameters"])[0].shape[0]
    model = LinearGaussianSSM(k, y.shape[1], has_dynamics_bias=False, has_emissions_bias=False)

    def logp(parameters):
        transition, noise, seen, variance = matrices(p["name"], jnp, parameters)
        known, _ = model.initialize(
            initial_mean=jnp.zeros(k), initial_covariance=initial(p["name"], jnp, parameters),
            dynamics_weights=transition, dynamics_covariance=noise,
            emission_weights=seen, emission_covariance=variance,
        )  # fmt: skip
        return model.marginal_log_prob(known, y)

    f = jax.jit(jax.value_and_grad(logp))
    return lambda x: jax.block_until_ready(f(x)), (jnp.asarray(p["parameters"]),)
