"""Models with variables that are summed out: densities, log likelihoods, recovery, refusals.

Expected values are sums over all values of the variables, written with NumPy and SciPy.
"""

from __future__ import annotations

import functools
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp
from scipy.special import softmax as special_softmax

import dimtensor as dt
from dimtensor import dist
from dimtensor.graph import toposort
from dimtensor.model.density import BoundGraph
from dimtensor.model.marginal.terms import summed_terms

OBS = dt.Dim("obs")
KIND = dt.Dim("kind", coords=["low", "high"])
Y = np.array([0.1, 4.9, 5.2, 1.0])
WEIGHTS = np.array([0.3, 0.7])


def mixture():
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=KIND)
    z = dt.rv("z", dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND), dims=OBS)
    y = dt.rv("y", dist.Normal(mu.sel(kind=z), 1.0))
    return dt.Model(y, backend="python").observe({y: Y})


def draws_of(**arrays):
    """A posterior of 2 chains with 3 draws; arrays with these axes first."""
    found = {name: (["chain", "draw", *dims], x) for name, (dims, x) in arrays.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(found, {"kind": ["low", "high"]})})


MU = np.array([0.0, 5.0]) + np.random.default_rng(1).normal(size=(2, 3, 2))
POST = draws_of(mu=(["kind"], MU))


def joint():
    """Log of weight times density: chain, draw, obs, kind."""
    return np.log(WEIGHTS) + stats.norm.logpdf(Y[:, None], MU[..., None, :], 1.0)


# -- mixtures --------------------------------------------------------------------------------------


def test_a_mixture_has_a_log_likelihood_for_each_observation():
    fit = mixture().marginalize("z")
    assert list(fit.free) == ["mu"]
    assert "summed out" in repr(fit)
    found = fit.log_likelihood(POST)["log_likelihood"]["y"]
    assert found.dims == ("chain", "draw", "obs")
    np.testing.assert_allclose(found, logsumexp(joint(), axis=-1), rtol=1e-12)
    assert set(fit.log_prior(POST)["log_prior"].data_vars) == {"mu"}


def test_the_cost_is_said_before_anything_runs():
    assert mixture().marginalize("z").elimination_order == "z: obs × 2"


def test_classes_are_recovered():
    fit = mixture().marginalize("z")
    expected = np.exp(joint() - logsumexp(joint(), axis=-1, keepdims=True))
    found = fit.recover(POST, how="probabilities")["posterior"]["z_probability"]
    assert found.dims[:2] == ("chain", "draw")
    found = found.transpose("chain", "draw", "obs", "kind")
    assert found.kind.values.tolist() == ["low", "high"]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    best = fit.recover(POST, "z", how="most probable")["posterior"]["z"]
    assert (best.values == np.array(["low", "high"])[joint().argmax(-1)]).all()
    wide = POST["posterior"].to_dataset().isel(draw=[0] * 3000)
    drawn = fit.recover(wide, seed=3)["posterior"]["z"]
    assert drawn.sizes == {"chain": 2, "draw": 3000, "obs": 4}
    share = (drawn == "high").mean("draw").values
    np.testing.assert_allclose(share, expected[:, 0, :, 1], atol=0.04)
    again = fit.recover(wide, seed=3)["posterior"]["z"]
    assert (again == drawn).all()
    assert set(POST["posterior"].data_vars) == {"mu"}


def test_what_is_recovered_makes_predictions():
    fit = mixture().marginalize("z")
    post = fit.recover(POST, seed=1)
    found = fit.predict(post, seed=1)["posterior_predictive"]["y"]
    at = xr.DataArray(MU, dims=["chain", "draw", "kind"], coords={"kind": ["low", "high"]})
    center = at.sel(kind=post["posterior"]["z"])
    assert float(abs(found - center).max()) < 6.0


def test_it_survives_pickling_and_interventions():
    fit = pickle.loads(pickle.dumps(mixture().marginalize("z")))
    np.testing.assert_allclose(
        fit.logp({"mu": MU[0, 0]})["y"], logsumexp(joint(), axis=-1)[0, 0], rtol=1e-12
    )
    assert "z" in mixture().marginalize("z").do({"mu": [0.0, 1.0]}).elimination_order


@pytest.mark.parametrize("how", ["draws", "most probable"])
def test_named_expressions_of_what_is_recovered(how):
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=KIND)
    z = dt.rv("z", dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND), dims=OBS)
    center = dt.named("center", mu.sel(kind=z))
    y = dt.rv("y", dist.Normal(center, 1.0))
    many = dt.named("many", (mu.sel(kind=z) > 2.5).sum())
    fit = dt.Model(y, many, backend="python").observe({y: Y}).marginalize(z)
    post = fit.recover(POST, how=how, seed=1)["posterior"]
    at = xr.DataArray(MU, dims=["chain", "draw", "kind"], coords={"kind": ["low", "high"]})
    expected = at.sel(kind=post["z"]).drop_vars("kind")
    np.testing.assert_array_equal(post["center"].transpose(*expected.dims), expected)
    np.testing.assert_array_equal(post["many"], (expected > 2.5).sum("obs"))
    chances = fit.recover(POST, how="probabilities")["posterior"]
    assert set(chances.data_vars) == {"mu", "z_probability"}


