"""Log densities and models whose data are read in chunks, beside the same in memory."""

from __future__ import annotations

import pickle
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.sliced import cuts
from dimtensor.compile.sliced.program import tree
from dimtensor.model.logdensity import threaded
from dimtensor.model.sliced.streamed import RunningTotal
from tests.backend_names import LONG_JAX

OBS, COUNTY, K = dt.Dim("obs"), dt.Dim("county", coords=list("abcde")), dt.Dim("k", length=3)
ROWS = 503
RNG = np.random.default_rng(0)
MATRIX, X, Y = RNG.normal(size=(ROWS, 3)), RNG.normal(size=ROWS), RNG.normal(size=ROWS)
WHERE = np.array(COUNTY.coords)[RNG.integers(0, 5, ROWS)]
MU, BETA, SD = dt.tensor("mu", COUNTY), dt.tensor("beta", K), dt.scalar("sd")
SUPPORTS = {MU: dt.real, BETA: dt.real, SD: dt.positive}


def in_memory(values: Any, dims: Any, **options: Any) -> Any:
    return dt.data(values, dims, **options)


def in_chunks(size: int | None) -> Callable[..., Any]:
    return lambda values, dims, **options: dt.stream(values, dims, chunks=size, **options)


def density(read: Callable[..., Any], backend: Any = "python") -> dt.LogDensity:
    matrix, y = read(MATRIX, (OBS, K), name="matrix"), read(Y, OBS, name="y")
    where = read(WHERE, OBS, name="where", categories=COUNTY)
    mean = MU.sel(county=where) + dt.dot(matrix, BETA, dim=K)
    terms = {
        "y": -0.5 * ((y - mean) / SD) ** 2 - dt.log(SD),
        "mean": y.mean() * MU - MU**2,  # needs the length of the whole
        "trend": -(dt.arange(OBS) * y * SD**2) / ROWS,  # and the place of a chunk in it
        "mu": -0.5 * MU**2,
        "beta": -0.5 * BETA**2,
        "sd": -SD,
    }
    return dt.LogDensity(terms, SUPPORTS, backend=backend)


POINT = np.random.default_rng(7).normal(size=9) * 0.5


@pytest.mark.parametrize("size", [7, 100, 503, None])
def test_value_and_gradient_are_those_of_data_in_memory(size: int | None):
    whole, found = density(in_memory), density(in_chunks(size))
    value, gradient = found.logp_and_grad(POINT)
    expected, slope = whole.logp_and_grad(POINT)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    assert found.logp(POINT) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_backends(backend: Any):
    value, gradient = density(in_chunks(100), backend).logp_and_grad(POINT)
    expected, slope = density(in_memory).logp_and_grad(POINT)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)


def test_bits_depend_on_the_chunks_alone(tmp_path: Path):
    def blocks(values: Any, dims: Any, **options: Any) -> Any:
        def read() -> Iterator[Any]:
            yield from (values[at : at + 130] for at in range(0, ROWS, 130))

        return dt.stream(read, dims, chunks=64, **options)

    def stored(values: Any, dims: Any, name: str, **options: Any) -> Any:
        if values.dtype.kind == "U":
            return dt.stream(values, dims, chunks=64, name=name, **options)
        np.save(tmp_path / f"{name}.npy", values)
        return dt.stream(tmp_path / f"{name}.npy", dims, name=name, **options)

    one, two, three = (density(read) for read in (in_chunks(64), blocks, stored))
    value, gradient = one.logp_and_grad(POINT)
    for other in (one, two, three, pickle.loads(pickle.dumps(one))):
        again, slope = other.logp_and_grad(POINT)
        assert again == value
        np.testing.assert_array_equal(slope, gradient)


# -- threads ---------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch):
    """Slices of a few rows."""
    monkeypatch.setattr(cuts, "SLICE_WORK", 20)
    monkeypatch.setattr(cuts, "SLICE_RESULTS", 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [200, 503])
