"""Every kind of nodes has a rule of lowering, and a preference for an order of axes or none."""

from __future__ import annotations

import inspect

from dimtensor.graph import rows
from dimtensor.graph.node import KINDS
from dimtensor.lower import RULES
from dimtensor.lower.basic import REDUCTIONS
from dimtensor.lower.layout.preferences import PREFERENCES

# their variables come from outside, and derivatives that are printed are not computed
WITHOUT_RULE = {"input", "data", "shaped", "shown"}
# kinds whose axes may be in any order: what works on each element of one operand, or makes one; a
# draw has its own order, whatever that of its axes
WITHOUT_PREFERENCE = {
    "bound", "cast", "check", "codes", "concat", "cond", "constant", "draw", "expand", "gradient",
    "label_position", "length", "named", "positions", "pushforward", "rv", "seed", "stack",
    "stream",
}  # fmt: skip


def test_every_kind_is_lowered() -> None:
    assert set(RULES) | WITHOUT_RULE == set(KINDS)
    assert not set(RULES) & WITHOUT_RULE


def test_every_kind_that_is_lowered_has_a_preference_or_is_said_to_have_none() -> None:
    assert set(PREFERENCES) | WITHOUT_PREFERENCE == set(RULES)
    assert not set(PREFERENCES) & WITHOUT_PREFERENCE


def test_a_preference_stands_beside_the_rule() -> None:
    apart = [
        kind
        for kind, rule in PREFERENCES.items()
        if inspect.getmodule(rule) is not inspect.getmodule(RULES[kind])
    ]
    assert not apart


def test_every_reduction_of_the_table_is_lowered() -> None:
    assert {row.name for row in rows("reduce")} | {"supremum"} == set(REDUCTIONS)
