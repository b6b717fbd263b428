"""dt.sample and to_nutpie: right posteriors, right labels, and ArviZ takes them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.model.inference.starts import starting_points

pytest.importorskip("nutpie")

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
PREDICTOR = dt.Dim("predictor", length=2)
# The normal model with known variances: y_i ~ N(theta_i, s_i), theta_i ~ N(0, 2)
Y, S = np.array([1.0, -2.0, 3.0]), np.array([1.0, 0.5, 2.0])
POSTERIOR_SD = 1 / np.sqrt(1 / 4 + 1 / S**2)
POSTERIOR_MEAN = POSTERIOR_SD**2 * Y / S**2


def conjugate(backend, **options):
    """Three normal means and, apart from them, a rate that is gamma(3, 2)."""
    theta, rate = dt.tensor("theta", dims=COUNTRY), dt.scalar("rate")
    y = dt.data(Y, dims=COUNTRY, name="y")
    s = dt.data(S, dims=COUNTRY)
    logp = -0.5 * (((y - theta) / s) ** 2).sum() - 0.5 * ((theta / 2) ** 2).sum()
    logp = logp + 2 * dt.log(rate) - 2 * rate
    supports = {theta: dt.real, rate: dt.positive}
    return dt.LogDensity(logp, supports, backend=backend, **options), theta, rate


QUIET = {"progress_bar": False, "seed": 7}


@pytest.fixture(scope="module")
def drawn():
    model, theta, rate = conjugate("numba")
    extra = {"scaled": theta * rate, "total": theta.sum(), "twice_y": dt.data(Y, COUNTRY) * 2}
    tree = dt.sample(
        model, draws=1000, tune=400, chains=4, extra=extra, save_warmup=True, unconstrained=True,
        **QUIET,
    )  # fmt: skip
    return model, tree


@pytest.mark.compiled
def test_posterior_is_the_known_one(drawn):
    arviz = pytest.importorskip("arviz")
    _, tree = drawn
    posterior = tree["posterior"].to_dataset()
    # what does not vary has no such statistics
    table = arviz.summary(tree, var_names="~twice_y", round_to="none")
    for at, country in enumerate(COUNTRY.coords):
        row = table.loc[f"theta[{country}]"]
        assert abs(row["mean"] - POSTERIOR_MEAN[at]) < 4.5 * row["mcse_mean"]
        assert abs(row["sd"] - POSTERIOR_SD[at]) < 4.5 * row["mcse_sd"]
        assert row["r_hat"] < 1.02
    assert abs(table.loc["rate", "mean"] - 1.5) < 4.5 * table.loc["rate", "mcse_mean"]
    assert abs(table.loc["rate", "sd"] - np.sqrt(3) / 2) < 5 * table.loc["rate", "mcse_sd"]
    assert (posterior["rate"] > 0).all()
    assert posterior["rate"].std("draw").min() > 0.1


@pytest.mark.compiled
def test_dims_labels_and_groups(drawn):
    model, tree = drawn
    assert set(tree.children) == {
        "posterior", "sample_stats", "unconstrained_posterior",
        "warmup_posterior", "warmup_sample_stats", "warmup_unconstrained_posterior",
    }  # fmt: skip
    posterior = tree["posterior"].to_dataset()
    assert list(posterior) == ["theta", "rate", "scaled", "total", "twice_y"]
    assert posterior["theta"].dims == ("chain", "draw", "country")
    assert posterior["theta"].coords["country"].values.tolist() == ["Italy", "Kenya", "USA"]
    assert dict(posterior.sizes) == {"chain": 4, "draw": 1000, "country": 3}
    assert posterior.coords["draw"].values.tolist() == list(range(1000))
    np.testing.assert_allclose(posterior["scaled"], posterior["theta"] * posterior["rate"])
    np.testing.assert_allclose(posterior["total"], posterior["theta"].sum("country"))
    # what depends on no parameter is repeated over the draws
    assert posterior["twice_y"].dims == ("chain", "draw", "country")
    assert (posterior["twice_y"] == 2 * xr.DataArray(Y, dims="country")).all()
    assert tree["warmup_posterior"].sizes["draw"] == 400
    stats = tree["sample_stats"].to_dataset()
    assert stats["diverging"].dims == ("chain", "draw")
    unconstrained = tree["unconstrained_posterior"].to_dataset()
    assert list(unconstrained) == [parameter.name for parameter in model.parameters]
    assert unconstrained["theta"].coords["country"].values.tolist() == ["Italy", "Kenya", "USA"]
    np.testing.assert_array_equal(unconstrained["theta"], posterior["theta"])
    np.testing.assert_allclose(unconstrained["rate"], np.log(posterior["rate"]))
    known = {"inference_library", "inference_library_version", "sampling_time", "seed"}
    assert known <= set(posterior.attrs)
    assert posterior.attrs["seed"] == 7


@pytest.mark.compiled
def test_the_log_density_of_draws_is_the_samplers(drawn):
    model, tree = drawn
    vectors = model.unconstrain(tree)
    stats = tree["sample_stats"]
    for chain, draw in [(0, 0), (1, 10), (3, 999)]:
        value = model.logp(vectors[chain, draw])
        np.testing.assert_allclose(stats["lp"].values[chain, draw], value, rtol=1e-10)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_sampling_again_compiles_nothing_and_is_reproducible(drawn):
    model, _ = drawn
    before = model.stats["logp_and_grad"].copy()
    one = dt.sample(model, draws=20, tune=50, chains=2, **QUIET)
    two = dt.sample(model, draws=20, tune=50, chains=2, cores=1, **QUIET)
    xr.testing.assert_equal(one["posterior"].to_dataset(), two["posterior"].to_dataset())
    other = model.with_data(y=Y + 100.0)
    moved = dt.sample(other, draws=100, tune=200, chains=2, **QUIET)
    assert moved["posterior"]["theta"].sel(country="Kenya").mean() > 80
    assert model.stats["logp_and_grad"] == before


@pytest.mark.compiled
def test_nutpie_takes_the_model_itself():
    import nutpie

    theta = dt.tensor("theta", dims=[COUNTRY, PREDICTOR])
    share = dt.tensor("share", dims=COUNTRY)
    weights = dt.data(np.array([2.0, 3.0, 4.0]), dims=COUNTRY)
    logp = -0.5 * (theta**2).sum() + (weights * dt.log(share)).sum()
    model = dt.LogDensity(
        logp,
        {theta: dt.real, share: dt.supports.simplex},
        deterministics={"first": theta.isel(predictor=0), "shifted": share + weights},
    )
    tree = nutpie.sample(model.to_nutpie(), draws=300, tune=300, chains=2, **QUIET)
    posterior = tree["posterior"].to_dataset()
    assert posterior["share"].dims == ("chain", "draw", "country")
    assert posterior["theta"].dims == ("chain", "draw", "country", "predictor")
    assert posterior.coords["country"].values.tolist() == ["Italy", "Kenya", "USA"]
    np.testing.assert_allclose(posterior["share"].sum("country"), 1.0, rtol=1e-12)
    np.testing.assert_allclose(posterior["first"], posterior["theta"].isel(predictor=0))
    np.testing.assert_allclose(
        posterior["shifted"], posterior["share"] + xr.DataArray([2.0, 3.0, 4.0], dims="country")
    )
    # Dirichlet(3, 4, 5) has means 3/12, 4/12, 5/12 and standard deviations below 0.14
    error = 4.5 * 0.14 / np.sqrt(200)
    means = posterior["share"].mean(["chain", "draw"])
    assert (abs(means - np.array([3, 4, 5]) / 12) < error).all()


def test_sampling_by_the_interpreter():
    model, theta, _ = conjugate("python", deterministics=None)
    tree = dt.sample(model, draws=8, tune=20, chains=2, extra={"square": theta**2}, **QUIET)
    assert set(tree.children) == {"posterior", "sample_stats"}
    posterior = tree["posterior"].to_dataset()
    np.testing.assert_allclose(posterior["square"], posterior["theta"] ** 2)
    assert posterior["square"].coords["country"].values.tolist() == ["Italy", "Kenya", "USA"]
    nutpie = pytest.importorskip("nutpie")
    recording = model.with_deterministics({"square": theta**2})
    tree = nutpie.sample(recording.to_nutpie(), draws=4, tune=10, chains=1, **QUIET)
    posterior = tree["posterior"].to_dataset()
    assert list(posterior) == ["theta", "rate", "square"]
    np.testing.assert_allclose(posterior["square"], posterior["theta"] ** 2)


LABELS = {
    "numbers": [1, 2],
    "text": ["a", "b"],
    "dates": np.array(["2020-01-01", "2020-01-02"], dtype="M8[ns]"),
    "mixed": [1, "a"],
    "tuples": [("a", 1), ("b", 2)],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_all_kinds_and_products_reach_arviz(kind):
    import nutpie

    arviz = pytest.importorskip("arviz")
    k, j = dt.Dim("k", coords=LABELS[kind]), dt.Dim("j", coords=["u", "v"])
    x = dt.tensor("x", dims=[k, j])
    logp = -(x**2).sum()
    model = dt.LogDensity(logp, {x: dt.real}, "python", deterministics={"flat": x.ravel()})
    tree = dt.sample(model, draws=10, tune=10, chains=1, **QUIET)
    posterior = tree["posterior"].to_dataset()
    assert posterior.coords["k"].values.tolist() == k.coords.tolist()
    assert all(isinstance(label, str) for label in posterior.coords["j_k"].values)
    assert posterior.coords["j_k"].values[0].startswith("u,")
    np.testing.assert_array_equal(posterior["flat"][0, :, 3], posterior["x"][0, :, 1, 1])
    assert len(arviz.summary(tree, kind="stats")) == 8
    # nutpie knows numbers and text; labels of other kinds are text for it
    tree = nutpie.sample(model.to_nutpie(), draws=4, tune=10, chains=1, **QUIET)
    labels = tree["posterior"].coords["k"].values.tolist()
    assert labels == (k.coords.tolist() if kind in ("numbers", "text") else [*map(str, labels)])
    # and a point has all of them as they are
    assert model.constrain(np.zeros(4)).indexes["j_k"].nlevels == 2


def test_late_labels_reach_the_posterior():
    obs = dt.Dim("obs")
    z = dt.tensor("z", dims=obs)
    y = dt.data(xr.DataArray(Y, coords={"obs": ["p", "q", "r"]}), dims=obs)
    model = dt.LogDensity(-((y - z) ** 2).sum(), {z: dt.real}, backend="python")
    tree = dt.sample(model, draws=4, tune=10, chains=1, **QUIET)
    assert tree["posterior"]["z"].coords["obs"].values.tolist() == ["p", "q", "r"]
    assert tree["posterior"]["z"].dims == ("chain", "draw", "obs")


@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_chains_start_near_the_initial_point():
    model, *_ = conjugate("python")
    start = {"theta": np.array([50.0, 60.0, 70.0]), "rate": 1000.0}
    options = {"draws": 2, "tune": 1, "chains": 2, "maxdepth": 1, "unconstrained": True}
    for initial in (start, model.unconstrain(start)):
        tree = dt.sample(model, initial=initial, **options, **QUIET)
        found = tree["unconstrained_posterior"]
        assert (abs(found["theta"].values - [[[50.0, 60.0, 70.0]]]) < 12).all()
        assert (abs(found["rate"].values - np.log(1000.0)) < 12).all()
    with pytest.raises(dt.InputError, match=r"one vector of shape \(4,\), not \(3,\)"):
        dt.sample(model, initial=np.zeros(3), **QUIET)
    with pytest.raises(dt.InputError, match="'rate' is outside of its support"):
        dt.sample(model, initial={**start, "rate": -1.0}, **QUIET)


def test_what_sample_does_not_take():
    model, theta, _ = conjugate("python")
    with pytest.raises(dt.ArgumentError, match="sample takes a log density, not DimTensor"):
        dt.sample(theta)
    x = dt.tensor("x", dims=dt.Dim("draw", length=2))
    with pytest.raises(dt.DimError, match="the model has dims named 'draw', which are the dims of"):
        dt.sample(dt.LogDensity(-(x**2).sum(), {x: dt.real}, "python"))
    with pytest.raises(dt.OptionError, match="sample: tune=0 is below 1"):
        dt.sample(model, tune=0)
    with pytest.raises(dt.GraphError, match="deterministics have names of parameters: 'rate'"):
        dt.sample(model, extra={"rate": theta})


def test_a_density_that_is_not_finite_where_chains_start():
    x, y = dt.scalar("x"), dt.scalar("y")
    model = dt.LogDensity(dt.log(x - 50.0) - x - y**2, {x: dt.real, y: dt.real}, "python")
    cause = r"there: nan\n  what is not finite: log\(x - 50\) is nan\nhint: start elsewhere"
    with pytest.raises(dt.CheckError, match=rf"log density is not finite around(.|\n)*{cause}"):
        dt.sample(model, draws=2, tune=2, chains=1, **QUIET)
    tree = dt.sample(model, draws=2, tune=2, chains=1, initial={"x": 60.0, "y": 0.0}, **QUIET)
    assert tree["posterior"]["x"].min() > 50


@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_chains_start_farther_away_where_nothing_near_is_finite():
    """As those of Stan, which are at most 2 away in every element."""
    x = dt.scalar("x")
    model = dt.LogDensity(dt.where(abs(x) > 1.2, -(x**2), np.nan), {x: dt.real}, "python")
    tree = dt.sample(model, draws=4, tune=4, chains=3, **QUIET)
    assert (abs(tree["posterior"]["x"]) > 1.2).all()


def test_points_where_chains_start():
    tried = []

    def few(point):
        """Every fourth of the points that are farther away."""
        tried.append(np.abs(point).max())
        return 0.0 if len(tried) % 4 == 0 and tried[-1] > 1.0 else -np.inf, point

    points = starting_points(np.zeros(5), few)
    for seed in range(20):
        assert 1.0 < np.abs(points(seed)).max() <= 2.0
    assert np.mean(np.array(tried) <= 1.0) > 0.9
    near = starting_points(np.full(5, 3.0), lambda point: (0.0, point))
    assert all(np.abs(near(seed) - 3.0).max() <= 1.0 for seed in range(20))
    np.testing.assert_array_equal(near(7), near(7))


def test_points_are_tried_once_where_none_is_finite():
    tried = []
    points = starting_points(np.zeros(2), lambda point: (0.0, [np.nan, tried.append(point) or 1.0]))
    for seed in range(5):
        points(seed)
    assert len(tried) == 200


@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_a_start_that_is_finite_itself_is_not_what_is_shown():
    """The chains start around zero, where the density is finite at zero alone."""
    x = dt.tensor("x", dims=COUNTRY)
    logp = dt.where(x.sel(country="USA") == 0, 0.0, np.nan) - (x**2).sum()
    model = dt.LogDensity(logp, {x: dt.real}, "python")
    assert np.isfinite(model.logp(np.zeros(3)))
    with pytest.raises(dt.CheckError, match=r"density there: nan\n  what is not finite: where\("):
        dt.sample(model, draws=2, tune=2, chains=1, **QUIET)


def test_a_gradient_that_is_not_finite_names_its_elements():
    x = dt.tensor("x", dims=COUNTRY)
    steep = 1e200 * dt.sin(1e200 * x.sel(country="Kenya"))  # with a slope of 1e400
    model = dt.LogDensity(steep - (x**2).sum(), {x: dt.real}, "python")
    message = r"the gradient of the log density is not finite(.|\n)*there: 'x\[Kenya\]'"
    with pytest.raises(dt.CheckError, match=message):
        dt.sample(model, draws=2, tune=2, chains=1, **QUIET)


def test_missing_data_are_named_before_anything_is_compiled(monkeypatch):
    house = dt.Dim("house", coords=["h1", "h2", "h3", "h4"])
    level = dt.data(np.array([1.0, 2.0, np.nan, np.nan]), dims=house, name="level")
    mu = dt.scalar("mu")
    model = dt.LogDensity({"level": -((level - mu) ** 2)}, {mu: dt.real})
    monkeypatch.setattr("dimtensor.compile.code.compile_positional", _only_the_interpreter)
    place = r"data 'level': nan at house='h3' \(2 of 4 elements\)\nhint: leave missing data out"
    with pytest.raises(dt.CheckError, match=rf"not finite where the chains start\n  {place}"):
        dt.sample(model, draws=2, tune=2, chains=1, **QUIET)
    late = dt.data(np.array([[1.0], [np.inf]]), dims=[dt.Dim("row"), dt.Dim("one", length=1)])
    model = dt.LogDensity({"level": -((late - mu) ** 2)}, {mu: dt.real})
    place = r"data of dims {one, row}: inf at one=0, row=1 \(1 of 2 elements\)"
    with pytest.raises(dt.CheckError, match=place):
        dt.sample(model, draws=2, tune=2, chains=1, **QUIET)


def _only_the_interpreter(backend, *arguments):
    from dimtensor.backends import compile_positional

    assert backend == "python"
    return compile_positional(backend, *arguments)


def test_missing_data_that_are_passed_over_are_no_matter():
    level = dt.data(np.array([1.0, 2.0, np.nan]), dims=dt.Dim("house"))
    mu = dt.scalar("mu")
    term = -((dt.where(dt.isnan(level), mu, level) - mu) ** 2) - mu**2
    model = dt.LogDensity({"level": term}, {mu: dt.real}, "python")
    tree = dt.sample(model, draws=4, tune=20, chains=1, **QUIET)
    assert np.isfinite(tree["posterior"]["mu"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sead": 1},
            r"no option 'sead' \(did you mean 'seed'\?\)\n  options: draws, sampler",
        ),
        ({"random_seed": 1}, r"no option 'random_seed' \(did you mean 'seed'\?\)"),
        ({"max_depth": 9}, r"no option 'max_depth' \(did you mean 'maxdepth'\?\)"),
        ({"nonsense_of_mine": 1}, r"no option 'nonsense_of_mine'\n"),
        ({"target_accept": "high"}, "target_accept is between 0 and 1, not 'high'"),
        ({"adaptation": "dig"}, r"no adaptation 'dig' \(did you mean 'diag'\?\)"),
        ({"blocking": False}, r"does not take 'blocking': .*to_nutpie\(\), blocking=False"),
        ({"draws": 2.5}, "draws is an integer, not 2.5"),
        ({"chains": "four"}, "chains is an integer, not 'four'"),
        ({"seed": "a"}, "seed is an integer, not 'a'"),
        ({"sampler": "blakjax"}, r"no sampler 'blakjax' \(did you mean 'blackjax'\?\)"),
    ],
)
def test_options_are_checked_before_anything_is_compiled(options, message):
    x = dt.scalar("x")
    model = dt.LogDensity(-(x**2), {x: dt.real})
    known = "no option" not in message and "blocking" not in message
    with pytest.raises(dt.OptionError if known else dt.ArgumentError, match=message):
        dt.sample(model, **{"progress_bar": False, **options})
    assert not any("compile" in steps for steps in model.stats.values())


def test_options_of_nutpie_are_passed_on():
    model, *_ = conjugate("python")
    options = {"maxdepth": 2, "target_accept": 0.9, "adaptation": "low_rank", **QUIET}
    tree = dt.sample(model, draws=4, tune=20, chains=1, mass_matrix_gamma=1e-4, **options)
    assert tree["sample_stats"]["tree_depth"].max() <= 2


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("nutpie", "sampling", lambda model: dt.sample(model)),
        ("nutpie", "sampling", lambda model: model.to_nutpie()),
        ("jax", "jax", lambda model: model.to_blackjax()),
        ("blackjax", "blackjax", lambda model: dt.sample(model, sampler="blackjax")),
        ("numpyro", "numpyro", lambda model: dt.sample(model, sampler="numpyro")),
    ],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, module, extra, use):
    model, *_ = conjugate("python")
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"needs {module}, which is not installed\n.*pip install 'dimtensor\[{extra}\]'"
    with pytest.raises(dt.MissingExtraError, match=message):
        use(model)
    with pytest.raises(ImportError, match="is not installed"):
        use(model)


NAMES = {"logp": "lp", "depth": "tree_depth", "maxdepth_reached": "reached_max_treedepth",
         "mean_tree_accept": "acceptance_rate"}  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize(
    "options",
    [{}, {"store_divergences": True}, {"store_gradient": True, "store_mass_matrix": True}],
)
def test_draws_and_statistics_are_those_that_nutpie_reads(options):
    """Tables of nutpie are read here; it reads the same ones where it samples by itself."""
    import nutpie

    # the funnel, which diverges
    width, x = dt.scalar("width"), dt.tensor("x", dims=COUNTRY)
    logp = -((width / 3) ** 2) / 2 - 0.5 * (x**2).sum() * dt.exp(-width) - 1.5 * width
    model = dt.LogDensity(logp, {width: dt.real, x: dt.real})
    chosen = {"draws": 40, "tune": 30, "chains": 2, "save_warmup": True, **QUIET, **options}
    expected = nutpie.sample(model.to_nutpie(), **chosen)
    found = dt.sample(model, report=False, **chosen)
    for prefix in ("", "warmup_"):
        draws = expected[f"{prefix}posterior"].to_dataset()
        for name, values in draws.items():
            np.testing.assert_array_equal(found[f"{prefix}posterior"][name], values)
        wanted = expected[f"{prefix}sample_stats"].to_dataset()
        wanted = wanted.rename({old: new for old, new in NAMES.items() if old in wanted})
        own = found[f"{prefix}sample_stats"].to_dataset()
        assert set(own.data_vars) == set(wanted.data_vars)
        for name, values in wanted.items():
            assert own[name].variable.equals(values.variable), name
    assert found["sample_stats"].attrs["inference_library_version"] == nutpie.__version__
    settings = expected["sample_stats"].attrs["inference_library_settings"]
    assert found["sample_stats"].attrs["inference_library_settings"] == settings


@pytest.mark.slow
def test_loops_that_listen_for_signals_do_not_keep_the_sampler_waiting():
    """A loop of many rounds takes Python's lock at times, and four threads do."""
    x = dt.scalar("x")
    state = {"round": dt.data(0.0), "at": 2.0 * x}
    state = dt.while_loop(
        lambda s: s["round"] < 9000.0,
        lambda s: {"round": s["round"] + 1.0, "at": 0.99 * s["at"] + 0.01 * x},
        state,
        max_steps=9000,
    )
    model = dt.LogDensity({"x": -0.5 * state["at"] ** 2}, {x: dt.real})  # it ends at x
    options = {"tune": 200, "chains": 4, "report": False, **QUIET}
    post = dt.sample(model, draws=300, **options)
    drawn = post["posterior"]["x"].values
    assert abs(drawn.mean()) < 0.25
    assert 0.8 < drawn.std() < 1.2
