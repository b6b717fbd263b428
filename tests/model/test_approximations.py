"""Modes and approximations of posteriors, against closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import optimize, stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.sliced import cuts
from dimtensor.model.inference.approximate import find_mode

K = dt.Dim("k", coords=["a", "b", "c"])
Y, SCALE = np.array([1.0, -2.0, 3.0]), np.array([1.0, 0.5, 2.0])


def normal_model(backend="python"):
    """Three means with one mean of their own: all of it normal."""
    mu = dt.rv("mu", dist.Normal(0.0, 3.0))
    theta = dt.rv("theta", dist.Normal(mu, 2.0), dims=K)
    y = dt.rv("y", dist.Normal(dt.named("same", theta * 1.0), dt.data(SCALE, dims=K)))
    return dt.Model(y, backend=backend).observe({y: Y})


def normal_posterior():
    """Mean and covariance of mu, theta given y, and the log density of y."""
    prior = np.array([[9.0, 9, 9, 9], [9, 13, 9, 9], [9, 9, 13, 9], [9, 9, 9, 13]])
    of_y = prior[1:, 1:] + np.diag(SCALE**2)
    gain = prior[:, 1:] @ np.linalg.inv(of_y)
    evidence = stats.multivariate_normal(np.zeros(3), of_y).logpdf(Y)
    return gain @ Y, prior - gain @ prior[1:], evidence


def vectors_of(tree):
    posterior = tree["posterior"].to_dataset()
    return np.column_stack([posterior["mu"].values[0], posterior["theta"].values[0]])


def test_the_mode_of_a_normal_posterior_is_its_mean():
    fit = normal_model()
    mean, _, _ = normal_posterior()
    tree = fit.mode()
    assert {"posterior", "sample_stats", "observed_data"} <= set(tree.children)
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "k")
    mode = tree["posterior"].to_dataset().squeeze(["chain", "draw"])
    np.testing.assert_allclose(mode["mu"], mean[0], atol=1e-6)
    np.testing.assert_allclose(mode["theta"], mean[1:], atol=1e-6)
    np.testing.assert_allclose(mode["same"], mode["theta"])
    assert list(mode["theta"]["k"].values) == ["a", "b", "c"]
    assert tree["posterior"].attrs["converged"]
    terms = fit.logp({"mu": mode["mu"], "theta": mode["theta"]})
    total = sum(float(x.sum()) for x in terms.values())
    np.testing.assert_allclose(tree["sample_stats"]["lp"].item(), total)
    drawn = fit.predict(tree, seed=1)["posterior_predictive"]
    assert drawn.sizes == {"chain": 1, "draw": 1, "k": 3}
    # in another parametrization it is another mode, here the same: everything is normal
    raw = fit.noncentered("theta").mode()["posterior"]
    assert set(raw.data_vars) == {"mu", "theta", "same"}
    np.testing.assert_allclose(raw["theta"][0, 0], mean[1:], atol=1e-5)


def test_the_mode_is_that_of_the_variables_themselves():
    """Of a gamma distribution (a - 1) / b, and not a / b, the mode of the logarithm."""
    rate = dt.rv("rate", dist.Gamma(3.0, 2.0))
    y = dt.rv("y", dist.Poisson(rate))
    fit = dt.Model(y, backend="python").observe({y: 4})
    np.testing.assert_allclose(fit.mode()["posterior"]["rate"], 6.0 / 3.0, rtol=1e-6)
    np.testing.assert_allclose(
        fit.mode(initial={"rate": 40.0})["posterior"]["rate"], 2.0, rtol=1e-6
    )


def test_a_mode_is_no_saddle_of_factors_that_are_all_zero():
    # log density: -(a² + b²) / 2 - n (m - a b)² / 2, with a slope of zero at a = b = 0
    values = np.array([1.5, 2.0, 2.5, 2.0])
    a, b = dt.rv("a", dist.Normal(0, 1)), dt.rv("b", dist.Normal(0, 1))
    y = dt.rv("y", dist.Normal(a * b, 1), dims=dt.Dim("obs", length=4))
    fit = dt.Model(y, backend="python").observe({y: values})
    mode = fit.mode()["posterior"].to_dataset().squeeze(["chain", "draw"])
    size = np.sqrt(values.mean() - 1 / len(values))
    np.testing.assert_allclose(abs(mode["a"]), size, atol=1e-5)
    np.testing.assert_allclose(mode["a"], mode["b"], atol=1e-5)


def test_a_mode_is_no_saddle_of_means_that_could_be_exchanged():
    values = np.array([-3.2, -2.8, -3.0, 2.9, 3.1, 3.0])
    kind, obs = dt.Dim("kind", length=2), dt.Dim("obs", length=6)
    mu = dt.rv("mu", dist.Normal(0, 5), dims=kind)
    z = dt.rv("z", dist.Categorical(dt.data([0.5, 0.5], dims=kind), dim=kind), dims=obs)
    y = dt.rv("y", dist.Normal(mu.sel(kind=z), 1))
    fit = dt.Model(y, backend="python").marginalize(z).observe({y: values})
    mode = fit.mode()["posterior"].to_dataset().squeeze(["chain", "draw"])

    def minus_log_density(x):
        each = stats.norm.logpdf(values[:, None], x, 1)
        return -np.logaddexp(*each.T).sum() - stats.norm.logpdf(x, 0, 5).sum()

    best = optimize.minimize(minus_log_density, [-3.0, 3.0], tol=1e-10).x
    np.testing.assert_allclose(np.sort(mode["mu"]), best, atol=1e-4)


def test_a_density_without_a_mode_is_said_to_have_none():
    tau = dt.rv("tau", dist.HalfNormal(5.0))
    theta = dt.rv("theta", dist.Normal(0.0, tau), dims=K)
    y = dt.rv("y", dist.Normal(theta, 5.0))
    fit = dt.Model(y, backend="python").observe({y: Y})
    with pytest.warns(dt.ModelWarning, match=r"did not end at a maximum(.|\n)*with a slope: '"):
        mode = fit.mode()
    assert not mode["posterior"].attrs["converged"]
    with (
        pytest.warns(dt.ModelWarning, match="laplace: the search for the mode did not end at a"),
        pytest.raises(dt.CheckError, match=r"laplace: the search ended at no maximum(.|\n)*noncen"),
    ):
        fit.laplace()


def test_a_start_must_be_finite():
    x = dt.rv("x", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(dt.log(x - 5.0), 1.0))
    fit = dt.Model(y, backend="python").observe({y: 0.0})
    with pytest.raises(dt.CheckError, match="mode: the log density is not finite where the"):
        fit.mode()
    # steps over the edge are taken back; x + log(x - 5) / (x - 5) = 0 at the mode
    x = fit.mode(initial={"x": 8.0})["posterior"]["x"].item()
    np.testing.assert_allclose(x + np.log(x - 5) / (x - 5), 0.0, atol=1e-4)


@pytest.mark.parametrize("method", ["sample", "mode", "laplace", "pathfinder", "advi"])
def test_something_is_unknown(method):
    y = dt.rv("y", dist.Normal(0.0, 1.0), dims=dt.Dim("obs"))
    fit = dt.Model(y, backend="python").observe({y: np.zeros(3)})
    with pytest.raises(dt.GraphError, match=r"nothing is unknown(.|\n)*parameters: none"):
        getattr(fit, method)()


def test_laplace_is_exact_for_a_normal_posterior():
    mean, covariance, evidence = normal_posterior()
    tree = normal_model().laplace(5_000, seed=1)
    groups = {"posterior", "sample_stats", "unconstrained_posterior", "observed_data"}
    assert set(tree.children) == groups
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "k")
    vectors = vectors_of(tree)
    np.testing.assert_allclose(vectors.mean(axis=0), mean, atol=4.5 * np.sqrt(13 / 5_000))
    np.testing.assert_allclose(np.cov(vectors.T), covariance, atol=0.2)
    attributes = tree["posterior"].attrs
    np.testing.assert_allclose(attributes["log_evidence"], evidence, rtol=1e-6)
    assert attributes["inference_method"] == "laplace"
    assert attributes["seed"] == 1
    # the density of the approximation is that of the posterior
    statistics = tree["sample_stats"]
    expected = stats.multivariate_normal(mean, covariance).logpdf(vectors)
    np.testing.assert_allclose(statistics["log_q"][0], expected, rtol=1e-4)
    np.testing.assert_allclose(statistics["lp"][0] - evidence, expected, rtol=1e-4)
    few = [normal_model().laplace(50, seed=1)["posterior"]["mu"] for _ in range(2)]
    xr.testing.assert_identical(*few)


def test_laplace_is_made_where_samplers_move():
    """The logarithm of a gamma variable with shape 7 and rate 3: mode log(7/3), precision 7."""
    rate = dt.rv("rate", dist.Gamma(3.0, 2.0))
    y = dt.rv("y", dist.Poisson(rate))
    tree = dt.Model(y, backend="python").observe({y: 4}).laplace(2000, seed=1)
    logs = np.log(tree["posterior"]["rate"].values)
    np.testing.assert_allclose(logs.mean(), np.log(7 / 3), atol=4.5 / np.sqrt(7 * 2000))
    np.testing.assert_allclose(logs.std(), 7**-0.5, rtol=0.07)
    np.testing.assert_allclose(tree["unconstrained_posterior"]["rate"], logs)


def test_a_flat_direction_is_named():
    one, two = dt.rv("one", dist.Flat()), dt.rv("two", dist.Flat())
    other = dt.rv("other", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(one + two + other, 1.0))
    fit = dt.Model(y, backend="python").observe({y: 1.0})
    with pytest.raises(
        dt.CheckError, match=r"is flat along a direction(.|\n)*'(one|two)', '(one|two)'"
    ):
        fit.laplace()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"draws": 0}, "laplace: draws=0 is below 1"), ({"seed": 1.5}, "laplace: seed is an integer")],
)
def test_what_laplace_does_not_take(options, message):
    with pytest.raises(dt.OptionError, match=message):
        normal_model().laplace(**options)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("method", ["pathfinder", "full-rank advi", "mean-field advi"])
def test_approximations_of_blackjax(method):
    pytest.importorskip("blackjax")
    mean, covariance, evidence = normal_posterior()
    fit = normal_model("numba")
    if method == "pathfinder":
        tree = fit.pathfinder(4000, seed=1)
        np.testing.assert_allclose(tree["posterior"].attrs["elbo"], [evidence] * 4, atol=0.3)
    else:
        tree = fit.advi(4000, seed=1, steps=4000, full_rank=method.startswith("full"))
        elbo = tree["optimization"]["elbo"].values
        assert elbo.shape == (4000,)
        # a lower bound of the log evidence, which the full normal distribution attains
        bound = elbo[-500:].mean()
        assert bound < evidence + 0.02
        if method.startswith("full"):
            assert bound > evidence - 0.05
    vectors = vectors_of(tree)
    np.testing.assert_allclose(vectors.mean(axis=0), mean, atol=0.25)
    # independent elements have the conditional variances
    independent = np.diag(1 / np.diag(np.linalg.inv(covariance)))
    expected = independent if method.startswith("mean") else covariance
    np.testing.assert_allclose(np.cov(vectors.T), expected, atol=0.7)
    assert list(tree["posterior"]["theta"]["k"].values) == ["a", "b", "c"]
    assert tree["posterior"].attrs["inference_method"] == method
    assert tree["posterior"].attrs["inference_library"] == "blackjax"
    density = fit.log_density()
    for at in (0, 3999):
        value = density.logp(vectors[at])
        np.testing.assert_allclose(tree["sample_stats"]["lp"].values[0, at], value)


@pytest.mark.slow
def test_variational_inference_in_slices(monkeypatch):
    pytest.importorskip("blackjax")
    monkeypatch.setattr(cuts, "SLICE_WORK", 20)
    monkeypatch.setattr(cuts, "SLICE_RESULTS", 1)
    obs, mu, y = dt.Dim("obs"), dt.rv("mu", dist.Normal(0.0, 1.0)), np.linspace(0.0, 2.0, 200)
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=obs), backend="python")
    fit, read = model.observe(y=y), {"at": 0}

    def blocks():
        read["at"] += 1
        if read["at"] == 5:
            raise OSError("the disk is gone")
        yield from (y[:128], y[128:])

    whole = fit.advi(5, steps=8, seed=1)["posterior"]["mu"].values
    streamed = model.observe(y=dt.stream(y, obs, chunks=128))
    found = [streamed.advi(5, steps=8, seed=1, threads=k)["posterior"]["mu"] for k in (1, 2)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], whole, rtol=1e-6)
    path = fit.pathfinder(50, paths=1, maxiter=5, seed=1, threads=2)["posterior"]["mu"]
    assert float(path.mean()) == pytest.approx(y.sum() / 201, abs=0.06)
    broken = model.observe(y=dt.stream(blocks, obs, chunks=128, dtype="float64"))
    with pytest.raises(dt.ComputationError, match="the pass is given up") as caught:
        broken.advi(5, steps=8, seed=1, threads=2)
    assert isinstance(caught.value.__cause__, dt.StreamError)


def test_what_advi_does_not_take():
    fit = normal_model()
    with pytest.raises(dt.OptionError, match="advi: threads=0 is below 1"):
        fit.advi(threads=0)
    with pytest.raises(dt.OptionError, match="pathfinder: threads=2 are of this process"):
        fit.pathfinder(threads=2, client="tcp://localhost")
    with pytest.raises(dt.OptionError, match="advi: learning_rate is above 0, not 0"):
        fit.advi(learning_rate=0)
    with pytest.raises(dt.OptionError, match="pathfinder: paths=0 is below 1"):
        fit.pathfinder(paths=0)


@pytest.mark.parametrize("how", ["sample", "laplace", "pathfinder", "advi"])
def test_nothing_observed_is_refused_unless_asked_for(how):
    mu = dt.rv("mu", dist.Normal(3.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python")
    text = rf"{how}: nothing is observed(.|\n)*did you mean fit = model\.observe\({{y: \.\.\.}}\)"
    with pytest.raises(dt.GraphError, match=text):
        getattr(model, how)()
    model.observe(y=1.0)
    with pytest.raises(dt.GraphError, match="prior=True"):
        getattr(model, how)()


def test_the_prior_is_approximated_if_asked_for():
    mu = dt.rv("mu", dist.Normal(3.0, 0.5))
    found = dt.Model(mu, backend="python").laplace(4000, seed=1, prior=True)["posterior"]["mu"]
    assert abs(float(found.mean()) - 3.0) < 4.5 * 0.5 / np.sqrt(4000)
    assert abs(float(found.std()) - 0.5) < 0.03


@pytest.mark.parametrize("height", [1e5, 1e6])
def test_a_maximum_is_told_by_the_curvature_in_all_directions(height: float):
    """A search that large values end has seen few directions; the gain of a step is exact here."""
    k = dt.Dim("k", length=60)
    curvature = np.logspace(0, 3, 60)
    c, x = dt.data(curvature, dims=k), dt.tensor("x", dims=k)
    logp = {"x": -0.5 * c * (x - 1.0) ** 2, "steep": -height * dt.cosh(x.isel(k=0) - 1.0)}
    density = dt.LogDensity(logp, {x: dt.real}, backend="python")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.ModelWarning)
        found = find_mode(density, np.random.default_rng(1).normal(size=60))
    curvature[0] += height
    assert found.converged == ((curvature * (found.vector - 1) ** 2).sum() < 1e-5)
