"""Simulation-based calibration and cross-validation: right numbers, one compilation, processes."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.code import compilations

pytest.importorskip("nutpie")
HOUSE = dt.Dim("house")
K = dt.Dim("k", coords=["a", "b", "c"])
SMALL = {"tune": 100, "ranks": 19, "thin": 3}


def normal_mean(scale=1.0, backend="numba"):
    """A normal mean of 3 observations with standard deviation 1, and as much of the prior."""
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=K)
    y = dt.rv("y", dist.Normal(mu, scale))
    return dt.Model(y, backend=backend)


# -- calibration -----------------------------------------------------------------------------------


def test_ranks_are_those_of_the_truth_among_draws(monkeypatch):
    """With a sampler whose draws are known: ranks are counted element by element."""
    from dimtensor.model.model import Model

    def sample(self, draws, **options):
        values = np.tile(np.arange(draws, dtype=float)[:, None], (1, 3))
        coords = {"k": ["a", "b", "c"]}
        post = xr.Dataset({"mu": (("chain", "draw", "k"), values[None])}, coords)
        told = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((1, draws), dtype=bool))})
        return xr.DataTree.from_dict({"posterior": post, "sample_stats": told})

    monkeypatch.setattr(Model, "sample", sample)
    mu = dt.rv("mu", dist.Normal(0.0, 40.0), dims=K)
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python")
    found = dt.calibrate(model, 50, seed=1, ranks=9, thin=10, processes=1)
    # kept draws are 9, 19, …, 89
    expected = np.clip(np.floor((found.truth["mu"].values + 1) / 10), 0, 9)
    assert found.ranks["mu"].dims == ("simulation", "k")
    np.testing.assert_array_equal(found.ranks["mu"], expected)
    assert found.highest == 9


@pytest.mark.compiled
@pytest.mark.parametrize("posteriors", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_a_right_model_is_calibrated_and_compiled_once(posteriors):
    before = compilations["native"]
    found = dt.calibrate(normal_mean(), posteriors, seed=1, processes=1, **SMALL)
    assert compilations["native"] - before == found.compilations == 1
    assert (found.p_values["mu"] > 0.001).all()
    assert found.ranks["mu"].max() <= 19
    assert list(found.ranks["k"].values) == ["a", "b", "c"]
    text = repr(found)
    assert text.startswith(f"<Calibration of {posteriors} posteriors, ranks 0 to 19, ")
    assert "mu  3 elements" in text


@pytest.mark.compiled
def test_normal_approximations_tell_a_posterior_that_is_too_narrow():
    """The posterior is normal, so that the approximation is exact."""
    wide, narrow = normal_mean(3.0), normal_mean(1.0)
    right = dt.calibrate(narrow, 40, seed=1, ranks=19, processes=1, method="laplace")
    assert right.highest == 19
    assert (right.p_values["mu"] > 0.001).all()
    wide.observe = narrow.observe
    wrong = dt.calibrate(wide, 40, seed=1, ranks=19, processes=1, method="laplace")
    assert wrong.p_values["mu"].min() < 1e-3


@pytest.mark.slow
@pytest.mark.compiled
def test_a_posterior_that_is_too_narrow_is_found():
    """Data have three times the spread that the fitted model knows of."""
    wide, narrow = normal_mean(3.0), normal_mean(1.0)
    wide.observe = narrow.observe  # data of the one, posteriors of the other
    found = dt.calibrate(wide, 60, seed=1, processes=1, **SMALL)
    assert (found.p_values["mu"] < 1e-3).all()
    ranks = found.ranks["mu"].values
    assert ((ranks <= 1) | (ranks >= 18)).mean() > 0.4


def test_p_values_are_those_of_a_chi_squared_test(rng):
    from dimtensor.model.checking.calibrate import Calibration

    values = rng.integers(0, 100, size=200)
    ranks = xr.Dataset({"x": ("simulation", values)})
    none = xr.DataArray(np.zeros(200), dims="simulation")
    found = Calibration(ranks, 99, ranks, none, 1)
    counts = np.bincount(values // 5, minlength=20)
    np.testing.assert_allclose(found.p_values["x"], stats.chisquare(counts).pvalue)


def test_pictures_of_graphs_do_not_hide_those_of_ranks():
    """The plug-in draws whatever is a graph; a class with a picture of its own keeps it."""
    code = """
import dimtensor as dt
from dimtensor.hooks import Hook
from dimtensor.renderers import picture
import dimtensor.plugins.pictures
from dimtensor.model.checking.calibrate import Calibration
print(picture.find(object.__new__(Calibration)).__name__, picture.find(dt.scalar("x")).__name__)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split()[0] == "calibration_figure"
    assert found.stdout.split()[1] != "calibration_figure"


