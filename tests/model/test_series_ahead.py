"""Log densities of elements of observed series, given those before them."""

import re
import warnings

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.inference.pointwise import warn_of_constant

T = dt.Dim("t", length=5)
SEEN = np.array([0.3, -0.5, 1.2, 0.4, -0.1])
BEFORE = SEEN[:-1]
FIXED_START = pytest.mark.filterwarnings("ignore:arviz.loo and:dimtensor.ModelWarning")


def walk(mu):
    return dist.GaussianRandomWalk(mu, 0.5, dim=T, start=dist.Normal(0.0, 2.0))


def autoregression(mu):
    rho = mu * dt.data([0.5], dims=dt.Dim("lag", length=1))
    return dist.AR(rho, 0.5, dim=T, start=dist.Normal(0.0, 2.0))


def volatility(mu):
    return dist.GARCH11(mu, 0.2, 0.3, 1.5, dim=T)


def diffusion(mu):
    start = dist.Normal(0.0, 2.0)
    return dist.EulerMaruyama(lambda x, r: (-r * x, 0.5), 0.1, dim=T, start=start, r=mu)


def series(mu):
    def step(before, mu):
        return dist.Normal(mu * before, 0.5), lambda value: value

    return dist.Series(step, 1.0, dim=T, mu=mu)


def variances(mu):
    found = [1.5**2]
    for x in BEFORE:
        found.append(mu + 0.2 * x**2 + 0.3 * found[-1])
    return np.array(found)


def normal(first, means, sigma):
    return np.array([first, *stats.norm.logpdf(SEEN[1:], means, sigma)])


FIRST = stats.norm.logpdf(SEEN[0], 0, 2)
EXPECTED = {
    walk: lambda mu: normal(FIRST, BEFORE + mu, 0.5),
    autoregression: lambda mu: normal(FIRST, 0.5 * mu * BEFORE, 0.5),
    volatility: lambda mu: stats.norm.logpdf(SEEN, 0, np.sqrt(variances(mu))),
    series: lambda mu: stats.norm.logpdf(SEEN, mu * np.array([1.0, *BEFORE]), 0.5),
    diffusion: lambda mu: normal(FIRST, BEFORE - 0.1 * mu * BEFORE, 0.5 * np.sqrt(0.1)),
}


@FIXED_START
@pytest.mark.parametrize("law", EXPECTED)
def test_elements_of_a_series_are_told_apart(law):
    mu = dt.rv("mu", dist.Gamma(2.0, 2.0))
    fit = dt.Model(dt.rv("y", law(mu)), backend="python").observe(y=SEEN)
    post = fit.laplace(3, seed=1)
    found = fit.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["y"]
    expected = [EXPECTED[law](mu) for mu in post["posterior"]["mu"].values[0]]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    whole = fit.log_likelihood(post)["log_likelihood"]["y"]
    np.testing.assert_allclose(whole[0], np.sum(expected, axis=1), rtol=1e-12)


@FIXED_START
def test_labels_of_a_chain_are_told_apart():
    sky = dt.Dim("sky", coords=["dry", "wet"])
    start = dt.rv("start", dist.Dirichlet(dt.ones(sky), dim=sky))
    moves = np.array([[0.9, 0.1], [0.4, 0.6]])
    move = dt.data(moves, dims=[sky, sky.rename()])
    y = dt.rv("y", dist.MarkovChain(start, move, dim=T))
    codes = np.array([1, 0, 0, 1, 1])
    fit = dt.Model(y, backend="python").observe(y=np.array(["dry", "wet"])[codes])
    post = fit.laplace(3, seed=1)
    found = fit.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["y"]
    first = np.log(post["posterior"]["start"].sel(sky="wet"))
    np.testing.assert_allclose(found.isel(t=0), first, rtol=1e-12)
    later = np.log(moves[codes[:-1], codes[1:]])
    np.testing.assert_allclose(found.isel(t=slice(1, None))[0], [later] * 3, rtol=1e-12)


