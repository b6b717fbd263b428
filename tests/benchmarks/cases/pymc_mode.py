"""PyMC's log density and gradient in PyTensor's numba mode, and in `dt.pytensor_mode()`.

The models are examples of PyMC's gallery, with made-up data of their size. ``us`` is a call on the
flat vector that samplers move, ``ratio`` ours by PyTensor's; both take turns in one process.
"""

import time
import warnings

import numpy as np

SECONDS = 0.05
ROUNDS = 15
MODELS = {}


def model(build):
    MODELS[build.__name__] = build
    return build


def _radon(rng):
    return rng.integers(0, 85, 919), rng.integers(0, 2, 919).astype(float), rng.normal(size=919)


@model
def radon(pm, rng):
    at, floor, y = _radon(rng)
    mu, spread = pm.Normal("mu", 0, 10, shape=2), pm.Exponential("spread", 1)
    level = mu[0] + mu[1] * rng.normal(size=85) + spread * pm.Normal("z", shape=85)
    pm.Normal("y", level[at] + pm.Normal("slope") * floor, pm.Exponential("s", 1), observed=y)


@model
def radon_covariation(pm, rng):
    at, floor, y = _radon(rng)
    deviations = pm.Exponential.dist(1.0, shape=2)
    factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2.0, sd_dist=deviations)
    effects = pm.Normal("mu", 0, 5, shape=2) + pm.Normal("z", shape=(85, 2)) @ factor.T
    mean = effects[at, 0] + effects[at, 1] * floor
    pm.Normal("y", mean, pm.Exponential("s", 1), observed=y)


@model
def radon_named(pm, rng):
    import pymc.dims as pmd

    at, _, y = _radon(rng)
    pm.modelcontext(None).add_coords({"county": range(85), "house": range(919)})
    at = pmd.Data("at", at, dims="house")
    mu, spread = pmd.Normal("mu", 0, 5), pmd.HalfNormal("spread", 2)
    level = pmd.Normal("level", mu, spread, dims="county")
    y = pmd.as_xtensor(y, dims=("house",))
    pmd.Normal("y", level.isel(county=at), pmd.Exponential("s", 1.0), observed=y, dims="house")


@model
def eight_schools(pm, rng):
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    sigma = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    pm.Normal("y", mu + tau * pm.Normal("z", shape=8), sigma, observed=y)


@model
def rugby(pm, rng):
    home = rng.integers(0, 6, 60)
    away = (home + rng.integers(1, 6, 60)) % 6
    level, advantage = pm.Normal("level", 3, 1), pm.Normal("advantage")
    attack = pm.Normal("attack", 0, pm.HalfNormal("sd_attack", 2), shape=6)
    defense = pm.Normal("defense", 0, pm.HalfNormal("sd_defense", 2), shape=6)
    attack, defense = attack - attack.mean(), defense - defense.mean()
    rate = pm.math.exp(level + advantage + attack[home] + defense[away])
    pm.Poisson("at_home", rate, observed=rng.poisson(20, 60))
    rate = pm.math.exp(level + attack[away] + defense[home])
    pm.Poisson("away", rate, observed=rng.poisson(20, 60))


@model
def volatility(pm, rng):
    start = pm.Normal.dist(0, 100)
    step = pm.Exponential("step", 10)
    log = pm.GaussianRandomWalk("log", sigma=step, init_dist=start, shape=2906)
    nu = pm.Exponential("nu", 0.1)
    pm.StudentT("y", nu=nu, lam=pm.math.exp(-2 * log), observed=rng.normal(size=2906))


@model
def logistic(pm, rng):
    logit = pm.Normal("level") + rng.normal(size=(1000, 10)) @ pm.Normal("slopes", shape=10)
    pm.Bernoulli("y", logit_p=logit, observed=rng.integers(0, 2, 1000))


@model
def mixture(pm, rng):
    w, mu = pm.Dirichlet("w", np.ones(3)), pm.Normal("mu", 0, 5, shape=3)
    sigma = pm.HalfNormal("sigma", 1, shape=3)
    pm.NormalMixture("y", w=w, mu=mu, sigma=sigma, observed=rng.normal(size=1000))