def test_a_picture_of_ranks_has_a_band_that_uniform_ranks_keep_to(rng, tmp_path):
    pytest.importorskip("matplotlib")
    from dimtensor.display.ranks import band
    from dimtensor.model.checking.calibrate import Calibration

    points = np.arange(0, 100, 2)
    low, high = band(80, 99, points)
    left = 0
    for _ in range(300):
        line = (rng.integers(0, 100, size=(80, 1)) <= points).mean(axis=0) - (points + 1) / 100
        left += bool(((line < low - 1e-12) | (line > high + 1e-12)).any())
    assert 2 <= left <= 30  # 15 are expected
    values = rng.integers(0, 100, size=(80, 3))
    ranks = xr.Dataset({"x": (("simulation", "k"), values), "y": ("simulation", values[:, 0])})
    found = Calibration(ranks, 99, ranks, xr.DataArray(np.zeros(80), dims="simulation"), 1)
    figure = found.plot(tmp_path / "ranks.png")
    assert (tmp_path / "ranks.png").stat().st_size > 5_000
    assert [len(axes.lines) for axes in figure.axes] == [4, 2]  # and a line at zero
    assert [axes.get_title() for axes in figure.axes] == ["x", "y"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_arviz_draws_ranks(rng):
    az = pytest.importorskip("arviz")
    from dimtensor.model.checking.calibrate import Calibration

    ranks = xr.Dataset({"x": ("simulation", rng.integers(0, 100, size=80))})
    found = Calibration(ranks, 99, ranks, xr.DataArray(np.zeros(80), dims="simulation"), 1)
    tree = found.to_arviz()
    assert float(tree["prior_sbc"]["x"].min()) > 0
    assert az.plot_ecdf_pit(tree) is not None


@pytest.mark.slow
@pytest.mark.compiled
def test_processes_compile_once_and_give_the_same():
    model = normal_mean()
    alone = dt.calibrate(model, 6, seed=3, processes=1, **SMALL)
    found = dt.calibrate(model, 6, seed=3, processes=2, **SMALL)
    xr.testing.assert_identical(found.ranks, alone.ranks)
    assert found.compilations == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: dt.calibrate(m, 0, seed=1), "n=0 is below 1"),
        (lambda m: dt.calibrate(m, 2, seed=1, thin=0), "thin=0 is below 1"),
        (lambda m: dt.calibrate(m, 2, seed=1, method="mode"), "there is no method 'mode'"),
        (lambda m: dt.calibrate(m, 2, seed=1, processes=0), "processes=0 is below 1"),
        (lambda m: dt.calibrate(m, 2, seed=1, chains=4), "calibrate does not take 'chains'"),
        (lambda m: dt.calibrate(m, 2, seed=1, draws=9), "take 'draws': ranks times thin are drawn"),
        (lambda m: dt.calibrate(m, 2, seed=1, variables=["nu"]), "no parameter 'nu'"),
        (lambda m: dt.cross_validate(m.observe(y=[1.0, 2.0, 3.0]), "m", seed=1), "no data 'm'"),
        (
            lambda m: dt.cross_validate(m.observe(y=[1.0, 2.0, 3.0]), HOUSE, seed=1),
            "nothing that is observed has the dim 'house'",
        ),
        (
            lambda m: dt.cross_validate(m.observe(y=[1.0, 2.0, 3.0]), K, seed=1, folds=1),
            "there are 2 folds or more, not 1",
        ),
        (
            lambda m: dt.cross_validate(m.observe(y=[1.0, 2.0, 3.0]), K, seed=1, ahead=1, first=3),
            "first=3 leaves no future of 3 positions",
        ),
        (
            lambda m: dt.cross_validate(m.observe(y=[1.0, 2.0, 3.0]), K, seed=1, ahead=1, folds=3),
            "folds=3 leaves positions out at random, and ahead=1 the future: give one of them",
        ),
        (
            lambda m: dt.cross_validate(m.observe(y=[1.0, 2.0, 3.0]), K, seed=1, first=2),
            "first= says where the future begins: give ahead=, too",
        ),
    ],
)
def test_what_they_do_not_take(call, message):
    error: type[Exception] = dt.OptionError
    if "take '" in message:
        error = dt.ArgumentError
    elif "no parameter '" in message or "no data '" in message:
        error = dt.LabelError
    elif "nothing that is observed" in message:
        error = dt.UnknownDimError
    with pytest.raises(error, match=message):
        call(normal_mean(backend="python"))


def test_errors_of_processes_are_raised_here():
    from dimtensor.model.checking.processes import run_all
    from tests.model import workers

    with pytest.raises(dt.GraphError, match="1 is not named"):
        run_all(workers.fail, None, [1, 2, 3], 2, "this")
    with pytest.raises(dt.GraphError, match="cannot be sent to other processes"):
        run_all(lambda shared, argument: None, None, [1, 2], 2, "this")
    with pytest.raises(dt.DimtensorError, match=r"(?s)this: a process ended.*exit status: 3"):
        run_all(workers.end, None, [1, 2, 3], 2, "this")


