"""Log densities on a cluster of dask: the bits are those of the slices, whoever computes them."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.sliced.cuts import SliceCut
from dimtensor.compile.sliced.program import combined, subtrees, tree
from dimtensor.model.logdensity import evaluated, threaded
from dimtensor.model.sliced import cluster as clusters
from dimtensor.model.sliced.cluster import Cluster, WorkerCode, WorkerData
from dimtensor.model.sliced.density import DensitySlices
from dimtensor.streams.reading import RowReader
from dimtensor.streams.stream import stream_of
from tests.model.test_sliced_densities import OBS, model_of

CUT = SliceCut(OBS, 8)


def in_slices(density: dt.LogDensity, x: np.ndarray) -> Any:
    """Value and gradient from the shares of slices, computed in this process."""
    slices = DensitySlices(density.functions, OBS, rows=True)
    ends = CUT.ends(slices.held.length)
    shares = [slices.share(slices.held.pieces(*pair), pair[0])(x) for pair in ends]
    return slices.total(shares, slices.rest(x))


def same(one: Any, other: Any) -> None:
    assert float(one[0]) == float(other[0])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("number", [1, 2, 5, 8, 11])
def test_subtrees_of_workers_make_up_the_tree(number: int):
    def join(x: str, y: str) -> str:
        return f"({x}{y})"

    values = "abcdefghijk"[:number]
    expected = tree(np.array([*values], object), np.frompyfunc(join, 2, 1))
    for cut in range(number + 1):
        sides = [range(cut), range(cut, number)]
        parts = [subtrees({(0, at): values[at] for at in side}, number, join) for side in sides]
        whole = subtrees({**parts[0], **parts[1]}, number, join)
        assert [*whole.values()] == [expected]


def test_code_for_workers_is_pickled_without_the_data():
    density = model_of(100_000)
    slices = DensitySlices(density.functions, OBS)
    code = WorkerCode(slices.held.code, slices.lengths, ("add", "add"), 8)
    pickled = pickle.dumps(code)
    assert len(pickled) < 100_000
    ends = CUT.ends(slices.held.length)
    pieces = [slices.held.pieces(*pair) for pair in ends[:3]]
    data = WorkerData("first", (0, 1, 2), tuple(start for start, _ in ends[:3]), pieces)
    x = np.linspace(-1.0, 1.0, density.size)
    found = pickle.loads(pickled).shares(pickle.loads(pickle.dumps(data)), x)
    own = [slices.share(part, start)(x) for part, start in zip(pieces, data.starts, strict=True)]
    assert found.keys() == {(1, 0), (0, 2)}
    same(found[1, 0], [a + b for a, b in zip(own[0], own[1], strict=True)])
    same(found[0, 2], own[2])


# -- streams ---------------------------------------------------------------------------------------


def density_of_files(folder: Path) -> dt.LogDensity:
    """Columns in files that workers open, and one in memory."""
    rng, rows = np.random.default_rng(0), 203
    group = dt.Dim("group", coords=["a", "b", "c"])
    np.save(folder / "x.npy", rng.normal(size=rows))
    np.save(folder / "who.npy", rng.choice(["a", "b", "c"], rows))
    x = dt.stream(folder / "x.npy", OBS, chunks=40)
    who = dt.stream(folder / "who.npy", OBS, categories=group, name="who")
    y = dt.data(rng.normal(size=rows), OBS, name="y")
    mu, sd = dt.tensor("mu", group), dt.scalar("sd")
    terms = {
        "y": -0.5 * ((y - mu.sel(group=who) * x) / sd) ** 2 - dt.log(sd) - dt.arange(OBS) * sd**2,
        "mean": x.mean() * mu - mu**2,
        "sd": -sd,
    }
    return dt.LogDensity(terms, {mu: dt.real, sd: dt.positive}, "python")


def test_chunks_of_streams_are_read_and_computed_elsewhere(tmp_path: Path):
    density = density_of_files(tmp_path)
    work = clusters.StreamWork(density.functions)
    assert work.number == 6
    code, x = pickle.loads(pickle.dumps(work.code())), np.array([0.3, -0.2, 0.5, 0.1])
    found: clusters.Shares = {}
    for numbers in [(0, 1, 2), (3,), (4, 5)]:
        pickled = pickle.dumps(work.chunks(numbers))
        assert len(pickled) < 8000  # without the rows of streams
        chunks = pickle.loads(pickled)
        for _ in range(2):
            shares = code.shares(chunks, x)
        found |= shares
    (whole,) = subtrees(found, 6, partial(combined, work.operations)).values()
    same(work.total(whole, work.rest(x)), threaded(density, 1, "test").logp_and_grad(x))
    (tmp_path / "x.npy").unlink()
    with pytest.raises(dt.StreamError, match="chunk 4, from row 160 on") as caught:
        code.shares(chunks, x)
    assert caught.value.__notes__ == [
        "A worker of the cluster reads it, at the same path as this process."
    ]


@pytest.mark.parametrize("kind", ["array", "factory", "DataArray", "zarr in memory"])
def test_streams_of_this_process_are_refused(kind: str):
    values: Any = np.zeros(5)
    if kind == "factory":
        values = lambda: [np.zeros(5)]  # noqa: E731
    elif kind == "DataArray":
        values = xr.DataArray(values, dims="obs")
    elif kind == "zarr in memory":
        zarr = pytest.importorskip("zarr")
        values = zarr.create_array(zarr.storage.MemoryStore(), shape=5, dtype="f8")
    x = stream_of(dt.stream(values, OBS, name="x"))
    with pytest.raises(dt.StreamError, match="workers of a cluster cannot read the stream 'x'"):
        RowReader([x]).for_workers()


def test_what_is_no_client_is_refused():
    pytest.importorskip("distributed")
    density = model_of()
    with pytest.raises(dt.ArgumentError, match=r"client is a client of dask\.distributed, not str"):
        dt.sample(density, client="tcp://localhost")
    with pytest.raises(dt.OptionError, match="threads=2 are of this process"):
        dt.sample(density, client="tcp://localhost", threads=2)


# -- clusters of processes -------------------------------------------------------------------------


@contextmanager
def two_processes() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    cluster = distributed.LocalCluster(n_workers=2, **options)
    with cluster, distributed.Client(cluster, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with two_processes() as client:
        yield client


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Client of a cluster whose workers may be killed."""
    monkeypatch.setattr(clusters, "CLUSTER_PATIENCE", 120)  # until a successor is there
    with two_processes() as client:
        yield client


