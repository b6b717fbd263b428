"""Ranges of parameters and points, as far as they are known before a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from dimtensor.dist.conditions import is_known
from dimtensor.dist.parameters import as_number
from dimtensor.dist.processes.points import in_days
from dimtensor.errors import OptionError
from dimtensor.tensor.handle import TensorHandle


def as_pair(given: Any, what: str) -> tuple[float, float]:
    """Check a pair of a lower and an upper number or duration.

    Raises
    ------
    OptionError
        If it is none.
    """
    try:
        low, high = (float(in_days(x)) for x in given)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not low <= high:
        raise OptionError(f"{what} is a pair of a lower and an upper number, not {given!r}")
    return low, high


def range_of(x: Any) -> tuple[float, float] | None:
    """Return the least and largest value of a tensor, or None if they are not known.

    Of a random variable it is the central 80% of its prior, if that has no parameters.
    """
    if not isinstance(x, TensorHandle):
        x = as_number(x, (), "a number")
        return (float(x.attrs.value),) * 2
    if x.node.kind == "rv":
        d = x.node.attrs.spec.build(x.node.inputs)
        ends = [d.icdf(q) for q in (0.1, 0.9)] if d.implements("icdf") else []
    else:
        ends = [x, x]
    if not ends or not is_known(*ends):
        return None
    values = [np.asarray(each.eval(backend="python")) for each in ends]
    if not values[0].size:
        return None
    return float(values[0].min()), float(values[1].max())