def test_bits_do_not_depend_on_the_number_of_threads(size: int):
    whole, read = density(in_memory), density(in_chunks(size))
    value, gradient = threaded(read, 1, "test").logp_and_grad(POINT)
    expected, slope = whole.logp_and_grad(POINT)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    two, seven = (threaded(read, threads, "test") for threads in (2, 7))
    assert two.functions.evaluator.code.slices >= 8
    for each in (two, pickle.loads(pickle.dumps(seven))):
        again, direction = each.logp_and_grad(POINT)
        assert again == value
        np.testing.assert_array_equal(direction, gradient)


@pytest.mark.usefixtures("small")
def test_data_in_memory_are_cut_with_the_slices_of_streams():
    model, read = regression(x=X, where=WHERE), in_chunks(100)
    point = np.random.default_rng(5).normal(size=7) * 0.3
    expected = model.observe(y=Y).log_density().logp(point)
    mixed = threaded(model.observe(y=read(Y, OBS)).log_density(), 2, "test")
    assert mixed.functions.evaluator.code.slices > 1
    assert mixed.logp(point) == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("small")
def test_modes_and_log_densities_of_streams_take_threads():
    y, mu = Y[:60], dt.rv("mu", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=OBS), backend="python")
    fit = model.observe(y=dt.stream(y, OBS, chunks=25))
    mode = fit.mode(threads=2)["posterior"]["mu"].item()
    assert mode == pytest.approx(y.sum() / 61, abs=1e-6)
    first, second = (fit.laplace(5, seed=1, threads=k)["posterior"]["mu"] for k in (1, 3))
    np.testing.assert_array_equal(first, second)
    mu = dt.scalar("mu")
    terms = {"y": -((dt.stream(y, OBS, chunks=25, name="y") - mu) ** 2)}
    parts = dt.LogDensity(terms, {mu: dt.real}, "python", threads=2)
    assert parts.logp([0.5]) == pytest.approx(-((y - 0.5) ** 2).sum(), rel=1e-12)
    with pytest.raises(dt.OptionError, match="threads=0 is below 1"):
        dt.LogDensity(terms, {mu: dt.real}, "python", threads=0)


@pytest.mark.usefixtures("small")
def test_errors_in_slices_of_streams_end_the_pass():
    y, mu = dt.stream(np.arange(90.0), OBS, chunks=40, name="y"), dt.scalar("mu")
    logp = dt.check(y < mu, "y is below mu", -((y - mu) ** 2)).sum()
    parts = dt.LogDensity(logp, {mu: dt.real}, "python", threads=3)
    with pytest.raises(dt.CheckError, match="y is below mu"):
        parts.logp([70.0])
    assert parts.logp([95.0]) == -((np.arange(90.0) - 95) ** 2).sum()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 11, 16])
def test_the_sum_is_a_tree_over_the_numbers_of_chunks(count: int):
    terms = np.random.default_rng(3).normal(size=count).tolist()
    total = RunningTotal(["add"])
    for one in terms:
        total.add([np.array(one)])
    assert total.result() == [tree(terms, lambda x, y: x + y)]


def test_a_mean_over_a_factory_counts_the_rows_first():
    def read() -> Iterator[np.ndarray]:
        yield from (Y[at : at + 100] for at in range(0, ROWS, 100))

    mu = dt.scalar("mu")
    y = dt.stream(read, OBS, chunks=100, name="y")
    found = dt.LogDensity(-((y - mu) ** 2).mean(), {mu: dt.real}, backend="python")
    assert found.logp(np.array([0.5])) == pytest.approx(-np.mean((Y - 0.5) ** 2), rel=1e-12)


