"""Memory of gradients of loops: of stored states, of checkpoints and of steps taken back.

Sixteen pendulums by a leapfrog integrator, gradient by the start and the length of a step.
``peak_mb`` is what a process grows by during a call, beyond a call of ten steps; ``ns`` is the time
of a step, there and back. Linux only.
"""

import ctypes
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LEVELS = {
    "checkpoint-2": 2,
    "checkpoint-3": 3,
}
K = 16
HERE = Path(__file__).parent.parent
MEGABYTE = 1e6


def gradient(who, backend="numba"):
    """A function of start, length of a step and number of steps."""
    import dimtensor as dt

    pendulum = dt.Dim("pendulum", length=K)
    start, h = dt.tensor("start", dims=pendulum), dt.scalar("h")
    n = dt.scalar("n", dtype="int64")

    def step(i, state):
        angle, speed = state
        speed = speed - h * dt.sin(angle)
        return angle + h * speed, speed

    def back(i, state):
        angle, speed = state
        angle = angle - h * speed
        return angle, speed + h * dt.sin(angle)

    options = {"inverse": back} if who == "inverse" else {}
    if who in LEVELS:
        options = {"checkpoint": dt.checkpoint_levels(LEVELS[who])}
    angle, _ = dt.fori_loop(0, n, step, (start, dt.zeros(pendulum)), **options)
    total = angle.sum()
    f = dt.function([start, h, n], [total, *dt.grad(total, [start, h])], backend=backend)
    return f.positional


def arguments(n):
    return np.linspace(0.0, 1.0, K), np.asarray(0.001), np.asarray(n)


def once(who, n):
    """In a process of its own: print what one call takes, and its results."""
    run, memory = importlib.import_module("run"), importlib.import_module("cases.memory")
    call = gradient(who)
    # large blocks come from the system and go back to it
    ctypes.CDLL(None).mallopt(memory.M_MMAP_THRESHOLD, 64 * 1024)
    call(*arguments(10))
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = memory._status("VmHWM")
    started = time.process_time()
    results = run.flattened(call(*arguments(n)))
    seconds = time.process_time() - started
    grown = memory._status("VmHWM") - before
    line = {"peak_mb": round(grown / MEGABYTE, 1), "ns": round(seconds / n * 1e9)}
    print(json.dumps([line, results.tolist()]))


def measured(who, n):
    """What a call takes, and its results."""
    run = importlib.import_module("run")
    program = f"from cases.loop_memory import once; once({who!r}, {n})"
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run(
            [sys.executable, "-c", program], check=True, env=run.environment(folder), cwd=HERE,
            stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
    line, results = json.loads(output.strip().splitlines()[-1])
    return line, np.array(results)


def measure():
    for n in SIZES:
        expected = None
        for who in ("stored", *LEVELS, "inverse"):
            line, results = measured(who, n)
            expected = results if expected is None else expected
            # rounding is not taken back by an inverse
            np.testing.assert_allclose(results, expected, rtol=1e-7, err_msg=f"{who}, n={n}")
            yield {"case": "loop_memory", "n": n, "who": who, **line}