def test_a_series_of_which_a_part_counts_has_one_density():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("y", dist.weighted(walk(mu), 2.0)), backend="python").observe(y=SEEN)
    post = fit.laplace(3, seed=1)
    with pytest.raises(dt.GraphError, match=r"of each element of 'y' given those before it: w"):
        fit.log_likelihood(post, one_step_ahead=True)


def test_arviz_leaves_out_the_elements_that_depend_on_no_parameter():
    """ArviZ has no weights for them; what the warning says is run as it is written."""
    az = pytest.importorskip("arviz")
    pytest.importorskip("matplotlib").use("agg")
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("y", autoregression(mu)), backend="python").observe(y=SEEN)
    post = fit.laplace(200, seed=1)
    with pytest.warns(dt.ModelWarning, match="elements at t=0 of 'y' is the same") as caught:
        post = fit.predict(fit.log_likelihood(post, one_step_ahead=True), seed=1)
    with pytest.raises(ValueError, match="All tail values are the same"):
        az.loo(post)
    hint = re.search(r"hint: leave .* out: (.*)", str(caught[0].message)).group(1)
    found = eval(hint, {"arviz": az, "post": post})
    assert found.n_data_points == len(SEEN) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ's, of few draws
        az.plot_loo_pit(post.isel(t=slice(1, None)), backend="none")


def constant_at(places, shape=(1, 50, 5), dims=("d",)):
    import xarray as xr

    values = np.random.default_rng(1).normal(size=shape)
    values[(..., *places) if isinstance(places, tuple) else (..., places)] = -1.5
    return xr.Dataset({"y": (("chain", "draw", *dims), values)}, {"d": list("abcde")})


@pytest.mark.parametrize(
    ("places", "where", "left"),
    [
        ([0], "elements at d='a' of 'y' is", "post.isel(d=slice(1, None))"),
        ([0, 1], "elements at d='a', 'b' of 'y' is", "post.isel(d=slice(2, None))"),
        ([3, 4], "elements at d='d', 'e' of 'y' is", "post.isel(d=slice(-2))"),
        ([1, 4], "elements at d='b', 'e' of 'y' is", "post.isel(d=[0, 2, 3])"),
    ],
)
def test_elements_that_depend_on_no_parameter_are_named(places, where, left):
    dataset = constant_at(places)
    with pytest.warns(dt.ModelWarning, match="same in all draws") as caught:
        warn_of_constant(dataset)
    text = str(caught[0].message)
    assert where in text
    assert left in text
    kept = eval(left, {"post": dataset})
    assert kept.sizes["d"] == 5 - len(places)
    warn_of_constant(kept)


def test_elements_of_several_dims_that_depend_on_no_parameter():
    with pytest.warns(dt.ModelWarning, match="of 4 of 20 elements of 'y' is the same"):
        warn_of_constant(constant_at(([0, 1, 2, 3], [0, 1, 2, 3]), (1, 50, 4, 5), ("k", "d")))
    with pytest.warns(dt.ModelWarning, match=r"(?s)at d='b' of .*post.isel\(d=\[0, 2, 3, 4\]\)"):
        warn_of_constant(constant_at(1, (1, 50, 4, 5), ("k", "d")))


def test_draws_that_are_the_same_tell_of_no_constants():
    warn_of_constant(constant_at([0], (1, 1, 5)))
    warn_of_constant(constant_at([0, 1, 2, 3, 4]))
    warn_of_constant(constant_at([]))


def paths(trial, scale):
    """Paths of small steps from starts far apart."""
    start, lag = dist.Normal(0.0, 100.0), dt.Dim("lag", length=1)

    def step(before):
        return dist.Normal(before, scale), lambda value: value

    return {
        "walk": dist.GaussianRandomWalk(0.0, scale, dim=trial, start=start),
        "autoregression": dist.AR(dt.data([1.0], dims=lag), scale, dim=trial, lag=lag, start=start),
        "series": dist.Series(step, 0.0, dim=trial),
    }


