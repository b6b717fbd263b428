"""Microseconds of building an expression of 1,000 elementwise nodes, none of them new twice."""

import statistics
import time

import numpy as np

N = 1_000
ROUNDS = 15


def dimtensor():
    import dimtensor as dt

    x = dt.tensor("x", dims=[dt.Dim("a", length=3), dt.Dim("b", length=4)])
    y = dt.tensor("y", dims=dt.Dim("b", length=4))
    return x, y


def pytensor():
    import pytensor.tensor as pt

    return pt.matrix("x", shape=(3, 4)), pt.vector("y", shape=(4,))


def xtensor():
    from pytensor.xtensor import xtensor as make

    return make("x", dims=("a", "b"), shape=(3, 4)), make("y", dims=("b",), shape=(4,))


def measure():
    for who, prepare in {"dimtensor": dimtensor, "pytensor": pytensor, "xtensor": xtensor}.items():
        x, y = prepare()
        samples = []
        for repeat in range(ROUNDS):
            node, other = x, y
            started = time.perf_counter()
            for step in range(N // 2):
                node = node * other
                node = node + (np.float64(step + repeat * N) if step == 0 else x)
            samples.append(time.perf_counter() - started)
        us = statistics.median(samples) * 1e6
        yield {"case": "build", "n": N, "who": who, "compile_s": 0.0, "us": round(us)}
