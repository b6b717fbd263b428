"""Threads of BLAS: the gradient of a log determinant by a Cholesky factor, beside other work.

``load`` is the number of other processes that compute meanwhile: none, or one on each core, as the
chains of a sampler do. All have the environment as it is, without limits to threads;
``dimtensor-threads`` is dimtensor with ``DIMTENSOR_BLAS_THREADS=1``. ``us`` is the median of the
time that passes, ``mean_us`` its mean, because few calls wait for long; ``cpu_ratio`` is the
processor time of the process by that of the calling thread, 1 if no other thread works.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

SIZES = (64, 200)
WHO = ("dimtensor-numba", "dimtensor-threads", "dimtensor-jax", "jax", "pytensor")
SECONDS = 1.0
HERE = Path(__file__).parent.parent


def problem(n):
    x = np.linspace(0.0, 10.0, n)
    return {"apart": 0.5 * np.subtract.outer(x, x) ** 2, "eye": 0.1 * np.eye(n)}


def dimtensor(p, backend):
    import dimtensor as dt

    point, other = (dt.Dim(name, length=len(p["eye"])) for name in ("point", "other"))
    apart, eye = (dt.data(p[name], dims=(point, other)) for name in ("apart", "eye"))
    scale = dt.scalar("scale")
    root = dt.linalg.cholesky(dt.exp(-apart * scale) + eye, dims=(point, other))
    total = dt.log(dt.linalg.diagonal(root, dims=(point, other))).sum()
    return dt.function([scale], [total, *dt.grad(total, [scale])], backend=backend).positional


def jax(p):
    import jax
    import jax.numpy as jnp

    def logdet(scale, apart, eye):
        root = jnp.linalg.cholesky(jnp.exp(-apart * scale) + eye)
        return jnp.sum(jnp.log(jnp.diag(root)))

    f, given = jax.jit(jax.value_and_grad(logdet)), [jnp.asarray(p[x]) for x in ("apart", "eye")]
    return lambda scale: jax.block_until_ready(f(scale, *given))


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    scale = pt.dscalar("scale")
    root = pt.linalg.cholesky(pt.exp(-pytensor.shared(p["apart"]) * scale) + p["eye"])
    total = pt.log(pt.diag(root)).sum()
    results = [total, pytensor.grad(total, scale)]
    return pytensor.function([scale], results, mode="NUMBA", trust_input=True)


def once(who, n):
    """In a process of its own: print times and results."""
    run = importlib.import_module("run")
    run.import_libraries(who)
    if who.startswith("dimtensor"):
        call = dimtensor(problem(n), "jax" if who.endswith("jax") else "numba")
    else:
        call = {"jax": jax, "pytensor": pytensor}[who](problem(n))
    scale = np.asarray(0.7)
    results = run.flattened(call(scale))
    passed, process, thread = [], time.process_time(), time.thread_time()
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        started = time.perf_counter()
        call(scale)
        passed.append(time.perf_counter() - started)
    ratio = (time.process_time() - process) / (time.thread_time() - thread)
    line = {
        "us": run.three_digits(1e6 * statistics.median(passed)),
        "mean_us": run.three_digits(1e6 * statistics.fmean(passed)),
        "cpu_ratio": run.three_digits(ratio),
    }
    print(json.dumps([line, results.tolist()]))


def measured(who, n, load):
    environment = importlib.import_module("run").environment
    program = f"from cases.cholesky import once; once({who!r}, {n})"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for _ in range(load):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        variables = environment(folder)
        if who == "dimtensor-threads":
            variables["DIMTENSOR_BLAS_THREADS"] = "1"
        output = subprocess.run(
            [sys.executable, "-c", program], check=True, env=variables, cwd=HERE,
            stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
    line, results = json.loads(output.strip().splitlines()[-1])
    return line, np.array(results)


def measure():
    check_agreement = importlib.import_module("run").check_agreement
    for n in SIZES:
        expected = None
        for who in WHO:
            for load in (0, os.cpu_count()):
                line, results = measured(who, n, load)
                expected = results if expected is None else expected
                check_agreement("cholesky", n, who, results, expected)
                yield {"case": "cholesky", "n": n, "who": who, "load": load, **line}
