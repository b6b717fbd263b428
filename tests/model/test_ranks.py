"""Prior, data, posterior: the rank of what data were made of is uniform among posterior draws.

Each model is drawn from its prior predictive distribution many times, and fitted to each data set.
Ranks of the true value among thinned draws are put into bins of equal probability; the statistic is
Pearson's. Beside parameters the log likelihood is ranked: it tells a posterior from the prior,
which parameters alone do not (Modrák et al. 2023, "Simulation-Based Calibration Checking for
Bayesian Computation", Bayesian Analysis 20).
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist

SIMULATIONS, KEPT, THIN, BINS = 120, 19, 20, 5
# of one ranked quantity; fewer than ten of each model
FALSE_ALARM = 5e-6


def pearson(ranks):
    """Pearson's statistic of ranks from 0 to KEPT, of which there are a multiple of BINS."""
    counts = np.bincount(np.asarray(ranks) * BINS // (KEPT + 1), minlength=BINS)
    return st.chisquare(counts).statistic


LIMIT = st.chi2(BINS - 1).isf(FALSE_ALARM)


def radon():
    county = dt.Dim("county", length=8)
    house = dt.Dim("house", length=40)
    places = np.random.default_rng(1).integers(0, 8, 40)
    county_of = dt.data(places, dims=house, categories=county, name="county_of")
    floor = dt.data(np.arange(40) % 2, dims=house, name="floor")
    mu, slope = dt.rv("mu", dist.Normal(0, 1)), dt.rv("slope", dist.Normal(0, 1))
    spread = dt.rv("spread", dist.HalfNormal(1))
    sigma = dt.rv("sigma", dist.LogNormal(-0.5, 0.5))
    alpha = dt.rv("alpha", dist.Normal(mu, spread), dims=county)
    y = dt.rv("y", dist.Normal(alpha.sel(county=county_of) + slope * floor, sigma))
    return dt.Model(y).noncentered(alpha), ["mu", "slope", "spread", "sigma", "alpha"]


def state_space():
    """A hidden autoregression, which is seen with noise."""
    time = dt.Dim("time", length=25)
    rho = dt.rv("rho", dist.Uniform(0, 1))
    step = dt.rv("step", dist.LogNormal(-1, 0.5))
    noise = dt.rv("noise", dist.LogNormal(-1, 0.5))

    def follow(before, rho, step):
        return dist.Normal(rho * before, step), lambda value: value

    x = dt.rv("x", dist.Series(follow, 0.5, dim=time, rho=rho, step=step))
    y = dt.rv("y", dist.Normal(x, noise))
    return dt.Model(y), ["rho", "step", "noise", "x"]


def item_response():
    person, item = dt.Dim("person", length=20), dt.Dim("item", length=8)
    ability = dt.rv("ability", dist.Normal(0, 1), dims=person)
    mean = dt.rv("mean", dist.Normal(0, 1))
    difficulty = dt.rv("difficulty", dist.Normal(mean, 1), dims=item)
    slope = dt.rv("slope", dist.LogNormal(0, 0.4), dims=item)
    y = dt.rv("y", dist.Bernoulli(logit_p=slope * (ability - difficulty)))
    return dt.Model(y), ["ability", "mean", "difficulty", "slope"]


def ranks_of(model, names):
    """Ranks by quantity; of a variable with dims the ranks of its first element."""
    drawn = model.draw(SIMULATIONS, seed=11)
    prior, data = drawn["prior"].isel(chain=0), drawn["prior_predictive"].isel(chain=0)["y"]
    found = {name: [] for name in [*names, "log likelihood"]}
    for at in range(SIMULATIONS):
        fit = model.observe({"y": data.isel(draw=at, drop=True)})
        with warnings.catch_warnings():
            # a few draws of one chain, among them some that diverge where the prior is wide
            warnings.simplefilter("ignore", dt.SamplingWarning)
            post = fit.sample(KEPT * THIN, tune=300, chains=1, cores=1, seed=at, report=False,
                              target_accept=0.95, progress_bar=False)  # fmt: skip
        draws = post["posterior"].to_dataset().isel(draw=slice(THIN - 1, None, THIN))
        truth = prior.to_dataset().isel(draw=[at]).expand_dims("chain")
        likelihoods = [
            fit.log_likelihood(x)["log_likelihood"]["y"].sum(fit["y"].sizes).values.ravel()
            for x in (draws, truth)
        ]
        found["log likelihood"].append((likelihoods[0] < likelihoods[1]).sum())
        for name in names:
            values = [x[name].isel(dict.fromkeys(fit[name].sizes, 0)) for x in (draws, truth)]
            found[name].append((values[0].values.ravel() < values[1].values.ravel()).sum())
    return found


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("make", [radon, state_space, item_response])
def test_ranks_are_uniform(make):
    model, names = make()
    statistics = {name: pearson(ranks) for name, ranks in ranks_of(model, names).items()}
    assert max(statistics.values()) < LIMIT, statistics


def test_ranks_that_are_not_uniform_are_found(rng):
    """Ranks of a normal among draws with a third of its deviation, and of one that is moved."""
    truth = rng.normal(size=(SIMULATIONS, 1))
    draws = rng.normal(size=(SIMULATIONS, KEPT))
    assert pearson((draws < truth).sum(axis=1)) < LIMIT
    assert pearson((draws / 3 < truth).sum(axis=1)) > LIMIT
    assert pearson((draws < truth + 1.0).sum(axis=1)) > LIMIT
