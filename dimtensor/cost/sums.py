"""Sums of polynomials over a range of a variable (Faulhaber's formula)."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from dimtensor.caches import bounded
from dimtensor.cost.polynomial import ZERO, Number, Polynomial, Variable


def by_powers(polynomial: Polynomial, variable: Variable) -> dict[int, Polynomial]:
    """Return the coefficients of the powers of a variable."""
    found: dict[int, dict] = {}
    for key, number in polynomial.terms.items():
        power = next((p for v, p in key if v == variable), 0)
        rest = tuple((v, p) for v, p in key if v != variable)
        found.setdefault(power, {})[rest] = number
    return {power: Polynomial(terms) for power, terms in found.items()}


def substituted(polynomial: Polynomial, variable: Variable, value: Polynomial) -> Polynomial:
    """Substitute a polynomial for a variable."""
    parts = by_powers(polynomial, variable)
    return sum((value**power * factor for power, factor in parts.items()), ZERO)


def summed(
    polynomial: Polynomial, counter: Variable, start: Polynomial, stop: Polynomial, step: int = 1
) -> Polynomial:
    """Sum a polynomial over a loop counter; approximate if the step does not divide the range.

    Examples
    --------
    >>> from dimtensor.cost import Count
    >>> n, i = Polynomial.of(Count("n")), Count("i")
    >>> str(summed(Polynomial.of(i) ** 2 + 1, i, ZERO, n))
    'n³/3 - n²/2 + 7·n/6'
    """
    rounds = (stop - start) * Fraction(1, step)
    if not any(v == counter for key in polynomial.terms for v, _ in key):
        return polynomial * rounds
    at = start + step * Polynomial.of(counter)
    parts = by_powers(substituted(polynomial, counter, at), counter)
    return sum((_powers(power, rounds) * factor for power, factor in parts.items()), ZERO)


def _powers(power: int, n: Polynomial) -> Polynomial:
    """Sum the powers of 0, 1, …, n - 1."""
    total = ZERO
    for j in range(power + 1):
        number: Number = Fraction(comb(power + 1, j), power + 1) * _bernoulli(j)
        total = total + n ** (power + 1 - j) * number
    return total


@bounded(64)
def _bernoulli(m: int) -> Fraction:
    """Compute the Bernoulli number B(m), with B(1) = -1/2."""
    if m == 0:
        return Fraction(1)
    return -sum((comb(m + 1, j) * _bernoulli(j) for j in range(m)), Fraction(0)) / (m + 1)
