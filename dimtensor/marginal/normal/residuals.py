"""Gaussian residuals: affine expressions in unknowns that are normal with mean 0.

Eliminating x from two residuals, x + u with variance v and a x + w with variance s, gives one
without x, w - a u with variance S = s + a² v, and the conditional of x given all others,
x + u + K (w - a u) with variance v s / S, where K = a v / S is the gain. Both steps of a Kalman
filter are of this form, and it never subtracts large numbers. See G. J. Bierman 1977,
"Factorization methods for discrete sequential estimation" (UD factorization).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dimtensor.graph import Node
from dimtensor.tensor.elementwise import log, sqrt, where
from dimtensor.tensor.handle import constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

type Value = DimTensor | float
LOG_2PI = math.log(2.0 * math.pi)


class NoProperResidual(Exception):
    """No proper residual determines the variance of an unknown."""


@dataclass(frozen=True)
class Residual:
    """Affine expression in unknowns that is normal with mean 0.

    Attributes
    ----------
    coefficients : mapping from variables to DimTensor or float
        Floats are known numbers other than 0.
    offset : DimTensor or float
    spread : DimTensor or float
        The variance of a proper residual, the precision of an improper one, which may be 0.
    proper : bool
        Whether the density is normalized; an improper one is exp(-½ precision (...)²).
    """

    coefficients: Mapping[Hashable, Value]
    offset: Value
    spread: Value
    proper: bool

    def mapped(self, f: Callable[[Node], Node]) -> Residual:
        """Transform each of the expressions."""

        def of(x: Value) -> Value:
            return x if isinstance(x, float) else wrap(f(x.node))

        known = {x: of(value) for x, value in self.coefficients.items()}
        return Residual(known, of(self.offset), of(self.spread), self.proper)

    def improper(self, terms: list[Any]) -> Residual:
        """Return the residual in precision form, moving its normalizing constant to the terms."""
        if not self.proper:
            return self
        terms.append(-0.5 * (LOG_2PI + _log(self.spread)))
        return replace(self, spread=1.0 / self.spread, proper=False)

    def unit(self, x: Hashable) -> Residual:
        """Scale the residual so that the coefficient of one variable is 1."""
        by: Any = self.coefficients[x]
        if isinstance(by, float) and by == 1.0:
            return self
        scaled = {y: _times(value, 1.0 / by) for y, value in self.coefficients.items()}
        spread: Any = self.spread
        if abs(by) != 1.0:
            spread = spread / by**2 if self.proper else spread * by**2
        return replace(self, coefficients={**scaled, x: 1.0},
                       offset=_times(self.offset, 1.0 / by), spread=spread)  # fmt: skip

    def value(self, x: Hashable, values: Mapping[Hashable, Any], noise: Any) -> Any:
        """Return a conditional draw of a variable: its mean plus standard normal noise, scaled."""
        mean: Any = -1.0 * self.offset
        for y, by in self.coefficients.items():
            if y != x:
                mean = mean - by * values[y]
        return (
            mean
            if isinstance(noise, float)
            else mean + noise * (math.sqrt(s) if isinstance(s := self.spread, float) else sqrt(s))
        )


def number_or_tensor(node: Node) -> Value:
    """Return a constant as a float, and any other node as a tensor."""
    return float(node.attrs.value) if node.kind == "constant" else wrap(node)


def node_of_value(x: Value) -> Node:
    """Return the node of a float or tensor."""
    return constant(x, "float64") if isinstance(x, float) else x.node


def _times(one: Any, other: Any) -> Any:
    for x, beside in ((one, other), (other, one)):
        if isinstance(x, float):
            if x == 1.0:
                return beside
            if x == -1.0:
                return -beside
            if x == 0.0:
                return 0.0
    return one * other


def _plus(one: Any, other: Any) -> Any:
    for x, beside in ((one, other), (other, one)):
        if isinstance(x, float) and x == 0.0:
            return beside
    return one + other


def _log(x: Any) -> Any:
    return math.log(x) if isinstance(x, float) else log(x)


def _square(x: Any) -> Any:
    return x * x


def _combined(
    one: Residual, by: Any, other: Residual, without: Hashable
) -> tuple[dict[Hashable, Any], Any]:
    """Add a multiple of one residual to another; return coefficients and offset."""
    found = {x: value for x, value in one.coefficients.items() if x != without}
    for x, value in other.coefficients.items():
        if x != without:
            total = _plus(found.get(x, 0.0), _times(by, value))
            found[x] = total
    found = {x: v for x, v in found.items() if not (isinstance(v, float) and v == 0.0)}
    return found, _plus(one.offset, _times(by, other.offset))


def eliminate_pair(
    pivot: Residual, other: Residual, x: Hashable, terms: list[Any]
) -> tuple[Residual, Residual]:
    """Eliminate a variable from two residuals: its conditional, and a residual without it.

    The coefficient of the variable in the first result is 1.
    """
    a: Any = other.coefficients[x]
    coefficients, offset = _combined(other, _times(-1.0, a), pivot, x)
    v: Any = pivot.spread
    if not pivot.proper:
        other = other.improper(terms)
    s: Any = other.spread
    if pivot.proper and other.proper:
        total = s + _times(_square(a), v)
        per = 1.0 / total
        gain, spread = _times(a, v) * per, v * (s * per)
        left = Residual(coefficients, offset, total, True)
    elif pivot.proper:
        total = 1.0 + _times(_square(a), v) * s
        per = 1.0 / total
        gain, spread = _times(a, v) * s * per, v * per
        terms.append(-0.5 * _log(total))
        left = Residual(coefficients, offset, s * per, False)
    else:
        spread = v + _times(_square(a), s)
        per = 1.0 / where(spread > 0.0, spread, 1.0)
        gain = _times(a, s) * per
        left = Residual(coefficients, offset, v * (s * per), False)
    known, base = _combined(pivot, gain, left, x)
    return Residual({x: 1.0, **known}, base, spread, pivot.proper), left


def eliminate(
    residuals: Iterable[Residual], x: Hashable, terms: list[Any]
) -> tuple[Residual, list[Residual]]:
    """Eliminate a variable: return its conditional residual, and the residuals without it.

    Raises
    ------
    NoProperResidual
        If no proper residual has the variable.
    """
    residuals = list(residuals)
    found = [residual for residual in residuals if x in residual.coefficients]
    known = [
        residual
        for residual in found
        if residual.proper and isinstance(residual.coefficients[x], float)
    ]
    if not known:
        raise NoProperResidual
    return _with_pivot(
        residuals, min(known, key=lambda residual: len(residual.coefficients)), x, terms
    )


def eliminate_improper(
    residuals: Sequence[Residual], start: Residual, x: Hashable, terms: list[Any]
) -> tuple[Residual, list[Residual]]:
    """Eliminate a variable that has improper residuals only; `start` may have precision 0."""
    return _with_pivot([start, *residuals], start, x, terms)


def _with_pivot(
    residuals: Sequence[Residual], pivot: Residual, x: Hashable, terms: list[Any]
) -> tuple[Residual, list[Residual]]:
    first, left = pivot.unit(x), []
    for residual in residuals:
        if residual is pivot:
            continue
        if x in residual.coefficients:
            first, residual = eliminate_pair(first, residual, x, terms)
        left.append(residual)
    return first, left


def drop_constant_residuals(residuals: Iterable[Residual], terms: list[Any]) -> list[Residual]:
    """Move the log densities of residuals without variables to the terms; return the others."""
    left = []
    for residual in residuals:
        if residual.coefficients:
            left.append(residual)
        elif residual.proper:
            ratio = _square(residual.offset) / residual.spread
            terms.append(-0.5 * (LOG_2PI + _log(residual.spread) + ratio))
        else:
            terms.append(-0.5 * residual.spread * _square(residual.offset))
    return left


def sum_terms(terms: Sequence[Any]) -> Any:
    """Add terms."""
    found: Any = 0.0
    for term in terms:
        found = _plus(found, term)
    return found
