"""Seconds from the expression of the radon model to its first gradient, each in a new process.

``state`` says what the caches on disk hold: nothing (``cold``), this very function (``warm``), or
the same with other names of dims (``renamed``), other lengths (``resized``), other data
(``swapped``). Libraries are imported and bytecode is compiled beforehand. ``us`` is a later call:
what comes from a cache is to be as fast as what is compiled. ``cpu_s`` are seconds of the
processor, to which a busy machine adds less than to those that pass.

The lines of ``demo`` are of ``examples/radon.py``, the import included: ``posterior_s`` is what
passes until the posterior is there, tables and pictures excluded.
"""

import compileall
import importlib
import json
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 3
STATES = ("cold", "warm", "renamed", "resized", "swapped")
WHO = ("hand", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor")
HOUSES = 919
HERE = Path(__file__).parent.parent
DEMO = HERE.parent.parent / "examples" / "radon.py"


def _problem(radon, state):
    if state == "resized":
        radon.COUNTIES = 60
        return radon.problem(700)
    p = radon.problem(HOUSES)
    if state == "swapped":
        order = np.random.default_rng(7).permutation(HOUSES)
        p |= {name: p[name][order] for name in ("county", "uranium", "floor", "y")}
    return p


def _contender(radon, who, state):
    if who.startswith("dimtensor"):
        names = ("region", "covariate", "house") if state == "renamed" else ()
        return lambda p: radon._dimtensor(p, who.removeprefix("dimtensor-"), *[names] * bool(names))
    if who == "hand":
        import functools

        import numba

        numba.njit = functools.partial(numba.njit, cache=True)
    return getattr(radon, who)


def once(who, state):
    """In a process of its own: print seconds, those of the processor, a later call, results."""
    run, radon = importlib.import_module("run"), importlib.import_module("cases.radon")
    p = _problem(radon, state)
    run.import_libraries(who)
    prepare = _contender(radon, who, state)
    started, busy = time.perf_counter(), time.process_time()
    call, arguments = prepare(p)
    results = run.flattened(call(*arguments))
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    us = run.time_call(run.calls_per_sample(call, *arguments), call, *arguments)
    print(json.dumps([seconds, busy, us, results.tolist()]))


def _run(command, folder, who="dimtensor"):
    environment = importlib.import_module("run").environment(folder, who)
    found = subprocess.run(
        [sys.executable, *command], check=True, env=environment, cwd=HERE, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    return found.stdout.strip().splitlines()[-1]


def _states(who):
    """Names of dims are a notion of dimtensor alone."""
    return [state for state in STATES if who.startswith("dimtensor") or state != "renamed"]


def _first_gradients():
    check_agreement = importlib.import_module("run").check_agreement
    found = {(who, state): [] for who in WHO for state in _states(who)}
    expected = {}
    for _ in range(ROUNDS):
        for who in WHO:
            with tempfile.TemporaryDirectory() as folder:
                for state in _states(who):
                    program = f"from cases.latency import once; once({who!r}, {state!r})"
                    *times, results = json.loads(_run(["-c", program], folder, who))
                    problem = state if state in ("resized", "swapped") else "cold"
                    expected.setdefault(problem, results)
                    check_agreement(f"latency, {state}", HOUSES, who, results, expected[problem])
                    found[who, state].append(times)
    for (who, state), times in found.items():
        seconds, busy, us = (statistics.median(column) for column in zip(*times, strict=True))
        yield {
            "case": "latency",
            "n": 700 if state == "resized" else HOUSES,
            "who": who,
            "state": state,
            "compile_s": round(seconds, 3),
            "cpu_s": round(busy, 3),
            "us": round(us, 2),
        }


def _demo():
    found = {"cold": [], "warm": []}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            for samples in found.values():  # cold, then warm
                line = _run([str(DEMO), "--output", f"{folder}/output"], folder)
                steps = dict(re.findall(r"(\w+) (\d+\.\d+)", line))
                samples.append({step: float(seconds) for step, seconds in steps.items()})
    for state, samples in found.items():
        step = {name: statistics.median(s[name] for s in samples) for name in samples[0]}
        until = ("import", "read", "build", "compile", "sample")
        yield {
            "case": "latency",
            "n": HOUSES,
            "who": "demo",
            "state": state,
            "import_s": step["import"],
            "compile_s": step["compile"],
            "sample_s": step["sample"],
            "posterior_s": round(statistics.median(sum(s[n] for n in until) for s in samples), 2),
        }


def measure():
    for path in (sysconfig.get_path("purelib"), HERE.parent.parent / "dimtensor"):
        compileall.compile_dir(path, quiet=2)
    yield from _first_gradients()
    yield from _demo()
