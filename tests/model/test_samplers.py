"""Samplers by name: the same posterior, groups, names and labels from each."""

from __future__ import annotations

import importlib
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.interop.jax_blocks import Programs
from dimtensor.interop.jax_samplers import pure_density, starts_of
from dimtensor.model.inference.runs import STATISTICS, Draws, Run, statistics_of
from dimtensor.model.inference.samplers import register, unregister

K = dt.Dim("k", coords=["a", "b", "c"])
HOUSE = dt.Dim("house")
# means with a normal prior of scale 2, and shares of counts with a Dirichlet prior: both conjugate
Y, SCALE = np.array([1.0, -2.0, 3.0]), np.array([1.0, 0.5, 2.0])
SD = 1 / np.sqrt(1 / 4 + 1 / SCALE**2)
MEAN = SD**2 * Y / SCALE**2
COUNTS = np.array([3, 4, 5])


def conjugate(backend="numba"):
    theta = dt.rv("theta", dist.Normal(0.0, 2.0), dims=K)
    share = dt.rv("share", dist.Dirichlet(dt.ones(K), dim=K))
    y = dt.rv("y", dist.Normal(dt.named("mean", theta + 0.0), dt.data(SCALE, dims=K)))
    counts = dt.rv("counts", dist.Multinomial(12, share, dim=K))
    return dt.Model(y, counts, backend=backend).observe({y: Y, counts: COUNTS})


def sampled(sampler, **options):
    pytest.importorskip(sampler)
    fit = conjugate().noncentered("theta")
    return fit, fit.sample(
        1000, tune=500, chains=2, seed=3, sampler=sampler, progress_bar=False, report=False,
        save_warmup=True, **options,
    )  # fmt: skip


GROUPS = {
    "posterior", "sample_stats", "unconstrained_posterior", "warmup_posterior",
    "warmup_sample_stats", "warmup_unconstrained_posterior", "observed_data",
}  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize(
    "sampler",
    [
        "nutpie",
        pytest.param("blackjax", marks=pytest.mark.slow),
        pytest.param("numpyro", marks=pytest.mark.slow),
    ],
)
def test_every_sampler_gives_the_known_posterior_under_the_same_names(sampler):
    fit, post = sampled(sampler)
    assert set(post.children) == GROUPS
    draws = post["posterior"].to_dataset()
    assert list(draws) == ["theta", "share", "mean"]
    error = 4.5 / np.sqrt(400)
    np.testing.assert_allclose(draws["theta"].mean(["chain", "draw"]), MEAN, atol=error)
    np.testing.assert_allclose(draws["theta"].std(["chain", "draw"]), SD, rtol=0.2)
    means = draws["share"].mean(["chain", "draw"])
    np.testing.assert_allclose(means, (COUNTS + 1) / 15, atol=4.5 * 0.13 / np.sqrt(400))
    np.testing.assert_allclose(draws["share"].sum("k"), 1.0, rtol=1e-12)
    assert list(draws["theta"]["k"].values) == ["a", "b", "c"]
    assert post["warmup_posterior"].sizes["draw"] == 500
    _check_statistics(fit, post)
    attributes = post["sample_stats"].attrs
    assert attributes["inference_library"] == sampler
    assert attributes["inference_library_version"]
    assert attributes["seed"] == 3
    assert attributes["sampling_time"] > 0
    assert attributes["modeling_interface"] == "dimtensor"


def _check_statistics(fit, post):
    """Statistics fit the draws: the log density, the tree, the energy."""
    statistics = post["sample_stats"].to_dataset()
    assert list(statistics)[: len(STATISTICS)] == list(STATISTICS)
    kinds = {name: statistics[name].dtype.kind for name in STATISTICS}
    whole, logical = ("tree_depth", "n_steps"), ("reached_max_treedepth", "diverging")
    expected = {name: "i" if name in whole else "b" if name in logical else "f" for name in kinds}
    assert kinds == expected
    parts = post["unconstrained_posterior"].to_dataset()
    assert list(parts) == ["theta_raw", "share"]
    assert parts["share"].dims == ("chain", "draw", "k_free")
    assert parts["theta_raw"].dims == ("chain", "draw", "k")
    vectors = np.concatenate([x.values for x in parts.values()], axis=2)
    density = fit.log_density()
    for chain, draw in [(0, 0), (1, 999)]:
        assert statistics["lp"].values[chain, draw] == pytest.approx(
            density.logp(vectors[chain, draw])
        )
    # the energy is -lp and what is kinetic (nutpie's but for a constant): half of a chi-squared
    kinetic = (statistics["energy"] + statistics["lp"]).var("draw") / (density.size / 2)
    assert ((kinetic > 0.4) & (kinetic < 2.5)).all()
    # nutpie counts the steps of a doubling that it gives up, too
    assert (statistics["n_steps"] < 2 ** (statistics["tree_depth"] + 1)).all()
    assert ((statistics["acceptance_rate"] >= 0) & (statistics["acceptance_rate"] <= 1)).all()
    assert not statistics["reached_max_treedepth"].any()
    np.testing.assert_allclose(2 * parts["theta_raw"], post["posterior"]["theta"])


