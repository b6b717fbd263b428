"""Rows: each says that something affine in unknowns is normal with mean 0.

Of two rows, x + u with the variance v and a x + w with the variance s, come one without x,
w - a u with the variance S = s + a² v, and one of x given all others: x + u + K (w - a u) with the
variance v s / S, where K = a v / S. That is what a Kalman filter does in both of its steps, and
nothing in it is a difference of large numbers. See G. J. Bierman 1977, "Factorization methods for
discrete sequential estimation".
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


class NoPivot(Exception):
    """No row says surely how far an unknown spreads."""


@dataclass(frozen=True)
class Row:
    """Something affine that is normal with mean 0.

    Attributes
    ----------
    coefficients : mapping from variables to DimTensor or float
        Those that are floats are known, and not 0.
    offset : DimTensor or float
    spread : DimTensor or float
        Of a sure row the variance, and its density is normalised. Of others the precision, which
        may be 0; they are exp(-½ precision (...)²) without what normalises it.
    sure : bool
    """

    coefficients: Mapping[Hashable, Value]
    offset: Value
    spread: Value
    sure: bool

    def mapped(self, f: Callable[[Node], Node]) -> Row:
        """The row with each of its expressions exchanged."""

        def of(x: Value) -> Value:
            return x if isinstance(x, float) else wrap(f(x.node))

        known = {x: of(value) for x, value in self.coefficients.items()}
        return Row(known, of(self.offset), of(self.spread), self.sure)

    def unsure(self, terms: list[Any]) -> Row:
        """The same with a precision."""
        if not self.sure:
            return self
        terms.append(-0.5 * (LOG_2PI + _log(self.spread)))
        return replace(self, spread=1.0 / self.spread, sure=False)

    def unit(self, x: Hashable) -> Row:
        """The same with one coefficient of 1, where it is sure."""
        by: Any = self.coefficients[x]
        if isinstance(by, float) and by == 1.0:
            return self
        scaled = {y: _times(value, 1.0 / by) for y, value in self.coefficients.items()}
        spread: Any = self.spread
        if abs(by) != 1.0:
            spread = spread / by**2 if self.sure else spread * by**2
        return replace(self, coefficients={**scaled, x: 1.0},
                       offset=_times(self.offset, 1.0 / by), spread=spread)  # fmt: skip

    def value(self, x: Hashable, values: Mapping[Hashable, Any], noise: Any) -> Any:
        """The variable given others: its mean, and standard normal noise in its scale."""
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
    """A constant as a float, and anything else as a tensor."""
    return float(node.attrs.value) if node.kind == "constant" else wrap(node)


def node_of_value(x: Value) -> Node:
    """The node of a value."""
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


def _combined(one: Row, by: Any, other: Row, without: Hashable) -> tuple[dict[Hashable, Any], Any]:
    """Coefficients and offset of one row and a multiple of another."""
    found = {x: value for x, value in one.coefficients.items() if x != without}
    for x, value in other.coefficients.items():
        if x != without:
            total = _plus(found.get(x, 0.0), _times(by, value))
            found[x] = total
    found = {x: v for x, v in found.items() if not (isinstance(v, float) and v == 0.0)}
    return found, _plus(one.offset, _times(by, other.offset))


def folded(pivot: Row, other: Row, x: Hashable, terms: list[Any]) -> tuple[Row, Row]:
    """A row of a variable given the others, and one without it, from two that have it.

    In the first one the coefficient of the variable is 1.
    """
    a: Any = other.coefficients[x]
    coefficients, offset = _combined(other, _times(-1.0, a), pivot, x)
    v: Any = pivot.spread
    if not pivot.sure:
        other = other.unsure(terms)
    s: Any = other.spread
    if pivot.sure and other.sure:
        total = s + _times(_square(a), v)
        per = 1.0 / total
        gain, spread = _times(a, v) * per, v * (s * per)
        left = Row(coefficients, offset, total, True)
    elif pivot.sure:
        total = 1.0 + _times(_square(a), v) * s
        per = 1.0 / total
        gain, spread = _times(a, v) * s * per, v * per
        terms.append(-0.5 * _log(total))
        left = Row(coefficients, offset, s * per, False)
    else:
        spread = v + _times(_square(a), s)
        per = 1.0 / where(spread > 0.0, spread, 1.0)
        gain = _times(a, s) * per
        left = Row(coefficients, offset, v * (s * per), False)
    known, base = _combined(pivot, gain, left, x)
    return Row({x: 1.0, **known}, base, spread, pivot.sure), left


def solved(rows: Iterable[Row], x: Hashable, terms: list[Any]) -> tuple[Row, list[Row]]:
    """The row of a variable given the others, and the rows without it.

    Raises
    ------
    NoPivot
        If no row is sure of it.
    """
    rows = list(rows)
    found = [row for row in rows if x in row.coefficients]
    known = [row for row in found if row.sure and isinstance(row.coefficients[x], float)]
    if not known:
        raise NoPivot
    return _with_pivot(rows, min(known, key=lambda row: len(row.coefficients)), x, terms)


def added_up(
    rows: Sequence[Row], start: Row, x: Hashable, terms: list[Any]
) -> tuple[Row, list[Row]]:
    """The same for a variable that no row is sure of; `start` is one that may say nothing."""
    return _with_pivot([start, *rows], start, x, terms)


def _with_pivot(
    rows: Sequence[Row], pivot: Row, x: Hashable, terms: list[Any]
) -> tuple[Row, list[Row]]:
    first, left = pivot.unit(x), []
    for row in rows:
        if row is pivot:
            continue
        if x in row.coefficients:
            first, row = folded(first, row, x, terms)
        left.append(row)
    return first, left


def without_numbers(rows: Iterable[Row], terms: list[Any]) -> list[Row]:
    """Rows that have variables; the logarithms of the others are terms."""
    left = []
    for row in rows:
        if row.coefficients:
            left.append(row)
        elif row.sure:
            ratio = _square(row.offset) / row.spread
            terms.append(-0.5 * (LOG_2PI + _log(row.spread) + ratio))
        else:
            terms.append(-0.5 * row.spread * _square(row.offset))
    return left


def total(terms: Sequence[Any]) -> Any:
    """The sum of terms."""
    found: Any = 0.0
    for term in terms:
        found = _plus(found, term)
    return found