@model
def gaussian_process(pm, rng):
    scale, height = pm.Gamma("scale", 2, 1), pm.HalfNormal("height", 2)
    gp = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.ExpQuad(1, scale))
    x, y = np.linspace(0, 1, 100)[:, None], rng.normal(size=100)
    gp.marginal_likelihood("y", X=x, y=y, sigma=pm.HalfNormal("s", 1))


@model
def autoregression(pm, rng):
    start = pm.Normal.dist(0, 2, shape=2)
    rho, sigma = pm.Normal("rho", 0, 0.5, shape=3), pm.HalfNormal("s", 1)
    pm.AR("y", rho, sigma, init_dist=start, constant=True, observed=rng.normal(size=1000))


@model
def ordinal(pm, rng):
    ordered = pm.distributions.transforms.ordered
    cuts = pm.Normal("cuts", 0, 2, shape=3, transform=ordered, initval=[-1.0, 0.0, 1.0])
    eta = pm.Normal("slope") * rng.normal(size=500)
    pm.OrderedLogistic("y", eta=eta, cutpoints=cuts, observed=rng.integers(0, 4, 500))


@model
def zero_inflated(pm, rng):
    psi, mu = pm.Beta("psi", 2, 3), pm.Gamma("mu", 2, 0.5)
    y = rng.poisson(2, 500) * rng.integers(0, 2, 500)
    pm.ZeroInflatedPoisson("y", psi=psi, mu=mu, observed=y)


@model
def censored(pm, rng):
    base = pm.Normal.dist(pm.Normal("mu"), pm.HalfNormal("s"))
    y = np.clip(rng.normal(size=500), -1, 1)
    pm.Censored("y", base, lower=-1, upper=1, observed=y)


@model
def survival(pm, rng):
    treated, seen = rng.integers(0, 2, 200).astype(float), rng.integers(0, 2, 200).astype(bool)
    time = rng.gamma(2, 1, 200)
    shape, scale = pm.HalfNormal("k"), pm.math.exp(pm.Normal("a") + pm.Normal("b") * treated)
    pm.Weibull("y", shape, scale[seen], observed=time[seen])
    pm.Potential("later", -((time[~seen] / scale[~seen]) ** shape))


@model
def neighbors(pm, rng):
    weights = np.eye(50, k=1) + np.eye(50, k=-1)
    alpha, tau = pm.Beta("alpha", 2, 2), pm.HalfNormal("tau")
    x = pm.CAR("x", mu=np.zeros(50), W=weights, alpha=alpha, tau=tau)
    pm.Poisson("y", pm.math.exp(x), observed=rng.poisson(1, 50))


@model
def scan(pm, rng):
    import pytensor
    import pytensor.tensor as pt

    path = pytensor.scan(
        lambda new, last, rho: rho * last + new,
        sequences=[pm.Normal("new", shape=200)],
        outputs_info=[pt.zeros(())],
        non_sequences=[pm.Normal("rho")],
        return_updates=False,
    )
    pm.Normal("y", path, 1, observed=rng.normal(size=200))


def density(name, mode):
    """The log density and its gradient as PyMC compiles them, and a point."""
    import pymc as pm

    with warnings.catch_warnings(), pm.Model() as made:
        warnings.simplefilter("ignore")  # of PyMC, about PyTensor
        MODELS[name](pm, np.random.default_rng(1))
        f = made.logp_dlogp_function(ravel_inputs=True, mode=mode)
    f.set_extra_values({})
    point = made.initial_point()
    x = np.concatenate([np.ravel(point[v.name]) for v in made.value_vars])
    f._pytensor_function.trust_input = True
    return f._pytensor_function, x + 0.01 * np.random.default_rng(2).normal(size=x.size)


def _seconds(call, x, number):
    started = time.process_time()
    for _ in range(number):
        call(x)
    return (time.process_time() - started) / number


def measure():
    import dimtensor as dt

    for name in MODELS:
        ours, x = density(name, dt.pytensor_mode())
        theirs, _ = density(name, "NUMBA")
        for one, other in zip(ours(x), theirs(x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
        number = max(5, int(SECONDS / _seconds(theirs, x, 5)))
        times = [[_seconds(f, x, number) for f in (ours, theirs)] for _ in range(ROUNDS)]
        least = np.min(times, axis=0)
        yield {
            "case": "pymc_mode",
            "model": name,
            "us": round(1e6 * least[0], 2),
            "pytensor_us": round(1e6 * least[1], 2),
            "ratio": round(least[0] / least[1], 2),
        }
