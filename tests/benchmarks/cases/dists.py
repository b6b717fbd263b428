"""Log densities: their sum over 10⁶ elements, and the gradient by all parameters, of each row.

The elements are draws of the row's example; parameters are numbers. ``dimtensor-numba`` and
``dimtensor-jax`` compute the same formula, the latter as XLA compiles it; ``numpyro`` is the
distribution of that library where it has one and is installed, and ``scipy`` the sum alone. ``us``
are microseconds of the processor, ``ratio`` is that to dimtensor-numba.

``python cases/dists.py Normal Gamma`` prints the lines of some rows.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N = 1_000_000
ROUNDS = 3
FEWER = {"PolyaGamma": 10_000}  # an integral of 64 nodes for each element

# distributions of NumPyro (d) of a row's parameters (p)
NUMPYRO = {
    "Normal": lambda d, p: d.Normal(p["mu"], p["sigma"]),
    "Cauchy": lambda d, p: d.Cauchy(p["mu"], p["sigma"] if "sigma" in p else p["beta"]),
    "Laplace": lambda d, p: d.Laplace(p["mu"], p["b"]),
    "Logistic": lambda d, p: d.Logistic(p["mu"], p["s"]),
    "Gumbel": lambda d, p: d.Gumbel(p["mu"], p["beta"]),
    "StudentT": lambda d, p: d.StudentT(p["nu"], p["mu"], p["sigma"]),
    "HalfNormal": lambda d, p: d.HalfNormal(p["sigma"]),
    "HalfCauchy": lambda d, p: d.HalfCauchy(p["beta"]),
    "Exponential": lambda d, p: d.Exponential(p["lam"]),
    "LogNormal": lambda d, p: d.LogNormal(p["mu"], p["sigma"]),
    "Gamma": lambda d, p: d.Gamma(p["alpha"], p["beta"]),
    "InverseGamma": lambda d, p: d.InverseGamma(p["alpha"], p["beta"]),
    "ChiSquared": lambda d, p: d.Chi2(p["nu"]),
    "Weibull": lambda d, p: d.Weibull(p["beta"], p["alpha"]),
    "Pareto": lambda d, p: d.Pareto(p["m"], p["alpha"]),
    "Beta": lambda d, p: d.Beta(p["alpha"], p["beta"]),
    "Kumaraswamy": lambda d, p: d.Kumaraswamy(p["a"], p["b"]),
    "VonMises": lambda d, p: d.VonMises(p["mu"], p["kappa"]),
    "Bernoulli": lambda d, p: d.BernoulliProbs(p["p"]),
    "Binomial": lambda d, p: d.BinomialProbs(p["p"], p["n"]),
    "BetaBinomial": lambda d, p: d.BetaBinomial(p["alpha"], p["beta"], p["n"]),
    "NegativeBinomial": lambda d, p: d.NegativeBinomial2(p["mu"], p["alpha"]),
    "Poisson": lambda d, p: d.Poisson(p["mu"]),
}


def elements(row, n):
    """Draws of the row's example, or of a density that has none, uniform ones of its picture."""
    import dimtensor as dt
    from dimtensor import dist

    obs = dt.Dim("obs", length=n)
    d = getattr(dist, row.name)(**row.example)
    if not (callable(row.draw) or row.draw == "icdf"):
        return np.random.default_rng(1).uniform(*row.window, n)
    value, _ = d.draw(dt.random.generator(1), dims=obs)
    return np.asarray(dt.function([], value)())


def of_dimtensor(row, x, backend):
    """A call, and its arguments."""
    import dimtensor as dt
    from dimtensor import dist

    values = dt.tensor("x", dims=dt.Dim("obs"), dtype=x.dtype.name)
    whole = {p.name: p.range.whole for p in row.params}
    given = {name: v if whole[name] else dt.scalar(name) for name, v in row.example.items()}
    floats = [p for name, p in given.items() if not whole[name]]
    total = getattr(dist, row.name)(**given).logp(values).sum()
    outputs = [total, *(dt.grad(total, floats) if floats else [])]
    f = dt.function([values, *floats], outputs, backend=backend).positional
    return f, [x, *(np.asarray(v) for name, v in row.example.items() if not whole[name])]


def of_numpyro(row, x):
    import jax
    import numpyro.distributions as d

    make = NUMPYRO[row.name]
    fixed = {p.name: row.example[p.name] for p in row.params if p.range.whole}
    given = {name: v for name, v in row.example.items() if name not in fixed}

    def total(given, x):
        return make(d, {**given, **fixed}).log_prob(x).sum()

    both = jax.jit(jax.value_and_grad(total))
    there = jax.device_put(x)

    def call(given):
        return jax.block_until_ready(both(given, there))

    return call, [{name: float(v) for name, v in given.items()}]


def of_scipy(row, x):
    from tests.dist.oracles import ORACLES

    frozen = ORACLES[row.name].frozen(*(row.example[name] for name in row.names))
    density = frozen.logpmf if row.discrete else frozen.logpdf
    return (lambda x: density(x).sum()), [x]


def in_turns(prepared, rounds=ROUNDS):
    """Microseconds of each call, the least of some rounds, and the first number of its result."""
    totals, least = {}, dict.fromkeys(prepared, math.inf)
    for who, (call, arguments) in prepared.items():
        result = call(*arguments)
        first = result[0] if isinstance(result, (tuple, list)) else result
        totals[who] = float(np.asarray(first))
    for _ in range(rounds):
        for who, (call, arguments) in prepared.items():
            started = time.process_time()
            call(*arguments)
            least[who] = min(least[who], time.process_time() - started)
    return {who: (seconds * 1e6, totals[who]) for who, seconds in least.items()}


def lines_of(row, n=N):
    """Times of all contenders for one row, after their sums are found to agree."""
    from importlib.util import find_spec

    x = elements(row, n)
    prepared = {
        "dimtensor-numba": of_dimtensor(row, x, "numba"),
        "dimtensor-jax": of_dimtensor(row, x, "jax"),
        "scipy": of_scipy(row, x),
    }
    if row.name in NUMPYRO and find_spec("numpyro") is not None:
        prepared["numpyro"] = of_numpyro(row, x)
    found = in_turns(prepared)
    reference = found["dimtensor-numba"]
    for who, (us, total) in found.items():
        if not math.isclose(total, reference[1], rel_tol=1e-6, abs_tol=1e-6 * n):
            raise AssertionError(f"{who} on {row.name}: {total}, not {reference[1]}")
        yield {
            "case": "dists", "n": n, "who": who, "row": row.name,
            "us": float(f"{us:.3g}"), "ratio": float(f"{us / reference[0]:.3g}"),
        }  # fmt: skip


def work(names):
    """In a process of its own."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from dimtensor import dist

    for name in names or dist.TABLE:
        for line in lines_of(dist.TABLE[name], FEWER.get(name, N)):
            print(json.dumps(line), flush=True)


def measure(names=()):
    from run import environment

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *names]
        process = subprocess.Popen(
            command, env=environment(folder, "jax"), text=True, stdout=subprocess.PIPE
        )
        with process:
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
        if process.returncode:
            sys.exit("a row of dists failed")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    work(sys.argv[1:])
