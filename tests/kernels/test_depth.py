"""Chains of operations and sums of terms are as long as they like."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph

from dimtensor.kernels.compiler import kernel_of

pytestmark = pytest.mark.compiled


def compiled(inputs, outputs):
    kernel = kernel_of(FunctionGraph(inputs, outputs, clone=True))
    assert kernel.native is not None
    return kernel.native.bind(kernel.constants)


@pytest.mark.parametrize("make", [pt.dscalar, pt.dvector])
def test_a_chain_of_operations(make):
    x, c = make("x"), pt.dscalar("c")
    value = np.asarray(0.3) if make is pt.dscalar else np.array([0.3, -1.0])
    n = 2000 if make is pt.dscalar else 500
    state, expected = x, value
    for _ in range(n):
        state, expected = state * c + x, expected * 0.99 + value
    (found,) = compiled([x, c], [state])(value, np.asarray(0.99))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_sum_of_many_terms(rng):
    x = pt.dvector("x")
    values = rng.normal(size=1500)
    terms = [x[at] for at in range(values.size)]
    (found,) = compiled([x], [pt.add(*terms)])(values)
    np.testing.assert_allclose(found, values.sum(), atol=1e-11)
