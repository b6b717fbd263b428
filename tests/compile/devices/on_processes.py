"""One of several processes, with a fault."""

from __future__ import annotations

import os
import sys

import numpy as np

import dimtensor as dt
from examples import processes


def computes_and_dies(number: int) -> None:
    """Call a function many times; one of the processes dies in between."""
    x, b = dt.data(np.arange(9.0), dt.Dim("obs"), "x"), dt.scalar("b")
    f = dt.function([b], (x * b).sum(), "jax", shard={"obs": "data"})
    for at in range(100_000):
        if at == 3 and number == 1:
            os._exit(3)
        f(1.0)


def main(fault: str, number: int, count: int, address: str) -> None:
    processes.join(number, count, address)
    if fault == "other data" and number == 1:
        values, groups = processes.load()
        processes.load = lambda: (values + 1.0, groups)
    if fault == "death" and number == 1:
        os._exit(3)
    if fault == "late death":
        computes_and_dies(number)
    processes.compute()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
