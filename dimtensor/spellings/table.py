"""Table of names in other libraries and their replacements here."""

from __future__ import annotations

from typing import NamedTuple


class Spelling(NamedTuple):
    """Row of the table: a spelling of another library and its replacement here.

    Attributes
    ----------
    where : str
        Where the name is looked up: ``"dt"``, ``"dist"`` and ``"random"`` (the modules),
        ``"distribution"`` and ``"model"`` (attributes), ``"rv"`` and ``"Model"`` (arguments).
        ``"page"`` is for the documentation alone.
    names : str
        Separated by spaces.
    theirs : str
        Source of the other library; empty for rows that the documentation does not list.
    ours : str
        The replacement, with code between backticks.
    """

    where: str
    names: str
    theirs: str
    ours: str


_START = "starting values are given to the sampler: `fit.sample(initial={'x': 1.0})`"
_TRANSFORM = (
    "the support of a distribution says how it is sampled, without a transform: "
    "`dt.rv('x', dist.ordered(dist.Normal(0, 1), dim=k))`; a support for a density of your own is "
    "`dist.custom(logp, support=dt.supports.ordered(k))`"
)
_POTENTIAL = (
    "`p = dt.rv('p', dist.custom(lambda x: term, dt.real))`, with `model.observe({p: 0.0})`"
)
_DIMS = "lengths belong to dims: `dt.rv('x', dist.Normal(0, 1), dims=dt.Dim('k', length=3))`"
_OBSERVED = "observations are given to the model: `fit = dt.Model(x).observe({x: values})`"
_PRIOR = "`model.draw(500, seed=1)` draws from the prior"
_INPUT = "`floor = dt.tensor('floor', dims=house)`, and `dt.Model(y, data={floor: values})`"
_RESULTS = "results are a DataTree, which ArviZ takes: `az.summary(post)`"
_NUMBER = "numbers are operands as they are, and arrays are `dt.data(values, dims=house)`"

