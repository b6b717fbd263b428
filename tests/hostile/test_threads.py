"""Threads that build the same expressions, models and functions at the same time."""

from __future__ import annotations

import pytest

from tests.hostile.children import run

pytestmark = pytest.mark.slow

TOGETHER = """
import sys, threading
import numpy as np
import dimtensor as dt
from dimtensor import dist

sys.setswitchinterval(1e-6)

def together(work, *given, threads=6):
    start = threading.Barrier(threads)
    found = [None] * threads
    def run(at):
        start.wait()
        try:
            found[at] = work(*given)
        except BaseException as error:
            found[at] = error
    all_of_them = [threading.Thread(target=run, args=(at,)) for at in range(threads)]
    for one in all_of_them: one.start()
    for one in all_of_them: one.join()
    return found
"""


def test_equal_expressions_are_one_node_in_all_threads(faults):
    code = """
def build(turn):
    k = dt.Dim("k", length=3 + turn)
    x = dt.tensor("x", dims=k)
    picked = dt.SelDim(k, positions=[0, 2, 1])
    y = x
    for _ in range(8):
        y = dt.exp(y) * 2.0 + x.isel(k=[0, 2, 1]).mean()
    mu = dt.rv("mu", dist.Normal(0.0, 1.0 + turn), dims=k)
    return k, picked, y, y.node, mu, dist.Normal(mu, 1.0).logp(y).node

for turn in range(300):
    found = together(build, turn)
    failed = [each for each in found if isinstance(each, BaseException)]
    print(not failed and all(len({id(e) for e in one}) == 1 for one in zip(*found)), failed)
"""
    for turn, line in enumerate(run(TOGETHER + code).ok().splitlines()):
        faults.count(f"round {turn}", line.startswith("True"), line)


def test_gradients_of_what_several_threads_built_are_whole(faults):
    code = """
def parts(turn):
    x = dt.tensor("x", dims=dt.Dim("k", length=2 + turn))
    y = x * (1.0 + turn)
    return x, dt.exp(y).sum(), (y * x).sum()

for turn in range(300):
    (x, _, _), (_, one, _), (_, _, other), *_ = together(parts, turn)
    by = 1.0 + turn
    f = dt.function([x], dt.grad(one + other, x), backend="python")
    print(np.allclose(f(np.full(2 + turn, 0.01)), by * np.exp(by * 0.01) + 2.0 * by * 0.01))
"""
    for turn, line in enumerate(run(TOGETHER + code).ok().splitlines()):
        faults.count(f"round {turn}", line == "True")


def test_equal_positional_graphs_are_one_node_in_all_threads(faults):
    code = """
import pytensor.tensor as pt

def lifted(turn):
    n = dt.Dim("n", length=3 + turn)
    w = pt.exp(dt.tensor("x", dims=n).to_shaped([n])) * (2.0 + turn)
    for _ in range(6):
        w = pt.sin(w) + 1.5
    return dt.from_shaped(w, dims=[n])

for turn in range(150):
    found = together(lifted, turn)
    print(len({id(each) for each in found}) == 1 or found)
"""
    for turn, line in enumerate(run(TOGETHER + code).ok().splitlines()):
        faults.count(f"round {turn}", line == "True", line)


CALLS = """
k = dt.Dim("k")
x, y = dt.tensor("x", dims=k), dt.scalar("y")
table = dt.data(np.arange(5.0), dims=dt.Dim("t"))
outputs = [(x * y).sum(), dt.exp(x) * y, dt.cumulate(lambda s, v: 0.5 * s + v, 0.0, x, k).sum(),
           table.sum() * y]
f = dt.function([x, y], outputs, backend=BACKEND)

def call(turn):
    right = True
    for i in range(20):
        values, by = np.arange(1.0 + (turn + i) % LENGTHS) + i % 3, float(turn)
        path = [0.0]
        for each in values:
            path.append(0.5 * path[-1] + each)
        a, b, c, d = f(values, by)
        batched = f((("draw", "k"), np.array([values, values])), by)[0]
        right &= np.allclose(a, values.sum() * by) and np.allclose(b, np.exp(values) * by)
        right &= np.allclose(c, sum(path)) and np.allclose(d, 10.0 * by)
        right &= np.allclose(batched, values.sum() * by)
    return right

for turn in range(15):
    print(all(each is True or each == np.True_ for each in together(call, turn)))
"""


@pytest.mark.parametrize(("backend", "lengths"), [("python", 30), ("numba", 30), ("jax", 2)])
def test_threads_call_one_function(backend, lengths, faults):
    values = f"BACKEND, LENGTHS = {backend!r}, {lengths}\n"
    for turn, line in enumerate(run(TOGETHER + values + CALLS).ok().splitlines()):
        faults.count(f"round {turn}", line == "True", line)


def test_threads_share_a_model_and_compile_at_the_same_time(faults):
    code = """
from scipy import stats

obs = dt.Dim("obs")
mu, s = dt.rv("mu", dist.Normal(0.0, 1.0)), dt.rv("s", dist.HalfNormal(1.0))
model = dt.Model(dt.rv("y", dist.Normal(mu, s), dims=obs))

def density(fit):
    value, gradient = fit.log_density().logp_and_grad(np.array([0.1, 0.2]))
    n = dt.Dim("n", length=len(fit.observed["y"]))
    other = dt.function([], dt.arange(n).sum() * 2.0)()
    return value, float(other)

for turn in range(6):
    y, scale = np.arange(5.0 + turn), np.exp(0.2)
    right = stats.norm(0, 1).logpdf(0.1) + stats.halfnorm(scale=1).logpdf(scale) + 0.2
    right += stats.norm(0.1, scale).logpdf(y).sum()
    found = together(density, model.observe(y=y))
    print(all(isinstance(each, tuple) and np.allclose(each, [right, len(y) * (len(y) - 1)])
              for each in found) or found)

fit = model.observe(y=np.arange(5.0))
def sample(seed):
    post = fit.sample(30, tune=30, chains=1, seed=seed, progress_bar=False, report=False)
    return post["posterior"]["mu"].values

import warnings
warnings.simplefilter("ignore")
for seed in range(2):
    alone = sample(seed)
    print(all(np.array_equal(each, alone) for each in together(sample, seed, threads=3)))
"""
    for turn, line in enumerate(run(TOGETHER + code).ok().splitlines()):
        faults.count(f"round {turn}", line == "True", line)


def test_generators_give_each_thread_the_same_numbers(faults):
    code = """
rng = dt.random.generator(7)
n = dt.Dim("n", length=1000)
draws, _ = rng.normal(0.0, 1.0, dims=n)
f = dt.function([], draws, backend="python")
alone = f().values
for turn in range(20):
    print(all(np.array_equal(each, alone) for each in together(lambda: f().values)))
"""
    for turn, line in enumerate(run(TOGETHER + code).ok().splitlines()):
        faults.count(f"round {turn}", line == "True", line)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_running_state_counts_each_call_once(backend, faults):
    code = f"""
x, total = dt.scalar("x"), dt.scalar("total")
add = dt.function([x], total * 1.0, updates={{total: total + x}}, backend={backend!r})
running = add.start(total=0.0)

def count(turn):
    for _ in range(50):
        running(1.0)
    state, _ = add.step({{"total": np.float64(turn)}}, 2.0)
    return float(state["total"])

for turn in range(5):
    found = together(count, turn)
    print(found == [turn + 2.0] * 6 and float(running.state["total"]) == 300.0 * (turn + 1), found)
"""
    for turn, line in enumerate(run(TOGETHER + code).ok().splitlines()):
        faults.count(f"round {turn}", line.startswith("True"), line)