def kill_a_worker(client: Any) -> None:
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_bits_do_not_depend_on_workers(client: Any):
    density = model_of(400)
    parts = evaluated(density, Cluster(client, CUT))
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=density.size)
        same(parts.logp_and_grad(x), in_slices(density, x))
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "threads_per_worker": 3, "dashboard_address": ":0"}
    one = distributed.LocalCluster(n_workers=1, **options)
    with one, distributed.Client(one, timeout=60, set_as_default=False) as other:
        alone = evaluated(density, Cluster(other, CUT))
        same(alone.logp_and_grad(x), in_slices(density, x))


@pytest.mark.slow
def test_chunks_of_a_killed_worker_are_computed_again(mortal: Any):
    density = model_of(400)
    parts = evaluated(density, Cluster(mortal, CUT))
    x = np.linspace(-1.0, 1.0, density.size)
    same(parts.logp_and_grad(x), in_slices(density, x))
    kill_a_worker(mortal)
    same(parts.logp_and_grad(x), in_slices(density, x))
    for pid in mortal.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    same(parts.logp_and_grad(x), in_slices(density, x))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the draws may not be")
def test_draws_are_the_same_after_a_worker_died(mortal: Any):
    # interpreted: workers optimize machine code as for users, and the tests' processes do not
    pytest.importorskip("nutpie")
    rng = np.random.default_rng(0)
    obs, group = dt.Dim("obs"), dt.Dim("group", coords=["a", "b", "c"])
    mu = dt.rv("mu", dist.Normal(0.0, 2.0), dims=group)
    who = dt.data(rng.choice(["a", "b", "c"], 200_000), dims=obs, categories=group)
    y = dt.rv("y", dist.Normal(mu.sel(group=who), 1.0), dims=obs)
    fit = dt.Model(y, backend="python").observe({y: rng.normal(size=200_000)})
    options = {"tune": 30, "chains": 1, "seed": 1, "report": False, "progress_bar": False}
    expected = fit.sample(30, threads=1, **options)["posterior"]["mu"]
    timer = threading.Timer(1.0, kill_a_worker, [mortal])
    timer.start()
    found = fit.sample(30, client=mortal, **options)["posterior"]["mu"]
    timer.join()
    xr.testing.assert_identical(found, expected)
    mode = fit.mode(client=mortal)["posterior"]["mu"]
    xr.testing.assert_identical(mode, fit.mode(threads=1)["posterior"]["mu"])


