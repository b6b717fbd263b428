"""Values that were not observed, as parameters: where they lie, and their names."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import InputError


def test_two_variables_lack_values_at_other_places_of_two_dims():
    a, b = dt.Dim("a", coords=["p", "q"]), dt.Dim("b", coords=[10, 20, 30])
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=[a, b])
    y = dt.rv("y", dist.Normal(2.0 * x, 1.0))
    at_x, at_y = np.ones((2, 3)), np.ones((2, 3))
    at_x[0, 1] = at_y[0, 0] = at_y[1, 2] = np.nan
    pairs = {x: (("a", "b"), at_x), y: (("a", "b"), at_y)}
    density = dt.Model(y, backend="python").observe(pairs, missing="infer").log_density()
    found = density.constrain(np.array([0.1, 0.2, 0.3]))
    assert found["x_missing"].sel(a="p", b=20).item() == 0.1
    assert list(found["y_missing"].indexes["a_b_y_missing"]) == [("p", 10), ("q", 30)]
    given = np.array([[1.0, 0.1, 1.0], [1.0, 1.0, 1.0]])
    seen = np.array([[0.2, 1.0, 1.0], [1.0, 1.0, 0.3]])
    wanted = st.norm.logpdf(given).sum() + st.norm(2 * given).logpdf(seen).sum()
    assert density.logp(np.array([0.1, 0.2, 0.3])) == pytest.approx(wanted, abs=1e-12)
    drawn = dt.Model(y).observe(pairs, missing="infer").sample(
        5, tune=5, chains=1, seed=1, progress_bar=False, report=False
    )["posterior"]  # fmt: skip
    assert drawn.indexes["a_b_y_missing"].tolist() == ["p,10", "q,30"]
    assert drawn.indexes["a_b"].tolist() == ["p,20"]


def test_bounds_are_those_of_the_missing_elements():
    k, j = dt.Dim("k", coords=list("abc")), dt.Dim("j", length=2)
    low = dt.data([0.0, 0.1, 0.2], dims=k)
    m = dt.rv("m", dist.Normal(0.0, 1.0))
    one = dt.rv("one", dist.truncated(dist.Normal(m, 1.0), lower=low))
    fit = dt.Model(one, backend="python").observe(one=[0.5, np.nan, 1.0], missing="infer")
    density, at = fit.log_density(), 0.1 + np.exp(-2.0)
    assert density.constrain(np.array([0.3, -2.0]))["one_missing"].item() == pytest.approx(at)
    values = zip([0.0, 0.1, 0.2], [0.5, at, 1.0], strict=True)
    wanted = st.norm.logpdf(0.3) - 2.0
    wanted += sum(st.truncnorm(a - 0.3, np.inf, 0.3).logpdf(value) for a, value in values)
    assert density.logp(np.array([0.3, -2.0])) == pytest.approx(wanted, abs=1e-12)

    two = dt.rv("two", dist.Uniform(low, 1.0), dims=[k, j])
    values = np.full((3, 2), 0.5)
    values[1, 0] = values[2, 1] = np.nan
    fit = dt.Model(two, backend="python").observe(two=(("k", "j"), values), missing="infer")
    found = fit.log_density().constrain(np.zeros(2))["two_missing"]
    np.testing.assert_allclose(np.sort(found.values), [0.55, 0.6], rtol=1e-12)


def test_elements_that_determine_each_other_are_not_inferred():
    k = dt.Dim("k", coords=list("abc"))
    v = dt.rv("v", dist.Dirichlet(dt.ones(k), dim=k))
    fit = dt.Model(v, backend="python").observe(v=[0.5, np.nan, np.nan], missing="infer")
    with pytest.raises(InputError, match="its elements determine each other") as error:
        fit.log_density()
    assert "'k=b', 'k=c'" in str(error.value)


# -- what was not observed is in no group that ArviZ compares --------------------------------------

GAPS = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, np.nan]])
LABELED = {"a": ["p", "q"], "b": [10, 20, 30]}


def gaps(labeled, dims):
    """Observations over one or two dims, the labels of those that are there, and of the others."""
    if dims == 1:
        values, names = GAPS[0], ("b",)
        labels = LABELED["b"] if labeled else [0, 1, 2]
        there, gone = [labels[0], labels[2]], [labels[1]]
    else:
        values, names = GAPS, ("a", "b")
        rows, columns = LABELED.values() if labeled else ([0, 1], [0, 1, 2])
        texts = [[f"{row},{column}" for column in columns] for row in rows]
        there = [texts[0][0], texts[0][2], texts[1][0], texts[1][1]]
        gone = [texts[0][1], texts[1][2]]
    coords = {name: LABELED[name] for name in names} if labeled else None
    return xr.DataArray(values, coords, names), there, gone


@pytest.mark.parametrize("how", ["drop", "infer"])
@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("dims", [1, 2])
def test_groups_have_what_was_observed(how, labeled, dims):
    values, there, gone = gaps(labeled, dims)
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=[dt.Dim(name) for name in values.dims])
    fit = dt.Model(y, backend="python").observe({y: values}, missing=how)
    post = fit.predict(fit.log_likelihood(fit.laplace(3, seed=1)), seed=1)
    dim = "_".join(values.dims)
    known = values.values[np.isfinite(values.values)]
    for group in ("observed_data", "log_likelihood", "posterior_predictive"):
        found = post[group]["y"]
        assert found.dims == (("chain", "draw", dim) if group != "observed_data" else (dim,))
        assert found[dim].values.tolist() == there
    np.testing.assert_array_equal(post["observed_data"]["y"], known)
    means = post["posterior"]["mu"].values[..., None]
    expected = st.norm.logpdf(known, means)
    np.testing.assert_allclose(post["log_likelihood"]["y"], expected, rtol=1e-12)
    whole = post["predictions"]["y"]
    assert whole.shape == (1, 3, *values.shape)
    seen = whole.transpose("chain", "draw", *values.dims).values[..., np.isfinite(values.values)]
    np.testing.assert_array_equal(seen, post["posterior_predictive"]["y"])
    if how == "infer":
        imputed = post["posterior"]["y_missing"]
        assert imputed[imputed.dims[-1]].values.tolist() == gone


@pytest.mark.slow
def test_arviz_reads_observations_over_two_dims_with_gaps():
    az = pytest.importorskip("arviz")
    values, _, _ = gaps(labeled=True, dims=2)
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=[dt.Dim(name) for name in values.dims])
    fit = dt.Model(y, backend="python").observe({y: values}, missing="drop")
    post = fit.predict(fit.log_likelihood(fit.laplace(500, seed=1)), seed=1)
    found = az.loo(post)
    assert np.isfinite(found.elpd)
    assert found.n_data_points == 4
    assert np.isfinite(az.loo_pit(post)["y"]).all()
    az.plot_ppc_dist(post)


# -- predictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
def test_predictions_of_what_was_observed_need_no_lengths(named):
    """The length, or the labels, are those of the observations."""
    obs = dt.Dim("obs")
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=obs)
    values = np.array([1.0, 2.0, 3.0])
    values = xr.DataArray(values, {"obs": ["a", "b", "c"]}, "obs") if named else values
    fit = dt.Model(y, backend="python").observe({y: values})
    post = fit.laplace(3, seed=1)
    found = fit.predict(post, seed=1)["posterior_predictive"]["y"]
    assert found.shape == (1, 3, 3)
    assert fit.draw(2, seed=1)["prior_predictive"]["y"].shape == (1, 2, 3)
    assert not named or found["obs"].values.tolist() == ["a", "b", "c"]
    assert fit.predict(post, dims={obs: 5}, seed=1)["predictions"]["y"].shape == (1, 3, 5)
    with pytest.raises(InputError, match="draws need values that the model lacks: 'obs'"):
        dt.Model(y, backend="python").predict(post, seed=1)


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
@pytest.mark.parametrize("form", [np.asarray, list, pd.Series, lambda x: xr.DataArray(x, dims="o")])
def test_dates_that_are_missing_in_every_unit(unit, form):
    labels = pd.date_range("2020-01-01", periods=4).as_unit("ns" if unit == "ns" else "us")
    day = dt.Dim("day", coords=labels)
    y = dt.rv("y", dist.Categorical(dt.data([0.1, 0.2, 0.3, 0.4], day), dim=day), dims=dt.Dim("o"))
    dates = np.array(["2020-01-02", "NaT", "2020-01-04"], dtype=f"M8[{unit}]")
    fit = dt.Model(y, backend="python").observe(y=form(dates), missing="drop")
    density = fit.log_density().logp(np.zeros(0))
    assert density == pytest.approx(np.log(0.2) + np.log(0.4), rel=1e-12)
    assert list(fit.observed["y"].isnull().values) == [False, True, False]


@pytest.mark.parametrize(
    "seen",
    [[1.0, 3.0, 5.0], pd.Series([1.0, 3.0, 5.0], index=[1, 3, 4])],
    ids=["in order", "with labels"],
)
def test_a_variable_along_what_a_mask_of_data_leaves(seen):
    t = dt.Dim("t", coords=[1, 2, 3, 4])
    x = dt.data([1.0, np.nan, 3.0, 4.0], dims=t, name="x").dropna("t")
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y, z = dt.rv("y", dist.Normal(mu, 1.0), dims=x.dims), dt.rv("z", dist.Normal(mu * x, 1.0))
    fit = dt.Model(y, z, backend="python").observe({y: seen, z: seen})
    by_hand = st.norm.logpdf(0.5) + st.norm(0.5).logpdf([1.0, 3.0, 5.0]).sum()
    by_hand += st.norm([0.5, 1.5, 2.0]).logpdf([1.0, 3.0, 5.0]).sum()
    assert fit.log_density().logp(np.array([0.5])) == pytest.approx(by_hand)
    with pytest.raises(dt.DimError, match=r"length 4 along SelDim.*3 follows"):
        dt.Model(y, backend="python").observe({y: np.ones(4)})


@pytest.mark.parametrize(
    "labels",
    [
        np.ma.array(["a", "b", "a"], mask=[False, True, False]),
        ["a", np.ma.masked, "a"],
        ["a", pd.NA, "a"],
        pd.array(["a", None, "a"], dtype="string"),
        np.array(["a", None, "a"], dtype=object),
    ],
    ids=["masked", "list", "NA", "pandas", "objects"],
)
def test_labels_that_are_missing_in_every_way(labels):
    kind = dt.Dim("kind", coords=["a", "b"])
    y = dt.rv("y", dist.Categorical(dt.data([0.2, 0.8], kind), dim=kind), dims=dt.Dim("o"))
    with pytest.raises(InputError, match="observations of 'y' are missing: 1 of 3"):
        dt.Model(y, backend="python").observe(y=labels)
    fit = dt.Model(y, backend="python").observe(y=labels, missing="drop")
    assert fit.log_density().logp(np.zeros(0)) == pytest.approx(2.0 * np.log(0.2), rel=1e-12)


# -- vectors ---------------------------------------------------------------------------------------

PART = dt.Dim("part", coords=["u", "v", "w"])
SPREAD = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.5]])
VECTORS = np.array([[0.3, np.nan, 1.0], [np.nan] * 3, [0.4, -1.0, 0.2], [np.nan, 2.0, np.nan]])


@pytest.mark.parametrize("form", ["cov", "tau", "chol"])
@pytest.mark.parametrize("nu", [None, 4.0])
def test_elements_of_vectors_that_are_missing_have_no_density(form, nu):
    """The others have their marginal density."""
    given = {"cov": SPREAD, "tau": np.linalg.inv(SPREAD), "chol": np.linalg.cholesky(SPREAD)}
    spread = dt.data(given[form], dims=[PART, PART.rename()])
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=PART)
    d = dist.MvNormal(mu, **{form: spread})
    if nu is not None:
        d = dist.MvStudentT(nu, mu, **{form: spread})
    y = dt.rv("y", d, dims=dt.Dim("t", length=4))
    fit = dt.Model(y, backend="python").observe({y: (("t", "part"), VECTORS)}, missing="drop")
    means = np.array([0.1, -0.2, 0.5])

    def each(means):
        found = np.zeros(4)
        for at, row in enumerate(VECTORS):
            there = ~np.isnan(row)
            if there.any():
                own = means[there], SPREAD[np.ix_(there, there)]
                law = st.multivariate_normal(*own) if nu is None else st.multivariate_t(*own, nu)
                found[at] = law.logpdf(row[there])
        return found

    np.testing.assert_allclose(fit.logp({"mu": means})["y"], each(means), rtol=1e-11, atol=1e-12)
    value, slope = fit.log_density().logp_and_grad(means)
    assert value == pytest.approx(st.norm.logpdf(means).sum() + each(means).sum(), rel=1e-11)
    step = 1e-6 * np.eye(3)
    slopes = [(each(means + e).sum() - each(means - e).sum()) / 2e-6 for e in step] - means
    np.testing.assert_allclose(slope, slopes, rtol=1e-7)
    post = xr.Dataset({"mu": (("chain", "draw", "part"), means[None, None])}, {"part": PART.coords})
    found = fit.log_likelihood(post)["log_likelihood"]["y"]
    assert found["t"].values.tolist() == [0, 2, 3]
    np.testing.assert_allclose(found.squeeze(), each(means)[[0, 2, 3]], rtol=1e-11)
    whole = np.where(np.isnan(VECTORS), 0.0, VECTORS)
    full = fit.observe({y: (("t", "part"), whole)})
    law = st.multivariate_normal if nu is None else st.multivariate_t
    beside = {} if nu is None else {"df": nu}
    expected = law(means, SPREAD, **beside).logpdf(whole)
    np.testing.assert_allclose(full.logp({"mu": means})["y"], expected, rtol=1e-11)
