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