def test_named_expressions_of_what_is_summed_out_are_not_recorded():
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=KIND)
    z = dt.rv("z", dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND), dims=OBS)
    center = dt.named("center", mu.sel(kind=z))
    y = dt.rv("y", dist.Normal(center, 1.0))
    gap = dt.named("gap", mu.sel(kind="high") - mu.sel(kind="low"))
    fit = dt.Model(y, gap, backend="python").observe({y: Y}).marginalize(z)
    density = fit.log_density()
    assert list(density.deterministics) == ["gap"]
    value, _ = density.logp_and_grad(MU[0, 0])
    expected = logsumexp(joint(), axis=-1)[0, 0].sum() + stats.norm.logpdf(MU[0, 0], 0, 10).sum()
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("of_each", [False, True])
@pytest.mark.parametrize(
    "backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)]
)  # fmt: skip
def test_mixtures_of_normal_vectors(of_each, backend):
    """With one covariance, or one for each class."""
    part, rng = dt.Dim("part", length=3), np.random.default_rng(0)
    mean, seen = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    cov = np.array([np.eye(3) + 0.3, 2 * np.eye(3)]) if of_each else np.array([np.eye(3) + 0.3] * 2)
    z, m = dt.tensor("z", dims=OBS, categories=KIND), dt.tensor("m", dims=[KIND, part])
    pair = [part, part.rename()]
    given = dt.data(cov, dims=[KIND, *pair]).sel(kind=z) if of_each else dt.data(cov[0], dims=pair)
    terms = {
        "z": dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND).logp(z),
        "y": dist.MvNormal(m.sel(kind=z), given).logp(dt.data(seen, dims=[OBS, part])),
    }
    logp = dt.marginalize(terms, z)
    each = np.array(
        [stats.multivariate_normal.logpdf(seen, mean[k], cov[k]) for k in range(2)]
    ) + np.log(WEIGHTS[:, None])  # fmt: skip
    at = {m: (("kind", "part"), mean)}
    value, slope = dt.evaluate([logp, dt.grad(logp, m)], at, backend=backend)
    np.testing.assert_allclose(value, logsumexp(each, axis=0).sum(), rtol=1e-12)
    weight = np.exp(each - logsumexp(each, axis=0))
    expected = [np.linalg.solve(cov[k], weight[k] @ (seen - mean[k])) for k in range(2)]
    np.testing.assert_allclose(slope.transpose("kind", "part"), expected, rtol=1e-10)


def test_a_mixture_of_regressions():
    by, rng = dt.Dim("by", length=3), np.random.default_rng(1)
    slopes, x = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    z, s = dt.tensor("z", dims=OBS, categories=KIND), dt.tensor("s", dims=[KIND, by])
    mean = dt.dot(s.sel(kind=z), dt.data(x, dims=[OBS, by]), dim=by)
    terms = {
        "z": dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND).logp(z),
        "y": dist.Normal(mean, 1.0).logp(dt.data(Y, dims=OBS)),
    }
    each = np.log(WEIGHTS) + stats.norm.logpdf(Y[:, None], x @ slopes.T)
    found = dt.evaluate(dt.marginalize(terms, z), {s: (("kind", "by"), slopes)})
    np.testing.assert_allclose(found, logsumexp(each, axis=1).sum(), rtol=1e-12)


@pytest.mark.parametrize("name", ["cumsum", "argmax", "stack", "softmax", "argsort"])
def test_expressions_along_another_dim(name):
    """What z selects is a vector, of which one number is computed."""
    part, rng = dt.Dim("part", length=3), np.random.default_rng(2)
    table = rng.normal(size=(2, 3))
    z = dt.tensor("z", dims=OBS, categories=KIND)
    x = dt.data(table, dims=[KIND, part]).sel(kind=z)
    new = dt.Dim("new", length=2)
    found, by_hand = {
        "cumsum": lambda: (x.cumsum(part).isel(part=1), table.cumsum(1)[:, 1]),
        "argmax": lambda: (1.0 * x.argmax(part), table.argmax(1)),
        "stack": lambda: (
            dt.stack([x.isel(part=0), dt.exp(x.isel(part=2))], new).isel(new=1),
            np.exp(table[:, 2]),
        ),
        "softmax": lambda: (x.softmax(part).isel(part=0), special_softmax(table, axis=1)[:, 0]),
        "argsort": lambda: (1.0 * x.argsort(part).isel(part=0), table.argsort(1)[:, 0]),
    }[name]()
    terms = {
        "z": dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND).logp(z),
        "y": dist.Normal(found, 1.0).logp(dt.data(Y, dims=OBS)),
    }
    each = np.log(WEIGHTS) + stats.norm.logpdf(Y[:, None], by_hand)
    value = float(dt.marginalize(terms, z).eval())
    assert value == pytest.approx(logsumexp(each, axis=1).sum(), rel=1e-12)


# -- groups ----------------------------------------------------------------------------------------

SUBJECT = dt.Dim("subject", coords=["a", "b", "c"])
OF = ["a", "a", "b", "c"]


def grouped():
    z = dt.rv("z", dist.Bernoulli(0.4), dims=SUBJECT)
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=KIND)
    of = dt.data(OF, dims=OBS, categories=SUBJECT, name="of")
    low, high = mu.sel(kind="low"), mu.sel(kind="high")
    y = dt.rv("y", dist.Normal(dt.where((z == 1).sel(subject=of), high, low), 1.0))
    return dt.Model(y, backend="python").observe({y: Y}).marginalize(z)


