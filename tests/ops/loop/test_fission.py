"""What leaves a loop, and is computed for all steps at once."""

from __future__ import annotations

import pytensor.tensor as pt

from dimtensor.ops.loop.fission import split
from dimtensor.ops.special import vanishing

state, element, adjoint = (pt.vector(name, shape=(2,)) for name in ("state", "element", "adjoint"))


def test_an_expensive_trace_is_computed_after_the_loop():
    after = state * element
    found = split([state], [element], [after], [pt.exp(after)])
    assert found is not None
    assert found.traced == [after]


def test_a_product_stays_in_its_loop_with_the_zero_that_guards_its_derivative():
    # as gradients write a product that has no derivative where its factor is 0
    factor = state * adjoint
    guarded = pt.switch(pt.neq(factor, 0.0), factor * element, vanishing(element, factor))
    assert split([state], [element, adjoint], [state * element], [guarded]) is None
