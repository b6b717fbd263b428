"""Gradients of concatenations: slices instead of splits."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import applys_between
from pytensor.tensor.basic import Split

from dimtensor.backends.python import compile_positional
from dimtensor.kernels.compiler import compile_kernel, rewritten


def test_a_split_of_known_sizes_becomes_slices(rng):
    x, y = pt.matrix("x", shape=(2, 3)), pt.matrix("y", shape=(2, 1))
    weights = pt.constant(rng.normal(size=(2, 4)))
    total = (weights * pt.exp(pt.concatenate([x, y], axis=1))).sum()
    gradients = pytensor.grad(total, [x, y])
    assert any(isinstance(node.op, Split) for node in applys_between([x, y], gradients))
    graph = rewritten([x, y], gradients)
    assert not any(isinstance(node.op, Split) for node in graph.toposort())
    a, b = rng.normal(size=(2, 3)), rng.normal(size=(2, 1))
    found = compile_positional(graph.inputs, graph.outputs).call(a, b)
    np.testing.assert_allclose(found[0], weights.data[:, :3] * np.exp(a))
    np.testing.assert_allclose(found[1], weights.data[:, 3:] * np.exp(b))


def test_a_split_whose_sizes_come_with_the_data(rng):
    x, y = pt.vector("x"), pt.vector("y")
    gradients = pytensor.grad((pt.concatenate([x, y]) ** 2).sum(), [x, y])
    graph = rewritten([x, y], gradients)
    assert not any(isinstance(node.op, Split) for node in graph.toposort())
    a, b = rng.normal(size=3), rng.normal(size=2)
    found = compile_positional(graph.inputs, graph.outputs).call(a, b)
    np.testing.assert_allclose(found[0], 2 * a)
    np.testing.assert_allclose(found[1], 2 * b)


@pytest.mark.compiled
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients_of_products(zeros, rng):
    x = pt.matrix("x")
    gradient = pytensor.grad((x.prod(1) ** 2).sum(), x)
    a = rng.uniform(0.5, 2.0, size=(3, 4))
    a[1, :zeros] = 0.0
    kernel = compile_kernel([x], [gradient])
    (found,) = kernel.native.bind(kernel.constants)(a)
    others = [[np.delete(row, k).prod() for k in range(4)] for row in a]
    np.testing.assert_allclose(found, 2 * a.prod(1, keepdims=True) * others, rtol=1e-12)


@pytest.mark.compiled
def test_gradients_of_joins_need_no_numba(rng):
    x, y, w = pt.vector("x"), pt.vector("y"), pt.vector("w")
    gradients = pytensor.grad((pt.concatenate([x, y, x]) * w).sum(), [x, y])
    kernel = compile_kernel([x, y, w], gradients)
    a, b, c = rng.normal(size=3), rng.normal(size=2), rng.normal(size=8)
    found = kernel.native.bind(kernel.constants)(a, b, c)
    np.testing.assert_allclose(found[0], c[:3] + c[5:])
    np.testing.assert_allclose(found[1], c[3:5])
