"""Kernels that numba compiles leave nothing on disk and read nothing from there."""

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
kernel = compile_kernel([z, a], [pt.exp(z) * 2.0, pt.linalg.cholesky(a)])
values, factor = kernel.function(np.array([0.0, 1j]), 4.0 * np.eye(2))
stats = kernel.function.stats
print(json.dumps({
    "hits": sum(stats.cache_hits.values()), "misses": sum(stats.cache_misses.values()),
    "real": values.real.tolist(), "factor": factor.tolist(),
}))
"""


def run(folder, **settings):
    """What a process of its own computes, and how often it compiled."""
    own = {
        **os.environ, "PYTENSOR_FLAGS": f"base_compiledir={folder}", "DIMTENSOR_CACHE": "1",
        "DIMTENSOR_STRICT_KERNELS": "0", **settings,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env=own, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("native", ["0", "1"])
def test_nothing_is_kept(native, tmp_path):
    found = run(tmp_path, DIMTENSOR_NATIVE=native)
    assert found["hits"] == 0
    assert found["real"] == pytest.approx([2.0, 2 * 0.5403023058681398])  # exp(i) is cos(1) + ...
    assert found["factor"] == [[2.0, 0.0], [0.0, 2.0]]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_functions_of_pytensor_are_kept_as_the_user_chose(monkeypatch):
    """The setting of the process is as it was, also after threads that overlap and errors."""
    import threading

    import pytensor

    from dimtensor.upstream.pytensor import nothing_kept

    seen, inside, go = [], threading.Event(), threading.Event()

    def look():
        seen.append(pytensor.config.numba__cache)

    def wait():
        inside.set()
        go.wait(10)
        look()

    def fail():
        raise KeyError("raised within")

    def first():
        nothing_kept(wait)

    def second():
        nothing_kept(lambda: nothing_kept(look))

    for chosen in (True, False):
        with pytensor.config.change_flags(numba__cache=chosen):
            threads = [threading.Thread(target=one) for one in (first, second)]
            threads[0].start()
            inside.wait(10)
            threads[1].start()
            go.set()
            for thread in threads:
                thread.join()
            with pytest.raises(KeyError, match="raised within"):
                nothing_kept(fail)
            assert pytensor.config.numba__cache is chosen
    assert seen == [False] * 4
