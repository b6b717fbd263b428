"""What computes the same is found without making a node."""

import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply

from dimtensor.ops.graphs import identities


def test_what_computes_the_same_where_some_inputs_are_taken_for_others(monkeypatch):
    x, y, z = pt.dscalars("x", "y", "z")
    outputs = [pt.exp(x * z) + 1.0, 1.0 + pt.exp(z * y), pt.exp(x * z) + 2.0, x, y, z]
    apart = identities(outputs)
    monkeypatch.setattr(Apply, "__init__", lambda *given: pytest.fail("a node was made"))
    together = identities(outputs, {y: x})
    assert len(set(apart)) == 6
    assert together[0] == together[1]
    assert together[3] == together[4]
    assert len(set(together)) == 4


def test_results_of_one_operation_are_told_apart():
    x = pt.dvector("x")
    (q, r), (again, _) = pt.linalg.qr(pt.outer(x, x)), pt.linalg.qr(pt.outer(x, x))
    one, two, three = identities([q, r, again])
    assert one == three
    assert one != two
