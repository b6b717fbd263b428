"""Memory of one call beyond data and inputs, by `normal` and `radon` at a million and more.

``peak_mb`` is what the process grows by during a call. ``fresh_mb`` is what the call gets from the
system in all, freed or not: every temporary lies on pages of its own here. ``moved_mb``, the bytes
moved, is an estimate from below: the data read once, every temporary written and read once.
``allocations`` counts those of numba's runtime, where it is used. Linux only.
"""

import ctypes
import importlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WHO = ("hand", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor")
SIZES = (1_000_000, 10_000_000)
OF = ("normal", "radon")
HERE = Path(__file__).parent.parent
M_MMAP_THRESHOLD = -3  # malloc.h
MEGABYTE = 1e6


def _status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _allocations():
    if "numba" not in sys.modules:
        return None
    from numba.core.runtime import rtsys

    return rtsys.get_allocation_stats().alloc if rtsys._init else None


def once(of, n, who):
    """In a process of its own: print what one call takes, and its results."""
    run, module = importlib.import_module("run"), importlib.import_module(f"cases.{of}")
    p = module.problem(n)
    data = sum(value.nbytes for value in p.values())
    run.import_libraries(who)
    started = time.perf_counter()
    call, arguments = getattr(module, who.replace("-", "_"))(p)
    results = run.flattened(call(*arguments))
    compile_s = time.perf_counter() - started
    us = run.time_call(run.calls_per_sample(call, *arguments), call, *arguments)
    # from here on, large blocks come from the system and go back to it
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 128 * 1024)
    call(*arguments)
    found = []
    for _ in range(3):
        time.sleep(0.2)  # JAX frees on its own threads
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
        before, faults = _status("VmRSS"), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        allocations = _allocations()
        call(*arguments)
        after = _allocations()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        found.append(
            [
                max(0, _status("VmHWM") - before),
                faults * resource.getpagesize(),
                0 if after is None else after - allocations,
            ]
        )
    peak, fresh, allocations = (statistics.median(column) for column in zip(*found, strict=True))
    line = {
        "compile_s": round(compile_s, 3),
        "us": round(us),
        "peak_mb": round(peak / MEGABYTE, 1),
        "fresh_mb": round(fresh / MEGABYTE, 1),
        "moved_mb": round((data + 2 * fresh) / MEGABYTE, 1),
    }
    if who not in ("jax", "dimtensor-jax"):
        line["allocations"] = allocations
    print(json.dumps([line, results.tolist()]))


def measure():
    run = importlib.import_module("run")
    for of in OF:
        for n in SIZES:
            expected = None
            for who in WHO:
                program = f"from cases.memory import once; once({of!r}, {n}, {who!r})"
                with tempfile.TemporaryDirectory() as folder:
                    environment = {
                        **run.environment(folder, who),
                        "NUMBA_NRT_STATS": "1",
                        "NUMPY_MADVISE_HUGEPAGE": "0",  # pages of one size can be counted
                    }
                    output = subprocess.run(
                        [sys.executable, "-c", program], check=True, env=environment, cwd=HERE,
                        stdout=subprocess.PIPE, text=True,
                    ).stdout  # fmt: skip
                line, results = json.loads(output.strip().splitlines()[-1])
                expected = results if expected is None else expected
                run.check_agreement(f"memory, {of}", n, who, results, expected)
                yield {"case": "memory", "of": of, "n": n, "who": who, **line}