def test_rows_that_are_filtered():
    mu = dt.scalar("mu")
    y = dt.stream(Y, OBS, chunks=100, name="y")
    found = dt.LogDensity(-((y[y > 0] - mu) ** 2).sum(), {mu: dt.real}, backend="python")
    expected = -np.sum((Y[Y > 0] - 0.5) ** 2)
    assert found.logp(np.array([0.5])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("threads", [None, 2])
def test_memory_is_that_of_three_chunks(threads: int | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cuts, "SLICE_WORK", 30_000)
    rows, count = 50_000, 20
    chunk = 8 * rows

    def read() -> Iterator[np.ndarray]:
        rng = np.random.default_rng(1)
        for _ in range(count):
            yield rng.normal(size=rows)

    mu = dt.scalar("mu")
    y = dt.stream(read, OBS, chunks=rows, name="y")
    found = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, threads=threads)
    assert (found.functions.evaluator.code.slices > 4) == (threads is not None)
    found.logp_and_grad(np.zeros(1))
    tracemalloc.start()
    found.logp_and_grad(np.zeros(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3.2 * chunk


def test_nothing_of_a_failed_pass_is_counted():
    broken = threading.Event()

    def read() -> Iterator[np.ndarray]:
        for at in range(0, ROWS, 100):
            if at == 300 and broken.is_set():
                raise OSError("the disk is gone")
            yield Y[at : at + 100]

    mu = dt.scalar("mu")
    y = dt.stream(read, OBS, chunks=100, name="y")
    found = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    before = found.logp(np.zeros(1))
    broken.set()
    with pytest.raises(dt.StreamError, match="the pass is given up: chunk 3, from row 300 on"):
        found.logp(np.zeros(1))
    broken.clear()
    assert found.logp(np.zeros(1)) == before


# -- models ----------------------------------------------------------------------------------------


def regression(**data: Any) -> dt.Model:
    x, where = dt.tensor("x", OBS), dt.tensor("where", OBS, categories=COUNTY)
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=COUNTY)
    slope, sd = dt.rv("slope", dist.Normal(0.0, 1.0)), dt.rv("sd", dist.HalfNormal(1.0))
    mean = dt.named("mean", mu.sel(county=where) + slope * x)
    y = dt.rv("y", dist.Normal(mean, sd), dims=OBS)
    return dt.Model(y, data=data, backend="python")


def streamed(size: int = 100) -> dt.Model:
    read = in_chunks(size)
    model = regression(x=read(X, OBS), where=read(WHERE, OBS, categories=COUNTY))
    return model.observe(y=read(Y, OBS))


def whole() -> dt.Model:
    return regression(x=X, where=WHERE).observe(y=Y)


def draws() -> Any:
    """Draws as of a posterior, close to it."""
    rng = np.random.default_rng(8)
    shapes = {"mu": (1, 6, 5), "slope": (1, 6), "sd": (1, 6)}
    values = {name: rng.normal(size=shape) * 0.1 for name, shape in shapes.items()}
    values["sd"] += 1.0
    dims = {name: ("chain", "draw", "county")[: x.ndim] for name, x in values.items()}
    return xr.Dataset(
        {name: (dims[name], x) for name, x in values.items()}, {"county": list(COUNTY.coords)}
    )


def test_models_are_fitted_to_streams():
    one, two = streamed(), whole()
    point = np.random.default_rng(5).normal(size=7) * 0.3
    found, expected = one.log_density(), two.log_density()
    assert found.logp(point) == pytest.approx(expected.logp(point), rel=1e-12)
    np.testing.assert_allclose(
        found.logp_and_grad(point)[1], expected.logp_and_grad(point)[1], rtol=1e-10
    )


@pytest.mark.slow
def test_approximations_of_models_of_streams():
    one, two = streamed(), whole()
    mode, same = one.mode()["posterior"], two.mode()["posterior"]
    np.testing.assert_allclose(mode["slope"], same["slope"], rtol=1e-6)
    assert "mean" not in mode  # it has a value for each row
    post = one.laplace(20, seed=1)
    np.testing.assert_allclose(
        post["posterior"]["mu"], two.laplace(20, seed=1)["posterior"]["mu"], rtol=1e-5
    )
    assert "observed_data" not in post.children


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_nutpie_samples_models_of_streams():
    pytest.importorskip("nutpie")
    options = {"tune": 40, "chains": 1, "seed": 1, "progress_bar": False, "report": False}
    found = streamed().sample(20, **options)["posterior"]
    expected = whole().sample(20, **options)["posterior"]
    # one rounding error in each density: all draws of a short chain are near
    for name, draws in found.data_vars.items():
        np.testing.assert_allclose(draws, expected[name], rtol=1e-7, atol=1e-9, err_msg=name)


def test_streams_replace_data_and_data_streams():
    point = np.random.default_rng(5).normal(size=7) * 0.3
    model, read = whole(), in_chunks(100)
    where = read(WHERE, OBS, categories=COUNTY)
    moved = model.with_data(x=read(X, OBS), where=where).observe(y=read(Y, OBS))
    expected = model.log_density().logp(point)
    assert moved.log_density().logp(point) == pytest.approx(expected, rel=1e-12)
    back = moved.with_data(x=X, where=WHERE).observe(y=Y)
    assert back.log_density().logp(point) == expected
    mixed = model.observe(y=read(Y, OBS))
    assert mixed.log_density().logp(point) == pytest.approx(expected, rel=1e-12)
    shorter = regression(x=X[1:], where=WHERE[1:]).observe(y=read(Y, OBS))
    with pytest.raises(dt.StreamError, match=r"numbers of rows\n.*: 502 rows\n.*: 503 rows"):
        shorter.log_density().logp(point)

    def blocks() -> Iterator[np.ndarray]:
        yield from (Y[:300], Y[300:])

    late = dt.stream(blocks, OBS, chunks=100)
    with pytest.raises(dt.StreamError, match="has 503 rows, not 502"):
        regression(x=X[1:], where=WHERE[1:]).observe(y=late).log_density().logp(point)


def test_results_for_all_rows_are_computed_by_chunk(tmp_path: Path):
    pytest.importorskip("zarr")
    one, two, post = streamed(), whole(), draws()
    expected = two.log_likelihood(post)["log_likelihood"]["y"]
    found = one.log_likelihood(post)["log_likelihood"]["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert found.dims == expected.dims
    stored = one.log_likelihood(post, store=tmp_path / "by_row.zarr")["log_likelihood"]["y"]
    np.testing.assert_array_equal(stored, found)
    errors = [fit.residuals(post)["residuals"]["y"] for fit in (one, two)]
    np.testing.assert_allclose(*errors, rtol=1e-10, atol=1e-10)
    mean = one.predict(post, names=["mean"])["posterior_predictive"]["mean"]
    np.testing.assert_allclose(
        mean, two.predict(post, names=["mean"])["posterior_predictive"]["mean"], rtol=1e-10
    )
    drawn = one.predict(post, seed=1, store=tmp_path / "y.zarr")["posterior_predictive"]["y"]
    assert drawn.shape == (1, 6, ROWS)
    # draws of one chunk are not those of another
    assert len(np.unique(drawn.values)) == drawn.size
    residuals = (drawn.values - mean.values) / post["sd"].values[..., None]
    assert residuals.mean() == pytest.approx(0.0, abs=0.1)
    assert residuals.std() == pytest.approx(1.0, abs=0.1)
    new = one.predict(post, {"x": [1.0, 2.0], "where": ["a", "b"]}, seed=1)["predictions"]["y"]
    assert new.shape == (1, 6, 2)


def test_an_error_leaves_the_rows_before_it(tmp_path: Path):
    pytest.importorskip("zarr")
    post = draws()
    where = WHERE.copy()
    where[350] = "z"
    read = in_chunks(100)
    model = regression(x=read(X, OBS), where=read(where, OBS, categories=COUNTY))
    with pytest.raises(dt.LabelError, match="chunk 3, row 350: the stream 'where'") as caught:
        model.observe(y=read(Y, OBS)).log_likelihood(post, store=tmp_path / "by_row.zarr")
    assert "first 300 positions along 'obs' are in the store" in caught.value.__notes__[-1]
    again = dt.load_posterior(tmp_path / "by_row.zarr")["log_likelihood"]
    assert again.sizes["obs"] == 300


def test_missing_observations_name_chunk_and_row():
    y, read = Y.copy(), in_chunks(100)
    y[217] = np.nan
    model = regression(x=read(X, OBS), where=read(WHERE, OBS, categories=COUNTY))
    with pytest.raises(dt.InputError, match=r"^chunk 2, row 217: the stream 'y' lacks an obser"):
        model.observe(y=read(y, OBS)).log_density().logp(np.zeros(7))
    with pytest.raises(dt.OptionError, match="missing observations of 'y' are not searched"):
        model.observe({"y": read(y, OBS)}, missing="drop")


def test_impossible_observations_name_chunk_and_row():
    rate, count = dt.rv("rate", dist.Exponential(1.0)), np.arange(250.0)
    y = dt.rv("y", dist.Exponential(rate), dims=OBS)
    model = dt.Model(y, backend="python")
    values = np.where(count == 117, -1.0, count)
    with pytest.raises(dt.InputError, match=r"^chunk 1, row 117: observations of 'y' lie outside"):
        model.observe(y=dt.stream(values, OBS, chunks=100)).log_density().logp(np.zeros(1))
    number = dt.Model(dt.rv("n", dist.Poisson(rate), dims=OBS), backend="python")
    found = number.observe(n=dt.stream(count, OBS, chunks=100)).log_density().logp(np.zeros(1))
    assert found == pytest.approx(number.observe(n=count).log_density().logp(np.zeros(1)))
    broken = number.observe(n=dt.stream(count + 0.5, OBS, chunks=100)).log_density()
    with pytest.raises(dt.InputError, match=r"row 0: observations of 'n' are whole numbers, not 0"):
        broken.logp(np.zeros(1))


def test_draws_from_the_prior_have_the_length_that_is_asked_for():
    model = dt.Model(dt.rv("y", dist.Normal(dt.rv("mu", dist.Normal(0, 1)), 1.0), dims=OBS))
    fit = model.observe(y=dt.stream(Y, OBS))
    assert fit.draw(2, seed=1, dims={OBS: 3})["prior_predictive"]["y"].shape == (1, 2, 3)


# -- what streams do not do ------------------------------------------------------------------------


def test_expressions_that_mix_rows():
    y, mu = dt.stream(Y, OBS, chunks=100, name="y"), dt.scalar("mu")
    found = dt.LogDensity(-((y - y.mean() - mu) ** 2).sum(), {mu: dt.real}, backend="python")
    with pytest.raises(dt.PartitionError, match="needs the whole at each position"):
        found.logp(np.zeros(1))


def test_parameters_and_results_of_rows():
    y, mu = dt.stream(Y, OBS, chunks=100, name="y"), dt.scalar("mu")
    terms = {"y": -((y - mu) ** 2)}
    with pytest.raises(dt.GraphError, match="'residual' is computed from a stream"):
        dt.LogDensity(terms, {mu: dt.real}, deterministics={"residual": y - mu})
    found = dt.LogDensity(terms, {mu: dt.real}, backend="python")
    with pytest.raises(dt.GraphError, match="'y' is computed from a stream"):
        found.log_terms(np.zeros(1))
    with pytest.raises(dt.GraphError, match=r"a stream has no values in memory\n.*: y with"):
        y.sum().eval()
    with pytest.raises(dt.GraphError, match="observations of 'y' are read from a stream"):
        dict(streamed().observed)
    other = dt.tensor("x", dt.Dim("day"))
    with pytest.raises(dt.DimError, match="other dims than 'x'"):
        dt.Model(dt.rv("z", dist.Normal(other.sum(), 1.0)), data={"x": y})


def test_streams_along_two_dims():
    y = dt.stream(Y, OBS, chunks=100, name="y")
    z, mu = dt.stream(X, dt.Dim("day"), name="z"), dt.scalar("mu")
    found = dt.LogDensity({"y": -((y - mu) ** 2), "z": -((z - mu) ** 2)}, {mu: dt.real}, "python")
    with pytest.raises(dt.GraphError, match="streams along several dims"):
        found.logp(np.zeros(1))