SUBJECT = dt.Dim("subject", coords=["Ann", "Bob", "Cem"])
LEVELS = {"Ann": 10.0, "Cem": -20.0}
SORTED, UNSORTED = ["Ann", "Ann", "Ann", "Cem", "Cem"], ["Cem", "Ann", "Ann", "Cem", "Ann"]
LATER_SORTED = ["Cem"] * 3 + ["Dov"] * 2 + ["Ann"] * 4
LATER_UNSORTED = ["Dov", "Ann", "Cem", "Cem", "Ann", "Ann", "Dov", "Cem", "Ann"]


@pytest.mark.parametrize("later", [LATER_SORTED, LATER_UNSORTED], ids=["to sorted", "to unsorted"])
@pytest.mark.parametrize("who", [SORTED, UNSORTED], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("kind", ["walk", "autoregression", "series"])
def test_observed_paths_of_parents_are_continued_and_new_ones_begin(kind, who, later):
    trial = dt.ragged("trial", within=SUBJECT, by=who)
    scale = dt.rv("scale", dist.LogNormal(np.log(0.01), 0.01))
    y = dt.rv("y", paths(trial, scale)[kind])
    fit = dt.Model(y, backend="python").observe({y: [LEVELS[each] for each in who]})
    draws = dt.Model(y, backend="python").draw(3, seed=1)["prior"]
    subject = dt.Dim("subject", coords=["Cem", "Dov", "Ann"])
    more = dt.ragged("trial", within=subject, by=later)
    if who is SORTED and later is LATER_UNSORTED:
        with pytest.raises(dt.RaggedDimError, match="are in the order of the parents, and those"):
            fit.predict(draws, dims={SUBJECT: subject, trial: more}, seed=1)
        return
    found = fit.predict(draws, dims={SUBJECT: subject, trial: more}, seed=1)
    table = found["predictions"]["y"].isel(chain=0).to_pandas()
    for name, level in LEVELS.items():
        own = table.loc[:, np.array(later) == name].to_numpy()
        known = who.count(name)
        np.testing.assert_allclose(own[:, :known], level)
        assert (own[:, known:] != level).all()
        np.testing.assert_allclose(own[:, known:], level, atol=0.1)
    new = table.loc[:, np.array(later) == "Dov"].to_numpy()
    assert (new[:, 0] != new[:, 1]).all()
    np.testing.assert_allclose(new[:, 1], new[:, 0], atol=0.1)
    assert (new[:, 0].std() > 5.0) == (kind != "series")


def test_a_path_of_a_parent_without_its_first_elements_is_an_error():
    trial = dt.ragged("trial", within=SUBJECT, lengths=[3, 0, 2])
    y = dt.rv("y", paths(trial, 1.0)["walk"])
    x = dt.rv("x", dist.Normal(y, 1.0))
    fit = dt.Model(x, backend="python").observe({x: [1.0, 2.0, 3.0, 4.0, 5.0]})
    draws = fit.laplace(2, seed=1)
    fewer = dt.ragged("trial", within=SUBJECT, lengths=[1, 4, 2])
    with pytest.raises(dt.LabelError, match="lacks: 'Ann,1', 'Ann,2'"):
        fit.predict(draws, dims={SUBJECT: SUBJECT, trial: fewer}, seed=1, names=["y"])
    # of parents that are not there, nothing has to be
    one = dt.Dim("subject", coords=["Bob", "Cem"])
    others = dt.ragged("trial", within=one, lengths=[1, 2])
    found = fit.predict(draws, dims={SUBJECT: one, trial: others}, seed=1, names=["y"])
    known = draws["posterior"]["y"].isel(trial=[3, 4])
    np.testing.assert_array_equal(found["predictions"]["y"].isel(trial=[1, 2]), known)
