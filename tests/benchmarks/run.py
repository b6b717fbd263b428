"""Run benchmark cases: one process per contender, results compared before times are printed."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CASES = ("radon", "normal", "effect", "import", "build")
CONTENDERS = ("hand", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor")
REPEATS = 25


def time_call(call, *arguments) -> float:
    """Median microseconds of a call."""
    call(*arguments)
    number, elapsed = 1, 0.0
    while elapsed < 0.01:
        number *= 2
        started = time.perf_counter()
        for _ in range(number):
            call(*arguments)
        elapsed = time.perf_counter() - started
    number = max(1, int(number * 0.01 / elapsed))
    samples = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        for _ in range(number):
            call(*arguments)
        samples.append((time.perf_counter() - started) / number)
    return statistics.median(samples) * 1e6


def work(case: str, n: int, who: str, target: str) -> None:
    """In a process of its own: compile, time, and leave results and times behind."""
    module = importlib.import_module(f"cases.{case}")
    problem = module.problem(n)
    prepare = getattr(module, who.replace("-", "_"))
    import_libraries(who)
    started = time.perf_counter()
    call, arguments = prepare(problem)
    results = call(*arguments)
    flat = [np.asarray(result, dtype=float).ravel() for result in results]
    compile_s = time.perf_counter() - started
    us = time_call(call, *arguments)
    np.savez(target, compile_s=compile_s, us=us, results=np.concatenate(flat))


def import_libraries(who: str) -> None:
    if who.startswith("dimtensor"):
        import dimtensor  # noqa: F401
    if who.endswith("jax"):
        import jax

        if who == "jax":
            jax.config.update("jax_enable_x64", True)
    if who == "pytensor":
        import pytensor.tensor  # noqa: F401
    if who == "hand":
        import numba  # noqa: F401


def compare(case: str, n: int) -> list[dict]:
    """Times of all contenders, after their results are found to agree."""
    found = {}
    for who in CONTENDERS:
        with tempfile.TemporaryDirectory() as folder:
            target = f"{folder}/result.npz"
            # empty caches: what is compiled here is compiled now
            flags = f"base_compiledir={folder}/pytensor," + os.environ.get("PYTENSOR_FLAGS", "")
            environment = {
                **os.environ,
                "PYTENSOR_FLAGS": flags.rstrip(","),
                "NUMBA_CACHE_DIR": f"{folder}/numba",
                "DIMTENSOR_CACHE_DIR": f"{folder}/dimtensor",
            }
            command = [sys.executable, __file__, "--work", case, str(n), who, target]
            subprocess.run(command, check=True, env=environment, cwd=HERE)
            with np.load(target) as stored:
                found[who] = {key: stored[key] for key in stored.files}
    reference = found["hand"]["results"]
    for who, result in found.items():
        np.testing.assert_allclose(
            result["results"], reference, rtol=1e-9, atol=1e-9 * np.abs(reference).max(),
            err_msg=f"{who} on {case}, n={n}",
        )  # fmt: skip
    return [
        {
            "case": case,
            "n": n,
            "who": who,
            "compile_s": round(float(result["compile_s"]), 3),
            "us": round(float(result["us"]), 2),
        }
        for who, result in found.items()
    ]


def run_case(case: str) -> None:
    module = importlib.import_module(f"cases.{case}_" if case == "import" else f"cases.{case}")
    if hasattr(module, "measure"):
        lines = module.measure()
    else:
        lines = (line for n in module.SIZES for line in compare(case, n))
    for line in lines:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    if sys.argv[1:2] == ["--work"]:
        case, n, who, target = sys.argv[2:]
        work(case, int(n), who, target)
    else:
        asked = sys.argv[1:] or list(CASES)
        unknown = [case for case in asked if case not in CASES]
        if unknown:
            sys.exit(f"there is no case {unknown[0]!r}; cases: {', '.join(CASES)}")
        for case in asked:
            run_case(case)
