"""Gradients of concatenations: slices instead of splits."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.traversal import applys_between
from pytensor.tensor.basic import Split

from dimtensor.backends.python import compile_positional
from dimtensor.kernels.compiler import rewritten


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


def test_a_split_whose_sizes_come_with_the_data_stays(rng):
    x, y = pt.vector("x"), pt.vector("y")
    gradients = pytensor.grad((pt.concatenate([x, y]) ** 2).sum(), [x, y])
    graph = rewritten([x, y], gradients)
    a, b = rng.normal(size=3), rng.normal(size=2)
    found = compile_positional(graph.inputs, graph.outputs).call(a, b)
    np.testing.assert_allclose(found[0], 2 * a)
    np.testing.assert_allclose(found[1], 2 * b)
