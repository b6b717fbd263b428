"""Missing observations along ragged dims, beside sums over paths and SciPy's normal densities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp

import dimtensor as dt
from dimtensor import dist

subject = dt.Dim("subject", coords=["a", "b", "c", "d"])
sky = dt.Dim("sky", coords=["dry", "wet"])
START, MOVES = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.4, 0.6]])
MEANS = np.array([-0.5, 0.8])
# missing ones are first, last, in between, and all of a parent
OWNERS = [[0, 0, 0, 2, 2, 3], [2, 0, 2, 0, 3, 0]]
Y = np.array([np.nan, 1.2, -0.4, 0.3, np.nan, np.nan])
THERE = ~np.isnan(Y)
each_layout = pytest.mark.parametrize("owners", [np.array(one) for one in OWNERS])


def of(owners: np.ndarray) -> dt.Dim:
    return dt.ragged("trial", within=subject, by=subject.coords[owners])


def chain(trial: dt.Dim) -> dist.Distribution:
    moves = dt.data(MOVES, dims=[sky, sky.rename()])
    return dist.MarkovChain(dt.data(START, dims=sky), moves, dim=trial)


def path_sums(owners: np.ndarray, emission: np.ndarray) -> tuple[float, np.ndarray]:
    """Log density of all parents, and the probability of the second state at each position.

    `emission` is the log density of each position in each state.
    """
    total, probable = 0.0, np.zeros(len(owners))
    for at in range(4):
        own = np.flatnonzero(owners == at)
        paths = list(itertools.product(range(2), repeat=len(own)))
        logps = [
            sum(
                emission[place, state]
                + (np.log(MOVES[path[n - 1], state]) if n else np.log(START[state]))
                for n, (place, state) in enumerate(zip(own, path, strict=True))
            )
            for path in paths
        ]
        total += logsumexp(logps)
        weights = np.exp(logps - logsumexp(logps))
        probable[own] = weights @ np.array(paths, float).reshape(len(paths), len(own))
    return total, probable


@each_layout
def test_observed_variables(owners):
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=subject)
    model = dt.Model(dt.rv("y", dist.Normal(mu, 2.0), dims=of(owners)), backend="python")
    means = np.array([0.1, 0.2, 0.3, 0.4])
    each = stats.norm(means[owners], 2.0).logpdf
    prior = stats.norm.logpdf(means).sum()
    dropped = model.observe({"y": Y}, missing="drop").log_density()
    assert dropped.logp(means) == pytest.approx(prior + each(Y)[THERE].sum(), rel=1e-12)
    inferred = model.observe({"y": Y}, missing="infer").log_density()
    labels = of(owners).coords.tolist()
    gone = [label for label, there in zip(labels, THERE, strict=True) if not there]
    assert inferred.names[4:] == [f"y_missing[{parent},{n}]" for parent, n in gone]
    whole = np.where(THERE, Y, 0.6)
    value = inferred.logp(np.concatenate([means, np.full(3, 0.6)]))
    assert value == pytest.approx(prior + each(whole).sum(), rel=1e-12)


PROCESSES = {
    "walk": (1.0, lambda trial, lag: dist.GaussianRandomWalk(
        0.0, 0.8, dim=trial, start=dist.Normal(0.0, 2.0))),
    "ar": (0.6, lambda trial, lag: dist.AR(
        dt.full(lag, 0.6), 0.8, dim=trial, lag=lag, start=dist.Normal(0.0, 2.0))),
    "series": (0.6, lambda trial, lag: dist.Series(
        lambda before: (dist.Normal(0.6 * before, 0.8), lambda value: value), 0.0, dim=trial)),
}  # fmt: skip


def joint_covariance(owners: np.ndarray, rho: float, first: float) -> np.ndarray:
    effects, scales = np.zeros((len(owners),) * 2), np.full(len(owners), 0.8)
    for at in range(4):
        before = None
        for place in np.flatnonzero(owners == at):
            if before is None:
                scales[place] = first
            else:
                effects[place] = rho * effects[before]
            effects[place, place] = 1.0
            before = place
    return effects @ np.diag(scales**2) @ effects.T


@each_layout
@pytest.mark.parametrize("name", PROCESSES)
def test_elements_of_a_process_are_inferred(name, owners):
    rho, of_dim = PROCESSES[name]
    trial, lag = of(owners), dt.Dim("lag", length=1)
    fit = dt.Model(dt.rv("y", of_dim(trial, lag)), backend="python")
    density = fit.observe({"y": Y}, missing="infer").log_density()
    cov = joint_covariance(owners, rho, 0.8 if name == "series" else 2.0)
    values = np.array([0.2, -0.3, 0.7])
    whole = Y.copy()
    whole[~THERE] = values
    value, slope = density.logp_and_grad(values)
    expected = stats.multivariate_normal(np.zeros(6), cov).logpdf(whole)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, -np.linalg.solve(cov, whole)[~THERE], rtol=1e-10)


@each_layout
@pytest.mark.parametrize("name", PROCESSES)
def test_observations_of_a_latent_process(name, owners):
    """The latent elements without an observation are integrated out, too."""
    rho, of_dim = PROCESSES[name]
    trial, lag = of(owners), dt.Dim("lag", length=1)
    w = dt.rv("w", of_dim(trial, lag))
    model = dt.Model(dt.rv("y", dist.Normal(w, 0.5)), backend="python")
    fit = model.observe({"y": Y}, missing="drop").marginalize("w")
    cov = joint_covariance(owners, rho, 0.8 if name == "series" else 2.0)
    seen = cov[np.ix_(THERE, THERE)] + 0.25 * np.eye(THERE.sum())
    expected = stats.multivariate_normal(np.zeros(len(seen)), seen).logpdf(Y[THERE])
    assert float(fit.logp({})["y"]) == pytest.approx(expected, rel=1e-11)
    found = fit.recover(nothing(1), how="most probable")["posterior"]["w"].values[0, 0]
    mean = cov[:, THERE] @ np.linalg.solve(seen, Y[THERE])
    np.testing.assert_allclose(found, mean, atol=1e-10)


def nothing(n: int) -> xr.Dataset:
    return xr.Dataset(coords={"chain": [0], "draw": np.arange(n)})


@each_layout
def test_emissions_of_a_hidden_chain(owners):
    z = dt.rv("z", chain(of(owners)))
    mean = dt.rv("mean", dist.Normal(0.0, 1.0), dims=sky)
    model = dt.Model(dt.rv("y", dist.Normal(mean.sel(sky=z), 1.0)), backend="python")
    emission = stats.norm(MEANS, 1.0).logpdf(Y[:, None])
    expected, probable = path_sums(owners, np.where(THERE[:, None], emission, 0.0))
    fit = model.observe({"y": Y}, missing="drop").marginalize("z")
    prior = stats.norm.logpdf(MEANS).sum()
    assert fit.log_density().logp(MEANS) == pytest.approx(prior + expected, rel=1e-12)
    post = xr.Dataset({"mean": (["chain", "draw", "sky"], MEANS[None, None])}, {"sky": sky.coords})
    shown = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    np.testing.assert_allclose(shown.sel(sky="wet").values[0, 0], probable, rtol=1e-9)
    inferred = model.observe({"y": Y}, missing="infer").marginalize("z").log_density()
    whole = np.where(THERE, Y, 0.4)
    expected, _ = path_sums(owners, stats.norm(MEANS, 1.0).logpdf(whole[:, None]))
    value = inferred.logp(np.concatenate([MEANS, np.full(3, 0.4)]))
    assert value == pytest.approx(prior + expected, rel=1e-12)


@each_layout
@pytest.mark.parametrize("ragged", [True, False])
def test_labels_of_an_observed_chain_are_summed_out(ragged, owners):
    labels = np.array([None, "wet", "dry", "wet", None, None], dtype=object)
    mean = dt.rv("mean", dist.Normal(0.0, 1.0), dims=sky)
    owners = owners if ragged else np.zeros(6, int)
    z = dt.rv("z", chain(of(owners) if ragged else dt.Dim("trial", length=6)))
    y = dt.rv("y", dist.Normal(mean.sel(sky=z), 1.0))
    model = dt.Model(y, backend="python").observe({"y": np.where(THERE, Y, 0.4)})
    fit = model.observe({"z": labels}, missing="infer")
    emission = stats.norm(MEANS, 1.0).logpdf(np.where(THERE, Y, 0.4)[:, None])
    for place, label in enumerate(labels):
        if label is not None:
            emission[place, 1 - list(sky.coords).index(label)] = -np.inf
    expected, probable = path_sums(owners, emission)
    prior = stats.norm.logpdf(MEANS).sum()
    assert fit.log_density().logp(MEANS) == pytest.approx(prior + expected, rel=1e-12)
    post = xr.Dataset({"mean": (["chain", "draw", "sky"], MEANS[None, None])}, {"sky": sky.coords})
    shown = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    np.testing.assert_allclose(shown.sel(sky="wet").values[0, 0], probable, rtol=1e-9, atol=1e-12)
