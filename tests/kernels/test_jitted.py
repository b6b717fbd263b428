"""Kernels that numba compiles are on disk for the next process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.compiled

SCRIPT = """
import json
import numpy as np
import pytensor.tensor as pt
from dimtensor.kernels.compiler import compile_kernel

z, a = pt.zvector("z"), pt.dmatrix("a")
kernel = compile_kernel([z, a], [pt.exp(z) * FACTOR, pt.linalg.cholesky(a)])
values, factor = kernel.function(np.array([0.0, 1j]), 4.0 * np.eye(2))
stats = kernel.function.stats
print(json.dumps({
    "hits": sum(stats.cache_hits.values()), "misses": sum(stats.cache_misses.values()),
    "real": values.real.tolist(), "factor": factor.tolist(),
}))
"""


def run(folder, factor="2.0", **settings):
    """What a process of its own computes, and how often it compiled."""
    own = {
        **os.environ, "PYTENSOR_FLAGS": f"base_compiledir={folder}", "DIMTENSOR_NATIVE": "0",
        "DIMTENSOR_STRICT_KERNELS": "0", "DIMTENSOR_CACHE": "1", **settings,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT.replace("FACTOR", factor)],
        env=own, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_next_process_compiles_nothing(tmp_path):
    first, second = run(tmp_path), run(tmp_path)
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (second["hits"], second["misses"]) == (1, 0)
    for found in (first, second):
        assert found["real"] == pytest.approx([2.0, 2 * 0.5403023058681398])
        assert found["factor"] == [[2.0, 0.0], [0.0, 2.0]]
    # and another kernel is another one
    other = run(tmp_path, factor="3.0")
    assert (other["hits"], other["misses"]) == (0, 1)
    assert other["real"][0] == pytest.approx(3.0)


@pytest.mark.slow
def test_nothing_is_kept_where_no_cache_is_wanted(tmp_path):
    for _ in range(2):
        assert run(tmp_path, DIMTENSOR_CACHE="0")["hits"] == 0
