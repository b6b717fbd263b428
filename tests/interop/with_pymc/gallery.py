"""More models as PyMC's gallery has them: series, survival, items, areas, processes."""

from __future__ import annotations

import numpy as np

from tests.interop.with_pymc.models import MODELS, model, random

_BEFORE = set(MODELS)


@model
def hilbert_space_gp(pm):
    x = np.linspace(0, 1, 8)[:, None]
    scale, eta = pm.InverseGamma("scale", 3, 1), pm.HalfNormal("eta", 2)
    cov = eta**2 * pm.gp.cov.Matern52(1, scale)
    f = pm.gp.HSGP(m=[5], c=1.5, cov_func=cov).prior("f", X=x)
    pm.Normal("y", f, 1.0, observed=random().normal(size=8))


@model
def kronecker_gp(pm):
    axes = [np.linspace(0, 1, n)[:, None] for n in (3, 2)]
    scale = pm.Gamma("scale", 2, 1, shape=2)
    gp = pm.gp.MarginalKron(cov_funcs=[pm.gp.cov.ExpQuad(1, scale[k]) for k in range(2)])
    y = random().normal(size=6)
    gp.marginal_likelihood("y", Xs=axes, y=y, sigma=pm.HalfNormal("sigma", 1))


@model
def garch(pm):
    shares = {"alpha_1": pm.Beta("a", 2, 5), "beta_1": pm.Beta("b", 2, 2)}
    omega = pm.HalfNormal("omega", 1)
    pm.GARCH11("y", omega=omega, **shares, initial_vol=1.0, observed=random().normal(size=6))


@model
def diffusion(pm):
    rate, start = pm.Normal("rate", 0, 1), pm.Normal.dist(0, 1)
    given = {"init_dist": start, "shape": 6, "initval": np.zeros(6)}
    pm.EulerMaruyama("x", 0.1, lambda x, rate: (rate * x, 0.5), (rate,), **given)


@model
def walks_of_vectors(pm):
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2, sd_dist=pm.HalfNormal.dist(1, shape=2))
    start = pm.MvNormal.dist(np.zeros(2), np.eye(2))
    pm.MvGaussianRandomWalk("w", mu=np.zeros(2), chol=chol, init_dist=start, shape=(4, 2))


@model
def walks_with_drift(pm):
    pm.modelcontext(None).add_coords({"day": range(6), "series": ["a", "b"]})
    steps = {"mu": pm.Normal("drift"), "sigma": pm.HalfNormal("s", 1)}
    start = pm.Normal.dist(0, 3)
    w = pm.GaussianRandomWalk("w", **steps, init_dist=start, dims=("series", "day"))
    y = random().normal(size=(2, 6))
    pm.StudentT("y", nu=4, mu=w, sigma=1, observed=y, dims=("series", "day"))


@model
def vector_autoregression(pm):
    pm.modelcontext(None).add_coords({"of": ["x", "y"], "by": ["x", "y"], "lag": [1, 2]})
    effects, start = (
        pm.Normal("effects", 0, 0.5, dims=("of", "lag", "by")),
        pm.Normal("c", dims="of"),
    )
    seen = random().normal(size=(7, 2))
    lags = [
        [pm.math.sum(effects[j, i] * seen[1 - i : -1 - i], axis=-1) for i in (0, 1)] for j in (0, 1)
    ]
    mean = start + pm.math.stack([pm.math.sum(each, axis=0) for each in lags], axis=-1)
    chol, _, _ = pm.LKJCholeskyCov("noise", eta=1.0, n=2, sd_dist=pm.HalfNormal.dist(1.0))
    pm.MvNormal("y", mean, chol=chol, observed=seen[2:])


@model
def survival(pm):
    pm.modelcontext(None).add_coord("patient", range(8))
    treated = pm.Data("treated", random().integers(0, 2, 8).astype(float), dims="patient")
    end = np.array([np.inf, 3, np.inf, 2, np.inf, np.inf, 1, np.inf])
    time = np.minimum(random(2).gamma(2, 1, 8), end)
    a, b = pm.Normal("a"), pm.Normal("b")
    scale = pm.Deterministic("scale", pm.math.exp(a + b * treated), dims="patient")
    base = pm.Weibull.dist(pm.Gamma("k", 2, 1), scale)
    pm.Censored("t", base, lower=None, upper=end, observed=time, dims="patient")
    pm.Potential("close", -pm.math.sqr(a + b))


@model
def hazards(pm):
    import pytensor.tensor as pt

    pm.modelcontext(None).add_coords({"interval": range(4), "patient": range(5)})
    base, beta = pm.Gamma("base", 0.5, 0.5, dims="interval"), pm.Normal("beta", 0, 2)
    risk = pt.outer(pm.math.exp(beta * random().normal(size=5)), base)
    risk = pm.Deterministic("risk", risk, dims=("patient", "interval"))
    exposed, died = random(2).uniform(size=(5, 4)), random(3).binomial(1, 0.2, (5, 4))
    pm.Poisson("d", exposed * risk, observed=died, dims=("patient", "interval"))


@model
def counts_of_zeros(pm):
    psi, mu, alpha = pm.Beta("psi", 2, 2), pm.Gamma("mu", 2, 1), pm.Gamma("alpha", 2, 1)
    y = np.array([0, 0, 3, 1, 0, 2])
    pm.ZeroInflatedNegativeBinomial("a", psi=psi, mu=mu, alpha=alpha, observed=y)
    pm.ZeroInflatedBinomial("b", psi=psi, n=5, p=psi, observed=y)
    pm.HurdleNegativeBinomial("c", psi=psi, mu=mu, alpha=alpha, observed=y)
    pm.HurdleLogNormal("d", psi=psi, mu=mu, sigma=alpha, observed=np.array([0, 0.4, 2.0]))


