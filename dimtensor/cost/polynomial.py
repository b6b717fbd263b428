"""Polynomials in the lengths of dims.

Variables are dims, which stand for their lengths, and :class:`Count`, which stands for other
numbers, such as the number of steps of a while loop. A derived dim is replaced by its parents if
its length is a polynomial of theirs (products, concatenations, renames). Masked dims, and slices of
dims of unknown length, are variables of their own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from dimtensor.dims import Binding, Dim, SelDim
from dimtensor.dims.derivation import DerivedDim
from dimtensor.dims.selection import LateSlice, Mask, Slice
from dimtensor.errors import GraphError, LabelError
from dimtensor.tuning import LARGEST_DENOMINATOR


class Count(NamedTuple):
    """Unknown number other than a length, with a text for what it counts."""

    name: str

    @property
    def _short(self) -> str:
        return self.name


class Formula(NamedTuple):
    """Non-polynomial function of polynomials: maximum, minimum, or floor division."""

    name: str
    operands: tuple[Polynomial, ...]

    @property
    def _short(self) -> str:
        return f"{self.name}({', '.join(map(str, self.operands))})"

    def of(self, numbers: list[int]) -> int:
        """Evaluate the function."""
        return _FORMULAS[self.name](*numbers)


_FORMULAS: dict[str, Callable[..., int]] = {"max": max, "min": min, "floor": operator.floordiv}

Variable = Dim | Count | Formula
Monomial = tuple[tuple[Variable, int], ...]
Number = int | float | Fraction

_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Polynomial:
    """Polynomial in lengths, immutable and compared by value.

    Parameters
    ----------
    terms : mapping of monomial to number
        A monomial is a tuple of variables with their powers, see :meth:`of`.

    Examples
    --------
    >>> obs, county = Dim("obs"), Dim("county")
    >>> n, k = Polynomial.of(obs), Polynomial.of(county)
    >>> cost = 2 * n * k + 3 * k * k + 1
    >>> str(cost)
    '3·county² + 2·county·obs + 1'
    >>> cost.at(Lengths({obs: 10, county: 3}))
    88
    """

    __slots__ = ("_hash", "terms")

    terms: dict[Monomial, Number]

    def __init__(self, terms: Mapping[Monomial, Number]):
        self.terms = {key: number for key, number in terms.items() if number != 0}
        self._hash: int | None = None

    @classmethod
    def constant(cls, number: Number) -> Polynomial:
        """Make a constant polynomial."""
        return cls({(): number})

    @classmethod
    def of(cls, variable: Variable) -> Polynomial:
        """Make the polynomial of a dim's length, in terms of the dims it is derived from."""
        if isinstance(variable, DerivedDim):
            found = _derived(variable)
            if found is not None:
                return found
        return cls({((variable, 1),): 1})

    @classmethod
    def size(cls, dims: Iterable[Dim]) -> Polynomial:
        """Make the polynomial of the number of elements of a tensor with given dims."""
        return math.prod(map(cls.of, dims), start=ONE)

    @classmethod
    def bound(cls, *polynomials: Polynomial) -> Polynomial:
        """Make an upper bound of polynomials: the largest coefficient of each term."""
        terms: dict[Monomial, Number] = {}
        for one in polynomials:
            for key, number in one.terms.items():
                terms[key] = max(terms.get(key, 0), number)
        return cls(terms)

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        terms = dict(self.terms)
        for key, number in _polynomial(other).terms.items():
            terms[key] = terms.get(key, 0) + number
        return Polynomial(terms)

    __radd__ = __add__

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        if isinstance(other, (int, float, Fraction)):
            return Polynomial({key: number * other for key, number in self.terms.items()})
        terms: dict[Monomial, Number] = {}
        for one, a in self.terms.items():
            for two, b in other.terms.items():
                key = _product(one, two)
                terms[key] = terms.get(key, 0) + a * b
        return Polynomial(terms)

    __rmul__ = __mul__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        return self + -1 * _polynomial(other)

    def __rsub__(self, other: Number) -> Polynomial:
        return -self + other

    def __pow__(self, exponent: int) -> Polynomial:
        return math.prod([self] * exponent, start=ONE)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float, Fraction)):
            other = Polynomial.constant(other)
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    # -- values ----------------------------------------------------------------------------------

    @property
    def number(self) -> Number | None:
        """Value of a constant polynomial; None if it has variables."""
        return self.terms.get((), 0) if not any(self.terms) else None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Variables of the polynomial."""
        found = dict.fromkeys(v for key in self.terms for v, _ in key)
        return tuple(sorted(found, key=_sort_key))

    def at(self, lengths: Lengths) -> Number:
        """Evaluate the polynomial at given lengths.

        Raises
        ------
        DimError
            If a length is neither given nor known.
        """
        total: Number = 0
        for key, number in self.terms.items():
            for variable, power in key:
                number *= lengths.required(variable) ** power
            total += number
        whole = isinstance(total, Fraction) and total.denominator == 1
        return int(total) if whole else total

    # -- text ------------------------------------------------------------------------------------

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts: list[str] = []
        for key, number in sorted(self.terms.items(), key=_term_key):
            factors = [_power(variable, power) for variable, power in key]
            sign = ("-" if number < 0 else "") if not parts else " - " if number < 0 else " + "
            parts.append(sign + _times(number if number > 0 else -number, "·".join(factors)))
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<polynomial {self}>"


ZERO, ONE = Polynomial({}), Polynomial({(): 1})


class Lengths:
    """Values of the variables of polynomials.

    Parameters
    ----------
    given : mapping of Dim or Count to int
        Lengths of dims without one, or that replace their own.
    assumed : int, optional
        Value of all other unknown lengths.

    Attributes
    ----------
    assumptions : dict of Dim or Count to int
        Variables for which a length was assumed.

    Notes
    -----
    A masked dim is assumed to be as long as its parent, unless its length is given.
    """

    def __init__(self, given: Mapping[Any, int] | None = None, assumed: int | None = None):
        self._numbers: dict[Any, int | None] = dict(given or {})
        self._assumed = assumed
        self.assumptions: dict[Variable, int] = {}
        self._binding = Binding()
        for variable, length in self._numbers.items():
            if isinstance(variable, Dim) and variable.length is None and length is not None:
                self._binding.add_length(variable, length, "a length that is given")

    def get(self, variable: Variable) -> int | None:
        """Return the value of a variable, or None if it is not known."""
        try:
            return self._numbers[variable]
        except KeyError:
            found = self._find(variable)
            if found is None and self._assumed is not None:
                found = self.assumptions[variable] = self._assumed
            self._numbers[variable] = found
            return found

    def required(self, variable: Variable) -> int:
        """Return the value of a variable.

        Raises
        ------
        DimError
            If it is not known.
        """
        found = self.get(variable)
        if found is None:
            raise missing_lengths([variable])
        return found

    def assuming(self, length: int) -> Lengths:
        """Return lengths with a value for all unknown variables."""
        known = {v: number for v, number in self._numbers.items() if number is not None}
        return Lengths(known, assumed=length)

    def missing(self, *polynomials: Polynomial) -> list[Variable]:
        """Return the variables of polynomials without a value."""
        found = dict.fromkeys(v for one in polynomials for v in one.variables)
        missing = [v for v in sorted(found, key=_sort_key) if self.get(v) is None]
        inside = [x for v in missing if isinstance(v, Formula) for x in self.missing(*v.operands)]
        own = (v for v in missing if not isinstance(v, Formula))
        return list(dict.fromkeys([*own, *inside]))

    def _find(self, variable: Variable) -> int | None:
        if isinstance(variable, Count):
            return None
        if isinstance(variable, Formula):
            known = not self.missing(*variable.operands)
            return variable.of([int(x.at(self)) for x in variable.operands]) if known else None
        try:
            found = variable._bound_length(self._binding)
        except LabelError:  # a slice by late labels
            found = None
        if found is None and isinstance(variable, DerivedDim):
            parents = [self.get(parent) for parent in variable.parents]
            found = variable._length_from(parents)
            if found is None and isinstance(variable, SelDim):
                found = parents[0]
        return found


def missing_lengths(variables: Iterable[Variable]) -> GraphError:
    """Make the error of unknown lengths."""
    found = list(variables)
    which = ", ".join(v._short for v in found)
    one = found[0]._short
    return GraphError(
        "the cost as a number needs lengths that are not known",
        [("without a length", which)],
        f"pass lengths={{{one}: ...}}",
    )


def _derived(dim: DerivedDim) -> Polynomial | None:
    """Express the length of a dim as a polynomial of its parents' lengths, or return None."""
    if isinstance(dim, SelDim):
        return None
    found = dim._length_from([Polynomial.of(parent) for parent in dim.parents])
    return found if isinstance(found, Polynomial) else None


