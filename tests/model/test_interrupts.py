"""Whoever interrupts gets KeyboardInterrupt soon, and what was interrupted works afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PATIENCE = 100.0

MODEL = """
import os, signal, sys, threading, time
import numpy as np
import xarray  # an import that is interrupted can leave a library that is half there
import dimtensor as dt
from dimtensor import dist

k, obs = dt.Dim("k", length=200), dt.Dim("obs", length=40)
x = dt.rv("x", dist.Normal(0.0, 1.0), dims=k)
y = dt.rv("y", dist.Normal((x * x).sum(), 1.0), dims=obs)
model = dt.Model(y, backend=BACKEND)
fit = model.observe({y: np.zeros(40)})
quiet = dict(report=False, progress_bar=False)


# a shell's background jobs do not hear of interruptions
signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupted(work):
    # the test is told, and interrupts as a terminal and a notebook do: the whole group of processes
    print("go", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("it came to an end", flush=True)


def finishes():
    alone = {thread.name for thread in threading.enumerate()}
    assert not any("dimtensor-progress" in name or "_work" in name for name in alone), alone
    found = fit.sample(5, tune=5, chains=1, seed=1, **quiet)
    assert found["posterior"].sizes["draw"] == 5, found
    print("fine", flush=True)
"""


def run(code: str, backend: str, afters: Sequence[float]) -> None:
    """Interrupt a process some seconds after each time that it says go."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", f"BACKEND = {backend!r}\n" + MODEL + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    watchdog = threading.Timer(_PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    try:
        for after in afters:
            assert process.stdout.readline() == "go\n", process.communicate()[1]
            time.sleep(after)
            os.killpg(process.pid, signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n", process.communicate()[1]
        out, err = process.communicate()
        assert (process.returncode, out) == (0, "fine\n"), err
        # workers would be in the same group
        with pytest.raises(ProcessLookupError, match="No such process"):
            os.killpg(process.pid, 0)
    finally:
        watchdog.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_sampling_and_predicting():
    code = """
import xarray as xr
interrupted(lambda: fit.sample(10**6, tune=10**6, chains=2, seed=1, **quiet))
draws = xr.Dataset({"x": (("chain", "draw", "k"), np.zeros((1, 5_000, 200)))})
interrupted(lambda: [fit.predict(draws, seed=at) for at in range(10**6)])
few = fit.predict(draws.isel(draw=slice(3)), seed=1)
assert few["posterior_predictive"]["y"].sizes["draw"] == 3
finishes()
"""
    run(code, "python", [1.0, 1.0])


@pytest.mark.slow
def test_calibration_in_this_process():
    code = """
interrupted(lambda: dt.calibrate(model, 1000, seed=1, ranks=99, thin=10, processes=1))
finishes()
"""
    run(code, "python", [3.0])


@pytest.mark.slow
def test_checks_in_processes_of_their_own():
    code = """
interrupted(lambda: dt.calibrate(model, 1000, seed=1, ranks=99, thin=10, processes=2))
interrupted(lambda: dt.cross_validate(fit, obs, folds=40, seed=1, processes=2, draws=10**5))
finishes()
"""
    run(code, "python", [4.0, 4.0])


@pytest.mark.slow
@pytest.mark.compiled
def test_compilation(tmp_path, monkeypatch):
    """Wherever it is interrupted, the function compiles when it is called again."""
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path))
    code = """
z = dt.tensor("z", dims=k)
total = sum(dt.sin(z * at).sum() * dt.cos(z + at).mean() for at in range(10))
gradient = dt.grad(total, z)
f = dt.function([z], gradient, "numba")
def forever():
    f(np.ones(200))
    time.sleep(60)
for _ in range(3):
    interrupted(forever)
found = f(np.ones(200)).values
expected = dt.function([z], gradient, "python")(np.ones(200)).values
np.testing.assert_allclose(found, expected, rtol=1e-6)
interrupted(lambda: fit.sample(300_000, tune=100_000, chains=2, seed=1, **quiet))
finishes()
"""
    run(code, "numba", [0.2, 0.5, 1.0, 3.0])
    assert not list(tmp_path.rglob("*.part"))
