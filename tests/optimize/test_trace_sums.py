"""Sums over steps in the loops of kernels, and gradients of lags."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.loop import scan

pytestmark = pytest.mark.compiled

Y, A, B = pt.dvector("y"), pt.dscalar("a"), pt.dscalar("b")


def compiled(inputs, outputs):
    kernel = compile_kernel(inputs, outputs)
    assert kernel.native is not None
    return kernel, kernel.native.bind(kernel.constants)


def recursion(y, a, b):
    s, path = 0.0, []
    for element in np.concatenate([[a], y])[:-1][: len(y)]:
        s = element * b - a * s
        path.append(s)
    return np.array(path)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_adds_up_what_is_summed_of_its_traces(reverse):
    def step(st, e):
        after = e[0] - A * st[0]
        return [after], [after]

    (trace,) = scan(step, [0.0], [Y * B], reverse=reverse).traces
    kernel, call = compiled([Y, A, B], [(trace * Y * B).sum(), (trace - A).sum(), trace.sum()])
    assert kernel.source.count("for ") == 1
    assert "np.empty" not in kernel.source
    for n in (0, 1, 9):
        y = np.random.default_rng(n).normal(size=n)
        s, path = 0.0, np.zeros(n)
        for t in reversed(range(n)) if reverse else range(n):
            path[t] = s = y[t] * 0.7 - 0.3 * s
        expected = (path * y * 0.7).sum(), (path - 0.3).sum(), path.sum()
        np.testing.assert_allclose(call(y, np.asarray(0.3), np.asarray(0.7)), expected, atol=1e-13)


def test_the_gradient_of_a_lag():
    """Of a sequence that starts with a parameter; empty sequences have gradients of 0."""
    before = pt.concatenate([A[None], Y])[:-1]
    (trace,) = scan(lambda st, e: ([e[0] * B - A * st[0]] * 1, [st[0]]), [0.0], [before]).traces
    total = (trace**2).sum() + trace.sum()
    kernel, call = compiled([Y, A, B], [total, *pytensor.grad(total, [A, B])])
    assert "np.zeros" not in kernel.source

    def value(y, a, b):
        path = np.concatenate([[0.0], recursion(y, a, b)])[:-1][: len(y)]
        return (path**2).sum() + path.sum()

    for n in (0, 1, 2, 8):
        y = np.random.default_rng(n).normal(size=n)
        found = call(y, np.asarray(0.3), np.asarray(0.7))
        d = 1e-6
        slopes = [
            (value(y, 0.3 + d, 0.7) - value(y, 0.3 - d, 0.7)) / (2 * d),
            (value(y, 0.3, 0.7 + d) - value(y, 0.3, 0.7 - d)) / (2 * d),
        ]
        np.testing.assert_allclose(found, [value(y, 0.3, 0.7), *slopes], rtol=1e-7, atol=1e-9)


def test_numbers_of_other_dtypes_are_written_in_the_dtype_of_the_result():
    half, one = pt.constant(np.float32(-0.5)), pt.constant(np.int8(1))
    kernel, call = compiled([Y], [half * Y + one, pt.switch(half < Y, Y, one)])
    assert "float32" not in kernel.source
    y = np.array([-1.0, 2.0])
    np.testing.assert_array_equal(call(y)[0], -0.5 * y + 1)
    np.testing.assert_array_equal(call(y)[1], [1.0, 2.0])