def _polynomial(value: Polynomial | Number) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial.constant(value)


def _product(one: Monomial, two: Monomial) -> Monomial:
    if not one or not two:
        return one or two
    powers = dict(one)
    for variable, power in two:
        powers[variable] = powers.get(variable, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: _sort_key(item[0])))


def _sort_key(variable: Variable) -> tuple:
    if isinstance(variable, Count):
        return ((2, variable.name, 0), 0)
    if isinstance(variable, Formula):
        return ((3, variable._short, 0), 0)
    return (variable._sort_key, variable._serial)


def _term_key(term: tuple[Monomial, Number]) -> tuple:
    """Return a sort key that puts terms of high degree first."""
    key, _ = term
    return (-sum(power for _, power in key), [(-power, _sort_key(v)) for v, power in key])


def _power(variable: Variable, power: int) -> str:
    return _name(variable) + (str(power).translate(_POWERS) if power > 1 else "")


def _name(variable: Variable) -> str:
    """Return the name of a variable; for a selection, with the selection, as dims share names."""
    if isinstance(variable, SelDim) and isinstance(variable.selection, (Slice, LateSlice, Mask)):
        return f"{variable._short}[{variable.selection.text}]"
    return variable._short


def _times(number: Number, factors: str) -> str:
    over = number.denominator if isinstance(number, Fraction) else 1
    if over > LARGEST_DENOMINATOR:
        number, over = float(number), 1
    number *= over
    text = str(int(number)) if number == int(number) else f"{float(number):.3g}"
    if factors:
        text = factors if text == "1" else f"{text}·{factors}"
    return text if over == 1 else f"{text}/{over}"
