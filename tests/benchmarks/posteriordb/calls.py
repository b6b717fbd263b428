"""What the race times: calls of machine code by loops that are machine code, and their seconds."""

from __future__ import annotations

import ctypes
import datetime
import functools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.posteriordb import posteriors

ROUNDS = 9
SAMPLES = 5
SAMPLE_SECONDS = 0.004


@functools.cache
def loops() -> tuple[Callable[..., int], Callable[..., int]]:
    """Machine code that calls a C function so many times: ours, and BridgeStan's."""
    import numba

    @numba.njit
    def ours(f, number, start, step, n, arrays, arrays_at, results, closure):
        failed = 0
        for i in range(number):
            arrays[0] = start + step * (i % n)
            failed += f(arrays_at, results, closure)
        return failed

    @numba.njit
    def stans(f, number, start, step, n, model, value, gradient, error):
        failed = 0
        for i in range(number):
            failed += f(model, True, True, start + step * (i % n), value, gradient, error)
        return failed

    return ours, stans


class Buffers:
    """Points to evaluate in turn, and places for value, gradient and error."""

    def __init__(self, points: np.ndarray):
        self.points = np.ascontiguousarray(points)
        self.value, self.gradient = np.zeros(()), np.zeros(points.shape[1])
        self.results = np.array([self.value.ctypes.data, self.gradient.ctypes.data])
        self.arrays = self.error = np.zeros(1, "uintp")
        self.turns = (self.points.ctypes.data, self.points.strides[0], len(self.points))


def our_call(density: Any, points: np.ndarray) -> Callable[[int], None]:
    """So many calls of our machine code, in a loop that is machine code itself."""
    c, b = density.functions.c_function("logp_and_grad"), Buffers(points)
    pointer = ctypes.c_size_t
    f = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer)(c.address)
    places, run = (b.arrays.ctypes.data, b.results.ctypes.data), loops()[0]

    def call(number: int) -> None:
        failed = run(f, number, *b.turns, b.arrays, *places, c.closure)
        assert failed == 0

    return call


def stan_call(model: Any, points: np.ndarray) -> Callable[[int], None]:
    """The same of ``bs_log_density_gradient``."""
    b, pointer = Buffers(points), ctypes.c_size_t
    address = ctypes.cast(model.stanlib.bs_log_density_gradient, ctypes.c_void_p).value
    kinds = (pointer, ctypes.c_bool, ctypes.c_bool, pointer, pointer, pointer, pointer)
    f = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(address)
    places = (b.value.ctypes.data, b.gradient.ctypes.data, b.error.ctypes.data)
    run = loops()[1]

    def call(number: int) -> None:
        handle = int(getattr(model.model, "value", model.model))  # alive as long as the model
        assert run(f, number, *b.turns, handle, *places) == 0

    return call


def seconds(call: Callable[[int], Any], number: int) -> float:
    """Of one evaluation: the least of some samples, by the clock of the processor."""
    samples = []
    for _ in range(SAMPLES):
        started = time.process_time()
        call(number)
        samples.append((time.process_time() - started) / number)
    return min(samples)


def enough(call: Callable[[int], Any]) -> int:
    """A number of evaluations, of whole rounds of the points, that takes as long as a sample."""
    n = posteriors.N_POINTS
    call(n)
    number = n
    while True:
        started = time.process_time()
        call(number)
        elapsed = time.process_time() - started
        if elapsed >= SAMPLE_SECONDS:
            return max(n, int(number * SAMPLE_SECONDS / elapsed) // n * n)
        number *= 2


def circumstances() -> dict[str, Any]:
    """The day, and what else the machine does, the race included: a load above 1 is of others."""
    return {"date": datetime.date.today().isoformat(), "load": round(os.getloadavg()[0], 1)}
