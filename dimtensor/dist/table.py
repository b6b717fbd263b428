"""Rows of the distribution table, and the ranges of parameters.

The constructors, the documentation, the checks of arguments and the tests are derived from the
lines; a completeness test fails on an empty cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.dist.supports import Support

if TYPE_CHECKING:
    from dimtensor.dist.parameters import Values
    from dimtensor.tensor.core import DimTensor

# of a value (or a probability) and the parameters; of the parameters alone
Formula = Callable[["DimTensor", "Values"], Any]
Moment = Callable[["Values"], Any]
# of an abstract generator with NumPy's methods, the parameters and the dims: the value and the
# generator after it
Draw = Callable[[Any, "Values", Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Missing:
    """Reason for a missing formula."""

    why: str

    def __str__(self) -> str:
        return self.why


IMPROPER = Missing("the density is improper: its integral is infinite")
NO_CLOSED_FORM = Missing("there is no closed form")
NO_MOMENT = Missing("the integral does not converge")


@dataclass(frozen=True)
class Range:
    """Range of a parameter."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    low_included: bool = False
    high_included: bool = False
    whole: bool = False
    spoken: str = ""

    def has(self, value: float) -> bool:
        """Return whether a number is in the range."""
        if math.isnan(value) or (self.whole and value != math.floor(value)):
            return False
        above = value >= self.low if self.low_included else value > self.low
        return above and (value <= self.high if self.high_included else value < self.high)


RANGES = {
    one.name: one
    for one in (
        Range("real", spoken="a real number"),
        Range("bound", -math.inf, math.inf, True, True, spoken="a number or infinite"),
        Range("positive", 0.0, spoken="above 0"),
        Range("not negative", 0.0, low_included=True, spoken="0 or above"),
        Range("above 1", 1.0, spoken="above 1"),
        Range("probability", 0.0, 1.0, True, True, spoken="a probability"),
        Range("between 0 and 1", 0.0, 1.0, spoken="between 0 and 1"),
        Range("between -1 and 1", -1.0, 1.0, spoken="between -1 and 1"),
        Range("count", 0.0, low_included=True, whole=True, spoken="a whole number from 0 on"),
        Range(
            "positive count", 1.0, low_included=True, whole=True, spoken="a whole number from 1 on"
        ),
        Range("whole", whole=True, spoken="a whole number"),
    )
}


@dataclass(frozen=True)
class Param:
    """Parameter: its name, range, default and description."""

    name: str
    range: Range
    doc: str
    default: float | None = None


@dataclass(frozen=True)
class Parametrization:
    """Alternative parametrization.

    Parameters
    ----------
    params : tuple of Param
        All parameters of this parametrization.
    convert : callable
        From their values to a dict with the parameters of the row.
    """

    params: tuple[Param, ...]
    convert: Callable[[Any], Mapping[str, Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(param.name for param in self.params)


@dataclass(frozen=True)
class Replacement:
    """Alternative parametrization in which one parameter takes the place of another.

    Parameters
    ----------
    of : str
        The parameter of the row that it replaces.
    param : Param
    convert : callable
        From the values of a parametrization to that of the replaced parameter.
    """

    of: str
    param: Param
    convert: Callable[[Any], Any]

    def within(self, params: tuple[Param, ...]) -> Parametrization:
        """Return the parametrization with the other parameters of a row."""
        found = tuple(self.param if param.name == self.of else param for param in params)
        return Parametrization(found, lambda p: {self.of: self.convert(p)})


@dataclass(frozen=True)
class Row:
    """One distribution.

    Parameters
    ----------
    name : str
    doc : str
        One line.
    density : str
        The density as a formula of x (of k where it is discrete) and the parameters.
    params : tuple of Param
    support : callable
        From the parameters to the support; its bounds belong to it unless `ends` says otherwise.
    logp, logcdf, icdf : callable or Missing
        Of a value inside of the support (a probability between 0 and 1) and the parameters.
    mean, variance : callable or Missing
        Of the parameters.
    source : str
        Where the formulas are from.
    draw : callable, str or Missing
        A recipe of NumPy's draws, or ``"icdf"``: the quantile of a uniform one.
    logsf : callable or Missing, optional
        Logarithm of the probability of larger values; else it is computed from the cdf.
    alternatives : tuple of Parametrization or Replacement
    increasing : tuple of str
        Parameters that are in increasing order.
    ends : str
        Which bounds of the support the formulas hold at: ``"[]"``, ``"(]"``, …
    inner : callable, optional
        Of the parameters: a value inside of the support, where its bounds do not tell.
    discrete : bool
    keyword_only : tuple of str
        Parameters that calls name, because other libraries have another order.
    example : dict
        Parameters with which the distribution is drawn and tested.
    window : tuple of (low, high)
        Where its density is drawn.
    """

    name: str
    doc: str
    density: str
    params: tuple[Param, ...]
    support: Callable[[Values], Support]
    logp: Formula
    logcdf: Formula | Missing
    icdf: Formula | Missing
    mean: Moment | Missing
    variance: Moment | Missing
    source: str
    example: Mapping[str, float]
    window: tuple[float, float]
    draw: Draw | str | Missing = "icdf"
    logsf: Formula | Missing | None = None
    alternatives: tuple[Parametrization | Replacement, ...] = ()
    increasing: tuple[str, ...] = ()
    ends: str = "[]"
    inner: Moment | None = None
    discrete: bool = False
    keyword_only: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, without those of other parametrizations."""
        return tuple(param.name for param in self.params)

    @property
    def parametrizations(self) -> tuple[Parametrization, ...]:
        """All parametrizations, the row's own first."""
        others = (
            one.within(self.params) if isinstance(one, Replacement) else one
            for one in self.alternatives
        )
        return (Parametrization(self.params, lambda p: {}), *others)

    @property
    def arguments(self) -> dict[str, Param]:
        """All arguments of the constructor, in order."""
        found: dict[str, Param] = {}
        for one in self.parametrizations:
            for param in one.params:
                found.setdefault(param.name, param)
        return found


def params(*lines: str) -> tuple[Param, ...]:
    """Parse parameters, each written as ``"sigma: positive = 1 | standard deviation"``."""
    found = []
    for line in lines:
        head, _, doc = line.partition("|")
        name, _, kind = head.partition(":")
        kind, _, default = kind.partition("=")
        found.append(
            Param(
                name.strip(),
                RANGES[kind.strip()],
                doc.strip(),
                float(default) if default.strip() else None,
            )
        )
    return tuple(found)


def also(*lines: str, by: Callable[[Any], Mapping[str, Any]]) -> Parametrization:
    """Parse an alternative parametrization, in the notation of :func:`params`."""
    return Parametrization(params(*lines), by)
