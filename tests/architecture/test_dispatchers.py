"""What PyTensor's dispatchers, which are common to the process, know of dimtensor."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from scipy import special

from dimtensor.backends import compile_positional


def dispatchers():
    pytest.importorskip("jax")
    from pytensor.graph.replace import _vectorize_node
    from pytensor.link.jax.dispatch import jax_funcify
    from pytensor.link.numba.dispatch import numba_funcify

    return [_vectorize_node, jax_funcify, numba_funcify]


@pytest.mark.compiled
def test_only_our_own_ops_are_registered():
    x = pt.tensor("x", shape=(3,), dtype="float64")
    values = np.array([0.3, 1.2, 2.5])
    for backend in ("jax", "numba"):
        (found,) = compile_positional(backend, [x], [pt.j0(x)]).call(values)
        np.testing.assert_allclose(found, special.j0(values))
    ours = set()
    for dispatcher in dispatchers():
        for class_, function in dispatcher.registry.items():
            if function.__module__.startswith("dimtensor"):
                assert class_.__module__.startswith("dimtensor"), class_
                ours.add(class_.__name__)
    assert {"Loop", "Conditional"} <= ours


@pytest.mark.compiled
def test_translations_of_our_own_reach_graphs_inside_of_ops():
    pytest.importorskip("jax")
    x, a = pt.tensor("x", shape=(3,), dtype="float64"), pt.dvector("a")
    inside = OpFromGraph([a], [pt.j1(a) * 2, pt.gammaincinv(2.0, a)])
    values = np.array([0.1, 0.5, 0.9])
    first, second = compile_positional("jax", [x], inside(x)).call(values)
    np.testing.assert_allclose(first, special.j1(values) * 2)
    np.testing.assert_allclose(second, special.gammaincinv(2.0, values))
