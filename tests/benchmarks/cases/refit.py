"""The radon model fitted again and again to changed observations, in one process.

    {"case": "refit", "who": "dimtensor", "fits": 50, "draws": 500, "first_s": 1.9, "fit_s": 0.3,
     "cpu_s": 0.5, "ratio": 0.1, "cpu_ratio": 0.1}

``fit_s`` and ``cpu_s`` are medians over all fits but the first, of the seconds that pass and of
those of the processor: the new data put in, two chains of so many draws after as many for tuning,
and the draws with their names. ``first_s`` is the first one, which compiles. ``pymc`` builds the
model anew with the data, as one does in a loop; ``pymc-data`` compiles once and exchanges data of
nutpie's compiled model. Ratios are by ``pymc``, which does fewer fits. NumPyro's data are arguments
of its model, and it is told to compile for them (``jit_model_args``). ``BENCH_FITS=5`` makes it
shorter.
"""

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

WHO = ("pymc", "dimtensor", "pymc-data", "numpyro")
DRAWS, CHAINS = 500, 2
FITS = int(os.environ.get("BENCH_FITS", "50"))
HERE = Path(__file__).parent.parent


def _observations(p, at):
    return p["y"] + 0.1 * np.random.default_rng(at).normal(size=p["y"].shape)


def _fitter(who, p):
    """A function of observations to draws of ``slope``."""
    texts = importlib.import_module("probabilistic")
    options = {"draws": DRAWS, "tune": DRAWS, "chains": CHAINS, "progress_bar": False, "seed": 1}
    if who == "dimtensor":
        model = texts.dimtensor("radon", p)

        def fit(y):
            return model.observe(y=y).sample(**options, report=False)["posterior"]["slope"].values

        return fit
    if who == "numpyro":
        return _numpyro(texts, p)
    import nutpie

    if who == "pymc":

        def fit(y):
            compiled = nutpie.compile_pymc_model(texts.pymc("radon", {**p, "y": y}))
            return nutpie.sample(compiled, **options)["posterior"]["slope"].values

        return fit
    known = []

    def fit(y):
        if not known:
            known.append(nutpie.compile_pymc_model(texts.pymc("radon", p)))
        compiled = known[0].with_data(observed=y)
        return nutpie.sample(compiled, **options)["posterior"]["slope"].values

    return fit


def _numpyro(texts, p):
    import jax
    import numpyro
    from numpyro.infer import MCMC, NUTS

    numpyro.set_host_device_count(CHAINS)
    numpyro.enable_x64()

    def model(y):
        texts._numpyro_radon(numpyro.sample, numpyro.distributions, {**p, "y": y})

    sampler = MCMC(NUTS(model), num_warmup=DRAWS, num_samples=DRAWS, num_chains=CHAINS,
                   chain_method="parallel", progress_bar=False,
                   jit_model_args=True)  # fmt: skip

    def fit(y):
        sampler.run(jax.random.key(1), y)
        return np.asarray(sampler.get_samples(group_by_chain=True)["slope"])

    return fit


def once(who, fits):
    """In a process of its own: print seconds, those of the processor, and means of the slope."""
    p = importlib.import_module("probabilistic").problem("radon")
    fit = _fitter(who, p)
    times, means = [], []
    for at in range(fits):
        y = _observations(p, at)
        started, busy = time.perf_counter(), time.process_time()
        draws = fit(y)
        times.append((time.perf_counter() - started, time.process_time() - busy))
        means.append(float(draws.mean()))
    print(json.dumps([times, means]))


def measure():
    posterior = importlib.import_module("cases.posterior")
    expected, reference = None, None
    for who in WHO:
        if not posterior.installed(who.removesuffix("-data")):
            yield {"case": "refit", "who": who, "skipped": "not installed"}
            continue
        fits = min(FITS, 6) if who == "pymc" else FITS
        with tempfile.TemporaryDirectory() as folder:
            environment = importlib.import_module("run").environment(folder)
            program = f"from cases.refit import once; once({who!r}, {fits})"
            output = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True,
                                    text=True, env=environment, cwd=HERE,
                                    stdout=subprocess.PIPE).stdout  # fmt: skip
        times, means = json.loads(output.strip().splitlines()[-1])
        expected = expected or means
        # the posterior deviation is 0.07, and there are some hundred effective draws
        np.testing.assert_allclose(means[: len(expected)], expected[: len(means)], atol=0.04)
        seconds, busy = (statistics.median(column) for column in zip(*times[1:], strict=True))
        reference = reference or (seconds, busy)
        yield {
            "case": "refit",
            "who": who,
            "fits": fits,
            "draws": DRAWS,
            "first_s": round(times[0][0], 2),
            "fit_s": round(seconds, 3),
            "cpu_s": round(busy, 3),
            "ratio": round(seconds / reference[0], 3),
            "cpu_ratio": round(busy / reference[1], 3),
        }
