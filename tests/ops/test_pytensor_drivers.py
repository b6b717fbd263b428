"""Operations of ours that PyTensor's own drivers differentiate, as in a model given to PyMC."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.gradient import pushforward
from scipy.special import log_softmax, logsumexp, softmax

from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax

X = np.array([[0.1, 0.5, -1.0], [2.0, 0.0, 0.3]])
FACTOR = np.array([[1.5], [-0.5]])
WEIGHTS = np.arange(6.0).reshape(2, 3)


def log_sum_exp(x):
    return LogSumExp((1,))(x)


def scaled_softmax(x):
    return ScaledSoftmax((1,))(x, pt.constant(FACTOR))


def plain_softmax(x):
    return Softmax((1,))(x)


def log_of_softmax(x):
    return Softmax((1,), log=True)(x)


ORACLES = {
    plain_softmax: lambda x: softmax(x, axis=1),
    log_of_softmax: lambda x: log_softmax(x, axis=1),
    log_sum_exp: lambda x: logsumexp(x, axis=1),
    scaled_softmax: lambda x: FACTOR * softmax(x, axis=1),
}


def evaluated(x, outputs):
    return pytensor.function([x], outputs, mode="FAST_COMPILE")(X)


def differences(function, x):
    """Central differences of a function along each element of x, with x's axes last."""
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    columns = [(function(x + step) - function(x - step)) / 2e-6 for step in steps]
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *x.shape)


@pytest.mark.parametrize("operation", ORACLES)
def test_gradients_of_both_orders(operation):
    x = pt.matrix("x", dtype="float64")
    slope = pytensor.grad((operation(x) ** 2).sum(), x)
    again = pytensor.grad((slope * pt.constant(WEIGHTS)).sum(), x)
    first, second = evaluated(x, [slope, again])

    def of_squares(x):
        return np.asarray((ORACLES[operation](x) ** 2).sum())

    np.testing.assert_allclose(first, differences(of_squares, X), rtol=1e-7, atol=1e-8)

    def of_slope(at):
        return np.asarray((pytensor.function([x], slope, mode="FAST_COMPILE")(at) * WEIGHTS).sum())

    np.testing.assert_allclose(second, differences(of_slope, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("operation", ORACLES)
def test_tangents(operation):
    x = pt.matrix("x", dtype="float64")
    (tangent,) = evaluated(x, [pushforward(operation(x), x, pt.constant(WEIGHTS))])
    expected = np.tensordot(differences(ORACLES[operation], X), WEIGHTS, axes=2)
    np.testing.assert_allclose(tangent, expected, rtol=1e-7, atol=1e-8)
