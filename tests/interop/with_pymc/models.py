"""Models as PyMC's gallery has them, small and in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MODELS: dict[str, Callable[[], Any]] = {}


def model(build: Callable[[Any], None]) -> Callable[[], Any]:
    """Add a function that fills the model in whose context it is called."""

    def built() -> Any:
        import pymc as pm
        import pytensor

        # by itself PyTensor keeps the number 10 in a byte, and its logarithm in single precision
        with pytensor.config.change_flags(cast_policy="numpy+floatX"), pm.Model() as made:
            build(pm)
        return made

    MODELS[build.__name__] = built
    return built


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@model
def regression(pm):
    pm.modelcontext(None).add_coords({"predictor": ["age", "height"], "person": np.arange(6)})
    x = pm.Data("x", random().normal(size=(6, 2)), dims=("person", "predictor"))
    intercept = pm.Normal("intercept", 0, 10)
    slopes = pm.Normal("slopes", 0, [1.0, 2.0], dims="predictor")
    sigma = pm.HalfCauchy("sigma", 5)
    mean = pm.Deterministic("mean", intercept + x @ slopes, dims="person")
    pm.Normal("y", mean, sigma, observed=random(2).normal(size=6), dims="person")


def _radon(pm):
    coords = {"county": ["AITKIN", "ANOKA", "BECKER"], "house": np.arange(7)}
    pm.modelcontext(None).add_coords(coords)
    at = pm.Data("county_at", np.array([0, 2, 1, 0, 2, 2, 1]), dims="house")
    floor = pm.Data("floor", np.array([0.0, 1, 0, 0, 1, 1, 0]), dims="house")
    return at, floor, random().normal(size=7)


@model
def radon_pooled(pm):
    _, floor, y = _radon(pm)
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    pm.Normal("y", a + b * floor, pm.Exponential("sigma", 1.0), observed=y, dims="house")


@model
def radon_unpooled(pm):
    at, floor, y = _radon(pm)
    a, b = pm.Normal("a", 0, 10, dims="county"), pm.Normal("b", 0, 10)
    pm.Normal("y", a[at] + b * floor, pm.Exponential("sigma", 1.0), observed=y, dims="house")


@model
def radon_centered(pm):
    at, floor, y = _radon(pm)
    mu, tau = pm.Normal("mu", 0, 10), pm.HalfNormal("tau", 2)
    a, b = pm.Normal("a", mu, tau, dims="county"), pm.Normal("b", 0, 10)
    pm.Normal("y", a[at] + b * floor, pm.Exponential("sigma", 1.0), observed=y, dims="house")


@model
def radon_noncentered(pm):
    at, floor, y = _radon(pm)
    mu, tau = pm.Normal("mu", 0, 10), pm.HalfNormal("tau", 2)
    z = pm.Normal("z", 0, 1, dims="county")
    a, b = pm.Deterministic("a", mu + tau * z, dims="county"), pm.Normal("b", 0, 10)
    pm.Normal("y", a[at] + b * floor, pm.Exponential("sigma", 1.0), observed=y, dims="house")


@model
def radon_covariation(pm):
    at, floor, y = _radon(pm)
    pm.modelcontext(None).add_coords({"effect": ["intercept", "slope"]})
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2))
    mu = pm.Normal("mu", 0, 5, dims="effect")
    z = pm.Normal("z", 0, 1, dims=("county", "effect"))
    effects = pm.Deterministic("effects", mu + z @ chol.T, dims=("county", "effect"))
    mean = effects[at, 0] + effects[at, 1] * floor
    pm.Normal("y", mean, pm.Exponential("sigma", 1.0), observed=y, dims="house")


@model
def radon_mvnormal(pm):
    at, floor, y = _radon(pm)
    pm.modelcontext(None).add_coords({"effect": ["intercept", "slope"]})
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2))
    effects = pm.MvNormal("effects", mu=np.zeros(2), chol=chol, dims=("county", "effect"))
    mean = effects[at, 0] + effects[at, 1] * floor
    pm.Normal("y", mean, pm.Exponential("sigma", 1.0), observed=y, dims="house")


@model
def eight_schools(pm):
    pm.modelcontext(None).add_coord("school", list("ABCDEFGH"))
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    sigma = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, dims="school")
    pm.Normal("obs", theta, sigma, observed=y, dims="school")


@model
def rugby(pm):
    pm.modelcontext(None).add_coords({"team": ["Wales", "France", "Ireland"], "match": range(6)})
    home = pm.Data("home_team", np.array([0, 1, 2, 0, 1, 2]), dims="match")
    away = pm.Data("away_team", np.array([1, 2, 0, 2, 0, 1]), dims="match")
    home_star, intercept = pm.Normal("home", 0, 1), pm.Normal("intercept", 3, 1)
    sd_att, sd_def = pm.HalfNormal("sd_att", 2), pm.HalfNormal("sd_def", 2)
    atts_star = pm.Normal("atts_star", 0, sd_att, dims="team")
    defs_star = pm.Normal("defs_star", 0, sd_def, dims="team")
    atts = pm.Deterministic("atts", atts_star - pm.math.mean(atts_star), dims="team")
    defs = pm.Deterministic("defs", defs_star - pm.math.mean(defs_star), dims="team")
    home_theta = pm.math.exp(intercept + home_star + atts[home] + defs[away])
    away_theta = pm.math.exp(intercept + atts[away] + defs[home])
    scores = random().poisson(20, size=(2, 6))
    pm.Poisson("home_points", home_theta, observed=scores[0], dims="match")
    pm.Poisson("away_points", away_theta, observed=scores[1], dims="match")


@model
def coal_mining(pm):
    years = np.arange(1851, 1861)
    disasters = np.array([4, 5, 4, 0, 1, 4, 3, 4, 0, 6])
    pm.modelcontext(None).add_coord("year", years)
    switch = pm.DiscreteUniform("switchpoint", lower=years.min(), upper=years.max())
    early, late = pm.Exponential("early_rate", 1.0), pm.Exponential("late_rate", 1.0)
    rate = pm.math.switch(switch >= years, early, late)
    pm.Poisson("disasters", rate, observed=disasters, dims="year")


@model
def coal_mining_missing(pm):
    import warnings

    years = np.arange(1851, 1861)
    disasters = np.ma.masked_less(np.array([4, 5, 4, 0, 1, -1, 3, 4, -1, 6]), 0).astype(float)
    pm.modelcontext(None).add_coord("year", years)
    mu, sigma = pm.Normal("mu", 3, 2), pm.HalfNormal("sigma", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pm.Normal("disasters", mu, sigma, observed=disasters, dims="year")


@model
def stochastic_volatility(pm):
    pm.modelcontext(None).add_coord("time", range(8))
    step = pm.Exponential("step_size", 10)
    init = pm.Normal.dist(0, 100)
    volatility = pm.GaussianRandomWalk("volatility", sigma=step, init_dist=init, dims="time")
    nu = pm.Exponential("nu", 0.1)
    returns = random().normal(size=8)
    pm.StudentT("returns", nu=nu, lam=pm.math.exp(-2 * volatility), observed=returns, dims="time")


@model
def autoregression(pm):
    rho = pm.Normal("rho", 0, 0.5, shape=3)
    sigma = pm.HalfNormal("sigma", 1)
    init = pm.Normal.dist(0, 2, shape=2)
    pm.AR("ar", rho, sigma, init_dist=init, constant=True, observed=random().normal(size=9))


@model
def gaussian_mixture(pm):
    pm.modelcontext(None).add_coords({"cluster": range(3), "obs": range(9)})
    mu = pm.Normal(
        "mu", 0, 5, dims="cluster",
        transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 2.0],
    )  # fmt: skip
    sigma = pm.HalfNormal("sigma", 1, dims="cluster")
    weights = pm.Dirichlet("w", np.ones(3), dims="cluster")
    pm.NormalMixture(
        "x", w=weights, mu=mu, sigma=sigma, observed=random().normal(size=9), dims="obs"
    )


@model
def mixture_of_families(pm):
    w = pm.Dirichlet("w", np.array([1.0, 2.0]))
    parts = [pm.Normal.dist(pm.Normal("mu", 0, 1), 1), pm.StudentT.dist(4, mu=0, sigma=2)]
    pm.Mixture("y", w=w, comp_dists=parts, observed=random().normal(size=5))


@model
def latent_mixture(pm):
    pm.modelcontext(None).add_coords({"cluster": range(2), "obs": range(5)})
    p = pm.Dirichlet("p", np.ones(2), dims="cluster")
    mu = pm.Normal("mu", 0, 5, dims="cluster")
    z = pm.Categorical("z", p=p, dims="obs")
    pm.Normal("y", mu[z], 1.0, observed=random().normal(size=5), dims="obs")


@model
def zero_inflated(pm):
    psi, mu = pm.Beta("psi", 2, 3), pm.Gamma("mu", 2, 0.5)
    pm.ZeroInflatedPoisson("y", psi=psi, mu=mu, observed=np.array([0, 0, 3, 1, 0, 2]))
    pm.HurdlePoisson("h", psi=psi, mu=mu, observed=np.array([0, 1, 3, 1, 0, 2]))
    pm.HurdleGamma("g", psi=psi, alpha=mu, beta=1.5, observed=np.array([0, 1.5, 3, 1, 0, 2]))


@model
def ordinal(pm):
    pm.modelcontext(None).add_coords({"cut": range(3), "obs": range(6)})
    cuts = pm.Normal(
        "cuts", 0, 2, dims="cut",
        transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0],
    )  # fmt: skip
    beta = pm.Normal("beta", 0, 1)
    x = random().normal(size=6)
    answers = np.array([0, 1, 2, 3, 1, 2])
    pm.OrderedLogistic("answer", eta=beta * x, cutpoints=cuts, observed=answers, dims="obs")


@model
def logistic(pm):
    pm.modelcontext(None).add_coords({"group": range(3)})
    logit = pm.Normal("logit", 0, 1.5, dims="group")
    n = np.array([10, 20, 30])
    pm.Binomial("y", n=n, p=pm.math.invlogit(logit), observed=np.array([3, 4, 9]), dims="group")
    pm.Bernoulli("b", logit_p=logit, observed=np.array([0, 1, 1]), dims="group")


@model
def marginal_gp(pm):
    x = np.linspace(0, 1, 6)[:, None]
    scale, eta = pm.Gamma("scale", 2, 1), pm.HalfNormal("eta", 2)
    gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, scale))
    sigma = pm.HalfNormal("sigma", 1)
    gp.marginal_likelihood("y", X=x, y=random().normal(size=6), sigma=sigma)


@model
def latent_gp(pm):
    x = np.linspace(0, 1, 5)[:, None]
    scale = pm.InverseGamma("scale", 3, 1)
    f = pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, scale)).prior("f", X=x)
    pm.Bernoulli("y", logit_p=f, observed=np.array([0, 1, 1, 0, 1]))


@model
def potential(pm):
    pm.modelcontext(None).add_coord("k", range(4))
    x = pm.Normal("x", 0, 1, dims="k")
    pm.Potential("soft_sum", -pm.math.sqr(x.sum() - 1.0))
    pm.Potential("each", -(pm.math.abs(x) ** 3), dims="k")


@model
def truncated_and_censored(pm):
    mu, sigma = pm.Normal("mu", 5, 10), pm.HalfNormal("sigma", 5)
    y = np.array([2.0, 4.0, 5.0, 6.0])
    pm.Truncated("t", pm.Normal.dist(mu, sigma), lower=0, upper=8, observed=y)
    pm.Truncated("w", pm.Weibull.dist(1.5, sigma), lower=1, upper=None, observed=y)
    pm.Censored("c", pm.Normal.dist(mu, sigma), lower=2, upper=6, observed=y)


@model
def zero_sum(pm):
    pm.modelcontext(None).add_coords({"row": range(3), "col": ["a", "b", "c", "d"]})
    sigma = pm.HalfNormal("sigma", 1)
    effect = pm.ZeroSumNormal("effect", sigma=sigma, dims="col")
    both = pm.ZeroSumNormal("both", 2.0, dims=("row", "col"), n_zerosum_axes=2)
    mean = (effect + both).sum(axis=0)
    pm.Normal("y", mean, 1.0, observed=random().normal(size=4), dims="col")


@model
def multinomial(pm):
    pm.modelcontext(None).add_coords({"k": ["x", "y", "z"], "trial": range(2)})
    a = pm.HalfNormal("a", 2, dims="k")
    p = pm.Dirichlet("p", a, dims="k")
    counts = np.array([[3, 4, 3], [5, 0, 5]])
    pm.Multinomial("y", n=10, p=p, observed=counts, dims=("trial", "k"))
    pm.DirichletMultinomial("d", n=10, a=a, observed=counts, dims=("trial", "k"))


@model
def custom(pm):
    import pytensor.tensor as pt

    mu = pm.Normal("mu", 0, 1)

    def logp(value, mu):
        return -pt.abs(value - mu)

    pm.CustomDist("y", mu, logp=logp, observed=np.array([0.5, 1.5]))


@model
def named_dims(pm):
    import pymc.dims as pmd

    pm.modelcontext(None).add_coords({"county": ["A", "B", "C"], "house": range(5)})
    at = pmd.Data("county_at", np.array([0, 2, 1, 0, 2]), dims="house")
    mu, tau = pmd.Normal("mu", 0, 5), pmd.HalfNormal("tau", 2)
    alpha = pmd.Normal("alpha", mu, tau, dims="county")
    mean = pmd.Deterministic("mean", alpha.isel(county=at))
    pmd.Normal("y", mean, pmd.Exponential("sigma", 1.0), observed=_of_house(pmd), dims="house")


def _of_house(pmd):
    return pmd.as_xtensor(random().normal(size=5), dims=("house",))


@model
def named_dims_of_two(pm):
    import pymc.dims as pmd

    pm.modelcontext(None).add_coords({"row": ["A", "B", "C"], "col": range(4)})
    a = pmd.Normal("a", 0, 1, dims="row")
    b = pmd.ZeroSumNormal("b", 1.5, core_dims="col", dims=("row", "col"))
    p = pmd.Dirichlet("p", pmd.as_xtensor(np.ones(4), dims=("col",)), core_dims="col")
    x = pmd.Gamma("x", pmd.math.exp(a), 1 + p, dims=("col", "row"))
    pmd.Potential("low", -(b**2).sum("col"))
    values = pmd.as_xtensor(random().normal(size=(3, 4)), dims=("row", "col"))
    pmd.Normal("y", a + b * x, 1.0, observed=values, dims=("row", "col"))


@model
def transforms_of_ones_own(pm):
    transforms = pm.distributions.transforms
    pm.Normal("between", 0, 1, transform=transforms.Interval(-1, 2), initval=0.5)
    # of the same kind as the usual one, with other bounds
    pm.Uniform("u", -1.0, 3.0, default_transform=transforms.Interval(-2, 4))
    pm.CustomDist("above", logp=lambda x: -x, default_transform=transforms.log, initval=1.0)


@model
def densities_of_pymc(pm):
    weights = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    alpha, tau = pm.Beta("alpha", 2, 2), pm.HalfNormal("tau")
    x = pm.CAR("x", mu=np.zeros(3), W=weights, alpha=alpha, tau=tau)
    factor = pm.LKJCorr("factor", n=3, eta=2.0)
    pm.MvNormal("y", x, chol=factor, observed=random().normal(size=(4, 3)))
    pm.Wishart("scatter", nu=4, V=np.eye(2), observed=2 * np.eye(2))
    innovations = pm.Normal.dist(0, 2, shape=1)
    pm.AR("series", pm.Normal("rho", shape=1), tau, init_dist=innovations, shape=5)


@model
def positions(pm):
    import pytensor.tensor as pt

    x = pm.Normal("x", shape=(2, 3))
    chosen = x[np.array([0, 1, 1, 0]), np.array([2, 0, 1, 2])]
    mask = np.array([True, False, True, True])
    pm.Normal("y", chosen[mask], 1 + pt.sqr(x[:, ::-1]).sum(), observed=random().normal(size=3))
    pm.Deterministic("turned", x.T)
    pm.Deterministic("ends", pt.concatenate([x[:, :1], x[:, -1:]], axis=1))
    pm.Deterministic("fixed", pt.constant([1.0, 2.0]))
    pm.Potential("twice", pt.zeros(3) + 2.0)
    pm.Potential("pairs", -x[0][:, None] * x[1][None, :])
    pm.Potential("of some", -pt.abs(x[x > 0]).sum())


# PyMC moves through other vectors: simplexes without a logarithm of ratios, discrete variables
OTHER_VECTORS = {
    "coal_mining", "gaussian_mixture", "latent_mixture", "mixture_of_families", "multinomial",
    "named_dims_of_two",
}  # fmt: skip
ROTATED = {"zero_sum"}
