"""Value and gradient of the radon model over devices of JAX, and what they communicate.

A line is a number of virtual devices, each in a process of its own, or ``whole``, the function
without a mesh. ``collectives`` is the number of collective operations in the compiled text, and
``bytes`` the size of what they reduce or gather. ``us`` is by the clock of the wall, the fastest of
samples. Virtual devices share the cores of one machine, so ``us`` shows the overhead of slices and
of the all-reduce, and no gain beyond the cores. ``--devices`` takes the devices that there are
instead, such as GPUs.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SIZES = (919, 1_000_000)
DEVICES = (1, 2, 4, 8)
CONTENDERS = ()
SAMPLES = 20
HERE = Path(__file__).parent.parent
OPERATION = (
    r"= \(?(\w+)\[([\d,]*)\]\S* "
    r"(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\("
)


def communicated(text):
    """Number of collective operations in compiled code, and the bytes of their results."""
    found = re.findall(OPERATION, text)
    sizes = [int(np.prod([int(n) for n in shape.split(",") if n])) for _, shape, _ in found]
    bits = [int((re.findall(r"\d+", dtype) or ["8"])[0]) for dtype, _, _ in found]
    return len(found), sum(n * b // 8 for n, b in zip(sizes, bits, strict=True))


def once(n, devices):
    """In a process of its own: print a line; without devices, of the function without a mesh."""
    import jax

    import dimtensor as dt
    from cases import radon

    p = radon.problem(n)
    shard = dt.mesh({"obs": "data"}, {"data": devices}) if devices else None
    started = time.perf_counter()
    call, arguments = radon._dimtensor(p, "jax", shard=shard)
    results = call(*arguments)
    line = {"case": "shard", "n": n, "who": f"devices-{devices}" if devices else "whole"}
    line["first_s"] = round(time.perf_counter() - started, 2)
    with jax.enable_x64(True):
        fixed = call.fixed
        jitted = jax.jit(call.raw)
        text = jitted.lower(*arguments, *fixed).compile().as_text()
    line["collectives"], line["bytes"] = communicated(text)
    seconds = []
    for _ in range(SAMPLES):
        started = time.perf_counter()
        call(*arguments)
        seconds.append(time.perf_counter() - started)
    line["us"] = round(min(seconds) * 1e6, 1)
    line["platform"] = jax.devices()[0].platform
    line["results"] = np.concatenate([np.ravel(x) for x in results]).tolist()
    print(json.dumps(line))


def measure(sizes=SIZES, counts=(0, *DEVICES), virtual=True):
    for n in sizes:
        expected = None
        for devices in counts:
            environment = dict(os.environ)
            if virtual and devices:
                flags = f"--xla_force_host_platform_device_count={devices}"
                environment["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
            command = [sys.executable, "-m", "cases.shard", str(n), str(devices)]
            done = subprocess.run(
                command, cwd=HERE, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(done.stderr)
            line = json.loads(done.stdout.splitlines()[-1])
            results = np.array(line.pop("results"))
            expected = results if expected is None else expected
            np.testing.assert_allclose(results, expected, rtol=1e-10, atol=1e-10)
            yield line


if __name__ == "__main__":
    if "--devices" in sys.argv:
        import jax

        count = jax.device_count()
        sizes = [int(n) for n in sys.argv[1:] if n.isdigit()]
        for each in measure(sizes, (0, *[n for n in DEVICES if n <= count]), virtual=False):
            print(json.dumps(each), flush=True)
    else:
        once(int(sys.argv[1]), int(sys.argv[2]))