def test_a_sampler_can_be_registered(capsys):
    """A sampler of somebody else's gets a log density, a start, settings and its own options."""
    pytest.importorskip("arviz")

    class Importance:
        keeps_warmup = False

        def prepare(self, options, known):
            assert {"draws", "tune", "seed"} <= set(known)
            spread = options["spread"]

            def run(density, start, settings):
                rng = np.random.default_rng(settings.seed)
                shape = (settings.chains, settings.draws)
                vectors = start + spread * rng.normal(size=(*shape, density.size))
                plain = dict.fromkeys(STATISTICS, np.zeros(shape))
                plain["diverging"] = np.zeros(shape, dtype=bool)
                return Run(Draws(vectors, statistics_of(plain)), None, 0.5, {"library": "toy"})

            return run

    x = dt.rv("x", dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python").observe(y=1.0)
    try:
        register("importance", Importance())
        post = fit.sample(50, sampler="importance", spread=2.0, seed=1)
    finally:
        unregister("importance")
    expected = 2.0 * np.random.default_rng(1).normal(size=(4, 50, 1))[..., 0]
    np.testing.assert_array_equal(post["posterior"]["x"], expected)
    assert post["sample_stats"].attrs["library"] == "toy"
    assert capsys.readouterr().out.startswith("sampled: 4 chains × 50 draws in 0.5 s, no diver")
    with pytest.raises(dt.OptionError, match=r"no sampler 'importance'(.|\n)*nutpie"):
        fit.sample(50, sampler="importance", seed=1)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("sampler", ["blackjax", "numpyro"])
def test_samplers_on_jax_compile_once_for_changed_data(sampler, monkeypatch):
    pytest.importorskip(sampler)
    bridge = importlib.import_module(f"dimtensor.interop.{sampler}").SAMPLER

    x = dt.data(np.zeros(3), dims=K, name="x")
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(theta + x, 1.0))
    fit = dt.Model(y).observe({y: np.zeros(3)})
    options = {"tune": 300, "chains": 2, "seed": 1, "sampler": sampler, "report": False}
    made = []
    original = bridge.programs

    def counted(*arguments):
        def traced(name, program, *arguments):
            made.append(name)
            return program(*arguments)

        programs = original(*arguments)._asdict().items()
        return Programs(**{name: partial(traced, name, program) for name, program in programs})

    monkeypatch.setattr(bridge, "programs", counted)
    density = fit.log_density()
    one = dt.sample(density, 1000, **options)
    two = dt.sample(density.with_data(x=np.full(3, 4.0)), 1200, **options)
    assert made == ["begin", "block"]  # neither data nor numbers of draws are part of programs
    # the mean of theta is -3/4 of the shift
    np.testing.assert_allclose(one["posterior"]["theta"].mean(), 0.0, atol=0.15)
    np.testing.assert_allclose(two["posterior"]["theta"].mean(), -3.0, atol=0.15)
    again = dt.sample(density, 1000, **options)
    xr.testing.assert_identical(one["posterior"]["theta"], again["posterior"]["theta"])


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("progress_bar", [True, False])
@pytest.mark.parametrize("sampler", ["blackjax", "numpyro"])
def test_samplers_on_jax_show_progress_and_can_be_interrupted(
    sampler, progress_bar, capsys, monkeypatch
):
    pytest.importorskip(sampler)
    from dimtensor.backends import progress
    from dimtensor.interop import watching

    x = dt.scalar("x")
    density = dt.LogDensity(-0.5 * x**2, {x: dt.real}, "python")
    options = {"tune": 30, "chains": 2, "seed": 1, "sampler": sampler, "report": False}
    options["progress_bar"] = progress_bar
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")
    with monkeypatch.context() as patch:
        patch.setattr(progress, "PROGRESS_PATIENCE", 0.0)
        shown = dt.sample(density, 20, **options)
    told = capsys.readouterr().err
    assert ("dimtensor: sampling 2 chains: 0 of 50" in told) == progress_bar
    assert ("sampling" in told) == progress_bar

    def interrupt(steps):
        while not any(watch.steps > steps for watch in list(watching._watched.values())):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    for steps in (0, 100):  # while it tunes, and while it draws
        threading.Thread(target=interrupt, args=(steps,)).start()
        with pytest.raises(KeyboardInterrupt) as interrupted:
            dt.sample(density, 10**6, **options | ({} if steps else {"tune": 10**5}))
        assert not watching._watched  # the work has ended
        assert "Traceback" not in capsys.readouterr().err
        assert hasattr(interrupted.value, "draws") == (steps > 0)
    draws = interrupted.value.draws
    assert draws["posterior"].sizes["chain"] == 2
    assert 20 <= draws["posterior"].sizes["draw"] < 10**6
    assert draws["posterior"].sizes == draws["sample_stats"].sizes
    first = draws["posterior"]["x"].isel(draw=slice(20))
    np.testing.assert_array_equal(first, shown["posterior"]["x"])  # those of any run
    again = dt.sample(density, 20, **options)
    xr.testing.assert_identical(shown["posterior"]["x"], again["posterior"]["x"])


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
@pytest.mark.parametrize("sampler", ["blackjax", "numpyro"])
def test_blocks_on_jax_draw_what_one_scan_draws(sampler, monkeypatch):
    pytest.importorskip(sampler)
    from dimtensor.interop import jax_blocks

    x = dt.tensor("x", dims=K)
    density = dt.LogDensity(-0.5 * (x**2).sum(), {x: dt.real}, "python")
    options = {"tune": 300, "chains": 2, "seed": 1, "sampler": sampler, "save_warmup": True}
    options |= {"report": False, "progress_bar": False}
    found = []
    for seconds in (1e-9, 1e9):  # blocks of one draw, and of as many as possible
        monkeypatch.setattr(jax_blocks, "JAX_BLOCK_SECONDS", seconds)
        found.append(dt.sample(density, 250, **options))
    for group in ("posterior", "sample_stats", "warmup_posterior"):
        one, other = (post[group].to_dataset() for post in found)
        xr.testing.assert_equal(one, other)
    assert found[0]["warmup_posterior"].sizes["draw"] == 300
    assert len(np.unique(found[0]["posterior"]["x"])) > 1000  # no block is repeated


