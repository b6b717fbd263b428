"""Conditions on values of a distribution, which tell observations that it cannot have drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dist.supports import Support
from dimtensor.graph import toposort
from dimtensor.tensor.elementwise import equal, floor, isfinite, isinf, logical_not
from dimtensor.tensor.handle import TensorHandle

if TYPE_CHECKING:
    from dimtensor.dist.distribution import Distribution
    from dimtensor.dist.tabulated import TableDistribution
    from dimtensor.tensor.core import DimTensor

_OUTSIDE = "lie outside of the support of their distribution"
_NO_DENSITY = "have a density of zero or infinity"


class Condition(NamedTuple):
    """Condition that every possible value of a distribution satisfies.

    Attributes
    ----------
    holds : DimTensor of bool
        Without event dims, or with some of them.
    otherwise : str
        Predicate of the observations that do not.
    """

    holds: DimTensor
    otherwise: str


def is_known(*values: Any) -> bool:
    """Return True if tensors depend on data and constants only."""
    nodes = [x.node for x in values if isinstance(x, TensorHandle)]
    return not any(x.kind in ("rv", "input", "bound") for x in toposort(nodes))


def in_support(support: Support, x: DimTensor) -> list[Condition]:
    """Return the conditions of a support, without bounds that are not known yet."""
    if is_known(*support.tensors):
        resolved = support.resolve(x) if x.dims else support
        return [Condition(resolved.contains(x), _OUTSIDE)]
    found = [isfinite(x)]
    if support.discrete:
        found.append(equal(x, floor(x)))
    found_there = [Condition(holds, _OUTSIDE) for holds in found]
    return [*found_there, *within(x, *support.bounds())]


def within(x: DimTensor, low: Any, high: Any) -> list[Condition]:
    """Return the conditions that values lie between the known bounds."""
    found = [] if low is None or not is_known(low) else [x >= low]
    found += [] if high is None or not is_known(high) else [x <= high]
    return [Condition(holds, _OUTSIDE) for holds in found]


def of_density(log_density: DimTensor) -> list[Condition]:
    """Return the condition that a log density is finite."""
    return [Condition(logical_not(isinf(log_density)), _NO_DENSITY)]


def with_known_parameters(d: Distribution, x: DimTensor) -> list[Condition]:
    """Return the condition that the log density is finite, if all parameters are known."""
    return of_density(d.logp(x)) if is_known(*d.parameters.values()) else []


def either(one: Any, other: Any) -> Any:
    """Return the disjunction of two conditions; None is one that never holds."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def beside(exceptions: Any, conditions: Sequence[Condition]) -> list[Condition]:
    """Return conditions that hold for exceptions, too."""
    return [Condition(exceptions | one.holds, one.otherwise) for one in conditions]


def any_of(parts: Sequence[Sequence[Condition]], dim: Any) -> list[Condition]:
    """Return the condition that a value is possible for one of several parts or positions."""
    if not all(parts):
        return []
    possible = [reduce(and_, [one.holds for one in conditions]) for conditions in parts]
    each = (holds.any(dim) if dim in holds.dims else holds for holds in possible)
    return [Condition(reduce(or_, each), parts[-1][-1].otherwise)]


def at_ends(d: TableDistribution, x: DimTensor) -> list[Condition]:
    """Return the condition that values at known bounds have a finite density for some parameters.

    A parameter that is not known has two values, at which a density that is zero or infinite is so
    for all values but single ones.
    """
    unknown = [name for name, value in d.parameters.items() if not is_known(value)]
    if not unknown or d.discrete or set(unknown) & set(d.row.increasing):
        return []
    bounds = d.row.support(d._values(x.dtype)).bounds()
    known = [bound for bound in bounds if bound is not None and is_known(bound)]
    met = [equal(x, bound) for bound in known if _may_equal(x, bound)]
    if not met:
        return []
    infinite = reduce(and_, [isinf(_with_known(d, unknown, at).logp(x)) for at in range(2)])
    return [Condition(logical_not(reduce(or_, met) & infinite), _NO_DENSITY)]


def _may_equal(x: DimTensor, end: Any) -> bool:
    if x.node.kind != "data" or isinstance(end, TensorHandle):
        return True
    return bool(np.any(x.node.attrs.values == end))


def _with_known(d: TableDistribution, unknown: Sequence[str], which: int) -> TableDistribution:
    """Replace some parameters by numbers, no two of which are equal."""
    ranges = {param.name: param.range for param in d._parametrization.params}
    given: dict[str, Any] = dict(d.parameters)
    for at, name in enumerate(unknown):
        low, high = ranges[name].low, ranges[name].high
        if ranges[name].whole:
            given[name] = (low if math.isfinite(low) else 0.0) + 2.0 + which + at
        elif math.isfinite(low) and math.isfinite(high):
            given[name] = low + (high - low) * (0.3 + 0.4 * which + 0.07 * at)
        else:
            given[name] = (low if math.isfinite(low) else 0.0) + 0.7 + 0.6 * which + 0.13 * at
    return type(d)(d.row, given)
