"""Log densities in slices on threads: equal bits, errors as without threads, samplers."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.sliced import cuts, storage
from dimtensor.compile.sliced.cuts import SliceCut, cut_for, dims_to_cut, work
from dimtensor.dims import Binding
from dimtensor.model.logdensity import threaded
from dimtensor.model.sliced.threads import chains_at_once, density_cut
from tests.model.test_sliced_densities import OBS, K, model_of


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch):
    """Slices of a few rows, of narrow data."""
    monkeypatch.setattr(storage, "NARROWED_BYTES", 0)
    monkeypatch.setattr(cuts, "SLICE_WORK", 20)
    monkeypatch.setattr(cuts, "SLICE_RESULTS", 1)


def on(density: dt.LogDensity, threads: int) -> dt.LogDensity:
    return threaded(density, threads, "test")


@pytest.mark.usefixtures("small")
def test_bits_do_not_depend_on_the_number_of_threads():
    whole = model_of(41)
    by_number = {k: on(whole, k) for k in (1, 2, 3, 7)}
    cut = by_number[1].functions.evaluator.cut
    assert cut.dim is OBS
    assert cut.number >= 8
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=whole.size)
        value, gradient = by_number[1].logp_and_grad(x)
        expected, slope = whole.logp_and_grad(x)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9)
        for density in by_number.values():
            again, direction = density.logp_and_grad(x)
            assert again == value
            np.testing.assert_array_equal(direction, gradient)
            assert density.logp(x) == value


@pytest.mark.compiled
@pytest.mark.usefixtures("small")
def test_machine_code_on_threads():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=300), rng.integers(0, 2, 300)
    b = dt.scalar("b")
    logp = {
        "y": dist.Bernoulli(logit_p=dt.data(x, dims=OBS) * b).logp(dt.data(y, dims=OBS)),
        "b": dist.Normal(0.0, 1.0).logp(b),
    }
    point, p = np.array([0.3]), 1 / (1 + np.exp(-0.3 * x))
    expected = np.log(np.where(y == 1, p, 1 - p)).sum() - 0.045 - 0.5 * np.log(2 * np.pi)
    found = []
    for threads in (1, 2, 7):
        density = dt.LogDensity(logp, {b: dt.real}, threads=threads)
        assert density.functions.evaluator.cut.number > 4
        value, gradient = density.logp_and_grad(point)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(gradient, [((y - p) * x).sum() - 0.3], rtol=1e-10)
        assert density.functions.evaluator._evaluate._machine is not None
        found.append((value, gradient[0]))
    assert len(set(found)) == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("n", [0, 1])
def test_data_without_rows_are_not_cut(n: int):
    b = dt.scalar("b")
    y = dt.data(np.ones(n), dims=OBS)
    density = dt.LogDensity(-((y - b) ** 2).sum() - b**2, {b: dt.real}, "python", threads=3)
    assert density.functions.evaluator is None
    assert density.logp([3.0]) == -9.0 - 4.0 * n


def test_little_work_is_not_cut():
    density = on(model_of(40), 2)
    assert density.functions.evaluator is None
    assert density.logp(np.zeros(density.size)) == model_of(40).logp(np.zeros(density.size))


def test_the_number_of_slices_follows_from_the_work():
    x = dt.tensor("x", dims=OBS)
    y = (dt.exp(x) * 2.0).sum().node
    numbers = {10**4: None, 250_000: None, 300_000: 4, 10**6: 8, 10**7: 128, 10**9: 256}
    for length, number in numbers.items():
        binding = Binding()
        binding.add_length(OBS, length, "a test")
        assert work([y], binding) == (10 + 8) * length
        cut = cut_for([y], dims_to_cut([y]), binding)
        assert cut == (None if number is None else SliceCut(OBS, number))


def test_what_is_cheap_is_computed_while_data_are_read():
    x, b = dt.tensor("x", dims=OBS), dt.scalar("b")
    binding = Binding()
    binding.add_length(OBS, 1000, "a test")
    assert work([((x - b) ** 2).sum().node], binding) == 8 * 1000 + 8
    both = dt.logsumexp(dt.stack([x, -x], dt.Dim("k", length=2)), "k").sum().node
    assert work([both], binding) >= 10 * 2 * 1000


def test_long_results_take_larger_slices():
    group = dt.Dim("group", length=10**6)
    x, who = dt.tensor("x", dims=OBS), dt.tensor("who", dims=OBS, categories=group)
    y = dt.exp(x).groupby(who).sum().node
    binding = Binding()
    binding.add_length(OBS, 10**7, "a test")
    assert cut_for([y], [OBS], binding).number == 8


@pytest.mark.usefixtures("small")
def test_errors_are_those_without_threads():
    row = dt.Dim("row", coords=[f"row {at}" for at in range(40)])
    b = dt.scalar("b")
    y = dt.data(np.arange(40.0), dims=row, name="y")
    logp = dt.check(y < b, "y is below b", -((y - b) ** 2)).sum()
    whole = dt.LogDensity(logp, {b: dt.real}, "python")
    parts = on(whole, 3)
    assert parts.functions.evaluator.cut.number >= 2
    texts = []
    for density in (whole, parts):
        with pytest.raises(dt.CheckError, match="row 38") as found:
            density.logp_and_grad([37.5])
        texts.append(str(found.value))
    assert texts[0] == texts[1]
    assert parts.logp([50.0]) == pytest.approx(whole.logp([50.0]), rel=1e-13)


@pytest.mark.usefixtures("small")
def test_other_data_are_cut_anew_and_pickles_have_threads():
    parts = on(model_of(40), 2)
    rng = np.random.default_rng(9)
    new: dict[str, Any] = {
        "x": rng.normal(size=200), "y": rng.normal(size=200),
        "who": np.array(list("abca"))[rng.integers(0, 4, 200)],
        "z": (("k", "obs"), rng.normal(size=(3, 200))),
    }  # fmt: skip
    other = parts.with_data(new)
    assert other.functions.evaluator.cut.number > parts.functions.evaluator.cut.number
    again = pickle.loads(pickle.dumps(other))
    x = rng.normal(size=other.size)
    assert again.functions.evaluation == parts.functions.evaluation
    assert again.logp(x) == other.logp(x)
    expected = model_of(40).with_data(new).logp(x)
    assert other.logp(x) == pytest.approx(expected, rel=1e-12)


def test_a_density_that_cannot_be_cut_is_refused():
    y, b = dt.data([1.0, 2.0, 4.0], dims=OBS), dt.scalar("b")
    logp = dt.log(dt.exp(y * b).sum()) ** 2
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed"):
        dt.LogDensity(logp, {b: dt.real}, "python", threads=2)
    density = dt.LogDensity(logp, {b: dt.real}, "python")
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed"):
        dt.sample(density, threads=2)


def test_numbers_of_threads_are_checked():
    with pytest.raises(dt.OptionError, match="sample: threads=0 is below 1"):
        dt.sample(model_of(), threads=0)
    with pytest.raises(dt.OptionError, match="threads is an integer"):
        on(model_of(), 1.5)
    pytest.importorskip("jax")
    with pytest.raises(dt.OptionError, match="JAX has its own"):
        on(model_of(backend="jax"), 2)


def test_chains_and_their_threads_are_no_more_than_the_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dimtensor.model.sliced.threads.available_cores", lambda: 8)
    assert [chains_at_once(threads) for threads in (1, 2, 3, 8, 20)] == [8, 4, 2, 1, 1]


@pytest.mark.usefixtures("small")
def test_a_dim_of_distinct_rows_is_cut():
    rng = np.random.default_rng(1)
    x = dt.data(rng.integers(0, 30, 4000), dims=OBS, name="x")
    y = dt.data(rng.integers(0, 4, 4000), dims=OBS, name="y")
    b = dt.scalar("b")
    logp = {"y": dist.Poisson(dt.exp(0.1 * x * b)).logp(y), "b": -(b**2)}
    whole = dt.LogDensity(logp, {b: dt.real}, "python")
    (row,) = whole.functions.rows.lengths
    assert density_cut(whole.functions).dim is row
    assert on(whole, 2).logp([0.4]) == pytest.approx(whole.logp([0.4]), rel=1e-12)


@pytest.mark.usefixtures("small")
def test_the_mode_is_found_on_threads():
    rng = np.random.default_rng(0)
    mu, y = dt.rv("mu", dist.Normal(0.0, 1.0)), rng.normal(size=60)
    fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=OBS), backend="python").observe(y=y)
    mode = fit.mode(threads=2)["posterior"]["mu"].item()
    assert mode == pytest.approx(y.sum() / 61, abs=1e-6)
    first, second = (fit.laplace(20, seed=1, threads=k)["posterior"]["mu"] for k in (1, 3))
    np.testing.assert_array_equal(first, second)


@pytest.mark.filterwarnings("ignore:the draws may not be")
def test_the_report_says_that_nothing_is_cut(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("nutpie")
    b, options = dt.scalar("b"), {"draws": 5, "tune": 5, "chains": 1, "seed": 1}
    density = dt.LogDensity(-((dt.data(np.ones(3), OBS) - b) ** 2).sum(), {b: dt.real}, "python")
    for threads in (None, 2):
        dt.sample(density, threads=threads, progress_bar=False, **options)
        assert ("there is too little work for slices" in capsys.readouterr().out) == (threads == 2)
    dt.sample(density, threads=2, progress_bar=False, report=False, **options)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_draws_do_not_depend_on_the_number_of_threads():
    pytest.importorskip("nutpie")
    density = model_of(backend="native")
    assert K in {dim for node in density.functions.data_nodes for dim in node.dims}
    options = {"draws": 30, "tune": 40, "chains": 2, "seed": 1, "report": False}
    with warnings.catch_warnings(action="ignore", category=dt.SamplingWarning):
        found = [dt.sample(density, threads=k, **options)["posterior"] for k in (1, 2, 3)]
    for other in found[1:]:
        np.testing.assert_array_equal(other["theta"], found[0]["theta"])