TABLE = (
    Spelling(
        "page",
        "",
        "with pm.Model(coords=...)",
        "none: `dt.Model(radon)` is what `radon` depends on",
    ),
    Spelling(
        "page",
        "",
        'pm.Normal("x", 0, 1, dims="county")',
        "`dt.rv('x', dist.Normal(0, 1), dims=county)`",
    ),
    Spelling(
        "Model",
        "coords",
        "pm.Model(coords={'county': names})",
        "labels belong to dims: `county = dt.Dim('county', coords=names)`",
    ),
    Spelling("dt", "Deterministic", 'pm.Deterministic("mean", a + b)', "`dt.named('mean', a + b)`"),
    Spelling(
        "dt",
        "Potential",
        'pm.Potential("p", term)',
        _POTENTIAL,
    ),
    Spelling(
        "dt", "Data MutableData ConstantData", 'pm.Data("floor", values, dims="house")', _INPUT
    ),
    Spelling("rv", "observed obs", "pm.Normal(..., observed=values)", _OBSERVED),
    Spelling("rv", "shape size", "pm.Normal(..., shape=3)", _DIMS),
    Spelling("rv", "initval testval init", "pm.Normal(..., initval=1.0)", _START),
    Spelling(
        "rv",
        "transform default_transform",
        "pm.Normal(..., transform=ordered)",
        _TRANSFORM,
    ),
    Spelling(
        "rv",
        "total_size",
        "pm.Normal(..., total_size=n)",
        "`dist.weighted(dist.Normal(0, 1), n / dt.length(obs))` is the distribution",
    ),
    Spelling(
        "rv",
        "lower upper",
        "",
        "bounds are of the distribution: `dist.truncated(dist.Normal(0, 1), lower=0)`",
    ),
    Spelling(
        "rv", "coords", "", "labels belong to dims: `county = dt.Dim('county', coords=names)`"
    ),
    Spelling("page", "", "alpha[county_idx]", "`alpha.sel(county=county_of)`"),
    Spelling("page", "", "x[:, None] + y[None, :]", "`x + y`"),
    Spelling("dt", "math", "pm.math.exp(x)", "functions are in the package itself: `dt.exp(x)`"),
    Spelling(
        "dt", "matmul tensordot inner", "pm.math.dot(x, beta)", "`dt.dot(x, beta, dim=predictor)`"
    ),
    Spelling(
        "dt",
        "einsum",
        "",
        "dims have names in place of subscripts, and `dt.dot` sums products of two tensors or more "
        "over them: `dt.dot(x, beta, dim=predictor)`",
    ),
    Spelling("dt", "norm", "", "`dt.linalg.norm(x)`"),
    Spelling("dt", "outer", "", "products broadcast by the names of dims: `x * y`"),
    Spelling(
        "dt",
        "nansum nanmean nanprod nanstd nanvar nanmin nanmax nanmedian nanquantile",
        "",
        "reductions leave out NaN on demand: `x.mean(skipna=True)`",
    ),
    Spelling("dt", "average", "", "`x.weighted(w).mean()`"),
    Spelling("dt", "switch", "pm.math.switch(c, a, b)", "`dt.where(c, a, b)`"),
    Spelling("dt", "invlogit inv_logit", "pm.math.invlogit(x)", "`dt.sigmoid(x)`"),
    Spelling("dt", "concatenate", "pm.math.concatenate([x, y])", "`dt.concat([x, y], dim)`"),
    Spelling(
        "dt",
        "constant as_tensor as_tensor_variable shared array asarray DataArray Series",
        "",
        _NUMBER,
    ),
    Spelling("dt", "sample_prior_predictive", "pm.sample_prior_predictive()", _PRIOR),
    Spelling("model", "sample_prior_predictive prior_predictive", "", _PRIOR),
    Spelling("page", "", "pm.sample(random_seed=1)", "`fit.sample(seed=1)`"),
    Spelling("page", "", "pm.sample(1000, tune=1000)", "`fit.sample(1000, tune=1000)`"),
    Spelling(
        "dt",
        "sample_posterior_predictive set_data",
        "pm.set_data({...}), pm.sample_posterior_predictive(idata)",
        "`model.predict(post, {floor: values})`",
    ),
    Spelling(
        "model",
        "sample_posterior_predictive posterior_predictive set_data",
        "",
        "`model.predict(post, {floor: values})`",
    ),
    Spelling("dt", "find_MAP", "pm.find_MAP()", "`fit.mode()`"),
    Spelling("model", "elimination", "", "`fit.elimination_order`"),
    Spelling("model", "noncentred", "", "`fit.noncentered('mu')`"),
    Spelling("model", "centred", "", "`fit.centered('mu')`"),
    Spelling("distribution", "knows", "", "`d.implements('icdf')`"),
    Spelling("model", "find_MAP optimize map", "", "`fit.mode()`"),
    Spelling("dt", "fit ADVI", "pm.fit()", "`fit.advi()`, `fit.pathfinder()` and `fit.laplace()`"),
    Spelling(
        "dt",
        "NUTS Metropolis Slice Hamiltonian",
        "pm.NUTS()",
        "`fit.sample(sampler='nutpie')` has no steps to choose",
    ),
    Spelling(
        "dt",
        "compute_log_likelihood",
        "pm.compute_log_likelihood(idata)",
        "`fit.log_likelihood(post)`",
    ),
    Spelling("dt", "compute_log_prior", "pm.compute_log_prior(idata)", "`fit.log_prior(post)`"),
    Spelling(
        "dt",
        "do observe",
        "pm.do(model, {...}), pm.observe(model, {...})",
        "`model.do({x: 1.0})`, `model.observe({y: values})`",
    ),
    Spelling(
        "dt", "logp logcdf", "pm.logp(pm.Normal.dist(0, 1), x)", "`dist.Normal(0, 1).logp(x)`"
    ),
    Spelling("page", "", "pm.draw(x, draws=100)", "`dt.Model(x).draw(100, seed=1)`"),
    Spelling("page", "", "a non-centered formula", "`fit.noncentered(alpha)`"),
    Spelling(
        "page",
        "",
        "pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, 2.0)).prior('f', X=x)",
        "`dist.GP(dt.gp.Matern52(2.0), dt.Dim('t', coords=[0.0, 1.0]))`, a distribution",
    ),
    Spelling(
        "page",
        "",
        "pm.gp.HSGP(m=[20], c=1.5, cov_func=cov).prior('f', X=x)",
        "`dist.GP(dt.gp.Matern52(2.0), dt.Dim('t', coords=[0.0, 1.0]), "
        "approximation=dt.gp.HSGP())`",
    ),
    Spelling(
        "dt", "model_to_graphviz", "pm.model_to_graphviz(model)", "`model.to_graph('model.svg')`"
    ),
    Spelling("model", "to_graphviz graphviz render", "", "`model.to_graph('model.svg')`"),
    Spelling(
        "dt",
        "modelcontext Minibatch",
        "",
        "there is no context: `dt.Model(y)` is what y depends on",
    ),
    Spelling(
        "dt", "distributions stats", "", "distributions are in dist: `from dimtensor import dist`"
    ),
    Spelling(
        "dt",
        "summary loo waic compare plot_trace plot_posterior plot_forest ess rhat hdi",
        "",
        _RESULTS,
    ),
    Spelling(
        "model",
        "fit",
        "",
        "`post = fit.sample()`, of `fit = model.observe({y: values})`",
    ),
    Spelling(
        "model",
        "plot_trace plot_forest plot_rank plot_ppc plot_posterior",
        "",
        "`fit.plot` has ArviZ's plots: fit.plot.trace(post)",
    ),
    Spelling(
        "model",
        "loo waic compare",
        "",
        "`fit.log_likelihood(post)` adds what ArviZ's loo and compare read",
    ),
    Spelling(
        "model",
        "basic_RVs free_RVs unobserved_RVs named_vars",
        "",
        "`model.variables`, `model.free`",
    ),
    Spelling("model", "coords dim_lengths", "", "labels belong to dims: `model['alpha'].dims`"),
    Spelling(
        "model",
        "add_coord add_coords",
        "",
        "labels belong to dims: `county = dt.Dim('county', coords=names)`",
    ),
    Spelling(
        "model",
        "compile_logp compile_fn logp_dlogp_function",
        "",
        "`fit.log_density()`, whose `logp` takes a vector",
    ),
    Spelling(
        "model", "debug check_test_point point_logps", "", "`fit.logp({'mu': 0.0})` has each term"
    ),
    Spelling("dist", "Lognormal Lognorm", "pm.Lognormal", "`dist.LogNormal`"),
    Spelling(
        "dist",
        "Mixture",
        "pm.Mixture(w, [d, e])",
        "`dist.mixture(w, [d, e], dim=k)`, or one distribution with the dim `k`",
    ),
    Spelling(
        "dist",
        "NormalMixture",
        "pm.NormalMixture(w, mu, sigma)",
        "`dist.mixture(w, dist.Normal(mu, sigma), dim=k)`",
    ),
    Spelling(
        "dist", "Truncated", "pm.Truncated(d, lower, upper)", "`dist.truncated(d, lower, upper)`"
    ),
    Spelling(
        "dist", "Censored", "pm.Censored(d, lower, upper)", "`dist.censored(d, lower, upper)`"
    ),
    Spelling("dist", "Bound", "", "`dist.truncated(dist.Normal(0, 1), lower=0)`"),
    Spelling(
        "dist", "CustomDist DensityDist", "pm.CustomDist(...)", "`dist.custom(logp, support)`"
    ),
    Spelling(
        "dist",
        "ZeroInflatedPoisson",
        "pm.ZeroInflatedPoisson(psi, mu)",
        "`dist.zero_inflated(dist.Poisson(mu), psi)`",
    ),
    Spelling(
        "dist",
        "ZeroInflatedBinomial ZeroInflatedNegativeBinomial",
        "",
        "`dist.zero_inflated(d, psi)` of the distribution without zeros",
    ),
    Spelling(
        "dist", "HurdlePoisson", "pm.HurdlePoisson(psi, mu)", "`dist.hurdle(dist.Poisson(mu), psi)`"
    ),
    Spelling(
        "dist",
        "HurdleGamma HurdleLogNormal HurdleNegativeBinomial",
        "",
        "`dist.hurdle(d, psi)` of the distribution without zeros",
    ),
    Spelling(
        "dist",
        "StickBreakingWeights",
        "pm.StickBreakingWeights(alpha, K)",
        "`dist.StickBreaking(alpha, dim=k)`",
    ),
    Spelling("dist", "WishartBartlett", "pm.WishartBartlett(S, nu)", "`dist.Wishart(nu, S)`"),
    Spelling("dist", "OrderedMultinomialProbit", "", "`dist.OrderedMultinomial`"),
    Spelling("dist", "Deterministic", "", "`dt.named('mean', a + b)`"),
    Spelling(
        "dist",
        "Potential",
        "",
        _POTENTIAL,
    ),
    Spelling("dist", "Constant", "", "`dist.DiracDelta`"),
    Spelling("dist", "Gaussian norm", "", "`dist.Normal`"),
    Spelling("dist", "MultivariateNormal MultiNormal multi_normal", "", "`dist.MvNormal`"),
    Spelling("dist", "Student T t", "", "`dist.StudentT`"),
    Spelling("dist", "HalfT HalfStudent", "", "`dist.HalfStudentT`"),
    Spelling("dist", "InvGamma", "", "`dist.InverseGamma`"),
    Spelling("dist", "NegBinomial nbinom neg_binomial_2", "", "`dist.NegativeBinomial`"),
    Spelling("dist", "BernoulliLogit", "", "`dist.Bernoulli(logit_p=eta)`"),
    Spelling("dist", "ImproperFlat ImproperUniform", "", "`dist.Flat`"),
    Spelling(
        "distribution",
        "sample rvs random",
        "pm.draw(pm.Normal.dist(0, 1))",
        "`x, rng = d.draw(dt.random.generator(1))`, with `dims=` for several",
    ),
    Spelling(
        "random",
        "default_rng seed RandomState PRNGKey key",
        "np.random.default_rng(1)",
        "`rng = dt.random.generator(1)`",
    ),
    Spelling("distribution", "pdf pmf prob", "", "`dt.exp(d.logp(x))`"),
    Spelling("distribution", "log_prob logpdf logpmf lpdf", "", "`d.logp(x)`"),
    Spelling("distribution", "ppf quantile inv_cdf", "", "`d.icdf(q)`"),
    Spelling("distribution", "sf survival_function", "", "`dt.exp(d.logsf(x))`"),
    Spelling("distribution", "var", "", "`d.variance()`"),
    Spelling(
        "distribution",
        "expand batch_shape event_shape shape",
        "",
        "`d.dims`; `dt.rv('x', d, dims=k)` has more",
    ),
    Spelling("distribution", "dist", "pm.Normal.dist(0, 1)", "`dist.Normal(0, 1)`"),
)

