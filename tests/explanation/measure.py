"""Run in a process of its own: prints how much a call takes, inputs among it. Linux only."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

import dimtensor as dt
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


def main(name, what):
    x, lengths = getattr(models, name)()
    outputs = [x]
    if what == "gradient":
        floats = [i for i in dt.inputs_of(x) if i.dtype == "float64"]
        outputs = [x, *dt.grad(x, floats)]
    f = dt.function(dt.inputs_of(x), outputs)
    small = dict.fromkeys(lengths, 5)
    f.positional(*values(f, small))  # everything is compiled and loaded
    ctypes.CDLL(None).mallopt(-3, 64 * 1024)  # large blocks go back to the system
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    arrays = values(f, lengths)
    given = status("VmRSS") - before
    f.positional(*arrays)
    print(json.dumps({"peak": status("VmHWM") - before, "given": given}))


if __name__ == "__main__":
    main(*sys.argv[1:])
