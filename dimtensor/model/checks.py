"""What is checked of a generative model when it is built."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from dimtensor.dist.distribution import TableDistribution
from dimtensor.dist.supports import Bounded, Integers, Positive, Real, Support
from dimtensor.dist.table import Range
from dimtensor.errors import GraphError, build_message
from dimtensor.graph import Node, toposort
from dimtensor.model.variables import Variable


def check_ranges(variables: Mapping[str, Variable]) -> None:
    """Check that variables which are parameters of others cannot be out of their range.

    Raises
    ------
    GraphError
        If one can be.
    """
    for variable in variables.values():
        d = variable.distribution
        if not isinstance(d, TableDistribution):
            continue
        ranges = {param.name: param.range for param in d._parametrisation.params}
        for name, given in d.parameters.items():
            source = _variable_of(given.node, variables)
            if source is None or _fits(source.distribution.support, ranges[name]):
                continue
            raise GraphError(
                build_message(
                    f"{name} of {variable.name!r} is {ranges[name].spoken}, and the variable "
                    f"{source.name!r} may be something else",
                    [
                        (variable.name, repr(d)),
                        (source.name, f"{source.distribution!r}, {source.distribution.support}"),
                    ],
                    f"give {source.name!r} a distribution on the numbers that {name} may be, or "
                    "transform it: dt.exp(x)",
                )
            )


def _variable_of(node: Node, variables: Mapping[str, Variable]) -> Variable | None:
    while node.kind in ("named", "expand"):
        node = node.inputs[0]
    return variables.get(node.attrs.name) if node.kind == "rv" else None


def _fits(support: Support, allowed: Range) -> bool:
    """Whether all values of a support are in a range, as far as can be told."""
    if isinstance(support, Real):
        low, high = -math.inf, math.inf
    elif isinstance(support, Positive):
        low, high = 0.0, math.inf
    elif isinstance(support, (Bounded, Integers)):
        ends = [support.low, support.high]
        known = [e if e is None or isinstance(e, (int, float)) else math.nan for e in ends]
        low = -math.inf if known[0] is None else known[0]
        high = math.inf if known[1] is None else known[1]
    else:
        return True
    if allowed.whole and not support.discrete:
        return False
    # an end of the support that is the end of an open range is met with probability 0
    return not (low < allowed.low or high > allowed.high)


def unaffected(variables: Mapping[str, Variable], observed: Collection[str]) -> list[str]:
    """Variables that nothing observed depends on."""
    nodes = [variables[name].node for name in observed]
    used = set(toposort(nodes))
    return [name for name, v in variables.items() if v.node not in used]