# Arguments in other libraries; the first parameter that a function has replaces the name.
ARGUMENTS = {
    "labels": ("coords",), "values": ("coords",), "size": ("length",),
    "random_seed": ("seed",), "random_state": ("seed",),
    "samples": ("draws", "n"), "num_samples": ("draws", "n"), "draws": ("n",), "iter": ("draws",),
    "warmup": ("tune",), "num_warmup": ("tune",),
    "n_chains": ("chains",), "num_chains": ("chains",),
    "start": ("initial",), "initvals": ("initial",), "initval": ("initial",),
    "trace": ("post",), "idata": ("post",), "var_names": ("names",),
    "prior": ("priors",), "comp_dists": ("parts",), "w": ("weights",), "sd_dist": ("sd",),
    "a": ("alpha", "lower"), "b": ("beta", "upper"), "low": ("lower",), "high": ("upper",),
    "min": ("lower",), "max": ("upper",), "probs": ("p",), "prob": ("p",),
    "logits": ("logit_p", "logits"), "N": ("n",), "covariance_matrix": ("cov",), "Sigma": ("cov",),
    "scale_tril": ("chol",), "dist": ("d",),
    "over": ("dim",), "axis": ("dim",), "core_dims": ("input_core_dims",),
    "out_dims": ("output_core_dims",), "degree": ("dim",),
    "zero_sum": ("zero_sum_stdev",),
}  # fmt: skip

