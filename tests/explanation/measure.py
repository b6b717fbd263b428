"""Run in a process of its own: prints how much a call takes, inputs among it. Linux only."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from pathlib import Path

import numpy as np

import dimtensor as dt
from dimtensor.kernels.native.functions import workspace
from tests.explanation import models


def status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(field)


def values(f, lengths):
    """Arrays for the positional inputs of a function."""
    found = []
    rng = np.random.default_rng(0)
    for source, dims in zip(f.input_nodes, f.positional.input_dims, strict=True):
        shape = tuple(d.length if d.length is not None else lengths[d.name] for d in dims)
        if source.categories is not None:
            # in place: a temporary would be in the peak
            array = np.zeros(shape, source.dtype)
            array[::2] = 1
        else:
            array = rng.random(shape) if shape else np.asarray(0.7)
        found.append(array)
    return found


def begin():
    """From here on, large blocks go back to the system, and the high-water mark starts anew."""
    ctypes.CDLL(None).mallopt(-3, 64 * 1024)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def of_expression(name, backend):
    x, lengths = getattr(models, name)()
    floats = [each for each in dt.inputs_of(x) if each.dtype == "float64"]
    functions = {
        what: dt.function(dt.inputs_of(x), outputs, backend=backend)
        for what, outputs in (("value", [x]), ("gradient", [x, *dt.grad(x, floats)]))
    }
    found = {}
    for what, f in functions.items():
        # everything is compiled and loaded; JAX compiles for the lengths, LAPACK keeps 9 MB
        f.positional(*values(f, lengths))
        workspace.release()
        before = begin()
        arrays = values(f, lengths)
        results = f.positional(*arrays)
        found[what] = status("VmHWM") - before
        del arrays, results
    return found


def of_posterior():
    """The data are there already: a call adds what it makes."""
    density = models.posterior(1_000_000)
    point = np.full(density.size, 0.1)
    found = {}
    for what, call in (("value", density.logp), ("gradient", density.logp_and_grad)):
        call(point)
        before = begin()
        call(point)
        found[what] = status("VmHWM") - before
    return found


def main(name, backend="numba"):
    print(json.dumps(of_posterior() if name == "posterior" else of_expression(name, backend)))


if __name__ == "__main__":
    main(*sys.argv[1:])
