"""Seconds of an import in a fresh process, median of several, the contenders in turn."""

import statistics
import subprocess
import sys

ROUNDS = 9
STATEMENTS = {
    "dimtensor": "import dimtensor",
    "numpy": "import numpy",
    "first tensor": "import dimtensor as dt; dt.scalar('x')",
    "pytensor": "import pytensor.tensor",
    "jax": "import jax.numpy",
}


def measure():
    program = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    samples = {who: [] for who in STATEMENTS}
    for _ in range(ROUNDS):
        for who, statement in STATEMENTS.items():
            output = subprocess.run(
                [sys.executable, "-c", program.format(statement)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            samples[who].append(float(output))
    for who, times in samples.items():
        us = statistics.median(times) * 1e6
        yield {"case": "import", "n": 1, "who": who, "compile_s": 0.0, "us": round(us)}
