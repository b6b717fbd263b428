"""Results that are computed for some draws at a time and written to a Zarr store."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.inference import chunked

pytest.importorskip("zarr")
LABELS = pd.period_range("2024-01", periods=5, freq="M")  # which files hold as texts
X = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
Y = np.array([1.0, np.nan, 2.5, 0.0, 1.0])


def regression(**options):
    month = dt.Dim("month", coords=LABELS)
    x = dt.data(X, dims=month, name="x")
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(dt.named("mean", slope * x), 1.0))
    return dt.Model(y, backend="python").observe({y: Y}, **options)


def slopes(chains, draws):
    values = np.random.default_rng(7).normal(size=(chains, draws))
    coords = {"chain": np.arange(chains), "draw": np.arange(10, 10 + draws)}
    return xr.Dataset({"slope": (("chain", "draw"), values)}, coords)


@pytest.mark.parametrize(("draws", "chunks"), [(7, 3), (6, 3), (4, 10), (3, 1), (5, None)])
def test_log_likelihoods_of_a_store_are_those_of_scipy(tmp_path, draws, chunks):
    fit, post = regression(missing="drop"), slopes(2, draws)
    store = tmp_path / "pointwise.zarr"
    found = fit.log_likelihood(post, store=store, chunks=chunks)["log_likelihood"].to_dataset()
    kept = np.isfinite(Y)
    expected = st.norm(post["slope"].values[..., None] * X[kept], 1.0).logpdf(Y[kept])
    np.testing.assert_allclose(found["y"].values, expected, rtol=1e-14)
    again = dt.load_posterior(store)["log_likelihood"].to_dataset()
    for each in (found, again):
        assert each["y"].dims == ("chain", "draw", "month")
        assert each.indexes["month"].equals(pd.PeriodIndex(LABELS[kept], name="month"))
        assert each.indexes["draw"].tolist() == list(range(10, 10 + draws))
    assert again.identical(found.load())


def test_groups_of_a_store_are_beside_the_posterior_and_read_when_they_are_used(tmp_path):
    fit, post = regression(missing="drop"), slopes(1, 4)
    tree = xr.DataTree.from_dict({"posterior": post})
    found = fit.predict(tree, seed=1, store=str(tmp_path / "y.zarr"), chunks=2)
    assert found["posterior"]["slope"].equals(post["slope"])
    variable = found["posterior_predictive"]["y"].variable
    assert not isinstance(variable._data, np.ndarray)
    assert found["posterior_predictive"].dataset.isel(draw=[1]).load()["y"].shape == (1, 1, 4)
    assert not isinstance(variable._data, np.ndarray)
    assert {"observed_data", "constant_data", "posterior_predictive"} <= set(
        dt.load_posterior(tmp_path / "y.zarr").children
    )


def test_predictions_of_one_chunk_are_those_in_memory(tmp_path):
    fit, post = regression(missing="drop"), slopes(2, 6)
    whole = fit.predict(post, seed=3)
    stored = fit.predict(post, seed=3, store=tmp_path / "a.zarr")
    assert set(whole.children) == set(stored.children)
    for name in whole.children:
        assert stored[name].to_dataset().load().identical(whole[name].to_dataset())


def test_chunks_of_predictions_have_noise_of_their_own(tmp_path):
    fit, post = regression(missing="drop"), slopes(1, 4000)
    found = fit.predict(post, seed=3, store=tmp_path / "a.zarr", chunks=1000)
    drawn = found["posterior_predictive"]["y"].values[0]
    noise = (drawn - post["slope"].values[0][:, None] * X[np.isfinite(Y)]).reshape(4, -1)
    assert st.kstest(noise.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(noise) - np.eye(4)).max() < 0.1
    again = fit.predict(post, seed=3, store=tmp_path / "b.zarr", chunks=1000)
    np.testing.assert_array_equal(again["posterior_predictive"]["y"].values[0], drawn)


def test_new_data_are_predicted_into_a_store(tmp_path):
    post = slopes(2, 5)
    obs = dt.Dim("obs")
    x = dt.tensor("x", dims=obs)
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.named("mean", slope * x), data={x: [1.0]}, backend="python")
    new = model.predict(post, {x: [1.0, 2.0, 4.0]}, store=tmp_path / "a.zarr", chunks=2)
    expected = post["slope"].values[..., None] * [1.0, 2.0, 4.0]
    np.testing.assert_array_equal(new["predictions"]["mean"].values, expected)
    constant = dt.load_posterior(tmp_path / "a.zarr")["predictions_constant_data"]
    assert constant["x"].values.tolist() == [1.0, 2.0, 4.0]


def test_posteriors_without_draws_are_written(tmp_path):
    fit = regression(missing="drop")
    found = fit.log_likelihood(slopes(2, 0), store=tmp_path / "a.zarr")
    assert found["log_likelihood"]["y"].shape == (2, 0, 4)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("the third chunk")])
def test_an_error_leaves_the_draws_before_it(tmp_path, monkeypatch, error):
    fit, post, store = regression(missing="drop"), slopes(1, 10), tmp_path / "a.zarr"
    write, calls = chunked.StoredGroups._write, []

    def failing(self, group, dataset, **options):
        calls.append(group)
        write(self, group, dataset, **options)
        if len(calls) == 3:  # written, and not known to be
            raise error

    monkeypatch.setattr(chunked.StoredGroups, "_write", failing)
    kind = error if isinstance(error, type) else type(error)
    with pytest.raises(kind) as caught:
        fit.log_likelihood(post, store=store, chunks=3)
    assert "first 6 draws are in the store" in caught.value.__notes__[-1]
    left = xr.open_datatree(store, engine="zarr", consolidated=False)["log_likelihood"]
    assert left.sizes["draw"] == 6
    expected = fit.log_likelihood(post.isel(draw=slice(6)))["log_likelihood"]["y"]
    np.testing.assert_array_equal(left["y"].values, expected.values)


def test_a_store_that_exists_is_not_touched(tmp_path):
    fit, post, store = regression(missing="drop"), slopes(1, 3), tmp_path / "a.zarr"
    fit.log_likelihood(post, store=store)
    before = sorted(path.stat().st_mtime_ns for path in store.rglob("*"))
    with pytest.raises(dt.InputError, match=r"predict: the store '.*a.zarr' exists"):
        fit.predict(post, seed=1, store=store)
    assert sorted(path.stat().st_mtime_ns for path in store.rglob("*")) == before


@pytest.mark.parametrize("chunks", [0, -1, 2.5, True, "all"])
def test_chunks_are_a_number_of_draws(tmp_path, chunks):
    message = re.escape(f"log_likelihood: chunks is a number of draws, not {chunks!r}")
    with pytest.raises(dt.OptionError, match=message):
        regression(missing="drop").log_likelihood(
            slopes(1, 3), store=tmp_path / "a.zarr", chunks=chunks
        )
    with pytest.raises(dt.OptionError, match="chunks are those of a store, and there is none"):
        regression(missing="drop").log_likelihood(slopes(1, 3), chunks=2)


def test_a_result_that_does_not_fit_is_refused_before_it_is_computed(monkeypatch):
    n = 20_000
    obs = dt.Dim("obs", length=n)
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, dt.ones(dims=obs)))
    fit = dt.Model(y, backend="python").observe({y: np.zeros(n)})
    post = slopes(1, 2000).rename(slope="mu")
    monkeypatch.setattr(chunked, "available", lambda: 10**8)
    tracemalloc.start()
    try:
        for call in (fit.log_likelihood, lambda post: fit.predict(post, seed=1)):
            with pytest.raises(
                dt.MemoryLimitError, match=r"needs 320 MB of memory, 100 MB are"
            ) as e:
                call(post)
            assert re.search(
                r'hint: (log_likelihood|predict)\(\.\.\., store="\1\.zarr"\)', str(e.value)
            )
        assert tracemalloc.get_traced_memory()[1] < 1e7
    finally:
        tracemalloc.stop()


def test_memory_is_that_of_a_few_chunks(tmp_path):
    n = 2_000
    obs = dt.Dim("obs", length=n)
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, dt.ones(dims=obs)))
    fit = dt.Model(y, backend="python").observe({y: np.zeros(n)})
    post = slopes(1, 2000).rename(slope="mu")
    fit.predict(post.isel(draw=slice(2)), seed=1)  # compiles
    tracemalloc.start()
    try:
        fit.predict(post, seed=1, store=tmp_path / "a.zarr", chunks=200)  # 3 of 32 MB
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
