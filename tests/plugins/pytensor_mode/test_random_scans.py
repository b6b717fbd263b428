"""Random scans of PyTensor and their gradients, against PyTensor's Python mode."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.scan.utils import until

import dimtensor as dt

pytestmark = [pytest.mark.compiled, pytest.mark.fuzz]

# nothing is compiled or simplified: each scan steps through its buffers in Python
PYTHON = Mode("py", "minimum_compile")
FUNCTIONS = (pt.tanh, lambda x: pt.sin(x) + 0.1, lambda x: 0.5 * x, lambda x: pt.sqrt(1 + x * x))
READ = (
    lambda x: x,
    lambda x: x[-1],
    lambda x: x[0],
    lambda x: x[::-1],
    lambda x: x[1:],
    lambda x: x[:-1],
    lambda x: x[-2:],
    lambda x: x[::2],
)


class Scans:
    """A random scan: sequences and states of several taps, what is read of it, gradients."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.inputs: list = []
        self.values: list = []
        self.steps = int(self.rng.choice([0, 1, 2, 3, 5, 9, 12]))
        self.width = (int(self.rng.integers(1, 4)),) if self.rng.random() < 0.4 else ()
        self.static = self.rng.random() < 0.3
        self.stops = self.rng.random() < 0.2
        self.states = [self.state() for _ in range(self.rng.integers(1, 4))]
        options = {"sequences": [self.sequence() for _ in range(self.rng.integers(0, 3))]}
        options["non_sequences"] = [self.array(self.width) for _ in range(self.rng.integers(0, 3))]
        options["n_steps"] = self.count(bool(options["sequences"]))
        options["go_backwards"] = self.rng.random() < 0.2
        if not self.stops and self.rng.random() < 0.2:
            options["truncate_gradient"] = int(self.rng.choice([1, 2, 4]))
        self.outputs = self.read(
            pytensor.scan(
                self.step,
                outputs_info=self.states,
                return_list=True,
                return_updates=False,
                **options,
            )
        )

    def array(self, shape):
        x = pt.tensor(shape=shape if self.static else (None,) * len(shape), dtype="float64")
        self.inputs.append(x)
        self.values.append(self.rng.normal(size=shape))
        return x

    def taps(self, choices):
        return sorted({int(at) for at in self.rng.choice(choices, size=2)})

    def state(self):
        if self.rng.random() < 0.25:
            return None
        taps = self.taps([-1]) if self.rng.random() < 0.4 else self.taps([-3, -2, -1])
        before = () if taps == [-1] else (-min(taps),)
        return {"initial": self.array((*before, *self.width)), "taps": taps}

    def sequence(self):
        taps = [0] if self.rng.random() < 0.5 else self.taps([-2, -1, 0, 1, 2])
        more = max(0, *taps) - min(0, *taps) + int(self.rng.choice([0, 0, 1, 3]))
        width = self.width if self.rng.random() < 0.5 else ()
        return {"input": self.array((self.steps + more, *width)), "taps": taps}

    def count(self, may_be_missing):
        if may_be_missing and self.rng.random() < 0.4:
            return None
        if self.rng.random() < 0.5:
            return self.steps
        count = pt.lscalar()
        self.inputs.append(count)
        self.values.append(self.steps)
        return count

    def step(self, *read):
        weights = self.rng.normal(scale=0.5, size=(len(self.states), len(read)))
        found = []
        for row in weights:
            total = sum((w * x for w, x in zip(row, read, strict=True)), start=pt.zeros(self.width))
            found.append(FUNCTIONS[self.rng.integers(len(FUNCTIONS))](total))
        return (found, until(found[0].sum() > self.rng.normal())) if self.stops else found

    def read(self, results):
        parts = [READ[self.rng.integers(len(READ))](x) for x in results]
        cost = sum((pt.sin(x) * self.rng.normal()).sum() for x in parts)
        wrt = [x for x in self.inputs if x.dtype == "float64"]
        return [*parts, *(pt.grad(cost, wrt, disconnected_inputs="ignore") if wrt else [])]


def called(scans, mode):
    """What comes out, or the error: positions may be outside of what there is."""
    f = pytensor.function(scans.inputs, scans.outputs, mode=mode, on_unused_input="ignore")
    try:
        return f(*scans.values)
    except (IndexError, ValueError, AssertionError) as error:
        return error


@pytest.mark.filterwarnings("ignore")  # PyTensor's own, of gradients and of scans without states
@pytest.mark.parametrize("seed", range(40))
def test_random_scans(seed):
    scans = Scans(seed)
    expected = called(scans, PYTHON)
    found = called(scans, dt.pytensor_mode())
    if isinstance(expected, Exception):
        assert isinstance(found, Exception)
        return
    assert not isinstance(found, Exception), found
    for one, two in zip(found, expected, strict=True):
        # without a step PyTensor does not know how long what it would have given is
        assert one.shape == two.shape or one.size == two.size == scans.steps
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-10)
