"""What variables at the border of positional graphs remember."""

import pytensor.tensor as pt

import dimtensor as dt
from dimtensor.lower.border import made_for, remember


def test_a_variable_remembers_the_first_node_that_it_was_made_for():
    x = dt.tensor("x", dims=dt.Dim("d"))
    first, second = dt.walk(dt.exp(x) + 1.0)[-2:]
    variable = pt.exp(pt.dvector())
    assert made_for(variable) is None
    remember(variable, first)
    remember(variable, second)
    assert made_for(variable) is first
    assert made_for(variable.owner.clone().outputs[0]) is first