@model
def answers_by_probit(pm):
    ordered = pm.distributions.transforms.ordered
    cuts = pm.Normal("cuts", 0, 2, shape=3, transform=ordered, initval=[-1.0, 0.0, 1.0])
    beta = pm.Normal("beta")
    eta, y = beta * random().normal(size=6), np.array([0, 1, 2, 3, 1, 2])
    pm.OrderedProbit("y", eta=eta, cutpoints=cuts, sigma=1.0, observed=y)
    pm.OrderedMultinomial("m", eta=beta, cutpoints=cuts, n=10, observed=np.array([3, 2, 4, 1]))


@model
def items(pm):
    pm.modelcontext(None).add_coords({"student": range(4), "item": ["i", "j", "k"]})
    skill, hard = pm.Normal("skill", dims="student"), pm.Normal("hard", 0, 2, dims="item")
    tells = pm.LogNormal("tells", 0, 0.5, dims="item")
    p = pm.math.invlogit(tells * (skill[:, None] - hard))
    p = pm.Deterministic("p", p, dims=("student", "item"))
    pm.Bernoulli("y", p, observed=random().integers(0, 2, (4, 3)), dims=("student", "item"))


@model
def two_groups(pm):
    y, at = random().normal(size=10), np.repeat([0, 1], 5)
    mu, s = pm.Normal("mu", 0, 2, shape=2), pm.Uniform("s", 0.1, 10, shape=2)
    nu = pm.Exponential("nu_less_1", 1 / 29) + 1
    pm.StudentT("y", nu=nu, mu=mu[at], lam=s[at] ** -2, observed=y)
    apart = pm.Deterministic("apart", mu[0] - mu[1])
    pm.Deterministic("size", apart / pm.math.sqrt((s**2).sum() / 2))


@model
def areas(pm):
    weights = np.array([[0.0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    s, phi, rho = pm.HalfNormal("s", 1), pm.ICAR("phi", W=weights), pm.Beta("rho", 0.5, 0.5)
    own = pm.Normal("own", 0, 1, shape=4)
    mixed = pm.math.sqrt(1 - rho) * own + pm.math.sqrt(rho) * phi
    pm.Poisson("y", pm.math.exp(s * mixed), observed=np.array([1, 2, 0, 3]))


@model
def tumors(pm):
    ab = pm.HalfFlat("ab", shape=2, initval=np.ones(2))
    pm.Potential("prior", -2.5 * pm.math.log(ab.sum()))
    theta = pm.Beta("theta", alpha=ab[0], beta=ab[1], shape=4)
    pm.Binomial("y", p=theta, n=np.array([20, 20, 19, 10]), observed=np.array([0, 1, 2, 4]))


@model
def a_loop(pm):
    import pytensor
    import pytensor.tensor as pt

    path = pytensor.scan(
        lambda new, last, rho: rho * last + new,
        sequences=[pm.Normal("new", shape=5)],
        outputs_info=[pt.zeros(())],
        non_sequences=[pm.Uniform("rho", -1, 1)],
        return_updates=False,
    )
    pm.Normal("y", path, 0.5, observed=random().normal(size=5))


@model
def sticks(pm):
    weights = pm.StickBreakingWeights("weights", alpha=pm.Gamma("alpha", 2, 1), K=3)
    mu = pm.Normal("mu", 0, 3, shape=4)
    pm.NormalMixture("y", weights, mu, 1.0, observed=random().normal(size=6))


@model
def densities_that_are_derived(pm):
    mu = pm.Normal("mu")

    def dist(mu, sigma, size):
        return pm.math.exp(pm.Normal.dist(mu, sigma, size=size))

    pm.CustomDist("y", mu, 1.0, dist=dist, observed=np.array([0.5, 2.0]))
    x = np.linspace(-3, 3, 50)
    pm.Normal("z", pm.Interpolated("a", x, np.exp(-(x**2) / 2)), 1, observed=np.array([0.1]))


@model
def hilbert_space_of_two_columns(pm):
    x = pm.Data("x", random().normal(size=(7, 2)))
    scale = pm.InverseGamma("scale", 3, 1, shape=2)
    cov = pm.gp.cov.ExpQuad(2, ls=scale)
    f = pm.gp.HSGP(m=[3, 2], c=1.5, cov_func=cov).prior("f", X=x)
    pm.Normal("y", f, 1.0, observed=random().normal(size=7))


@model
def latent_kronecker_gp(pm):
    axes = [np.linspace(0, 1, n)[:, None] for n in (3, 2)]
    scale = pm.Gamma("scale", 2, 1, shape=2)
    gp = pm.gp.LatentKron(cov_funcs=[pm.gp.cov.ExpQuad(1, scale[k]) for k in range(2)])
    pm.Normal("y", gp.prior("f", Xs=axes), 1.0, observed=random().normal(size=6))


@model
def factors_of_a_partly_seen_matrix(pm):
    import warnings

    pm.modelcontext(None).add_coords({"row": range(20), "item": ["a", "b"]})
    seen = random().normal(size=(20, 2))
    seen[[1, 4, 7], [0, 1, 0]] = np.nan
    mu = pm.Normal("mu", dims="item")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        x = pm.Normal("x", mu, 1.0, observed=seen, dims=("row", "item"))
    slopes = pm.Normal("slopes", dims="item")
    pm.Normal("y", pm.math.dot(x, slopes), 1.0, observed=random(2).normal(size=20), dims="row")


GALLERY = {name: build for name, build in MODELS.items() if name not in _BEFORE}
for _name in GALLERY:  # apart from the others, which are read alone
    del MODELS[_name]
