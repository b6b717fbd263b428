"""Gradients of look-ups in what a loop that stopped has traced."""

import re

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.derivatives import pull
from dimtensor.ops.loop import scan

pytestmark = pytest.mark.compiled

RATE, LIMIT, MOST = pt.dscalar("rate"), pt.dscalar("limit"), pt.lscalar("most")
AT, W = pt.lvector("at"), pt.dvector("w")
SLOPE = 1e-6


def path_of(rate, limit, most):
    """A state that grows until it is beyond a limit; zeros for steps that did not run."""
    path, s = np.zeros((most, 2)), 1.0
    for t in range(most):
        path[t] = s, s * s
        s *= rate
        if s > limit:
            break
    return path


@pytest.mark.parametrize("form", ["rows", "minus"])
def test_zeros_are_as_many_as_the_steps_that_ran(form):
    def step(states, elements):
        (s,) = states
        return [s * RATE], [pt.stack([s, s * s])], s * RATE <= LIMIT

    (trace,) = scan(step, [1.0], n_steps=MOST, stops=True).traces
    weights = W[:, None] * np.array([1.0, 3.0])
    used = {
        "rows": lambda path, take: take,
        "minus": lambda path, take: -take * path[0],
    }[form]
    total = (used(trace, trace[AT]) * weights).sum()
    (slope,) = pull([total], [pt.constant(1.0)], [RATE])
    kernel = compile_kernel([RATE, LIMIT, MOST, AT, W], [total, slope])
    found = re.search(r"(n\d+) = (\w+)\n *v\d+ = np.zeros\(\(\1, 2", kernel.source)
    assert found is not None
    most = re.search(r"for step0 in range\((\w+)\)", kernel.source)[1]
    assert (found[2] == most) == (form == "minus")
    call = kernel.native.bind(kernel.constants)

    def value(rate, limit, most, at, w):
        path = path_of(rate, limit, most)
        return (used(path, path[at]) * w[:, None] * np.array([1.0, 3.0])).sum()

    for most, at in [(40, [0, 3, 3, 5, -40]), (40, [39, -1, 20, 2]), (3, [2, -3, 1, 1]), (1, [0])]:
        at, w = np.array(at), np.linspace(0.5, 1.5, len(at))
        arguments = (np.array(20.0), np.array(most), at, w)
        found = call(np.array(1.5), *arguments)
        difference = value(1.5 + SLOPE, 20.0, most, at, w) - value(1.5 - SLOPE, 20.0, most, at, w)
        np.testing.assert_allclose(found[0], value(1.5, 20.0, most, at, w), rtol=1e-12)
        np.testing.assert_allclose(found[1], difference / (2 * SLOPE), rtol=1e-6, atol=1e-7)
