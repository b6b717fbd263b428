"""Seconds that compiling takes of a value and its gradient, as expressions grow.

The expressions are ``s = tanh(s * c) + v``, so many times, of numbers and of vectors; ``wide``
ones, sums of so many terms ``tanh(v * (c + k))``; polynomials, ``s = s * v + c * k``; and
``inner``, the first of matrices whose rows of five go through ``logsumexp`` in the end. ``n`` is
the number of nodes that were written, without those of the gradient. Each size has a process that
finds nothing compiled (``cold_s``) and a second one that finds the code (``warm_s``): seconds of
the processor from the first tensor to the first result, after imports and a first small function,
so that a busy machine disturbs them little.
``jit_s`` is the share of LLVM. ``exponent`` and ``warm_exponent`` say how they grow from the size
before: 1 is linear.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# steps, or terms, of three or four nodes each
STEPS = {
    "number": (33, 100, 333, 1000, 3333),
    "vector": (33, 100, 333, 1000),
    "wide": (25, 75, 250),
    "polynomial": (30, 100, 300),
    "inner": (30, 100, 300),
}
NODES = {"number": 3, "vector": 3, "wide": 4, "polynomial": 3, "inner": 3}


def outputs(kind: str, n: int):
    import dimtensor as dt

    c = dt.scalar("c")
    if kind == "number":
        v = dt.scalar("v")
    elif kind == "inner":
        v = dt.tensor("v", dims=[dt.Dim("o", length=200), dt.Dim("k", length=5)])
    else:
        v = dt.tensor("v", dims=dt.Dim("k", length=20))
    if kind == "wide":
        state = sum(dt.tanh(v * (c + float(k))) for k in range(n))
    else:
        state = v
        for k in range(n):
            state = state * v + c * float(k) if kind == "polynomial" else dt.tanh(state * c) + v
    if kind == "inner":
        total = dt.logsumexp(state, "k").sum()
    else:
        total = state if kind == "number" else state.sum()
    return [v, c], [total, *dt.grad(total, [v, c])]


def first_result(kind: str, n: int) -> dict[str, float]:
    """Steps of the compilation, as far as there was one."""
    import dimtensor as dt

    inputs, results = outputs(kind, n)
    f = dt.function(inputs, results)
    if kind == "inner":
        f((("o", "k"), np.linspace(0.0, 1.0, 1000).reshape(200, 5)), 0.5)
    else:
        f(0.3 if kind == "number" else np.linspace(0.0, 1.0, 20), 0.5)
    return f.stats


def work(kind: str, n: int) -> None:
    """In a process of its own."""
    first_result(kind, 2)  # what the first compilation of a process loads
    started = time.process_time()
    stats = first_result(kind, n)
    seconds = time.process_time() - started
    share = stats.get("jit", 0.0) / sum(stats.values()) if stats else 0.0
    print(json.dumps([seconds, share * seconds]))


def in_new_process(folder: str, kind: str, n: int) -> tuple[float, float]:
    from run import environment

    command = [sys.executable, __file__, kind, str(n)]
    answer = subprocess.run(
        command, env=environment(folder), check=True, capture_output=True, text=True
    )
    seconds, of_llvm = json.loads(answer.stdout.splitlines()[-1])
    return seconds, of_llvm


def measure(steps=STEPS):
    for kind, sizes in steps.items():
        before = None
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                cold, of_llvm = in_new_process(folder, kind, n)
                warm, _ = in_new_process(folder, kind, n)
            line = {"case": "growth", "n": NODES[kind] * n, "who": kind}
            line |= {"cold_s": round(cold, 3), "jit_s": round(of_llvm, 3), "warm_s": round(warm, 3)}
            if before is not None:
                longer = math.log(n / before[0])
                line["exponent"] = round(math.log(cold / before[1]) / longer, 2)
                line["warm_exponent"] = round(math.log(warm / before[2]) / longer, 2)
            before = n, cold, warm
            yield line


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    work(sys.argv[1], int(sys.argv[2]))
