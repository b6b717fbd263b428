"""Rewrites of positional graphs: a table of rules, each with its reason, and one walk.

No rule changes a number that is not finite, a sign of zero, or the digits of anything but a sum;
those that do more say so. None is registered with PyTensor.
"""

from dimtensor.optimize.rules import (  # noqa: F401
    arithmetic,
    batches,
    choices,
    reductions,
    selections,
    stable,
    structure,
)
from dimtensor.optimize.rules.driver import Rewriting as Rewriting
from dimtensor.optimize.rules.driver import rewrite as rewrite
from dimtensor.optimize.rules.table import RULES as RULES
from dimtensor.optimize.rules.table import Rule as Rule
