"""Seconds that compiling takes of a value and its gradient, as expressions grow.

The expressions are ``s = tanh(s * c) + v``, so many times, of numbers and of vectors; and ``wide``
ones, sums of so many terms ``tanh(v * (c + k))``. A line for each size has the seconds of the steps
before machine code is made (``compile_s``) and of LLVM (``jit_s``); ``exponent`` and
``jit_exponent`` say how these grow from the size before: 1 is linear.
"""

import math
import os

import numpy as np

SIZES = {"number": (30, 100, 300, 1000), "vector": (10, 30, 100, 300), "wide": (10, 30, 100, 300)}


def outputs(kind: str, n: int):
    import dimtensor as dt

    c = dt.scalar("c")
    v = dt.scalar("v") if kind == "number" else dt.tensor("v", dims=dt.Dim("k", length=20))
    if kind == "wide":
        state = sum(dt.tanh(v * (c + float(k))) for k in range(n))
    else:
        state = v
        for _ in range(n):
            state = dt.tanh(state * c) + v
    total = state if kind == "number" else state.sum()
    return [v, c], [total, *dt.grad(total, [v, c])]


def seconds(kind: str, n: int) -> dict[str, float]:
    import dimtensor as dt

    inputs, results = outputs(kind, n)
    f = dt.function(inputs, results)
    f(0.3 if kind == "number" else np.linspace(0.0, 1.0, 20), 0.5)
    return f.stats


def measure():
    os.environ["DIMTENSOR_CACHE"] = "0"
    for kind, sizes in SIZES.items():
        seconds(kind, 2)  # what the first compilation of a process loads
        before = None
        for n in sizes:
            stats = seconds(kind, n)
            jit = stats.get("jit", 0.0)
            own = sum(stats.values()) - jit
            line = {"case": "growth", "n": n, "who": kind, "compile_s": round(own, 3)}
            line |= {"jit_s": round(jit, 3), "us": 0.0}
            if before is not None:
                longer = math.log(n / before[0])
                line["exponent"] = round(math.log(own / before[1]) / longer, 2)
                line["jit_exponent"] = round(math.log(jit / before[2]) / longer, 2)
            before = n, own, jit
            yield line
