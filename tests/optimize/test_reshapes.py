"""Matrices that are made of arrays before they are transposed, not after: nothing is copied."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.shape import Reshape

from dimtensor.optimize.canonical_forms import reshapes_before_transposes


def changed(x, axes, shape):
    """The graph of a reshaped transpose, its value, and the input of the reshape."""
    graph = FunctionGraph([x], [x.transpose(axes).reshape(shape)], clone=True)
    reshapes_before_transposes(graph)
    graph.check_integrity()
    (node,) = (n for n in graph.toposort() if isinstance(n.op, Reshape))
    return graph, node.inputs[0]


def value(graph, data):
    mode = Mode(linker="py", optimizer=None)
    return pytensor.function(graph.inputs, graph.outputs[0], mode=mode)(data)


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize(
    ("lengths", "axes", "matrix"),
    [
        ((None, 2, 3), (1, 2, 0), (6, -1)),
        ((4, 2, 3), (2, 0, 1), (3, 8)),
        ((None, 3), (1, 0), (3, -1)),
    ],
)
def test_rotated_axes(lengths, axes, matrix, n, rng):
    x = pt.tensor("x", shape=lengths)
    graph, taken = changed(x, axes, (matrix[0], x.shape[0] if -1 in matrix else matrix[1]))
    assert taken is graph.inputs[0]
    data = rng.normal(size=[n if k is None else k for k in lengths])
    expected = data.transpose(axes).reshape(matrix[0], data.size // matrix[0])
    np.testing.assert_array_equal(value(graph, data), expected)


@pytest.mark.parametrize(
    ("lengths", "axes", "matrix"),
    [
        ((4, 2, 3), (1, 0, 2), (2, 12)),
        ((4, 2, 3), (1, 2, 0), (8, 3)),
        ((4, 2, 3), (2, 1, 0), (6, 4)),
    ],
    ids=["not rotated", "others' rows", "reversed"],
)
def test_what_is_left_as_it_is(lengths, axes, matrix, rng):
    x = pt.tensor("x", shape=lengths)
    graph, taken = changed(x, axes, matrix)
    assert taken is not graph.inputs[0]
    data = rng.normal(size=lengths)
    np.testing.assert_array_equal(value(graph, data), data.transpose(axes).reshape(matrix))