def test_observations_of_a_group_share_what_is_summed_out():
    fit = grouped()
    codes = np.array([0, 0, 1, 2])
    dens = stats.norm.logpdf(Y[:, None], MU[0, 0], 1.0)
    prior = np.log([0.6, 0.4])
    each = np.array([prior + dens[codes == k].sum(0) for k in range(3)])
    found = fit.logp({"mu": MU[0, 0]})["y"]
    assert found.dims == ("subject",)
    np.testing.assert_allclose(found, logsumexp(each, axis=1), rtol=1e-12)
    p = fit.recover(POST, how="probabilities")["posterior"]["z_probability"]
    assert p.z_state.values.tolist() == [0, 1]
    expected = np.exp(each - logsumexp(each, axis=1, keepdims=True))
    first = p.isel(chain=0, draw=0).transpose("subject", "z_state")
    np.testing.assert_allclose(first, expected, atol=1e-12)


def test_a_log_likelihood_that_is_no_longer_by_observation_is_refused():
    with pytest.raises(dt.GraphError, match=r"'y' element by element: .* along subject"):
        grouped().log_likelihood(POST)


def test_two_observed_variables_of_one_unknown_are_refused_one_by_one():
    z = dt.rv("z", dist.Bernoulli(0.4), dims=OBS)
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=KIND)
    x = dt.rv("x", dist.Normal(dt.where(z == 1, mu.sel(kind="low"), 0.0), 1.0))
    y = dt.rv("y", dist.Normal(dt.where(z == 1, mu.sel(kind="high"), 0.0), 1.0))
    fit = dt.Model(x, y, backend="python").observe({x: Y, y: Y}).marginalize(z)
    found = fit.logp({"mu": MU[0, 0]})
    assert set(found) == {"mu", "x and y"}
    on = stats.norm.logpdf(Y[:, None], MU[0, 0], 1.0).sum(1) + np.log(0.4)
    off = 2 * stats.norm.logpdf(Y) + np.log(0.6)
    np.testing.assert_allclose(found["x and y"], np.logaddexp(on, off), rtol=1e-12)
    with pytest.raises(dt.GraphError, match="depends on 'x', 'y' together"):
        fit.log_likelihood(POST)


# -- latent classes, occupancy, capture and recapture, counts ----------------------------------


def test_latent_classes_with_several_items():
    item, person = dt.Dim("item", length=3), dt.Dim("person")
    share = dt.rv("share", dist.Dirichlet(dt.ones(KIND), dim=KIND))
    p = dt.rv("p", dist.Beta(1.0, 1.0), dims=[KIND, item])
    z = dt.rv("z", dist.Categorical(share, dim=KIND), dims=person)
    y = dt.rv("y", dist.Bernoulli(p.sel(kind=z)))
    seen = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    fit = dt.Model(y, backend="python").observe({y: (("person", "item"), seen)}).marginalize(z)
    chance = np.array([[0.2, 0.6, 0.3], [0.7, 0.5, 0.9]])
    found = fit.logp({"share": WEIGHTS, "p": (("kind", "item"), chance)})["y"]
    by_class = stats.bernoulli.logpmf(seen[:, None], chance).sum(-1) + np.log(WEIGHTS)
    np.testing.assert_allclose(found, logsumexp(by_class, axis=1), rtol=1e-12)


