"""Posterior predictive draws: 4,000 draws of 10,000 observations, and of other observations.

    {"case": "predict", "n": 10000, "who": "dimtensor", "first_s": 2.1, "again_s": 1.9,
     "cpu_s": 2.0, "ratio": 0.2}

Observations are of the radon model, with data of their own. ``first_s`` is the first prediction of
a process that has the model, ``again_s`` that for other data of another length, both from data to
labeled draws; ``cpu_s`` are seconds of the processor of the second one, and ``ratio`` is ``cpu_s``
by that of PyMC. ``dimtensor-numba`` compiles the draws, ``dimtensor`` has them interpreted. The
moments of all are found to agree.
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WHO = ("pymc", "dimtensor", "dimtensor-numba", "numpyro")
N, CHAINS, DRAWS = 10_000, 4, 1000
HERE = Path(__file__).parent.parent


def _posterior(counties):
    rng = np.random.default_rng(2)
    shape = (CHAINS, DRAWS)
    return {
        "mu": 1.3 + 0.05 * rng.normal(size=shape),
        "spread": 0.3 * np.exp(0.1 * rng.normal(size=shape)),
        "alpha": 1.3 + 0.3 * rng.normal(size=(*shape, counties)),
        "slope": -0.6 + 0.07 * rng.normal(size=shape),
        "sigma": 0.7 * np.exp(0.03 * rng.normal(size=shape)),
    }


def _new(p, n):
    rng = np.random.default_rng(n)
    return {"county": rng.integers(0, p["counties"], n), "floor": rng.integers(0, 2, n) * 1.0}


def _predictor(who, p):
    """A function of new data to predictions with the dims chain, draw and observation."""
    texts = importlib.import_module("probabilistic")
    post = _posterior(p["counties"])
    if who == "numpyro":
        return _numpyro(texts, post)
    import xarray as xr

    names = {name: ["chain", "draw", "county"][: x.ndim] for name, x in post.items()}
    draws = xr.Dataset({name: (names[name], x) for name, x in post.items()})
    if who != "pymc":
        model = texts.dimtensor("radon", p)
        backend = "numba" if who == "dimtensor-numba" else "python"

        def predict(new):
            data = {"county_of": new["county"], "floor": new["floor"]}
            found = model.predict(draws, data, seed=1, backend=backend)
            return found["predictions"]["y"].transpose("chain", "draw", ...).values

        return predict
    import pymc as pm

    tree = xr.DataTree.from_dict({"posterior": draws.rename(county="alpha_dim_0")})
    built = texts.pymc("radon", p)

    def predict(new):
        with built:
            pm.set_data({"county_of": new["county"], "floor": new["floor"],
                         "observed": np.zeros(len(new["floor"]))})  # fmt: skip
            found = pm.sample_posterior_predictive(tree, predictions=True, random_seed=1,
                                                   progressbar=False)  # fmt: skip
        return found["predictions"]["y"].values

    return predict


def _numpyro(texts, post):
    import jax
    import numpyro
    from numpyro.infer import Predictive

    numpyro.enable_x64()

    def model(county, floor):
        new = {"county": county, "floor": floor, "counties": post["alpha"].shape[-1], "y": None}
        texts._numpyro_radon(numpyro.sample, numpyro.distributions, new)

    draw = jax.jit(Predictive(model, post, batch_ndims=2, parallel=True))

    def predict(new):
        return np.asarray(draw(jax.random.key(1), new["county"], new["floor"])["y"])

    return predict


def once(who):
    """In a process of its own: print seconds, and moments of the second predictions."""
    p = importlib.import_module("probabilistic").problem("radon")
    predict, times = _predictor(who, p), []
    for n in (N, N + 1):
        started, busy = time.perf_counter(), time.process_time()
        found = predict(_new(p, n))
        times.append((time.perf_counter() - started, time.process_time() - busy))
    each = found.mean(axis=(0, 1)), found.std(axis=(0, 1))
    print(json.dumps([found.shape, times, [x[:50].tolist() for x in each]]))


def measure():
    posterior = importlib.import_module("cases.posterior")
    expected, reference = None, None
    for who in WHO:
        if not posterior.installed(who.removesuffix("-numba")):
            yield {"case": "predict", "who": who, "skipped": "not installed"}
            continue
        with tempfile.TemporaryDirectory() as folder:
            environment = importlib.import_module("run").environment(folder, who)
            program = f"from cases.predict import once; once({who!r})"
            output = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True,
                                    text=True, env=environment, cwd=HERE,
                                    stdout=subprocess.PIPE).stdout  # fmt: skip
        shape, times, moments = json.loads(output.strip().splitlines()[-1])
        expected = expected or moments
        assert shape == [CHAINS, DRAWS, N + 1], (who, shape)
        np.testing.assert_allclose(moments, expected, atol=0.08, err_msg=who)
        reference = reference or times[1][1]
        yield {
            "case": "predict",
            "n": N,
            "who": who,
            "first_s": round(times[0][0], 2),
            "again_s": round(times[1][0], 2),
            "cpu_s": round(times[1][1], 2),
            "ratio": round(times[1][1] / reference, 3),
        }