@pytest.mark.slow
def test_workers_read_streams(client: Any, tmp_path: Path):
    density = density_of_files(tmp_path)
    on_cluster, here = evaluated(density, Cluster(client)), threaded(density, 1, "test")
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=density.size)
        same(on_cluster.logp_and_grad(x), here.logp_and_grad(x))
    zarr, da = pytest.importorskip("zarr"), pytest.importorskip("dask.array")
    y = np.random.default_rng(1).normal(size=203)
    stored = zarr.create_array(str(tmp_path / "y"), shape=203, chunks=(50,), dtype="f8")
    stored[:] = y
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=OBS), backend="python")
    for source in (stored, xr.DataArray(da.from_array(y, chunks=60), dims="obs")):
        fit = model.observe(y=dt.stream(source, OBS, chunks=40))
        mode = fit.mode(client=client)["posterior"]["mu"]
        xr.testing.assert_identical(mode, fit.mode(threads=1)["posterior"]["mu"])
    with pytest.raises(dt.StreamError, match="cannot read the stream"):
        model.observe(y=dt.stream(y, OBS)).mode(client=client)
    (tmp_path / "x.npy").unlink()
    with pytest.raises(dt.StreamError, match=r"cannot be read: .* No such file"):
        on_cluster.logp_and_grad(x)


@pytest.mark.slow
def test_a_function_of_chunks_on_a_cluster(client: Any):
    x, mu = dt.tensor("x", dims=OBS), dt.scalar("mu")
    f = dt.function([x, mu], [((x - mu) ** 2).sum(), x - mu], "python")
    values = xr.DataArray(np.random.default_rng(0).normal(size=1000), dims="obs")
    total, residual = f(values.chunk(obs=130), 0.5)
    found, whole = client.compute([total.data, residual.data])
    assert whole.result(timeout=60).tolist() == (values - 0.5).values.tolist()
    assert found.result(timeout=60) == total.compute(scheduler="synchronous").item()


@pytest.mark.slow
def test_a_cluster_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "CLUSTER_PATIENCE", 0.5)
    density = model_of(400)
    x = np.zeros(density.size)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    cluster = distributed.LocalCluster(n_workers=1, **options)
    with cluster, distributed.Client(cluster, timeout=60) as client:
        parts = evaluated(density, Cluster(client, CUT))
        same(parts.logp_and_grad(x), in_slices(density, x))
        cluster.scale(0)
        deadline = time.monotonic() + 60
        while client.nthreads() and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(dt.ComputationError, match="the cluster has no workers"):
            parts.logp_and_grad(x)
    with pytest.raises(dt.ComputationError, match="the client is closed"):
        parts.logp_and_grad(x)