def test_occupancy_with_visits_and_an_effect_of_the_site():
    site, visit = dt.Dim("site"), dt.Dim("visit", length=3)
    forest = dt.data([0.5, -1.0, 0.2, 1.5], dims=site, name="forest")
    slope = dt.rv("slope", dist.Normal(0.0, 2.0))
    p = dt.rv("p", dist.Beta(1.0, 1.0))
    z = dt.rv("z", dist.Bernoulli(logit_p=slope * forest))
    y = dt.rv("y", dist.Bernoulli(z * p), dims=visit)
    seen = np.array([[1, 0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
    fit = dt.Model(y, backend="python").observe({y: (("site", "visit"), seen)}).marginalize(z)

    def by_hand(x):
        slope, p = x[0], 1 / (1 + np.exp(-x[1]))
        psi = 1 / (1 + np.exp(-slope * np.array([0.5, -1.0, 0.2, 1.5])))
        on = np.log(psi) + stats.bernoulli.logpmf(seen, p).sum(1)
        off = np.where(seen.any(1), -np.inf, np.log(1 - psi))
        jacobian = np.log(p) + np.log1p(-p)
        return np.logaddexp(on, off).sum() + stats.norm.logpdf(slope, 0, 2) + jacobian

    density, x, h = fit.log_density(), np.array([-0.3, 0.4]), 1e-6
    assert density.names == ["slope", "p"]  # as they are written
    value, gradient = density.logp_and_grad(x)
    assert value == pytest.approx(by_hand(x), rel=1e-12)
    slopes = [(by_hand(x + h * e) - by_hand(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7)


def test_a_count_with_a_stated_bound():
    site, visit = dt.Dim("site"), dt.Dim("visit", length=2)
    p = dt.rv("p", dist.Beta(1.0, 1.0))
    n = dt.rv("n", dist.Poisson(3.0), dims=site)
    y = dt.rv("y", dist.Binomial(n, p), dims=visit)
    seen = np.array([[1, 2], [0, 0], [3, 1]])
    model = dt.Model(y, backend="python").observe({y: (("site", "visit"), seen)})
    fit = model.marginalize(n, states={n: range(30)})
    counts = np.arange(30)
    each = stats.poisson.logpmf(counts, 3.0)[:, None] + np.array(
        [stats.binom.logpmf(seen, k, 0.4).sum(1) for k in counts]
    )
    found = fit.logp({"p": 0.4})["y"]
    np.testing.assert_allclose(found, logsumexp(each, axis=0), rtol=1e-11)
    _, gradient = fit.log_density().logp_and_grad(np.array([0.1]))
    assert np.isfinite(gradient).all()
    with pytest.raises(dt.OptionError, match="the possible values of 'n' are unknown"):
        model.marginalize(n)


def test_a_change_point_is_one_unknown_that_all_observations_read():
    year = dt.Dim("year", length=6)
    rates = dt.rv("rates", dist.Exponential(1.0), dims=KIND)
    tau = dt.rv("tau", dist.DiscreteUniform(0, 5))
    rate = dt.where(dt.arange(year) < tau, rates.sel(kind="low"), rates.sel(kind="high"))
    y = dt.rv("y", dist.Poisson(rate))
    seen = np.array([5, 4, 6, 1, 0, 2])
    fit = dt.Model(y, backend="python").observe({y: seen}).marginalize(tau)
    each = [
        stats.poisson.logpmf(seen, np.where(np.arange(6) < k, 5.0, 1.0)).sum() - np.log(6)
        for k in range(6)
    ]
    found = fit.logp({"rates": [5.0, 1.0]})["y"]
    assert float(found) == pytest.approx(logsumexp(each), rel=1e-12)


# -- chains ----------------------------------------------------------------------------------------


def hidden(series, lengths=None):
    """Several chains of a hidden Markov model; those that are shorter have values missing."""
    chain, time = dt.Dim("one"), dt.Dim("time")
    after = KIND.rename("after")
    stay = dt.rv("stay", dist.Beta(1.0, 1.0))
    move = dt.stack([dt.stack([stay, 1 - stay], after), dt.stack([1 - stay, stay], after)], KIND)
    z = dt.rv("z", dist.MarkovChain(dt.data(WEIGHTS, dims=KIND), move, dim=time), dims=chain)
    y = dt.rv("y", dist.Normal(dt.data([0.0, 3.0], dims=KIND).sel(kind=z), 1.0))
    model = dt.Model(y, backend="python")
    return model.observe({y: (("one", "time"), series)}, missing="drop").marginalize(z)


def paths(y, stay):
    """All paths of one chain with their log joint densities."""
    move = np.log([[stay, 1 - stay], [1 - stay, stay]])
    found = {}
    for path in itertools.product(range(2), repeat=len(y)):
        at = np.array(path)
        logp = np.log(WEIGHTS)[at[0]] + move[at[:-1], at[1:]].sum()
        found[path] = logp + np.nansum(stats.norm.logpdf(y, at * 3.0, 1.0))
    return found


SERIES = np.array([[0.1, 2.0, 3.5, 2.2], [2.9, 1.4, np.nan, np.nan], [0.3, 0.2, 1.7, np.nan]])


def test_chains_of_a_model_in_pairs():
    time = dt.Dim("time", length=4)
    after = KIND.rename("after")
    move = dt.data([[0.8, 0.2], [0.2, 0.8]], dims=[KIND, after])
    z = dt.rv("z", dist.MarkovChain(dt.data(WEIGHTS, dims=KIND), move, dim=time))
    y = dt.rv("y", dist.Normal(dt.data([0.0, 3.0], dims=KIND).sel(kind=z), 1.0))
    model = dt.Model(y, backend="python").observe({y: SERIES[0]})
    fit = model.marginalize(z, associative_scan=True)
    placed = [BoundGraph(one.spec, noncentered=False) for one in (fit, model.marginalize(z))]
    kinds = [{x.kind for x in toposort([summed_terms(p).terms["y"].node])} for p in placed]
    assert ["loop" in found for found in kinds] == [False, True]
    found = float(fit.logp({})["y"])
    assert found == pytest.approx(logsumexp(list(paths(SERIES[0], 0.8).values())), rel=1e-12)


def test_chains_of_different_lengths():
    fit = hidden(SERIES)
    assert "a loop along time" in fit.elimination_order
    found = fit.logp({"stay": 0.8})["y"]
    expected = [logsumexp(list(paths(y[np.isfinite(y)], 0.8).values())) for y in SERIES]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(dt.GraphError, match="each position along one"):
        fit.log_likelihood(draws_of(stay=([], np.full((2, 3), 0.8))))


def test_readings_of_a_part_of_a_dim_whose_length_comes_with_the_data():
    day = dt.Dim("day")
    z, x = dt.tensor("z", dims=day, categories=KIND), dt.tensor("x", dims=day)
    later = dt.SelDim(day, positions=slice(1, None))
    early = z.isel(day=slice(None, -1)).relabel("day", later)
    table = np.array([[0.3, -0.5], [1.0, 0.2]])
    both = dt.data(table, dims=[KIND, KIND.rename("to")])
    terms = {
        "pairs": both.sel(kind=early, to=z.isel(day=slice(1, None))),
        "early": (x.isel(day=slice(1, None)) * dt.data([1.0, 2.0], dims=KIND).sel(kind=early)),
        "middle": dt.data([0.5, -1.0], dims=KIND).sel(kind=z.isel(day=slice(1, -1))),
    }
    f = dt.function([x], dt.marginalize(terms, z), backend="python")
    for n in (3, 6):
        given = np.sin(np.arange(n))
        logs = []
        for path in map(np.array, itertools.product(range(2), repeat=n)):
            pairs = table[path[:-1], path[1:]].sum() + np.array([0.5, -1.0])[path[1:-1]].sum()
            logs.append(pairs + (given[1:] * (1.0 + path[:-1])).sum())
        assert float(f(given)) == pytest.approx(logsumexp(logs), rel=1e-12)


def test_states_of_chains_are_recovered():
    fit = hidden(SERIES)
    stay = np.array([[0.6, 0.8, 0.9], [0.7, 0.5, 0.2]])
    post = draws_of(stay=([], stay))
    smooth = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    best = fit.recover(post, how="most probable")["posterior"]["z"]
    for (c, d), (i, y) in itertools.product(np.ndindex(2, 3), enumerate(SERIES)):
        known = paths(y, stay[c, d])
        weights = np.exp(np.array(list(known.values())) - logsumexp(list(known.values())))
        share = weights @ np.array(list(known))
        here = smooth.isel(chain=c, draw=d, one=i).sel(kind="high")
        np.testing.assert_allclose(here, share, atol=1e-12)
        path = tuple(int(label == "high") for label in best.isel(chain=c, draw=d, one=i).values)
        assert known[path] == pytest.approx(max(known.values()), abs=1e-12)
    wide = post["posterior"].to_dataset().isel(draw=[1] * 3000)
    drawn = (fit.recover(wide, seed=2)["posterior"]["z"] == "high").mean("draw")
    expected = smooth.isel(draw=1).sel(kind="high").transpose("chain", "one", "time")
    np.testing.assert_allclose(drawn.transpose("chain", "one", "time"), expected, atol=0.04)


def test_moves_that_change_from_day_to_day():
    n = 5
    day = dt.Dim("day")
    wind = dt.data([0.0, 1.0, -1.0, 0.5, 2.0], dims=day, name="wind")
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    after = KIND.rename("after")
    change = dt.sigmoid(slope * wind)
    move = dt.where(dt.arange(KIND) == dt.arange(after), 1.0 - change, change)
    z = dt.rv("z", dist.MarkovChain(dt.data(WEIGHTS, dims=KIND), move, dim=day))
    y = dt.rv("y", dist.Normal(dt.data([0.0, 3.0], dims=KIND).sel(kind=z), 1.0))
    seen = np.array([0.2, 2.5, 3.0, 0.1, 1.4])
    fit = dt.Model(y, backend="python").observe({y: seen}).marginalize(z)
    chance = 1 / (1 + np.exp(-0.7 * np.array([0.0, 1.0, -1.0, 0.5, 2.0])))
    logs = []
    for path in map(np.array, itertools.product(range(2), repeat=n)):
        moved = np.where(path[1:] == path[:-1], 1 - chance[1:], chance[1:])
        seen_there = stats.norm.logpdf(seen, 3.0 * path)
        logs.append(np.log(WEIGHTS[path[0]]) + np.log(moved).sum() + seen_there.sum())
    assert float(fit.logp({"slope": 0.7})["y"]) == pytest.approx(logsumexp(logs), rel=1e-12)
    drawn = fit.do({"slope": 0.7}).draw(4000, seed=1)["prior"]["z"].isel(chain=0).values
    moved = (drawn[:, 1:] != drawn[:, :-1]).mean(0)
    np.testing.assert_allclose(moved, chance[1:], atol=0.035)


def factorial():
    """Three chains along a dim, whose levels add up to what is seen."""
    chain, time = dt.Dim("chain_of", length=3), dt.Dim("time", length=4)
    stay = dt.rv("stay", dist.Beta(1.0, 1.0))
    after = KIND.rename("after")
    move = dt.stack([dt.stack([stay, 1 - stay], after), dt.stack([1 - stay, stay], after)], KIND)
    start = dt.data(WEIGHTS, dims=KIND)
    z = dt.rv("z", dist.MarkovChain(start, move, dim=time), dims=chain)
    size = dt.data(SIZES, dims=chain)
    level = size * dt.data([0.0, 1.0], dims=KIND).sel(kind=z)
    y = dt.rv("y", dist.Normal(level.sum(chain), 1.0))
    return dt.Model(y, backend="python").observe({y: ADDED}).marginalize(z)


SIZES, ADDED = np.array([1.0, 2.0, 4.0]), np.array([0.5, 3.2, 6.0, 4.4])


@functools.cache
def factorial_paths(stay):
    move = np.log([[stay, 1 - stay], [1 - stay, stay]])
    found = {}
    for path in itertools.product(range(2), repeat=12):
        at = np.array(path).reshape(3, 4)
        logp = np.log(WEIGHTS)[at[:, 0]].sum() + move[at[:, :-1], at[:, 1:]].sum()
        found[path] = logp + stats.norm.logpdf(ADDED, SIZES @ at).sum()
    return found


def test_chains_that_add_up_along_a_dim():
    fit, h = factorial(), 1e-6
    assert fit.elimination_order.count("a loop along time") == 1
    total = {p: logsumexp(list(factorial_paths(p).values())) for p in (0.8, 0.8 + h, 0.8 - h)}
    found = sum(float(x.sum()) for x in fit.logp({"stay": 0.8}).values())
    assert found == pytest.approx(total[0.8], rel=1e-12)
    _, gradient = fit.log_density().logp_and_grad(np.array([np.log(4.0)]))
    by_logit = (total[0.8 + h] - total[0.8 - h]) / (2 * h) * 0.16 + (1 - 2 * 0.8)
    assert gradient[0] == pytest.approx(by_logit, rel=1e-6)


def test_chains_that_add_up_are_recovered():
    fit, known = factorial(), factorial_paths(0.8)
    post = draws_of(stay=([], np.full((2, 3), 0.8)))
    weights = np.exp(np.array(list(known.values())) - logsumexp(list(known.values())))
    share = (weights @ np.array(list(known))).reshape(3, 4)
    chances = fit.recover(post, how="probabilities")["posterior"]["z_probability"]
    found = chances.isel(chain=0, draw=0).sel(kind="high").transpose("chain_of", "time")
    np.testing.assert_allclose(found, share, atol=1e-12)
    best = fit.recover(post, how="most probable")["posterior"]["z"].isel(chain=1, draw=2)
    path = (best.transpose("chain_of", "time") == "high").values.astype(int).ravel()
    assert known[tuple(path)] == pytest.approx(max(known.values()), abs=1e-12)
    wide = post["posterior"].to_dataset().isel(draw=[1] * 3000)
    drawn = (fit.recover(wide, seed=2)["posterior"]["z"] == "high").mean("draw").isel(chain=0)
    np.testing.assert_allclose(drawn.transpose("chain_of", "time"), share, atol=0.04)


def test_one_of_several_causes():
    """Something is seen where any of a few causes is there."""
    cause = dt.Dim("cause", length=3)
    z = dt.tensor("z", dims=[OBS, cause], dtype="int64")
    strength = dt.scalar("strength")
    chance = np.array([0.2, 0.5, 0.1])
    seen = np.array([1, 0, 1, 1])
    on = dt.where(dt.any(z == 1, cause), 1 / (1 + dt.exp(-strength)), 0.05)
    terms = {
        "z": dist.Bernoulli(dt.data(chance, dims=cause)).logp(z),
        "y": dist.Bernoulli(on).logp(dt.data(seen, dims=OBS)),
    }
    none = np.prod(1 - chance)
    p = (1 - none) / (1 + np.exp(-1.3)) + none * 0.05
    found = dt.evaluate(dt.marginalize(terms, z, states={z: range(2)}), {strength: 1.3})
    assert float(found) == pytest.approx(stats.bernoulli.logpmf(seen, p).sum(), rel=1e-12)


def test_a_hidden_semi_markov_model_has_a_state_that_counts_down():
    """How long a regime lasts has a distribution of its own: what is left of it is in the state."""
    n, longest = 6, 3
    day, left = dt.Dim("day"), dt.Dim("left", length=longest)
    state = dt.Dim("state", length=2 * longest)
    after = state.rename("after")
    regime, rest = np.repeat([0, 1], longest), np.tile(np.arange(longest), 2)
    logits = dt.rv("logits", dist.Normal(0.0, 1.0), dims=left)
    lasts = logits.softmax(left)
    counts = (regime[:, None] == regime) & (rest[:, None] == rest + 1)  # one day less is left
    begins = (rest[:, None] == 0) & (regime[:, None] != regime)
    length = lasts.isel(left=dt.data(rest, dims=after))
    pairs = [state, after]
    move = dt.where(
        dt.data(counts, dims=pairs), 1.0, dt.where(dt.data(begins, dims=pairs), length, 0.0)
    )
    start = 0.5 * lasts.isel(left=dt.data(rest, dims=state))
    z = dt.rv("z", dist.MarkovChain(start, move, dim=day))
    level = dt.data(3.0 * regime, dims=state)
    y = dt.rv("y", dist.Normal(level.sel(state=z), 1.0))
    seen = np.array([0.1, 2.9, 3.3, 0.2, 1.0, 2.0])
    fit = dt.Model(y, backend="python").observe({y: seen}).marginalize(z)

    def by_hand(x):
        """All ways in which regimes of one to three days follow each other."""
        chance = np.exp(x - logsumexp(x))
        logs = []
        for first, lengths in itertools.product(range(2), itertools.product(range(3), repeat=n)):
            path: list[int] = []
            logp, turn = np.log(0.5), first
            for k in lengths:
                if len(path) < n:
                    path += [turn] * (k + 1)
                    logp, turn = logp + np.log(chance[k]), 1 - turn
                elif k:  # each way is counted once
                    break
            else:
                logs.append(logp + stats.norm.logpdf(seen, 3.0 * np.array(path[:n]), 1.0).sum())
        return logsumexp(logs) + stats.norm.logpdf(x).sum()

    density, x, h = fit.log_density(), np.array([0.3, -0.5, 0.8]), 1e-6
    value, gradient = density.logp_and_grad(x)
    assert value == pytest.approx(by_hand(x), rel=1e-12)
    slopes = [(by_hand(x + h * e) - by_hand(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)


def test_a_regression_that_switches():
    """An observation depends on the state, and on the observation before it."""
    seen = np.array([0.2, 0.5, -1.0, 2.0, 1.5, 0.1])
    n = len(seen)
    t, after = dt.Dim("t", length=n), KIND.rename("after")
    z = dt.tensor("z", dims=t, categories=KIND)
    slope, spread = dt.tensor("slope", dims=KIND), np.array([0.5, 1.2])
    y = dt.data(seen, dims=t)
    mean = slope.sel(kind=z) * y.shift(t=1, fill_value=0.0)
    moves = np.array([[0.9, 0.1], [0.3, 0.7]])
    chain = dist.MarkovChain(dt.data(WEIGHTS, dims=KIND), dt.data(moves, dims=[KIND, after]), dim=t)
    terms = {
        "z": chain.logp(z),
        "y": dist.Normal(mean, dt.data(spread, dims=KIND).sel(kind=z)).logp(y),
    }
    logs, slopes = [], np.array([0.4, -0.8])
    for path in map(np.array, itertools.product(range(2), repeat=n)):
        center = slopes[path] * np.concatenate([[0.0], seen[:-1]])
        logp = stats.norm.logpdf(seen, center, spread[path]).sum()
        logs.append(logp + np.log(WEIGHTS[path[0]]) + np.log(moves[path[:-1], path[1:]]).sum())
    found = dt.evaluate(dt.marginalize(terms, z), {slope: slopes})
    assert float(found) == pytest.approx(logsumexp(logs), rel=1e-12)


def test_observations_given_those_before_them():
    """The log density of a series that ends at each position, less that of one that ends before."""
    fit = hidden(SERIES)
    post = draws_of(stay=([], np.full((2, 3), 0.8)))
    found = fit.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["y"]
    expected = {}
    for one, y in enumerate(SERIES):
        up_to = [logsumexp(list(paths(y[:k], 0.8).values())) for k in range(1, 5)]
        steps = enumerate(np.diff(up_to, prepend=0.0))
        expected |= {f"{one},{at}": x for at, x in steps if np.isfinite(y[at])}
    assert found["one_time"].values.tolist() == list(expected)  # positions of what is there
    found = found.isel(chain=0, draw=0)
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-10)
    with pytest.raises(dt.GraphError, match="one_step_ahead=True is that of each element given"):
        fit.log_likelihood(post)


def test_one_step_ahead_of_groups_is_refused():
    with pytest.raises(
        dt.GraphError, match=r"given those before it: what is summed out is not one"
    ):
        grouped().log_likelihood(POST, one_step_ahead=True)


# -- missing observations --------------------------------------------------------------------------


def test_missing_values_of_a_discrete_variable_are_summed_out():
    smoker = dt.rv("smoker", dist.Bernoulli(0.3), dims=OBS)
    slope = dt.rv("slope", dist.Normal(0.0, 5.0))
    y = dt.rv("y", dist.Normal(slope * smoker, 1.0))
    given = np.array([1.0, np.nan, 0.0, np.nan])
    model = dt.Model(y, backend="python").observe({y: Y})
    fit = model.observe({smoker: given}, missing="infer")
    b = 2.0
    each = np.stack(
        [np.log(0.7) + stats.norm.logpdf(Y), np.log(0.3) + stats.norm.logpdf(Y, b)], axis=-1
    )
    known = np.where(
        np.isnan(given), logsumexp(each, axis=1), np.where(given == 1, each[:, 1], each[:, 0])
    )
    np.testing.assert_allclose(fit.logp({"slope": b})["smoker and y"], known, rtol=1e-12)
    _, gradient = fit.log_density().logp_and_grad(np.array([b]))
    weight = np.exp(each[:, 1] - logsumexp(each, axis=1))
    weight = np.where(np.isnan(given), weight, given)
    np.testing.assert_allclose(gradient, [(weight * (Y - b)).sum() - b / 25], rtol=1e-10)
    post = draws_of(slope=([], np.full((2, 3), b)))
    found = fit.recover(post, how="probabilities")["posterior"]["smoker_probability"]
    found = found.isel(chain=0, draw=0).sel(smoker_state=1)
    np.testing.assert_allclose(found, weight, atol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        ["low", None, "high", None],
        pd.Series(["low", None, "high", np.nan]),
        xr.DataArray(np.array(["low", np.nan, "high", np.nan], dtype=object), dims="obs"),
    ],
)
def test_missing_labels_are_summed_out(given):
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=KIND)
    z = dt.rv("z", dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND), dims=OBS)
    y = dt.rv("y", dist.Normal(mu.sel(kind=z), 1.0))
    fit = dt.Model(y, backend="python").observe({y: Y}).observe({z: given}, missing="infer")
    each = np.log(WEIGHTS) + stats.norm.logpdf(Y[:, None], MU[0, 0], 1.0)
    absent = np.array([False, True, False, True])
    known = np.where(absent, logsumexp(each, axis=1), each[range(4), [0, 0, 1, 0]])
    np.testing.assert_allclose(fit.logp({"mu": MU[0, 0]})["y and z"], known, rtol=1e-12)
    drawn = fit.recover(POST, seed=1)["posterior"]["z"]
    assert (drawn.isel(obs=[0, 2]) == ["low", "high"]).all()
    chances = fit.recover(POST, how="probabilities")["posterior"]["z_probability"]
    weights = np.exp(joint() - logsumexp(joint(), axis=-1, keepdims=True))
    weights[:, :, [0, 2]] = np.eye(2)
    found = chances.transpose("chain", "draw", "obs", "kind")
    np.testing.assert_allclose(found, weights, atol=1e-12)


def test_missing_labels_have_to_be_said():
    z = dt.rv("z", dist.Categorical(dt.data(WEIGHTS, dims=KIND), dim=KIND), dims=OBS)
    with pytest.raises(dt.InputError, match="observations of 'z' are missing: 1 of 3"):
        dt.Model(z).observe({z: ["low", None, "high"]})
    fit = dt.Model(z, backend="python").observe({z: ["low", None, "high"]}, missing="drop")
    np.testing.assert_allclose(float(fit.logp({})["z"].sum()), np.log(WEIGHTS).sum())


# -- what is refused -------------------------------------------------------------------------------


def test_an_expression_that_mixes_elements_is_named():
    z = dt.tensor("z", dims=dt.Dim("t", length=15), categories=KIND)
    x = dt.data([1.0, 2.0], dims=KIND).sel(kind=z)
    with pytest.raises(dt.GraphError, match=r"'z' cannot be summed out (.*) along 't'(.|\n)*exp"):
        dt.marginalize({"x": dt.exp(x.mean())}, z)
    with pytest.raises(
        dt.GraphError, match=r"'z' cannot be summed out (.*) along 't'(.|\n)*cumsum"
    ):
        dt.marginalize({"x": x.cumsum("t")}, z)


def test_crossed_unknowns_are_named():
    t, i = dt.Dim("t", length=5), dt.Dim("i", length=4)
    a, b = (dt.tensor(name, dims=dim, categories=KIND) for name, dim in (("a", t), ("b", i)))
    x = dt.data([[1.0, 2.0], [3.0, 5.0]], dims=[KIND, KIND.rename("other")])
    with pytest.raises(
        dt.GraphError, match=r"elements of 'a', 'b' is neither(.|\n)*a\[t\], b\[i\]"
    ):
        dt.marginalize({"x": x.sel(kind=a, other=b)}, a, b)


def test_a_circle_is_no_tree():
    v, e = dt.Dim("v", length=3), dt.Dim("e", length=3)
    z = dt.tensor("z", dims=v, categories=KIND)
    child, parent = (dt.data(at, dims=e, categories=v) for at in ([0, 1, 2], [1, 2, 0]))
    x = dt.data([[1.0, 2.0], [3.0, 5.0]], dims=[KIND, KIND.rename("other")])
    terms = {"x": x.sel(kind=z.sel(v=child), other=z.sel(v=parent))}
    with pytest.raises(dt.GraphError, match="between elements of 'z' is neither"):
        dt.marginalize(terms, z)


def test_what_a_tree_leaves_over_is_named():
    """The tree is summed out; the error names what is not."""
    v, e = dt.Dim("v", length=3), dt.Dim("e", length=2)
    t, i = dt.Dim("t", length=5), dt.Dim("i", length=4)
    z, a, b = (
        dt.tensor(name, dims=dim, categories=KIND) for name, dim in (("z", v), ("a", t), ("b", i))
    )
    child, parent = (dt.data(at, dims=e, categories=v) for at in ([1, 2], [0, 0]))
    x = dt.data([[1.0, 2.0], [3.0, 5.0]], dims=[KIND, KIND.rename("other")])
    tree = x.sel(kind=z.sel(v=child), other=z.sel(v=parent))
    with pytest.raises(dt.GraphError, match="between elements of 'a', 'b' is neither"):
        dt.marginalize({"x": tree, "y": x.sel(kind=a, other=b)}, z, a, b)


def test_wrong_arguments():
    z = dt.tensor("z", dims=OBS, dtype="int64")
    x = dt.data([1.0, 2.0], dims=KIND).isel(kind=z)
    with pytest.raises(dt.OptionError, match="the possible values of 'z' are unknown"):
        dt.marginalize({"x": x}, z)
    with pytest.raises(dt.DimError, match="a log density has no dims"):
        dt.marginalize(x, z)
    with pytest.raises(dt.GraphError, match="a variable to sum out is a symbolic input"):
        dt.marginalize({"x": x}, z + 1)
    with pytest.raises(dt.OptionError, match="name the variables to sum out"):
        dt.marginalize({"x": x})
    with pytest.raises(dt.OptionError, match="different whole numbers"):
        dt.marginalize({"x": x}, z, states={z: [1, 1]})
    with pytest.raises(dt.GraphError, match="no term of the density depends on 'z'"):
        dt.marginalize({"x": dt.scalar("x")}, z, states={z: range(2)})
    with pytest.raises(dt.OptionError, match="'y' is observed"):
        mixture().marginalize("y")
    fit = mixture().marginalize("z")
    with pytest.raises(dt.ArgumentError, match="draws need a seed"):
        fit.recover(POST)
    with pytest.raises(dt.OptionError, match="how is 'draws'"):
        fit.recover(POST, how="mode")
    with pytest.raises(dt.LabelError, match="no summed-out variable 'mu'"):
        fit.recover(POST, "mu", seed=1)
