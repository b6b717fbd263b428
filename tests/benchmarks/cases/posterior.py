"""From the text of a model to its posterior, in a new process: imports, compiling, sampling.

    {"case": "posterior", "model": "radon", "who": "dimtensor", "state": "warm", "draws": 1000,
     "import_s": 1.1, "posterior_s": 4.2, "sample_s": 2.1, "cpu_s": 6.0, "ess": 1250,
     "ess_per_s": 595.0, "ess_per_cpu_s": 208.0, "ratio": 0.4, "cpu_ratio": 0.4}

``draws`` are those of each of four chains, after as many for tuning. ``posterior_s`` passes from
the first import until the draws are there with their names, ``sample_s`` of it in the sampler
alone; ``cpu_s`` are seconds of the processor of all threads, to which a busy machine adds less.
``ess`` is the least effective number of draws of all elements, ``ess_per_s`` by ``sample_s``,
``ess_per_cpu_s`` by ``cpu_s``; ``ratio`` and ``cpu_ratio`` are ``posterior_s`` and ``cpu_s`` by
those of PyMC in the same state. Cold processes have empty caches of compiled code, warm ones those
that a first one left.

Who needs more than ``BENCH_LIMIT`` seconds of the processor (1,200) is stopped, a line says so, and
it tries again with a quarter of the draws. Effective draws by second compare at unequal draws;
ratios of seconds do not, and are left out then. ``BENCH_DRAWS=1000,pymc:250``
says from the start who takes fewer.

PyMC and dimtensor sample with nutpie. NumPyro's ``sample_s`` is that of a second run, compiled;
where the first takes more than two minutes it is that one. Who is not installed is left out, and a
line says so. The posterior means of all are found to agree before lines are printed.
``BENCH_DRAWS=100``, ``BENCH_MODELS=radon,series``, ``BENCH_STATES=cold`` and
``BENCH_WHO=dimtensor`` make it shorter.
"""

import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WHO = tuple(os.environ.get("BENCH_WHO", "pymc,dimtensor,numpyro").split(","))
NEEDED = {"pymc": ("pymc", "nutpie"), "dimtensor": ("nutpie",), "numpyro": ("numpyro",)}
STATES = tuple(os.environ.get("BENCH_STATES", "cold,warm").split(","))
CHAINS = 4
DRAWS, *_FEWER = os.environ.get("BENCH_DRAWS", "1000").split(",")
FEWER = dict(text.split(":") for text in _FEWER)
LIMIT = int(os.environ.get("BENCH_LIMIT", "1200"))
LONG = 120  # seconds, after which nothing is run a second time
HERE = Path(__file__).parent.parent


def _sample(who, fit, draws, seed=1):
    """A posterior by name, the seconds of the sampler alone, and NumPyro's sampler."""
    options = {"draws": draws, "tune": draws, "chains": CHAINS, "cores": os.cpu_count()}
    if who == "dimtensor":
        post = fit.sample(**options, seed=seed, progress_bar=False, report=False)["posterior"]
        return post.to_dataset(), post.attrs["sampling_time"], None
    if who == "pymc":
        import nutpie

        compiled = nutpie.compile_pymc_model(fit)
        started = time.perf_counter()
        post = nutpie.sample(compiled, **options, seed=seed, progress_bar=False)
        return post["posterior"].to_dataset(), time.perf_counter() - started, None
    import jax
    from numpyro.infer import MCMC, NUTS

    sampler = MCMC(NUTS(fit), num_warmup=draws, num_samples=draws, num_chains=CHAINS,
                   chain_method="parallel", progress_bar=False)  # fmt: skip
    sampler.run(jax.random.key(seed))
    return jax.block_until_ready(sampler.get_samples(group_by_chain=True)), None, sampler