# -- cross-validation ------------------------------------------------------------------------------


def exact(y, kept, point, prior=2.0):
    """The log predictive density of a normal mean given some observations of variance 1."""
    precision = 1 / prior**2 + len(kept)
    mean = np.sum(y[kept]) / precision
    return stats.norm(mean, math.sqrt(1 + 1 / precision)).logpdf(y[point])


def one_mean(y, **options):
    mu = dt.rv("mu", dist.Normal(0.0, 2.0))
    outcome = dt.rv("y", dist.Normal(mu, 1.0), dims=HOUSE)
    return dt.Model(outcome).observe({outcome: y}, **options)


Y = np.array([0.3, -1.2, 2.0, 0.7, 1.9, -0.4])
QUICK = {"seed": 2, "tune": 300, "draws": 1500, "chains": 2, "processes": 1}


@pytest.mark.compiled
def test_leaving_one_out_is_the_predictive_density():
    before = compilations["native"]
    found = dt.cross_validate(one_mean(Y), HOUSE, folds=6, **QUICK)
    assert compilations["native"] - before == found.compilations == 1
    expected = [exact(Y, np.delete(np.arange(6), at), at) for at in range(6)]
    np.testing.assert_allclose(found.pointwise["y"], expected, atol=0.08)
    np.testing.assert_allclose(found.elpd, np.sum(expected), atol=0.25)
    np.testing.assert_allclose(found.se, np.sqrt(6) * np.std(expected), rtol=0.15)
    assert sorted(found.folds.values) == list(range(6))
    assert repr(found).startswith("<CrossValidation over house: 6 folds, 6 predictions, elpd -")


@pytest.mark.compiled
def test_the_future_is_predicted_from_the_past():
    found = dt.cross_validate(one_mean(Y), "house", ahead=2, first=2, **QUICK)
    expected = [exact(Y, np.arange(at // 2 * 2), at) for at in range(2, 6)]
    values = found.pointwise["y"].values
    assert np.isnan(values[:2]).all()
    np.testing.assert_allclose(values[2:], expected, atol=0.1)
    assert found.folds.values.tolist() == [-1, -1, 0, 0, 1, 1]


@pytest.mark.compiled
def test_groups_are_left_out_whole_and_missing_values_are_predicted_never():
    group = dt.data(["a", "a", "b", "c", "c", "b"], dims=HOUSE, categories=K, name="group")
    mu = dt.rv("mu", dist.Normal(0.0, 2.0))
    effect = dt.rv("effect", dist.Normal(0.0, 0.001), dims=K)
    y = dt.rv("y", dist.Normal(mu + effect.sel(k=group), 1.0))
    values = Y.copy()
    values[5] = np.nan
    fit = dt.Model(y).observe({y: values}, missing="drop").noncentered(effect)
    found = dt.cross_validate(fit, group, folds=3, **QUICK)
    of = found.folds.values
    assert of[0] == of[1]
    assert of[3] == of[4]
    assert of[2] == of[5]
    assert len(set(of)) == 3
    expected = [exact(Y, [2, 3, 4], 0), exact(Y, [2, 3, 4], 1), exact(Y, [0, 1, 3, 4], 2),
                exact(Y, [0, 1, 2], 3), exact(Y, [0, 1, 2], 4)]  # fmt: skip
    np.testing.assert_allclose(found.pointwise["y"][:5], expected, atol=0.1)
    assert np.isnan(found.pointwise["y"][5])


@pytest.mark.compiled
def test_arviz_compares_what_was_cross_validated():
    az = pytest.importorskip("arviz")
    found = dt.cross_validate(one_mean(Y), HOUSE, folds=3, **QUICK)
    other = dt.cross_validate(one_mean(Y + 10.0), HOUSE, folds=3, **QUICK)
    table = az.compare({"near": found.to_arviz(), "far": other.to_arviz("y")})
    assert list(table.index) == ["near", "far"]
    with pytest.raises(dt.OptionError, match="which variable is meant"):
        found.to_arviz("z")


def test_what_others_depend_on_is_not_left_out():
    first = dt.rv("first", dist.Normal(0.0, 1.0), dims=HOUSE)
    second = dt.rv("second", dist.Normal(first, 1.0))
    model = dt.Model(second, backend="python")
    fit = model.observe({first: [1.0, 2.0], second: [2.0, 3.0]})
    with pytest.raises(dt.GraphError, match="'second' depends on 'first', which would be left out"):
        dt.cross_validate(fit, HOUSE, seed=1)
    inferred = one_mean(np.array([1.0, np.nan]), missing="infer")
    with pytest.raises(dt.GraphError, match="missing observations of 'y' are inferred"):
        dt.cross_validate(inferred, HOUSE, seed=1)
