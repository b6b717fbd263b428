"""Models of random variables: draws, observations, predictions, interventions.

Expected values are closed forms of normal hierarchies, and SciPy's densities.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist

COUNTY = dt.Dim("county", coords=["a", "b", "c"])
HOUSE = dt.Dim("house")
COUNTY_OF = dt.tensor("county_of", dims=HOUSE, categories=COUNTY)
FLOOR = dt.tensor("floor", dims=HOUSE)
PLACES, FLOORS = ["a", "b", "b", "c"], [0.0, 1.0, 0.0, 1.0]
Y = [1.0, 2.0, 3.0, 4.0]


def radon(spread=2.0, sigma=0.5):
    mu = dt.rv("mu", dist.Normal(1, 3))
    alpha = dt.rv("alpha", dist.Normal(mu, spread), dims=COUNTY)
    slope = dt.rv("slope", dist.Normal(0, 1))
    mean = dt.named("mean", alpha.sel(county=COUNTY_OF) + slope * FLOOR)
    y = dt.rv("y", dist.Normal(mean, sigma))
    return dt.Model(y, data={COUNTY_OF: PLACES, FLOOR: FLOORS}, backend="python")


def draws_of(**values):
    """A posterior of 2 chains with 2000 draws, all of them alike."""
    arrays = {}
    for name, value in values.items():
        shape = np.shape(value)
        dims = ["chain", "draw", *(["county"] if shape else [])]
        arrays[name] = (dims, np.broadcast_to(value, (2, 2000, *shape)).copy())
    coords = {"county": ["a", "b", "c"]}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(arrays, coords)})


POST = draws_of(mu=1.0, alpha=[1.0, 2.0, 3.0], slope=10.0)


# -- draws from the prior --------------------------------------------------------------------------


def test_prior_draws_have_the_moments_of_the_model():
    tree = radon().draw(20_000, seed=1)
    assert set(tree["prior"].data_vars) == {"mu", "alpha", "slope", "mean"}
    assert tree["prior"]["alpha"].dims == ("chain", "draw", "county")
    assert list(tree["prior_predictive"].data_vars) == ["y"]
    alpha = tree["prior"]["alpha"].values[0]
    expected = 9.0 + 4.0 * np.eye(3)
    np.testing.assert_allclose(np.cov(alpha.T), expected, atol=0.5)
    np.testing.assert_allclose(alpha.mean(axis=0), 1.0, atol=0.1)
    y = tree["prior_predictive"]["y"].values[0]
    # same county, with and without the slope
    np.testing.assert_allclose(np.cov(y[:, 1], y[:, 2])[0], [14.25, 13.0], atol=0.6)
    assert list(tree["constant_data"]["county_of"].values) == PLACES


def test_draws_are_repeated_by_their_seed():
    one, two, other = (radon().draw(5, seed=s)["prior"]["mu"].values for s in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).all()


def test_a_length_that_no_data_tell_is_given_by_dim():
    day = dt.Dim("day")
    model = dt.Model(dt.rv("x", dist.Poisson(3.0), dims=day), backend="python")
    tree = model.draw(4, seed=1, dims={day: 7})
    assert tree["prior_predictive"]["x"].sizes == {"chain": 1, "draw": 4, "day": 7}
    assert tree["prior_predictive"]["x"].dtype == "int64"
    with pytest.raises(dt.InputError, match=r"draws need values .* 'day'"):
        model.draw(4, seed=1)


def test_distributions_of_distributions_are_drawn_and_have_densities():
    part = dt.Dim("part", length=2)
    mu = dt.rv("mu", dist.Normal(dt.data([-3.0, 3.0], dims=part), 0.1))
    x = dt.rv("x", dist.mixture(dt.data([0.25, 0.75], dims=part), dist.Normal(mu, 1.0), dim=part),
              dims=HOUSE)  # fmt: skip
    assert x.dims == (HOUSE,)
    tree = dt.Model(x, backend="python").draw(2000, seed=1, dims={HOUSE: 2})
    np.testing.assert_allclose(tree["prior_predictive"]["x"].mean(), 1.5, atol=0.15)
    fit = dt.Model(x, backend="python").observe({x: [0.5, 1.0]})
    terms = fit.logp({mu: [-3.0, 2.0]})
    density = 0.25 * stats.norm(-3, 1).pdf([0.5, 1.0]) + 0.75 * stats.norm(2, 1).pdf([0.5, 1.0])
    np.testing.assert_allclose(terms["x"], np.log(density))


# -- observations and densities --------------------------------------------------------------------


def test_log_densities_are_those_of_scipy_by_variable_and_by_position():
    fit = radon().observe({"y": Y})
    point = {"mu": 0.5, "alpha": [1.0, 2.0, 3.0], "slope": -1.0}
    terms = fit.logp(point)
    np.testing.assert_allclose(terms["mu"], stats.norm(1, 3).logpdf(0.5))
    np.testing.assert_allclose(terms["alpha"], stats.norm(0.5, 2).logpdf([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(terms["y"], stats.norm([1.0, 1.0, 2.0, 2.0], 0.5).logpdf(Y))
    assert list(terms["alpha"]["county"]) == ["a", "b", "c"]
    density = fit.log_density()
    total = sum(float(x.sum()) for x in terms.values())
    np.testing.assert_allclose(density.logp(density.unconstrain(point)), total)


def test_log_likelihood_and_log_prior_are_groups_beside_the_posterior():
    fit = radon().observe({"y": Y})
    tree = fit.log_prior(fit.log_likelihood(POST))
    assert set(tree.children) == {"posterior", "log_likelihood", "log_prior"}
    found = tree["log_likelihood"]["y"]
    assert found.dims == ("chain", "draw", "house")
    expected = stats.norm([1.0, 12.0, 2.0, 13.0], 0.5).logpdf(Y)
    np.testing.assert_allclose(found[1, 7], expected)
    assert set(tree["log_prior"].data_vars) == {"mu", "alpha", "slope"}


def test_missing_observations_are_an_error_or_left_out():
    values = pd.Series([1.0, np.nan, 3.0, 4.0], index=pd.Index(list("pqrs"), name="house"))
    with pytest.raises(dt.InputError, match=r"1 of 4\n.*house=q"):
        radon().observe({"y": values})
    fit = radon().observe({"y": values}, missing="drop")
    point = {"mu": 0.5, "alpha": [1.0, 2.0, 3.0], "slope": -1.0}
    expected = stats.norm([1.0, 2.0, 2.0], 0.5).logpdf([1.0, 3.0, 4.0])
    np.testing.assert_allclose(fit.logp(point)["y"].sum(), expected.sum())
    kept = fit.log_likelihood(POST)["log_likelihood"]["y"]
    assert list(kept["house"].values) == ["p", "r", "s"]


def test_missing_counts_are_left_out_too():
    rate = dt.rv("rate", dist.Gamma(2.0, 1.0))
    y = dt.rv("y", dist.Poisson(rate), dims=HOUSE)
    fit = dt.Model(y, backend="python").observe({y: [1.0, np.nan, 3.0]}, missing="drop")
    expected = stats.poisson(2.0).logpmf([1, 3]).sum()
    np.testing.assert_allclose(fit.logp({rate: 2.0})["y"].sum(), expected)
    with pytest.raises(dt.InputError, match=r"'y' are whole numbers, not 1\.5"):
        dt.Model(y, backend="python").observe({y: [1.5]})


@pytest.mark.parametrize("kind", ["discrete", "continuous", "expression"])
def test_what_others_read_is_not_left_out(kind):
    if kind == "discrete":
        y = dt.rv("y", dist.Poisson(2.0), dims=HOUSE)
    else:
        y = dt.rv("y", dist.Normal(2.0, 1.0), dims=HOUSE)
    given = {"y": [1.0, np.nan, 3.0]}
    if kind == "expression":
        model = dt.Model(y, dt.named("twice", 2.0 * y))
    else:
        model, given["z"] = dt.Model(dt.rv("z", dist.Normal(1.0 * y, 1.0))), [0.0, 1.0, 2.0]
    reader = "twice" if kind == "expression" else "z"
    message = rf"'y' cannot be left out.*\n  read by: .*{reader}.*\n  missing at: .*house=1"
    with pytest.raises(dt.InputError, match=message):
        model.observe(given, missing="drop")
    model.observe({**given, "y": [1.0, 2.0, 3.0]}, missing="drop")


def test_another_parametrization_is_the_same_density():
    """The density of the standardized variable is that of the variable times the scale."""
    mu, spread = dt.rv("mu", dist.Normal(0, 1)), dt.rv("spread", dist.HalfNormal(1))
    alpha = dt.rv("alpha", dist.StudentT(4.0, mu, spread), dims=COUNTY)
    y = dt.rv("y", dist.Normal(alpha, 1.0))
    fit = dt.Model(y, backend="python").observe({y: [1.0, 2.0, 3.0]})
    other = fit.noncentered(alpha)
    point = {"mu": 0.3, "spread": 0.4, "alpha": np.array([0.1, 0.5, 2.0])}
    raw = {"mu": 0.3, "spread": 0.4, "alpha_raw": (point["alpha"] - 0.3) / 0.4}
    one, two = fit.log_density(), other.log_density()
    vector = two.unconstrain(raw)
    np.testing.assert_allclose(two.logp(vector), one.logp(one.unconstrain(point)) + 3 * np.log(0.4))
    np.testing.assert_allclose(two.constrain(vector)["alpha"], point["alpha"])
    assert other.centered().log_density().names == one.names


# -- predictions -----------------------------------------------------------------------------------


def test_predictions_on_other_data_of_other_lengths_compile_nothing():
    model = radon()
    first = model.predict(POST, {"county_of": ["c", "a"], "floor": [0, 1]}, seed=1)
    y = first["predictions"]["y"]
    assert y.dims == ("chain", "draw", "house")
    np.testing.assert_allclose(y.mean(["chain", "draw"]), [3.0, 11.0], atol=0.05)
    np.testing.assert_allclose(y.var(["chain", "draw"]), 0.25, rtol=0.1)
    assert list(first["predictions_constant_data"]["county_of"].values) == ["c", "a"]
    assert len(model.spec.graph.compiled) == 1
    second = model.predict(POST, {"county_of": ["b"], "floor": [0]}, seed=1)
    assert second["predictions"].sizes["house"] == 1
    assert len(model.spec.graph.compiled) == 1


def test_every_draw_has_noise_of_its_own():
    y = radon().predict(POST, seed=1)["posterior_predictive"]["y"].values
    assert len(np.unique(y)) == y.size


def test_what_is_computed_of_draws_is_predicted_by_name():
    found = radon().predict(POST, names="mean")["posterior_predictive"]["mean"]
    np.testing.assert_allclose(found[0, 0], [1.0, 12.0, 2.0, 13.0])


def test_new_groups_have_the_variance_of_the_population():
    """Of a new group spread² + sigma², of a known one sigma² around its effect."""
    wider = dt.Dim("county", coords=["new", "a", "b", "c", "newer"])
    tree = radon().predict(
        POST,
        {"county_of": ["new", "b", "newer", "newer"], "floor": [0, 0, 0, 0]},
        dims={COUNTY: wider},
        seed=1,
        names=["y", "alpha"],
    )
    y = tree["predictions"]["y"].values.reshape(-1, 4)
    np.testing.assert_allclose(y.mean(axis=0), [1.0, 2.0, 1.0, 1.0], atol=0.15)
    np.testing.assert_allclose(y.var(axis=0), [4.25, 0.25, 4.25, 4.25], rtol=0.1)
    # two houses of one new county share its effect
    np.testing.assert_allclose(np.cov(y[:, 2], y[:, 3])[0, 1], 4.0, rtol=0.1)
    alpha = tree["predictions"]["alpha"]
    assert list(alpha["county"]) == ["new", "a", "b", "c", "newer"]
    assert (alpha.sel(county=["a", "b", "c"]) == POST["posterior"]["alpha"]).all()


def test_labels_that_are_new_are_an_error_unless_the_dim_is_wider():
    with pytest.raises(dt.LabelError, match="new"):
        radon().predict(POST, {"county_of": ["new"], "floor": [0]}, seed=1)


def test_an_intervention_cuts_what_a_variable_depends_on():
    model = radon().do({"alpha": 7.0, "slope": 0.0})
    assert set(model.variables) == {"y"}
    y = model.draw(4000, seed=1)["prior_predictive"]["y"]
    np.testing.assert_allclose(y.mean(["chain", "draw"]), 7.0, atol=0.05)
    changed = radon().do(mean=dt.data([1.0, 2.0, 3.0, 4.0], dims=HOUSE))
    assert set(changed.variables) == {"y"}


def test_data_from_the_start_are_defaults():
    x = dt.data([0.0, 1.0], dims=HOUSE, name="x")
    slope = dt.rv("slope", dist.Normal(0, 1))
    model = dt.Model(dt.rv("y", dist.Normal(slope * x, 0.1)), backend="python")
    post = draws_of(slope=2.0)
    assert model.predict(post, seed=1)["posterior_predictive"].sizes["house"] == 2
    found = model.predict(post, {x: [1.0, 2.0, 3.0]}, seed=1)["predictions"]["y"]
    np.testing.assert_allclose(found.mean(["chain", "draw"]), [2.0, 4.0, 6.0], atol=0.05)
    fit = model.observe(y=[0.0, 2.0])
    other = model.with_data(x=[0.0, 3.0]).observe(y=[0.0, 2.0])
    np.testing.assert_allclose(fit.logp({slope: 2.0})["y"][1], stats.norm(2, 0.1).logpdf(2.0))
    np.testing.assert_allclose(other.logp({slope: 2.0})["y"][1], stats.norm(6, 0.1).logpdf(2.0))


# -- variables, checks, reprs ----------------------------------------------------------------------


def test_a_variable_is_what_it_was_made_of():
    def alpha():
        return dt.rv("alpha", dist.Normal(dt.rv("mu", dist.Normal(0, 1)), 2.0), dims=COUNTY)

    assert alpha() is alpha()
    assert pickle.loads(pickle.dumps(alpha())) is alpha()
    assert dt.rv("mu", dist.Normal(0, 1)) is not dt.rv("mu", dist.Normal(0, 2))
    with pytest.raises(dt.GraphError, match="is a random variable, which has no value"):
        alpha().sum().eval()


def test_what_nothing_observed_depends_on_is_said():
    x, y = dt.rv("x", dist.Normal(0, 1)), dt.rv("y", dist.Normal(0, 1))
    with pytest.warns(dt.ModelWarning, match=r"x: Normal\(mu=0, sigma=1\), of dims {}"):
        dt.Model(x, y, backend="python").observe({y: 1.0})


def test_a_table_of_variables():
    text = repr(radon().observe({"y": Y}).noncentered("alpha"))
    assert text.startswith("<Model of 4 random variables, 1 observed>\n")
    row = ["alpha", "{county}", "real", "Normal(mu=mu,", "sigma=2)", "free,", "noncentered"]
    assert row in [line.split() for line in text.splitlines()]
    assert "named: mean" in text
    html = radon()._repr_html_()
    assert "Random variables" in html
    assert "Normal(mu=mu, sigma=2)" in html


@pytest.mark.compiled
def test_a_posterior_has_the_groups_that_arviz_reads():
    """The posterior of a normal mean is normal."""
    mu = dt.rv("mu", dist.Normal(0, 2))
    y = dt.rv("y", dist.Normal(dt.named("twice", 2 * mu), 1.0), dims=HOUSE)
    fit = dt.Model(y).observe({y: [1.0, 2.0, 3.0]})
    post = fit.sample(500, tune=300, chains=2, seed=1, progress_bar=False, report=False)
    precision = 1 / 4 + 3 * 4
    mean = 2 * 6 / precision
    np.testing.assert_allclose(post["posterior"]["mu"].mean(), mean, atol=0.06)
    np.testing.assert_allclose(post["posterior"]["mu"].std(), precision**-0.5, rtol=0.15)
    np.testing.assert_allclose(post["posterior"]["twice"], 2 * post["posterior"]["mu"])
    names = {"lp", "tree_depth", "reached_max_treedepth", "acceptance_rate", "n_steps", "diverging",
             "energy", "step_size"}  # fmt: skip
    assert names <= set(post["sample_stats"].data_vars)
    assert list(post["observed_data"]["y"].values) == [1.0, 2.0, 3.0]
    assert post["posterior"].attrs["seed"] == 1


# -- distributions over dims -----------------------------------------------------------------------

K = dt.Dim("k", coords=["red", "green", "blue"])


def test_labels_are_drawn_observed_and_predicted():
    p = dt.rv("p", dist.Dirichlet(dt.data([1.0, 2.0, 3.0], dims=K), dim=K))
    z = dt.rv("z", dist.Categorical(p, dim=K), dims=HOUSE)
    assert z.dims == (HOUSE,)
    assert z.categories is K
    model = dt.Model(z, backend="python")
    drawn = model.draw(4000, seed=1, dims={HOUSE: 2})["prior_predictive"]["z"]
    np.testing.assert_allclose((drawn == "blue").mean(), 0.5, atol=0.02)
    fit = model.observe({z: ["red", "blue", "blue"]})
    terms = fit.logp({p: [0.2, 0.3, 0.5]})
    np.testing.assert_allclose(terms["z"], np.log([0.2, 0.5, 0.5]))
    np.testing.assert_allclose(terms["p"], stats.dirichlet([1, 2, 3]).logpdf([0.2, 0.3, 0.5]))
    assert fit.log_density().size == 2
    post = {"p": (("chain", "draw", "k"), np.full((1, 3000, 3), [0.2, 0.3, 0.5]))}
    found = model.predict(xr.Dataset(post, {"k": K.coords}), seed=1, dims={HOUSE: 1})
    np.testing.assert_allclose((found["predictions"]["z"] == "red").mean(), 0.2, atol=0.03)


def test_a_random_walk_is_one_variable_with_a_dim():
    step = dt.rv("step", dist.HalfNormal(1.0))
    day = dt.Dim("day", length=20)
    x = dt.rv("x", dist.RandomWalk(dist.Normal(0.0, step), dim=day, start=dist.Normal(0.0, 2.0)))
    y = dt.rv("y", dist.Normal(x, 1.0))
    model = dt.Model(y, backend="python")
    walk = model.draw(8000, seed=1)["prior"]["x"]
    # the start's variance and 19 steps', whose expectation is 1 each
    np.testing.assert_allclose(walk[0, :, -1].var(), 4 + 19, rtol=0.1)
    values = np.linspace(0.0, 3.0, 20)
    terms = model.observe({y: np.ones(20)}).logp({"step": 0.5, "x": values})
    expected = stats.norm(0, 2).logpdf(0.0) + stats.norm(0, 0.5).logpdf(np.diff(values)).sum()
    np.testing.assert_allclose(terms["x"].sum(), expected)


def test_correlated_effects_have_the_covariance_of_the_matrix():
    cov = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    matrix = dt.data(cov, dims=[K, K.rename()])
    x = dt.rv("x", dist.MvNormal(dt.zeros(K), matrix), dims=COUNTY)
    tree = dt.Model(dt.rv("y", dist.Normal(x, 0.1)), backend="python").draw(8000, seed=1)
    found = tree["prior"]["x"].transpose("chain", "draw", "county", "k").values[0, :, 1]
    np.testing.assert_allclose(np.cov(found.T), cov, atol=0.15)


# -- missing values as parameters ------------------------------------------------------------------


def test_missing_values_are_inferred_under_their_labels():
    values = pd.Series([1.0, np.nan, 3.0, np.nan], index=pd.Index(list("pqrs"), name="house"))
    fit = radon().observe({"y": values}, missing="infer")
    density = fit.log_density()
    assert [name for name in density.names if "missing" in name] == ["y_missing[q]", "y_missing[s]"]
    point = {"mu": 0.5, "alpha": [1.0, 2.0, 3.0], "slope": -1.0, "y_missing": [7.0, 8.0]}
    terms = fit.logp(point)
    expected = stats.norm([1.0, 1.0, 2.0, 2.0], 0.5).logpdf([1.0, 7.0, 3.0, 8.0])
    np.testing.assert_allclose(terms["y"], expected)
    total = sum(float(term.sum()) for term in terms.values())
    np.testing.assert_allclose(density.logp(density.unconstrain(point)), total)
    y = dt.rv("y", dist.Poisson(3.0), dims=HOUSE)
    with pytest.raises(dt.InputError, match="missing values of 'y' cannot be inferred"):
        dt.Model(y, backend="python").observe({y: [np.nan, 1.0]}, missing="infer")


def test_missing_values_of_a_table_are_inferred():
    week = dt.Dim("week", coords=[1, 2])
    mu = dt.rv("mu", dist.LogNormal(0.0, 1.0))
    y = dt.rv("y", dist.Exponential(mu), dims=[COUNTY, week])
    table = xr.DataArray(
        [[1.0, 2.0, np.nan], [4.0, np.nan, 6.0]],
        dims=["week", "county"],
        coords={"week": [1, 2], "county": ["a", "b", "c"]},
    )
    fit = dt.Model(y, backend="python").observe({y: table}, missing="infer")
    found = fit.logp({"mu": 2.0, "y_missing": [0.5, 0.25]})["y"]
    # positions in the order of the dims' names: county b in week 2, then county c in week 1
    filled = table.copy()
    filled.loc[{"county": "b", "week": 2}], filled.loc[{"county": "c", "week": 1}] = 0.5, 0.25
    np.testing.assert_allclose(
        found.transpose("week", "county"), stats.expon(scale=0.5).logpdf(filled)
    )
    assert fit.log_density().names == ["mu", "y_missing[b,2]", "y_missing[c,1]"]


def test_predictions_do_not_depend_on_missing_observations_in_silence():
    first = dt.rv("first", dist.Normal(0.0, 1.0), dims=HOUSE)
    second = dt.rv("second", dist.Normal(first, 1.0))
    model = dt.Model(second, backend="python")
    values = {first: [1.0, np.nan], second: [2.0, 3.0]}
    fit = model.observe(values, missing="infer")
    post = draws_of(other=1.0)
    with pytest.raises(dt.InputError, match="observations that are missing: 'first'"):
        fit.predict(post, seed=1)
    whole = model.observe({first: [1.0, 5.0], second: [2.0, 3.0]})
    whole = whole.predict(post, seed=1)["posterior_predictive"]
    np.testing.assert_allclose(whole["second"].mean(["chain", "draw"]), [1.0, 5.0], atol=0.1)


def test_a_value_of_an_intervention_has_the_dims_of_the_variable():
    with pytest.raises(dt.DimError, match="the value of 'slope' has dims that it has not"):
        radon().do(slope=dt.zeros(COUNTY))


def test_models_survive_a_pickle():
    fit = radon().observe({"y": Y}).noncentered("alpha")
    fit.predict(POST, seed=1)
    fit.log_density()
    again = pickle.loads(pickle.dumps(fit))
    point = {"mu": 0.5, "alpha": [1.0, 2.0, 3.0], "slope": -1.0}
    xr.testing.assert_identical(again.logp(point), fit.logp(point))
    assert again.log_density().names == fit.log_density().names
    xr.testing.assert_identical(
        again.predict(POST, seed=1)["posterior_predictive"].to_dataset(),
        fit.predict(POST, seed=1)["posterior_predictive"].to_dataset(),
    )


def test_parameters_have_one_order_however_often_a_model_is_written():
    """As where a cell of a notebook runs again while the first model is kept."""

    def written():
        def around(x, kappa):
            return dist.Normal(3.0, kappa).logp(x)

        kappa = dt.rv("kappa", dist.HalfNormal(0.5))
        mu = dt.rv("mu", dist.custom(around, dt.positive, kappa=kappa))
        alpha = dt.rv("alpha", dist.HalfNormal(1.0))
        return dt.Model(dt.rv("y", dist.Normal(mu * dt.exp(-alpha), 1.0))).observe({"y": 1.0})

    first, second = written(), written()
    assert list(first.free) == ["kappa", "mu", "alpha"]
    assert list(second.free) == list(first.free)


def test_parameters_are_in_the_order_in_which_they_are_written():
    """Not in that in which other variables read them; after `do` and in a pickle too."""
    scale = dt.rv("scale", dist.HalfNormal(1.0))
    double = dt.named("double", 2 * scale)
    other = dt.rv("other", dist.Normal(0, 1))
    location = dt.rv("location", dist.Normal(other, 1))
    y = dt.rv("y", dist.Normal(dt.exp(location) - other, double))
    model = dt.Model(y).observe({"y": 1.0})
    order = ["scale", "other", "location"]
    assert list(model.free) == order
    assert list(model.variables) == [*order, "y"]
    dt.rv("scale", dist.HalfNormal(1.0))  # by another model; it is the same variable
    assert list(model.do(other=1.0).free) == ["scale", "location"]
    assert list(dt.Model(y).observe({"y": 1.0}).free) == ["other", "location", "scale"]
    assert list(pickle.loads(pickle.dumps(model)).free) == order


def test_draws_of_a_model_whose_labels_are_a_column_of_a_table():
    table = pd.DataFrame({"kind": ["a", "b", "a"], "size": [1.0, 2.0, 3.0]})
    man, kind = dt.Dim("man"), dt.Dim("kind", coords=["a", "b"])
    kind_of = dt.tensor("kind_of", dims=man, categories=kind)
    size = dt.tensor("size", dims=man)
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=kind)
    y = dt.rv("y", dist.Normal(level.sel(kind=kind_of) + size, 1e-6))
    model = dt.Model(y, data={kind_of: table["kind"], size: table["size"]})
    drawn = model.draw(5, seed=1)
    expected = drawn["prior"]["level"].values[..., [0, 1, 0]] + [1.0, 2.0, 3.0]
    np.testing.assert_allclose(drawn["prior_predictive"]["y"].values, expected, atol=1e-4)
