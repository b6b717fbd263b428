"""What ArviZ makes of results: every plot and statistic that applies to two fitted models."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

az = pytest.importorskip("arviz")
pytest.importorskip("nutpie")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.compiled,
    # of plots and statistics that are asked for little: they need not be good ones
    pytest.mark.filterwarnings("ignore"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"


def every_group(model, fit, **options):
    """A posterior with all groups that a model can give."""
    post = fit.sample(
        300, tune=300, chains=2, seed=1, progress_bar=False, report=False, save_warmup=True,
        log_likelihood=True, log_prior=True, **options,
    )  # fmt: skip
    post.update(fit.draw(400, seed=1))
    return model.predict(post, seed=1)


@pytest.fixture(scope="module")
def schools():
    school = dt.Dim("school", coords=list("ABCDEFGH"))
    mu = dt.rv("mu", dist.Normal(0.0, 5.0))
    tau = dt.rv("tau", dist.HalfNormal(5.0))
    theta = dt.rv("theta", dist.Normal(mu, tau), dims=school)
    error = dt.data([15.0, 10, 16, 11, 9, 11, 10, 18], dims=school, name="error")
    y = dt.rv("y", dist.Normal(theta, error))
    fit = dt.Model(y).observe({y: [28.0, 8, -3, 7, -1, 1, 18, 12]}).noncentered(theta)
    # plot_parallel fails where one draw alone diverged
    return every_group(fit, fit, target_accept=0.95), ["mu", "tau"]


@pytest.fixture(scope="module")
def radon():
    example = runpy.run_path(str(EXAMPLES / "radon.py"))
    fit = example["build_model"](dt.datasets.load("radon"))
    return every_group(fit, fit), ["mu_alpha", "sigma_alpha", "sigma_y"]


GROUPS = {
    "posterior", "unconstrained_posterior", "sample_stats", "log_likelihood", "log_prior",
    "observed_data", "constant_data", "prior", "prior_predictive", "posterior_predictive",
    "warmup_posterior", "warmup_sample_stats", "warmup_unconstrained_posterior",
}  # fmt: skip
# plots that are given the posterior, and the names of a few variables
PLAIN = {
    "plot_autocorr", "plot_convergence_dist", "plot_dgof", "plot_dgof_dist", "plot_dist",
    "plot_ess", "plot_ess_evolution", "plot_forest", "plot_mcse", "plot_pair", "plot_parallel",
    "plot_prior_posterior", "plot_psense_dist", "plot_psense_quantities", "plot_rank",
    "plot_rank_dist", "plot_ridge", "plot_trace", "plot_trace_dist",
}  # fmt: skip
# plots of predictions
PREDICTIVE = {
    "plot_ppc_dist", "plot_ppc_dist_pit", "plot_ppc_interval", "plot_ppc_pit", "plot_ppc_tstat",
    "plot_loo_interval", "plot_loo_pit",
}  # fmt: skip
SPECIAL = {
    "plot_bf": lambda tree, names: az.plot_bf(tree, var_names=names[0]),
    "plot_compare": lambda tree, names: az.plot_compare(az.compare({"one": tree, "two": tree})),
    "plot_energy": lambda tree, names: az.plot_energy(tree),
    "plot_khat": lambda tree, names: az.plot_khat(az.loo(tree, pointwise=True)),
    "plot_pair_focus": lambda tree, names: az.plot_pair_focus(
        tree, focus_var=names[0], var_names=names[1:]
    ),
}
# each with the data that it is of
NOT_OF_THESE = {
    "plot_ecdf_pit": "ranks: tests of calibrate draw it",
    "plot_lm": "a line over a predictor",
    "plot_loo_pava": "binary outcomes",
    "plot_ppc_censored": "censored outcomes",
    "plot_ppc_pava": "binary outcomes",
    "plot_ppc_pava_residuals": "binary outcomes",
    "plot_ppc_rootogram": "counts",
}


def test_every_plot_of_arviz_is_known():
    found = {name for name in dir(az) if name.startswith("plot_") and callable(getattr(az, name))}
    assert found == PLAIN | PREDICTIVE | set(SPECIAL) | set(NOT_OF_THESE)


@pytest.mark.parametrize("name", sorted(PLAIN | PREDICTIVE | set(SPECIAL)))
def test_arviz_draws_the_eight_schools(schools, name):
    _draw(name, *schools)


@pytest.mark.parametrize("name", sorted(PLAIN | PREDICTIVE | set(SPECIAL)))
def test_arviz_draws_radon(radon, name):
    _draw(name, *radon)


def _draw(name, tree, names):
    import matplotlib.pyplot as plt

    if "psense" in name and "alpha" in tree["posterior"]:
        tree = tree.copy()  # ArviZ calls what it scales densities by alpha
        tree["posterior"] = xr.DataTree(tree["posterior"].to_dataset().drop_vars("alpha"))
    try:
        if name in SPECIAL:
            made = SPECIAL[name](tree, names)
        elif name in PREDICTIVE:
            made = getattr(az, name)(tree)
        else:
            made = getattr(az, name)(tree, var_names=names)
        assert made is not None
        assert plt.get_fignums()
    finally:
        plt.close("all")


@pytest.mark.parametrize("which", ["schools", "radon"])
def test_statistics_of_arviz(request, which):
    tree, names = request.getfixturevalue(which)
    assert set(tree.children) == GROUPS
    table = az.summary(tree, var_names=names)
    assert list(table.index) == names
    found = az.loo(tree)
    (outcome,) = tree["observed_data"].data_vars
    assert found.n_data_points == tree["observed_data"][outcome].size
    assert np.isfinite(found.elpd)
    assert list(az.compare({"one": tree, "other": tree}).index) == ["one", "other"]
    for group in ("prior", "likelihood"):
        assert (az.psense(tree, group=group, var_names=names).to_array() >= 0).all()
    assert list(az.psense_summary(tree, var_names=names).index) == names
    _, told = az.diagnose(tree, var_names=names, show_diagnostics=False, return_diagnostics=True)
    assert {"divergent", "treedepth"} <= set(told)
    assert (az.bfmi(tree)["energy"] > 0.3).all()
    assert az.summary(tree, group="unconstrained_posterior", var_names=names[:1]).shape[0] == 1
    assert az.summary(tree, group="prior", var_names=names[:1], kind="stats").shape[0] == 1