_DEVIATION = ("standard deviation", "its standard deviation", "its deviation", "their deviation")
_MEAN = ("mean of the normal", "mean of log", "mean without", "mean of the log odds")
# Meanings of distribution parameters with other names in other libraries, likeliest first, by the
# beginning of the parameter's documentation. A name alone is ambiguous: `beta` is a rate of Gamma,
# a scale of InverseGamma and a shape of Beta.
MEANINGS = {
    "sd": (*_DEVIATION, "scale"), "std": (*_DEVIATION, "scale"), "stddev": (*_DEVIATION, "scale"),
    "stdev": (*_DEVIATION, "scale"), "sigma": ("scale",), "scale": ("scale", *_DEVIATION),
    "loc": ("location", "direction", *_MEAN, "mean;"),
    "location": ("location", "direction", *_MEAN, "mean;"),
    "mean": ("mean;", "mean of y", *_MEAN, "expected number", "location", "direction"),
    "rate": ("rate", "expected number"), "lam": ("rate", "expected number"),
    "lambda_": ("rate", "expected number"), "df": ("degrees of freedom",),
    "dof": ("degrees of freedom",), "prec": ("precision", "1 / sigma"),
    "precision": ("precision", "1 / sigma", "concentration"), "shape": ("shape;",),
    "concentration": ("concentration", "shape;"), "phi": ("shape of the rate",),
    "theta": ("probability of",), "trials": ("number of trials",),
    "total_count": ("number of trials", "number of successes"), "k": ("shape;",),
    "meanlog": ("mean of log",), "sdlog": ("its deviation",), "mu": ("location", "mean;"),
}  # fmt: skip


def told(where: str, name: str) -> str | None:
    """Return the replacement of another library's name, None if it is unknown."""
    for row in TABLE:
        if row.where == where and name in row.names.split():
            return row.ours.replace("`", "")
    return None
