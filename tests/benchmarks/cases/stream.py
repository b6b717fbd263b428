"""Value and gradient of a regression with a look-up, whose rows are read from files in chunks.

``memory`` has the data in memory, ``stream`` is `dt.stream` of the same files, ``jax`` one jitted
function of a chunk, called in a loop, and ``dask`` the value and the gradient written by hand with
`dask.array`. Rows have three columns of 8 bytes, in files that are generated and removed. Of a
process for each: ``rows_per_s`` by the clock of the wall in the fastest of some passes, ``cpu_ns``
of the processor per row in all threads, ``peak_mb`` of memory beyond that before the first pass,
mapped files included, and ``ratio`` of the time of ``memory``, or of the first that ran, to its
own. Code is compiled before, for some rows. Linux only.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIZES = (1_000_000, 10_000_000, 100_000_000)
CONTENDERS = ("memory", "stream", "jax", "dask")
COUNTIES, CHUNK, BLOCK, PASSES = 85, 2**18, 10**6, 3
COLUMNS = {"x": "f8", "y": "f8", "county": "i8"}
HERE = Path(__file__).parent.parent


def _write(folder, n):
    """Write the columns block by block."""
    rng = np.random.default_rng(5)
    files = [open(f"{folder}/{name}", "wb") for name in COLUMNS]  # noqa: SIM115
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        rng.normal(size=rows).tofile(files[0])
        rng.normal(size=rows).tofile(files[1])
        rng.integers(0, COUNTIES, rows).tofile(files[2])
    for file in files:
        file.close()


def _maps(folder, n):
    return {k: np.memmap(f"{folder}/{k}", kind, "r", shape=(n,)) for k, kind in COLUMNS.items()}


POINT = np.random.default_rng(6).normal(size=COUNTIES + 2) * 0.1


def _density(read):
    import dimtensor as dt

    obs, county = dt.Dim("obs"), dt.Dim("county", length=COUNTIES)
    effect, slope, sd = dt.tensor("effect", county), dt.scalar("slope"), dt.scalar("sd")
    mean = effect.sel(county=read("county", obs, county)) + slope * read("x", obs, None)
    terms = {
        "y": -0.5 * ((read("y", obs, None) - mean) / sd) ** 2 - dt.log(sd),
        "effect": -0.5 * effect**2,
        "slope": -0.5 * slope**2,
        "sd": -sd,
    }
    found = dt.LogDensity(terms, {effect: dt.real, slope: dt.real, sd: dt.positive})
    return found.logp_and_grad


def memory(maps):
    import dimtensor as dt

    return _density(lambda k, d, of: dt.data(np.array(maps[k]), d, name=k, categories=of))


def stream(maps):
    import dimtensor as dt

    return _density(lambda k, d, of: dt.stream(maps[k], d, CHUNK, name=k, categories=of))


def _finished(value, effect, slope, sd, n):
    """Add the priors and the Jacobian to sums over rows."""
    own, b, log_sd = POINT[:COUNTIES], POINT[COUNTIES], POINT[-1]
    value += -0.5 * np.sum(own**2) - 0.5 * b**2 - np.exp(log_sd) + log_sd - n * log_sd
    last = sd - n - np.exp(log_sd) + 1.0
    return float(value), np.concatenate([effect - own, [slope - b, last]])


def jax(maps):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def share(point, x, y, county):
        residual = y - point[:COUNTIES][county] - point[COUNTIES] * x
        return -0.5 * jnp.sum((residual / jnp.exp(point[-1])) ** 2)

    f = jax.jit(jax.value_and_grad(share))
    n = len(maps["y"])

    def call(point):
        value, gradient = 0.0, np.zeros(len(point))
        for at in range(0, n, CHUNK):
            found = f(point, *(maps[k][at : at + CHUNK] for k in ("x", "y", "county")))
            value, gradient = value + float(found[0]), gradient + np.asarray(found[1])
        return _finished(value, gradient[:COUNTIES], *gradient[COUNTIES:], n)

    return call


def dask(maps):
    import dask
    import dask.array as da

    x, y, county = (da.from_array(maps[k], CHUNK) for k in ("x", "y", "county"))
    n = len(y)

    def call(point):
        effect, variance = point[:COUNTIES], np.exp(2.0 * point[-1])
        residual = y - county.map_blocks(effect.__getitem__, dtype=float) - point[COUNTIES] * x
        sums = [
            (residual**2).sum(),
            (residual * x).sum(),
            da.bincount(county, weights=residual, minlength=COUNTIES),
        ]
        squares, slope, groups = dask.compute(*sums)
        value = -0.5 * squares / variance
        return _finished(value, groups / variance, slope / variance, squares / variance, n)

    return call


def _work(who, folder, n):
    """In a process of its own: value and gradient, and what they took."""
    globals()[who](_maps(folder, 1000))(POINT)  # libraries and compilers have their memory
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins here
    before = _memory("VmRSS")
    call = globals()[who](_maps(folder, n))
    value, gradient = call(POINT)
    walls, processors = [], []
    for _ in range(PASSES):
        wall, processor = time.perf_counter(), time.process_time()
        call(POINT)
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    peak = _memory("VmHWM") - before
    found = {"wall": min(walls), "cpu": min(processors), "peak": peak}
    return {**found, "results": [value, *gradient.tolist()]}


def _memory(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure():
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            free = os.statvfs(folder)
            if free.f_bavail * free.f_frsize < 2 * 24 * n:
                yield {"case": "stream", "n": n, "skipped": "the disk is too full"}
                continue
            _write(folder, n)
            yield from _lines(folder, n)


def _lines(folder, n):
    first = None
    for who in CONTENDERS:
        # -P: the cases beside this file have names of libraries
        command = [sys.executable, "-P", __file__, who, folder, str(n)]
        done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found
        np.testing.assert_allclose(found["results"], first["results"], rtol=1e-9)
        yield {
            "case": "stream",
            "n": n,
            "who": who,
            "rows_per_s": float(f"{n / found['wall']:.3g}"),
            "cpu_ns": float(f"{found['cpu'] / n * 1e9:.3g}"),
            "peak_mb": round(found["peak"] / 1e6, 1),
            "ratio": float(f"{first['wall'] / found['wall']:.3g}"),
        }


if __name__ == "__main__":
    print(json.dumps(_work(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