@pytest.mark.compiled
@pytest.mark.parametrize("sampler", ["blackjax", "numpyro"])
def test_a_density_that_is_finite_nowhere_on_jax(sampler):
    pytest.importorskip(sampler)
    x = dt.scalar("x")
    model = dt.LogDensity(dt.log(x - 50.0), {x: dt.real}, "python")
    with pytest.raises(
        dt.CheckError, match=r"not finite around the point(.|\n)*log\(x - 50\) is nan"
    ):
        dt.sample(model, 2, tune=2, chains=2, sampler=sampler, progress_bar=False)


@pytest.mark.compiled
def test_chains_start_farther_away_on_jax():
    """Up to 2 away, where nothing nearer is finite."""
    jax = pytest.importorskip("jax")
    x = dt.tensor("x", dims=K)
    finite = abs(x).max() > 1.2
    model = dt.LogDensity(dt.where(finite, -(x**2).sum(), np.nan), {x: dt.real}, "python")
    with jax.enable_x64(True):
        starts = starts_of(model, pure_density(model), np.zeros(3), chains=20, seed=1)
    far = abs(starts).max(axis=1)
    assert starts.shape == (20, 3)
    assert ((far > 1.2) & (far <= 2.0)).all()
    assert len(np.unique(far)) == 20


@pytest.mark.parametrize("sampler", ["blackjax", "numpyro"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_accepts": 0.9}, r"no option 'target_accepts' \(did you mean 'target_accept'\?\)"),
        ({"target_accept": 1.5}, r"target_accept is between 0 and 1, not 1\.5"),
        ({"maxdepth": 0}, "maxdepth=0 is below 1"),
        ({"dense_mass": "yes"}, "dense_mass is True or False, not 'yes'"),
        ({"cores": 2}, r"cores are of nutpie; \w+ runs all chains as one program"),
    ],
)
def test_options_on_jax_are_checked(sampler, options, message):
    pytest.importorskip(sampler)
    x = dt.scalar("x")
    density = dt.LogDensity(-(x**2), {x: dt.real}, "python")
    error = dt.ArgumentError if "no option" in message else dt.OptionError
    with pytest.raises(error, match=message):
        dt.sample(density, sampler=sampler, **options)