def once(who, model, draws):
    """In a process of its own: print seconds, effective draws, means and deviations."""
    started, busy = time.perf_counter(), time.process_time()
    texts = importlib.import_module("probabilistic")
    p = texts.problem(model)
    if who == "numpyro":
        import numpyro

        numpyro.set_host_device_count(CHAINS)
        numpyro.enable_x64()
    elif who == "pymc":
        import nutpie  # noqa: F401
        import pymc  # noqa: F401
    else:
        import dimtensor  # noqa: F401
    imported = time.perf_counter()
    post, sampling, sampler = _sample(who, getattr(texts, who)(model, p), draws)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    if sampler is not None and seconds > LONG:
        sampling = seconds - (imported - started)
    elif sampler is not None:  # once more, compiled
        import jax

        again = time.perf_counter()
        sampler.run(jax.random.key(2))
        jax.block_until_ready(sampler.get_samples())
        sampling = time.perf_counter() - again
    judged = _judged(post, texts.NAMES[model])
    print(json.dumps([imported - started, seconds, sampling, busy, *judged]))


def _judged(post, names):
    """The least effective number of draws; means and deviations of scalars."""
    import arviz
    import xarray as xr

    least, means = np.inf, {}
    for name in names:
        values = post[name]
        if hasattr(values, "dims"):
            values = values.transpose("chain", "draw", ...).values
        values = np.asarray(values).reshape(*np.shape(values)[:2], -1)
        ess = arviz.ess(xr.Dataset({name: (("chain", "draw", "element"), values)}))[name]
        means[name] = [float(values.mean()), float(values.std()), float(ess.min())]
        least = min(least, means[name][-1])
    return least, means


def _check(model, who, found, expected):
    for name, (mean, deviation, ess) in found.items():
        other, _, others = expected[name]
        error = 6 * deviation * np.sqrt(1 / max(ess, 1.0) + 1 / max(others, 1.0))
        if abs(mean - other) > error:
            raise AssertionError(f"{name} of {model} is {mean} by {who}, and {other} by others")


def _run(who, model, folder, draws):
    """What ``once`` prints; None where it takes too long."""
    environment = importlib.import_module("run").environment(folder)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({LIMIT}, {LIMIT}))"
    program = f"{limit}; from cases.posterior import once; once({who!r}, {model!r}, {draws})"
    try:
        output = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True,
                                text=True, env=environment, cwd=HERE,
                                stdout=subprocess.PIPE).stdout  # fmt: skip
    except subprocess.CalledProcessError as error:
        if -error.returncode not in (signal.SIGXCPU, signal.SIGKILL):
            raise
        return None
    return json.loads(output.strip().splitlines()[-1])


def installed(who):
    return all(importlib.util.find_spec(name) for name in NEEDED[who])


def measure():
    known = importlib.import_module("probabilistic").MODELS
    asked = os.environ.get("BENCH_MODELS", ",".join(known)).split(",")
    for who in WHO:
        if not installed(who):
            yield {"case": "posterior", "who": who, "skipped": "not installed"}
    for model in asked:
        expected, reference = None, {}
        for who in filter(installed, WHO):
            draws = int(FEWER.get(who, DRAWS))
            with tempfile.TemporaryDirectory() as folder:
                for state in STATES:
                    while (found := _run(who, model, folder, draws)) is None:
                        yield {"case": "posterior", "model": model, "who": who, "state": state,
                               "draws": draws, "skipped": f"more than {LIMIT} s"}  # fmt: skip
                        draws //= 4
                    means = found[-1]
                    expected = expected or means
                    _check(model, who, means, expected)
                    first = reference.setdefault(state, (draws, *found))
                    yield _line(model, who, state, draws, found, first)


def _line(model, who, state, draws, found, first):
    imported, seconds, sampling, busy, ess, _ = found
    line = {
        "case": "posterior",
        "model": model,
        "who": who,
        "state": state,
        "draws": draws,
        "import_s": round(imported, 2),
        "posterior_s": round(seconds, 2),
        "sample_s": round(sampling, 2),
        "cpu_s": round(busy, 2),
        "ess": round(ess),
        "ess_per_s": round(ess / sampling, 1),
        "ess_per_cpu_s": round(ess / busy, 2),
    }
    others, _, other_seconds, _, other_busy, *_ = first
    if draws == others:
        line |= {"ratio": round(seconds / other_seconds, 2),
                 "cpu_ratio": round(busy / other_busy, 2)}  # fmt: skip
    return line
