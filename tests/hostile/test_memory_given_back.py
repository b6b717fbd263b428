"""Memory of expressions, models, functions and fits comes back with the garbage collector off."""

from __future__ import annotations

import pytest

from tests.hostile.children import run

pytestmark = pytest.mark.slow

# a limit above what is in use once everything is imported and compiled
LIMITED = """
import gc, resource
import numpy as np
import dimtensor as dt
from dimtensor import dist

obs = dt.Dim("obs")
count = iter(range(1_000_000))

def megabytes(n):
    return np.arange(n * 125_000.0) / (n * 125_000) + next(count)

def limited(work, times, megabytes_more):
    work()
    dt.clear_caches()
    gc.collect()
    gc.disable()
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmSize")]
    limit = int(line.split()[1]) * 1024 + megabytes_more * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for _ in range(times):
        work()
        print("held")
"""

CELLS = """
def cell():
    x = dt.data(megabytes(50), dims=obs, name="x")
    y = (x - x.mean()) / x.std()
    assert abs(float(y.mean().eval())) < 1e-6
    repr(y), y._repr_html_(), float(x.sum())
    f = dt.function([], (x * 2.0).sum())
    assert np.isfinite(float(f()))

limited(cell, 20, 700)
"""

MODELS = """
def build():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    x = dt.data(megabytes(5), dims=obs, name="x")
    fit = dt.Model(dt.rv("y", dist.Normal(mu + slope * x, 1.0))).observe(y=megabytes(5))
    repr(fit)
    value, gradient = fit.log_density().logp_and_grad(np.zeros(2))
    assert np.isfinite(value) and np.isfinite(gradient).all()

limited(build, 40, 250)
"""

GRAPHS = """
k = dt.Dim("k", length=2)

def deep():
    x = dt.tensor("x", dims=k)
    for _ in range(50_000):
        x = dt.exp(x + 1.0)
    first, x = x, None

limited(deep, 3, 300)
"""

LOOPS = """
def loops():
    x = dt.data(megabytes(10), dims=obs, name="x")
    last = dt.scan(lambda s, each: (s * 0.5 + each, s), dt.scalar("s"), x, dim=obs)[0]
    some = x.isel(obs=x > 1.0)
    gradient = dt.grad((x * dt.scalar("s")).sum() + last + some.sum(), dt.scalar("s"))
    if "simplify" in dir(dt):
        dt.simplify((x * dt.scalar("s")).sum())
    dt.function([dt.scalar("s")], gradient, backend="python")

limited(loops, 20, 150)
"""

FUNCTIONS = """
a = dt.scalar("a")
f = dt.function([a], (dt.data(megabytes(1), dims=obs, name="x") * a).sum())

def exchanged():
    g = f.with_data(x=megabytes(40))
    assert np.isfinite(float(g(a=1.0)))

limited(exchanged, 20, 400)
"""


@pytest.mark.parametrize(
    ("times", "code"),
    [(20, CELLS), (40, MODELS), (3, GRAPHS), (20, LOOPS), (20, FUNCTIONS)],
    ids=["cells", "models", "deep graphs", "loops", "functions"],
)
def test_memory_comes_back_without_the_collector(times, code, faults):
    ended = run(LIMITED + code)
    held = ended.out.count("held")
    for at in range(times):
        faults.count(f"number {at}", at < held, ended.err[-300:])
