"""Arrays in chunks: value and gradient of a logistic regression with ten columns.

``dimtensor`` is a call with arrays in memory, ``dimtensor-dask`` one with dask arrays, on dask's
threads, and ``dask-array`` the same written with ``dask.array``. ``dimtensor-cluster`` evaluates
the density of a model on two processes, as ``fit.sample(client=...)`` does. ``graph_ms`` is the
part of ``ms`` in which the graph is built. Times are those of the clock, the fastest of five.
"""

import time

import numpy as np

SIZES = (1_000_000,)
CHUNKS = (16, 128)
WHO = ("dimtensor", "dimtensor-dask", "dask-array", "dimtensor-cluster")
COLUMNS, ROUNDS = 10, 5


def problem(n):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, COLUMNS))
    slope = rng.normal(size=COLUMNS) / np.sqrt(COLUMNS)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-x @ slope))).astype(float)
    return {"x": x, "y": y, "slope": slope + 0.1}


def _expressions():
    import dimtensor as dt

    obs, k = dt.Dim("obs"), dt.Dim("k")
    x, y = dt.tensor("x", dims=[obs, k]), dt.tensor("y", dims=obs)
    slope = dt.tensor("slope", dims=k)
    eta = dt.dot(x, slope, dim=k)
    logp = (y * eta - dt.softplus(eta)).sum() - 0.5 * (slope**2).sum()
    return x, y, slope, logp


def _function():
    import dimtensor as dt

    x, y, slope, logp = _expressions()
    return dt.function([x, y, slope], [logp, dt.grad(logp, slope)])


def _computed(build):
    import dask

    def call():
        started = time.perf_counter()
        lazy = build()
        built = time.perf_counter() - started
        return [np.asarray(one) for one in dask.compute(*lazy)], built

    return call


def dimtensor(p, chunks):
    f = _function()
    rows = ("obs", "k")
    return lambda: ([one.values for one in f((rows, p["x"]), ("obs", p["y"]), p["slope"])], 0.0)


def dimtensor_dask(p, chunks):
    import dask.array as da

    f, size = _function(), -(-len(p["y"]) // chunks)
    x, y = da.from_array(p["x"], chunks=(size, -1)), da.from_array(p["y"], chunks=size)
    return _computed(lambda: f((("obs", "k"), x), ("obs", y), p["slope"]))


def dask_array(p, chunks):
    import dask.array as da

    size, slope = -(-len(p["y"]) // chunks), p["slope"]
    x, y = da.from_array(p["x"], chunks=(size, -1)), da.from_array(p["y"], chunks=size)

    def build():
        eta = x @ slope
        logp = (y * eta - da.logaddexp(0.0, eta)).sum() - 0.5 * (slope**2).sum()
        return [logp, x.T @ (y - 1.0 / (1.0 + da.exp(-eta))) - slope]

    return _computed(build)


def dimtensor_cluster(p, chunks):
    from distributed import Client, LocalCluster

    import dimtensor as dt
    from dimtensor.compile.sliced.cuts import SliceCut
    from dimtensor.model.logdensity import evaluated
    from dimtensor.model.sliced.cluster import Cluster

    x, y, slope, logp = _expressions()
    data = {
        x: dt.data(p["x"], dims=[x.dims[1], x.dims[0]], name="x"),
        y: dt.data(p["y"], dims=y.dims, name="y"),
    }
    density = dt.LogDensity(dt.substitute(logp, data), {slope: dt.real})
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster, set_as_default=False)
    on_cluster = evaluated(density, Cluster(client, SliceCut(y.dims[0], chunks)))

    def call():
        value, gradient = on_cluster.logp_and_grad(p["slope"])
        return [np.asarray(value), gradient], 0.0

    return call


def measure():
    from run import check_agreement, flattened

    for n in SIZES:
        p = problem(n)
        for chunks in CHUNKS:
            expected = None
            for who in WHO:
                call = globals()[who.replace("-", "_")](p, chunks)
                results = flattened(call()[0])
                expected = results if expected is None else expected
                check_agreement("dask", n, who, results, expected)
                samples = []
                for _ in range(ROUNDS):
                    started = time.perf_counter()
                    _, built = call()
                    samples.append((time.perf_counter() - started, built))
                seconds, built = min(samples)
                line = {"case": "dask", "n": n, "chunks": chunks, "who": who}
                yield {**line, "ms": round(seconds * 1e3, 2), "graph_ms": round(built * 1e3, 2)}
